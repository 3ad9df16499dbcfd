//! Values that columns hold and that std has no type for.

/// Microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampMicros(i64);

/// Nanoseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampNanos(i64);

/// A time in one of the two resolutions of QuestDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timestamp {
    /// Microseconds since 1970.
    Micros(i64),
    /// Nanoseconds since 1970.
    Nanos(i64),
}

/// Milliseconds since 1970-01-01 UTC: a value of a DATE column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i64);

/// A UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

/// A 256-bit unsigned integer as four limbs, the least significant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Long256(pub [u64; 4]);

/// A geohash of 1 to 60 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Geohash {
    bits: u64,
    precision: u8,
}

/// How wide a decimal travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecimalWidth {
    /// Up to 18 digits.
    W64,
    /// Up to 38 digits.
    W128,
    /// Up to 76 digits.
    W256,
}

/// An exact decimal number: `unscaled / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Two's complement, the least significant limb first.
    unscaled: [u64; 4],
    scale: u8,
    width: Option<DecimalWidth>,
}
