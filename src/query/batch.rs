//! A batch of rows, by column and by row.

use super::column::Column;
use super::row::{RowView, Rows};
use super::spares::Spares;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::egress::{self, Schema};
use std::fmt;
use std::sync::Arc;

/// Rows of a result: at least one.
///
/// It owns the bytes that the server sent; columns are views of them, so that nothing is copied until
/// a value is read. It stays readable as long as it is kept, whatever becomes of the cursor, the
/// client or the server, and can be sent to another thread. Dropping it early lets its buffers be used
/// for the batches that follow.
pub struct Batch {
    inner: egress::Batch,
    spares: Arc<Spares>,
}

impl Batch {
    pub(super) fn new(inner: egress::Batch, spares: Arc<Spares>) -> Batch {
        Batch { inner, spares }
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.inner.rows()
    }

    /// How many columns there are.
    pub fn column_count(&self) -> usize {
        self.inner.schema().len()
    }

    /// Names and types of the columns. The same for all batches of one run of a query; a restart may
    /// bring another (QFO-08).
    pub fn schema(&self) -> &Schema {
        self.inner.schema()
    }

    /// The first column of exactly that name. Equal names are told apart by [`Batch::column_at`].
    ///
    /// # Errors
    ///
    /// `InvalidCall` if there is none.
    pub fn column(&self, name: &str) -> Result<Column<'_>> {
        match self.schema().position(name) {
            Some(index) => self.column_at(index),
            None => Err(Error::new(ErrorKind::InvalidCall, "no such column").with("column", name)),
        }
    }

    /// The column at `index`, counted from 0.
    ///
    /// # Errors
    ///
    /// `InvalidCall` if there are not so many.
    pub fn column_at(&self, index: usize) -> Result<Column<'_>> {
        let column = self.inner.column(index).zip(self.schema().name(index));
        column.map(|(column, name)| Column::new(column, name)).ok_or_else(|| {
            Error::new(ErrorKind::InvalidCall, "no such column")
                .with("index", index)
                .with("columns", self.column_count())
        })
    }

    /// The row at `index`, counted from 0.
    pub fn row(&self, index: usize) -> Option<RowView<'_>> {
        (index < self.row_count()).then(|| RowView::new(self, index))
    }

    /// All rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows::new(self)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.spares.keep(std::mem::take(&mut self.inner));
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("rows", &self.row_count()).field("schema", &self.schema()).finish()
    }
}
