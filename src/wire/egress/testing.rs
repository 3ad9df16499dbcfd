//! Messages of a server, for tests: written from wire.md 8, not by the code that reads them.

#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

use crate::wire::types::ColumnType;

/// The header of wire.md 3.2 in front of a payload.
pub(crate) fn message(flags: u8, tables: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = b"QWP1\x01".to_vec();
    out.push(flags);
    out.extend(tables.to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend(payload);
    out
}

pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

pub(crate) fn str(text: &str) -> Vec<u8> {
    [varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

fn str16(text: &str) -> Vec<u8> {
    [(text.len() as u16).to_le_bytes().to_vec(), text.as_bytes().to_vec()].concat()
}

pub(crate) fn delta(start: u64, texts: &[&str]) -> Vec<u8> {
    let mut out = [varint(start), varint(texts.len() as u64)].concat();
    texts.iter().for_each(|text| out.extend(str(text)));
    out
}

/// A batch; every column is written out by the caller, null section included.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestBatch<'a> {
    pub(crate) id: i64,
    pub(crate) seq: u64,
    pub(crate) start: u64,
    pub(crate) texts: &'a [&'a str],
    pub(crate) rows: u64,
    pub(crate) schema: &'a [(&'a str, ColumnType)],
    pub(crate) columns: &'a [&'a [u8]],
}

impl TestBatch<'_> {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut payload = vec![0x11];
        payload.extend(self.id.to_le_bytes());
        payload.extend(varint(self.seq));
        payload.extend(delta(self.start, self.texts));
        payload.push(0);
        payload.extend(varint(self.rows));
        if self.seq == 0 {
            payload.extend(varint(self.schema.len() as u64));
            for (name, kind) in self.schema {
                payload.extend(str(name));
                payload.push(kind.code());
            }
        }
        self.columns.iter().for_each(|column| payload.extend(*column));
        message(0x0c, 1, &payload)
    }
}

/// LONG values without NULL.
pub(crate) fn longs(values: &[i64]) -> Vec<u8> {
    let mut out = vec![0];
    values.iter().for_each(|value| out.extend(value.to_le_bytes()));
    out
}

/// A batch of one LONG column `x`.
pub(crate) fn long_batch(id: i64, seq: u64, values: &[i64]) -> Vec<u8> {
    let schema = [("x", ColumnType::Long)];
    let rows = values.len() as u64;
    TestBatch { id, seq, rows, schema: &schema, columns: &[&longs(values)], ..TestBatch::default() }.bytes()
}

pub(crate) fn result_end(id: i64, final_seq: u64, total_rows: u64) -> Vec<u8> {
    message(0, 0, &[&[0x12], &id.to_le_bytes()[..], &varint(final_seq), &varint(total_rows)].concat())
}

pub(crate) fn query_error(id: i64, status: u8, text: &str) -> Vec<u8> {
    message(0, 0, &[&[0x13], &id.to_le_bytes()[..], &[status], &str16(text)].concat())
}

pub(crate) fn exec_done(id: i64, op_type: u8, rows_affected: u64) -> Vec<u8> {
    message(0, 0, &[&[0x16], &id.to_le_bytes()[..], &[op_type], &varint(rows_affected)].concat())
}

pub(crate) fn cache_reset(mask: u8) -> Vec<u8> {
    message(0, 0, &[0x17, mask])
}

pub(crate) fn server_info(role: u8, capabilities: u32, node: &str, zone: Option<&str>) -> Vec<u8> {
    let mut payload = vec![0x18, role];
    payload.extend(5_u64.to_le_bytes());
    payload.extend(capabilities.to_le_bytes());
    payload.extend(1_700_000_000_000_000_000_i64.to_le_bytes());
    payload.extend(str16("cluster"));
    payload.extend(str16(node));
    zone.iter().for_each(|zone| payload.extend(str16(zone)));
    message(0, 0, &payload)
}
