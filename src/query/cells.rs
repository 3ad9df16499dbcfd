//! Typed views of a column's cells: how a value is read from the received bytes.

use crate::value::{
    Date, Decimal, DecimalWidth, Geohash, Long256, Timestamp, TimestampMicros, TimestampNanos, Uuid,
};
use crate::wire::egress::ColumnRef;
use crate::wire::egress::dictionary;
use crate::wire::reader::limbs;
use crate::wire::types::ColumnType;
use std::fmt::Debug;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::net::Ipv4Addr;

/// The cells of a column, read by row or one after the other.
///
/// `S` says how a cell is read; it never has to be named.
///
/// ```no_run
/// # fn f(batch: &qwp::Batch) -> qwp::Result<()> {
/// let price = batch.column("price")?.as_f64()?;
/// let first: Option<f64> = price.get(0);
/// let sum: f64 = price.values().sum(); // NULLs left out
/// let rows = price.iter().filter(Option::is_some).count();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ColumnView<'a, S> {
    column: ColumnRef<'a>,
    source: S,
}

impl<'a, S: Source<'a>> ColumnView<'a, S> {
    pub(super) fn new(column: ColumnRef<'a>) -> ColumnView<'a, S> {
        ColumnView { source: S::open(&column), column }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.column.rows()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.column.rows() == 0
    }

    /// How many rows are NULL.
    pub fn null_count(&self) -> usize {
        self.column.rows() - self.column.count()
    }

    /// Whether that row is NULL; false behind the last row.
    pub fn is_null(&self, row: usize) -> bool {
        self.column.is_null(row)
    }

    /// The value of a row; `None` for NULL, and behind the last row. Takes the same time for every row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<S::Item> {
        self.source.at(self.column.place(row)?)
    }

    /// All rows, `None` for NULL.
    pub fn iter(&self) -> Cells<'a, S> {
        Cells { view: *self, row: 0 }
    }

    /// The values that are present, in the order of their rows: those of all rows if
    /// [`ColumnView::null_count`] is 0. The fastest way over a column.
    #[inline]
    pub fn values(&self) -> impl ExactSizeIterator<Item = S::Item> + use<'a, S> {
        self.source.values()
    }
}

impl<'a> ColumnView<'a, Symbols<'a>> {
    /// The id of a row's text, `None` for NULL and behind the last row. Equal ids of one batch are equal
    /// texts; ids of different batches say nothing about each other.
    #[inline]
    pub fn id(&self, row: usize) -> Option<u32> {
        self.source.ids.get(self.column.place(row)?).copied()
    }

    /// The text of an id of this batch.
    pub fn text(&self, id: u32) -> Option<&'a str> {
        self.source.symbols.get(id)
    }
}

/// All rows of a column, `None` for NULL.
#[derive(Debug, Clone)]
pub struct Cells<'a, S> {
    view: ColumnView<'a, S>,
    row: usize,
}

impl<'a, S: Source<'a>> Iterator for Cells<'a, S> {
    type Item = Option<S::Item>;

    #[inline]
    fn next(&mut self) -> Option<Option<S::Item>> {
        if self.row >= self.view.len() {
            return None;
        }
        let cell = self.view.get(self.row);
        self.row += 1;
        Some(cell)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.view.len() - self.row;
        (left, Some(left))
    }

    /// Without NULLs a row is a value, and nothing has to be looked up.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        let Cells { view, row } = self;
        if view.null_count() == 0 {
            return view.values().skip(row).fold(init, |folded, value| f(folded, Some(value)));
        }
        (row..view.len()).fold(init, |folded, row| f(folded, view.get(row)))
    }
}

impl<'a, S: Source<'a>> ExactSizeIterator for Cells<'a, S> {}
impl<'a, S: Source<'a>> FusedIterator for Cells<'a, S> {}

/// How the values of a column are read. All places below the count of values are there: they were
/// checked when the batch came.
pub trait Source<'a>: Copy + Debug {
    /// A value.
    type Item;

    #[doc(hidden)]
    fn open(column: &ColumnRef<'a>) -> Self;

    #[doc(hidden)]
    fn at(&self, place: usize) -> Option<Self::Item>;

    #[doc(hidden)]
    fn values(&self) -> impl ExactSizeIterator<Item = Self::Item> + use<'a, Self>;
}

/// The iterator of a source that has no faster way than by place.
macro_rules! values_by_place {
    () => {
        fn values(&self) -> impl ExactSizeIterator<Item = Self::Item> + use<'a> {
            ByPlace::new(*self, self.count)
        }
    };
}

pub(super) struct ByPlace<'a, S> {
    source: S,
    next: usize,
    end: usize,
    lifetime: PhantomData<&'a ()>,
}

impl<'a, S: Source<'a>> ByPlace<'a, S> {
    pub(super) fn new(source: S, count: usize) -> ByPlace<'a, S> {
        ByPlace { source, next: 0, end: count, lifetime: PhantomData }
    }
}

