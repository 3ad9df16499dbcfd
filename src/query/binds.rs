//! Values for the placeholders `$1`, `$2` and so on.

use crate::error::{Error, ErrorKind, Result};
use crate::value::{
    Date, Decimal, DecimalWidth, Geohash, Long256, Timestamp, TimestampMicros, TimestampNanos, Uuid,
};
use crate::wire::request::Bind;
use std::borrow::Cow;

/// A value that can be bound to a placeholder: `bool`, `i8` to `i64`, `f32`, `f64`, `char`, text, the
/// times, [`Date`], [`Uuid`], [`Long256`], [`Geohash`], [`Decimal`], and `Option` of each for a NULL of
/// its type.
///
/// The type is that of the Rust value, and is not converted here. A symbol is bound as text. Servers
/// take no binary, IPv4 or array values. A NULL `bool`, `i8`, `i16` or `char` reads as `false` or 0, as
/// these types have no NULL in QuestDB. `None::<Geohash>` is bound with 60 bits and `None::<Decimal>` as
/// DECIMAL256 of scale 0.
pub trait BindValue: sealed::IntoBind {}

impl<T: sealed::IntoBind> BindValue for T {}

pub(super) mod sealed {
    use super::*;

    /// Not for use outside: what can be bound is settled here.
    pub trait IntoBind {
        #[doc(hidden)]
        fn into_bind(self) -> Result<Bound>;
    }

