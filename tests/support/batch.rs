//! Encodes result batches (wire.md 8.4).

use std::collections::HashMap;
use std::sync::Arc;

use super::request::{self, put_varint};
use super::value::{Type, Value};

/// The texts that a connection knows, by id.
#[derive(Default)]
pub struct Dictionary {
    ids: HashMap<Arc<str>, usize>,
    texts: Vec<Arc<str>>,
}

impl Dictionary {
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Forgets all ids from `count` on.
    pub fn truncate(&mut self, count: usize) {
        for text in self.texts.drain(count..) {
            self.ids.remove(&text);
        }
    }

    fn learn(&mut self, text: &Arc<str>) {
        if !self.ids.contains_key(text) {
            self.ids.insert(text.clone(), self.texts.len());
            self.texts.push(text.clone());
        }
    }

    fn id(&self, text: &str) -> u64 {
        u64::try_from(self.ids[text]).expect("ids are small")
    }
}

/// One batch of a result.
pub struct Batch<'a> {
    pub id: i64,
    pub sequence: u64,
    pub schema: &'a [(String, Type)],
    pub columns: &'a [Vec<Value>],
    pub rows: usize,
}

impl Batch<'_> {
    /// The message; new symbols go into the dictionary row by row, as the server meets them.
    pub fn encode(&self, dictionary: &mut Dictionary) -> Vec<u8> {
        let start = dictionary.len();
        for row in 0..self.rows {
            for column in self.columns {
                if let Value::Symbol(text) = &column[row] {
                    dictionary.learn(text);
                }
            }
        }
        let mut out = Vec::new();
        put_varint(&mut out, self.sequence);
        put_count(&mut out, start);
        put_count(&mut out, dictionary.len() - start);
        for text in &dictionary.texts[start..] {
            put_str(&mut out, text);
        }
        out.push(0);
        put_count(&mut out, self.rows);
        if self.sequence == 0 {
            put_count(&mut out, self.schema.len());
            for (name, ty) in self.schema {
                put_str(&mut out, name);
                out.push(ty.code());
            }
        }
        for ((_, ty), values) in self.schema.iter().zip(self.columns) {
            put_column(&mut out, *ty, values, dictionary);
        }
        request::reply(0x0c, request::RESULT_BATCH, self.id, &out)
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    put_varint(out, u64::try_from(count).expect("counts fit"));
}

fn put_str(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len());
    out.extend(text.as_bytes());
}

fn put_column(out: &mut Vec<u8>, ty: Type, values: &[Value], dictionary: &Dictionary) {
    let nullable = !matches!(ty, Type::Boolean | Type::Byte | Type::Short | Type::Char);
    if nullable && values.iter().any(Value::is_null) {
        out.push(1);
        out.extend(bits(values.iter().map(Value::is_null)));
    } else {
        out.push(0);
    }
    let present: Vec<&Value> = values.iter().filter(|v| !v.is_null()).collect();
    match ty {
        Type::Boolean => out.extend(bits(present.iter().map(|v| matches!(v, Value::Boolean(true))))),
        Type::Symbol => {
            for value in present {
                let Value::Symbol(text) = value else { wrong(ty, value) };
                put_varint(out, dictionary.id(text));
            }
        }
        Type::Timestamp | Type::TimestampNanos | Type::Date => put_instants(out, &present),
        Type::Varchar | Type::Text | Type::Binary => put_blobs(out, ty, &present),
        _ => {
            match ty {
                Type::Geohash(precision) => put_varint(out, u64::from(precision)),
                Type::Decimal(d) => out.push(d.scale),
                _ => {}
            }
            for value in present {
                put_value(out, ty, value);
            }
        }
    }
}

fn wrong(ty: Type, value: &Value) -> ! {
    panic!("a {} column holds {value:?}", ty.name())
}

fn bits(flags: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, flag) in flags.enumerate() {
        if i % 8 == 0 {
            out.push(0);
        }
        *out.last_mut().expect("one a byte") |= u8::from(flag) << (i % 8);
    }
    out
}

fn put_blobs(out: &mut Vec<u8>, ty: Type, present: &[&Value]) {
    let mut data = Vec::new();
    out.extend([0; 4]);
    for value in present {
        match value {
            Value::Varchar(bytes) | Value::Binary(bytes) => data.extend_from_slice(bytes),
            other => wrong(ty, other),
        }
        out.extend(u32::try_from(data.len()).expect("a batch is small").to_le_bytes());
    }
    out.extend(data);
}

