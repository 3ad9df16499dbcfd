//! One column of a batch: where its values lie (wire.md 4.3, 4.4, 4.7, 8.4).
//!
//! A [`Column`] is a record of offsets that were checked once; cells are read from the received bytes
//! through a [`ColumnRef`]. Only what has no fixed place is decoded: Gorilla timestamps, symbol ids,
//! where each array starts, and the NULL bitmap with a running count for access by row in O(1).

use super::dictionary::Symbols;
use super::ids;
use crate::wire::gorilla;
use crate::wire::reader::{Reader, WireError, WireFault, WireResult};
use crate::wire::types::ColumnType;

/// Dimensions of an array at most (LIM-09).
const MAX_DIMENSIONS: u8 = 32;
/// One more than the longest dimension (LIM-09).
const DIMENSION_END: u32 = 1 << 28;
/// Elements of an array at most (LIM-09).
const MAX_ELEMENTS: u64 = 16 << 20;
/// Values decoded before more room is taken: room never runs far ahead of checked bytes (QRY-09).
const STEP: usize = 16_384;

/// Where the values of a column lie.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) kind: ColumnType,
    /// Scale of a decimal, bits of a geohash, else 0.
    pub(crate) parameter: u8,
    /// Values that are present: rows without NULLs.
    count: u32,
    /// Empty if no row is NULL.
    nulls: Vec<NullWord>,
    cells: Cells,
}

/// 64 rows of the bitmap.
#[derive(Debug, Clone, Copy)]
struct NullWord {
    /// Bit per row, 1 = NULL; bits behind the last row are 0.
    nulls: u64,
    /// Values that are present in the rows before.
    before: u32,
}

#[derive(Debug)]
enum Cells {
    /// Values of one width, at this offset of the bytes.
    Fixed(u32),
    /// Offsets as u32, at the first offset; text or bytes at the second.
    Text { offsets: u32, data: u32, bytes: u32 },
    /// Decoded timestamps.
    Times(Vec<i64>),
    /// Ids below the size of the dictionary.
    Ids(Vec<u32>),
    /// Where each array starts.
    Arrays(Vec<u32>),
}

/// Vectors of a column that is gone, for the next one.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    times: Vec<Vec<i64>>,
    /// Ids and starts of arrays.
    pub(super) words: Vec<Vec<u32>>,
    nulls: Vec<Vec<NullWord>>,
}

impl Spares {
    /// Keeps the vectors of `column`.
    pub(crate) fn keep(&mut self, column: Column) {
        if column.nulls.capacity() > 0 {
            self.nulls.push(column.nulls);
        }
        match column.cells {
            Cells::Times(times) => self.times.push(times),
            Cells::Ids(words) | Cells::Arrays(words) => self.words.push(words),
            Cells::Fixed(_) | Cells::Text { .. } => {}
        }
    }

    /// Bytes that are kept.
    pub(crate) fn bytes(&self) -> usize {
        let times: usize = self.times.iter().map(|v| v.capacity() * size_of::<i64>()).sum();
        let words: usize = self.words.iter().map(|v| v.capacity() * size_of::<u32>()).sum();
        let nulls: usize = self.nulls.iter().map(|v| v.capacity() * size_of::<NullWord>()).sum();
        times + words + nulls
    }
}

fn emptied<T>(spares: &mut Vec<Vec<T>>) -> Vec<T> {
    let mut vector = spares.pop().unwrap_or_default();
    vector.clear();
    vector
}

impl Column {
    /// Reads the column of `rows` rows that starts at the reader, and checks all of it.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        kind: ColumnType,
        rows: usize,
        symbols: usize,
        spares: &mut Spares,
    ) -> WireResult<Column> {
        let (nulls, count) = read_nulls(reader, kind, rows, spares)?;
        let parameter = read_parameter(reader, kind)?;
        let cells = match kind {
            ColumnType::Symbol => Cells::Ids(read_ids(reader, count, symbols, spares)?),
            ColumnType::Varchar => read_text(reader, count, true)?,
            ColumnType::Binary => read_text(reader, count, false)?,
            ColumnType::DoubleArray | ColumnType::LongArray => {
                Cells::Arrays(read_arrays(reader, count, spares)?)
            }
            ColumnType::Timestamp | ColumnType::TimestampNanos | ColumnType::Date => {
                read_times(reader, count, spares)?
            }
            ColumnType::Boolean => read_fixed(reader, count.div_ceil(8))?,
            fixed => read_fixed(reader, count.saturating_mul(width(fixed, parameter)))?,
        };
        Ok(Column { kind, parameter, count: offset(reader, count)?, nulls, cells })
    }
}

