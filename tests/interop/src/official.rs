//! `questdb-rs`, behind the interface that all clients here have.

use std::net::Ipv4Addr;
use std::time::Duration;

use questdb::egress::Bind;
use questdb::egress::column::ColumnView;
use questdb::egress::reader::{BatchView, Terminal};
use questdb::ingress::{AckLevel, Buffer, TimestampMicros, TimestampNanos};
use questdb::{BorrowedSender, QuestDb};

use crate::samples::Sample;
use crate::support::convert::plain;
use crate::support::value::{Type, Value};
use crate::support::wide::Wide;
use crate::{Answer, Client};

const PATIENCE: Duration = Duration::from_secs(30);

/// A pool of the official client.
pub struct Official {
    pool: QuestDb,
}

impl Official {
    /// Connects to `host:port` with more keys of a connect string.
    pub fn connect(addr: &str, more: &str) -> Official {
        let pool = QuestDb::connect(&format!("ws::addr={addr};{more}")).expect("the server accepts");
        Official { pool }
    }

    fn sender(&self) -> Result<BorrowedSender<'_>, String> {
        self.pool.borrow_sender().map_err(shown)
    }
}

impl Client for Official {
    fn write(&mut self, table: &str, rows: &[Sample]) -> Result<(), String> {
        let mut sender = self.sender()?;
        let mut buffer = sender.new_buffer();
        for row in rows {
            put_row(&mut buffer, table, row).map_err(shown)?;
        }
        sender.flush_buffer(&mut buffer).map_err(shown)?;
        sender.wait(AckLevel::Ok, PATIENCE).map_err(shown)
    }

    fn query(&mut self, sql: &str, binds: &[(Type, Value)]) -> Result<Answer, String> {
        let mut reader = self.pool.borrow_reader().map_err(shown)?;
        let mut query = reader.prepare(sql).initial_credit(256);
        for (ty, value) in binds {
            query = query.bind(bind(*ty, value));
        }
        let mut cursor = query.execute().map_err(shown)?;
        let mut names = Vec::new();
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next_batch().map_err(shown)? {
            names = (0..batch.column_count()).map(|i| name(&batch, i)).collect();
            let columns: Vec<Vec<Value>> = (0..batch.column_count())
                .map(|i| batch.column(i).map(|c| values(&c)))
                .collect::<Result<_, _>>()
                .map_err(shown)?;
            rows.extend((0..batch.row_count()).map(|r| columns.iter().map(|c| c[r].clone()).collect()));
        }
        match cursor.terminal() {
            Some(Terminal::ExecDone { op_type, rows_affected }) => {
                Ok(Answer::Done(*op_type, rows_affected.cast_signed()))
            }
            _ => Ok(Answer::Rows(names, rows)),
        }
    }
}

fn shown(error: questdb::Error) -> String {
    format!("{:?}: {}", error.code(), error.msg())
}

fn name(batch: &BatchView<'_>, index: usize) -> String {
    batch.schema().columns()[index].name.to_string()
}

fn put_row(buffer: &mut Buffer, table: &str, row: &Sample) -> questdb::Result<()> {
    buffer.table(table)?;
    for (name, ty, value) in &row.cells {
        put_cell(buffer, name, *ty, value)?;
    }
    match row.at {
        Some(nanos) => buffer.at(TimestampNanos::new(nanos)),
        None => buffer.at_now(),
    }
}

fn put_cell(b: &mut Buffer, name: &str, ty: Type, value: &Value) -> questdb::Result<()> {
    match value {
        Value::Null => return Ok(()),
        Value::Boolean(v) => b.column_bool(name, *v)?,
        Value::Byte(n) => b.column_i8(name, *n)?,
        Value::Short(n) => b.column_i16(name, *n)?,
        Value::Int(n) => b.column_i32(name, *n)?,
        Value::Long(n) => b.column_i64(name, *n)?,
        Value::Float(n) => b.column_f32(name, *n)?,
        Value::Double(n) => b.column_f64(name, *n)?,
        Value::Symbol(s) => b.symbol(name, s.as_ref())?,
        Value::Timestamp(n) => b.column_ts(name, TimestampMicros::new(*n))?,
        Value::TimestampNanos(n) => b.column_ts(name, TimestampNanos::new(*n))?,
        Value::Date(n) => b.column_date(name, *n)?,
        Value::Uuid { high, low } => b.column_uuid(name, *low, *high)?,
        Value::Long256(n) => b.column_long256(name, &n.to_le())?,
        Value::Geohash { bits, value } => b.column_geohash(name, *value, *bits)?,
        Value::Varchar(_) => b.column_str(name, plain(value).as_str())?,
        Value::Char(c) => b.column_char(name, *c)?,
        Value::Binary(bytes) => b.column_binary(name, bytes)?,
        Value::Ipv4(n) => b.column_ipv4(name, Ipv4Addr::from(*n))?,
        Value::Decimal(_) => {
            let text = plain(value);
            match ty {
                Type::Decimal(d) if d.bytes == 8 => b.column_dec64(name, text.as_str())?,
                Type::Decimal(d) if d.bytes == 16 => b.column_dec128(name, text.as_str())?,
                _ => b.column_dec(name, text.as_str())?,
            }
        }
        Value::DoubleArray(a) if a.shape.len() == 1 => b.column_arr(name, &a.elements)?,
        Value::DoubleArray(a) => {
            let width = usize::try_from(a.shape[1]).expect("a length");
            let lines: Vec<Vec<f64>> = a.elements.chunks(width).map(<[f64]>::to_vec).collect();
            b.column_arr(name, &lines)?
        }
        Value::LongArray(_) => panic!("no server stores arrays of whole numbers"),
    };
    Ok(())
}

