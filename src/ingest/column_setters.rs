//! The setters of a batch of columns, one for each type.

use super::arrays::Array;
use super::column::{Validity, Values};
use super::columns::{ColumnValues, Columns, Staged, at_row};
use super::interner::Interner;
use super::parametric::Decimals;
use super::texts::{Code, Dictionary, Read};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Date, Decimal, Geohash, Long256, Uuid};
use crate::wire::types::ColumnType;

macro_rules! plain_columns {
    ($($(#[$doc:meta])* $setter:ident: $value:ty => $kind:ident, $convert:expr;)*) => {$(
        $(#[$doc])*
        pub fn $setter(&mut self, name: &'a str, values: impl ColumnValues<'a, $value>) -> &mut Self {
            let (values, validity) = values.parts();
            self.stage(name, ColumnType::$kind, values, validity, move |column, row_values| match column {
                Values::$kind(column) => {
                    match row_values {
                        None => column.extend(values.iter().map($convert)),
                        Some(valid) => column.extend(valid.iter(values).map($convert)),
                    }
                    true
                }
                _ => false,
            })
        }
    )*};
}

/// A type without NULL takes a value for every row, 0 for NULL.
macro_rules! dense_columns {
    ($($(#[$doc:meta])* $setter:ident: $value:ty => $kind:ident;)*) => {$(
        $(#[$doc])*
        pub fn $setter(&mut self, name: &'a str, values: impl ColumnValues<'a, $value>) -> &mut Self {
            let (values, validity) = values.parts();
            self.stage(name, ColumnType::$kind, values, validity, move |column, row_values| match column {
                Values::$kind(column) => {
                    match row_values {
                        None => column.extend(values),
                        Some(valid) => column.extend(valid.or_default(values)),
                    }
                    true
                }
                _ => false,
            })
        }
    )*};
}

impl<'a> Columns<'a> {
    plain_columns! {
        /// Adds an INT column. The minimum of the type reads back as NULL.
        column_i32: i32 => Int, |value| *value;
        /// Adds a LONG column. The minimum of the type reads back as NULL.
        column_i64: i64 => Long, |value| *value;
        /// Adds a FLOAT column. Any NaN reads back as NULL.
        column_f32: f32 => Float, |value| *value;
        /// Adds a DOUBLE column. Any NaN reads back as NULL.
        column_f64: f64 => Double, |value| *value;
        /// Adds a DATE column.
        column_date: Date => Date, |value: &Date| value.as_i64();
        /// Adds a TIMESTAMP column: microseconds. Not the designated one.
        column_ts_micros: i64 => Timestamp, |value| *value;
        /// Adds a TIMESTAMP_NS column: nanoseconds. Not the designated one.
        column_ts_nanos: i64 => TimestampNanos, |value| *value;
        /// Adds a UUID column.
        column_uuid: Uuid => Uuid, |value: &Uuid| [value.low(), value.high()];
    }

    dense_columns! {
        /// Adds a BYTE column. The type has no NULL: it is stored as 0.
        column_i8: i8 => Byte;
        /// Adds a SHORT column. The type has no NULL: it is stored as 0.
        column_i16: i16 => Short;
    }

    /// Adds a BOOLEAN column. The type has no NULL: it is stored as false.
    pub fn column_bool(&mut self, name: &'a str, values: impl ColumnValues<'a, bool>) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage(name, ColumnType::Boolean, values, validity, move |column, valid| match column {
            Values::Boolean(bits) => {
                for (row, value) in values.iter().enumerate() {
                    bits.push(*value && valid.is_none_or(|valid| valid.0.get(row)));
                }
                true
            }
            _ => false,
        })
    }

    /// Adds a column of unsigned integers as LONG.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a value above the maximum of `i64`.
    pub fn column_u64(&mut self, name: &'a str, values: impl ColumnValues<'a, u64>) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage_checked(name, ColumnType::Long, values, validity, move |column, _, valid| {
            let Values::Long(column) = column else { return Ok(false) };
            for (row, value) in values.iter().enumerate() {
                if valid.is_none_or(|valid| valid.get(row)) {
                    column.push(i64::try_from(*value).map_err(|_| too_large_at(row, *value))?);
                }
            }
            Ok(true)
        })
    }

    /// Adds an IPv4 column.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for `0.0.0.0`, which QuestDB cannot tell from NULL.
    pub fn column_ipv4(
        &mut self,
        name: &'a str,
        values: impl ColumnValues<'a, std::net::Ipv4Addr>,
    ) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage_checked(name, ColumnType::Ipv4, values, validity, move |column, _, valid| {
            let Values::Ipv4(column) = column else { return Ok(false) };
            for (row, value) in values.iter().enumerate() {
                if valid.is_none_or(|valid| valid.get(row)) {
                    if value.is_unspecified() {
                        return Err(at_row(row, "address 0.0.0.0", "QuestDB takes it for NULL"));
                    }
                    column.push(u32::from(*value));
                }
            }
            Ok(true)
        })
    }

    /// Adds a SYMBOL column: a code for each row into a dictionary of texts. Texts that no row uses
    /// are not sent.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a code outside of the dictionary or a text that is not UTF-8;
    /// `DictionaryFull` and `TooLarge` as for [`Row::symbol`](crate::Row::symbol).
    pub fn symbol<C: Code + 'a>(
        &mut self,
        name: &'a str,
        codes: impl ColumnValues<'a, C>,
        dictionary: impl Dictionary<'a>,
    ) -> &mut Self {
        let (codes, validity) = codes.parts();
        let texts = dictionary.texts();
        self.stage_checked(name, ColumnType::Symbol, codes, validity, move |column, interner, valid| {
            let Values::Symbol(symbols) = column else { return Ok(false) };
            let texts = texts.as_ref().map_err(Clone::clone)?;
            let mut ids = Ids { texts: &**texts, interner, by_code: vec![NO_ID; texts.len()] };
            match valid {
                None => {
                    let first = symbols.ids.len();
                    symbols.ids.resize(first + codes.len(), NO_ID);
                    let places = symbols.ids.get_mut(first..).unwrap_or_default();
                    for (row, (place, code)) in places.iter_mut().zip(codes).enumerate() {
                        *place = ids.id(row, *code)?;
                    }
                }
                Some(valid) => {
                    for (row, code) in codes.iter().enumerate().filter(|(row, _)| valid.get(*row)) {
                        symbols.ids.push(ids.id(row, *code)?);
                    }
                }
            }
            Ok(true)
        })
    }

    /// Adds a VARCHAR column.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a text that is not UTF-8, or offsets that are none.
    pub fn column_str(&mut self, name: &'a str, values: impl Dictionary<'a>) -> &mut Self {
        let (texts, validity) = (values.texts(), values.validity());
        let rows = texts.as_ref().map_or(0, |texts| texts.len());
        let bytes = texts.as_ref().map_or(0, |texts| texts.bytes());
        let append = move |column: &mut Values, _: &mut Interner| {
            let Values::Varchar(blobs) = column else { return Ok(false) };
            let texts = texts.as_ref().map_err(Clone::clone)?;
            for row in 0..texts.len() {
                if validity.is_none_or(|bits| Validity(bits).get(row)) {
                    let text = texts.text(row)?;
                    if !blobs.has_room(text.len()) {
                        return Err(at_row(
                            row,
                            "column is full",
                            "it holds at most 4 GiB between two flushes",
                        ));
                    }
                    blobs.push(text.as_bytes());
                }
            }
            Ok(true)
        };
        let append = Box::new(append);
        self.add(Staged { name, column_type: ColumnType::Varchar, rows, validity, bytes, append })
    }

    plain_columns! {
        /// Adds a LONG256 column.
        column_long256: Long256 => Long256, |value: &Long256| value.limbs();
    }

    /// Adds a CHAR column. The type has no NULL: it is stored as 0.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a character beyond U+FFFF.
    pub fn column_char(&mut self, name: &'a str, values: impl ColumnValues<'a, char>) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage_checked(name, ColumnType::Char, values, validity, move |column, _, valid| {
            let Values::Char(column) = column else { return Ok(false) };
            for (row, value) in values.iter().enumerate() {
                let value = if valid.is_none_or(|valid| valid.get(row)) { u32::from(*value) } else { 0 };
                column.push(u16::try_from(value).map_err(|_| {
                    at_row(row, "character too large", "a CHAR is one UTF-16 unit, up to U+FFFF")
                })?);
            }
            Ok(true)
        })
    }

    /// Adds a BINARY column, from whatever is bytes.
    pub fn column_binary<B: AsRef<[u8]> + 'a>(
        &mut self,
        name: &'a str,
        values: impl ColumnValues<'a, B>,
    ) -> &mut Self {
        let (values, validity) = values.parts();
        let bytes = values.iter().map(|value| value.as_ref().len()).sum();
        self.stage_each(name, ColumnType::Binary, values, validity, |column, value| match column {
            Values::Binary(blobs) if blobs.has_room(value.as_ref().len()) => {
                blobs.push(value.as_ref());
                Ok(true)
            }
            _ => Ok(false),
        });
        self.weighs(bytes);
        self
    }

    /// Adds a GEOHASH column. Its first value sets the precision of the batch.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a value of another precision.
    pub fn column_geohash(&mut self, name: &'a str, values: impl ColumnValues<'a, Geohash>) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage_each(name, ColumnType::Geohash, values, validity, |column, value| match column {
            Values::Geohash(geohashes) => geohashes.push(*value).map(|()| true),
            _ => Ok(false),
        })
    }

    /// Adds a DECIMAL column; widths and scales as for [`Row::column_decimal`](crate::Row::column_decimal).
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a value with more digits after the point than the column has, or too many in
    /// all; `InvalidCall` for values of two declared widths.
    pub fn column_decimal(&mut self, name: &'a str, values: impl ColumnValues<'a, Decimal>) -> &mut Self {
        let (values, validity) = values.parts();
        let column_type =
            values.first().map_or(ColumnType::Decimal256, |value| Decimals::column_type(*value));
        self.stage_each(name, column_type, values, validity, |column, value| match column {
            // The column was given its settled scale, if it has one.
            Values::Decimal(decimals) => decimals.push(None, *value),
            _ => Ok(false),
        })
    }

    /// Adds a column of arrays of doubles.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for an array of a rank other than the first one's.
    pub fn column_f64_array(&mut self, name: &'a str, values: impl ColumnValues<'a, Array<'a>>) -> &mut Self {
        let (values, validity) = values.parts();
        let bytes = values.iter().map(Array::encoded_bytes).sum();
        self.stage_each(name, ColumnType::DoubleArray, values, validity, |column, value| match column {
            Values::Array(arrays) => {
                let mut encoded = Vec::with_capacity(value.encoded_bytes());
                value.write(&mut encoded);
                arrays.push(&encoded)
            }
            _ => Ok(false),
        });
        self.weighs(bytes);
        self
    }

    /// Values that are all good.
    fn stage<T>(
        &mut self,
        name: &'a str,
        column_type: ColumnType,
        values: &'a [T],
        validity: Option<&'a [u8]>,
        append: impl Fn(&mut Values, Option<Valid<'a>>) -> bool + 'a,
    ) -> &mut Self {
        self.stage_checked(name, column_type, values, validity, move |column, _, valid| {
            Ok(append(column, valid.map(Valid)))
        })
    }

    /// Values that are looked at one by one; says in which row one was refused.
    fn stage_each<T>(
        &mut self,
        name: &'a str,
        column_type: ColumnType,
        values: &'a [T],
        validity: Option<&'a [u8]>,
        push: impl Fn(&mut Values, &T) -> Result<bool> + 'a,
    ) -> &mut Self {
        self.stage_checked(name, column_type, values, validity, move |column, _, valid| {
            for (row, value) in values.iter().enumerate() {
                if valid.is_none_or(|valid| valid.get(row))
                    && !push(column, value).map_err(|e| e.with("row", row))?
                {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

/// Ids of the texts of a dictionary.
struct Ids<'a> {
    texts: &'a dyn Read,
    interner: &'a mut Interner,
    /// Of the texts that a row has used; [`NO_ID`] elsewhere.
    by_code: Vec<u32>,
}

/// Never an id: there are fewer texts than that.
const NO_ID: u32 = u32::MAX;

impl Ids<'_> {
    #[inline(always)]
    fn id<C: Code>(&mut self, row: usize, code: C) -> Result<u32> {
        let code = code.index().unwrap_or(usize::MAX);
        match self.by_code.get(code) {
            Some(&id) if id != NO_ID => Ok(id),
            _ => self.first_use(row, code),
        }
    }

    #[inline(never)]
    fn first_use(&mut self, row: usize, code: usize) -> Result<u32> {
        let Some(place) = self.by_code.get_mut(code) else {
            return Err(at_row(row, "symbol code outside of the dictionary", "codes count from 0"));
        };
        *place = self.interner.id(self.texts.text(code)?)?;
        Ok(*place)
    }
}

/// Which rows have a value.
#[derive(Clone, Copy)]
struct Valid<'a>(Validity<'a>);

impl<'a> Valid<'a> {
    fn iter<T>(self, values: &'a [T]) -> impl Iterator<Item = &'a T> {
        values.iter().enumerate().filter(move |(row, _)| self.0.get(*row)).map(|(_, value)| value)
    }

    fn or_default<T: Copy + Default>(self, values: &'a [T]) -> impl Iterator<Item = T> {
        values.iter().enumerate().map(move |(row, value)| if self.0.get(row) { *value } else { T::default() })
    }
}

#[cold]
fn too_large_at(row: usize, value: u64) -> Error {
    Error::new(ErrorKind::InvalidValue, "integer too large")
        .with("row", row)
        .with("value", value)
        .because("a LONG holds at most 9223372036854775807")
}
