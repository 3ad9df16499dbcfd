//! Takes an ingress message apart: header, dictionary delta, blocks (wire.md 3.2, 4.1, 4.2).

use std::sync::Arc;

use super::Limits;
use super::column::{self, Context, Decoded};
use super::input::{Input, Refusal, malformed, text};
use super::value::Type;

pub const DEFER: u8 = 0x01;
const GORILLA: u8 = 0x04;
const DELTA: u8 = 0x08;
const HEADER: usize = 12;
const PAYLOAD_MAX: usize = 16 << 20;
const DICTIONARY_MAX: u64 = 1_000_000;

/// Ids to texts of one connection; a hole is an id that was never told.
pub type Dictionary = Vec<Option<Arc<str>>>;

/// A message whose header is right and whose dictionary entries are taken in; blocks come one by one.
pub struct Message<'a> {
    pub flags: u8,
    pub blocks: u16,
    body: Input<'a>,
}

/// The rows of one table.
pub struct Block {
    pub table: String,
    pub rows: usize,
    pub columns: Vec<(String, Decoded)>,
}

impl<'a> Message<'a> {
    /// Checks the header and takes the delta into `dictionary`.
    pub fn open(bytes: &'a [u8], dictionary: &mut Dictionary) -> Result<Message<'a>, Refusal> {
        let Some((head, rest)) = bytes.split_at_checked(HEADER) else {
            return Err(malformed("message header too short"));
        };
        if head[..4] != *b"QWP1" {
            return Err(malformed("invalid magic bytes"));
        }
        if head[4] != 1 {
            return Err(malformed(format!(
                "message version {} does not match negotiated version 1",
                head[4]
            )));
        }
        let length = u32::from_le_bytes(head[8..].try_into().expect("four bytes"));
        let length = usize::try_from(length).expect("32 bits fit");
        if length > PAYLOAD_MAX {
            return Err(malformed("payload exceeds maximum size"));
        }
        let Some(payload) = rest.get(..length) else {
            let what = format!("[payloadLength={length}, available={}]", rest.len());
            return Err(malformed(format!("message payload exceeds available data {what}")));
        };
        let flags = head[5];
        let mut body = Input::new(payload);
        if flags & DELTA != 0 {
            take_delta(&mut body, dictionary)?;
        }
        Ok(Message { flags, blocks: u16::from_le_bytes([head[6], head[7]]), body })
    }

    pub fn deferred(&self) -> bool {
        self.flags & DEFER != 0
    }

    /// The next block.
    pub fn block(&mut self, dictionary: &Dictionary, limits: &Limits) -> Result<Block, Refusal> {
        let body = &mut self.body;
        let length = column::length(body)?;
        if length == 0 {
            return Err(malformed("empty table name"));
        }
        if length > 127 {
            return Err(malformed(format!("table name too long: {length} bytes (max 127)")));
        }
        let table = text(body.take(length, || "truncated table name".into())?)?.to_owned();
        let rows = bounded(body.varint()?, "row", limits.rows_per_block)?;
        let count = bounded(body.varint()?, "column", limits.columns_per_block)?;
        let mut schema = Vec::new();
        for index in 0..count {
            schema.push(self.column_head(index)?);
        }
        let mut columns = Vec::new();
        for (name, ty) in schema {
            let symbols = (self.flags & DELTA != 0).then_some(dictionary.as_slice());
            let context = Context { rows, gorilla: self.flags & GORILLA != 0, symbols, name: &name };
            let decoded = column::decode(&mut self.body, ty, &context)?;
            columns.push((name, decoded));
        }
        Ok(Block { table, rows, columns })
    }

    fn column_head(&mut self, index: usize) -> Result<(String, Type), Refusal> {
        let length = column::length(&mut self.body)?;
        if length > 127 {
            return Err(malformed(format!("invalid column name length at column {index}: {length}")));
        }
        let name =
            text(self.body.take(length, || format!("truncated column name at column {index}"))?)?.to_owned();
        let code = self.body.u8(|| format!("truncated column type at column {index}"))?;
        let ty = Type::from_code(code)
            .ok_or_else(|| malformed(format!("invalid column type code: 0x{code:x}")))?;
        Ok((name, ty))
    }
}

fn bounded(count: u64, what: &str, max: usize) -> Result<usize, Refusal> {
    let fits = usize::try_from(count).ok().filter(|n| *n <= max);
    fits.ok_or_else(|| malformed(format!("{what} count exceeds maximum: {count} (max {max})")))
}

fn take_delta(body: &mut Input<'_>, dictionary: &mut Dictionary) -> Result<(), Refusal> {
    if body.is_empty() {
        return Err(malformed("truncated delta symbol dictionary"));
    }
    let start = body.varint()?;
    if start > 0x7fff_ffff {
        return Err(malformed(format!("deltaStartId out of int range: {start}")));
    }
    let count = body.varint()?;
    let end = start.saturating_add(count);
    if end > DICTIONARY_MAX {
        return Err(malformed(format!("delta symbol dictionary size exceeds limit: {end}")));
    }
    let start = usize::try_from(start).expect("below a million");
    if dictionary.len() < start {
        dictionary.resize(start, None);
    }
    for id in start..usize::try_from(end).expect("below a million") {
        if body.is_empty() {
            return Err(malformed("truncated delta symbol entry"));
        }
        let length = column::length(body)?;
        let entry: Arc<str> = text(body.take(length, || "truncated delta symbol entry".into())?)?.into();
        match dictionary.get_mut(id) {
            Some(known) => *known = Some(entry),
            None => dictionary.push(Some(entry)),
        }
    }
    Ok(())
}