    /// A bound value.
    #[doc(hidden)]
    #[derive(Debug)]
    pub struct Bound(pub(in crate::query) Bind<'static>);
}

use sealed::{Bound, IntoBind};

/// Types whose NULL differs from a value by nothing else: the type, and its bind from an `Option`.
macro_rules! binds {
    ($($type:ty, $value:ident => $bind:expr;)+) => {$(
        impl IntoBind for $type {
            fn into_bind(self) -> Result<Bound> {
                Some(self).into_bind()
            }
        }

        impl IntoBind for Option<$type> {
            fn into_bind(self) -> Result<Bound> {
                let $value = self;
                Ok(Bound($bind))
            }
        }
    )+};
}

binds! {
    bool, value => Bind::Boolean(value);
    i8, value => Bind::Byte(value);
    i16, value => Bind::Short(value);
    i32, value => Bind::Int(value);
    i64, value => Bind::Long(value);
    f32, value => Bind::Float(value);
    f64, value => Bind::Double(value);
    char, value => Bind::Char(value.map(utf16_unit).transpose()?);
    &str, text => Bind::Varchar(text.map(|text| Cow::Owned(text.to_owned())));
    &String, text => Bind::Varchar(text.map(|text| Cow::Owned(text.clone())));
    String, text => Bind::Varchar(text.map(Cow::Owned));
    Cow<'_, str>, text => Bind::Varchar(text.map(|text| Cow::Owned(text.into_owned())));
    TimestampMicros, time => Bind::Timestamp(time.map(TimestampMicros::as_i64));
    TimestampNanos, time => Bind::TimestampNanos(time.map(TimestampNanos::as_i64));
    Date, date => Bind::Date(date.map(Date::as_i64));
    Uuid, uuid => Bind::Uuid(uuid.map(Uuid::as_u128));
    Long256, value => Bind::Long256(value.map(Long256::limbs));
    Geohash, hash => Bind::Geohash {
        bits: hash.map(Geohash::bits),
        precision: hash.map_or(60, Geohash::precision),
    };
    Decimal, value => Bind::Decimal {
        unscaled: value.map(Decimal::unscaled),
        scale: value.map_or(0, Decimal::scale),
        width: value.and_then(Decimal::width).unwrap_or(DecimalWidth::W256),
    };
}

impl IntoBind for Timestamp {
    fn into_bind(self) -> Result<Bound> {
        match self {
            Timestamp::Micros(micros) => TimestampMicros::new(micros).into_bind(),
            Timestamp::Nanos(nanos) => TimestampNanos::new(nanos).into_bind(),
        }
    }
}

/// CHAR holds one UTF-16 unit (LIM-07).
fn utf16_unit(c: char) -> Result<u16> {
    u16::try_from(u32::from(c)).map_err(|_| {
        Error::new(ErrorKind::InvalidValue, "invalid char")
            .with("value", format_args!("U+{:X}", u32::from(c)))
            .because("a CHAR holds characters up to U+FFFF; bind it as text")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(value: impl BindValue) -> Bind<'static> {
        value.into_bind().expect("a value that can be bound").0
    }

    #[test]
    fn qry_03_every_type_is_bound_as_itself_and_none_as_its_null() {
        let owned = String::from("a");
        let text = |text: &str| Bind::Varchar(Some(Cow::Owned(text.to_owned())));
        let uuid = Uuid::from_u128(7);
        let hash = Geohash::new(5, 3).expect("3 bits");
        let decimal = Decimal::from_i64(-1250, 2).expect("scale 2");
        let table = [
            (bound(true), Bind::Boolean(Some(true)), bound(None::<bool>), Bind::Boolean(None)),
            (bound(-1_i8), Bind::Byte(Some(-1)), bound(None::<i8>), Bind::Byte(None)),
            (bound(-1_i16), Bind::Short(Some(-1)), bound(None::<i16>), Bind::Short(None)),
            (bound(-1_i32), Bind::Int(Some(-1)), bound(None::<i32>), Bind::Int(None)),
            (bound(-1_i64), Bind::Long(Some(-1)), bound(None::<i64>), Bind::Long(None)),
            (bound(0.5_f32), Bind::Float(Some(0.5)), bound(None::<f32>), Bind::Float(None)),
            (bound(0.5), Bind::Double(Some(0.5)), bound(None::<f64>), Bind::Double(None)),
            (bound('A'), Bind::Char(Some(65)), bound(None::<char>), Bind::Char(None)),
            (bound("a"), text("a"), bound(None::<&str>), Bind::Varchar(None)),
            (bound(String::from("a")), text("a"), bound(None::<String>), Bind::Varchar(None)),
            (bound(&owned), text("a"), bound(Some("b")), text("b")),
            (
                bound(TimestampMicros::new(1)),
                Bind::Timestamp(Some(1)),
                bound(None::<TimestampMicros>),
                Bind::Timestamp(None),
            ),
            (
                bound(TimestampNanos::new(1)),
                Bind::TimestampNanos(Some(1)),
                bound(None::<TimestampNanos>),
                Bind::TimestampNanos(None),
            ),
            (
                bound(Timestamp::Micros(1)),
                Bind::Timestamp(Some(1)),
                bound(Timestamp::Nanos(2)),
                Bind::TimestampNanos(Some(2)),
            ),
            (bound(Date::new(1)), Bind::Date(Some(1)), bound(None::<Date>), Bind::Date(None)),
            (bound(uuid), Bind::Uuid(Some(7)), bound(None::<Uuid>), Bind::Uuid(None)),
            (
                bound(Long256::from_limbs([1, 2, 3, 4])),
                Bind::Long256(Some([1, 2, 3, 4])),
                bound(None::<Long256>),
                Bind::Long256(None),
            ),
            (
                bound(hash),
                Bind::Geohash { bits: Some(5), precision: 3 },
                bound(None::<Geohash>),
                Bind::Geohash { bits: None, precision: 60 },
            ),
            (
                bound(decimal),
                Bind::Decimal { unscaled: Some(decimal.unscaled()), scale: 2, width: DecimalWidth::W256 },
                bound(None::<Decimal>),
                Bind::Decimal { unscaled: None, scale: 0, width: DecimalWidth::W256 },
            ),
        ];
        for (value, as_value, null, as_null) in table {
            assert_eq!((value, null), (as_value, as_null));
        }
        let narrow = decimal.with_width(DecimalWidth::W64).expect("4 digits");
        let Bind::Decimal { width, .. } = bound(narrow) else { panic!("a decimal") };
        assert_eq!(width, DecimalWidth::W64);
    }

    #[test]
    fn lim_07_a_char_beyond_one_utf_16_unit_is_refused() {
        assert_eq!(bound('\u{ffff}'), Bind::Char(Some(0xffff)));
        let error = '\u{1f600}'.into_bind().expect_err("two units");
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert!(error.to_string().contains("U+1F600"), "{error}");
    }
}