fn bind(ty: Type, value: &Value) -> Bind {
    match value {
        Value::Boolean(v) => Bind::Bool(*v),
        Value::Byte(n) => Bind::I8(*n),
        Value::Short(n) => Bind::I16(*n),
        Value::Int(n) => Bind::I32(*n),
        Value::Long(n) => Bind::I64(*n),
        Value::Float(n) => Bind::F32(*n),
        Value::Double(n) => Bind::F64(*n),
        Value::Timestamp(n) => Bind::TimestampMicros(*n),
        Value::TimestampNanos(n) => Bind::TimestampNanos(*n),
        Value::Date(n) => Bind::DateMillis(*n),
        // The variant takes the bytes as they travel, least significant first.
        Value::Uuid { high, low } => Bind::Uuid((u128::from(*high) << 64 | u128::from(*low)).to_le_bytes()),
        Value::Long256(n) => Bind::Long256(n.to_le()),
        Value::Geohash { bits, value } => Bind::Geohash { value: *value, precision_bits: *bits },
        Value::Varchar(_) => Bind::Varchar(plain(value)),
        Value::Char(c) => Bind::Char(*c),
        Value::Decimal(d) => {
            let (bytes, scale) = (d.0.to_le(), i8::try_from(d.1).expect("a scale"));
            match ty {
                Type::Decimal(own) if own.bytes == 8 => Bind::Decimal64 {
                    value: i64::from_le_bytes(*bytes.first_chunk().expect("32 bytes")),
                    scale,
                },
                Type::Decimal(own) if own.bytes == 16 => Bind::Decimal128 {
                    value: i128::from_le_bytes(*bytes.first_chunk().expect("32 bytes")),
                    scale,
                },
                _ => Bind::Decimal256 { bytes, scale },
            }
        }
        Value::Null => Bind::NullVarchar,
        other => panic!("{other:?} cannot be bound"),
    }
}

/// One value a row; what the client calls NULL is NULL.
fn values(column: &ColumnView<'_>) -> Vec<Value> {
    macro_rules! each {
        ($column:expr, $value:expr) => {
            (0..$column.len()).map(|r| if $column.is_null(r) { Value::Null } else { $value(r) }).collect()
        };
    }
    let decimal = |bytes: &[u8], scale: i8| {
        Value::Decimal(Box::new((Wide::from_le(bytes), u8::try_from(scale).expect("a scale"))))
    };
    match column {
        ColumnView::Boolean(c) => each!(c, |r| Value::Boolean(c.value(r) != 0)),
        ColumnView::Byte(c) => each!(c, |r| Value::Byte(c.value(r))),
        ColumnView::Short(c) => each!(c, |r| Value::Short(c.value(r))),
        ColumnView::Int(c) => each!(c, |r| Value::Int(c.value(r))),
        ColumnView::Long(c) => each!(c, |r| Value::Long(c.value(r))),
        ColumnView::Float(c) => each!(c, |r| Value::Float(c.value(r))),
        ColumnView::Double(c) => each!(c, |r| Value::Double(c.value(r))),
        ColumnView::Symbol(c) => each!(c, |r| Value::symbol(c.resolve(r).expect("a known id"))),
        ColumnView::Timestamp(c) => each!(c, |r| Value::Timestamp(c.value(r))),
        ColumnView::TimestampNanos(c) => each!(c, |r| Value::TimestampNanos(c.value(r))),
        ColumnView::Date(c) => each!(c, |r| Value::Date(c.value(r))),
        ColumnView::Char(c) => each!(c, |r| Value::Char(c.value(r))),
        ColumnView::Ipv4(c) => each!(c, |r| Value::Ipv4(c.value(r))),
        ColumnView::Uuid(c) => each!(c, |r| {
            let all = u128::from_be_bytes(*c.value(r));
            let half = |n: u128| u64::try_from(n & u128::from(u64::MAX)).expect("masked");
            Value::Uuid { high: half(all >> 64), low: half(all) }
        }),
        ColumnView::Long256(c) => each!(c, |r| Value::Long256(Box::new(Wide::from_le(c.value(r))))),
        ColumnView::Geohash(c) => {
            each!(c, |r| Value::Geohash { bits: c.precision_bits(), value: c.value(r) })
        }
        ColumnView::Varchar(c) => each!(c, |r| Value::varchar(c.value(r).expect("not NULL"))),
        ColumnView::Binary(c) => each!(c, |r| Value::binary(c.value(r).expect("not NULL"))),
        ColumnView::Decimal64(c) => each!(c, |r| decimal(&c.value(r).to_le_bytes(), c.scale())),
        ColumnView::Decimal128(c) => each!(c, |r| decimal(&c.value(r).to_le_bytes(), c.scale())),
        ColumnView::Decimal256(c) => each!(c, |r| decimal(c.value(r), c.scale())),
        ColumnView::DoubleArray(c) => each!(c, |r: usize| {
            let lengths = c.shape(r).expect("not NULL").iter();
            let shape: Vec<i32> = lengths.map(|l| i32::try_from(*l).expect("a length")).collect();
            let elements: Vec<f64> =
                (0..c.element_count(r)).map(|i| c.element(r, i).expect("in range")).collect();
            Value::doubles(&shape, &elements)
        }),
        other => panic!("no column of the samples comes as {other:?}"),
    }
}
