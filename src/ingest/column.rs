//! The values of one column that wait for a flush.
//!
//! Values only, one vector a column; a NULL costs a bit, and a column that a row does not name costs
//! the row nothing: the gap is filled when the column is next set, or sealed.

use super::bitmap::Bitmap;
use super::names::Key;
use super::parametric::{Arrays, Blobs, Decimals, Geohashes};
use super::symbols::Symbols;
use crate::value::DecimalWidth;
use crate::wire::types::ColumnType;

/// A column of a table, with the values of the rows since the last flush.
#[derive(Debug)]
pub(crate) struct Column {
    key: Key,
    pub(crate) values: Values,
    /// Rows that have a value or a NULL here: at most one more than the table has finished rows.
    pub(crate) covered: usize,
    /// 1 where a row is NULL. Rows beyond its length have a value.
    pub(crate) nulls: Bitmap,
    /// Finished and unfinished rows that said NULL by name.
    named_nulls: usize,
    /// The row of this batch that named the column first, or [`EARLIER_BATCH`].
    brought_by: usize,
}

/// No row: the column was there before this batch.
const EARLIER_BATCH: usize = usize::MAX;

/// The values of the rows that are not NULL, packed. BOOLEAN, BYTE, SHORT and CHAR know no NULL:
/// they have one value a row.
#[derive(Debug)]
pub(crate) enum Values {
    Boolean(Bitmap),
    Byte(Vec<i8>),
    Short(Vec<i16>),
    Char(Vec<u16>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Symbol(Symbols),
    Timestamp(Vec<i64>),
    TimestampNanos(Vec<i64>),
    Date(Vec<i64>),
    Uuid(Vec<[u64; 2]>),
    Long256(Vec<[u64; 4]>),
    Geohash(Geohashes),
    Varchar(Blobs),
    Binary(Blobs),
    Decimal(Decimals),
    Array(Arrays),
    Ipv4(Vec<u32>),
}

/// A bit a row, the first in the lowest bit of the first byte: 0 is NULL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Validity<'a>(pub(crate) &'a [u8]);

impl Validity<'_> {
    /// Whether the row has a value.
    #[inline]
    pub(crate) fn get(self, row: usize) -> bool {
        self.0.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }
}

impl Values {
    pub(crate) fn column_type(&self) -> ColumnType {
        match self {
            Values::Boolean(_) => ColumnType::Boolean,
            Values::Byte(_) => ColumnType::Byte,
            Values::Short(_) => ColumnType::Short,
            Values::Char(_) => ColumnType::Char,
            Values::Int(_) => ColumnType::Int,
            Values::Long(_) => ColumnType::Long,
            Values::Float(_) => ColumnType::Float,
            Values::Double(_) => ColumnType::Double,
            Values::Symbol(_) => ColumnType::Symbol,
            Values::Timestamp(_) => ColumnType::Timestamp,
            Values::TimestampNanos(_) => ColumnType::TimestampNanos,
            Values::Date(_) => ColumnType::Date,
            Values::Uuid(_) => ColumnType::Uuid,
            Values::Long256(_) => ColumnType::Long256,
            Values::Geohash(_) => ColumnType::Geohash,
            Values::Varchar(_) => ColumnType::Varchar,
            Values::Binary(_) => ColumnType::Binary,
            Values::Decimal(decimals) => match decimals.width {
                DecimalWidth::W64 => ColumnType::Decimal64,
                DecimalWidth::W128 => ColumnType::Decimal128,
                DecimalWidth::W256 => ColumnType::Decimal256,
            },
            Values::Array(_) => ColumnType::DoubleArray,
            Values::Ipv4(_) => ColumnType::Ipv4,
        }
    }

