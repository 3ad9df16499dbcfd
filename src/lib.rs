//! A blocking client for QWP, QuestDB's binary protocol over WebSocket.
#![warn(missing_docs, unreachable_pub)]
#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]

mod config;
mod dial;
mod env;
mod error;
mod health;
mod ingest;
mod store;
mod time;
mod transport;
mod value;
mod wire;

pub use error::{EndpointFailure, Error, ErrorKind, Phase, Result, ServerStatus};
pub use ingest::snapshot::{Counters, Health, LinkState, ServerErrors};
pub use store::Fsn;
pub use value::{
    Date, Decimal, DecimalWidth, Geohash, Long256, Timestamp, TimestampMicros, TimestampNanos, Uuid,
};
pub use wire::types::ColumnType;
