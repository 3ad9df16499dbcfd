//! One row at a time.

use super::buffer::{Buffer, NO_ROW};
use super::column::{Column, Values};
use super::sender::Sender;
use super::symbols::ID_BYTES;
use super::table::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Timestamp, TimestampValue};
use crate::wire::types::ColumnType;

/// A place where no column is.
const NOWHERE: usize = usize::MAX;

/// A column in the schema of a block takes at most this much.
const COLUMN_HEAD_BYTES: usize = 130;

/// Bytes of a designated timestamp.
const TIME_BYTES: usize = 8;

/// A row that is being built: [`Sender::table`](crate::Sender::table) starts it, [`at`](Row::at) or
/// [`at_now`](Row::at_now) ends it.
///
/// A row remembers its first error; later setters do nothing, and the end returns the error. A row
/// that failed, was cancelled or was dropped before its end leaves nothing behind: the rows before
/// it stay as they are (FLUSH-08).
///
/// ```
/// # fn f(sender: &mut qwp::Sender) -> qwp::Result<()> {
/// let mut row = sender.table("trades");
/// row.symbol("symbol", "ETH-USD").column_f64("price", 2615.54);
/// row.at(qwp::TimestampNanos::now())?;
/// # Ok(()) }
/// ```
#[must_use = "a row counts only once `at` or `at_now` has ended it"]
pub struct Row<'a> {
    pub(super) sender: &'a mut Sender,
    table: usize,
    /// Where the next column is expected: nowhere after an error or the end.
    next: usize,
    /// What the cells weigh. 0 as long as none is set.
    bytes: usize,
    before: Before,
    error: Option<Error>,
    /// Neither ended nor cancelled.
    open: bool,
}

/// What was there before the row.
#[derive(Debug, Clone, Copy)]
struct Before {
    tables: usize,
    symbols: u32,
}