    /// No values of that type. LONG[] is not written: servers refuse it (LIM-08).
    pub(crate) fn new(column_type: ColumnType) -> Option<Values> {
        let decimal = |width| {
            Values::Decimal(Decimals { width, scale: None, scale_is_settled: false, unscaled: Vec::new() })
        };
        Some(match column_type {
            ColumnType::Boolean => Values::Boolean(Bitmap::default()),
            ColumnType::Byte => Values::Byte(Vec::new()),
            ColumnType::Short => Values::Short(Vec::new()),
            ColumnType::Char => Values::Char(Vec::new()),
            ColumnType::Int => Values::Int(Vec::new()),
            ColumnType::Long => Values::Long(Vec::new()),
            ColumnType::Float => Values::Float(Vec::new()),
            ColumnType::Double => Values::Double(Vec::new()),
            ColumnType::Symbol => Values::Symbol(Symbols::default()),
            ColumnType::Timestamp => Values::Timestamp(Vec::new()),
            ColumnType::TimestampNanos => Values::TimestampNanos(Vec::new()),
            ColumnType::Date => Values::Date(Vec::new()),
            ColumnType::Uuid => Values::Uuid(Vec::new()),
            ColumnType::Long256 => Values::Long256(Vec::new()),
            ColumnType::Geohash => Values::Geohash(Geohashes::default()),
            ColumnType::Varchar => Values::Varchar(Blobs::default()),
            ColumnType::Binary => Values::Binary(Blobs::default()),
            ColumnType::Decimal64 => decimal(DecimalWidth::W64),
            ColumnType::Decimal128 => decimal(DecimalWidth::W128),
            ColumnType::Decimal256 => decimal(DecimalWidth::W256),
            ColumnType::DoubleArray => Values::Array(Arrays::default()),
            ColumnType::Ipv4 => Values::Ipv4(Vec::new()),
            ColumnType::LongArray => return None,
        })
    }

    /// Whether the type knows NULL. Otherwise there is a value for every row.
    pub(crate) fn has_nulls(&self) -> bool {
        !matches!(self, Values::Boolean(_) | Values::Byte(_) | Values::Short(_) | Values::Char(_))
    }

    /// Makes the rows up to `rows` NULL where the type knows no NULL; elsewhere a bit says it.
    fn fill(&mut self, rows: usize) -> bool {
        match self {
            Values::Boolean(bits) => bits.extend_to(rows),
            Values::Byte(values) => values.resize(rows, 0),
            Values::Short(values) => values.resize(rows, 0),
            Values::Char(values) => values.resize(rows, 0),
            _ => return false,
        }
        true
    }

    /// How many values there are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Values::Boolean(bits) => bits.len(),
            Values::Byte(values) => values.len(),
            Values::Short(values) => values.len(),
            Values::Char(values) => values.len(),
            Values::Int(values) => values.len(),
            Values::Long(values) | Values::Timestamp(values) => values.len(),
            Values::TimestampNanos(values) | Values::Date(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Double(values) => values.len(),
            Values::Symbol(symbols) => symbols.ids.len(),
            Values::Uuid(values) => values.len(),
            Values::Long256(values) => values.len(),
            Values::Geohash(geohashes) => geohashes.bits.len(),
            Values::Varchar(blobs) | Values::Binary(blobs) => blobs.len(),
            Values::Decimal(decimals) => decimals.unscaled.len(),
            Values::Array(arrays) => arrays.encoded.len(),
            Values::Ipv4(values) => values.len(),
        }
    }

    /// Makes room for values of so many bytes together, if memory allows.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        fn room<T>(values: &mut Vec<T>, bytes: usize) {
            // Without the room the vector grows as it is filled.
            let _ = values.try_reserve_exact(bytes / size_of::<T>());
        }
        match self {
            Values::Boolean(_) => {}
            Values::Byte(values) => room(values, bytes),
            Values::Short(values) => room(values, bytes),
            Values::Char(values) => room(values, bytes),
            Values::Int(values) => room(values, bytes),
            Values::Long(values) | Values::Timestamp(values) => room(values, bytes),
            Values::TimestampNanos(values) | Values::Date(values) => room(values, bytes),
            Values::Float(values) => room(values, bytes),
            Values::Double(values) => room(values, bytes),
            Values::Symbol(symbols) => room(&mut symbols.ids, bytes),
            Values::Uuid(values) => room(values, bytes),
            Values::Long256(values) => room(values, bytes),
            Values::Geohash(geohashes) => room(&mut geohashes.bits, bytes),
            Values::Varchar(blobs) | Values::Binary(blobs) => room(&mut blobs.bytes, bytes),
            Values::Decimal(decimals) => room(&mut decimals.unscaled, bytes),
            Values::Array(arrays) => room(&mut arrays.encoded.bytes, bytes),
            Values::Ipv4(values) => room(values, bytes),
        }
    }

    /// Keeps the first `count` values.
    fn truncate(&mut self, count: usize) {
        match self {
            Values::Boolean(bits) => bits.truncate(count),
            Values::Byte(values) => values.truncate(count),
            Values::Short(values) => values.truncate(count),
            Values::Char(values) => values.truncate(count),
            Values::Int(values) => values.truncate(count),
            Values::Long(values) | Values::Timestamp(values) => values.truncate(count),
            Values::TimestampNanos(values) | Values::Date(values) => values.truncate(count),
            Values::Float(values) => values.truncate(count),
            Values::Double(values) => values.truncate(count),
            Values::Symbol(symbols) => symbols.ids.truncate(count),
            Values::Uuid(values) => values.truncate(count),
            Values::Long256(values) => values.truncate(count),
            Values::Geohash(geohashes) => {
                geohashes.bits.truncate(count);
                if count == 0 {
                    geohashes.precision = None;
                }
            }
            Values::Varchar(blobs) | Values::Binary(blobs) => blobs.truncate(count),
            Values::Decimal(decimals) => {
                decimals.unscaled.truncate(count);
                if count == 0 && !decimals.scale_is_settled {
                    decimals.scale = None;
                }
            }
            Values::Array(arrays) => {
                arrays.encoded.truncate(count);
                if count == 0 {
                    arrays.rank = None;
                }
            }
            Values::Ipv4(values) => values.truncate(count),
        }
    }
}

