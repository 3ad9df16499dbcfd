//! The crate's own client, behind the interface that all clients here have.

use std::net::Ipv4Addr;
use std::time::Duration;

use qwp::{
    Array, Date, Decimal, DecimalWidth, Geohash, Long256, Query, QueryClient, Row, Sender, Timestamp,
    TimestampMicros, TimestampNanos, Uuid,
};

use crate::samples::Sample;
use crate::support::convert::plain;
use crate::support::value::{Type, Value};
use crate::support::wide::Wide;
use crate::{Answer, Client};

const PATIENCE: Duration = Duration::from_secs(30);

/// A sender and a query client.
pub struct Ours {
    sender: Sender,
    queries: QueryClient,
}

impl Ours {
    /// Connects to `host:port` with more keys of a connect string.
    pub fn connect(addr: &str, more: &str) -> Ours {
        let conf = format!("ws::addr={addr};auto_flush=off;{more}");
        Ours {
            sender: Sender::from_conf(&conf).expect("the server accepts"),
            queries: QueryClient::from_conf(&conf).expect("the server accepts"),
        }
    }
}

impl Client for Ours {
    fn write(&mut self, table: &str, rows: &[Sample]) -> Result<(), String> {
        for row in rows {
            put_row(self.sender.table(table), row).map_err(shown)?;
        }
        let published = self.sender.flush().map_err(shown)?;
        self.sender.wait_acked(published, PATIENCE).map_err(shown)
    }

    fn query(&mut self, sql: &str, binds: &[(Type, Value)]) -> Result<Answer, String> {
        let query = self.queries.query(sql);
        let mut cursor =
            binds.iter().fold(query, |query, (ty, value)| bind(query, (*ty, value))).run().map_err(shown)?;
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next_batch().map_err(shown)? {
            rows.extend(batch.rows().map(|row| row.values().map(|cell| value(&cell)).collect()));
        }
        if let Some(done) = cursor.executed() {
            let affected = done.rows_affected.map_or(-1, u64::cast_signed);
            return Ok(Answer::Done(done.op_type.code(), affected));
        }
        let schema = cursor.schema().map_err(shown)?.expect("a result has columns");
        Ok(Answer::Rows(schema.iter().map(|(name, _)| name.to_owned()).collect(), rows))
    }
}

fn shown(error: qwp::Error) -> String {
    format!("{:?}: {error}", error.kind())
}

fn put_row(mut to: Row<'_>, row: &Sample) -> qwp::Result<()> {
    for (name, ty, value) in &row.cells {
        put_cell(&mut to, name, *ty, value)?;
    }
    match row.at {
        Some(nanos) => to.at(TimestampNanos::new(nanos)),
        None => to.at_now(),
    }
}

fn put_cell(row: &mut Row<'_>, name: &str, ty: Type, value: &Value) -> qwp::Result<()> {
    match value {
        // As the other clients do; a NULL that is written reads the same.
        Value::Null => return Ok(()),
        Value::Boolean(v) => row.column_bool(name, *v),
        Value::Byte(n) => row.column_i8(name, *n),
        Value::Short(n) => row.column_i16(name, *n),
        Value::Int(n) => row.column_i32(name, *n),
        Value::Long(n) => row.column_i64(name, *n),
        Value::Float(n) => row.column_f32(name, *n),
        Value::Double(n) => row.column_f64(name, *n),
        Value::Symbol(s) => row.symbol(name, s.as_ref()),
        Value::Timestamp(n) => row.column_ts(name, TimestampMicros::new(*n)),
        Value::TimestampNanos(n) => row.column_ts(name, TimestampNanos::new(*n)),
        Value::Date(n) => row.column_date(name, Date::new(*n)),
        Value::Uuid { high, low } => row.column_uuid(name, uuid(*high, *low)),
        Value::Long256(n) => row.column_long256(name, Long256::from_limbs(n.0)),
        Value::Geohash { bits, value } => row.column_geohash(name, Geohash::new(*value, *bits)?),
        Value::Varchar(_) => row.column_str(name, plain(value)),
        Value::Char(c) => row.column_char(name, char::from_u32((*c).into()).expect("no surrogate")),
        Value::Binary(bytes) => row.column_binary(name, &bytes[..]),
        Value::Ipv4(n) => row.column_ipv4(name, Ipv4Addr::from(*n)),
        Value::Decimal(d) => row.column_decimal(name, decimal(ty, d.0, d.1)?),
        Value::DoubleArray(a) => {
            let shape: Vec<usize> = a.shape.iter().map(|l| usize::try_from(*l).expect("a length")).collect();
            row.column_f64_array(name, Array::new(&shape, &a.elements)?)
        }
        Value::LongArray(_) => panic!("no server stores arrays of whole numbers"),
    };
    Ok(())
}

