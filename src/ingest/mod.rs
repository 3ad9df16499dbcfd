//! Rows in: the producer's half, and the thread that delivers.

mod arrays;
mod autoflush;
mod bitmap;
mod buffer;
mod cells;
mod column;
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

pub use arrays::{Array, ArrayValue};
pub use rows::Row;
pub use sender::Sender;
