//! What stands around the columns of a message (wire.md 4, 4.2).

use crate::wire::frame::Flags;
use crate::wire::sink::Sink;
use crate::wire::types::ColumnType;
use crate::wire::varint;

/// The flags of every message with rows; the sender adds the defer flag.
pub(crate) const FLAGS: Flags = Flags::GORILLA.with(Flags::DELTA_SYMBOLS);

/// The name under which the designated timestamp travels.
pub(crate) const DESIGNATED: &str = "";

/// Appends the head of a block; the data of its columns follows in the same order.
pub(crate) fn put_head<'a>(
    name: &str,
    row_count: usize,
    columns: impl ExactSizeIterator<Item = (&'a str, ColumnType)>,
    sink: &mut Sink<'_>,
) {
    sink.str(name);
    sink.varint(row_count as u64);
    sink.varint(columns.len() as u64);
    for (name, column_type) in columns {
        sink.str(name);
        sink.u8(column_type.code());
    }
}

/// Upper bound of what [`put_head`] writes for columns whose names have `names_bytes` in all.
pub(crate) const fn head_max_len(table_name_bytes: usize, column_count: usize, names_bytes: usize) -> usize {
    /// A name has 127 bytes at most, so its length takes one byte; its type takes another.
    const COLUMN_BYTES: usize = 2;
    1 + table_name_bytes + 2 * varint::MAX_BYTES + COLUMN_BYTES * column_count + names_bytes
}