fn put_value(out: &mut Vec<u8>, ty: Type, value: &Value) {
    match value {
        Value::Byte(n) => out.extend(n.to_le_bytes()),
        Value::Short(n) => out.extend(n.to_le_bytes()),
        Value::Int(n) => out.extend(n.to_le_bytes()),
        Value::Long(n) => out.extend(n.to_le_bytes()),
        Value::Float(n) => out.extend(n.to_le_bytes()),
        Value::Double(n) => out.extend(n.to_le_bytes()),
        Value::Char(n) => out.extend(n.to_le_bytes()),
        Value::Ipv4(n) => out.extend(n.to_le_bytes()),
        Value::Uuid { high, low } => {
            out.extend(low.to_le_bytes());
            out.extend(high.to_le_bytes());
        }
        Value::Long256(n) => out.extend(n.to_le()),
        Value::Geohash { bits, value } => out.extend(&value.to_le_bytes()[..usize::from(bits.div_ceil(8))]),
        Value::Decimal(d) => {
            let Type::Decimal(own) = ty else { wrong(ty, value) };
            out.extend(&d.0.to_le()[..usize::from(own.bytes)]);
        }
        Value::DoubleArray(a) => put_array(out, &a.shape, a.elements.iter().map(|e| e.to_le_bytes())),
        Value::LongArray(a) => put_array(out, &a.shape, a.elements.iter().map(|e| e.to_le_bytes())),
        other => wrong(ty, other),
    }
}

fn put_array(out: &mut Vec<u8>, shape: &[i32], elements: impl Iterator<Item = [u8; 8]>) {
    out.push(u8::try_from(shape.len()).expect("at most 32 dimensions"));
    out.extend(shape.iter().flat_map(|l| l.to_le_bytes()));
    out.extend(elements.flatten());
}

fn put_instants(out: &mut Vec<u8>, present: &[&Value]) {
    let instants: Vec<i64> = present
        .iter()
        .map(|v| match v {
            Value::Timestamp(n) | Value::TimestampNanos(n) | Value::Date(n) => *n,
            other => wrong(Type::Timestamp, other),
        })
        .collect();
    // The server compresses only what gets smaller by it (wire.md 4.7).
    match gorilla(&instants).filter(|g| g.len() < 8 * instants.len()) {
        Some(compressed) => {
            out.push(1);
            out.extend(compressed);
        }
        None => {
            out.push(0);
            out.extend(instants.iter().flat_map(|n| n.to_le_bytes()));
        }
    }
}

/// Two plain values and the bit stream; `None` where a step does not fit 32 bits.
fn gorilla(instants: &[i64]) -> Option<Vec<u8>> {
    if instants.len() < 3 {
        return None;
    }
    let mut stream = BitWriter::default();
    for w in instants.windows(3) {
        let step = (i128::from(w[2]) - i128::from(w[1])) - (i128::from(w[1]) - i128::from(w[0]));
        let step = i32::try_from(step).ok()?;
        match step {
            0 => stream.put(0b0, 1),
            -64..=63 => stream.prefixed(0b01, 2, step, 7),
            -256..=255 => stream.prefixed(0b011, 3, step, 9),
            -2048..=2047 => stream.prefixed(0b0111, 4, step, 12),
            _ => stream.prefixed(0b1111, 4, step, 32),
        }
    }
    let mut out: Vec<u8> = instants[..2].iter().flat_map(|n| n.to_le_bytes()).collect();
    out.extend(stream.bytes);
    Some(out)
}

/// Fills bytes from bit 0 upwards.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    used: usize,
}

impl BitWriter {
    fn prefixed(&mut self, prefix: u32, prefix_bits: usize, step: i32, bits: usize) {
        self.put(prefix, prefix_bits);
        self.put(step.cast_unsigned(), bits);
    }

    fn put(&mut self, value: u32, bits: usize) {
        for place in 0..bits {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = u8::try_from(value >> place & 1).expect("one bit");
            *self.bytes.last_mut().expect("one a byte") |= bit << (self.used % 8);
            self.used += 1;
        }
    }
}
