//! Recorded conversations of /write/v4, and the vectors, against the stand-in.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use super::client::{Client, Said, frame, recorded_answer, recorded_frame, unhex};
use super::logical::{column_type, column_values, file, list, text};
use crate::support::convert::plain;
use crate::support::value::{Type, Value};
use crate::support::{Config, Row, Server, sql};

/// Statements that the recording's description gives in words only.
const BEFORE: [(&str, &str); 2] = [
    ("second-block-mismatch", "create table e2 (x uuid, ts timestamp) timestamp(ts) partition by day wal"),
    ("new-columns-off", "create table q0 (x long, ts timestamp) timestamp(ts) partition by day wal"),
];

/// Entries whose answer depends on more than bytes and the settings that the stand-in has.
const SKIPPED: [(&str, &str); 3] =
    [("view", "needs views"), ("matview", "needs materialized views"), ("dedup-table", "needs DEDUP")];

#[test]
fn recorded_ingress_conversations_get_the_recorded_answers() {
    let mut replayed = BTreeMap::new();
    let mut compared = 0;
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in file("captured-server-9.4.4-ingress.json").iter().skip(1) {
        let name = text(entry, "name");
        if let Some((_, reason)) = SKIPPED.iter().find(|(n, _)| *n == name) {
            *skipped.entry(reason).or_default() += 1;
            continue;
        }
        let kind = if entry.get("order").is_some() { "conversations" } else { "upgrades" };
        let server = Server::with(|config| configure(config, entry));
        match kind {
            "upgrades" => replay_upgrade(&server, entry),
            _ => compared += usize::from(replay(&server, entry)),
        }
        *replayed.entry(kind).or_insert(0) += 1;
    }
    println!(
        "captured-server-9.4.4-ingress: replayed {replayed:?}, rows compared in {compared}, skipped {skipped:?}"
    );
    assert!(compared > 80, "{compared}");
    assert_eq!(skipped.values().sum::<usize>(), SKIPPED.len());
    assert!(replayed.values().sum::<usize>() >= 310, "{replayed:?}");
}

fn configure(config: &mut Config, entry: &Json) {
    for setting in list(entry, "config") {
        let (key, value) = setting.as_str().and_then(|s| s.split_once('=')).expect("a setting");
        let number = || value.parse().expect("a number");
        match key {
            "qwp.max.tables.per.connection" => config.limits.tables = number(),
            "qwp.max.rows.per.table" => config.limits.rows_per_block = number(),
            "qwp.max.uncommitted.rows" => config.limits.uncommitted_rows = number(),
            "line.auto.create.new.columns" => config.limits.new_columns = value == "true",
            "readonly" => config.read_only = value == "true",
            "http.user" => config.authorization = crate::support::basic(value, "quest"),
            "http.password" => assert_eq!(value, "quest"),
            other => panic!("no such setting in the stand-in: {other}"),
        }
    }
}

fn replay_upgrade(server: &Server, entry: &Json) {
    let path = if text(entry, "name") == "upgrade-unknown-path" { "/write/v5" } else { "/write/v4" };
    let change: &[(&str, Option<&str>)] = match text(entry, "name") {
        "upgrade-101" | "upgrade-unknown-path" => &[],
        "upgrade-durable-ack" => &[("X-QWP-Request-Durable-Ack", Some("TRUE"))],
        "upgrade-origin" => &[("Origin", Some("http://x.y"))],
        "upgrade-version-12" => &[("Sec-WebSocket-Version", Some("12"))],
        "upgrade-no-upgrade-header" => &[("Upgrade", None)],
        "upgrade-bad-key" => &[("Sec-WebSocket-Key", Some("abcd"))],
        "upgrade-401" => &[("Authorization", Some("Basic d3Jvbmc6cGFzc3dvcmQ="))],
        other => panic!("unknown upgrade {other}"),
    };
    let lines: Vec<&str> = list(entry, "response_head_and_body").iter().filter_map(Json::as_str).collect();
    let empty = lines.iter().position(|l| l.is_empty()).expect("an empty line");
    let mut client = Client::request(server.address(), path, change);
    let head = client.head();
    let said: Vec<&str> = head.trim_end().split("\r\n").collect();
    for (said, recorded) in said.iter().zip(&lines[..empty]) {
        // `<accept>` and `<date>` stand for what differs from run to run.
        let (recorded, varies) = recorded.split_once('<').map_or((*recorded, false), |(r, _)| (r, true));
        assert!(*said == recorded || varies && said.starts_with(recorded), "{said} is not {recorded}");
    }
    assert_eq!(said.len(), empty, "{head}");
    let body = lines[empty + 1..].join("\r\n");
    assert_eq!(client.body(body.len()), body);
    match text(entry, "description").contains("TCP closed") {
        true => assert!(client.ended()),
        false if head.starts_with("HTTP/1.1 101") => {}
        // Left open: another request is answered on it.
        false => {
            client.send(b"GET /nowhere HTTP/1.1\r\n\r\n");
            assert!(client.head().starts_with("HTTP/1.1 404"));
        }
    }
}

