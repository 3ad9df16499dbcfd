//! Queries: one connection, one query at a time, batches pulled on the caller's thread.
//!
//! ```text
//! client      what a user holds; gives out queries
//! statement   a query that is put together            binds, request: what is sent
//! cursor      its result, batch by batch              handler, result: on top of it
//! execution   the machine: what a message, a cancel, a broken connection means
//! failover    its budget (pure)                       refusal: what a server's error says
//! session     the client's connection, and how it gets another one
//! connection  send and receive between two waits
//! batch, column, cells, array, row, value                    reading what came
//! ```

mod array;
mod batch;
mod binds;
mod cancel;
mod cells;
mod client;
mod column;
mod connection;
mod counters;
mod cursor;
mod executed;
mod execution;
mod failover;
mod handler;
mod info;
mod lost;
mod refusal;
mod request;
mod result;
mod row;
mod session;
mod settings;
mod spares;
mod statement;
#[cfg(test)]
mod tests;
mod value;

pub use array::ArrayView;
pub use batch::Batch;
pub use binds::BindValue;
pub use cancel::CancelHandle;
pub use cells::{Cells, ColumnView};
pub use client::{QueryClient, QueryClientBuilder};
pub use column::Column;
pub use counters::QueryCounters;
pub use cursor::Cursor;
pub use executed::{Executed, OpType};
pub use handler::BatchHandler;
pub use info::ServerInfo;
pub use result::QueryResult;
pub use row::{RowView, Rows};
pub use statement::Query;
pub use value::{FromValue, Value};
