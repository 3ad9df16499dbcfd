//! The setters of a row, one for each type of column.

use super::arrays::ArrayValue;
use super::column::Values;
use super::parametric::Decimals;
use super::rows::Row;
use crate::error::{Error, ErrorKind};
use crate::value::{Bytes, Date, Decimal, Geohash, Long256, Nullable, Text, Timestamp, TimestampValue, Uuid};
use crate::wire::types::ColumnType;
use std::net::Ipv4Addr;

/// A setter of a type whose values are all good.
macro_rules! plain {
    ($(#[$doc:meta])* $setter:ident, $value:ty, $kind:ident, $bytes:expr, $convert:expr) => {
        $(#[$doc])*
        #[inline]
        pub fn $setter(&mut self, name: &str, value: impl Nullable<$value>) -> &mut Self {
            match value.into_option() {
                Some(value) => self.set(name, ColumnType::$kind, $bytes, value, |values, value| match values {
                    Values::$kind(values) => {
                        #[allow(clippy::redundant_closure_call, reason = "the conversion is a parameter")]
                        values.push(($convert)(value));
                        true
                    }
                    _ => false,
                }),
                None => self.set_null(name, ColumnType::$kind),
            }
            self
        }
    };
}

impl Row<'_> {
    /// Sets a SYMBOL: text that repeats, of at most 1 MiB. The empty text is a value, not NULL.
    #[inline(always)]
    pub fn symbol(&mut self, name: &str, value: impl Text) -> &mut Self {
        match value.as_text() {
            Some(text) => self.set_symbol(name, text),
            None => self.set_null(name, ColumnType::Symbol),
        }
        self
    }

    plain! {
        /// Sets a BOOLEAN. The type has no NULL in QuestDB: `None` is stored as false.
        column_bool, bool, Boolean, 1, |value| value
    }
    plain! {
        /// Sets a BYTE. The type has no NULL in QuestDB: `None` is stored as 0.
        column_i8, i8, Byte, 1, |value| value
    }
    plain! {
        /// Sets a SHORT. The type has no NULL in QuestDB: `None` is stored as 0.
        column_i16, i16, Short, 2, |value| value
    }
    plain! {
        /// Sets an INT. The minimum of the type reads back as NULL (FLUSH-19).
        column_i32, i32, Int, 4, |value| value
    }
    plain! {
        /// Sets a LONG. The minimum of the type reads back as NULL (FLUSH-19).
        column_i64, i64, Long, 8, |value| value
    }
    plain! {
        /// Sets a FLOAT. Any NaN reads back as NULL (FLUSH-19); infinities are stored, though SQL says
        /// `IS NULL` of them.
        column_f32, f32, Float, 4, |value| value
    }
    plain! {
        /// Sets a DOUBLE. Any NaN reads back as NULL (FLUSH-19); infinities are stored, though SQL says
        /// `IS NULL` of them.
        column_f64, f64, Double, 8, |value| value
    }
    plain! {
        /// Sets a DATE: milliseconds since 1970. The minimum of `i64` reads back as NULL.
        column_date, Date, Date, 8, |value: Date| value.as_i64()
    }
    plain! {
        /// Sets a UUID. The one whose two halves are both `0x8000000000000000` reads back as NULL
        /// (FLUSH-19).
        column_uuid, Uuid, Uuid, 16, |value: Uuid| [value.low(), value.high()]
    }
    plain! {
        /// Sets a LONG256. The one whose four limbs are all `0x8000000000000000` reads back as NULL
        /// (FLUSH-19).
        column_long256, Long256, Long256, 32, |value: Long256| value.limbs()
    }

    /// Sets a CHAR: one UTF-16 unit, so up to U+FFFF (LIM-07). The type has no NULL in QuestDB: `None`
    /// is stored as 0.
    ///
    /// # Errors (at the end of the row)
    ///
    /// `InvalidValue` for a character beyond U+FFFF, such as an emoji.
    pub fn column_char(&mut self, name: &str, value: impl Nullable<char>) -> &mut Self {
        match value.into_option().map(|c| (c, u16::try_from(u32::from(c)))) {
            Some((_, Ok(unit))) => self.set(name, ColumnType::Char, 2, unit, |values, unit| match values {
                Values::Char(values) => {
                    values.push(unit);
                    true
                }
                _ => false,
            }),
            Some((c, Err(_))) => self.fail(
                Error::new(ErrorKind::InvalidValue, "character too large")
                    .with("column", name)
                    .with("character", format!("{c:?}"))
                    .because("a CHAR is one UTF-16 unit, up to U+FFFF; use a text column"),
            ),
            None => self.set_null(name, ColumnType::Char),
        }
        self
    }

    /// Sets a VARCHAR. The empty text is a value, not NULL.
    #[inline]
    pub fn column_str(&mut self, name: &str, value: impl Text) -> &mut Self {
        match value.as_text() {
            Some(text) => self.set_blob(name, ColumnType::Varchar, text.as_bytes()),
            None => self.set_null(name, ColumnType::Varchar),
        }
        self
    }

    /// Sets a BINARY. No bytes are a value, not NULL.
    #[inline]
    pub fn column_binary(&mut self, name: &str, value: impl Bytes) -> &mut Self {
        match value.as_bytes() {
            Some(bytes) => self.set_blob(name, ColumnType::Binary, bytes),
            None => self.set_null(name, ColumnType::Binary),
        }
        self
    }

    #[inline]
    fn set_blob(&mut self, name: &str, column_type: ColumnType, value: &[u8]) {
        const OFFSET_BYTES: usize = 4;
        let bytes = value.len() + OFFSET_BYTES;
        self.set(name, column_type, bytes, value, |values, value| match (column_type, values) {
            (ColumnType::Varchar, Values::Varchar(blobs)) | (ColumnType::Binary, Values::Binary(blobs))
                if blobs.has_room(value.len()) =>
            {
                blobs.push(value);
                true
            }
            _ => false,
        });
    }

    /// Sets a TIMESTAMP (microseconds) or TIMESTAMP_NS (nanoseconds), by the type of the value. Not the
    /// designated one: [`at`](Row::at) sets that. The minimum of `i64` reads back as NULL.
    ///
    /// # Errors (at the end of the row)
    ///
    /// `InvalidValue` for a `SystemTime` out of range.
    #[inline]
    pub fn column_ts<T: TimestampValue>(&mut self, name: &str, value: T) -> &mut Self {
        match value.into_timestamp() {
            Ok(Some(Timestamp::Micros(value))) => {
                self.set(name, ColumnType::Timestamp, 8, value, |values, value| match values {
                    Values::Timestamp(values) => {
                        values.push(value);
                        true
                    }
                    _ => false,
                });
            }
            Ok(Some(Timestamp::Nanos(value))) => {
                self.set(name, ColumnType::TimestampNanos, 8, value, |values, value| match values {
                    Values::TimestampNanos(values) => {
                        values.push(value);
                        true
                    }
                    _ => false,
                });
            }
            Ok(None) => self
                .set_null(name, if T::IS_NANOS { ColumnType::TimestampNanos } else { ColumnType::Timestamp }),
            Err(e) => self.fail(e.with("column", name)),
        }
        self
    }

    /// Sets an IPv4 address.
    ///
    /// # Errors (at the end of the row)
    ///
    /// `InvalidValue` for `0.0.0.0`, which QuestDB cannot tell from NULL: write `None` (FLUSH-19).
    pub fn column_ipv4(&mut self, name: &str, value: impl Nullable<Ipv4Addr>) -> &mut Self {
        match value.into_option().map(u32::from) {
            Some(0) => self.fail(
                Error::new(ErrorKind::InvalidValue, "address 0.0.0.0")
                    .with("column", name)
                    .because("QuestDB takes it for NULL; write None"),
            ),
            Some(address) => self.set(name, ColumnType::Ipv4, 4, address, |values, address| match values {
                Values::Ipv4(values) => {
                    values.push(address);
                    true
                }
                _ => false,
            }),
            None => self.set_null(name, ColumnType::Ipv4),
        }
        self
    }

    /// Sets a GEOHASH. The first value of a batch sets the column's precision.
    ///
    /// # Errors (at the end of the row)
    ///
    /// `InvalidValue` for another precision.
    pub fn column_geohash(&mut self, name: &str, value: impl Nullable<Geohash>) -> &mut Self {
        let Some(value) = value.into_option() else {
            self.set_null(name, ColumnType::Geohash);
            return self;
        };
        self.set_checked(name, ColumnType::Geohash, 8, &|_, values| match values {
            Values::Geohash(geohashes) => geohashes.push(value).map(|()| true),
            _ => Ok(false),
        });
        self
    }

    /// Sets a DECIMAL. It travels as DECIMAL256 unless the value has a declared width.
    ///
    /// A column keeps the scale of its first value, or the one declared before it by
    /// [`Sender::decimal_scale`](crate::Sender::decimal_scale), for the sender's life (FLUSH-22):
    /// a value with fewer digits after the point is raised to it, exactly.
    ///
    /// # Errors (at the end of the row)
    ///
    /// `InvalidValue` for a value with more digits after the point, or too many digits in all
    /// (LIM-10). Nothing is rounded.
    pub fn column_decimal(&mut self, name: &str, value: impl Nullable<Decimal>) -> &mut Self {
        let Some(value) = value.into_option() else {
            self.set_null(name, ColumnType::Decimal256);
            return self;
        };
        self.set_checked(name, Decimals::column_type(value), 32, &|settled, values| match values {
            Values::Decimal(decimals) => decimals.push(settled.scale, value),
            _ => Ok(false),
        });
        self
    }

    /// Sets an array of doubles with 1 to 32 dimensions: slices, vectors and arrays of `f64`, nested
    /// ones too, or an [`Array`](crate::Array) with its shape. An empty array is a value, not NULL; a
    /// NaN element reads back as a NULL element.
    ///
    /// # Errors (at the end of the row)
    ///
    /// `InvalidValue` for a ragged array, for more dimensions or longer ones than LIM-08 allows, and
    /// for a rank other than that of the batch's first value.
    pub fn column_f64_array(&mut self, name: &str, value: impl ArrayValue) -> &mut Self {
        let mut encoded = std::mem::take(&mut self.sender.buffer.scratch);
        match value.encode(&mut encoded) {
            Ok(false) => self.set_null(name, ColumnType::DoubleArray),
            Ok(true) => {
                self.set_checked(name, ColumnType::DoubleArray, encoded.len(), &|_, values| match values {
                    Values::Array(arrays) => arrays.push(&encoded),
                    _ => Ok(false),
                });
            }
            Err(e) => self.fail(e.with("column", name)),
        }
        encoded.clear();
        self.sender.buffer.scratch = encoded;
        self
    }
}