/// Plays a conversation; whether what was read back was compared cell by cell.
fn replay(server: &Server, entry: &Json) -> bool {
    let name = text(entry, "name");
    if let Some((_, statement)) = BEFORE.iter().find(|(n, _)| *n == name) {
        execute(server, statement);
    }
    let mut client = Client::upgrade(server.address(), "/write/v4", &[]);
    let mut sent = list(entry, "sent").iter();
    let mut received = list(entry, "received").iter();
    let mut statements = list(entry, "sql").iter();
    let mut shift = HashMap::new();
    let mut burst = Vec::new();
    let mut over = false;
    for what in text(entry, "order").chars() {
        if what == 's' {
            burst.extend(recorded_frame(sent.next().expect("something to send")));
            continue;
        }
        client.send(&std::mem::take(&mut burst));
        if what == 'q' {
            execute(server, statements.next().and_then(Json::as_str).expect("a statement"));
            continue;
        }
        let recorded = recorded_answer(received.next().expect("an answer"));
        over = recorded == Said::Eof;
        let said = client.receive();
        compare(name, &said, &recorded, &mut shift);
    }
    client.send(&burst);
    if !over {
        // Nothing else was owed: the next thing is the answer to this PING.
        client.send(&frame(0x89, b"end"));
        assert_eq!(client.receive(), Said::Pong(b"end".to_vec()), "{name}: more than was recorded");
    }
    check_rows(server, entry)
}

fn execute(server: &Server, statement: &str) {
    for one in statement.split(';') {
        // The recording shortens this one.
        let shortened = one.trim() == "CREATE TABLE d1";
        let one = if shortened {
            "create table d1 (x long, timestamp timestamp) timestamp(timestamp)"
        } else {
            one
        };
        let outcome = server.state(|s| sql::run(one, &[], &mut s.catalog));
        assert!(outcome.is_ok(), "{one}: {:?}", outcome.err());
    }
}

/// Equal bytes, but for sequencer numbers, which may all be higher by what was there before.
fn compare(name: &str, said: &Said, recorded: &Said, shift: &mut HashMap<String, i64>) {
    let (Said::Binary(ours), Said::Binary(theirs)) = (said, recorded) else {
        assert_eq!(said, recorded, "{name}");
        return;
    };
    if ours.first() != Some(&0) || theirs.first() != Some(&0) {
        let shown = |b: &[u8]| String::from_utf8_lossy(b.get(11..).unwrap_or_default()).into_owned();
        assert_eq!(ours, theirs, "{name}: {:?} is not {:?}", shown(ours), shown(theirs));
        return;
    }
    let (ours, theirs) = (ok(ours), ok(theirs));
    assert_eq!(ours.0, theirs.0, "{name}: sequence");
    assert_eq!(ours.1.len(), theirs.1.len(), "{name}: {ours:?} is not {theirs:?}");
    for ((our_name, our_txn), (name_too, txn)) in ours.1.iter().zip(&theirs.1) {
        assert_eq!(our_name, name_too, "{name}");
        let before = *shift.entry(name_too.clone()).or_insert(txn - our_txn);
        assert_eq!(our_txn + before, *txn, "{name}: transaction of {name_too}");
    }
}

/// Sequence and tables of an OK.
fn ok(bytes: &[u8]) -> (i64, Vec<(String, i64)>) {
    let sequence = i64::from_le_bytes(*bytes[1..].first_chunk().expect("a sequence"));
    let count = u16::from_le_bytes([bytes[9], bytes[10]]);
    let mut at = 11;
    let mut tables = Vec::new();
    for _ in 0..count {
        let length = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let name = String::from_utf8(bytes[at + 2..at + 2 + length].to_vec()).expect("a name");
        at += 2 + length;
        tables.push((name, i64::from_le_bytes(*bytes[at..].first_chunk().expect("a number"))));
        at += 8;
    }
    assert_eq!(at, bytes.len(), "bytes behind an OK");
    (sequence, tables)
}

/// What the recording read back: no table, a broken one, or how many rows of the table's width.
fn check_rows(server: &Server, entry: &Json) -> bool {
    let (name, rows) = (text(entry, "name"), &entry["rows_read_back"]);
    if let Some(error) = rows.as_str() {
        let tables = server.state(|s| s.catalog.names());
        if let Some(table) = error.strip_prefix("table does not exist [table=") {
            assert!(!tables.contains(&table.trim_end_matches(']').to_owned()), "{name}: {tables:?}");
        } else if error.starts_with("[-100]") {
            let broken = server.state(|s| tables.iter().all(|t| s.catalog.get(t).unwrap().broken.is_some()));
            assert!(broken, "{name}: the table can be read");
        }
        return false;
    }
    let Some(rows) = rows.as_array() else { return false };
    let tables = server.state(|s| s.catalog.names());
    let [table] = tables.as_slice() else { return false };
    let ours = server.rows(table);
    let width = rows.first().and_then(Json::as_array).map_or(0, Vec::len);
    if rows.is_empty() {
        assert!(ours.is_empty(), "{name}: {ours:?}");
    } else if ours.first().is_some_and(|r| r.values.len() == width) {
        let designated = server.state(|s| s.catalog.get(table).and_then(|t| t.designated)).expect("a time");
        return compare_rows(name, ours, rows, designated);
    }
    false
}

