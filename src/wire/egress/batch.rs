//! A batch of rows, and the state of a connection that is needed to read one (wire.md 8.4).

use super::column::{Column, ColumnRef, Spares};
use super::dictionary::{Dictionary, Symbols};
use super::event::BatchHead;
use crate::wire::reader::{Reader, WireFault, WireResult};
use crate::wire::types::ColumnType;
use std::sync::Arc;

/// Rows of a batch at most (LIM-19).
pub(crate) const MAX_ROWS: u64 = 1_048_576;
/// Rows times columns at most (LIM-19).
pub(crate) const MAX_CELLS: u64 = 64 << 20;
/// Columns at most: what a request of 1 MiB of SQL can name one by one. It bounds the records of
/// columns, which are larger than the bytes that announce them.
pub(crate) const MAX_COLUMNS: u64 = 1 << 19;
/// What a shell keeps at most; a larger one is given up.
const MAX_SPARE_BYTES: usize = 16 << 20;

/// Names and types of the columns of a result.
///
/// Names need not be unique, and may be empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// All names, one behind the other.
    names: String,
    /// Where each name ends.
    ends: Vec<u32>,
    kinds: Vec<ColumnType>,
}

impl Schema {
    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there is no column.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The name of the column at `index`, counted from 0.
    pub fn name(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)? as usize,
            None => 0,
        };
        self.names.get(start..end)
    }

    /// The type of the column at `index`, counted from 0.
    pub fn column_type(&self, index: usize) -> Option<ColumnType> {
        self.kinds.get(index).copied()
    }

    /// The index of the first column of exactly that name.
    pub fn position(&self, name: &str) -> Option<usize> {
        (0..self.len()).find(|&index| self.name(index) == Some(name))
    }

    /// Names and types, in the order of the columns.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, ColumnType)> {
        let named = |(index, kind): (usize, &ColumnType)| (self.name(index).unwrap_or_default(), *kind);
        self.kinds.iter().enumerate().map(named)
    }

    fn read(reader: &mut Reader<'_>) -> WireResult<Schema> {
        let at = reader.clone();
        let count = reader.varint_up_to("column count", MAX_COLUMNS)?;
        // Each takes at least the byte of its name's length and its type.
        if count > reader.remaining() as u64 / 2 {
            return Err(at.fault("column count", WireFault::Truncated));
        }
        let mut schema = Schema::default();
        for _ in 0..count {
            schema.names.push_str(reader.str("column name")?);
            // Names are shorter than the message.
            schema.ends.push(u32::try_from(schema.names.len()).unwrap_or(u32::MAX));
            let at = reader.clone();
            let code = reader.u8("column type")?;
            let kind = ColumnType::from_code(code)
                .ok_or_else(|| at.fault("column type", WireFault::Value(code.into())))?;
            schema.kinds.push(kind);
        }
        Ok(schema)
    }
}

/// Rows as they came: the received bytes, and where the values lie in them.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    rows: usize,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    symbols: Symbols,
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the message.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    pub(crate) fn column(&self, index: usize) -> Option<ColumnRef<'_>> {
        let column = self.columns.get(index)?;
        Some(ColumnRef::new(&self.bytes, column, self.rows, &self.symbols))
    }

    /// Gives back what the next batch can use.
    pub(crate) fn recycle(self) -> (Vec<u8>, Shell) {
        let mut shell = Shell { columns: self.columns, spares: Spares::default() };
        for column in shell.columns.drain(..) {
            shell.spares.keep(column);
        }
        if shell.spares.bytes() + shell.columns.capacity() * size_of::<Column>() > MAX_SPARE_BYTES {
            shell = Shell::default();
        }
        (self.bytes, shell)
    }
}

/// Vectors of a batch that is gone, for the next one.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    columns: Vec<Column>,
    spares: Spares,
}

/// Reads the batches of a connection, one request after the other.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    dictionary: Dictionary,
    /// Of the request that runs, once its batch 0 has come.
    schema: Option<Arc<Schema>>,
    /// What the next batch has to say.
    next_seq: u64,
    /// The fewest and the most rows of a batch of this request.
    rows: Option<(usize, usize)>,
}

impl Decoder {
    /// A new request: batches and schema start afresh, the dictionary stays.
    pub(crate) fn begin(&mut self) {
        self.schema = None;
        self.next_seq = 0;
        self.rows = None;
    }

