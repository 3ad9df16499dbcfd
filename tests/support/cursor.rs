//! The rows of a result, made batch by batch.

use super::expr::Expr;
use super::input::Refusal;
use super::value::{Type, Value};

/// Where cells come from.
pub enum Source {
    /// Columns of a table as they were when the query began, and the rows that it keeps, in order.
    Table { columns: Vec<Vec<Value>>, kept: Vec<usize> },
    /// `long_sequence`: one column, counting from 1; so many rows are kept, from this one on.
    Sequence { first: i64 },
    /// A row without any column.
    Nothing,
}

/// A result that is read from front to back.
pub struct Cursor {
    pub schema: Vec<(String, Type)>,
    pub expressions: Vec<Expr>,
    pub source: Source,
    pub rows: usize,
    pub at: usize,
}

impl Cursor {
    /// Rows that were not taken yet.
    pub fn left(&self) -> usize {
        self.rows - self.at
    }

    pub fn advance(&mut self, rows: usize) {
        self.at += rows;
    }

    /// The next rows, by column; they stay the next until [`Cursor::advance`].
    pub fn peek(&self, rows: usize) -> Result<Vec<Vec<Value>>, Refusal> {
        let one = |expression: &Expr| {
            (self.at..self.at + rows)
                .map(|row| expression.evaluate(&|column| self.cell(row, column)))
                .collect()
        };
        self.expressions.iter().map(one).collect()
    }

    fn cell(&self, row: usize, column: usize) -> Value {
        match &self.source {
            Source::Table { columns, kept } => columns[column][kept[row]].clone(),
            Source::Sequence { first } => Value::Long(first + i64::try_from(row).expect("rows fit")),
            Source::Nothing => Value::Null,
        }
    }
}