impl<'a, S: Source<'a>> Iterator for ByPlace<'a, S> {
    type Item = S::Item;

    #[inline]
    fn next(&mut self) -> Option<S::Item> {
        if self.next >= self.end {
            return None;
        }
        self.next += 1;
        self.source.at(self.next - 1)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl<'a, S: Source<'a>> ExactSizeIterator for ByPlace<'a, S> {}

/// A value of one width.
pub trait Cell: Copy + Debug {
    #[doc(hidden)]
    type Raw: Copy + Debug + 'static;

    #[doc(hidden)]
    fn raw<'a>(column: &ColumnRef<'a>) -> &'a [Self::Raw];

    #[doc(hidden)]
    fn from_raw(raw: Self::Raw) -> Self;
}

macro_rules! cells {
    ($($type:ty: $width:literal, $from:expr;)+) => {$(
        impl Cell for $type {
            type Raw = [u8; $width];

            #[inline]
            fn raw<'a>(column: &ColumnRef<'a>) -> &'a [[u8; $width]] {
                column.fixed()
            }

            #[inline]
            fn from_raw(raw: [u8; $width]) -> $type {
                $from(raw)
            }
        }
    )+};
}

cells! {
    i8: 1, i8::from_le_bytes;
    i16: 2, i16::from_le_bytes;
    i32: 4, i32::from_le_bytes;
    i64: 8, i64::from_le_bytes;
    f32: 4, f32::from_le_bytes;
    f64: 8, f64::from_le_bytes;
    u16: 2, u16::from_le_bytes;
    Ipv4Addr: 4, |raw| Ipv4Addr::from(u32::from_le_bytes(raw));
    Uuid: 16, |raw| Uuid::from_u128(u128::from_le_bytes(raw));
    Long256: 32, |raw| Long256::from_limbs(limbs(raw));
}

/// Values of one width, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Fixed<'a, T: Cell>(&'a [T::Raw]);

impl<'a, T: Cell> Source<'a> for Fixed<'a, T> {
    type Item = T;

    fn open(column: &ColumnRef<'a>) -> Self {
        Fixed(T::raw(column))
    }

    #[inline]
    fn at(&self, place: usize) -> Option<T> {
        self.0.get(place).map(|raw| T::from_raw(*raw))
    }

    #[inline]
    fn values(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        self.0.iter().map(|raw| T::from_raw(*raw))
    }
}

/// Packed booleans.
#[derive(Debug, Clone, Copy)]
pub struct Bits<'a> {
    bits: &'a [u8],
    count: usize,
}

impl<'a> Source<'a> for Bits<'a> {
    type Item = bool;

    fn open(column: &ColumnRef<'a>) -> Self {
        Bits { bits: column.bits(), count: column.count() }
    }

    #[inline]
    fn at(&self, place: usize) -> Option<bool> {
        self.bits.get(place / 8).map(|byte| byte >> (place % 8) & 1 == 1)
    }

    values_by_place!();
}

/// Texts out of the dictionary.
#[derive(Debug, Clone, Copy)]
pub struct Symbols<'a> {
    ids: &'a [u32],
    symbols: &'a dictionary::Symbols,
}

impl<'a> Source<'a> for Symbols<'a> {
    type Item = &'a str;

    fn open(column: &ColumnRef<'a>) -> Self {
        let (ids, symbols) = column.ids();
        Symbols { ids, symbols }
    }

    #[inline]
    fn at(&self, place: usize) -> Option<&'a str> {
        self.symbols.get(*self.ids.get(place)?)
    }

    #[inline]
    fn values(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let symbols = self.symbols;
        self.ids.iter().map(move |id| symbols.get(*id).unwrap_or_default())
    }
}

/// Texts in place.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a> {
    offsets: &'a [[u8; 4]],
    text: &'a str,
    count: usize,
}

impl<'a> Source<'a> for Texts<'a> {
    type Item = &'a str;

    fn open(column: &ColumnRef<'a>) -> Self {
        let (offsets, data) = column.text();
        // Checked when the batch was read; once more for the type.
        let text = std::str::from_utf8(data).unwrap_or_default();
        Texts { offsets, text, count: column.count() }
    }

    #[inline]
    fn at(&self, place: usize) -> Option<&'a str> {
        let (start, end) = span(self.offsets, place)?;
        self.text.get(start..end)
    }

    values_by_place!();
}

/// Bytes in place.
#[derive(Debug, Clone, Copy)]
pub struct Binary<'a> {
    offsets: &'a [[u8; 4]],
    data: &'a [u8],
    count: usize,
}

impl<'a> Source<'a> for Binary<'a> {
    type Item = &'a [u8];

    fn open(column: &ColumnRef<'a>) -> Self {
        let (offsets, data) = column.text();
        Binary { offsets, data, count: column.count() }
    }

    #[inline]
    fn at(&self, place: usize) -> Option<&'a [u8]> {
        let (start, end) = span(self.offsets, place)?;
        self.data.get(start..end)
    }

    values_by_place!();
}

#[inline]
fn span(offsets: &[[u8; 4]], place: usize) -> Option<(usize, usize)> {
    let [start, end] = offsets.get(place..)?.first_chunk()?;
    Some((u32::from_le_bytes(*start) as usize, u32::from_le_bytes(*end) as usize))
}

