//! Arrays in the cells of a column.

use super::cells::{ByPlace, Cell, Source};
use crate::wire::egress::ColumnRef;
use std::marker::PhantomData;

/// Arrays of doubles.
#[derive(Debug, Clone, Copy)]
pub struct DoubleArrays<'a>(Arrays<'a>);

/// Arrays of longs.
#[derive(Debug, Clone, Copy)]
pub struct LongArrays<'a>(Arrays<'a>);

#[derive(Debug, Clone, Copy)]
struct Arrays<'a> {
    column: ColumnRef<'a>,
    count: usize,
}

impl<'a> Arrays<'a> {
    fn at<T: Cell<Raw = [u8; 8]>>(&self, place: usize) -> Option<ArrayView<'a, T>> {
        let (lengths, elements) = self.column.array(place)?;
        Some(ArrayView { lengths, elements, element: PhantomData })
    }
}

macro_rules! array_source {
    ($source:ident, $element:ty) => {
        impl<'a> Source<'a> for $source<'a> {
            type Item = ArrayView<'a, $element>;

            fn open(column: &ColumnRef<'a>) -> Self {
                $source(Arrays { column: *column, count: column.count() })
            }

            fn at(&self, place: usize) -> Option<ArrayView<'a, $element>> {
                self.0.at(place)
            }

            fn values(&self) -> impl ExactSizeIterator<Item = Self::Item> + use<'a> {
                ByPlace::new(*self, self.0.count)
            }
        }
    };
}

array_source!(DoubleArrays, f64);
array_source!(LongArrays, i64);

/// An array of one or more dimensions, in place. An empty one is a value, and keeps its shape.
///
/// Elements have no NULL of their own: QuestDB reads NaN, or the least i64, as one.
#[derive(Debug, Clone, Copy)]
pub struct ArrayView<'a, T> {
    lengths: &'a [[u8; 4]],
    elements: &'a [[u8; 8]],
    element: PhantomData<T>,
}

impl<'a, T: Cell<Raw = [u8; 8]>> ArrayView<'a, T> {
    /// How many dimensions there are: 1 to 32.
    pub fn dimensions(&self) -> usize {
        self.lengths.len()
    }

    /// The length of each dimension, the outermost first.
    pub fn shape(&self) -> impl ExactSizeIterator<Item = usize> + use<'a, T> {
        self.lengths.iter().map(|length| u32::from_le_bytes(*length) as usize)
    }

    /// How many elements there are in all.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The element at `index`, counted row by row.
    pub fn get(&self, index: usize) -> Option<T> {
        self.elements.get(index).map(|raw| T::from_raw(*raw))
    }

    /// All elements, row by row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        self.elements.iter().map(|raw| T::from_raw(*raw))
    }
}