/// Bytes of a value of a type of one width.
fn width(kind: ColumnType, parameter: u8) -> usize {
    match kind {
        ColumnType::Byte => 1,
        ColumnType::Short | ColumnType::Char => 2,
        ColumnType::Int | ColumnType::Float | ColumnType::Ipv4 => 4,
        ColumnType::Long | ColumnType::Double | ColumnType::Decimal64 => 8,
        ColumnType::Uuid | ColumnType::Decimal128 => 16,
        ColumnType::Long256 | ColumnType::Decimal256 => 32,
        ColumnType::Geohash => usize::from(parameter).div_ceil(8),
        ColumnType::Timestamp | ColumnType::TimestampNanos | ColumnType::Date => 8,
        ColumnType::Boolean
        | ColumnType::Symbol
        | ColumnType::Varchar
        | ColumnType::Binary
        | ColumnType::DoubleArray
        | ColumnType::LongArray => 0,
    }
}

/// A length or an offset as it is kept; messages are far below 4 GiB.
fn offset(reader: &Reader<'_>, value: usize) -> WireResult<u32> {
    u32::try_from(value).map_err(|_| {
        reader.fault("message", WireFault::Limit { value: value as u64, limit: u32::MAX.into() })
    })
}

fn read_nulls(
    reader: &mut Reader<'_>,
    kind: ColumnType,
    rows: usize,
    spares: &mut Spares,
) -> WireResult<(Vec<NullWord>, usize)> {
    let at = reader.clone();
    match reader.u8("null flag")? {
        0 => return Ok((Vec::new(), rows)),
        1 => {}
        other => return Err(at.fault("null flag", WireFault::Value(other.into()))),
    }
    if matches!(kind, ColumnType::Boolean | ColumnType::Byte | ColumnType::Short | ColumnType::Char) {
        return Err(at.fault("null flag", WireFault::Inconsistent("this type has no NULL")));
    }
    let bitmap = reader.bytes("null bitmap", rows.div_ceil(8))?;
    let mut words = emptied(&mut spares.nulls);
    let mut before = 0_u32;
    let mut left = rows;
    for chunk in bitmap.chunks(8) {
        let mut bytes = [0; 8];
        for (byte, &from) in bytes.iter_mut().zip(chunk) {
            *byte = from;
        }
        let here = left.min(64);
        left -= here;
        let nulls = u64::from_le_bytes(bytes) & (u64::MAX >> (64 - here));
        words.push(NullWord { nulls, before });
        before += u64::BITS.min(u32::try_from(here).unwrap_or(64)) - nulls.count_ones();
    }
    if before as usize == rows {
        spares.nulls.push(words);
        return Ok((Vec::new(), rows));
    }
    Ok((words, before as usize))
}

fn read_parameter(reader: &mut Reader<'_>, kind: ColumnType) -> WireResult<u8> {
    let at = reader.clone();
    let max = match kind {
        ColumnType::Geohash => {
            let bits = reader.varint("geohash precision")?;
            return match u8::try_from(bits) {
                Ok(bits @ 1..=60) => Ok(bits),
                _ => Err(at.fault("geohash precision", WireFault::Value(bits))),
            };
        }
        ColumnType::Decimal64 => 18,
        ColumnType::Decimal128 => 38,
        ColumnType::Decimal256 => 76,
        _ => return Ok(0),
    };
    let scale = reader.u8("decimal scale")?;
    if scale > max {
        return Err(at.fault("decimal scale", WireFault::Limit { value: scale.into(), limit: max.into() }));
    }
    Ok(scale)
}

fn read_fixed(reader: &mut Reader<'_>, bytes: usize) -> WireResult<Cells> {
    let at = offset(reader, reader.offset())?;
    reader.bytes("values", bytes)?;
    Ok(Cells::Fixed(at))
}

fn read_times(reader: &mut Reader<'_>, count: usize, spares: &mut Spares) -> WireResult<Cells> {
    match reader.peek_rest().first() {
        Some(&gorilla::DELTA) if count > 2 => {
            let mut times = emptied(&mut spares.times);
            gorilla::read(reader, "timestamps", count, &mut times)?;
            Ok(Cells::Times(times))
        }
        Some(&(gorilla::PLAIN | gorilla::DELTA)) => {
            reader.u8("encoding")?;
            read_fixed(reader, count.saturating_mul(8))
        }
        Some(&other) => Err(reader.fault("encoding", WireFault::Value(other.into()))),
        None => Err(reader.fault("encoding", WireFault::Truncated)),
    }
}

