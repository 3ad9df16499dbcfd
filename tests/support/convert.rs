//! What an existing column accepts (wire.md 4.8).

use super::civil;
use super::input::{Refusal, SCHEMA_MISMATCH, WRITE_ERROR, refusal};
use super::value::{Decimal, Type, Value};
use super::wide::{Rescale, Wide};

/// Turns the values of a block's column into what the table's column stores.
pub fn convert(values: &[Value], from: Type, to: Type, column: &str) -> Result<Vec<Value>, Refusal> {
    check(from, to, column)?;
    let stored = |value: &Value| match value.clone().or_null() {
        Value::Null => Ok(to.absent()),
        value => one(&value, from, to, column),
    };
    values.iter().map(stored).collect()
}

fn mismatch(text: String) -> Refusal {
    refusal(SCHEMA_MISMATCH, text)
}

/// Refuses pairs of types, whatever the values.
pub fn check(from: Type, to: Type, column: &str) -> Result<(), Refusal> {
    use Type::*;
    if let LongArray(_) = from {
        return Err(mismatch("long arrays are not supported, only double arrays".into()));
    }
    let text = matches!(to, Varchar | Text);
    let whole = matches!(to, Byte | Short | Int | Long);
    let number = whole || matches!(to, Float | Double);
    let instant = matches!(to, Timestamp | TimestampNanos);
    let allowed = match from {
        Boolean => to == Boolean || number || text,
        Byte | Short | Int | Long => {
            let address = from == Int && to == Ipv4;
            number || instant || text || address || matches!(to, Date | Decimal(_) | Symbol)
        }
        Float | Double => number || text || matches!(to, Decimal(_) | Symbol),
        Symbol => text || to == Symbol,
        Timestamp | TimestampNanos => instant || text,
        Date | Uuid | Long256 | Ipv4 | Char => to == from || text,
        Geohash(_) => matches!(to, Geohash(_)) || text,
        Decimal(_) => matches!(to, Decimal(_)) || text,
        Varchar => !matches!(to, Ipv4 | DoubleArray(_) | LongArray(_)),
        Binary | Text => to == from,
        DoubleArray(_) => matches!(to, DoubleArray(_)),
        LongArray(_) => false,
    };
    if allowed {
        return parameters(from, to, column);
    }
    let into_number = number || matches!(to, Date | Uuid | Long256);
    let status = if matches!(from, Geohash(_)) && into_number { WRITE_ERROR } else { SCHEMA_MISMATCH };
    let what =
        format!("type coercion from {} to {} is not supported [column={column}]", from.name(), to.name());
    Err(refusal(status, what))
}

/// Precision and dimensions count even where no value is present.
fn parameters(from: Type, to: Type, column: &str) -> Result<(), Refusal> {
    match (from, to) {
        (Type::Geohash(wire), Type::Geohash(own)) if wire != own => {
            let what = format!("[column={column}, columnType={}, wireBits={wire}]", to.name());
            Err(mismatch(format!("GeoHash precision mismatch {what}")))
        }
        (Type::DoubleArray(wire), Type::DoubleArray(own)) if wire != 0 && own != 0 && wire != own => {
            let what = format!("[column={column}, expected={}, actual={}]", to.name(), from.name());
            Err(mismatch(format!("array dimensionality mismatch {what}")))
        }
        _ => Ok(()),
    }
}

fn one(value: &Value, from: Type, to: Type, column: &str) -> Result<Value, Refusal> {
    let stored = match (value, to) {
        (Value::Varchar(bytes), _) if to != Type::Varchar && to != Type::Text => {
            return parse(bytes, to, column);
        }
        (Value::Varchar(_), _) => value.clone(),
        (_, Type::Varchar | Type::Text) => Value::varchar(&plain(value)),
        (_, Type::Symbol) => Value::symbol(&plain(value)),
        (Value::Int(n), Type::Ipv4) => Value::Ipv4(u32::from_le_bytes(n.to_le_bytes())),
        (Value::Decimal(d), Type::Decimal(own)) => decimal(d.0, d.1, own, column)?,
        (Value::Boolean(b), _) if to != Type::Boolean => whole(i64::from(*b), to, column)?,
        (Value::Byte(n), _) => whole(i64::from(*n), to, column)?,
        (Value::Short(n), _) => whole(i64::from(*n), to, column)?,
        (Value::Int(n), _) => whole(i64::from(*n), to, column)?,
        (Value::Long(n), _) => whole(*n, to, column)?,
        (Value::Float(n), Type::Float) => Value::Float(*n),
        (Value::Float(n), _) => double(f64::from(*n), &n.to_string(), from, to, column)?,
        (Value::Double(n), _) => double(*n, &n.to_string(), from, to, column)?,
        (Value::Timestamp(n), Type::TimestampNanos) => Value::TimestampNanos(nanos(*n)?),
        (Value::TimestampNanos(n), Type::Timestamp) => Value::Timestamp(n / 1000),
        _ => value.clone(),
    };
    Ok(stored.or_null())
}

