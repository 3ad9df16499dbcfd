//! Rows in: the producer's half, and the thread that delivers.

mod acks;
mod arrays;
mod autoflush;
mod bitmap;
mod buffer;
mod builder;
mod cells;
mod column;
mod column_setters;
mod columns;
mod delivery;
mod encode;
mod interner;
mod io_loop;
mod lookup;
mod names;
mod parametric;
mod reach;
mod rejections;
mod renewals;
mod rows;
mod sender;
mod shared;
mod snapshot;
mod symbols;
mod table;
#[cfg(test)]
mod tests;
mod texts;

pub use arrays::{Array, ArrayValue};
pub use builder::SenderBuilder;
pub use columns::{ColumnValues, Columns, Masked};
pub use rows::Row;
pub use sender::Sender;
pub use snapshot::{Counters, Health, LinkState, ServerErrors};
pub use texts::{Code, Dictionary, Texts};
