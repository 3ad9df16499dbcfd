//! The tables, in memory, and what writing to them does (wire.md 4.2, 4.5, 4.8).

use std::collections::HashMap;
use std::sync::Arc;

use super::Limits;
use super::convert;
use super::input::{INTERNAL_ERROR, Refusal, SCHEMA_MISMATCH, WRITE_ERROR, refusal};
use super::message::Block;
use super::value::{Type, Value};

/// Every table by its name without regard to case.
#[derive(Default)]
pub struct Catalog {
    tables: HashMap<String, Table>,
    /// Names by id, of tables that are still there.
    names: HashMap<u64, String>,
    made: u64,
    /// Why the server process has ended (wire.md 4.5: one day of a nanosecond table does that).
    pub crashed: bool,
}

/// A table; it lives on under its id only as long as nobody drops it.
pub struct Table {
    pub id: u64,
    pub name: String,
    pub columns: Vec<Column>,
    pub designated: Option<usize>,
    pub wal: bool,
    /// What every attempt to read says, after a creation with one name twice.
    pub broken: Option<String>,
    pub rows: usize,
    /// Transactions of the sequencer so far, changes of the columns included.
    pub txn: i64,
}

/// A column with one value a row.
#[derive(Clone)]
pub struct Column {
    pub name: String,
    pub ty: Type,
    pub values: Vec<Value>,
}

/// Rows that were accepted and not committed yet.
pub struct Staged {
    pub table: u64,
    pub rows: usize,
    columns: Vec<(usize, Vec<Value>)>,
}

/// A row read back: names and values in the order of the table's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub names: Arc<Vec<String>>,
    pub values: Vec<Value>,
}

impl Row {
    /// The value of a column, without regard to case; panics if there is none.
    pub fn get(&self, name: &str) -> &Value {
        let index = self.names.iter().position(|n| fold(n) == fold(name));
        let index = index.unwrap_or_else(|| panic!("no column {name} among {:?}", self.names));
        &self.values[index]
    }
}

impl Catalog {
    pub fn get(&self, name: &str) -> Option<&Table> {
        self.tables.get(&fold(name))
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Table> {
        self.tables.get_mut(&fold(name))
    }

    pub fn by_id(&mut self, id: u64) -> Option<&mut Table> {
        self.tables.get_mut(self.names.get(&id)?)
    }

    pub fn drop_table(&mut self, name: &str) -> bool {
        let gone = self.tables.remove(&fold(name));
        gone.is_some_and(|table| self.names.remove(&table.id).is_some())
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tables.values().map(|t| t.name.clone()).collect();
        names.sort();
        names
    }

    /// Makes an empty table, in place of one of that name.
    pub fn create(
        &mut self,
        name: &str,
        columns: Vec<(String, Type)>,
        designated: Option<usize>,
    ) -> &mut Table {
        self.drop_table(name);
        self.made += 1;
        self.names.insert(self.made, fold(name));
        let broken = duplicate(&columns).map(|(at, name)| {
            format!("[-100]: Invalid metadata at fd=1. Duplicate column [name={name}] at {at}")
        });
        let columns = columns.into_iter().map(|(name, ty)| Column { name, ty, values: Vec::new() }).collect();
        let table = Table {
            id: self.made,
            name: name.to_owned(),
            columns,
            designated,
            wal: true,
            broken,
            rows: 0,
            txn: 0,
        };
        self.tables.insert(fold(name), table);
        self.get_mut(name).expect("just put there")
    }

    /// All committed rows in the order in which they were committed.
    pub fn rows(&self, name: &str) -> Vec<Row> {
        let Some(table) = self.get(name) else { return Vec::new() };
        let names = Arc::new(table.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>());
        let row = |i: usize| Row {
            names: names.clone(),
            values: table.columns.iter().map(|c| c.values[i].clone()).collect(),
        };
        (0..table.rows).map(row).collect()
    }

    /// Accepts the rows of a block for a table, which it may create or give new columns.
    pub fn stage(&mut self, block: &Block, limits: &Limits, now_micros: i64) -> Result<Staged, Refusal> {
        if self.get(&block.table).is_none() {
            self.create_for(block, limits)?;
        }
        let table = self.get_mut(&block.table).expect("there, or just made");
        if !table.wal || table.designated.is_none() {
            return Err(refusal(
                SCHEMA_MISMATCH,
                format!("cannot insert into non-WAL table: {}", table.name),
            ));
        }
        let staged = table.stage(block, limits, now_micros)?;
        if table.last_day(&staged) {
            self.crashed = true;
        }
        Ok(staged)
    }

    fn create_for(&mut self, block: &Block, limits: &Limits) -> Result<(), Refusal> {
        let mut columns = Vec::new();
        let mut designated = Vec::new();
        let mut valid = limits.new_columns && table_name_ok(&block.table);
        for (name, decoded) in &block.columns {
            let instant = matches!(decoded.ty, Type::Timestamp | Type::TimestampNanos);
            if name.is_empty() {
                valid &= instant;
                designated.push(decoded.ty);
            } else {
                valid &= column_name_ok(name);
                if decoded.ty != Type::DoubleArray(0) && !matches!(decoded.ty, Type::LongArray(_)) {
                    columns.push((name.clone(), decoded.ty));
                }
            }
        }
        if !valid || designated.len() > 1 {
            let text = format!("failed to create table update details for: {}", block.table);
            return Err(refusal(INTERNAL_ERROR, text));
        }
        columns.push(("timestamp".into(), designated.pop().unwrap_or(Type::Timestamp)));
        let last = columns.len() - 1;
        self.create(&block.table, columns, Some(last));
        Ok(())
    }
}

impl Table {
    pub fn column(&self, name: &str) -> Option<usize> {
        let name = fold(name);
        self.columns.iter().position(|c| fold(&c.name) == name)
    }