impl Column {
    pub(crate) fn new(name: &str, values: Values, brought_by: usize) -> Column {
        let nulls = Bitmap::default();
        Column { key: Key::new(name), values, covered: 0, nulls, named_nulls: 0, brought_by }
    }

    /// Whether row `row`, the unfinished one, was the first to name it.
    pub(crate) fn is_brought_by(&self, row: usize) -> bool {
        self.brought_by == row
    }

    pub(crate) fn name(&self) -> &str {
        self.key.name()
    }

    /// Whether `name` is its name, to the letter.
    #[inline(always)]
    pub(crate) fn is(&self, name: &str) -> bool {
        self.key.is(name)
    }

    /// Becomes a column of that type, unless a row of this batch has set a value.
    pub(crate) fn take_type(&mut self, column_type: ColumnType) {
        if self.values.column_type() != column_type
            && self.values.count() == 0
            && let Some(mut values) = Values::new(column_type)
        {
            if values.fill(self.covered) {
                self.nulls.clear();
            }
            self.values = values;
        }
    }

    /// Makes the rows from the last one set up to `rows` NULL.
    #[inline(never)]
    pub(crate) fn cover(&mut self, rows: usize) {
        if self.covered < rows {
            if !self.values.fill(rows) {
                self.nulls.put_ones(self.covered, rows);
            }
            self.covered = rows;
        }
    }

    /// Row `row`, the unfinished one, is NULL.
    pub(crate) fn set_null(&mut self, row: usize) {
        self.cover(row + 1);
        self.named_nulls += 1;
    }

    /// Takes back what the rows from `row` on, which are unfinished, have set.
    pub(crate) fn take_back(&mut self, row: usize) {
        if self.covered <= row {
            return;
        }
        let kept = row - self.nulls.ones_before(row);
        self.named_nulls -= self.nulls.ones_before(self.covered) - (row - kept);
        self.nulls.truncate(row);
        self.values.truncate(kept);
        self.covered = row;
    }

    /// Rows from the last one set on were given values, and NULL where a bit of `validity` is 0.
    pub(crate) fn append_rows(&mut self, rows: usize, validity: Option<Validity<'_>>) {
        if let Some(validity) = validity
            && self.values.has_nulls()
        {
            self.nulls.extend_to(self.covered);
            for row in 0..rows {
                let null = !validity.get(row);
                self.nulls.push(null);
                self.named_nulls += usize::from(null);
            }
        }
        self.covered += rows;
    }

    /// Whether a frame has to name it: rows that do not know a column need not hear of it.
    pub(crate) fn is_set(&self) -> bool {
        self.named_nulls > 0 || self.values.count() > 0
    }

    /// Values that stand before row `row`. Rows that were not covered yet have none.
    pub(crate) fn values_before(&self, row: usize) -> usize {
        if row >= self.covered {
            return self.values.count();
        }
        row - self.nulls.ones_before(row)
    }

    /// Forgets the values, keeps name, type and memory.
    pub(crate) fn clear(&mut self) {
        self.values.truncate(0);
        self.nulls.clear();
        self.covered = 0;
        self.named_nulls = 0;
        self.brought_by = EARLIER_BATCH;
    }
}
