//! The traits by which setters take a value, an optional value, or the type of another crate.
//!
//! All are sealed: what they accept is settled here, so that it can grow without breaking anybody.

use super::{Timestamp, TimestampMicros, TimestampNanos};
use crate::error::Result;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

/// A value, or `Option` of it: `5`, `Some(5)` and `None` by the same call, with `None` as NULL.
///
/// ```
/// use qwp::Nullable;
///
/// fn column_i64(value: impl Nullable<i64>) -> Option<i64> {
///     value.into_option()
/// }
///
/// assert_eq!(column_i64(5), Some(5));
/// assert_eq!(column_i64(Some(5)), Some(5));
/// assert_eq!(column_i64(None), None);
/// ```
pub trait Nullable<T>: sealed::Nullable<T> {
    /// The value, or `None` for NULL.
    fn into_option(self) -> Option<T>;
}

impl<T> Nullable<T> for T {
    fn into_option(self) -> Option<T> {
        Some(self)
    }
}

impl<T> Nullable<T> for Option<T> {
    fn into_option(self) -> Option<T> {
        self
    }
}

/// Whatever is text: `&str`, `String`, `&String`, `Cow<str>`, `Box<str>`, `Arc<str>`, `Rc<str>`,
/// references to them, and `Option` of each, with `None` as NULL.
///
/// A bare `None` does not say of which type it is: write `None::<&str>`.
///
/// ```
/// use qwp::Text;
///
/// fn column_str(value: impl Text) -> Option<usize> {
///     value.as_text().map(str::len)
/// }
///
/// let owned = String::from("abc");
/// assert_eq!(column_str("ab"), Some(2));
/// assert_eq!(column_str(&owned), Some(3));
/// assert_eq!(column_str(Some(owned)), Some(3));
/// assert_eq!(column_str(None::<&str>), None);
/// ```
pub trait Text: sealed::Text {
    /// The text, or `None` for NULL.
    fn as_text(&self) -> Option<&str>;
}

