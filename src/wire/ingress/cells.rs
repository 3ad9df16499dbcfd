//! Writes what was decoded, for round trips: fuzzing and tests.

use super::column::{self, Bits};
use super::decode::{self, Cell, Column, Message, Values};
use super::table;
use crate::wire::frame::{self, Flags};
use crate::wire::sink::Sink;
use crate::wire::symbols;
use crate::wire::types::ColumnType;

/// A column to be written: `parameter` is the precision of a GEOHASH, the scale of a decimal.
#[derive(Debug, Clone)]
pub(crate) struct CellColumn<'a> {
    pub(crate) name: &'a str,
    pub(crate) column_type: ColumnType,
    pub(crate) parameter: u8,
    pub(crate) cells: Vec<Option<Cell<'a>>>,
}

impl<'a> From<&Column<'a>> for CellColumn<'a> {
    fn from(column: &Column<'a>) -> CellColumn<'a> {
        let parameter = match column.values {
            Values::Geohashes { precision, .. } => precision,
            Values::Decimals { scale, .. } => scale,
            _ => 0,
        };
        let cells = column.cells().collect();
        CellColumn { name: column.name, column_type: column.column_type, parameter, cells }
    }
}

/// Appends a block. Without flag GORILLA timestamps are written as other packages do.
pub(crate) fn put_block(name: &str, columns: &[CellColumn<'_>], flags: Flags, sink: &mut Sink<'_>) {
    let row_count = columns.first().map_or(0, |column| column.cells.len());
    let schema = columns.iter().map(|column| (column.name, column.column_type));
    table::put_head(name, row_count, schema, sink);
    for column in columns {
        let before = sink.len();
        let bound = column.put(flags, sink);
        assert!(sink.len() - before <= bound, "{:?}", column.column_type);
    }
}

/// The message, written by this client's encoders.
pub(crate) fn encode(message: &Message<'_>) -> Vec<u8> {
    let mut room = vec![0; 1 << 20];
    let mut sink = Sink::new(&mut room);
    let open = frame::open(&mut sink);
    if let Some(delta) = message.delta {
        symbols::put_delta(delta.start, delta.count, delta.entries, &mut sink);
    }
    for block in &message.blocks {
        let columns: Vec<CellColumn<'_>> = block.columns.iter().map(CellColumn::from).collect();
        put_block(block.name, &columns, message.flags, &mut sink);
    }
    let table_count = u16::try_from(message.blocks.len()).expect("read from 16 bits");
    open.close(&mut sink, message.flags, table_count);
    let len = sink.finish().expect("the messages of tests are small");
    room.truncate(len);
    room
}

impl CellColumn<'_> {
    /// Writes the column's data and returns the bound that was promised for it.
    pub(crate) fn put(&self, flags: Flags, sink: &mut Sink<'_>) -> usize {
        let null_words = words(self.cells.iter().map(Option::is_none));
        let rows = self.cells.len();
        let nulls = Bits { words: &null_words, first: 0, count: rows };
        let some_nulls = nulls.any().then_some(nulls);
        let count = rows - nulls.ones();
        let fixed = |bytes| column::fixed_max_len(bytes, rows, count);
        match self.column_type {
            ColumnType::Boolean => {
                let words = words(self.cells.iter().map(|cell| *cell == Some(Cell::Boolean(true))));
                column::put_booleans(Bits { words: &words, first: 0, count: rows }, sink);
                return column::booleans_len(rows);
            }
            ColumnType::Byte => {
                column::put_fixed(None, &self.each(|cell| integer(cell) as i8), sink);
                return column::fixed_max_len(1, rows, rows);
            }
            ColumnType::Short => {
                column::put_fixed(None, &self.each(|cell| integer(cell) as i16), sink);
                return column::fixed_max_len(2, rows, rows);
            }
            ColumnType::Char => {
                column::put_fixed(None, &self.each(|cell| unsigned(cell) as u16), sink);
                return column::fixed_max_len(2, rows, rows);
            }
            ColumnType::Int => {
                column::put_fixed(some_nulls, &self.values(|cell| integer(cell) as i32), sink);
                fixed(4)
            }
            ColumnType::Ipv4 => {
                column::put_fixed(some_nulls, &self.values(|cell| unsigned(cell) as u32), sink);
                fixed(4)
            }
            ColumnType::Float => {
                let values = self.values(|cell| match cell {
                    Cell::Float(value) => value,
                    other => panic!("{other:?}"),
                });
                column::put_fixed(some_nulls, &values, sink);
                fixed(4)
            }
            ColumnType::Double => {
                let values = self.values(|cell| match cell {
                    Cell::Double(value) => value,
                    other => panic!("{other:?}"),
                });
                column::put_fixed(some_nulls, &values, sink);
                fixed(8)
            }
            ColumnType::Timestamp | ColumnType::TimestampNanos if flags.has(Flags::GORILLA) => {
                column::put_timestamps(some_nulls, &self.values(integer), sink);
                column::timestamps_max_len(rows, count)
            }
            ColumnType::Long | ColumnType::Date | ColumnType::Timestamp | ColumnType::TimestampNanos => {
                column::put_fixed(some_nulls, &self.values(integer), sink);
                fixed(8)
            }
            ColumnType::Uuid => {
                let values = self.values(|cell| match cell {
                    Cell::Uuid(value) => value,
                    other => panic!("{other:?}"),
                });
                column::put_fixed(some_nulls, &values, sink);
                fixed(16)
            }
            ColumnType::Long256 => {
                column::put_fixed(some_nulls, &self.values(limbs), sink);
                fixed(32)
            }
            ColumnType::Symbol => {
                let ids = self.values(|cell| unsigned(cell) as u32);
                column::put_symbols(some_nulls, &ids, sink);
                column::symbols_max_len(rows, count, ids.iter().copied().max().unwrap_or(0))
            }
            ColumnType::Geohash => {
                column::put_geohashes(self.parameter, some_nulls, &self.values(unsigned), sink);
                column::geohashes_max_len(self.parameter, rows, count)
            }
            ColumnType::Varchar | ColumnType::Binary => self.put_texts(some_nulls, sink),
            ColumnType::Decimal64 => {
                column::put_decimals::<1>(self.parameter, some_nulls, &self.values(limbs), sink);
                column::decimals_max_len(1, rows, count)
            }
            ColumnType::Decimal128 => {
                column::put_decimals::<2>(self.parameter, some_nulls, &self.values(limbs), sink);
                column::decimals_max_len(2, rows, count)
            }
            ColumnType::Decimal256 => {
                column::put_decimals::<4>(self.parameter, some_nulls, &self.values(limbs), sink);
                column::decimals_max_len(4, rows, count)
            }
            ColumnType::DoubleArray | ColumnType::LongArray => {
                let encoded = self.arrays();
                column::put_arrays(some_nulls, &encoded, sink);
                column::arrays_max_len(rows, encoded.len())
            }
        }
    }

    fn put_texts(&self, nulls: Option<Bits<'_>>, sink: &mut Sink<'_>) -> usize {
        // as in a buffer that holds other rows before: the first offset is not 0
        let mut bytes = b"before".to_vec();
        let mut offsets = vec![bytes.len() as u32];
        for cell in self.cells.iter().flatten() {
            match cell {
                Cell::Text(text) => bytes.extend(text.as_bytes()),
                Cell::Bytes(value) => bytes.extend(*value),
                other => panic!("{other:?}"),
            }
            offsets.push(bytes.len() as u32);
        }
        column::put_texts(nulls, &offsets, &bytes, sink);
        column::texts_max_len(self.cells.len(), offsets.len() - 1, bytes.len() - 6)
    }

    fn arrays(&self) -> Vec<u8> {
        let mut encoded = Vec::new();
        for cell in self.cells.iter().flatten() {
            let Cell::Array(array) = cell else { panic!("{cell:?}") };
            let lengths: Vec<u32> = array.lengths.iter().map(|l| u32::from_le_bytes(*l)).collect();
            let elements: Vec<f64> = array.elements.iter().map(|e| f64::from_le_bytes(*e)).collect();
            column::put_array_value(&lengths, &elements, &mut encoded);
        }
        encoded
    }

    fn values<'b, T>(&'b self, of: impl Fn(Cell<'b>) -> T) -> Vec<T> {
        self.cells.iter().flatten().map(|cell| of(*cell)).collect()
    }

    /// One value a row, 0 for NULL.
    fn each<'b, T: Default>(&'b self, of: impl Fn(Cell<'b>) -> T) -> Vec<T> {
        self.cells.iter().map(|cell| cell.map(&of).unwrap_or_default()).collect()
    }
}

