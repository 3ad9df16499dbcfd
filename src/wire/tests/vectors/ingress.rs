//! Messages with rows: our own forms byte for byte, the forms of others by their content.

use super::values::{self, is_sentinel};
use super::{bytes, load, name, report};
use crate::wire::frame::{self, Flags};
use crate::wire::ingress::cells::{self, CellColumn};
use crate::wire::ingress::decode::{self, Block, Cell};
use crate::wire::sink::Sink;
use crate::wire::types::ColumnType;
use crate::wire::{symbols, varint};
use serde_json::Value;

pub(super) const FILES: [&str; 12] = [
    "primitives.json",
    "columns.json",
    "frames.json",
    "captured-java-client-golden.json",
    "captured-questdb-go-encoder.json",
    "captured-questdb-python-6.0.0-ingress.json",
    "captured-questdb-rs-7.2.1-all-null.json",
    "captured-questdb-rs-7.2.1-deferred.json",
    "captured-questdb-rs-7.2.1-ingress.json",
    "captured-questdb-rs-7.2.1-reconnect-split.json",
    "captured-questdb-rs-7.2.1-reconnect.json",
    "captured-questdb-rs-7.2.1-udp.json",
];

/// What clients sent, beside the vectors.
const CAPTURED: [&str; 9] = [
    "captured-java-client-golden.json",
    "captured-questdb-go-encoder.json",
    "captured-questdb-python-6.0.0-ingress.json",
    "captured-questdb-rs-7.2.1-all-null.json",
    "captured-questdb-rs-7.2.1-deferred.json",
    "captured-questdb-rs-7.2.1-ingress.json",
    "captured-questdb-rs-7.2.1-reconnect-split.json",
    "captured-questdb-rs-7.2.1-reconnect.json",
    "captured-questdb-rs-7.2.1-udp.json",
];

#[test]
fn vectors_of_varints_go_both_ways() {
    let entries = load("primitives.json");
    for entry in &entries {
        let bytes = bytes(&entry["hex"]);
        match entry["logical"]["value"].as_u64() {
            Some(value) => {
                assert_eq!(varint::decode(&bytes), Ok((value, bytes.len())), "{}", name(entry));
                let (written, count) = varint::encode(value);
                assert_eq!(written[..count], bytes, "{}", name(entry));
            }
            None => {
                assert_eq!(entry["logical"]["error"], true);
                assert!(varint::decode(&bytes).is_err(), "{}", name(entry));
            }
        }
    }
    report("primitives.json", "varints", entries.len());
}

#[test]
fn vectors_of_columns_and_frames_go_both_ways() {
    for file in ["columns.json", "frames.json"] {
        let entries = load(file);
        let mut written_count = 0;
        for entry in &entries {
            let hex = bytes(&entry["hex"]);
            check_decoded(entry, &hex);
            if is_our_form(entry) {
                assert_eq!(encoded(entry), hex, "{}", name(entry));
                written_count += 1;
            }
        }
        assert!(written_count > 0);
        report(file, &format!("messages read, {written_count} of them written"), entries.len());
    }
}

#[test]
fn frames_of_other_clients_are_read() {
    let vectors: Vec<Value> = ["columns.json", "frames.json"].iter().flat_map(|file| load(file)).collect();
    for file in CAPTURED {
        let (mut count, mut compared) = (0, 0);
        // other things that were recorded: a request head, the end of a connection
        for entry in load(file).iter().filter(|entry| is_frame(entry)) {
            let hex = bytes(&entry["hex"]);
            let equal = vectors.iter().find(|vector| entry["matches"] == vector["name"]);
            assert_eq!(equal.is_some(), !entry["matches"].is_null(), "{file} {}", name(entry));
            if let Some(vector) = equal {
                assert_eq!(entry["hex"], vector["hex"], "{file} {}", name(entry));
            }
            if entry["logical"].is_object() {
                check_decoded(entry, &hex);
                compared += 1;
            }
            decode::message(&hex).unwrap_or_else(|error| panic!("{file} {}: {error}", name(entry)));
            cells::fuzz_ingress_message(&hex);
            count += 1;
            compared += usize::from(equal.is_some() && !entry["logical"].is_object());
        }
        assert!(compared > 0);
        report(file, &format!("frames read, {compared} of them compared with their content"), count);
    }
}

#[test]
fn the_catch_up_of_the_split_vectors_is_cut_as_another_client_cuts_it() {
    let frames = load("frames.json");
    let parts: Vec<Vec<u8>> = ["catch-up-split-1", "catch-up-split-2"]
        .iter()
        .map(|wanted| bytes(&frames.iter().find(|entry| name(entry) == *wanted).expect("it is there")["hex"]))
        .collect();
    let entries: Vec<u8> = parts.iter().flat_map(|part| part[14..].to_vec()).collect();
    let mut room = [0; 1000];
    let mut sink = Sink::new(&mut room);
    for part in symbols::catch_up(0, &entries, 110) {
        part.expect("each fits").put_message(&mut sink);
    }
    let len = sink.finish().expect("1000 bytes hold it");
    assert_eq!(room[..len], parts.concat());
}

fn is_frame(entry: &Value) -> bool {
    let name = name(entry);
    !(name.starts_with("upgrade") || name.ends_with("-close") || name.ends_with("-dropped"))
}

