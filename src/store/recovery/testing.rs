//! What the tests of recovery share.

use crate::store::layout;

/// The envelope of a payload, checksum included.
pub(super) fn sealed_envelope(payload: &[u8]) -> [u8; layout::ENVELOPE_BYTES] {
    let mut bytes = layout::envelope(u32::try_from(payload.len()).expect("the payloads of tests are small"));
    let crc = layout::frame_crc(&[&bytes[4..], payload].concat());
    bytes[..4].copy_from_slice(&crc.to_le_bytes());
    bytes
}
