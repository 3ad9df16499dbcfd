//! Many rows at a time, from columns that are columns already.

use super::column::{Column, Validity, Values};
use super::interner::Interner;
use super::rows::is_decimal;
use super::sender::Sender;
use crate::error::{Error, ErrorKind, Result};
use crate::store::Fsn;
use crate::value::{Timestamp, TimestampMicros, TimestampNanos};
use crate::wire::types::ColumnType;

/// Values of a column of which some are NULL: row `i` has `values[i]` where bit `i` of the validity
/// is 1, the first row in the lowest bit of the first byte, as Arrow has it.
#[derive(Debug, Clone, Copy)]
pub struct Masked<'a, T> {
    values: &'a [T],
    validity: &'a [u8],
}

impl<'a, T> Masked<'a, T> {
    /// Values, and a bit for each. That there are enough bits is checked when the batch ends.
    pub fn new(values: &'a [T], validity: &'a [u8]) -> Masked<'a, T> {
        Masked { values, validity }
    }
}

/// What a column can be made from: a slice, an array or a vector, by reference, or [`Masked`].
pub trait ColumnValues<'a, T>: sealed::Sealed<'a, T> {}

impl<'a, T, V: sealed::Sealed<'a, T>> ColumnValues<'a, T> for V {}

mod sealed {
    use super::Masked;

    pub trait Sealed<'a, T> {
        fn parts(self) -> (&'a [T], Option<&'a [u8]>);
    }

    impl<'a, T> Sealed<'a, T> for &'a [T] {
        fn parts(self) -> (&'a [T], Option<&'a [u8]>) {
            (self, None)
        }
    }

    impl<'a, T> Sealed<'a, T> for &'a Vec<T> {
        fn parts(self) -> (&'a [T], Option<&'a [u8]>) {
            (self, None)
        }
    }

    impl<'a, T, const N: usize> Sealed<'a, T> for &'a [T; N] {
        fn parts(self) -> (&'a [T], Option<&'a [u8]>) {
            (self, None)
        }
    }

    impl<'a, T> Sealed<'a, T> for Masked<'a, T> {
        fn parts(self) -> (&'a [T], Option<&'a [u8]>) {
            (self.values, Some(self.validity))
        }
    }
}

/// A batch of rows that is put together column by column: [`Sender::columns`] starts it,
/// [`at_nanos`](Columns::at_nanos), [`at_micros`](Columns::at_micros) or [`at_now`](Columns::at_now)
/// checks it as a whole, adds it behind the pending rows, and flushes.
///
/// The batch borrows the values until its end, so those made on the way (`&vec![..]`) have to be put
/// into a variable first.
///
/// ```
/// # fn f(sender: &mut qwp::Sender) -> qwp::Result<()> {
/// let (codes, names) = ([0_u8, 1, 0], ["ETH-USD", "BTC-USD"]);
/// sender
///     .columns("trades")
///     .symbol("symbol", &codes, &names)
///     .column_f64("price", &[2615.5, 61_000.0, 2615.6])
///     .at_nanos(&[1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 1_700_000_000_000_000_002])?;
/// # Ok(()) }
/// ```
#[must_use = "the rows count only once `at_nanos`, `at_micros` or `at_now` has ended the batch"]
pub struct Columns<'a> {
    sender: &'a mut Sender,
    table: &'a str,
    staged: Vec<Staged<'a>>,
}

type Append<'a> = dyn Fn(&mut Values, &mut Interner) -> Result<bool> + 'a;

/// A column as it was given.
pub(super) struct Staged<'a> {
    pub(super) name: &'a str,
    pub(super) column_type: ColumnType,
    pub(super) rows: usize,
    pub(super) validity: Option<&'a [u8]>,
    /// Bytes that it takes, about.
    pub(super) bytes: usize,
    /// Appends the values of the rows that have one, or says that the column is of another type.
    pub(super) append: Box<Append<'a>>,
}

