//! Writes what was decoded, for round trips: fuzzing and tests.
#![expect(clippy::cast_possible_truncation, reason = "a cell holds what its type can")]

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
    for room_bytes in (16..28).map(|bits| 1 << bits) {
        let mut room = vec![0; room_bytes];
        if let Some(len) = put_message(message, &mut room) {
            room.truncate(len);
            return room;
        }
    }
    panic!("a message of 128 MiB");
}

fn put_message(message: &Message<'_>, room: &mut [u8]) -> Option<usize> {
    let mut sink = Sink::new(room);
    let open = frame::open(&mut sink);
    if let Some(delta) = message.delta {
        symbols::put_delta(delta.start, delta.count, [delta.entries], &mut sink);
    }
    for block in &message.blocks {
        let columns: Vec<CellColumn<'_>> = block.columns.iter().map(CellColumn::from).collect();
        put_block(block.name, &columns, message.flags, &mut sink);
    }
    let table_count = u16::try_from(message.blocks.len()).expect("read from 16 bits");
    open.close(&mut sink, message.flags, table_count);
    sink.finish()
}

impl CellColumn<'_> {
    /// Writes the column's data and returns the bound that was promised for it.
    pub(crate) fn put(&self, flags: Flags, sink: &mut Sink<'_>) -> usize {
        let null_words = words(self.cells.iter().map(Option::is_none));
        let nulls = Bits { words: &null_words, first: 0, count: self.cells.len() };
        match self.column_type {
            ColumnType::Boolean | ColumnType::Byte | ColumnType::Short | ColumnType::Char => {
                self.put_each(sink)
            }
            ColumnType::Timestamp | ColumnType::TimestampNanos if flags.has(Flags::GORILLA) => {
                let values = self.values(integer);
                column::put_timestamps(Some(nulls), &values, sink);
                column::timestamps_max_len(self.cells.len(), values.len())
            }
            ColumnType::Varchar | ColumnType::Binary => self.put_texts(nulls, sink),
            ColumnType::DoubleArray | ColumnType::LongArray => {
                let encoded = self.arrays();
                column::put_arrays(Some(nulls), &encoded, sink);
                column::arrays_max_len(self.cells.len(), encoded.len())
            }
            ColumnType::Symbol
            | ColumnType::Geohash
            | ColumnType::Decimal64
            | ColumnType::Decimal128
            | ColumnType::Decimal256 => self.put_special(nulls, sink),
            _ => self.put_fixed(nulls, sink),
        }
    }

    /// The types without NULL.
    fn put_each(&self, sink: &mut Sink<'_>) -> usize {
        let rows = self.cells.len();
        match self.column_type {
            ColumnType::Byte => {
                column::put_fixed(None, &self.each(|cell| integer(cell) as i8), sink);
                column::fixed_max_len(1, rows, rows)
            }
            ColumnType::Short => {
                column::put_fixed(None, &self.each(|cell| integer(cell) as i16), sink);
                column::fixed_max_len(2, rows, rows)
            }
            ColumnType::Char => {
                column::put_fixed(None, &self.each(|cell| unsigned(cell) as u16), sink);
                column::fixed_max_len(2, rows, rows)
            }
            _ => {
                let words = words(self.cells.iter().map(|cell| *cell == Some(Cell::Boolean(true))));
                column::put_booleans(Bits { words: &words, first: 0, count: rows }, sink);
                column::booleans_len(rows)
            }
        }
    }

    fn put_fixed(&self, nulls: Bits<'_>, sink: &mut Sink<'_>) -> usize {
        let nulls = Some(nulls);
        let value_bytes = match self.column_type {
            ColumnType::Int => {
                column::put_fixed(nulls, &self.values(|cell| integer(cell) as i32), sink);
                4
            }
            ColumnType::Ipv4 => {
                column::put_fixed(nulls, &self.values(|cell| unsigned(cell) as u32), sink);
                4
            }
            ColumnType::Float => {
                column::put_fixed(nulls, &self.values(float), sink);
                4
            }
            ColumnType::Double => {
                column::put_fixed(nulls, &self.values(double), sink);
                8
            }
            ColumnType::Uuid => {
                column::put_fixed(nulls, &self.values(uuid), sink);
                16
            }
            ColumnType::Long256 => {
                column::put_fixed(nulls, &self.values(limbs), sink);
                32
            }
            _ => {
                column::put_fixed(nulls, &self.values(integer), sink);
                8
            }
        };
        column::fixed_max_len(value_bytes, self.cells.len(), self.value_count())
    }

    fn put_special(&self, nulls: Bits<'_>, sink: &mut Sink<'_>) -> usize {
        let nulls = Some(nulls);
        let (rows, count, parameter) = (self.cells.len(), self.value_count(), self.parameter);
        match self.column_type {
            ColumnType::Symbol => {
                let ids = self.values(|cell| unsigned(cell) as u32);
                column::put_symbols(nulls, &ids, sink);
                column::symbols_max_len(rows, count, ids.iter().copied().max().unwrap_or(0))
            }
            ColumnType::Geohash => {
                column::put_geohashes(parameter, nulls, &self.values(unsigned), sink);
                column::geohashes_max_len(parameter, rows, count)
            }
            ColumnType::Decimal64 => {
                column::put_decimals::<1>(parameter, nulls, &self.values(limbs), sink);
                column::decimals_max_len(1, rows, count)
            }
            ColumnType::Decimal128 => {
                column::put_decimals::<2>(parameter, nulls, &self.values(limbs), sink);
                column::decimals_max_len(2, rows, count)
            }
            _ => {
                column::put_decimals::<4>(parameter, nulls, &self.values(limbs), sink);
                column::decimals_max_len(4, rows, count)
            }
        }
    }

    fn put_texts(&self, nulls: Bits<'_>, sink: &mut Sink<'_>) -> usize {
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
        column::put_texts(Some(nulls), &offsets, &bytes, sink);
        column::texts_max_len(self.cells.len(), offsets.len() - 1, bytes.len() - 6)
    }

    fn arrays(&self) -> Vec<u8> {
        let mut encoded = Vec::new();
        for cell in self.cells.iter().flatten() {
            let Cell::Array(array) = cell else { panic!("{cell:?}") };
            encoded.push(array.lengths.len() as u8);
            encoded.extend(array.lengths.as_flattened());
            encoded.extend(array.elements.as_flattened());
        }
        encoded
    }

    fn value_count(&self) -> usize {
        self.cells.iter().flatten().count()
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

fn float(cell: Cell<'_>) -> f32 {
    let Cell::Float(value) = cell else { panic!("{cell:?}") };
    value
}

fn double(cell: Cell<'_>) -> f64 {
    let Cell::Double(value) = cell else { panic!("{cell:?}") };
    value
}

fn uuid(cell: Cell<'_>) -> u128 {
    let Cell::Uuid(value) = cell else { panic!("{cell:?}") };
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
