#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

use super::*;
use crate::wire::egress::event;
use crate::wire::egress::testing::*;
use crate::wire::reader::WireError;
use proptest::prelude::*;

const SYMBOL: &[(&str, ColumnType)] = &[("s", ColumnType::Symbol)];

fn read(decoder: &mut Decoder, bytes: &[u8]) -> WireResult<Batch> {
    match event::read(bytes)? {
        Event::Batch(head) => decoder.batch(&head, bytes.to_vec(), Shell::default()),
        other => panic!("no batch: {other:?}"),
    }
}

use event::Event;

fn symbols(batch: &Batch) -> Vec<String> {
    let column = batch.column(0).expect("a column");
    let (ids, symbols) = column.ids();
    ids.iter().map(|&id| symbols.get(id).expect("checked").to_owned()).collect()
}

fn symbol_batch<'a>(seq: u64, start: u64, texts: &'a [&'a str], ids: &'a [&'a [u8]]) -> TestBatch<'a> {
    let rows = ids[0].len() as u64 - 1;
    TestBatch { id: 1, seq, start, texts, rows, schema: SYMBOL, columns: ids }
}

fn fault(result: WireResult<Batch>) -> (&'static str, WireFault) {
    let WireError { field, what, .. } = result.map(|_| ()).expect_err("refused");
    (field, what)
}

#[test]
fn qry_15_batch_numbers_count_from_0_and_the_schema_comes_with_batch_0() {
    let mut decoder = Decoder::default();
    let wrong = fault(read(&mut decoder, &long_batch(1, 1, &[1])));
    assert_eq!(wrong, ("batch sequence", WireFault::Value(1)), "a later batch without a schema");
    let mut bytes = TestBatch { rows: 1, ..TestBatch::default() }.bytes();
    bytes.truncate(bytes.len() - 1);
    bytes[8] -= 1;
    assert_eq!(fault(read(&mut decoder, &bytes)), ("column count", WireFault::Truncated));

    let mut decoder = Decoder::default();
    read(&mut decoder, &long_batch(1, 0, &[1])).expect("batch 0");
    assert_eq!(decoder.schema.as_ref().expect("schema").name(0), Some("x"));
    assert_eq!(fault(read(&mut decoder, &long_batch(1, 0, &[1]))).1, WireFault::Value(0));
    assert_eq!(fault(read(&mut decoder, &long_batch(1, 2, &[1]))).1, WireFault::Value(2));
    read(&mut decoder, &long_batch(1, 1, &[2])).expect("batch 1");
    decoder.begin();
    assert_eq!(decoder.schema, None);
    read(&mut decoder, &long_batch(2, 0, &[3])).expect("the next request");
}

#[test]
fn qry_15_unknown_type_codes_are_refused() {
    let mut bytes = long_batch(1, 0, &[1]);
    let at = bytes.len() - 10;
    assert_eq!(bytes[at], ColumnType::Long.code());
    for code in (0..=u8::MAX).filter(|&code| ColumnType::from_code(code).is_none()) {
        bytes[at] = code;
        let wrong = fault(read(&mut Decoder::default(), &bytes));
        assert_eq!(wrong, ("column type", WireFault::Value(code.into())));
    }
}

#[test]
fn qry_15_a_column_name_that_is_not_utf_8_and_a_table_name_are_refused() {
    let mut bytes = long_batch(1, 0, &[1]);
    let name = bytes.len() - 11;
    bytes[name] = 0xff;
    assert_eq!(fault(read(&mut Decoder::default(), &bytes)), ("column name", WireFault::Utf8));

    let payload = [&[0x11], &1_i64.to_le_bytes()[..], &[0, 0, 0, 1, b't', 0, 0]].concat();
    let wrong = fault(read(&mut Decoder::default(), &message(0x0c, 1, &payload)));
    assert_eq!(wrong, ("table name", WireFault::Inconsistent("not empty")));
}

#[test]
fn qry_15_truncation_at_every_byte_and_one_byte_too_many_are_refused() {
    let ids: &[&[u8]] = &[&[0, 0, 1]];
    let good = symbol_batch(0, 0, &["a", "b"], ids).bytes();
    read(&mut Decoder::default(), &good).expect("good");
    let payload = &good[crate::wire::frame::HEADER_BYTES..];
    for cut in 10..payload.len() {
        assert!(read(&mut Decoder::default(), &message(0x0c, 1, &payload[..cut])).is_err(), "cut at {cut}");
    }
    let longer = message(0x0c, 1, &[payload, &[0]].concat());
    assert_eq!(fault(read(&mut Decoder::default(), &longer)), ("last column", WireFault::Trailing));
}

// Q14
#[test]
fn qry_08_batch_0_may_cut_the_dictionary_and_batches_in_hand_keep_their_texts() {
    let mut decoder = Decoder::default();
    let first = read(&mut decoder, &symbol_batch(0, 0, &["a", "b"], &[&[0, 0, 1]]).bytes()).unwrap();
    let second = read(&mut decoder, &symbol_batch(1, 2, &["c", "d"], &[&[0, 2, 3]]).bytes()).unwrap();
    decoder.begin();
    let third = read(&mut decoder, &symbol_batch(0, 2, &["x", "y"], &[&[0, 2, 3, 0]]).bytes()).unwrap();
    assert_eq!(symbols(&third), ["x", "y", "a"]);
    assert_eq!(symbols(&first), ["a", "b"]);
    assert_eq!(symbols(&second), ["c", "d"]);

    let higher = fault(read(&mut decoder, &symbol_batch(1, 5, &[], &[&[0, 0]]).bytes()));
    assert_eq!(higher, ("delta start", WireFault::Value(5)));
    let lower = fault(read(&mut decoder, &symbol_batch(1, 3, &[], &[&[0, 0]]).bytes()));
    assert_eq!(lower, ("delta start", WireFault::Value(3)));
}

// Q04
#[test]
fn qry_08_a_reset_empties_the_dictionary_and_batches_in_hand_keep_their_texts() {
    let mut decoder = Decoder::default();
    let held = read(&mut decoder, &symbol_batch(0, 0, &["a", "b"], &[&[0, 0, 1]]).bytes()).unwrap();
    decoder.begin();
    decoder.reset_dictionary();
    let next = read(&mut decoder, &symbol_batch(0, 0, &["c", "d"], &[&[0, 0, 1]]).bytes()).unwrap();
    assert_eq!(
        (symbols(&held), symbols(&next)),
        (vec!["a".into(), "b".into()], vec!["c".into(), "d".into()])
    );
}

#[test]
fn skimming_a_batch_keeps_its_symbols_for_the_next_request() {
    let mut decoder = Decoder::default();
    let bytes = symbol_batch(0, 0, &["a", "b"], &[&[0, 0, 1]]).bytes();
    let Ok(Event::Batch(head)) = event::read(&bytes) else { panic!("a batch") };
    decoder.skim(&head, &bytes).unwrap();
    decoder.begin();
    let next = read(&mut decoder, &symbol_batch(0, 2, &[], &[&[0, 1, 0]]).bytes()).unwrap();
    assert_eq!(symbols(&next), ["b", "a"]);
}

// Q02
#[test]
fn lim_19_0_columns_2049_columns_equal_names_empty_and_long_names_are_valid() {
    let none = TestBatch { rows: 5, ..TestBatch::default() }.bytes();
    let batch = read(&mut Decoder::default(), &none).unwrap();
    assert_eq!((batch.rows(), batch.schema().len()), (5, 0));

    let long = "n".repeat(500);
    let mut schema = vec![("x", ColumnType::Byte); 2047];
    schema.extend([("", ColumnType::Byte), (long.as_str(), ColumnType::Byte)]);
    let columns = vec![&[0_u8, 7][..]; 2049];
    let many = TestBatch { rows: 1, schema: &schema, columns: &columns, ..TestBatch::default() }.bytes();
    let batch = read(&mut Decoder::default(), &many).unwrap();
    let schema = batch.schema();
    assert_eq!((schema.len(), schema.position("x"), schema.position("")), (2049, Some(0), Some(2047)));
    assert_eq!((schema.position(&long), schema.name(2048)), (Some(2048), Some(long.as_str())));
    assert_eq!(schema.position("X"), None);
    assert_eq!(schema.name(2049), None);
}

#[test]
fn lim_19_0_1_and_1048576_rows_are_valid_and_one_more_is_not() {
    for (rows, fits) in [(0, true), (1, true), (MAX_ROWS, true), (MAX_ROWS + 1, false)] {
        let column = vec![0; rows as usize + 1];
        let schema = [("x", ColumnType::Byte)];
        let bytes = TestBatch { rows, schema: &schema, columns: &[&column], ..TestBatch::default() }.bytes();
        assert_eq!(read(&mut Decoder::default(), &bytes).is_ok(), fits, "{rows}");
    }
}

#[test]
fn lim_19_64_mi_cells_pass_the_check_and_one_more_column_does_not() {
    // The columns are not there: the count of cells is checked before any is read.
    for (columns, field) in [(64, "null flag"), (65, "cells")] {
        let schema = vec![("x", ColumnType::Boolean); columns];
        let bytes = TestBatch { rows: MAX_ROWS, schema: &schema, ..TestBatch::default() }.bytes();
        assert_eq!(fault(read(&mut Decoder::default(), &bytes)).0, field);
    }
}

#[test]
fn qry_15_a_column_count_beyond_the_bytes_left_is_refused_before_anything_is_allocated() {
    let payload = [&[0x11], &1_i64.to_le_bytes()[..], &[0, 0, 0, 0, 0], &varint(MAX_COLUMNS)].concat();
    let wrong = fault(read(&mut Decoder::default(), &message(0x0c, 1, &payload)));
    assert_eq!(wrong, ("column count", WireFault::Truncated));
}

#[test]
fn qry_16_a_compressed_batch_names_the_feature_that_it_needs() {
    let payload = [&[0x11], &1_i64.to_le_bytes()[..], &[0, 0x28, 0xb5, 0x2f, 0xfd]].concat();
    let (field, what) = fault(read(&mut Decoder::default(), &message(0x1c, 1, &payload)));
    let WireFault::Inconsistent(text) = what else { panic!("{what:?}") };
    assert!(field == "body" && text.contains("feature `zstd`"), "{field}: {text}");
}

#[test]
fn a_recycled_shell_is_used_again_and_a_huge_one_is_given_up() {
    let bytes = symbol_batch(0, 0, &["a"], &[&[0, 0, 0, 0]]).bytes();
    let (_, shell) = read(&mut Decoder::default(), &bytes).unwrap().recycle();
    assert_eq!(shell.spares.words.len(), 1);
    let Ok(Event::Batch(head)) = event::read(&bytes) else { panic!("a batch") };
    let batch = Decoder::default().batch(&head, bytes, shell).unwrap();
    assert_eq!(symbols(&batch), ["a", "a", "a"]);

    let schema = [("s", ColumnType::Symbol); 5];
    let column = vec![0; MAX_ROWS as usize + 1];
    let rows = MAX_ROWS;
    let columns = [&column[..]; 5];
    let huge = TestBatch { texts: &["a"], rows, schema: &schema, columns: &columns, ..TestBatch::default() };
    let (_, shell) = read(&mut Decoder::default(), &huge.bytes()).unwrap().recycle();
    assert_eq!(shell.spares.bytes(), 0);
}

proptest! {
    // QRY-09: every flipped bit ends in a batch whose cells are all there, or in an error.
    #[test]
    fn qry_09_flipped_bits_never_panic(at: prop::sample::Index, bit in 0_u8..8) {
        let batches = [
            symbol_batch(0, 0, &["a", "b"], &[&[0, 0, 1]]).bytes(),
            symbol_batch(1, 2, &["c"], &[&[0, 2, 1, 0]]).bytes(),
        ];
        let mut bytes = batches.concat();
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        fuzz_batch(&bytes);
    }

    #[test]
    fn qry_09_any_body_never_panics(body: Vec<u8>) {
        let payload = [&[0x11], &1_i64.to_le_bytes()[..], &[0, 0, 0, 0], &body].concat();
        fuzz_batch(&message(0x0c, 1, &payload));
    }
}
