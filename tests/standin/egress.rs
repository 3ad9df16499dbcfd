//! Recorded conversations of /read/v1 against the stand-in.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::client::{Client, Said, frame, recorded_answer, recorded_frame};
use super::logical::{column_type, column_values, file, list, text};
use crate::support::batch::{Batch, Dictionary};
use crate::support::value::{Type, Value};
use crate::support::{Server, sql};

/// Entries that the stand-in cannot play, with the reason.
const SKIPPED: [(&str, &str); 8] = [
    ("zstd", "no zstd in the stand-in"),
    ("zstd-multi-batch", "no zstd in the stand-in"),
    ("null-patterns-9-rows", "SQL: CASE"),
    ("gorilla", "SQL: CASE, timestamp_sequence"),
    ("shutdown-running", "SQL: CROSS JOIN, a query that runs long"),
    ("cancelled-by-sql", "SQL: CROSS JOIN, CANCEL QUERY"),
    ("server-query-timeout", "state of the server: a query that takes too long"),
    ("timeout-mid-stream-dictionary-rollback", "state of the server: a query that takes too long"),
];

/// Requests (counted from 0) of other entries that are left out, with their answers.
const LEFT_OUT: [(&str, usize, &str); 10] = [
    ("gorilla-thresholds", 4, "SQL: UNION"),
    ("symbols-multi-batch-multi-query", 3, "SQL: rnd_symbol"),
    ("exec-done", 1, "SQL: CREATE TABLE AS"),
    ("exec-done", 3, "SQL: INSERT AS SELECT"),
    ("exec-done", 4, "SQL: UPDATE"),
    ("exec-done", 7, "SQL: RENAME"),
    ("exec-done", 8, "SQL: RENAME"),
    ("query-errors", 6, "SQL: interval"),
    ("query-errors", 8, "SQL: rpad"),
    ("drop-while-reading", 2, "state of the server: a statement that is cached"),
];

#[test]
fn recorded_egress_conversations_get_the_recorded_answers() {
    let entries = file("captured-server-9.4.4-egress.json");
    let mut replayed = BTreeMap::new();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries.iter().skip(1) {
        let name = text(entry, "name");
        if let Some((_, reason)) = SKIPPED.iter().find(|(n, _)| *n == name) {
            *skipped.entry(reason).or_default() += 1;
            continue;
        }
        if entry.get("order").is_none() {
            replay_upgrade(entry);
            *replayed.entry("upgrades").or_insert(0) += 1;
            continue;
        }
        *replayed.entry("requests").or_insert(0) += replay(entry, &entries);
        *replayed.entry("conversations").or_insert(0) += 1;
    }
    for (_, _, reason) in LEFT_OUT {
        *skipped.entry(reason).or_default() += 1;
    }
    println!("captured-server-9.4.4-egress: replayed {replayed:?}, skipped {skipped:?}");
    assert_eq!(replayed["conversations"] + replayed["upgrades"] + SKIPPED.len(), entries.len() - 1);
    assert!(replayed["requests"] > 80, "{replayed:?}");
}

fn replay_upgrade(entry: &Json) {
    let server = Server::with(|config| {
        if text(entry, "name").starts_with("http-401") {
            config.authorization = crate::support::basic("admin", "quest");
        }
    });
    let headers: Vec<(&str, Option<&str>)> = entry["request_headers"]
        .as_object()
        .map(|headers| headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())
        .unwrap_or_default();
    let mut client = Client::request(server.address(), text(entry, "path"), &headers);
    let head = client.head();
    let said: Vec<&str> = head.trim_end().split("\r\n").collect();
    for (said, recorded) in said.iter().zip(list(entry, "response")) {
        let recorded = recorded.as_str().expect("a line");
        let fixed = recorded.strip_suffix("...");
        assert!(fixed.map_or(*said == recorded, |f| said.starts_with(f)), "{said} is not {recorded}");
    }
    assert_eq!(said.len(), list(entry, "response").len(), "{head}");
    let body = text(entry, "body");
    assert_eq!(client.body(body.len()), body);
    if text(entry, "connection").starts_with("closed") {
        assert!(client.ended());
    }
}

/// Plays a conversation; how many messages went to the server.
fn replay(entry: &Json, entries: &[Json]) -> usize {
    let name = text(entry, "name");
    let mut server = Server::with(|config| {
        // The first thing that the server says tells its clock.
        let clock = entry["expected"][0]["server_wall_ns"].as_i64();
        config.clock_micros = clock.map(|ns| ns / 1000);
    });
    fill(&server, name, entries);
    let headers: Vec<(&str, Option<&str>)> = entry["request_headers"]
        .as_object()
        .map(|headers| headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())
        .unwrap_or_default();
    let mut client = Client::upgrade(server.address(), "/read/v1", &headers);
    let mut received = list(entry, "received").iter();
    let mut sent = list(entry, "sent").iter().enumerate();
    let mut left_out = false;
    let mut over = false;
    let mut requests = 0;
    for what in text(entry, "order").chars() {
        if what == 's' {
            let (index, message) = sent.next().expect("something to send");
            left_out = LEFT_OUT.iter().any(|(n, i, _)| *n == name && *i == index);
            if !left_out {
                client.send(&recorded_frame(message));
                requests += 1;
            }
            continue;
        }
        let recorded = recorded_answer(received.next().expect("an answer"));
        if left_out {
            continue;
        }
        if recorded == Said::Eof && name.starts_with("shutdown") {
            server.stop();
        }
        over = recorded == Said::Eof;
        let said = client.receive();
        assert_eq!(shown(&said), shown(&recorded), "{name}");
        if name == "drop-while-reading" && requests == 1 {
            execute(&server, "drop table if exists e9");
        }
    }
    if !over {
        client.send(&frame(0x89, b"end"));
        assert_eq!(client.receive(), Said::Pong(b"end".to_vec()), "{name}: more than was recorded");
    }
    requests
}