fn bind<'c>(query: Query<'c>, (ty, value): (Type, &Value)) -> Query<'c> {
    match value {
        Value::Boolean(v) => query.bind(*v),
        Value::Byte(n) => query.bind(*n),
        Value::Short(n) => query.bind(*n),
        Value::Int(n) => query.bind(*n),
        Value::Long(n) => query.bind(*n),
        Value::Float(n) => query.bind(*n),
        Value::Double(n) => query.bind(*n),
        Value::Timestamp(n) => query.bind(TimestampMicros::new(*n)),
        Value::TimestampNanos(n) => query.bind(TimestampNanos::new(*n)),
        Value::Date(n) => query.bind(Date::new(*n)),
        Value::Uuid { high, low } => query.bind(uuid(*high, *low)),
        Value::Long256(n) => query.bind(Long256::from_limbs(n.0)),
        Value::Geohash { bits, value } => query.bind(Geohash::new(*value, *bits).expect("so many bits")),
        Value::Varchar(_) => query.bind(plain(value)),
        Value::Char(c) => query.bind(char::from_u32((*c).into()).expect("no surrogate")),
        Value::Decimal(d) => query.bind(decimal(ty, d.0, d.1).expect("it fits")),
        Value::Null => query.bind(None::<&str>),
        other => panic!("{other:?} cannot be bound"),
    }
}

fn uuid(high: u64, low: u64) -> Uuid {
    Uuid::from_u128(u128::from(high) << 64 | u128::from(low))
}

fn decimal(ty: Type, unscaled: Wide, scale: u8) -> qwp::Result<Decimal> {
    let width = match ty {
        Type::Decimal(own) if own.bytes == 8 => DecimalWidth::W64,
        Type::Decimal(own) if own.bytes == 16 => DecimalWidth::W128,
        _ => DecimalWidth::W256,
    };
    Decimal::from_parts(unscaled.0, scale)?.with_width(width)
}

fn value(cell: &qwp::Value<'_>) -> Value {
    match cell {
        qwp::Value::Null => Value::Null,
        qwp::Value::Boolean(v) => Value::Boolean(*v),
        qwp::Value::Byte(n) => Value::Byte(*n),
        qwp::Value::Short(n) => Value::Short(*n),
        qwp::Value::Int(n) => Value::Int(*n),
        qwp::Value::Long(n) => Value::Long(*n),
        qwp::Value::Float(n) => Value::Float(*n),
        qwp::Value::Double(n) => Value::Double(*n),
        qwp::Value::Symbol(s) => Value::symbol(s),
        qwp::Value::Timestamp(Timestamp::Micros(n)) => Value::Timestamp(*n),
        qwp::Value::Timestamp(Timestamp::Nanos(n)) => Value::TimestampNanos(*n),
        qwp::Value::Date(n) => Value::Date(n.as_i64()),
        qwp::Value::Uuid(n) => {
            let half = |n: u128| u64::try_from(n & u128::from(u64::MAX)).expect("masked");
            Value::Uuid { high: half(n.as_u128() >> 64), low: half(n.as_u128()) }
        }
        qwp::Value::Long256(n) => Value::Long256(Box::new(Wide(n.limbs()))),
        qwp::Value::Geohash(n) => Value::Geohash { bits: n.precision(), value: n.bits() },
        qwp::Value::Varchar(s) => Value::varchar(s),
        qwp::Value::Char(c) => Value::Char(*c),
        qwp::Value::Binary(bytes) => Value::binary(bytes),
        qwp::Value::Ipv4(n) => Value::Ipv4(u32::from(*n)),
        qwp::Value::Decimal(d) => Value::Decimal(Box::new((Wide(d.unscaled()), d.scale()))),
        qwp::Value::DoubleArray(a) => {
            let shape: Vec<i32> = a.shape().map(|l| i32::try_from(l).expect("a length")).collect();
            Value::doubles(&shape, &a.iter().collect::<Vec<f64>>())
        }
        other => panic!("no column of the samples comes as {other:?}"),
    }
}
