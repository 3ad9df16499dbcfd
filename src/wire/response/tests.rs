use super::*;
use proptest::prelude::*;

/// A message of status OK or DURABLE_ACK.
pub(crate) fn ack(sequence: Option<i64>, tables: &[(&str, i64)]) -> Vec<u8> {
    let mut bytes = vec![if sequence.is_some() { 0x00 } else { 0x02 }];
    bytes.extend(sequence.into_iter().flat_map(i64::to_le_bytes));
    bytes.extend(u16::try_from(tables.len()).expect("so many tables").to_le_bytes());
    for (name, transaction) in tables {
        bytes.extend(u16::try_from(name.len()).expect("a short name").to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(transaction.to_le_bytes());
    }
    bytes
}

fn error(status: u8, sequence: i64, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![status];
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(u16::try_from(message.len()).expect("a short message").to_le_bytes());
    bytes.extend(message);
    bytes
}

#[test]
fn lim_21_an_ok_of_10_000_tables_is_read_by_name() {
    let names: Vec<String> = (0..10_000).map(|i| format!("t\u{e9}\u{1f600}{i}")).collect();
    let tables: Vec<(&str, i64)> = names.iter().zip(-5..).map(|(name, i)| (&**name, i)).collect();
    for sequence in [Some(i64::MIN), Some(-1), Some(0), Some(i64::MAX), None] {
        let bytes = ack(sequence, &tables);
        let marks = match Response::decode(&bytes) {
            Ok(Response::Ok { sequence: read, tables }) if Some(read) == sequence => tables,
            Ok(Response::DurableAck { tables }) if sequence.is_none() => tables,
            other => panic!("{other:?}"),
        };
        assert_eq!(marks.len(), 10_000);
        assert!(marks.iter().eq(tables.iter().copied()));
    }
}

#[test]
fn lim_21_messages_of_0_and_1024_bytes_are_read_and_repaired() {
    for count in [0, 1, 1024, 65_535] {
        let text = "x".repeat(count);
        let bytes = error(0x05, 7, text.as_bytes());
        let response = Response::decode(&bytes);
        let message = Cow::Borrowed(&*text);
        assert_eq!(response, Ok(Response::Error { status: Status::ParseError, sequence: 7, message }));
    }
    // half a pair, as Java writes it
    let bytes = error(0x6f, 0, b"a\xed\xa0\x80b");
    match Response::decode(&bytes) {
        Ok(Response::Error { status: Status::Other(0x6f), message, .. }) => {
            assert_eq!(message, "a\u{fffd}\u{fffd}\u{fffd}b");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn lim_21_a_response_cut_at_any_byte_or_with_one_too_many_is_refused() {
    for bytes in [
        ack(Some(7), &[]),
        ack(Some(7), &[("trades", 42), ("q", 7)]),
        ack(None, &[("trades", 42)]),
        error(0x03, 7, b"column type mismatch"),
        error(0x0e, 7, b""),
    ] {
        assert!(Response::decode(&bytes).is_ok());
        for cut in 0..bytes.len() {
            let fault = Response::decode(&bytes[..cut]).map_err(|e| e.what);
            assert_eq!(fault, Err(WireFault::Truncated), "{bytes:?} cut at {cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(Response::decode(&longer).map_err(|e| e.what), Err(WireFault::Trailing));
    }
}

#[test]
fn lim_21_empty_and_ill_formed_table_names_are_refused() {
    let empty = ack(Some(0), &[("a", 1), ("", 2)]);
    let fault = Response::decode(&empty).expect_err("an empty name");
    assert_eq!((fault.at, fault.field), (22, "table name"));
    let mut ill_formed = ack(None, &[("ab", 1)]);
    ill_formed[5] = 0xc3;
    assert_eq!(Response::decode(&ill_formed).map_err(|e| e.what), Err(WireFault::Utf8));
}

proptest! {
    #[test]
    fn foreign_bytes_never_panic(data: Vec<u8>) {
        fuzz_response(&data);
    }

    #[test]
    fn damaged_acks_never_panic(at in 0_usize..60, byte: u8) {
        let mut bytes = ack(Some(3), &[("trades", 42), ("quotes", 7)]);
        if let Some(slot) = bytes.get_mut(at) {
            *slot = byte;
        }
        fuzz_response(&bytes);
    }
}
