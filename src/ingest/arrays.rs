//! Arrays of doubles as users have them, into the form of the wire.

use crate::error::{Error, ErrorKind, Result};

/// Dimensions of an array (LIM-08).
const MAX_RANK: usize = 32;

/// Length of a dimension (LIM-08).
const MAX_LENGTH: usize = (1 << 28) - 1;

/// An array of doubles with its shape: the elements in row-major order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Array<'a> {
    shape: &'a [usize],
    values: &'a [f64],
}

impl<'a> Array<'a> {
    /// # Errors
    ///
    /// `InvalidValue` unless there are 1 to 32 dimensions of at most 2^28 - 1, and as many values as
    /// they make together.
    pub fn new(shape: &'a [usize], values: &'a [f64]) -> Result<Array<'a>> {
        check_shape(shape)?;
        let count = shape.iter().try_fold(1_usize, |count, length| count.checked_mul(*length));
        if count != Some(values.len()) {
            return Err(Error::new(ErrorKind::InvalidValue, "array does not fit its shape")
                .with("shape", format!("{shape:?}"))
                .with("values", values.len()));
        }
        Ok(Array { shape, values })
    }
}

impl Array<'_> {
    /// Bytes of the form of the wire.
    pub(super) fn encoded_bytes(&self) -> usize {
        1 + 4 * self.shape.len() + size_of_val(self.values)
    }

    /// Appends the form of the wire.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        sealed::head(self.shape, out);
        for value in self.values {
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

fn check_shape(shape: &[usize]) -> Result<()> {
    let fault = |why: String| {
        Err(Error::new(ErrorKind::InvalidValue, "invalid array shape")
            .with("shape", format!("{shape:?}"))
            .because(why))
    };
    if shape.is_empty() || shape.len() > MAX_RANK {
        return fault(format!("an array has 1 to {MAX_RANK} dimensions, not {}", shape.len()));
    }
    if let Some(length) = shape.iter().find(|length| **length > MAX_LENGTH) {
        return fault(format!("a dimension has at most {MAX_LENGTH} elements, not {length}"));
    }
    if shape.iter().try_fold(1_usize, |count, length| count.checked_mul((*length).max(1))).is_none() {
        return fault("it has more elements than memory can hold".into());
    }
    Ok(())
}

/// What [`Row::column_f64_array`](crate::Row::column_f64_array) takes: references to slices, vectors
/// and arrays of `f64` of any depth, [`Array`], and options of these.
pub trait ArrayValue: sealed::Value {}

impl<T: sealed::Value> ArrayValue for T {}

mod sealed {
    use super::{Array, MAX_RANK, Result, check_shape};
    use crate::error::{Error, ErrorKind};

    pub trait Value {
        /// Appends the value in the form of the wire; `false` for NULL.
        fn encode(self, out: &mut Vec<u8>) -> Result<bool>;
    }

    /// Elements, or rows of them.
    pub trait Nested {
        const RANK: usize;
        /// Sets the length of each dimension, by the first element of each. They are 0 before.
        fn shape(&self, shape: &mut [usize]);
        /// Appends the elements; `false` if it is ragged.
        fn elements(&self, shape: &[usize], out: &mut Vec<u8>) -> bool;
    }

    impl Nested for f64 {
        const RANK: usize = 0;

        fn shape(&self, _: &mut [usize]) {}

        fn elements(&self, _: &[usize], out: &mut Vec<u8>) -> bool {
            out.extend_from_slice(&self.to_le_bytes());
            true
        }
    }

    impl<T: Nested> Nested for [T] {
        const RANK: usize = T::RANK + 1;

        fn shape(&self, shape: &mut [usize]) {
            let Some((length, inner)) = shape.split_first_mut() else { return };
            *length = self.len();
            if let Some(first) = self.first() {
                first.shape(inner);
            }
        }

        fn elements(&self, shape: &[usize], out: &mut Vec<u8>) -> bool {
            let Some((length, inner)) = shape.split_first() else { return false };
            self.len() == *length && self.iter().all(|element| element.elements(inner, out))
        }
    }

    macro_rules! as_slice {
        ($([$($p:tt)*] $t:ty;)*) => {$(
            impl<$($p)*> Nested for $t {
                const RANK: usize = <[T]>::RANK;

                fn shape(&self, shape: &mut [usize]) {
                    self[..].shape(shape);
                }

                fn elements(&self, shape: &[usize], out: &mut Vec<u8>) -> bool {
                    self[..].elements(shape, out)
                }
            }
        )*};
    }

    as_slice! {
        [T: Nested] Vec<T>;
        [T: Nested, const N: usize] [T; N];
        [T: Nested] &[T];
    }

    #[expect(clippy::cast_possible_truncation, reason = "`check_shape` bounds both")]
    pub(in crate::ingest) fn head(shape: &[usize], out: &mut Vec<u8>) {
        out.push(shape.len() as u8);
        for length in shape {
            out.extend_from_slice(&(*length as u32).to_le_bytes());
        }
    }

    impl<T: Nested + ?Sized> Value for &T {
        fn encode(self, out: &mut Vec<u8>) -> Result<bool> {
            // One more than there may be, so that too many are seen.
            let mut shape = [0; MAX_RANK + 1];
            let shape = &mut shape[..T::RANK.min(MAX_RANK + 1)];
            self.shape(shape);
            check_shape(shape)?;
            head(shape, out);
            if self.elements(shape, out) {
                return Ok(true);
            }
            Err(Error::new(ErrorKind::InvalidValue, "ragged array")
                .because("all rows of a dimension have the same length"))
        }
    }

    impl Value for Array<'_> {
        fn encode(self, out: &mut Vec<u8>) -> Result<bool> {
            self.write(out);
            Ok(true)
        }
    }

    impl<T: Value> Value for Option<T> {
        fn encode(self, out: &mut Vec<u8>) -> Result<bool> {
            match self {
                Some(value) => value.encode(out),
                None => Ok(false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::Value;
    use super::*;

    fn encode(value: impl Value) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        value.encode(&mut out).map(|_| out)
    }

    fn head(encoded: &[u8]) -> (Vec<u32>, usize) {
        let rank = encoded[0] as usize;
        let (lengths, rest) = encoded[1..].split_at(rank * 4);
        (lengths.as_chunks::<4>().0.iter().map(|l| u32::from_le_bytes(*l)).collect(), rest.len() / 8)
    }

    #[test]
    fn lim_08_nested_slices_give_their_shape() {
        assert_eq!(head(&encode(&[1.5_f64, 2.0]).unwrap()), (vec![2], 2));
        assert_eq!(head(&encode(&[] as &[f64; 0]).unwrap()), (vec![0], 0));
        assert_eq!(head(&encode(&vec![vec![1.0], vec![2.0]]).unwrap()), (vec![2, 1], 2));
        assert_eq!(head(&encode(&[[0.0_f64; 0]; 2]).unwrap()), (vec![2, 0], 0));
        assert_eq!(head(&encode(&Vec::<Vec<f64>>::new()).unwrap()), (vec![0, 0], 0));
        assert_eq!(head(&encode(Array::new(&[0, 3], &[]).unwrap()).unwrap()), (vec![0, 3], 0));
        assert_eq!(head(&encode(Some(&[[[1.0_f64]]])).unwrap()), (vec![1, 1, 1], 1));
    }

    #[test]
    fn lim_08_ragged_arrays_and_shapes_beyond_the_limits_are_refused() {
        let ragged = encode(&vec![vec![1.0], vec![]]).unwrap_err();
        assert_eq!(ragged.kind(), ErrorKind::InvalidValue);
        assert!(Array::new(&[2], &[1.0]).is_err());
        assert!(Array::new(&[], &[]).is_err());
        assert!(Array::new(&[1; 32], &[1.0]).is_ok());
        assert!(Array::new(&[1; 33], &[1.0]).is_err());
        assert!(Array::new(&[0, (1 << 28) - 1], &[]).is_ok());
        assert!(Array::new(&[0, 1 << 28], &[]).is_err());
        assert!(Array::new(&[(1 << 28) - 1, (1 << 28) - 1, (1 << 28) - 1, 0], &[]).is_err());
    }
}