/// 64-bit times: read in place, or decoded.
#[derive(Debug, Clone, Copy)]
enum Ticks<'a> {
    Plain(&'a [[u8; 8]]),
    Decoded(&'a [i64]),
}

impl<'a> Ticks<'a> {
    fn open(column: &ColumnRef<'a>) -> Self {
        match column.times() {
            Some(times) => Ticks::Decoded(times),
            None => Ticks::Plain(column.fixed()),
        }
    }

    #[inline]
    fn at(&self, place: usize) -> Option<i64> {
        match self {
            Ticks::Plain(plain) => plain.get(place).map(|raw| i64::from_le_bytes(*raw)),
            Ticks::Decoded(times) => times.get(place).copied(),
        }
    }
}

/// A time of one unit.
pub trait Tick: Copy + Debug {
    #[doc(hidden)]
    fn from_ticks(ticks: i64) -> Self;
}

macro_rules! ticks {
    ($($type:ty),+) => {$(
        impl Tick for $type {
            #[inline]
            fn from_ticks(ticks: i64) -> Self {
                <$type>::new(ticks)
            }
        }
    )+};
}

ticks!(TimestampMicros, TimestampNanos, Date);

/// Times of one unit.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a, T> {
    ticks: Ticks<'a>,
    count: usize,
    unit: PhantomData<T>,
}

impl<'a, T: Tick> Source<'a> for Times<'a, T> {
    type Item = T;

    fn open(column: &ColumnRef<'a>) -> Self {
        Times { ticks: Ticks::open(column), count: column.count(), unit: PhantomData }
    }

    #[inline]
    fn at(&self, place: usize) -> Option<T> {
        self.ticks.at(place).map(T::from_ticks)
    }

    #[inline]
    fn values(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        ByPlace::new(*self, self.count)
    }
}

/// Timestamps of the column's own unit.
#[derive(Debug, Clone, Copy)]
pub struct Timestamps<'a> {
    ticks: Ticks<'a>,
    nanos: bool,
    count: usize,
}

impl<'a> Source<'a> for Timestamps<'a> {
    type Item = Timestamp;

    fn open(column: &ColumnRef<'a>) -> Self {
        let nanos = column.kind() == ColumnType::TimestampNanos;
        Timestamps { ticks: Ticks::open(column), nanos, count: column.count() }
    }

    #[inline]
    fn at(&self, place: usize) -> Option<Timestamp> {
        let ticks = self.ticks.at(place)?;
        Some(if self.nanos { Timestamp::Nanos(ticks) } else { Timestamp::Micros(ticks) })
    }

    values_by_place!();
}

/// Geohashes.
#[derive(Debug, Clone, Copy)]
pub struct Geohashes<'a> {
    bytes: &'a [u8],
    precision: u8,
    count: usize,
}

impl<'a> Source<'a> for Geohashes<'a> {
    type Item = Geohash;

    fn open(column: &ColumnRef<'a>) -> Self {
        let precision = column.parameter();
        let bytes = column.fixed_bytes(usize::from(precision).div_ceil(8));
        Geohashes { bytes, precision, count: column.count() }
    }

    fn at(&self, place: usize) -> Option<Geohash> {
        let width = usize::from(self.precision).div_ceil(8);
        let bytes = self.bytes.get(place * width..(place + 1) * width)?;
        let mut value = [0; 8];
        for (to, from) in value.iter_mut().zip(bytes) {
            *to = *from;
        }
        // Spare bits say nothing (QRY-14).
        let bits = u64::from_le_bytes(value) & ((1 << self.precision) - 1);
        Geohash::new(bits, self.precision).ok()
    }

    values_by_place!();
}

/// Decimals of the column's width and scale.
#[derive(Debug, Clone, Copy)]
pub struct Decimals<'a> {
    bytes: &'a [u8],
    width: DecimalWidth,
    scale: u8,
    count: usize,
}

impl<'a> Source<'a> for Decimals<'a> {
    type Item = Decimal;

    fn open(column: &ColumnRef<'a>) -> Self {
        let (width, bytes) = match column.kind() {
            ColumnType::Decimal64 => (DecimalWidth::W64, 8),
            ColumnType::Decimal128 => (DecimalWidth::W128, 16),
            _ => (DecimalWidth::W256, 32),
        };
        let (bytes, scale) = (column.fixed_bytes(bytes), column.parameter());
        Decimals { bytes, width, scale, count: column.count() }
    }

    fn at(&self, place: usize) -> Option<Decimal> {
        let width = match self.width {
            DecimalWidth::W64 => 8,
            DecimalWidth::W128 => 16,
            DecimalWidth::W256 => 32,
        };
        let bytes = self.bytes.get(place * width..(place + 1) * width)?;
        let sign = if bytes.last()? >> 7 == 1 { 0xff } else { 0 };
        let mut value = [sign; 32];
        for (to, from) in value.iter_mut().zip(bytes) {
            *to = *from;
        }
        Some(Decimal::received(limbs(value), self.scale, self.width))
    }

    values_by_place!();
}