    /// Adds a column; rows that are there have nothing in it.
    pub fn add_column(&mut self, name: &str, ty: Type) -> usize {
        self.columns.push(Column { name: name.to_owned(), ty, values: vec![ty.absent(); self.rows] });
        self.txn += 1;
        self.columns.len() - 1
    }

    /// Makes staged rows visible.
    pub fn commit(&mut self, staged: Staged) {
        let mut columns = staged.columns;
        for (index, column) in self.columns.iter_mut().enumerate() {
            match columns.iter_mut().find(|(i, _)| *i == index) {
                Some((_, values)) => column.values.append(values),
                None => column.values.extend(std::iter::repeat_n(column.ty.absent(), staged.rows)),
            }
        }
        self.rows += staged.rows;
    }

    fn stage(&mut self, block: &Block, limits: &Limits, now_micros: i64) -> Result<Staged, Refusal> {
        let mut staged = Staged { table: self.id, rows: block.rows, columns: Vec::new() };
        let designated = self.designated.expect("checked by the caller");
        for (name, decoded) in &block.columns {
            let Some(index) = self.target(name, decoded.ty, limits)? else { continue };
            if let Some(late) = &decoded.late {
                return Err(late.clone());
            }
            if staged.columns.iter().any(|(i, _)| *i == index) {
                continue;
            }
            let own = self.columns[index].ty;
            let values = if index == designated {
                self.designate(name, decoded.ty, &decoded.values, now_micros)?
            } else {
                convert::convert(&decoded.values, decoded.ty, own, name)?
            };
            if let (Type::DoubleArray(0), Type::DoubleArray(dims)) = (own, decoded.ty) {
                self.columns[index].ty = Type::DoubleArray(dims);
            }
            staged.columns.push((index, values));
        }
        if !staged.columns.iter().any(|(i, _)| *i == designated) {
            let now = now(self.columns[designated].ty, now_micros);
            staged.columns.push((designated, vec![now; block.rows]));
        }
        Ok(staged)
    }

    /// Where a block's column goes: `None` for one that says nothing about a column not there.
    fn target(&mut self, name: &str, ty: Type, limits: &Limits) -> Result<Option<usize>, Refusal> {
        if name.is_empty() && matches!(ty, Type::Timestamp | Type::TimestampNanos) {
            return Ok(self.designated);
        }
        if let Some(index) = self.column(name) {
            return Ok(Some(index));
        }
        if !column_name_ok(name) {
            let what = format!("[table={}, column={name}]", self.name);
            return Err(refusal(SCHEMA_MISMATCH, format!("invalid column name {what}")));
        }
        match ty {
            Type::DoubleArray(0) => return Ok(None),
            Type::LongArray(_) => {
                let text = "long arrays are not supported, only double arrays";
                return Err(refusal(SCHEMA_MISMATCH, text));
            }
            _ => {}
        }
        if !limits.new_columns {
            let what = format!("[table={}, column={name}]", self.name);
            return Err(refusal(SCHEMA_MISMATCH, format!("new columns not allowed {what}")));
        }
        Ok(Some(self.add_column(name, ty)))
    }