fn words(bits: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut words = Vec::new();
    for (index, bit) in bits.enumerate() {
        if index % 64 == 0 {
            words.push(0);
        }
        if let Some(word) = words.last_mut() {
            *word |= u64::from(bit) << (index % 64);
        }
    }
    words
}

fn integer(cell: Cell<'_>) -> i64 {
    let Cell::Integer(value) = cell else { panic!("{cell:?}") };
    value
}

fn unsigned(cell: Cell<'_>) -> u64 {
    let Cell::Unsigned(value) = cell else { panic!("{cell:?}") };
    value
}

fn limbs(cell: Cell<'_>) -> [u64; 4] {
    let Cell::Limbs(value) = cell else { panic!("{cell:?}") };
    value
}

/// Body of a fuzz target: a message that is read is written by our encoders, and reads alike.
pub(crate) fn fuzz_ingress_message(data: &[u8]) {
    let Ok(message) = decode::message(data) else { return };
    let cells: usize = message.blocks.iter().map(|b| b.row_count.saturating_mul(b.columns.len())).sum();
    let within_precision = message.blocks.iter().flat_map(|block| &block.columns).all(is_writable);
    if message.delta.is_none() || cells > 10_000 || !within_precision {
        return;
    }
    let written = encode(&message);
    let again = decode::message(&written).expect("our own message");
    assert_eq!((message.flags, message.delta), (again.flags, again.delta));
    let shown = |message: &Message<'_>| {
        let blocks = message.blocks.iter();
        let columns = blocks.map(|b| (b.name.to_owned(), b.columns.iter().map(shown_column).collect()));
        columns.collect::<Vec<(String, Vec<String>)>>()
    };
    assert_eq!(shown(&message), shown(&again));
    assert_eq!(encode(&again), written);
}

/// As text, because NaN is not equal to itself; NULL of a type without NULL as what it stands for.
fn shown_column(column: &Column<'_>) -> String {
    let mut column = CellColumn::from(column);
    let stands_for_null = match column.column_type {
        ColumnType::Boolean => Some(Cell::Boolean(false)),
        ColumnType::Byte | ColumnType::Short => Some(Cell::Integer(0)),
        ColumnType::Char => Some(Cell::Unsigned(0)),
        _ => None,
    };
    for cell in &mut column.cells {
        *cell = cell.or(stands_for_null);
    }
    format!("{column:?}")
}

/// A writer has no bits above the precision; a reader takes them.
fn is_writable(column: &Column<'_>) -> bool {
    match column.values {
        Values::Geohashes { precision, .. } => column.cells().flatten().all(|cell| match cell {
            Cell::Unsigned(hash) => hash >> precision == 0,
            _ => false,
        }),
        _ => true,
    }
}
