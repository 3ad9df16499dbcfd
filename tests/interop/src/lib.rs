//! The official clients against the stand-in server of `tests/support`, and the crate's own beside
//! them.
//!
//! A client is anything that implements [`Client`]; the same rows go through each of them, and have
//! to be equal at the server and in every client that reads them.

pub mod official;
pub mod ours;
pub mod samples;
#[path = "../../support/mod.rs"]
pub mod support;

use samples::Sample;
use support::value::{Type, Value};

/// A client that writes rows and reads results.
pub trait Client {
    /// Writes rows to a table, and waits until all of them are acknowledged.
    fn write(&mut self, table: &str, rows: &[Sample]) -> Result<(), String>;

    /// Carries out a statement with binds.
    fn query(&mut self, sql: &str, binds: &[(Type, Value)]) -> Result<Answer, String>;
}

/// What a statement led to.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// Names and rows.
    Rows(Vec<String>, Vec<Vec<Value>>),
    /// Statement kind and affected rows.
    Done(u8, i64),
}
