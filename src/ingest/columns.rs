//! Many rows at a time, from columns that are columns already.

use super::column::{Column, Validity, Values};
use super::interner::Interner;
use super::sender::Sender;
use super::texts::{Code, Dictionary, Read};
use crate::error::{Error, ErrorKind, Result};
use crate::store::Fsn;
use crate::value::{Date, Timestamp, TimestampMicros, TimestampNanos, Uuid};
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
    name: &'a str,
    column_type: ColumnType,
    rows: usize,
    validity: Option<&'a [u8]>,
    /// Bytes that it takes, about.
    bytes: usize,
    /// Appends the values of the rows that have one, or says that the column is of another type.
    append: Box<Append<'a>>,
}

macro_rules! plain_columns {
    ($($(#[$doc:meta])* $setter:ident: $value:ty => $kind:ident, $convert:expr;)*) => {$(
        $(#[$doc])*
        pub fn $setter(&mut self, name: &'a str, values: impl ColumnValues<'a, $value>) -> &mut Self {
            let (values, validity) = values.parts();
            self.stage(name, ColumnType::$kind, values, validity, move |column, row_values| match column {
                Values::$kind(column) => {
                    match row_values {
                        None => column.extend(values.iter().map($convert)),
                        Some(valid) => column.extend(valid.iter(values).map($convert)),
                    }
                    true
                }
                _ => false,
            })
        }
    )*};
}

/// A type without NULL takes a value for every row, 0 for NULL.
macro_rules! dense_columns {
    ($($(#[$doc:meta])* $setter:ident: $value:ty => $kind:ident;)*) => {$(
        $(#[$doc])*
        pub fn $setter(&mut self, name: &'a str, values: impl ColumnValues<'a, $value>) -> &mut Self {
            let (values, validity) = values.parts();
            self.stage(name, ColumnType::$kind, values, validity, move |column, row_values| match column {
                Values::$kind(column) => {
                    match row_values {
                        None => column.extend(values),
                        Some(valid) => column.extend(valid.or_default(values)),
                    }
                    true
                }
                _ => false,
            })
        }
    )*};
}

impl<'a> Columns<'a> {
    pub(crate) fn start(sender: &'a mut Sender, table: &'a str) -> Columns<'a> {
        Columns { sender, table, staged: Vec::new() }
    }

    plain_columns! {
        /// Adds an INT column. The minimum of the type reads back as NULL.
        column_i32: i32 => Int, |value| *value;
        /// Adds a LONG column. The minimum of the type reads back as NULL.
        column_i64: i64 => Long, |value| *value;
        /// Adds a FLOAT column. Any NaN reads back as NULL.
        column_f32: f32 => Float, |value| *value;
        /// Adds a DOUBLE column. Any NaN reads back as NULL.
        column_f64: f64 => Double, |value| *value;
        /// Adds a DATE column.
        column_date: Date => Date, |value: &Date| value.as_i64();
        /// Adds a TIMESTAMP column: microseconds. Not the designated one.
        column_ts_micros: i64 => Timestamp, |value| *value;
        /// Adds a TIMESTAMP_NS column: nanoseconds. Not the designated one.
        column_ts_nanos: i64 => TimestampNanos, |value| *value;
        /// Adds a UUID column.
        column_uuid: Uuid => Uuid, |value: &Uuid| [value.low(), value.high()];
    }

    dense_columns! {
        /// Adds a BYTE column. The type has no NULL: it is stored as 0.
        column_i8: i8 => Byte;
        /// Adds a SHORT column. The type has no NULL: it is stored as 0.
        column_i16: i16 => Short;
    }

    /// Adds a BOOLEAN column. The type has no NULL: it is stored as false.
    pub fn column_bool(&mut self, name: &'a str, values: impl ColumnValues<'a, bool>) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage(name, ColumnType::Boolean, values, validity, move |column, valid| match column {
            Values::Boolean(bits) => {
                for (row, value) in values.iter().enumerate() {
                    bits.push(*value && valid.is_none_or(|valid| valid.0.get(row)));
                }
                true
            }
            _ => false,
        })
    }

    /// Adds a column of unsigned integers as LONG.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a value above the maximum of `i64`.
    pub fn column_u64(&mut self, name: &'a str, values: impl ColumnValues<'a, u64>) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage_checked(name, ColumnType::Long, values, validity, move |column, _, valid| {
            let Values::Long(column) = column else { return Ok(false) };
            for (row, value) in values.iter().enumerate() {
                if valid.is_none_or(|valid| valid.get(row)) {
                    column.push(i64::try_from(*value).map_err(|_| too_large_at(row, *value))?);
                }
            }
            Ok(true)
        })
    }

    /// Adds an IPv4 column.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for `0.0.0.0`, which QuestDB cannot tell from NULL.
    pub fn column_ipv4(
        &mut self,
        name: &'a str,
        values: impl ColumnValues<'a, std::net::Ipv4Addr>,
    ) -> &mut Self {
        let (values, validity) = values.parts();
        self.stage_checked(name, ColumnType::Ipv4, values, validity, move |column, _, valid| {
            let Values::Ipv4(column) = column else { return Ok(false) };
            for (row, value) in values.iter().enumerate() {
                if valid.is_none_or(|valid| valid.get(row)) {
                    if value.is_unspecified() {
                        return Err(at_row(row, "address 0.0.0.0", "QuestDB takes it for NULL"));
                    }
                    column.push(u32::from(*value));
                }
            }
            Ok(true)
        })
    }

    /// Adds a SYMBOL column: a code for each row into a dictionary of texts. Texts that no row uses
    /// are not sent.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a code outside of the dictionary or a text that is not UTF-8;
    /// `DictionaryFull` and `TooLarge` as for [`Row::symbol`](crate::Row::symbol).
    pub fn symbol<C: Code + 'a>(
        &mut self,
        name: &'a str,
        codes: impl ColumnValues<'a, C>,
        dictionary: impl Dictionary<'a>,
    ) -> &mut Self {
        let (codes, validity) = codes.parts();
        let texts = dictionary.texts();
        self.stage_checked(name, ColumnType::Symbol, codes, validity, move |column, interner, valid| {
            let Values::Symbol(symbols) = column else { return Ok(false) };
            let texts = texts.as_ref().map_err(Clone::clone)?;
            let mut ids = Ids { texts: &**texts, interner, by_code: vec![NO_ID; texts.len()] };
            match valid {
                None => {
                    let first = symbols.ids.len();
                    symbols.ids.resize(first + codes.len(), NO_ID);
                    let places = symbols.ids.get_mut(first..).unwrap_or_default();
                    for (row, (place, code)) in places.iter_mut().zip(codes).enumerate() {
                        *place = ids.id(row, *code)?;
                    }
                }
                Some(valid) => {
                    for (row, code) in codes.iter().enumerate().filter(|(row, _)| valid.get(*row)) {
                        symbols.ids.push(ids.id(row, *code)?);
                    }
                }
            }
            Ok(true)
        })
    }

    /// Adds a VARCHAR column.
    ///
    /// # Errors (at the end of the batch)
    ///
    /// `InvalidValue` for a text that is not UTF-8, or offsets that are none.
    pub fn column_str(&mut self, name: &'a str, values: impl Dictionary<'a>) -> &mut Self {
        let (texts, validity) = (values.texts(), values.validity());
        let rows = texts.as_ref().map_or(0, |texts| texts.len());
        let bytes = texts.as_ref().map_or(0, |texts| texts.bytes());
        let append = move |column: &mut Values, _: &mut Interner| {
            let Values::Varchar(blobs) = column else { return Ok(false) };
            let texts = texts.as_ref().map_err(Clone::clone)?;
            for row in 0..texts.len() {
                if validity.is_none_or(|bits| Validity(bits).get(row)) {
                    let text = texts.text(row)?;
                    if !blobs.has_room(text.len()) {
                        return Err(at_row(
                            row,
                            "column is full",
                            "it holds at most 4 GiB between two flushes",
                        ));
                    }
                    blobs.push(text.as_bytes());
                }
            }
            Ok(true)
        };
        let append = Box::new(append);
        self.staged.push(Staged { name, column_type: ColumnType::Varchar, rows, validity, bytes, append });
        self
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

    fn stage<T>(
        &mut self,
        name: &'a str,
        column_type: ColumnType,
        values: &'a [T],
        validity: Option<&'a [u8]>,
        append: impl Fn(&mut Values, Option<Valid<'a>>) -> bool + 'a,
    ) -> &mut Self {
        self.stage_checked(name, column_type, values, validity, move |column, _, valid| {
            Ok(append(column, valid.map(Valid)))
        })
    }

    fn stage_checked<T>(
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
        self.staged.push(Staged { name, column_type, rows, validity, bytes, append });
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

/// Ids of the texts of a dictionary.
struct Ids<'a> {
    texts: &'a dyn Read,
    interner: &'a mut Interner,
    /// Of the texts that a row has used; [`NO_ID`] elsewhere.
    by_code: Vec<u32>,
}

/// Never an id: there are fewer texts than that.
const NO_ID: u32 = u32::MAX;

impl Ids<'_> {
    #[inline(always)]
    fn id<C: Code>(&mut self, row: usize, code: C) -> Result<u32> {
        let code = code.index().unwrap_or(usize::MAX);
        match self.by_code.get(code) {
            Some(&id) if id != NO_ID => Ok(id),
            _ => self.first_use(row, code),
        }
    }

    #[inline(never)]
    fn first_use(&mut self, row: usize, code: usize) -> Result<u32> {
        let Some(place) = self.by_code.get_mut(code) else {
            return Err(at_row(row, "symbol code outside of the dictionary", "codes count from 0"));
        };
        *place = self.interner.id(self.texts.text(code)?)?;
        Ok(*place)
    }
}

/// Which rows have a value.
#[derive(Clone, Copy)]
struct Valid<'a>(Validity<'a>);

impl<'a> Valid<'a> {
    fn iter<T>(self, values: &'a [T]) -> impl Iterator<Item = &'a T> {
        values.iter().enumerate().filter(move |(row, _)| self.0.get(*row)).map(|(_, value)| value)
    }

    fn or_default<T: Copy + Default>(self, values: &'a [T]) -> impl Iterator<Item = T> {
        values.iter().enumerate().map(move |(row, value)| if self.0.get(row) { *value } else { T::default() })
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
        let rules = buffer.rules;
        let Some(table) = buffer.tables.get_mut(table) else {
            return Err(Error::new(ErrorKind::Bug, "a batch without a table"));
        };
        let number = table.column(staged.name, staged.column_type, rules)?;
        let rows = table.rows;
        let here = |e: Error| e.with("column", staged.name);
        let Some(column) = table.columns.get_mut(number) else {
            return Err(here(Error::new(ErrorKind::Bug, "a column without a place")));
        };
        if column.covered > rows {
            return Err(here(Error::new(ErrorKind::InvalidCall, "column given twice in a batch")));
        }
        column.cover(rows);
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

#[cold]
fn too_large_at(row: usize, value: u64) -> Error {
    Error::new(ErrorKind::InvalidValue, "integer too large")
        .with("row", row)
        .with("value", value)
        .because("a LONG holds at most 9223372036854775807")
}
