//! Everything that waits for a flush: tables, the symbol dictionary, and what the rows weigh.

use super::column::{Column, Values};
use super::interner::Interner;
use super::lookup::{self, Lookup};
use super::names::{self, NameOf};
use super::table::{NameRules, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::types::ColumnType;
use std::collections::HashMap;

/// Tables without pending rows that are kept for the next batch.
const MAX_IDLE_TABLES: usize = 1024;

/// No row is being built.
pub(crate) const NO_ROW: usize = usize::MAX;

/// Pending rows.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) tables: Vec<Table>,
    by_name: Lookup,
    /// The table of the last row.
    last: usize,
    /// The table of the row that is being built, [`NO_ROW`] without one. A row that was leaked
    /// (`mem::forget`) stays here until somebody looks.
    pub(crate) open_row: usize,
    pub(crate) symbols: Interner,
    /// Finished rows of all tables that are not yet in the store.
    pub(crate) rows: usize,
    /// What they weigh: about what they take on the wire.
    pub(crate) bytes: usize,
    pub(crate) rules: NameRules,
    sizes: Sizes,
    hash_seed: u64,
    /// Memory for a value that is put together; empty between two cells.
    pub(crate) scratch: Vec<u8>,
    /// Scales of decimal columns, by folded names: they outlive the table's place here (FLUSH-22).
    scales: HashMap<(String, String), u8>,
}

/// How large it starts and may grow (FLUSH-17).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// What is left of `init_buf_size` for the columns to come.
    pub(crate) first_bytes: usize,
    /// `max_buf_size`
    pub(crate) max_bytes: usize,
}

impl Buffer {
    pub(crate) fn new(symbols: Interner, rules: NameRules, sizes: Sizes, hash_seed: u64) -> Buffer {
        Buffer {
            tables: Vec::new(),
            by_name: Lookup::default(),
            last: 0,
            open_row: NO_ROW,
            symbols,
            rows: 0,
            bytes: 0,
            rules,
            sizes,
            hash_seed,
            scratch: Vec::new(),
            scales: HashMap::new(),
        }
    }

    /// `max_buf_size`
    #[inline]
    pub(crate) fn max_bytes(&self) -> usize {
        self.sizes.max_bytes
    }

    /// The place of a column of a table, which is made if there is none of that name. A new one begins
    /// with a share of what is left of `init_buf_size` (FLUSH-17).
    pub(crate) fn column(&mut self, table: usize, name: &str, column_type: ColumnType) -> Result<usize> {
        const SHARES: usize = 8;
        let Some(table) = self.tables.get_mut(table) else {
            return Err(Error::new(ErrorKind::Bug, "a column without a table"));
        };
        let columns = table.columns.len();
        let at = table.column(name, column_type, self.rules)?;
        if table.columns.len() > columns
            && let Some(column) = table.columns.get_mut(at)
        {
            let share = self.sizes.first_bytes / SHARES;
            self.sizes.first_bytes -= share;
            column.values.reserve(share);
        }
        Ok(at)
    }

    /// The place of a table, which is made if there is none of that name.
    #[inline]
    pub(crate) fn table(&mut self, name: &str) -> Result<usize> {
        if self.tables.get(self.last).is_some_and(|table| table.is(name)) {
            return Ok(self.last);
        }
        self.other_table(name)
    }

    fn other_table(&mut self, name: &str) -> Result<usize> {
        let hash = lookup::hash_name(self.hash_seed, name);
        let tables = &self.tables;
        // A server takes `T` and `t` for one table; so do we, that its rows stay in order.
        let same = |number: u32| {
            tables.get(number as usize).is_some_and(|table| table.is(name) || names::same(table.name(), name))
        };
        if let Some(number) = self.by_name.find(hash, same) {
            self.last = number as usize;
            return Ok(self.last);
        }
        names::check(NameOf::Table, name, self.rules.max_bytes)?;
        let (tables, seed) = (&self.tables, self.hash_seed);
        self.by_name.push(hash, |number| {
            tables.get(number as usize).map_or(0, |table| lookup::hash_name(seed, table.name()))
        });
        self.tables.push(Table::new(name, self.hash_seed));
        self.last = self.tables.len() - 1;
        Ok(self.last)
    }

