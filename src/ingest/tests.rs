//! The producer's half without its thread: rows in, frames out, decoded again.

mod cells;
mod columns;
mod limits;
mod rows;
mod splitting;

use super::autoflush::AutoFlush;
use super::buffer::{Buffer, Sizes};
use super::interner::{Bounds, Interner};
use super::sender::{Sender, Settings};
use super::shared::Shared;
use super::table::NameRules;
use crate::store::{self, Cursor, Fsn};
use crate::time::SystemClock;
use crate::value::TimestampNanos;
use crate::wire::ingress::decode::{self, Cell};
use crate::wire::types::ColumnType;
use std::sync::Arc;
use std::time::Duration;

/// A sender over a store in memory that nobody empties.
pub(super) struct Producer {
    pub(super) sender: Sender,
    cursor: Cursor,
    /// The first frame that was not looked at.
    next: Fsn,
    dictionary: Vec<String>,
}

/// What to change of the defaults.
pub(super) struct Options {
    pub(super) segment_bytes: u64,
    pub(super) total_bytes: u64,
    pub(super) init_buf_bytes: usize,
    pub(super) max_buf_bytes: usize,
    pub(super) max_name_bytes: usize,
    pub(super) allow_timestamp: bool,
    pub(super) transaction: bool,
    pub(super) auto_flush: AutoFlush,
    pub(super) symbols: Bounds,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment_bytes: 4 << 20,
            total_bytes: 1 << 30,
            init_buf_bytes: 1 << 16,
            max_buf_bytes: 1 << 30,
            max_name_bytes: 127,
            allow_timestamp: false,
            transaction: false,
            auto_flush: AutoFlush::OFF,
            symbols: Bounds::SERVER,
        }
    }
}

/// A frame as text, one line a row: `table: column=value column=value`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) rows: Vec<String>,
    pub(super) deferred: bool,
    pub(super) bytes: usize,
    /// `name:TYPE` of each column of each block.
    pub(super) schema: Vec<String>,
    pub(super) new_symbols: Vec<String>,
}

pub(super) fn producer() -> Producer {
    Producer::new(Options::default())
}

pub(super) fn ts(nanos: i64) -> TimestampNanos {
    TimestampNanos::new(nanos)
}

impl Producer {
    pub(super) fn new(options: Options) -> Producer {
        let config = store::Config { segment_bytes: options.segment_bytes, total_bytes: options.total_bytes };
        let (appender, cursor, ledger) = store::memory(config).unwrap();
        let (log, _) = store::symbols();
        let rules = NameRules { max_bytes: options.max_name_bytes, allow_timestamp: options.allow_timestamp };
        let interner = Interner::new(log, 7, options.symbols);
        let sizes = Sizes { first_bytes: options.init_buf_bytes, max_bytes: options.max_buf_bytes };
        let buffer = Buffer::new(interner, rules, sizes, 7);
        let settings = Settings {
            append_deadline: Duration::ZERO,
            close_timeout: Duration::ZERO,
            transaction: options.transaction,
        };
        let shared = Arc::new(Shared::new(ledger, &SystemClock).unwrap());
        let sender =
            Sender::new(buffer, appender, options.auto_flush, shared, Arc::new(SystemClock), settings, None);
        Producer { sender, cursor, next: Fsn::FIRST, dictionary: Vec::new() }
    }

    /// The frames published since the last look.
    pub(super) fn frames(&mut self) -> Vec<Decoded> {
        let mut frames = Vec::new();
        while let Some(bytes) = self.cursor.frame(self.next).unwrap().map(<[u8]>::to_vec) {
            self.next = self.next.next();
            frames.push(self.decode(&bytes));
        }
        frames
    }

    /// The rows of the frames published since the last look.
    pub(super) fn rows(&mut self) -> Vec<String> {
        self.frames().into_iter().flat_map(|frame| frame.rows).collect()
    }

    pub(super) fn flushed(&mut self) -> Vec<String> {
        self.sender.flush().unwrap();
        self.rows()
    }

    fn decode(&mut self, bytes: &[u8]) -> Decoded {
        let message = decode::message(bytes).unwrap();
        let delta = message.delta.as_ref().unwrap();
        assert_eq!(delta.start, self.dictionary.len() as u64, "the server knows what came before");
        let new_symbols: Vec<String> = delta.texts().map(str::to_owned).collect();
        self.dictionary.extend(new_symbols.iter().cloned());
        let (mut rows, mut schema) = (Vec::new(), Vec::new());
        for block in &message.blocks {
            let mut lines = vec![format!("{}:", block.name); block.row_count];
            for column in &block.columns {
                let name = if column.name.is_empty() { "@" } else { column.name };
                schema.push(format!("{name}:{}", column.column_type));
                for (line, cell) in lines.iter_mut().zip(column.cells()) {
                    let text = match cell {
                        None => "null".to_owned(),
                        Some(Cell::Unsigned(id)) if column.column_type == ColumnType::Symbol => {
                            self.dictionary[usize::try_from(id).unwrap()].clone()
                        }
                        Some(cell) => show(&cell),
                    };
                    line.push_str(&format!(" {name}={text}"));
                }
            }
            rows.extend(lines);
        }
        let deferred = message.flags.has(crate::wire::frame::Flags::DEFER_COMMIT);
        Decoded { rows, deferred, bytes: bytes.len(), schema, new_symbols }
    }
}

fn show(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Boolean(value) => value.to_string(),
        Cell::Integer(value) => value.to_string(),
        Cell::Unsigned(value) => value.to_string(),
        Cell::Float(value) => format!("{value}/{:08x}", value.to_bits()),
        Cell::Double(value) => format!("{value}/{:016x}", value.to_bits()),
        Cell::Uuid(value) => format!("{value:032x}"),
        Cell::Limbs(limbs) => {
            let [a, b, c, d] = limbs;
            format!("{d:x}.{c:x}.{b:x}.{a:x}")
        }
        Cell::Text(text) => format!("{text:?}"),
        Cell::Bytes(bytes) => format!("{bytes:02x?}"),
        Cell::Array(array) => {
            let lengths: Vec<u32> = array.lengths.iter().map(|l| u32::from_le_bytes(*l)).collect();
            let elements: Vec<f64> = array.elements.iter().map(|e| f64::from_le_bytes(*e)).collect();
            format!("{lengths:?}{elements:?}")
        }
    }
}

/// A frame of which only the size of its blocks matters.
pub(super) struct Outline {
    pub(super) deferred: bool,
    pub(super) rows_by_table: Vec<(String, usize)>,
}

impl Producer {
    pub(super) fn frames_after_flush(&mut self) -> Vec<Decoded> {
        self.sender.flush().unwrap();
        self.frames()
    }

    pub(super) fn frames_without_rows(&mut self) -> Vec<Outline> {
        let mut outlines = Vec::new();
        while let Some(bytes) = self.cursor.frame(self.next).unwrap() {
            let message = decode::message(bytes).unwrap();
            let rows_by_table =
                message.blocks.iter().map(|block| (block.name.to_owned(), block.row_count)).collect();
            let deferred = message.flags.has(crate::wire::frame::Flags::DEFER_COMMIT);
            outlines.push(Outline { deferred, rows_by_table });
            self.next = self.next.next();
        }
        outlines
    }
}
