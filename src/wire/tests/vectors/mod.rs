//! The vectors of the specification and the recordings of real clients and servers, all files of
//! `tests/fixtures/vectors`, both directions.
//!
//! Each test says how many entries of a file it ran; `cargo test vectors -- --nocapture` shows it.

mod egress;
mod ingress;
mod requests;
mod responses;
mod values;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Files whose tests stand beside the reader of query results.
const EGRESS_FILES: [&str; 3] =
    ["captured-server-9.4.4-egress.json", "captured-zstd-cli.json", "egress-batches.json"];

/// Where the files are.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vectors")
}

/// A file's entries.
pub(crate) fn load(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(file)).expect("the file is there");
    match serde_json::from_str(&text).expect("the file is JSON") {
        Value::Array(entries) => entries,
        _ => panic!("{file} is no list"),
    }
}

/// The entry's name, for messages.
pub(crate) fn name(entry: &Value) -> &str {
    entry["name"].as_str().expect("every entry has a name")
}

/// The bytes of a string of hex digits.
pub(crate) fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().expect("hex is a string").as_bytes();
    data_encoding::HEXLOWER.decode(hex).expect("hex digits")
}

/// Says what was run, and fails if it was nothing.
pub(crate) fn report(file: &str, what: &str, count: usize) {
    assert!(count > 0, "no {what} in {file}");
    println!("{file}: {count} {what}");
}

#[test]
fn every_file_of_vectors_is_run_by_some_test() {
    let there: BTreeSet<String> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("ASCII names"))
        .collect();
    let claimed: BTreeSet<String> = [&["confirmed.json"][..], &EGRESS_FILES]
        .into_iter()
        .chain([&ingress::FILES[..], &requests::FILES, &responses::FILES])
        .flatten()
        .map(|file| (*file).to_owned())
        .collect();
    assert_eq!(there, claimed);
}

#[test]
fn every_witness_speaks_of_a_vector_that_is_there() {
    let text = std::fs::read_to_string(folder().join("confirmed.json")).expect("the file is there");
    let witnesses: Value = serde_json::from_str(&text).expect("the file is JSON");
    let witnesses = witnesses.as_object().expect("names to lists");
    let files = [
        "columns.json",
        "frames.json",
        "responses.json",
        "egress-control.json",
        "egress-batches.json",
        "captured-zstd-cli.json",
    ];
    let vectors: Vec<Value> = files.iter().flat_map(|file| load(file)).collect();
    let names: BTreeSet<&str> = vectors.iter().map(name).collect();
    for witnessed in witnesses.keys() {
        assert!(names.contains(&**witnessed), "{witnessed}");
    }
    report("confirmed.json", "witnessed vectors", witnesses.len());
}