    /// The column that a row expects next, if it has this name and the row has not set it, filled up
    /// to this row.
    #[inline(always)]
    pub(crate) fn next_column(&mut self, table: usize, next: usize, name: &str) -> Option<&mut Column> {
        let table = self.tables.get_mut(table)?;
        let column = table.columns.get_mut(next)?;
        if !column.is(name) {
            return None;
        }
        if column.covered != table.rows {
            if column.covered > table.rows {
                return None;
            }
            column.cover(table.rows);
        }
        Some(column)
    }

    /// Takes back the cells of a row that was leaked before its end (FLUSH-08).
    #[inline]
    pub(crate) fn take_back_leaked_row(&mut self) {
        if self.open_row != NO_ROW {
            self.take_back_open_row();
        }
    }

    #[cold]
    pub(crate) fn take_back_open_row(&mut self) {
        if let Some(table) = self.tables.get_mut(self.open_row) {
            table.take_back();
        }
        self.open_row = NO_ROW;
    }

    /// Takes back a table that only an unfinished row brought.
    pub(crate) fn take_back_tables(&mut self, tables_before: usize) {
        while self.tables.len() > tables_before {
            if let Some(table) = self.tables.pop() {
                self.by_name.pop(lookup::hash_name(self.hash_seed, table.name()));
            }
        }
        self.last = self.last.min(self.tables.len().saturating_sub(1));
    }

    /// Takes back symbol ids that only an unfinished row brought.
    #[cold]
    pub(crate) fn forget_symbols(&mut self, len: u32) {
        self.symbols.truncate(len);
        for column in self.tables.iter_mut().flat_map(|table| &mut table.columns) {
            if let Values::Symbol(symbols) = &mut column.values {
                symbols.forget();
            }
        }
    }

    /// The scale that a decimal column has for good, if it has one.
    pub(crate) fn scale(&self, table: &str, column: &str) -> Option<u8> {
        if self.scales.is_empty() {
            return None;
        }
        self.scales.get(&(names::folded(table), names::folded(column))).copied()
    }

    /// Fills all columns up to their table's last row, and settles the scales of decimal columns.
    pub(crate) fn seal(&mut self) {
        self.take_back_leaked_row();
        let mut settled = Vec::new();
        for table in self.tables.iter_mut().filter(|table| table.pending() > 0) {
            table.seal();
            let name = table.name().to_owned();
            for column in &mut table.columns {
                if let Values::Decimal(decimals) = &mut column.values
                    && let Some(scale) = decimals.scale
                    && !decimals.scale_is_settled
                {
                    decimals.scale_is_settled = true;
                    settled.push(((names::folded(&name), names::folded(column.name())), scale));
                }
            }
        }
        self.scales.extend(settled);
    }

    /// Settles the scale of a decimal column before its first value, or as that has set it.
    pub(crate) fn declare_scale(&mut self, table: &str, column: &str, scale: u8) -> Result<()> {
        names::check(NameOf::Table, table, self.rules.max_bytes)?;
        names::check(NameOf::Column, column, self.rules.max_bytes)?;
        let pending = self.tables.iter().filter(|found| names::same(found.name(), table)).find_map(|found| {
            let found = found.columns.iter().find(|found| names::same(found.name(), column))?;
            match &found.values {
                Values::Decimal(decimals) => decimals.scale,
                _ => None,
            }
        });
        if let Some(pending) = pending {
            self.settle_scale(table, column, pending)?;
        }
        self.settle_scale(table, column, scale)
    }

    /// Settles the scale of a decimal column.
    fn settle_scale(&mut self, table: &str, column: &str, scale: u8) -> Result<()> {
        let key = (names::folded(table), names::folded(column));
        match self.scales.insert(key.clone(), scale) {
            Some(before) if before != scale => {
                self.scales.insert(key, before);
                Err(Error::new(ErrorKind::InvalidCall, "cannot change the scale of a decimal column")
                    .with("table", table)
                    .with("column", column)
                    .because(format!("it is {before} for this sender's life")))
            }
            _ => Ok(()),
        }
    }

    /// Forgets all pending rows, and tables that were not used for a while if there are many.
    pub(crate) fn clear(&mut self) {
        self.take_back_leaked_row();
        if self.tables.len() > MAX_IDLE_TABLES {
            self.tables.clear();
            self.by_name = Lookup::default();
            self.last = 0;
        }
        for table in &mut self.tables {
            table.clear();
        }
        self.rows = 0;
        self.bytes = 0;
    }
}