impl<'a> Row<'a> {
    #[inline]
    pub(crate) fn start(sender: &'a mut Sender, table: &str) -> Row<'a> {
        sender.buffer.take_back_leaked_row();
        let tables = sender.buffer.tables.len();
        let symbols = sender.buffer.symbols.len();
        let (table, error) = match sender.check_usable().and_then(|()| sender.buffer.table(table)) {
            Ok(table) => (table, None),
            Err(e) => (usize::MAX, Some(e)),
        };
        let next = if error.is_some() { NOWHERE } else { 0 };
        sender.buffer.open_row = table;
        Row { sender, table, next, bytes: 0, before: Before { tables, symbols }, error, open: true }
    }

    /// Ends the row at its designated time: a `TimestampNanos`, a `TimestampMicros`, a `SystemTime`,
    /// or, behind features of these names, what `chrono` and `jiff` have.
    ///
    /// May flush, and then wait as [`Sender::flush`](crate::Sender::flush) does. If that fails, the
    /// error is [in doubt](crate::Error::in_doubt): the row was taken and stays in the buffer.
    ///
    /// # Errors
    ///
    /// The first error of the row's cells. `InvalidValue` for a time that cannot be a designated one:
    /// before 1970, from 2262 on in nanoseconds, beyond 9999 in microseconds (LIM-12). `InvalidCall`
    /// for a resolution other than that of the batch's rows. `TooLarge` for a row that no server
    /// takes, or that `max_buf_size` has no room for: flush, and add it again.
    #[inline]
    pub fn at(&mut self, time: impl TimestampValue) -> Result<()> {
        let time = match time.into_timestamp() {
            Ok(Some(time)) => time.check_designated().map(|()| time),
            Ok(None) => Err(Error::new(ErrorKind::InvalidValue, "designated timestamp is NULL")
                .because("end the row with at_now to have the server set it")),
            Err(e) => Err(e),
        };
        match time {
            Ok(time) => self.finish(Some(time)),
            Err(e) => self.fail_at_end(e),
        }
    }

    /// Ends the row; the server sets its time, one for all such rows of a frame.
    ///
    /// # Errors
    ///
    /// As [`at`](Row::at); `InvalidCall` for a row without a column.
    pub fn at_now(&mut self) -> Result<()> {
        if self.bytes == 0 && self.error.is_none() && self.open {
            return self.fail_at_end(
                Error::new(ErrorKind::InvalidCall, "empty row").because("set a column, or a time with at"),
            );
        }
        self.finish(None)
    }

    /// Takes the row back. Rows before it stay. It is no error to do so twice, or after the end.
    pub fn cancel_row(&mut self) {
        if self.open {
            self.take_back();
            self.open = false;
            self.next = NOWHERE;
        }
    }

    /// Sets a cell: `push` appends the value if the column is of its type.
    #[inline(always)]
    pub(super) fn set<T: Copy>(
        &mut self,
        name: &str,
        column_type: ColumnType,
        bytes: usize,
        value: T,
        push: impl Fn(&mut Values, T) -> bool,
    ) {
        if let Some(column) = self.sender.buffer.next_column(self.table, self.next, name)
            && push(&mut column.values, value)
        {
            column.covered += 1;
            self.next += 1;
            self.bytes += bytes;
            return;
        }
        self.set_slowly(name, column_type, bytes, value, push);
    }

    /// Keeps what the general case needs in memory out of the usual one.
    #[inline(never)]
    fn set_slowly<T: Copy>(
        &mut self,
        name: &str,
        column_type: ColumnType,
        bytes: usize,
        value: T,
        push: impl Fn(&mut Values, T) -> bool,
    ) {
        self.set_elsewhere(name, column_type, bytes, &|_, values| Ok(push(values, value)));
    }

    /// Sets a cell whose value may not fit what the column holds.
    pub(super) fn set_checked(
        &mut self,
        name: &str,
        column_type: ColumnType,
        bytes: usize,
        push: &dyn Fn(Settled, &mut Values) -> Result<bool>,
    ) {
        self.set_elsewhere(name, column_type, bytes, push);
    }

    /// A symbol: the column remembers the texts of late, else the dictionary knows the id.
    #[inline(always)]
    pub(super) fn set_symbol(&mut self, name: &str, text: &str) {
        if let Some(column) = self.sender.buffer.next_column(self.table, self.next, name)
            && let Values::Symbol(symbols) = &mut column.values
            && symbols.push_seen(text)
        {
            column.covered += 1;
            self.next += 1;
            self.bytes += ID_BYTES;
            return;
        }
        self.set_symbol_elsewhere(name, text);
    }

    #[inline(never)]
    fn set_symbol_elsewhere(&mut self, name: &str, text: &str) {
        if self.error.is_some() {
            return;
        }
        let at = match self.sender.buffer.next_column(self.table, self.next, name) {
            Some(_) => self.next,
            None => match self.locate(name, ColumnType::Symbol) {
                Ok(at) => at,
                Err(e) => return self.fail(e),
            },
        };
        let Buffer { tables, symbols: dictionary, .. } = &mut self.sender.buffer;
        let Some(table) = tables.get_mut(self.table) else { return };
        let Some(column) = table.columns.get_mut(at) else { return };
        let Values::Symbol(symbols) = &mut column.values else {
            let e = wrong_type(table.name(), name, found_type(table, at), ColumnType::Symbol);
            return self.fail(e);
        };
        match if symbols.push_seen(text) { Ok(ID_BYTES) } else { symbols.push(text, dictionary) } {
            Ok(bytes) => {
                column.covered = table.rows + 1;
                self.next = at + 1;
                self.bytes += bytes;
            }
            Err(e) => self.refuse_symbol(name, e),
        }
    }

    #[cold]
    fn refuse_symbol(&mut self, name: &str, e: Error) {
        let table = self.sender.buffer.tables.get(self.table).map_or("", Table::name);
        let e = e.with("table", table).with("column", name);
        self.fail(e);
    }

    /// Says NULL.
    #[inline(never)]
    pub(super) fn set_null(&mut self, name: &str, column_type: ColumnType) {
        if let Some(column) = self.sender.buffer.next_column(self.table, self.next, name)
            && column.values.column_type() == column_type
        {
            column.set_null(column.covered);
            self.next += 1;
            self.bytes += 1;
            return;
        }
        if self.error.is_some() {
            return;
        }
        match self.locate(name, column_type) {
            Ok(at) => {
                let Some(table) = self.sender.buffer.tables.get_mut(self.table) else { return };
                let rows = table.rows;
                let found = found_type(table, at);
                if found != column_type && !is_variant(found, column_type) {
                    let e = wrong_type(table.name(), name, found, column_type);
                    return self.fail(e);
                }
                if let Some(column) = table.columns.get_mut(at) {
                    column.set_null(rows);
                }
                self.next = at + 1;
                self.bytes += 1;
            }
            Err(e) => self.fail(e),
        }
    }

    #[inline(never)]
    fn set_elsewhere(
        &mut self,
        name: &str,
        column_type: ColumnType,
        bytes: usize,
        push: &dyn Fn(Settled, &mut Values) -> Result<bool>,
    ) {
        if self.error.is_some() {
            return;
        }
        if bytes > self.sender.buffer.max_bytes() {
            return self.fail(
                Error::new(ErrorKind::TooLarge, "value too long")
                    .with("column", name)
                    .with("bytes", bytes)
                    .because(format!("max_buf_size is {}", self.sender.buffer.max_bytes())),
            );
        }
        let at = match self.locate(name, column_type) {
            Ok(at) => at,
            Err(e) => return self.fail(e),
        };
        let buffer = &mut self.sender.buffer;
        let scale = match buffer.tables.get(self.table) {
            Some(table) if is_decimal(column_type) && !table.knows_scale(at) => {
                buffer.scale(table.name(), name)
            }
            _ => None,
        };
        let Some(table) = buffer.tables.get_mut(self.table) else { return };
        let rows = table.rows;
        let pushed = match table.columns.get_mut(at) {
            Some(column) => push(Settled { scale }, &mut column.values),
            None => Ok(false),
        };
        match pushed {
            Ok(true) => {
                if let Some(column) = table.columns.get_mut(at) {
                    column.covered = rows + 1;
                }
                self.next = at + 1;
                self.bytes += bytes;
            }
            Ok(false) => {
                let found = found_type(table, at);
                let e = match found == column_type {
                    true => full(table.name(), name),
                    false => wrong_type(table.name(), name, found, column_type),
                };
                self.fail(e);
            }
            Err(e) => {
                let e = e.with("table", table.name()).with("column", name);
                self.fail(e);
            }
        }
    }

    /// The place of a column, filled up to this row. A second setting in one row is an error.
    fn locate(&mut self, name: &str, column_type: ColumnType) -> Result<usize> {
        if !self.open {
            return Err(ended());
        }
        let buffer = &mut self.sender.buffer;
        let at = buffer.column(self.table, name, column_type)?;
        let Some(table) = buffer.tables.get_mut(self.table) else {
            return Err(Error::new(ErrorKind::Bug, "a row without a table"));
        };
        let rows = table.rows;
        let spelled = table.columns.get_mut(at).and_then(|column| {
            if column.covered > rows {
                return Some(column.name().to_owned());
            }
            column.cover(rows);
            None
        });
        match spelled {
            None => Ok(at),
            Some(spelled) => Err(Error::new(ErrorKind::InvalidCall, "column set twice in a row")
                .with("table", table.name())
                .with("column", name)
                .because(if spelled == name {
                    "a row has one value a column".into()
                } else {
                    format!("it was set as {spelled:?}; QuestDB does not tell the two names apart")
                })),
        }
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error) {
        if self.error.is_none() {
            self.error = Some(error);
        }
        self.next = NOWHERE;
    }

    #[cold]
    fn fail_at_end(&mut self, error: Error) -> Result<()> {
        if self.open {
            self.fail(error);
        }
        self.finish(None)
    }

    #[inline(always)]
    fn finish(&mut self, time: Option<Timestamp>) -> Result<()> {
        if !self.open {
            return Err(ended());
        }
        if self.error.is_none() {
            let weight = self.bytes + TIME_BYTES;
            match self.add(time, weight) {
                Ok(()) => {
                    self.open = false;
                    self.next = NOWHERE;
                    self.sender.buffer.open_row = NO_ROW;
                    return self.sender.row_finished(weight);
                }
                Err(e) => self.error = Some(e),
            }
        }
        self.cancel_row();
        Err(self.error.take().unwrap_or_else(ended))
    }

    /// Makes the row one of the table's, unless it is one too many or too large.
    #[inline(always)]
    fn add(&mut self, time: Option<Timestamp>, weight: usize) -> Result<()> {
        let limit = self.sender.row_limit();
        self.sender.check_rows(self.table, 1, weight)?;
        let Some(table) = self.sender.buffer.tables.get_mut(self.table) else {
            return Err(Error::new(ErrorKind::Bug, "a row without a table"));
        };
        table.finish_row(time)?;
        // A bound of what it takes in a frame of its own, with room to spare.
        if weight + table.columns.len() * COLUMN_HEAD_BYTES <= limit / 2 {
            return Ok(());
        }
        self.measure()
    }

    #[cold]
    fn measure(&mut self) -> Result<()> {
        self.sender.row_fits(self.table).inspect_err(|_| {
            if let Some(table) = self.sender.buffer.tables.get_mut(self.table) {
                table.reopen_row();
            }
        })
    }

    #[cold]
    fn take_back(&mut self) {
        let buffer = &mut self.sender.buffer;
        buffer.take_back_open_row();
        buffer.take_back_tables(self.before.tables);
        if buffer.symbols.len() > self.before.symbols {
            buffer.forget_symbols(self.before.symbols);
        }
    }
}

impl Drop for Row<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.open {
            self.cancel_row();
        }
    }
}

