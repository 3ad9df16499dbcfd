//! Numbers of any width: for the decoders that only round trips need.

/// Little-endian bytes made longer without changing the unsigned number. Longer ones are cut.
pub(crate) fn zero_extended<const N: usize>(bytes: &[u8]) -> [u8; N] {
    extended(bytes, 0)
}

/// Little-endian bytes made longer without changing the signed number. Longer ones are cut.
pub(crate) fn sign_extended<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    extended(bytes, if negative { 0xff } else { 0 })
}

fn extended<const N: usize>(bytes: &[u8], filler: u8) -> [u8; N] {
    let mut all = [filler; N];
    for (to, from) in all.iter_mut().zip(bytes) {
        *to = *from;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_extended_by_sign_or_by_zeros() {
        assert_eq!(zero_extended(&[0xfe]), [0xfe, 0, 0, 0]);
        assert_eq!(sign_extended(&[0xfe]), [0xfe, 0xff, 0xff, 0xff]);
        assert_eq!(sign_extended(&[0xfe, 0x7f]), [0xfe, 0x7f, 0, 0]);
        assert_eq!(sign_extended::<2>(&[1, 2, 3]), [1, 2]);
    }
}