/// Cell by cell, if what was read back are the table's columns: a time stands where the table has it.
fn compare_rows(name: &str, mut ours: Vec<Row>, rows: &[Json], designated: usize) -> bool {
    let is_time = |row: &Json| row[designated].as_str().is_some_and(|t| t.ends_with('Z') || t == SERVER_TIME);
    if !rows.iter().all(is_time) {
        return false;
    }
    assert_eq!(ours.len(), rows.len(), "{name}");
    ours.sort_by_key(|r| match r.values[designated] {
        Value::Timestamp(n) => i128::from(n) * 1000,
        Value::TimestampNanos(n) => i128::from(n),
        _ => panic!("{name}: no time"),
    });
    for (ours, recorded) in ours.iter().zip(rows) {
        for (cell, recorded) in ours.values.iter().zip(recorded.as_array().expect("a row")) {
            let same = match (cell, recorded) {
                (Value::Null, recorded) => recorded.is_null() || recorded == "",
                (_, Json::Number(n)) => plain(cell).parse::<f64>().ok() == n.as_f64(),
                (_, Json::Bool(b)) => *cell == Value::Boolean(*b),
                (_, Json::String(text)) if text == SERVER_TIME => true,
                (Value::Binary(_) | Value::Long256(_) | Value::Char(0), Json::String(_)) => true,
                (_, Json::String(text)) => plain(cell) == *text,
                (Value::DoubleArray(_), Json::Array(_)) => true,
                _ => false,
            };
            assert!(same, "{name}: {cell:?} is not {recorded}");
        }
    }
    true
}

const SERVER_TIME: &str = "<server time>";

/// A message that takes these texts into the dictionary, from id 0.
fn catch_up(texts: &[Json]) -> Vec<u8> {
    let mut payload = vec![0, u8::try_from(texts.len()).expect("few")];
    for text in texts.iter().filter_map(Json::as_str) {
        payload.push(u8::try_from(text.len()).expect("short"));
        payload.extend(text.as_bytes());
    }
    let mut out = b"QWP1\x01\x08\0\0".to_vec();
    out.extend(u32::try_from(payload.len()).expect("short").to_le_bytes());
    out.extend(payload);
    out
}

const COMMIT: &[u8] = b"QWP1\x01\x08\0\0\x02\0\0\0\0\0";

#[test]
fn vectors_of_columns_and_frames_are_stored_as_their_logical_rows() {
    let mut stored = 0;
    let mut refused = 0;
    for entry in file("columns.json").iter().chain(&file("frames.json")) {
        let name = text(entry, "name");
        let server = Server::with(|c| c.clock_micros = Some(7));
        let mut client = Client::upgrade(server.address(), "/api/v4/write", &[]);
        client.send(&frame(0x82, &catch_up(list(&entry["logical"], "dictionary_before"))));
        client.send(&frame(0x82, &unhex(text(entry, "hex"))));
        client.send(&frame(0x82, COMMIT));
        // The PING brings the OK that may still be owed, and then the PONG.
        client.send(&frame(0x89, b""));
        let mut last = None;
        loop {
            match client.receive() {
                Said::Pong(_) => break,
                said => last = Some(said),
            }
        }
        let Some(Said::Binary(answer)) = last else { panic!("{name}: {last:?}") };
        if name.starts_with("LONG_ARRAY") {
            assert_eq!(answer[0], 3, "{name}");
            refused += 1;
            continue;
        }
        assert_eq!((answer[0], ok(&answer).0), (0, 2), "{name}: {answer:?}");
        for table in list(&entry["logical"], "tables") {
            check_table(&server, name, table);
        }
        stored += 1;
    }
    println!("columns.json and frames.json: {stored} stored, {refused} of arrays of whole numbers refused");
    assert_eq!((stored, refused), (72, 2));
}

fn check_table(server: &Server, name: &str, table: &Json) {
    let rows = server.rows(text(table, "name"));
    for column in list(table, "columns") {
        let wanted = column_values(column);
        let own = match text(column, "name") {
            "" => "timestamp",
            own => own,
        };
        assert_eq!(rows.len(), wanted.len(), "{name}");
        for (row, wanted) in rows.iter().zip(wanted) {
            // A row without an instant of its own got the server's clock.
            let now = own == "timestamp" && wanted == Value::Null;
            let wanted = if now { Value::Timestamp(7) } else { wanted };
            assert_eq!(*row.get(own), wanted, "{name}: {own} of {}", type_name(column));
        }
    }
}

fn type_name(column: &Json) -> String {
    Type::name(column_type(column))
}
