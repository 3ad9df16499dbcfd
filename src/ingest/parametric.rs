//! Values of columns that have a parameter (precision, scale, rank) or a length of their own.

use crate::error::{Error, ErrorKind, Result};
use crate::value::{Decimal, DecimalWidth, Geohash};
use crate::wire::types::ColumnType;

/// Bytes of different length: value `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Debug)]
pub(crate) struct Blobs {
    pub(crate) offsets: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
}

impl Default for Blobs {
    fn default() -> Blobs {
        Blobs { offsets: vec![0], bytes: Vec::new() }
    }
}

impl Blobs {
    /// Whether all bytes together stay within what an offset can say.
    #[inline]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len().checked_add(bytes).is_some_and(|all| u32::try_from(all).is_ok())
    }

    /// Appends a value that there [is room](Blobs::has_room) for.
    #[inline]
    pub(crate) fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.seal();
    }

    /// Ends the value whose bytes were appended.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "has_room bounds the bytes")]
    pub(crate) fn seal(&mut self) {
        self.offsets.push(self.bytes.len() as u32);
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.offsets.truncate(count + 1);
        self.bytes.truncate(self.offsets.last().map_or(0, |end| *end as usize));
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// Geohashes of one precision.
#[derive(Debug, Default)]
pub(crate) struct Geohashes {
    /// Set by the first value of a batch.
    pub(crate) precision: Option<u8>,
    pub(crate) bits: Vec<u64>,
}

/// Decimals of one scale.
#[derive(Debug)]
pub(crate) struct Decimals {
    pub(crate) width: DecimalWidth,
    /// Set by the first value, or declared; stays for the sender's life (FLUSH-22).
    pub(crate) scale: Option<u8>,
    /// Whether a finished row or a declaration stands behind the scale.
    pub(crate) scale_is_settled: bool,
    pub(crate) unscaled: Vec<[u64; 4]>,
}

/// Arrays of one rank, in the form of the wire.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    /// Set by the first value of a batch.
    pub(crate) rank: Option<u8>,
    pub(crate) encoded: Blobs,
}

impl Geohashes {
    /// Appends a value of the column's precision.
    pub(crate) fn push(&mut self, value: Geohash) -> Result<()> {
        match self.precision {
            Some(precision) if precision != value.precision() => {
                Err(Error::new(ErrorKind::InvalidValue, "geohash of another precision")
                    .with("bits", value.precision())
                    .because(format!("the column has {precision} bits between two flushes")))
            }
            _ => {
                self.precision = Some(value.precision());
                self.bits.push(value.bits());
                Ok(())
            }
        }
    }
}

impl Decimals {
    /// Appends a value at the column's scale, exactly. `settled` is a scale from before this batch.
    /// Returns whether the value's declared width, if it has one, is the column's.
    pub(crate) fn push(&mut self, settled: Option<u8>, value: Decimal) -> Result<bool> {
        if value.width().is_some_and(|width| width != self.width) {
            return Ok(false);
        }
        let scale = self.scale.or(settled).unwrap_or(value.scale());
        if value.scale() > scale {
            return Err(Error::new(ErrorKind::InvalidValue, "too many digits after the point")
                .with("scale", value.scale())
                .because(format!(
                    "the column has scale {scale} for this sender's life; declare a larger one with decimal_scale \
                     before its first value"
                )));
        }
        let fitted = value.rescale(scale)?.with_width(self.width)?;
        self.scale = Some(scale);
        self.unscaled.push(fitted.unscaled());
        Ok(true)
    }

    /// The type of column that a value makes.
    pub(crate) fn column_type(value: Decimal) -> ColumnType {
        match value.width() {
            Some(DecimalWidth::W64) => ColumnType::Decimal64,
            Some(DecimalWidth::W128) => ColumnType::Decimal128,
            _ => ColumnType::Decimal256,
        }
    }
}

impl Arrays {
    /// Appends a value in the form of the wire. Returns whether there is room for it.
    pub(crate) fn push(&mut self, encoded: &[u8]) -> Result<bool> {
        let rank = encoded.first().copied().unwrap_or(0);
        match self.rank {
            Some(known) if known != rank => Err(Error::new(ErrorKind::InvalidValue, "array of another rank")
                .with("dimensions", rank)
                .because(format!("the column has {known} between two flushes"))),
            _ if !self.encoded.has_room(encoded.len()) => Ok(false),
            _ => {
                self.rank = Some(rank);
                self.encoded.push(encoded);
                Ok(true)
            }
        }
    }
}