/// Microseconds as nanoseconds.
pub fn nanos(micros: i64) -> Result<i64, Refusal> {
    let out = micros.checked_mul(1000);
    out.ok_or_else(|| mismatch(format!("timestamp overflow converting micros to nanos: {micros}")))
}

#[expect(clippy::cast_precision_loss, reason = "a whole number may round (wire.md 4.8)")]
fn whole(n: i64, to: Type, column: &str) -> Result<Value, Refusal> {
    let (min, max) = match to {
        Type::Byte => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Type::Short => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Type::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let out = match to {
        Type::Byte => i8::try_from(n).ok().map(Value::Byte),
        Type::Short => i16::try_from(n).ok().map(Value::Short),
        Type::Int => i32::try_from(n).ok().map(Value::Int),
        Type::Long => Some(Value::Long(n)),
        Type::Float => Some(Value::Float(n as f32)),
        Type::Double => Some(Value::Double(n as f64)),
        Type::Date => Some(Value::Date(n)),
        Type::Timestamp => Some(Value::Timestamp(n)),
        Type::TimestampNanos => Some(Value::TimestampNanos(n)),
        Type::Decimal(own) => return decimal(Wide::from(n), 0, own, column),
        _ => None,
    };
    out.ok_or_else(|| {
        let range = format!("[column={column}, min={min}, max={max}]");
        mismatch(format!("integer value {n} out of range for {} {range}", to.name()))
    })
}

/// 2^63, the first whole number that an i64 cannot hold.
const BEYOND_LONG: f64 = 9_223_372_036_854_775_808.0;

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range, or meant to narrow")]
fn double(n: f64, shown: &str, from: Type, to: Type, column: &str) -> Result<Value, Refusal> {
    match to {
        Type::Double => return Ok(Value::Double(n)),
        Type::Float => return Ok(Value::Float(n as f32)),
        Type::Decimal(own) => {
            if let Some((unscaled, scale)) = decimal_text(shown) {
                return decimal(unscaled, scale, own, column);
            }
        }
        _ if n.fract() == 0.0 && (-BEYOND_LONG..BEYOND_LONG).contains(&n) => {
            return whole(n as i64, to, column);
        }
        _ => {}
    }
    let kind = if from == Type::Float { "float" } else { "double" };
    Err(mismatch(format!(
        "{kind} value {shown} loses precision when converted to {} [column={column}]",
        to.name()
    )))
}

fn decimal(unscaled: Wide, scale: u8, own: Decimal, column: &str) -> Result<Value, Refusal> {
    let to = Type::Decimal(own).name();
    let scaled = unscaled.rescale(scale, own.scale);
    match scaled {
        Ok(n) if n.digits() <= usize::from(own.precision) => Ok(Value::Decimal(Box::new((n, own.scale)))),
        Ok(n) => {
            let shown = if n.digits() > 76 { "9".repeat(76) } else { n.decimal(own.scale) };
            Err(mismatch(format!("decimal value overflows {to} [column={column}, decimal={shown}]")))
        }
        Err(Rescale::Overflow) => {
            let shown = unscaled.decimal(scale);
            Err(mismatch(format!("decimal value overflows {to} [column={column}, decimal={shown}]")))
        }
        Err(Rescale::Inexact) => {
            let shown = unscaled.decimal(scale);
            let what = format!("[column={column}, decimal={shown}]");
            Err(mismatch(format!("decimal value causes precision loss converting to {to} {what}")))
        }
    }
}

/// Unscaled digits and scale of plain decimal text.
pub fn decimal_text(text: &str) -> Option<(Wide, u8)> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let scale = u8::try_from(places.len()).ok()?;
    Wide::parse(&format!("{whole}{places}")).map(|n| (n, scale))
}