/// Bytes in hex, with the text in them.
fn shown(said: &Said) -> String {
    match said {
        Said::Binary(bytes) => {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            format!("{hex} {}", String::from_utf8_lossy(bytes).escape_debug())
        }
        other => format!("{other:?}"),
    }
}

fn execute(server: &Server, statement: &str) {
    let outcome = server.state(|s| sql::run(statement, &[], &mut s.catalog));
    assert!(outcome.is_ok(), "{statement}: {:?}", outcome.err());
}

/// The tables that a conversation reads, made from what was read of them.
fn fill(server: &Server, name: &str, entries: &[Json]) {
    for (table, source) in [
        ("alltypes", "all-types"),
        ("geo", "geohash-1-to-60"),
        ("bins", "infinity-nan-binary"),
        ("e9", "drop-while-reading"),
    ] {
        let source = entries.iter().find(|e| text(e, "name") == source).expect("recorded");
        put(server, table, list(source, "expected"));
    }
    match name {
        "binds-odd" | "query-errors" => {
            execute(server, "create table bt (a long, b varchar, ts timestamp) timestamp(ts)");
        }
        "exec-done" => execute(server, "create table e2 (a long)"),
        _ => {}
    }
}

fn put(server: &Server, table: &str, expected: &[Json]) {
    let batches: Vec<&Json> = expected.iter().filter(|m| text(m, "kind") == "RESULT_BATCH").collect();
    let columns: Vec<(String, Type)> =
        list(batches[0], "columns").iter().map(|c| (text(c, "name").to_owned(), column_type(c))).collect();
    server.state(|s| {
        let made = s.catalog.create(table, columns, None);
        for batch in &batches {
            for (own, column) in made.columns.iter_mut().zip(list(batch, "columns")) {
                own.values.extend(column_values(column));
            }
        }
        made.rows = made.columns[0].values.len();
    });
}

#[test]
fn result_vectors_are_encoded_to_the_byte() {
    let mut dictionary = Dictionary::default();
    let mut encoded = 0;
    for entry in file("egress-batches.json") {
        let (name, logical) = (text(&entry, "name"), &entry["logical"]);
        if name == "batch-zstd-stored" {
            continue;
        }
        let columns = list(logical, "columns");
        let schema: Vec<_> = columns.iter().map(|c| (text(c, "name").to_owned(), column_type(c))).collect();
        let values: Vec<_> = columns.iter().map(column_values).collect();
        dictionary.truncate(usize::try_from(logical["delta_start"].as_u64().expect("an id")).expect("small"));
        let batch = Batch {
            id: logical["request_id"].as_i64().expect("an id"),
            sequence: logical["batch_seq"].as_u64().expect("a number"),
            schema: &schema,
            columns: &values,
            rows: values[0].len(),
        };
        let message = batch.encode(&mut dictionary);
        assert_eq!(message, super::client::unhex(text(&entry, "hex")), "{name}");
        encoded += 1;
    }
    println!("egress-batches.json: {encoded} encoded, 1 of zstd skipped");
    assert_eq!(encoded, 7);
}

#[test]
fn rows_that_were_written_are_read_back_through_the_server() {
    let server = Server::start();
    let mut writer = Client::upgrade(server.address(), "/write/v4", &[]);
    let entry = file("frames.json");
    let multi = entry.iter().find(|e| text(e, "name") == "multi-table").expect("there");
    writer.send(&frame(0x82, &super::client::unhex(text(multi, "hex"))));
    assert!(server.wait_until(|s| s.row_count("quotes") == 2, Duration::from_secs(10)));
    let row = &server.rows("quotes")[1];
    assert_eq!(row.get("SYM"), &Value::symbol("GOOG"));
    let mut reader = Client::upgrade(server.address(), "/read/v1", &[]);
    assert!(matches!(reader.receive(), Said::Binary(info) if info[12] == 0x18));
    let sql = "select sym, bid from quotes where bid > 1.5";
    let mut request = vec![0x10, 1, 0, 0, 0, 0, 0, 0, 0, u8::try_from(sql.len()).expect("short")];
    request.extend(sql.as_bytes());
    request.extend([0, 0]);
    reader.send(&frame(0x82, &request));
    let Said::Binary(batch) = reader.receive() else { panic!("no batch") };
    let body = b"\0\0\x01\x04GOOG\0\x01\x02\x03sym\x09\x03bid\x07\0\0\0\0\0\0\0\0\0\0\x40";
    assert_eq!(batch[21..], *body);
    assert!(matches!(reader.receive(), Said::Binary(end) if end[12] == 0x12));
}
