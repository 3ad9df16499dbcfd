//! Messages that carry rows to a server (wire.md 4).

#[cfg(any(test, fuzzing))]
pub(crate) mod cells;
pub(crate) mod column;
pub(crate) mod decode;
pub(crate) mod table;