impl<'a> Columns<'a> {
    pub(crate) fn start(sender: &'a mut Sender, table: &'a str) -> Columns<'a> {
        Columns { sender, table, staged: Vec::new() }
    }

    /// Ends the batch with a designated timestamp in nanoseconds for each row, and flushes.
    ///
    /// Blocks as [`Sender::flush`] does. Under `transaction=on` the rows wait for an explicit flush.
    ///
    /// # Errors
    ///
    /// `InvalidCall` for unequal lengths, too short a validity, a column given twice or of another
    /// type than in the pending rows; `InvalidValue` with column and row for values; all before
    /// anything is added. What `flush` returns is [in doubt](crate::Error::in_doubt): the rows were
    /// added and stay in the buffer.
    pub fn at_nanos(&mut self, times: &[i64]) -> Result<Option<Fsn>> {
        self.end(times.len(), Some((times, true)))
    }

    /// Ends the batch with a designated timestamp in microseconds for each row, and flushes: as
    /// [`at_nanos`](Columns::at_nanos).
    ///
    /// # Errors
    ///
    /// Those of [`at_nanos`](Columns::at_nanos).
    pub fn at_micros(&mut self, times: &[i64]) -> Result<Option<Fsn>> {
        self.end(times.len(), Some((times, false)))
    }

    /// Ends the batch; the server sets the time, one for all rows of a frame. Flushes: as
    /// [`at_nanos`](Columns::at_nanos).
    ///
    /// # Errors
    ///
    /// Those of [`at_nanos`](Columns::at_nanos); `InvalidCall` for a batch without columns.
    pub fn at_now(&mut self) -> Result<Option<Fsn>> {
        self.sender.check_usable()?;
        match self.staged.first().map(|column| column.rows) {
            Some(rows) => self.end(rows, None),
            None => Err(Error::new(ErrorKind::InvalidCall, "empty batch").because("add a column first")),
        }
    }

    fn end(&mut self, rows: usize, times: Option<(&[i64], bool)>) -> Result<Option<Fsn>> {
        let staged = std::mem::take(&mut self.staged);
        self.sender.check_usable()?;
        check_lengths(&staged, rows).map_err(|e| e.with("table", self.table))?;
        if let Some((times, nanos)) = times {
            check_times(times, nanos).map_err(|e| e.with("table", self.table))?;
        }
        if rows == 0 {
            return Ok(self.sender.published());
        }
        self.sender.add_columns(self.table, &staged, rows, times)
    }

    pub(super) fn stage_checked<T>(
        &mut self,
        name: &'a str,
        column_type: ColumnType,
        values: &'a [T],
        validity: Option<&'a [u8]>,
        append: impl Fn(&mut Values, &mut Interner, Option<Validity<'a>>) -> Result<bool> + 'a,
    ) -> &mut Self {
        let append = Box::new(move |column: &mut Values, interner: &mut Interner| {
            append(column, interner, validity.map(Validity))
        });
        let (rows, bytes) = (values.len(), size_of_val(values));
        self.add(Staged { name, column_type, rows, validity, bytes, append })
    }

    pub(super) fn add(&mut self, column: Staged<'a>) -> &mut Self {
        self.staged.push(column);
        self
    }

    /// The last column takes that many bytes more than its values are in memory.
    pub(super) fn weighs(&mut self, bytes: usize) -> &mut Self {
        if let Some(column) = self.staged.last_mut() {
            column.bytes += bytes;
        }
        self
    }
}

impl std::fmt::Debug for Columns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns: Vec<&str> = self.staged.iter().map(|column| column.name).collect();
        f.debug_struct("Columns")
            .field("table", &self.table)
            .field("columns", &columns)
            .finish_non_exhaustive()
    }
}

impl Sender {
    /// Starts a batch of rows that is put together column by column. Nothing of it counts before its
    /// end: [`Columns::at_nanos`], [`Columns::at_micros`] or [`Columns::at_now`].
    pub fn columns<'a>(&'a mut self, table: &'a str) -> Columns<'a> {
        Columns::start(self, table)
    }