/// Reads text as SQL and ingest do when the column is not one of text.
pub fn parse(bytes: &[u8], to: Type, column: &str) -> Result<Value, Refusal> {
    let text = String::from_utf8_lossy(bytes);
    let parsed = match to {
        Type::Binary => Some(Value::Binary(bytes.into())),
        Type::Symbol => Some(Value::symbol(&text)),
        Type::Char => text.encode_utf16().next().map(Value::Char),
        Type::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Boolean(true)),
            "false" => Some(Value::Boolean(false)),
            _ => None,
        },
        Type::Byte => text.parse().ok().map(Value::Byte),
        Type::Short => text.parse().ok().map(Value::Short),
        Type::Int => text.parse().ok().map(Value::Int),
        Type::Long => text.parse().ok().map(Value::Long),
        Type::Float => text.parse().ok().map(Value::Float),
        Type::Double => text.parse().ok().map(Value::Double),
        Type::Date => civil::parse(&text, 3).map(Value::Date),
        Type::Timestamp => civil::parse(&text, 6).map(Value::Timestamp),
        Type::TimestampNanos => civil::parse(&text, 9).map(Value::TimestampNanos),
        Type::Uuid => uuid(&text),
        Type::Long256 => long256(&text),
        Type::Geohash(bits) => geohash(&text, bits),
        Type::Decimal(own) => match decimal_text(&text) {
            Some((unscaled, scale)) => Some(decimal(unscaled, scale, own, column)?),
            None => None,
        },
        _ => None,
    };
    let name = match to {
        Type::Timestamp | Type::TimestampNanos => "timestamp".into(),
        _ => to.name(),
    };
    let what = || mismatch(format!("cannot parse {name} from string [value={text}, column={column}]"));
    parsed.map(Value::or_null).ok_or_else(what)
}

/// A UUID in its canonical form.
pub fn uuid(text: &str) -> Option<Value> {
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    if text.len() != 36 || hex.len() != 32 {
        return None;
    }
    let half = |part: &str| u64::from_str_radix(part, 16).ok();
    Some(Value::Uuid { high: half(hex.get(..16)?)?, low: half(hex.get(16..)?)? })
}

fn long256(text: &str) -> Option<Value> {
    let hex = text.strip_prefix("0x")?;
    if hex.is_empty() || hex.len() > 64 || !hex.is_ascii() {
        return None;
    }
    let padded = format!("{hex:0>64}");
    let mut limbs = [0; 4];
    for (i, limb) in limbs.iter_mut().enumerate() {
        *limb = u64::from_str_radix(&padded[48 - 16 * i..64 - 16 * i], 16).ok()?;
    }
    Some(Value::Long256(Box::new(Wide(limbs))))
}

const GEO_LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

fn geohash(text: &str, bits: u8) -> Option<Value> {
    let mut value = 0u64;
    let mut seen = 0u32;
    for c in text.bytes().map(|c| c.to_ascii_lowercase()).take(12) {
        let digit = GEO_LETTERS.iter().position(|l| *l == c)?;
        value = value << 5 | u64::try_from(digit).ok()?;
        seen += 5;
    }
    let cut = seen.checked_sub(u32::from(bits))?;
    Some(Value::Geohash { bits, value: value >> cut })
}

/// A value as the server writes it into a column of text.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Boolean(b) => b.to_string(),
        Value::Byte(n) => n.to_string(),
        Value::Short(n) => n.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Long(n) => n.to_string(),
        Value::Float(n) => format!("{n:?}"),
        Value::Double(n) => format!("{n:?}"),
        Value::Symbol(s) => s.to_string(),
        Value::Varchar(b) | Value::Binary(b) => String::from_utf8_lossy(b).into_owned(),
        Value::Char(c) => String::from_utf16_lossy(&[*c]),
        Value::Decimal(d) => d.0.decimal(d.1),
        Value::Uuid { high, low } => {
            let hex = format!("{high:016x}{low:016x}");
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        }
        Value::Long256(n) => {
            let hex: String = n.0.iter().rev().map(|limb| format!("{limb:016x}")).collect();
            format!("0x{}", hex.trim_start_matches("00"))
        }
        Value::Ipv4(n) => std::net::Ipv4Addr::from(*n).to_string(),
        Value::Geohash { bits, value } if bits % 5 == 0 => (0..bits / 5)
            .rev()
            .map(|i| char::from(GEO_LETTERS[usize::try_from(value >> (5 * i) & 31).expect("below 32")]))
            .collect(),
        Value::Geohash { bits, value } => format!("{value:0width$b}", width = usize::from(*bits)),
        Value::Timestamp(_) | Value::TimestampNanos(_) | Value::Date(_) => {
            civil::text(value).unwrap_or_default()
        }
        Value::DoubleArray(a) => format!("{:?}", a.elements),
        Value::LongArray(a) => format!("{:?}", a.elements),
    }
}