impl std::fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = self.sender.buffer.tables.get(self.table).map(Table::name);
        f.debug_struct("Row").field("table", &table).field("error", &self.error).finish_non_exhaustive()
    }
}

/// What is settled about a column from before this batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled {
    /// The scale of a decimal column.
    pub(super) scale: Option<u8>,
}

pub(super) fn is_decimal(column_type: ColumnType) -> bool {
    matches!(column_type, ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256)
}

fn found_type(table: &Table, at: usize) -> ColumnType {
    table.columns.get(at).map_or(ColumnType::Boolean, |column: &Column| column.values.column_type())
}

/// Whether a NULL of one fits the other: neither the width of a decimal nor the resolution of a time
/// can be seen from it.
fn is_variant(a: ColumnType, b: ColumnType) -> bool {
    let is_time = |t| matches!(t, ColumnType::Timestamp | ColumnType::TimestampNanos);
    is_decimal(a) && is_decimal(b) || is_time(a) && is_time(b)
}

#[cold]
fn wrong_type(table: &str, column: &str, is: ColumnType, wanted: ColumnType) -> Error {
    Error::new(ErrorKind::InvalidCall, "column of another type")
        .with("table", table)
        .with("column", column)
        .because(format!("it is {is} in this sender, the value is {wanted}"))
}

#[cold]
fn full(table: &str, column: &str) -> Error {
    Error::new(ErrorKind::TooLarge, "column is full").with("table", table).with("column", column).because(
        "the values of a column between two flushes have at most 4 GiB; flush, and add this row again",
    )
}

#[cold]
fn ended() -> Error {
    Error::new(ErrorKind::InvalidCall, "row already ended").because("start another one with table")
}
