//! Masking (RFC 6455 5.3) with keys that nobody can predict (SEC-02).

use std::fmt;

/// Four bytes that a payload is combined with, over and over.
pub(super) type Key = [u8; 4];

/// Keys in stock: one system call for many frames.
const POOL_BYTES: usize = 256;

/// Where keys come from: the operating system's random source, in batches.
pub(super) struct Keys {
    pool: [u8; POOL_BYTES],
    /// Start of what is unused; `POOL_BYTES` before the first batch.
    at: usize,
}

impl Keys {
    pub(super) fn new() -> Keys {
        Keys { pool: [0; POOL_BYTES], at: POOL_BYTES }
    }

    /// A key that was not used before.
    pub(super) fn next(&mut self) -> Result<Key, getrandom::Error> {
        if let Some(key) = self.stock() {
            return Ok(key);
        }
        getrandom::fill(&mut self.pool)?;
        self.at = 0;
        // A full pool holds at least one key.
        Ok(self.stock().unwrap_or_default())
    }

    fn stock(&mut self) -> Option<Key> {
        let key = *self.pool.get(self.at..)?.first_chunk()?;
        self.at += key.len();
        Some(key)
    }
}

impl fmt::Debug for Keys {
    /// Without the keys: whoever knows them can predict the mask.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// The key for what follows `count` masked bytes.
#[inline]
pub(super) fn rotate(mut key: Key, count: usize) -> Key {
    key.rotate_left(count % size_of::<Key>());
    key
}

/// Copies `source` masked to `target`, as far as the shorter of the two goes. The loop runs over
/// 64-bit words, which the compiler turns into vectors.
#[inline]
pub(super) fn copy_masked(target: &mut [u8], source: &[u8], key: Key) {
    let [a, b, c, d] = key;
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let count = target.len().min(source.len());
    let (Some(target), Some(source)) = (target.get_mut(..count), source.get(..count)) else { return };
    let (target_words, target_tail) = target.as_chunks_mut::<8>();
    let (source_words, source_tail) = source.as_chunks::<8>();
    for (to, from) in target_words.iter_mut().zip(source_words) {
        *to = (u64::from_ne_bytes(*from) ^ word).to_ne_bytes();
    }
    for ((to, from), mask) in target_tail.iter_mut().zip(source_tail).zip(key.iter().cycle()) {
        *to = from ^ mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lim_17_masks_of_every_length_alignment_and_rotation_match_one_byte_at_a_time() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let source: Vec<u8> = (0..160_u8).map(|b| b.wrapping_mul(31)).collect();
        for length in 0..=64 {
            for from in 0..8 {
                for to in 0..8 {
                    for done in 0..4 {
                        let mut target = [0xee_u8; 96];
                        copy_masked(
                            &mut target[to..to + length],
                            &source[from..from + length],
                            rotate(key, done),
                        );
                        for (index, &byte) in target.iter().enumerate() {
                            let expected = match index.checked_sub(to) {
                                Some(i) if i < length => source[from + i] ^ key[(done + i) % 4],
                                _ => 0xee,
                            };
                            assert_eq!(byte, expected, "{length} {from} {to} {done} {index}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sec_02_keys_come_from_the_system_and_differ() {
        let mut keys = Keys::new();
        let drawn: Vec<Key> = (0..1000).map(|_| keys.next().unwrap()).collect();
        let distinct: std::collections::HashSet<Key> = drawn.iter().copied().collect();
        // Of 1000 keys out of 2^32 two are equal in one run of ten thousand, eight never are.
        assert!(distinct.len() > 992, "{}", distinct.len());
        assert_ne!(Keys::new().next().unwrap(), Keys::new().next().unwrap(), "seeded alike");
        assert_eq!(format!("{keys:?}"), "Keys { .. }");
    }
}