fn read_ids(
    reader: &mut Reader<'_>,
    count: usize,
    symbols: usize,
    spares: &mut Spares,
) -> WireResult<Vec<u32>> {
    const FIELD: &str = "symbol ids";
    let at = reader.clone();
    let mut found = emptied(&mut spares.words);
    let mut left = count;
    while left > 0 {
        let step = left.min(STEP);
        left -= step;
        let start = found.len();
        found.resize(start + step, 0);
        let slots = found.get_mut(start..).unwrap_or_default();
        let bytes = ids::decode(reader.peek_rest(), slots).map_err(|(place, what)| WireError {
            at: reader.offset() + place,
            what,
            field: FIELD,
        })?;
        reader.bytes(FIELD, bytes)?;
    }
    let end = u32::try_from(symbols).unwrap_or(u32::MAX);
    if found.iter().fold(false, |beyond, id| beyond | (*id >= end)) {
        let largest = found.iter().copied().max().unwrap_or_default();
        return Err(at.fault(FIELD, WireFault::Value(largest.into())));
    }
    Ok(found)
}

fn read_text(reader: &mut Reader<'_>, count: usize, utf8: bool) -> WireResult<Cells> {
    let at = reader.clone();
    let table = reader.bytes("offsets", (count + 1).saturating_mul(4))?;
    let (table, _) = table.as_chunks::<4>();
    let mut last = 0;
    let mut ordered = table.first() == Some(&[0; 4]);
    for end in table {
        let end = u32::from_le_bytes(*end);
        ordered &= last <= end;
        last = end;
    }
    if !ordered {
        let what = WireFault::Inconsistent("they do not start at 0, or decrease");
        return Err(at.fault("offsets", what));
    }
    let data = reader.clone();
    let bytes = reader.bytes_u64("text", last.into())?;
    if utf8 {
        let text = std::str::from_utf8(bytes).map_err(|_| data.fault("text", WireFault::Utf8))?;
        let splits = |end: &[u8; 4]| !text.is_char_boundary(u32::from_le_bytes(*end) as usize);
        if !text.is_ascii() && table.iter().any(splits) {
            return Err(at.fault("offsets", WireFault::Inconsistent("one splits a character")));
        }
    }
    Ok(Cells::Text { offsets: offset(&at, at.offset())?, data: offset(&data, data.offset())?, bytes: last })
}

fn read_arrays(reader: &mut Reader<'_>, count: usize, spares: &mut Spares) -> WireResult<Vec<u32>> {
    let mut starts = emptied(&mut spares.words);
    for _ in 0..count {
        starts.push(offset(reader, reader.offset())?);
        read_array(reader)?;
    }
    Ok(starts)
}

/// Lengths and elements of an array.
type ArrayCell<'a> = (&'a [[u8; 4]], &'a [[u8; 8]]);

/// Reads one array.
fn read_array<'a>(reader: &mut Reader<'a>) -> WireResult<ArrayCell<'a>> {
    let at = reader.clone();
    let dimensions = reader.u8("array dimensions")?;
    if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
        return Err(at.fault("array dimensions", WireFault::Value(dimensions.into())));
    }
    let at = reader.clone();
    let (lengths, _) = reader.bytes("array lengths", usize::from(dimensions) * 4)?.as_chunks::<4>();
    let (mut elements, mut empty) = (1_u64, false);
    for length in lengths {
        let length = u32::from_le_bytes(*length);
        if length >= DIMENSION_END {
            return Err(at.fault("array lengths", WireFault::Value(length.into())));
        }
        empty |= length == 0;
        elements = elements.saturating_mul(length.into());
    }
    let elements = if empty { 0 } else { elements };
    if elements > MAX_ELEMENTS {
        return Err(at.fault("array elements", WireFault::Limit { value: elements, limit: MAX_ELEMENTS }));
    }
    let (elements, _) = reader.bytes_u64("array elements", elements * 8)?.as_chunks::<8>();
    Ok((lengths, elements))
}

/// A column with the bytes that it describes.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRef<'a> {
    bytes: &'a [u8],
    column: &'a Column,
    rows: usize,
    symbols: &'a Symbols,
}

impl<'a> ColumnRef<'a> {
    pub(super) fn new(bytes: &'a [u8], column: &'a Column, rows: usize, symbols: &'a Symbols) -> Self {
        ColumnRef { bytes, column, rows, symbols }
    }