    /// Batches read since [`Decoder::begin`].
    pub(crate) fn batches(&self) -> u64 {
        self.next_seq
    }

    /// Whether every batch read since [`Decoder::begin`] has exactly that many rows.
    pub(crate) fn all_have(&self, rows: usize) -> bool {
        self.rows.is_none_or(|span| span == (rows, rows))
    }

    /// Forgets all symbols. Batches that were handed out keep theirs.
    pub(crate) fn reset_dictionary(&mut self) {
        self.dictionary.clear();
    }

    /// Reads the batch whose head is `head`. After an error the connection is of no use any more.
    pub(crate) fn batch(&mut self, head: &BatchHead, message: Vec<u8>, shell: Shell) -> WireResult<Batch> {
        let Shell { mut columns, mut spares } = shell;
        let mut reader = self.body(head, &message)?;
        let rows = self.preamble(head, &mut reader)?;
        let schema = match &self.schema {
            Some(schema) => schema.clone(),
            None => {
                let schema = Arc::new(Schema::read(&mut reader)?);
                self.schema.insert(schema).clone()
            }
        };
        let cells = (rows as u64).saturating_mul(schema.len() as u64);
        if cells > MAX_CELLS {
            return Err(reader.fault("cells", WireFault::Limit { value: cells, limit: MAX_CELLS }));
        }
        columns.clear();
        for &kind in &schema.kinds {
            columns.push(Column::read(&mut reader, kind, rows, self.dictionary.len(), &mut spares)?);
        }
        reader.end("last column")?;
        self.next_seq += 1;
        Ok(Batch { bytes: message, rows, schema, columns, symbols: self.dictionary.snapshot() })
    }

    /// Takes over only what a batch adds to the dictionary, for a result that nobody reads any more.
    pub(crate) fn skim(&mut self, head: &BatchHead, message: &[u8]) -> WireResult<()> {
        let mut reader = self.body(head, message)?;
        self.preamble(head, &mut reader)?;
        self.next_seq += 1;
        Ok(())
    }

    /// The reader at the body. The seam for compressed bodies: they end here for now.
    fn body<'a>(&self, head: &BatchHead, message: &'a [u8]) -> WireResult<Reader<'a>> {
        let mut reader = Reader::new(message);
        reader.bytes("batch", head.body)?;
        if head.seq != self.next_seq {
            return Err(reader.fault("batch sequence", WireFault::Value(head.seq)));
        }
        if head.compressed {
            let what = "compressed with zstd, which needs the crate feature `zstd`";
            return Err(reader.fault("body", WireFault::Inconsistent(what)));
        }
        Ok(reader)
    }

    /// Reads dictionary delta, table name and row count.
    fn preamble(&mut self, head: &BatchHead, reader: &mut Reader<'_>) -> WireResult<usize> {
        let delta = self.dictionary.read_delta(reader, head.seq == 0)?;
        let at = reader.clone();
        if !reader.str("table name")?.is_empty() {
            return Err(at.fault("table name", WireFault::Inconsistent("not empty")));
        }
        let rows = reader.varint_up_to("row count", MAX_ROWS)?;
        self.dictionary.apply(delta)?;
        // MAX_ROWS fits.
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let (fewest, most) = self.rows.unwrap_or((rows, rows));
        self.rows = Some((fewest.min(rows), most.max(rows)));
        Ok(rows)
    }
}

/// Body of the fuzz target: a row of messages, cut by the lengths in their headers, gives batches or
/// an error, and every cell of what was accepted is there.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_batch(mut bytes: &[u8]) {
    use super::event::{self, Event};
    const MESSAGES: usize = 8;
    let mut decoder = Decoder::default();
    let mut shell = Shell::default();
    for _ in 0..MESSAGES {
        let length = bytes.get(8..).and_then(|rest| rest.first_chunk()).map_or(0, |l| u32::from_le_bytes(*l));
        let end = (length as usize).saturating_add(crate::wire::frame::HEADER_BYTES).min(bytes.len());
        let (message, rest) = bytes.split_at(end);
        bytes = rest;
        let Ok(Event::Batch(head)) = event::read(message) else { continue };
        let Ok(batch) = decoder.batch(&head, message.to_vec(), shell) else { return };
        for column in (0..batch.schema().len()).filter_map(|index| batch.column(index)) {
            assert_eq!(column.touch(), column.count(), "a checked cell is not there");
        }
        shell = batch.recycle().1;
    }
}

#[cfg(test)]
mod tests;
