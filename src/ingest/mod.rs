//! Rows in: the producer's half, and the thread that delivers.

mod arrays;
mod autoflush;
mod bitmap;
mod buffer;
mod cells;
mod column;
mod columns;
mod encode;
mod interner;
mod io_loop;
mod lookup;
mod names;
mod rows;
mod sender;
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod texts;

pub use arrays::{Array, ArrayValue};
pub use columns::{ColumnValues, Columns, Masked};
pub use rows::Row;
pub use sender::Sender;
pub use texts::{Code, Dictionary, Texts};