    fn add_columns(
        &mut self,
        table: &str,
        staged: &[Staged<'_>],
        rows: usize,
        times: Option<(&[i64], bool)>,
    ) -> Result<Option<Fsn>> {
        let weight = staged.iter().map(|column| column.bytes).sum::<usize>() + rows * size_of::<i64>();
        self.buffer.take_back_leaked_row();
        let tables = self.buffer.tables.len();
        let symbols = self.buffer.symbols.len();
        let number = self.buffer.table(table)?;
        let added = self
            .check_rows(number, rows, weight)
            .and_then(|()| staged.iter().try_for_each(|column| self.add_column(number, column)))
            .and_then(|()| match self.buffer.tables.get_mut(number) {
                Some(table) => table.finish_rows(rows, times),
                None => Err(Error::new(ErrorKind::Bug, "a batch without a table")),
            });
        if let Err(e) = added {
            if let Some(table) = self.buffer.tables.get_mut(number) {
                table.take_back();
            }
            self.buffer.take_back_tables(tables);
            if self.buffer.symbols.len() > symbols {
                self.buffer.forget_symbols(symbols);
            }
            return Err(e);
        }
        self.rows_finished(rows, weight)
    }

    fn add_column(&mut self, table: usize, staged: &Staged<'_>) -> Result<()> {
        let buffer = &mut self.buffer;
        let settled = match is_decimal(staged.column_type) {
            true => buffer.tables.get(table).and_then(|table| buffer.scale(table.name(), staged.name)),
            false => None,
        };
        let number = buffer.column(table, staged.name, staged.column_type)?;
        let Some(table) = buffer.tables.get_mut(table) else {
            return Err(Error::new(ErrorKind::Bug, "a batch without a table"));
        };
        let rows = table.rows;
        let here = |e: Error| e.with("column", staged.name);
        let Some(column) = table.columns.get_mut(number) else {
            return Err(here(Error::new(ErrorKind::Bug, "a column without a place")));
        };
        if column.covered > rows {
            return Err(here(Error::new(ErrorKind::InvalidCall, "column given twice in a batch")));
        }
        column.cover(rows);
        if let Values::Decimal(decimals) = &mut column.values
            && decimals.scale.is_none()
            && let Some(scale) = settled
        {
            decimals.scale = Some(scale);
            decimals.scale_is_settled = true;
        }
        let appended = (staged.append)(&mut column.values, &mut buffer.symbols);
        // Before anything else, so that whatever was appended can be taken back.
        column.append_rows(staged.rows, staged.validity.map(Validity));
        match appended {
            Ok(true) => Ok(()),
            Ok(false) => Err(here(wrong_type(column, staged.column_type))),
            Err(e) => Err(here(e)),
        }
    }
}

fn check_lengths(staged: &[Staged<'_>], rows: usize) -> Result<()> {
    for column in staged {
        let fault = |what: &'static str, has: usize| {
            Err(Error::new(ErrorKind::InvalidCall, what)
                .with("column", column.name)
                .with("has", has)
                .because(format!("the batch has {rows} rows")))
        };
        // A column whose offsets are wrong says so when it is added.
        if column.rows != rows && !(column.rows == 0 && column.column_type == ColumnType::Varchar) {
            return fault("columns of unequal length", column.rows);
        }
        if let Some(validity) = column.validity
            && validity.len() < rows.div_ceil(8)
        {
            return fault("validity too short", validity.len() * 8);
        }
    }
    Ok(())
}

fn check_times(times: &[i64], nanos: bool) -> Result<()> {
    let time = |value: i64| match nanos {
        true => Timestamp::from(TimestampNanos::new(value)),
        false => Timestamp::from(TimestampMicros::new(value)),
    };
    if Timestamp::are_surely_designated(times, nanos) {
        return Ok(());
    }
    match times.iter().enumerate().find(|(_, value)| time(**value).check_designated().is_err()) {
        None => Ok(()),
        Some((row, value)) => time(*value).check_designated().map_err(|e| e.with("row", row)),
    }
}

#[cold]
fn wrong_type(column: &Column, wanted: ColumnType) -> Error {
    Error::new(ErrorKind::InvalidCall, "column of another type")
        .because(format!("it is {} in the pending rows, not {wanted}", column.values.column_type()))
}

#[cold]
pub(super) fn at_row(row: usize, what: &'static str, why: &'static str) -> Error {
    Error::new(ErrorKind::InvalidValue, what).with("row", row).because(why)
}
