//! Reads messages that carry rows: what a sender kept, for an operator to look at, and for tests.
//!
//! Strict: refuses what a server merely tolerates. Values stay where they are in the message.

pub(crate) mod values;

pub(crate) use values::{Cell, Values};

use super::table::DESIGNATED;
use crate::wire::frame::{Flags, Header};
use crate::wire::reader::{Reader, WireError, WireFault, WireResult};
use crate::wire::symbols::Delta;
use crate::wire::types::ColumnType;

/// Rows of a block, columns of a block and bytes of a name that a server takes (wire.md 5.3).
const ROWS_MAX: u64 = 1_000_000;
const COLUMNS_MAX: u64 = 2_048;
const NAME_BYTES_MAX: usize = 127;

/// A message.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    /// The flags of the header.
    #[allow(dead_code, reason = "tests and fuzz targets look at it")]
    pub(crate) flags: Flags,
    /// New symbols, unless columns carry their own.
    #[allow(dead_code, reason = "tests and fuzz targets look at it")]
    pub(crate) delta: Option<Delta<'a>>,
    /// The rows of each table.
    pub(crate) blocks: Vec<Block<'a>>,
}

/// The rows of one table.
#[derive(Debug, Clone)]
pub(crate) struct Block<'a> {
    /// Name of the table.
    pub(crate) name: &'a str,
    /// Number of rows.
    pub(crate) row_count: usize,
    /// The columns; each has a cell for every row.
    pub(crate) columns: Vec<Column<'a>>,
}

/// One column of a block.
#[derive(Debug, Clone)]
pub(crate) struct Column<'a> {
    /// Its name, empty for the designated timestamp.
    pub(crate) name: &'a str,
    /// Its type.
    pub(crate) column_type: ColumnType,
    /// The bitmap, bit 1 = NULL, if there is one.
    nulls: Option<&'a [u8]>,
    row_count: usize,
    /// The values of the rows that are not NULL.
    pub(crate) values: Values<'a>,
}

/// Reads a whole message.
pub(crate) fn message(bytes: &[u8]) -> WireResult<Message<'_>> {
    let mut reader = Reader::new(bytes);
    let header = Header::read(&mut reader)?;
    let flags = header.flags;
    if flags.has_beside(Flags::DEFER_COMMIT.with(Flags::GORILLA).with(Flags::DELTA_SYMBOLS)) {
        return Err(reader.fault("flags", WireFault::Value(flags.byte().into())));
    }
    let has_delta = flags.has(Flags::DELTA_SYMBOLS);
    let delta = if has_delta { Some(Delta::read(&mut reader)?) } else { None };
    let mut blocks = Vec::new();
    for _ in 0..header.table_count {
        blocks.push(block(&mut reader, flags)?);
    }
    reader.end("message")?;
    Ok(Message { flags, delta, blocks })
}

fn block<'a>(reader: &mut Reader<'a>, flags: Flags) -> WireResult<Block<'a>> {
    let name = short_name(reader, "table name")?;
    if name.is_empty() {
        return Err(reader.fault("table name", WireFault::Value(0)));
    }
    let rows = positive_up_to(reader, "row count", ROWS_MAX)?;
    let column_count = positive_up_to(reader, "column count", COLUMNS_MAX)?;
    let mut schema = Vec::new();
    for _ in 0..column_count {
        schema.push(column_head(reader)?);
    }
    if schema.iter().filter(|(name, _)| *name == DESIGNATED).count() > 1 {
        return Err(reader.fault("column name", WireFault::Inconsistent("two designated timestamps")));
    }
    let row_count = usize::try_from(rows).map_err(|_| reader.fault("row count", WireFault::Value(rows)))?;
    let mut columns = Vec::with_capacity(schema.len());
    for (name, column_type) in schema {
        columns.push(column(reader, name, column_type, row_count, flags)?);
    }
    Ok(Block { name, row_count, columns })
}

fn short_name<'a>(reader: &mut Reader<'a>, field: &'static str) -> WireResult<&'a str> {
    let at = reader.offset();
    let name = reader.str(field)?;
    if name.len() > NAME_BYTES_MAX {
        let what = WireFault::Limit { value: name.len() as u64, limit: NAME_BYTES_MAX as u64 };
        return Err(WireError { at, what, field });
    }
    Ok(name)
}

fn positive_up_to(reader: &mut Reader<'_>, field: &'static str, limit: u64) -> WireResult<u64> {
    let at = reader.offset();
    match reader.varint_up_to(field, limit)? {
        0 => Err(WireError { at, what: WireFault::Value(0), field }),
        count => Ok(count),
    }
}

fn column_head<'a>(reader: &mut Reader<'a>) -> WireResult<(&'a str, ColumnType)> {
    let name = short_name(reader, "column name")?;
    let at = reader.offset();
    let code = reader.u8("column type")?;
    let fault = |what| WireError { at, what, field: "column type" };
    let column_type = ColumnType::from_code(code).ok_or(fault(WireFault::Value(code.into())))?;
    let is_timestamp = matches!(column_type, ColumnType::Timestamp | ColumnType::TimestampNanos);
    if name == DESIGNATED && !is_timestamp {
        return Err(fault(WireFault::Inconsistent("a column without name is no timestamp")));
    }
    Ok((name, column_type))
}

fn column<'a>(
    reader: &mut Reader<'a>,
    name: &'a str,
    column_type: ColumnType,
    row_count: usize,
    flags: Flags,
) -> WireResult<Column<'a>> {
    let at = reader.offset();
    let nulls = match reader.u8("null flag")? {
        0 => None,
        1 => Some(bits(reader, "null bitmap", row_count)?),
        other => {
            return Err(WireError { at, what: WireFault::Value(other.into()), field: "null flag" });
        }
    };
    let value_count = row_count - nulls.map_or(0, ones);
    let values = Values::read(reader, column_type, value_count, flags)?;
    Ok(Column { name, column_type, nulls, row_count, values })
}

/// Reads `count` bits; those behind the last have to be 0.
fn bits<'a>(reader: &mut Reader<'a>, field: &'static str, count: usize) -> WireResult<&'a [u8]> {
    let bytes = reader.bytes(field, count.div_ceil(8))?;
    let spare_bits = bytes.len() * 8 - count;
    let spare = bytes.last().map_or(0, |last| last.leading_zeros() as usize);
    if spare < spare_bits {
        return Err(reader.fault(field, WireFault::Inconsistent("a bit behind the last is set")));
    }
    Ok(bytes)
}

fn bit(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

fn ones(bits: &[u8]) -> usize {
    bits.iter().map(|byte| byte.count_ones() as usize).sum()
}

impl<'a> Column<'a> {
    /// The cell of each row, `None` for NULL. Values that a server takes for NULL, such as the
    /// smallest integer, are shown as they are.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Option<Cell<'a>>> {
        let mut next = 0;
        (0..self.row_count).map(move |row| {
            if self.nulls.is_some_and(|nulls| bit(nulls, row)) {
                return None;
            }
            next += 1;
            self.values.get(next - 1)
        })
    }
}

#[cfg(test)]
mod tests;