impl Text for str {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl<T: Text + ?Sized> Text for &T {
    fn as_text(&self) -> Option<&str> {
        (**self).as_text()
    }
}

impl<T: Text> Text for Option<T> {
    fn as_text(&self) -> Option<&str> {
        self.as_ref().and_then(T::as_text)
    }
}

macro_rules! text {
    ($($type:ty),*) => {
        $(
            impl Text for $type {
                fn as_text(&self) -> Option<&str> {
                    Some(self)
                }
            }

            impl sealed::Text for $type {}
        )*
    };
}

text!(String, Cow<'_, str>, Box<str>, Rc<str>, Arc<str>);

/// Whatever is bytes or none: `[u8]`, `[u8; N]`, `Vec<u8>`, `Cow<[u8]>`, references to these, and `Option`
/// of each, with `None` as NULL.
pub trait Bytes: sealed::Bytes {
    /// The bytes, or `None` for NULL.
    fn as_bytes(&self) -> Option<&[u8]>;
}

impl<T: Bytes + ?Sized> Bytes for &T {
    fn as_bytes(&self) -> Option<&[u8]> {
        (**self).as_bytes()
    }
}

impl<T: Bytes> Bytes for Option<T> {
    fn as_bytes(&self) -> Option<&[u8]> {
        self.as_ref().and_then(T::as_bytes)
    }
}

macro_rules! bytes {
    ($([$($p:tt)*] $type:ty),*) => {
        $(
            impl<$($p)*> Bytes for $type {
                fn as_bytes(&self) -> Option<&[u8]> {
                    Some(self)
                }
            }

            impl<$($p)*> sealed::Bytes for $type {}
        )*
    };
}

bytes!([] [u8], [const N: usize] [u8; N], [] Vec<u8>, [] Box<[u8]>, [] Cow<'_, [u8]>);

/// Whatever is an instant: [`TimestampMicros`], [`TimestampNanos`], [`Timestamp`], `SystemTime`, behind
/// the features of their names `chrono::DateTime` and `jiff::Timestamp`, and `Option` of each, with
/// `None` as NULL.
///
/// Types of others become microseconds, with what lies below cut off towards the past, so that the
/// type of a column never depends on a value. For nanoseconds convert first:
/// `TimestampNanos::try_from(time)?`.
///
/// ```
/// use qwp::{Timestamp, TimestampNanos, TimestampValue};
/// use std::time::SystemTime;
///
/// assert_eq!(SystemTime::UNIX_EPOCH.into_timestamp()?, Some(Timestamp::Micros(0)));
/// assert_eq!(TimestampNanos::new(7).into_timestamp()?, Some(Timestamp::Nanos(7)));
/// assert_eq!(None::<TimestampNanos>.into_timestamp()?, None);
/// # Ok::<(), qwp::Error>(())
/// ```
pub trait TimestampValue: sealed::TimestampValue {
    /// Whether a NULL of the type belongs to a column of nanoseconds.
    const IS_NANOS: bool = false;

    /// The instant in its own resolution, or `None` for NULL.
    ///
    /// # Errors
    ///
    /// `InvalidValue` if the instant lies outside what 64 bits of microseconds hold.
    fn into_timestamp(self) -> Result<Option<Timestamp>>;
}

impl TimestampValue for Timestamp {
    fn into_timestamp(self) -> Result<Option<Timestamp>> {
        Ok(Some(self))
    }
}

impl TimestampValue for TimestampMicros {
    fn into_timestamp(self) -> Result<Option<Timestamp>> {
        Ok(Some(self.into()))
    }
}

impl TimestampValue for TimestampNanos {
    const IS_NANOS: bool = true;

    fn into_timestamp(self) -> Result<Option<Timestamp>> {
        Ok(Some(self.into()))
    }
}

impl TimestampValue for SystemTime {
    fn into_timestamp(self) -> Result<Option<Timestamp>> {
        Ok(Some(TimestampMicros::try_from(self)?.into()))
    }
}

impl<T: TimestampValue> TimestampValue for Option<T> {
    const IS_NANOS: bool = T::IS_NANOS;

    fn into_timestamp(self) -> Result<Option<Timestamp>> {
        match self {
            Some(time) => time.into_timestamp(),
            None => Ok(None),
        }
    }
}

pub(super) mod sealed {
    use super::{SystemTime, Timestamp, TimestampMicros, TimestampNanos};

    pub trait Nullable<T> {}
    impl<T> Nullable<T> for T {}
    impl<T> Nullable<T> for Option<T> {}

    pub trait Text {}
    impl Text for str {}
    impl<T: Text + ?Sized> Text for &T {}
    impl<T: Text> Text for Option<T> {}

    pub trait Bytes {}
    impl<T: Bytes + ?Sized> Bytes for &T {}
    impl<T: Bytes> Bytes for Option<T> {}

    pub trait TimestampValue {}
    impl TimestampValue for Timestamp {}
    impl TimestampValue for TimestampMicros {}
    impl TimestampValue for TimestampNanos {}
    impl TimestampValue for SystemTime {}
    impl<T: TimestampValue> TimestampValue for Option<T> {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::time::Duration;

    fn text(value: impl Text) -> Option<String> {
        value.as_text().map(str::to_owned)
    }

    #[test]
    #[expect(clippy::needless_borrows_for_generic_args, reason = "references are what is tested")]
    fn whatever_is_text_is_taken() {
        let owned = String::from("a");
        let cow = Cow::Borrowed("a");
        let taken = [
            text("a"),
            text(&"a"),
            text(&owned),
            text(&cow),
            text(Some("a")),
            text(Some(&owned)),
            text(&Some(owned.clone())),
            text(Some(cow.clone())),
            text(cow),
            text(Box::<str>::from("a")),
            text(Arc::<str>::from("a")),
            text(Rc::<str>::from("a")),
            text(owned),
        ];
        assert!(taken.iter().all(|t| t.as_deref() == Some("a")), "{taken:?}");
        assert_eq!(text(None::<String>), None);
        assert_eq!(text(""), Some(String::new()));
    }

    #[test]
    fn literals_and_none_need_no_type() {
        fn double(value: impl Nullable<f64>) -> Option<f64> {
            value.into_option()
        }
        fn byte(value: impl Nullable<i8>) -> Option<i8> {
            value.into_option()
        }
        assert_eq!(double(2.5), Some(2.5));
        assert_eq!(double(None), None);
        assert_eq!(byte(-3), Some(-3));
        assert_eq!(byte(Some(4)), Some(4));
    }

    #[test]
    fn lim_13_a_system_time_is_microseconds_or_an_error() {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1, 2_999);
        assert_eq!(time.into_timestamp().unwrap(), Some(Timestamp::Micros(1_000_002)));
        let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(Some(before).into_timestamp().unwrap(), Some(Timestamp::Micros(-1)));
        if let Some(far) = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(1 << 62)) {
            assert_eq!(far.into_timestamp().unwrap_err().kind(), ErrorKind::InvalidValue);
        }
    }
}
