//! Answers to ingress messages.

use super::{bytes, load, name, report};
use crate::wire::ingress::{cells, decode};
use crate::wire::response::{Response, Status, TableMarks, fuzz_response};
use serde_json::Value;

const RECORDED: &str = "captured-server-9.4.4-ingress.json";

pub(super) const FILES: [&str; 2] = ["responses.json", RECORDED];

#[test]
fn vectors_of_responses_go_both_ways() {
    let entries = load("responses.json");
    for entry in &entries {
        let hex = bytes(&entry["hex"]);
        let response = Response::decode(&hex).unwrap_or_else(|error| panic!("{}: {error}", name(entry)));
        check(&response, &entry["logical"]);
        assert_eq!(response.encode(), hex, "{}", name(entry));
    }
    report("responses.json", "responses", entries.len());
}

fn check(response: &Response<'_>, logical: &Value) {
    let wanted_tables = |tables: &TableMarks<'_>| {
        let wanted: Vec<(&str, i64)> = logical["tables"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|table| (table[0].as_str().expect("a name"), table[1].as_i64().expect("a number")))
            .collect();
        assert_eq!(tables.iter().collect::<Vec<_>>(), wanted);
    };
    let (status, wanted_sequence) = match response {
        Response::Ok { sequence, tables } => {
            wanted_tables(tables);
            (Status::Ok, Some(*sequence))
        }
        Response::DurableAck { tables } => {
            wanted_tables(tables);
            (Status::DurableAck, None)
        }
        Response::Error { status, sequence, message } => {
            assert_eq!(Some(&**message), logical["message"].as_str());
            (*status, Some(*sequence))
        }
    };
    assert_eq!(Some(status.code().into()), logical["status"].as_u64());
    assert_eq!(wanted_sequence, logical["sequence"].as_i64());
}

fn answers(entry: &Value) -> impl Iterator<Item = Vec<u8>> {
    entry["received"].as_array().into_iter().flatten().filter(|item| item.is_string()).map(bytes)
}

fn sent(entry: &Value) -> &[Value] {
    entry["sent"].as_array().map_or(&[], |sent| sent)
}

#[test]
fn every_recorded_answer_of_a_server_is_read() {
    let mut count = 0;
    for entry in load(RECORDED) {
        let name = name(&entry);
        let mut acknowledged = -1;
        for answer in answers(&entry) {
            let sequence = match Response::decode(&answer).unwrap_or_else(|e| panic!("{name}: {e}")) {
                Response::Ok { sequence, tables } => {
                    assert_eq!(tables.iter().count(), tables.len());
                    assert!(sequence > acknowledged, "{name}");
                    acknowledged = sequence;
                    sequence
                }
                Response::Error { status, sequence, message } => {
                    assert!(!message.is_empty() && status.name() != "UNKNOWN", "{name}");
                    assert!(sequence > acknowledged, "{name}");
                    sequence
                }
                Response::DurableAck { .. } => panic!("{name}: nobody asked"),
            };
            assert!(usize::try_from(sequence).is_ok_and(|s| s < sent(&entry).len()), "{name}");
            fuzz_response(&answer);
            count += 1;
        }
    }
    report(RECORDED, "answers", count);
}

/// Reasons of PARSE_ERROR that do not lie in the message alone.
const NOT_IN_THE_BYTES: [&str; 4] = [
    "symbol index out of range",
    "delta symbol dictionary size exceeds limit",
    "deltaStartId out of int range",
    "row count exceeds maximum: 11 (max 10)",
];

/// Conversations whose messages the server takes, or refuses for another reason, although they are
/// malformed; our reader is stricter.
const TOLERATED: [&str; 28] = [
    "local-dict-out-of-range",
    "ws-zero",
    "pipelined-error",
    "empty",
    "flag-02",
    "flag-10",
    "flag-20",
    "flag-40",
    "flag-80",
    "trailing-outside",
    "trailing-inside",
    "count-too-small",
    "zero-rows",
    "zero-rows-then-rows",
    "zero-columns",
    "zero-columns-zero-rows",
    "dict-bad-utf8",
    "table-name-utf8-bad",
    "existing-table-column-",
    "two-empty",
    "two-empty-existing",
    "empty-name-long",
    "empty-name-date",
    "null-flag-02",
    "null-flag-ff",
    "bitmap-spare-bits",
    "arr-mixed-dims",
    "vc-bad-utf8",
];

#[test]
fn our_reader_refuses_what_a_server_finds_malformed_and_little_else() {
    let (mut refused, mut taken) = (0, 0);
    for entry in load(RECORDED).iter().filter(|entry| sent(entry).iter().all(Value::is_string)) {
        let name = name(entry);
        let error = answers(entry).find_map(|answer| match Response::decode(&answer) {
            Ok(Response::Error { status, sequence, message }) => {
                Some((usize::try_from(sequence).ok(), status, message.into_owned()))
            }
            _ => None,
        });
        for (index, message) in sent(entry).iter().map(bytes).enumerate() {
            let ours = decode::message(&message);
            cells::fuzz_ingress_message(&message);
            let is_malformed = error.as_ref().is_some_and(|(sequence, status, text)| {
                *sequence == Some(index)
                    && *status == Status::ParseError
                    && !NOT_IN_THE_BYTES.iter().any(|reason| text.contains(reason))
            });
            let is_tolerated = TOLERATED.contains(&name) || name.contains("-scale");
            assert!(
                if is_malformed { ours.is_err() } else { ours.is_ok() || is_tolerated },
                "{name}, message {index}: {:?}, the server: {error:?}",
                ours.err()
            );
            refused += usize::from(is_malformed);
            taken += usize::from(!is_malformed && !is_tolerated);
        }
    }
    report(
        RECORDED,
        &format!("messages read, {refused} malformed ones refused"),
        if refused > 0 { taken } else { 0 },
    );
}
