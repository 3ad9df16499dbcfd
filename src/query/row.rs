//! Rows of a batch, cell by cell.

use super::batch::Batch;
use super::value::{FromValue, Value};
use crate::error::{Error, Result};
use std::iter::FusedIterator;

/// A row of a batch.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    batch: &'a Batch,
    index: usize,
}

impl<'a> RowView<'a> {
    pub(super) fn new(batch: &'a Batch, index: usize) -> RowView<'a> {
        RowView { batch, index }
    }

    /// The row's place in its batch, counted from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The cell in the first column of exactly that name, as `T`; `Option<T>` for cells that can be
    /// NULL.
    ///
    /// # Errors
    ///
    /// `InvalidCall` if there is no such column, if its type is another one (nothing is converted), or
    /// if the cell is NULL and `T` has no NULL.
    pub fn get<T: FromValue<'a>>(&self, column: &str) -> Result<T> {
        let column = self.batch.column(column)?;
        self.convert(column.value(self.index), || column.mismatch(T::WANTED))
    }

    /// The cell in the column at `index`, as `T`.
    ///
    /// # Errors
    ///
    /// As [`RowView::get`].
    pub fn get_at<T: FromValue<'a>>(&self, index: usize) -> Result<T> {
        let column = self.batch.column_at(index)?;
        self.convert(column.value(self.index), || column.mismatch(T::WANTED))
    }

    fn convert<T: FromValue<'a>>(
        &self,
        value: Option<Value<'a>>,
        mismatch: impl FnOnce() -> Error,
    ) -> Result<T> {
        let value = value.unwrap_or(Value::Null);
        let null = value.is_null();
        T::from_value(value).ok_or_else(|| {
            let error = mismatch().with("row", self.index);
            if null { error.because("the cell is NULL; ask for an Option") } else { error }
        })
    }

    /// The cell in the column at `index`; `None` behind the last column.
    pub fn value(&self, index: usize) -> Option<Value<'a>> {
        self.batch.column_at(index).ok()?.value(self.index)
    }

    /// All cells, in the order of the columns.
    pub fn values(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let row = *self;
        (0..self.batch.column_count()).map(move |index| row.value(index).unwrap_or(Value::Null))
    }
}

/// All rows of a batch.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    batch: &'a Batch,
    next: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(batch: &'a Batch) -> Rows<'a> {
        Rows { batch, next: 0 }
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = RowView<'a>;

    fn next(&mut self) -> Option<RowView<'a>> {
        let row = self.batch.row(self.next)?;
        self.next += 1;
        Some(row)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.batch.row_count() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Rows<'_> {}
impl FusedIterator for Rows<'_> {}
