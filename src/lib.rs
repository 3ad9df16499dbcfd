#![doc = include_str!("../README.md")]
#![warn(missing_docs, unreachable_pub)]
#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]

mod config;
mod dial;
mod env;
mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod health;
mod ingest;
mod query;
#[cfg(test)]
mod sim;
pub mod slot;
mod store;
mod time;
mod transport;
mod value;
mod wire;

pub use config::{
    Compression, Config, ConfigValue, ConnectMode, Durability, RejectionPolicy, Target, TlsCa, TlsVerify,
};
pub use error::{EndpointFailure, Error, ErrorKind, Phase, Result, ServerStatus};
pub use health::Role;
pub use ingest::{
    Array, ArrayValue, Code, ColumnValues, Columns, Counters, Dictionary, Health, LinkState, Masked, Row,
    Sender, SenderBuilder, ServerErrors, Texts,
};
pub use query::{
    ArrayView, Batch, BatchHandler, BindValue, CancelHandle, Cells, Column, ColumnView, Cursor, Executed,
    FromValue, OpType, Query, QueryClient, QueryClientBuilder, QueryCounters, QueryResult, RowView, Rows,
    ServerInfo, Value,
};
pub use store::Fsn;
pub use value::{
    Bytes, Date, Decimal, DecimalWidth, Geohash, Long256, Nullable, Text, Timestamp, TimestampMicros,
    TimestampNanos, TimestampValue, Uuid,
};
pub use wire::egress::Schema;
pub use wire::types::ColumnType;