    pub(crate) fn kind(&self) -> ColumnType {
        self.column.kind
    }

    /// Scale of a decimal, bits of a geohash, else 0.
    pub(crate) fn parameter(&self) -> u8 {
        self.column.parameter
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Values that are present: the rows that are not NULL.
    pub(crate) fn count(&self) -> usize {
        self.column.count as usize
    }

    /// The place of a row among the values that are present, `None` for NULL and behind the end.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        if row >= self.rows {
            return None;
        }
        if self.column.nulls.is_empty() {
            return Some(row);
        }
        let word = self.column.nulls.get(row / 64)?;
        let bit = 1_u64 << (row % 64);
        if word.nulls & bit != 0 {
            return None;
        }
        Some(word.before as usize + (!word.nulls & (bit - 1)).count_ones() as usize)
    }

    /// Whether that row is NULL; false behind the end.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        let word = self.column.nulls.get(row / 64);
        word.is_some_and(|word| word.nulls & 1 << (row % 64) != 0)
    }

    /// The values of a type that is `N` bytes wide; empty for any other.
    pub(crate) fn fixed<const N: usize>(&self) -> &'a [[u8; N]] {
        match self.column.cells {
            Cells::Fixed(at) => self.slice(at as usize, self.count() * N).as_chunks().0,
            _ => &[],
        }
    }

    /// Values of a width that is known only now.
    pub(crate) fn fixed_bytes(&self, width: usize) -> &'a [u8] {
        match self.column.cells {
            Cells::Fixed(at) => self.slice(at as usize, self.count() * width),
            _ => &[],
        }
    }

    /// Packed booleans.
    pub(crate) fn bits(&self) -> &'a [u8] {
        match self.column.cells {
            Cells::Fixed(at) => self.slice(at as usize, self.count().div_ceil(8)),
            _ => &[],
        }
    }

    /// Decoded timestamps; `None` if they came as plain values, which [`ColumnRef::fixed`] gives.
    pub(crate) fn times(&self) -> Option<&'a [i64]> {
        match &self.column.cells {
            Cells::Times(times) => Some(times),
            _ => None,
        }
    }

    /// Symbol ids, with the dictionary of the batch.
    pub(crate) fn ids(&self) -> (&'a [u32], &'a Symbols) {
        match &self.column.cells {
            Cells::Ids(ids) => (ids, self.symbols),
            _ => (&[], self.symbols),
        }
    }

    /// Offsets, one more than values, and the bytes that they cut.
    pub(crate) fn text(&self) -> (&'a [[u8; 4]], &'a [u8]) {
        match self.column.cells {
            Cells::Text { offsets, data, bytes } => (
                self.slice(offsets as usize, (self.count() + 1) * 4).as_chunks().0,
                self.slice(data as usize, bytes as usize),
            ),
            _ => (&[], &[]),
        }
    }

    /// Lengths and elements of the array at `place`.
    pub(crate) fn array(&self, place: usize) -> Option<ArrayCell<'a>> {
        match &self.column.cells {
            Cells::Arrays(starts) => {
                let start = *starts.get(place)? as usize;
                read_array(&mut Reader::new(self.bytes.get(start..)?)).ok()
            }
            _ => None,
        }
    }

    fn slice(&self, at: usize, bytes: usize) -> &'a [u8] {
        self.bytes.get(at..at + bytes).unwrap_or_default()
    }

    /// Reads every cell, and returns how many were there: for the fuzz target.
    #[cfg(any(test, fuzzing))]
    pub(super) fn touch(&self) -> usize {
        let (offsets, data) = self.text();
        let (ids, symbols) = self.ids();
        let width = width(self.kind(), self.parameter());
        (0..self.rows())
            .filter_map(|row| self.place(row))
            .filter(|&place| match self.column.cells {
                Cells::Fixed(_) if width == 0 => self.bits().get(place / 8).is_some(),
                Cells::Fixed(_) => self.fixed_bytes(width).len() >= (place + 1) * width,
                Cells::Text { .. } => offsets
                    .get(place + 1)
                    .is_some_and(|end| data.get(..u32::from_le_bytes(*end) as usize).is_some()),
                Cells::Times(_) => self.times().is_some_and(|times| times.get(place).is_some()),
                Cells::Ids(_) => ids.get(place).is_some_and(|&id| symbols.get(id).is_some()),
                Cells::Arrays(_) => self.array(place).is_some(),
            })
            .count()
    }
}

#[cfg(test)]
mod tests;
