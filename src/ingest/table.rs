//! The rows of one table that wait for a flush.

use super::bitmap::Bitmap;
use super::column::{Column, Values};
use super::lookup::{self, Lookup};
use super::names::{self, Key, NameOf};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Timestamp;
use crate::wire::types::ColumnType;

/// Columns of a table in one batch, the designated timestamp included (LIM-02).
pub(crate) const MAX_COLUMNS: usize = 2048;

/// Places for the guess of a column by its name, at least.
const SPELLED_PER_COLUMN: usize = 4;

/// A table and its pending rows. Columns stay when the rows are flushed, so that the next batch
/// allocates nothing.
#[derive(Debug)]
pub(crate) struct Table {
    key: Key,
    pub(crate) columns: Vec<Column>,
    by_name: Lookup,
    /// Numbers of columns by their name to the letter, one a place: a power of two of places.
    /// A guess, which is checked.
    spelled: Box<[u32]>,
    hash_seed: u64,
    /// Finished rows.
    pub(crate) rows: usize,
    /// The first of them that is not yet in the store: more than 0 only after a flush that failed
    /// between two commit groups.
    pub(crate) first_pending: usize,
    pub(crate) designated: Designated,
}

/// The designated timestamps: of one resolution in a batch, NULL for "at now".
#[derive(Debug, Default)]
pub(crate) struct Designated {
    /// Nanoseconds instead of microseconds. Counts once there is a value.
    pub(crate) nanos: bool,
    pub(crate) values: Vec<i64>,
    /// 1 where the server sets the time.
    pub(crate) nulls: Bitmap,
}

impl Designated {
    /// Values that stand before row `row`.
    pub(crate) fn values_before(&self, row: usize) -> usize {
        row - self.nulls.ones_before(row)
    }
}

/// What a name check needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRules {
    pub(crate) max_bytes: usize,
    pub(crate) allow_timestamp: bool,
}