/// Whether this client writes the content in the vector's form.
fn is_our_form(entry: &Value) -> bool {
    let name = name(entry);
    let has_no_null = ["BOOLEAN", "BYTE", "SHORT", "CHAR"].iter().any(|t| name.starts_with(t));
    name != "local-dictionary" && (has_no_null || !name.ends_with("-null-sentinel"))
}

/// The texts that the server knows before the message, in the order of their ids.
fn known(logical: &Value) -> Vec<&str> {
    let before = logical["dictionary_before"].as_array();
    before.into_iter().flatten().map(|text| text.as_str().expect("a text")).collect()
}

fn tables(logical: &Value) -> impl Iterator<Item = (&str, &Vec<Value>)> {
    logical["tables"].as_array().into_iter().flatten().map(|table| {
        let name = table["name"].as_str().expect("a table has a name");
        (name, table["columns"].as_array().expect("a table has columns"))
    })
}

/// The symbols that a message has to bring, in the order in which its rows use them.
fn new_symbols<'a>(logical: &'a Value, known: &[&str]) -> Vec<&'a str> {
    let mut new: Vec<&str> = Vec::new();
    if let Some(symbols) = logical["symbols"].as_array() {
        new.extend(symbols.iter().filter_map(Value::as_str));
    }
    for (_, columns) in tables(logical) {
        for column in columns.iter().filter(|column| column["type"] == "SYMBOL") {
            for text in column["values"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if !known.contains(&text) && !new.contains(&text) {
                    new.push(text);
                }
            }
        }
    }
    new
}

fn encoded(entry: &Value) -> Vec<u8> {
    let logical = &entry["logical"];
    let flags = Flags::from(u8::try_from(logical["flags"].as_u64().expect("flags")).expect("a byte"));
    let known = known(logical);
    let new = new_symbols(logical, &known);
    let mut dictionary = known.clone();
    dictionary.extend(&new);
    let id = |text: &str| dictionary.iter().position(|known| *known == text).expect("interned") as u64;
    let mut room = vec![0; 1 << 16];
    let mut sink = Sink::new(&mut room);
    let open = frame::open(&mut sink);
    let start = logical["delta_start"].as_u64().unwrap_or(known.len() as u64);
    let entries: Vec<u8> = new.iter().flat_map(|text| entry_bytes(text)).collect();
    symbols::put_delta(start, new.len() as u64, [&entries[..]], &mut sink);
    let mut table_count = 0;
    for (name, columns) in tables(logical) {
        let columns: Vec<CellColumn<'_>> = columns.iter().map(|column| values::column(column, &id)).collect();
        cells::put_block(name, &columns, flags, &mut sink);
        table_count += 1;
    }
    open.close(&mut sink, flags, table_count);
    let len = sink.finish().expect("64 KiB hold a vector");
    room.truncate(len);
    room
}

fn entry_bytes(text: &str) -> Vec<u8> {
    let mut room = vec![0; symbols::entry_len(text.len())];
    Sink::new(&mut room).str(text);
    room
}

fn check_decoded(entry: &Value, hex: &[u8]) {
    let name = name(entry);
    let logical = &entry["logical"];
    let message = decode::message(hex).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(logical["flags"].as_u64(), Some(message.flags.byte().into()), "{name}");
    let mut dictionary = known(logical);
    if let Some(delta) = message.delta {
        let start = logical["delta_start"].as_u64().unwrap_or(dictionary.len() as u64);
        assert_eq!(delta.start, start, "{name}");
        let texts: Vec<&str> = delta.texts().collect();
        assert_eq!(texts, new_symbols(logical, &dictionary), "{name}");
        dictionary.extend(texts);
    }
    let mut blocks = message.blocks.iter();
    for (table, columns) in tables(logical) {
        let block = blocks.next().expect("a block for each table");
        assert_eq!(block.name, table, "{name}");
        check_block(name, block, columns, &dictionary);
    }
    assert!(blocks.next().is_none(), "{name}");
}

fn check_block(name: &str, block: &Block<'_>, logical: &[Value], dictionary: &[&str]) {
    assert_eq!(block.columns.len(), logical.len(), "{name}");
    let id = |text: &str| dictionary.iter().position(|known| *known == text).unwrap_or(usize::MAX) as u64;
    for (column, logical) in block.columns.iter().zip(logical) {
        let wanted = values::column(logical, &id);
        let read = CellColumn::from(column);
        assert_eq!((read.name, read.column_type), (wanted.name, wanted.column_type), "{name}");
        assert_eq!(read.parameter, wanted.parameter, "{name}");
        assert_eq!(read.cells.len(), wanted.cells.len(), "{name}");
        let texts = logical["values"].as_array().into_iter().flatten();
        for ((read, wanted), text) in column.cells().zip(wanted.cells).zip(texts) {
            let equal = match (read, wanted) {
                (Some(Cell::Text(read)), _) if column.column_type == ColumnType::Symbol => {
                    Some(read) == text.as_str()
                }
                (Some(read), None) => {
                    let parameter = CellColumn::from(column).parameter;
                    is_sentinel(column.column_type, parameter, read)
                }
                (read, wanted) => read == wanted,
            };
            assert!(equal, "{name}: {read:?} for {wanted:?}");
        }
    }
}
