//! The vectors of the specification that concern messages of the server, byte for byte; among them
//! every conversation recorded with a real one.

#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

use super::{bytes, load, report};
use crate::wire::egress::event::{self, Event};
use crate::wire::egress::{Batch, ColumnRef, Decoder, Shell};
use crate::wire::reader::WireResult;
use crate::wire::types::ColumnType;
use serde_json::{Value, json};

/// A number of any width, two's complement if `signed`, in decimal.
fn decimal(little_endian: &[u8], signed: bool) -> String {
    let negative = signed && little_endian.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut bytes = little_endian.to_vec();
    if negative {
        let mut carry = true;
        for byte in &mut bytes {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    let mut digits = Vec::new();
    while bytes.iter().any(|&byte| byte != 0) {
        let mut rest = 0_u32;
        for byte in bytes.iter_mut().rev() {
            let value = rest << 8 | u32::from(*byte);
            (*byte, rest) = ((value / 10) as u8, value % 10);
        }
        digits.push(char::from(b'0' + rest as u8));
    }
    if digits.is_empty() {
        return "0".into();
    }
    let sign = if negative { "-" } else { "" };
    sign.to_owned() + &digits.iter().rev().collect::<String>()
}

fn double(value: f64) -> Value {
    match value {
        v if v.is_nan() => json!("NaN"),
        v if v.is_infinite() => json!(if v > 0.0 { "Infinity" } else { "-Infinity" }),
        v => json!(v),
    }
}

/// A cell in the notation of the vectors.
fn cell(column: ColumnRef<'_>, place: usize) -> Value {
    let kind = column.kind();
    let int = |width| decimal(&column.fixed_bytes(width)[place * width..][..width], true);
    let number = |text: String| text.parse::<i64>().map_or_else(|e| panic!("{e}"), |n| json!(n));
    match kind {
        ColumnType::Boolean => json!(column.bits()[place / 8] >> (place % 8) & 1 == 1),
        ColumnType::Byte => number(int(1)),
        ColumnType::Short => number(int(2)),
        ColumnType::Int => number(int(4)),
        ColumnType::Long => number(int(8)),
        ColumnType::Timestamp | ColumnType::TimestampNanos | ColumnType::Date => match column.times() {
            Some(times) => json!(times[place]),
            None => number(int(8)),
        },
        ColumnType::Float => double(f32::from_le_bytes(column.fixed()[place]).into()),
        ColumnType::Double => double(f64::from_le_bytes(column.fixed()[place])),
        ColumnType::Symbol => {
            let (ids, symbols) = column.ids();
            json!(symbols.get(ids[place]).expect("checked"))
        }
        ColumnType::Varchar => json!(std::str::from_utf8(text(column, place)).expect("checked")),
        ColumnType::Binary => json!(hex(text(column, place).iter())),
        ColumnType::Uuid => {
            let hex = hex(column.fixed::<16>()[place].iter().rev());
            json!([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
        }
        ColumnType::Long256 => json!(decimal(&column.fixed::<32>()[place], false)),
        ColumnType::Geohash => {
            let width = usize::from(column.parameter()).div_ceil(8);
            number(decimal(&column.fixed_bytes(width)[place * width..][..width], false))
        }
        ColumnType::Decimal64 => json!(int(8)),
        ColumnType::Decimal128 => json!(int(16)),
        ColumnType::Decimal256 => json!(int(32)),
        ColumnType::Char => {
            json!(String::from_utf16(&[u16::from_le_bytes(column.fixed()[place])]).expect("no surrogate"))
        }
        ColumnType::Ipv4 => {
            json!(std::net::Ipv4Addr::from(u32::from_le_bytes(column.fixed()[place])).to_string())
        }
        ColumnType::DoubleArray | ColumnType::LongArray => {
            let (lengths, elements) = column.array(place).expect("checked");
            let lengths: Vec<u32> = lengths.iter().map(|length| u32::from_le_bytes(*length)).collect();
            let element = |bytes: &[u8; 8]| match kind {
                ColumnType::LongArray => json!(i64::from_le_bytes(*bytes)),
                _ => double(f64::from_le_bytes(*bytes)),
            };
            json!([lengths, elements.iter().map(element).collect::<Vec<_>>()])
        }
    }
}

fn text(column: ColumnRef<'_>, place: usize) -> &[u8] {
    let (offsets, data) = column.text();
    let at = |index: usize| u32::from_le_bytes(offsets[index]) as usize;
    &data[at(place)..at(place + 1)]
}

fn hex<'a>(bytes: impl Iterator<Item = &'a u8>) -> String {
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Checks the columns of a batch; the parameter where the vector tells it.
fn check_columns(name: &str, batch: &Batch, wanted: &Value) {
    let wanted = wanted.as_array().expect("columns");
    assert_eq!(batch.schema().len(), wanted.len(), "{name}");
    for (index, wanted) in wanted.iter().enumerate() {
        let column = batch.column(index).expect("below the count");
        assert_eq!(batch.schema().name(index), wanted["name"].as_str(), "{name}");
        assert_eq!(type_name(column.kind()), wanted["type"], "{name}");
        let values: Vec<Value> = (0..batch.rows())
            .map(|row| column.place(row).map_or(Value::Null, |place| cell(column, place)))
            .collect();
        assert_eq!(json!(values), wanted["values"], "{name}: {}", wanted["name"]);
        for key in ["scale", "precision_bits"] {
            if let Some(parameter) = wanted[key].as_u64() {
                assert_eq!(u64::from(column.parameter()), parameter, "{name}");
            }
        }
    }
}

/// The name of a type in the vectors.
fn type_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::DoubleArray => "DOUBLE_ARRAY".into(),
        ColumnType::LongArray => "LONG_ARRAY".into(),
        ColumnType::TimestampNanos => "TIMESTAMP_NANOS".into(),
        other => other.to_string(),
    }
}

/// An event in the notation of the vectors; those of batches have more.
fn shown(event: &Event) -> Value {
    match event {
        Event::ServerInfo(info) => {
            let mut shown = json!({
                "kind": "SERVER_INFO", "role": info.role, "epoch": info.epoch,
                "capabilities": info.capabilities, "server_wall_ns": info.wall_ns,
                "cluster_id": info.cluster_id, "node_id": info.node_id,
            });
            if let Some(zone) = &info.zone_id {
                shown["zone_id"] = json!(zone);
            }
            shown
        }
        Event::Batch(head) => {
            json!({"kind": "RESULT_BATCH", "request_id": head.request_id, "batch_seq": head.seq})
        }
        Event::End { request_id, final_seq, total_rows } => json!({
            "kind": "RESULT_END", "request_id": request_id, "final_seq": final_seq, "total_rows": total_rows,
        }),
        Event::Failed { request_id, status, message } => json!({
            "kind": "QUERY_ERROR", "request_id": request_id, "status": status, "message": message,
        }),
        Event::Done { request_id, op_type, rows_affected } => json!({
            "kind": "EXEC_DONE", "request_id": request_id, "op_type": op_type,
            "rows_affected": rows_affected.map_or(-1, |rows| rows as i64),
        }),
        Event::CacheReset { dictionary } => json!({"kind": "CACHE_RESET", "mask": u8::from(*dictionary)}),
    }
}

#[test]
fn control_messages_are_what_the_vectors_say() {
    let mut checked = 0;
    for vector in load("egress-control.json") {
        let message = bytes(&vector["hex"]);
        if !message.starts_with(b"QWP1") {
            continue;
        }
        let mut wanted = vector["logical"].clone();
        if let Some(mask) = wanted.as_object_mut().and_then(|wanted| wanted.remove("reset_mask")) {
            wanted["mask"] = mask;
        }
        let mut read = shown(&event::read(&message).expect("a message"));
        read.as_object_mut().expect("an object").remove("kind");
        assert_eq!(read, wanted, "{}", vector["name"]);
        checked += 1;
    }
    report("egress-control.json", "messages of the server", checked);
    assert_eq!(checked, 8);
}

#[test]
fn batches_are_what_the_vectors_say() {
    let (mut read, mut compressed) = (0, 0);
    let mut decoder = Decoder::default();
    for vector in load("egress-batches.json").iter().chain(&load("captured-zstd-cli.json")) {
        let name = vector["name"].as_str().expect("name");
        let logical = &vector["logical"];
        let message = bytes(&vector["hex"]);
        let Ok(Event::Batch(head)) = event::read(&message) else { panic!("{name}: no batch") };
        assert_eq!(json!([head.request_id, head.seq]), json!([logical["request_id"], logical["batch_seq"]]));
        if head.seq == 0 {
            decoder = Decoder::default();
        }
        let batch = decoder.batch(&head, message, Shell::default());
        if head.compressed {
            compressed += 1;
            let error = batch.map(|_| ()).expect_err("no zstd in this build");
            assert!(error.to_string().contains("feature `zstd`"), "{name}: {error}");
            continue;
        }
        let batch = batch.unwrap_or_else(|e| panic!("{name}: {e}"));
        check_columns(name, &batch, &logical["columns"]);
        read += 1;
    }
    report("egress-batches.json and captured-zstd-cli.json", "batches", read + compressed);
    assert_eq!((read, compressed), (7, 2));
}

/// Reads one message of a conversation and compares it with what is expected of it.
fn replay(
    name: &str,
    decoder: &mut Decoder,
    running: &mut i64,
    message: Vec<u8>,
    wanted: &Value,
) -> WireResult<()> {
    let event = event::read(&message)?;
    let mut read = shown(&event);
    let Event::Batch(head) = event else {
        if let Event::CacheReset { dictionary: true } = event {
            decoder.reset_dictionary();
        }
        assert_eq!(&read, wanted, "{name}");
        return Ok(());
    };
    if *running != head.request_id {
        decoder.begin();
        *running = head.request_id;
    }
    read["flags"] = json!(if head.compressed { 0x1c } else { 0x0c });
    for key in ["kind", "request_id", "batch_seq", "flags"] {
        assert_eq!(read[key], wanted[key], "{name}: {key}");
    }
    let batch = decoder.batch(&head, message, Shell::default())?;
    assert_eq!(json!(batch.rows()), wanted["rows"], "{name}");
    check_columns(name, &batch, &wanted["columns"]);
    Ok(())
}

// Q14 replays its recording here.
#[test]
fn qry_08_every_recorded_conversation_reads_as_the_server_meant_it() {
    let (mut conversations, mut messages, mut compressed) = (0, 0, 0);
    for entry in load("captured-server-9.4.4-egress.json") {
        let name = entry["name"].as_str().expect("name");
        let (Some(received), Some(expected)) = (entry["received"].as_array(), entry["expected"].as_array())
        else {
            continue;
        };
        conversations += 1;
        assert_eq!(received.len(), expected.len(), "{name}");
        let mut decoder = Decoder::default();
        let mut running = 0;
        for (received, wanted) in received.iter().zip(expected) {
            // Everything else than text is a control frame or the end of the stream.
            if !received.is_string() {
                continue;
            }
            messages += 1;
            match replay(name, &mut decoder, &mut running, bytes(received), wanted) {
                Ok(()) => {}
                Err(error) if error.to_string().contains("feature `zstd`") => {
                    compressed += 1;
                    // What follows builds on the symbols of this one.
                    break;
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
    report("captured-server-9.4.4-egress.json", "messages of servers", messages);
    report("captured-server-9.4.4-egress.json", "conversations", conversations);
    assert_eq!((conversations, compressed), (37, 2));
}
