//! The 12-byte header in front of ingress messages and of a server's egress messages (wire.md 3).

use super::reader::{Reader, WireError, WireFault, WireResult};
use super::sink::Sink;
use std::fmt;

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 12;

/// The first bytes of every message.
pub(crate) const MAGIC: [u8; 4] = *b"QWP1";
const VERSION: u8 = 1;

/// The flags byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    /// No flag.
    pub(crate) const NONE: Flags = Flags(0);
    /// The rows are appended, and committed by the next message without this flag.
    pub(crate) const DEFER_COMMIT: Flags = Flags(0x01);
    /// Timestamp columns carry an encoding byte.
    pub(crate) const GORILLA: Flags = Flags(0x04);
    /// The payload starts with a dictionary delta.
    pub(crate) const DELTA_SYMBOLS: Flags = Flags(0x08);
    /// The body is compressed; egress only.
    pub(crate) const ZSTD: Flags = Flags(0x10);

    /// Whether every flag of `other` is set.
    #[inline]
    pub(crate) const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and those of `other`.
    #[inline]
    pub(crate) const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether a flag beside those of `known` is set.
    #[inline]
    pub(crate) const fn has_beside(self, known: Flags) -> bool {
        self.0 & !known.0 != 0
    }

    /// The byte on the wire.
    #[inline]
    pub(crate) const fn byte(self) -> u8 {
        self.0
    }
}

impl From<u8> for Flags {
    fn from(byte: u8) -> Flags {
        Flags(byte)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({:#04x})", self.0)
    }
}

/// What a header says beside magic, version and length, which have one right value each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The flags, unknown ones included.
    pub(crate) flags: Flags,
    /// Ingress: number of blocks. Egress: 1 for a batch, else 0.
    pub(crate) table_count: u16,
}

impl Header {
    /// Reads the header of the message that `reader` holds to its end.
    pub(crate) fn read(reader: &mut Reader<'_>) -> WireResult<Header> {
        let at = reader.offset();
        if reader.array("magic")? != MAGIC {
            return Err(WireError { at, what: WireFault::Inconsistent("not QWP1"), field: "magic" });
        }
        let at = reader.offset();
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(WireError { at, what: WireFault::Value(version.into()), field: "version" });
        }
        let flags = Flags(reader.u8("flags")?);
        let table_count = reader.u16("table count")?;
        let at = reader.offset();
        let stated = u64::from(reader.u32("payload length")?);
        let field = "payload";
        match stated.cmp(&(reader.remaining() as u64)) {
            std::cmp::Ordering::Equal => Ok(Header { flags, table_count }),
            std::cmp::Ordering::Greater => Err(WireError { at, what: WireFault::Truncated, field }),
            std::cmp::Ordering::Less => Err(WireError { at, what: WireFault::Trailing, field }),
        }
    }
}

/// A message whose header waits for the length.
#[derive(Debug)]
#[must_use]
pub(crate) struct OpenFrame {
    at: usize,
}

/// Starts a message: leaves room for the header.
pub(crate) fn open(sink: &mut Sink<'_>) -> OpenFrame {
    let at = sink.len();
    sink.put(&[0; HEADER_BYTES]);
    OpenFrame { at }
}

impl OpenFrame {
    /// Ends the message with what was written since: writes the header.
    pub(crate) fn close(self, sink: &mut Sink<'_>, flags: Flags, table_count: u16) {
        let payload = sink.len().saturating_sub(self.at).saturating_sub(HEADER_BYTES);
        let [m0, m1, m2, m3] = MAGIC;
        let [t0, t1] = table_count.to_le_bytes();
        // a message of 4 GiB cannot be sent anyway: the sink that would hold it says that it is too long
        let [l0, l1, l2, l3] = u32::try_from(payload).unwrap_or(u32::MAX).to_le_bytes();
        sink.patch(self.at, &[m0, m1, m2, m3, VERSION, flags.0, t0, t1, l0, l1, l2, l3]);
    }
}

/// What a sender has to know about a frame that it kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameFacts {
    /// Its rows wait for a later frame that commits.
    pub(crate) deferred: bool,
    /// Id of the first dictionary entry that it carries.
    pub(crate) delta_start: u64,
    /// Number of dictionary entries that it carries.
    pub(crate) delta_count: u64,
    /// Number of blocks.
    pub(crate) table_count: u16,
}

impl FrameFacts {
    /// Number of ids that the server's dictionary holds behind this frame.
    pub(crate) fn delta_end(&self) -> u64 {
        self.delta_start.saturating_add(self.delta_count)
    }
}

/// Reads the facts of an ingress frame from its first bytes; looks at no entry and no block.
pub(crate) fn peek(frame: &[u8]) -> WireResult<FrameFacts> {
    let mut reader = Reader::new(frame);
    let header = Header::read(&mut reader)?;
    let (mut delta_start, mut delta_count) = (0, 0);
    if header.flags.has(Flags::DELTA_SYMBOLS) {
        delta_start = reader.varint("delta start")?;
        delta_count = reader.varint("delta count")?;
    }
    let deferred = header.flags.has(Flags::DEFER_COMMIT);
    Ok(FrameFacts { deferred, delta_start, delta_count, table_count: header.table_count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::symbols;

    fn message(flags: Flags, table_count: u16, payload: &[u8]) -> Vec<u8> {
        let mut room = vec![0; 64];
        let mut sink = Sink::new(&mut room);
        let open = open(&mut sink);
        sink.put(payload);
        open.close(&mut sink, flags, table_count);
        let len = sink.finish().expect("64 bytes hold it");
        room.truncate(len);
        room
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let bytes = message(Flags::GORILLA.with(Flags::DELTA_SYMBOLS), 0x0201, b"abc");
        assert_eq!(bytes, b"QWP1\x01\x0c\x01\x02\x03\x00\x00\x00abc");
        let mut reader = Reader::new(&bytes);
        let header = Header { flags: Flags::from(0x0c), table_count: 0x0201 };
        assert_eq!(Header::read(&mut reader), Ok(header));
        assert_eq!(reader.peek_rest(), b"abc");
    }

    #[test]
    fn a_header_that_does_not_fit_its_message_is_refused() {
        let good = message(Flags::NONE, 1, b"abc");
        for cut in 0..good.len() {
            assert!(Header::read(&mut Reader::new(&good[..cut])).is_err(), "cut at {cut}");
        }
        let mut longer = good.clone();
        longer.push(0);
        let error = Header::read(&mut Reader::new(&longer)).expect_err("a byte too many");
        assert_eq!((error.at, error.what), (8, WireFault::Trailing));
        for at in 0..5 {
            let mut other = good.clone();
            other[at] ^= 0x03;
            assert!(Header::read(&mut Reader::new(&other)).is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_facts_of_a_frame_are_read_from_its_front() {
        let mut room = vec![0; 64];
        let mut sink = Sink::new(&mut room);
        let open = open(&mut sink);
        symbols::put_delta(300, 2, [&b"\x01a\x01b"[..]], &mut sink);
        open.close(&mut sink, Flags::DELTA_SYMBOLS.with(Flags::DEFER_COMMIT), 7);
        let len = sink.finish().expect("64 bytes hold it");
        let facts = FrameFacts { deferred: true, delta_start: 300, delta_count: 2, table_count: 7 };
        assert_eq!(peek(&room[..len]), Ok(facts));
        assert_eq!(facts.delta_end(), 302);
    }
}