impl Table {
    pub(crate) fn new(name: &str, hash_seed: u64) -> Table {
        Table {
            key: Key::new(name),
            columns: Vec::new(),
            by_name: Lookup::default(),
            spelled: Box::default(),
            hash_seed,
            rows: 0,
            first_pending: 0,
            designated: Designated::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.key.name()
    }

    /// Whether `name` is its name, to the letter.
    #[inline(always)]
    pub(crate) fn is(&self, name: &str) -> bool {
        self.key.is(name)
    }

    /// Rows that no flush has stored yet.
    pub(crate) fn pending(&self) -> usize {
        self.rows - self.first_pending
    }

    /// The place of a column, which is made if there is none of that name.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2048 columns")]
    pub(crate) fn column(&mut self, name: &str, column_type: ColumnType, rules: NameRules) -> Result<usize> {
        let spelled = self.spelled_place(name);
        let guess = self.spelled.get(spelled).copied().unwrap_or(u32::MAX) as usize;
        if let Some(column) = self.columns.get_mut(guess)
            && column.is(name)
        {
            column.take_type(column_type);
            return Ok(guess);
        }
        let number = self.named_column(name, column_type, rules)?;
        if self.spelled.len() < self.columns.len() * SPELLED_PER_COLUMN {
            let places = (self.columns.len() * SPELLED_PER_COLUMN).next_power_of_two();
            self.spelled = vec![u32::MAX; places].into_boxed_slice();
        }
        let spelled = self.spelled_place(name);
        if let Some(place) = self.spelled.get_mut(spelled) {
            *place = number as u32;
        }
        Ok(number)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the upper bits of a hash are not needed")]
    fn spelled_place(&self, name: &str) -> usize {
        lookup::hash(self.hash_seed, name.as_bytes()) as usize & self.spelled.len().wrapping_sub(1)
    }

    /// The place of a column by the server's rule for names.
    fn named_column(&mut self, name: &str, column_type: ColumnType, rules: NameRules) -> Result<usize> {
        let hash = lookup::hash_name(self.hash_seed, name);
        let columns = &self.columns;
        let same = |number: u32| {
            columns
                .get(number as usize)
                .is_some_and(|column| column.is(name) || names::same(column.name(), name))
        };
        if let Some(number) = self.by_name.find(hash, same) {
            if let Some(column) = self.columns.get_mut(number as usize) {
                column.take_type(column_type);
            }
            return Ok(number as usize);
        }
        self.check_new_column(name, rules)?;
        let values = Values::new(column_type).ok_or_else(|| {
            Error::new(ErrorKind::InvalidCall, "cannot write a column").with("type", column_type)
        })?;
        let (columns, seed) = (&self.columns, self.hash_seed);
        self.by_name.push(hash, |number| {
            columns.get(number as usize).map_or(0, |column| lookup::hash_name(seed, column.name()))
        });
        self.columns.push(Column::new(name, values, self.rows));
        Ok(self.columns.len() - 1)
    }

    fn check_new_column(&self, name: &str, rules: NameRules) -> Result<()> {
        let here = |e: Error| e.with("table", self.key.name());
        names::check(NameOf::Column, name, rules.max_bytes).map_err(here)?;
        if !rules.allow_timestamp && names::same(name, "timestamp") {
            return Err(here(Error::new(ErrorKind::InvalidValue, "invalid column name").with("", format!("{name:?}")).because(
                "a table that is made by this row would get two columns of that name and break for good; the designated \
                 timestamp is set by `at`, and allow_timestamp_column=on permits the name where the designated column has another",
            )));
        }
        if self.columns.len() >= MAX_COLUMNS && self.columns.iter().all(Column::is_set) {
            return Err(self.too_many_columns());
        }
        Ok(())
    }

    #[cold]
    fn too_many_columns(&self) -> Error {
        Error::new(ErrorKind::TooLarge, "too many columns").with("table", self.key.name()).because(
            "between two flushes a table has at most 2048 columns, the designated timestamp included",
        )
    }

    /// Whether the column's values have set its scale.
    pub(crate) fn knows_scale(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(
            |column| matches!(&column.values, Values::Decimal(decimals) if decimals.scale.is_some()),
        )
    }

    /// Whether the next flush would name more columns than a frame may have. Columns of earlier
    /// batches do not count.
    #[inline(always)]
    fn is_too_wide(&self) -> bool {
        self.columns.len() >= MAX_COLUMNS
            && self.columns.iter().filter(|column| column.is_set()).count() >= MAX_COLUMNS
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2048 columns")]
    fn number_columns(&mut self) {
        self.by_name = Lookup::default();
        for at in 0..self.columns.len() {
            let hash_of = |number: u32| {
                self.columns
                    .get(number as usize)
                    .map_or(0, |column| lookup::hash_name(self.hash_seed, column.name()))
            };
            self.by_name.push(hash_of(at as u32), hash_of);
        }
    }

    /// Takes back what the unfinished row set, and the columns that only it brought.
    pub(crate) fn take_back(&mut self) {
        while let Some(column) = self.columns.pop_if(|column| column.is_brought_by(self.rows)) {
            self.by_name.pop(lookup::hash_name(self.hash_seed, column.name()));
        }
        for column in &mut self.columns {
            column.take_back(self.rows);
        }
    }

    /// Ends the row at the designated time, or at the server's where there is none.
    #[inline]
    pub(crate) fn finish_row(&mut self, at: Option<Timestamp>) -> Result<()> {
        if self.is_too_wide() {
            return Err(self.too_many_columns());
        }
        let designated = &mut self.designated;
        match at {
            None => {
                designated.nulls.extend_to(self.rows);
                designated.nulls.push(true);
            }
            Some(time) => {
                let (value, nanos) = match time {
                    Timestamp::Micros(value) => (value, false),
                    Timestamp::Nanos(value) => (value, true),
                };
                if nanos != designated.nanos {
                    if !designated.values.is_empty() {
                        return Err(self.two_resolutions());
                    }
                    designated.nanos = nanos;
                }
                designated.values.push(value);
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends rows of which every column was given.
    pub(crate) fn finish_rows(&mut self, rows: usize, times: Option<(&[i64], bool)>) -> Result<()> {
        if self.is_too_wide() {
            return Err(self.too_many_columns());
        }
        let designated = &mut self.designated;
        match times {
            None => {
                designated.nulls.extend_to(self.rows);
                designated.nulls.extend_ones_to(self.rows + rows);
            }
            Some((times, nanos)) => {
                if nanos != designated.nanos && !designated.values.is_empty() {
                    return Err(self.two_resolutions());
                }
                designated.nanos = nanos;
                designated.values.extend_from_slice(times);
            }
        }
        self.rows += rows;
        Ok(())
    }

    /// Makes the last row an unfinished one again.
    #[cold]
    pub(crate) fn reopen_row(&mut self) {
        self.rows = self.rows.saturating_sub(1);
        if self.designated.nulls.get(self.rows) {
            self.designated.nulls.truncate(self.rows);
        } else {
            self.designated.values.pop();
        }
    }

    #[cold]
    fn two_resolutions(&self) -> Error {
        Error::new(ErrorKind::InvalidCall, "designated timestamps of two resolutions")
            .with("table", self.key.name())
            .because("the rows of a table between two flushes are all in microseconds or all in nanoseconds")
    }

    /// Fills every column up to the last row.
    pub(crate) fn seal(&mut self) {
        for column in &mut self.columns {
            if column.is_set() {
                column.cover(self.rows);
            }
        }
        self.designated.nulls.extend_to(self.rows);
    }

    /// Forgets the rows.
    pub(crate) fn clear(&mut self) {
        if self.rows == 0 {
            return;
        }
        if self.columns.len() >= MAX_COLUMNS {
            self.columns.retain(Column::is_set);
            self.number_columns();
        }
        for column in &mut self.columns {
            column.clear();
        }
        self.designated.values.clear();
        self.designated.nulls.clear();
        self.rows = 0;
        self.first_pending = 0;
    }
}