    /// Values for the designated column, NULL by bitmap being the server's clock.
    fn designate(
        &self,
        name: &str,
        from: Type,
        values: &[Value],
        now_micros: i64,
    ) -> Result<Vec<Value>, Refusal> {
        let own = self.columns[self.designated.expect("checked by the caller")].ty;
        let nanos = own == Type::TimestampNanos;
        let mut out = Vec::with_capacity(values.len());
        for value in values {
            let stored = match (value, from) {
                (Value::Null, _) => now(own, now_micros),
                (Value::Timestamp(n), _) if nanos => {
                    in_range(*n, false)?;
                    Value::TimestampNanos(in_range(convert::nanos(*n)?, true)?)
                }
                (Value::TimestampNanos(n), _) if !nanos => Value::Timestamp(in_range(n / 1000, false)?),
                (Value::Timestamp(n) | Value::TimestampNanos(n) | Value::Long(n) | Value::Date(n), _) => {
                    let n = in_range(*n, nanos)?;
                    if nanos { Value::TimestampNanos(n) } else { Value::Timestamp(n) }
                }
                _ => {
                    let text =
                        format!("cannot write {} to designated timestamp [column={name}]", from.name());
                    return Err(refusal(INTERNAL_ERROR, text));
                }
            };
            out.push(stored);
        }
        Ok(out)
    }

    /// Whether a row falls on 2262-04-11 in a column of nanoseconds.
    fn last_day(&self, staged: &Staged) -> bool {
        const LAST_DAY: i64 = 106_751 * 86_400_000_000_000;
        let own = staged.columns.iter().find(|(i, _)| Some(*i) == self.designated);
        own.is_some_and(|(_, v)| v.iter().any(|v| matches!(v, Value::TimestampNanos(n) if *n >= LAST_DAY)))
    }
}

fn now(ty: Type, micros: i64) -> Value {
    match ty {
        Type::TimestampNanos => Value::TimestampNanos(micros.saturating_mul(1000)),
        _ => Value::Timestamp(micros),
    }
}

fn in_range(n: i64, nanos: bool) -> Result<i64, Refusal> {
    const LAST_MICROS: i64 = 253_402_300_799_999_999;
    let text = match n {
        i64::MIN => "designated timestamp column cannot be NULL",
        _ if n < 0 && nanos => {
            "designated timestamp_ns before 1970-01-01 and beyond 2261-12-31 23:59:59.999999999 is not allowed"
        }
        _ if n < 0 => "designated timestamp before 1970-01-01 is not allowed",
        _ if !nanos && n > LAST_MICROS => "designated timestamp beyond 9999-12-31 is not allowed",
        _ => return Ok(n),
    };
    Err(refusal(WRITE_ERROR, text))
}

fn duplicate(columns: &[(String, Type)]) -> Option<(usize, String)> {
    let folded: Vec<String> = columns.iter().map(|(n, _)| fold(n)).collect();
    let at = (0..folded.len()).find(|i| folded[..*i].contains(&folded[*i]))?;
    Some((at, columns[at].0.clone()))
}

/// A name as the server compares it: the lower case of each UTF-16 unit by itself.
pub fn fold(name: &str) -> String {
    name.chars()
        .map(|c| match c.len_utf16() {
            1 => c.to_lowercase().next().unwrap_or(c),
            _ => c,
        })
        .collect()
}

fn plain_name(name: &str, also: &str) -> bool {
    let forbidden = "?,'\"\\/:()+*%~\u{feff}";
    !name.is_empty() && !name.chars().any(|c| c.is_control() || forbidden.contains(c) || also.contains(c))
}

pub fn table_name_ok(name: &str) -> bool {
    let dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    plain_name(name, "") && !dots && !name.starts_with(' ') && !name.ends_with(' ')
}

pub fn column_name_ok(name: &str) -> bool {
    plain_name(name, ".-")
}
