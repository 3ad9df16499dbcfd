//! A whole result, for those that are small.

use super::batch::Batch;
use super::row::RowView;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::egress::Schema;
use std::sync::Arc;

/// A whole result, see [`Query::fetch_all`](crate::Query::fetch_all).
#[derive(Debug)]
pub struct QueryResult {
    schema: Option<Arc<Schema>>,
    batches: Vec<Batch>,
}

impl QueryResult {
    /// Rows that are kept at most; larger results are read by a cursor.
    pub const MAX_ROWS: usize = 1_000_000;

    pub(super) fn new(schema: Option<Arc<Schema>>, batches: Vec<Batch>) -> QueryResult {
        QueryResult { schema, batches }
    }

    /// Fails once there are too many rows.
    pub(super) fn check(batches: &[Batch]) -> Result<()> {
        if count(batches) <= QueryResult::MAX_ROWS {
            return Ok(());
        }
        Err(Error::new(ErrorKind::TooLarge, "the result is too large to be kept")
            .with("limit", QueryResult::MAX_ROWS)
            .because("read it batch by batch, with `run`"))
    }

    /// Names and types of the columns; `None` if the statement had no result, such as an INSERT.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_deref()
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        count(&self.batches)
    }

    /// The batches, in their order.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// All rows, in their order.
    pub fn rows(&self) -> impl Iterator<Item = RowView<'_>> {
        self.batches.iter().flat_map(Batch::rows)
    }
}

fn count(batches: &[Batch]) -> usize {
    batches.iter().map(Batch::row_count).sum()
}
