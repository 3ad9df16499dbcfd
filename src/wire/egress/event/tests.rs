use super::*;
use crate::wire::egress::testing::*;
use crate::wire::frame::HEADER_BYTES;
use proptest::prelude::*;

fn fault(message: &[u8]) -> (&'static str, WireFault) {
    let error = read(message).expect_err("refused");
    (error.field, error.what)
}

#[test]
fn qry_15_bad_magic_version_and_payload_length_are_refused() {
    let good = result_end(7, 1, 5);
    assert!(read(&good).is_ok());
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(fault(&with(3, b'2')).0, "magic");
    assert_eq!(fault(&with(4, 2)), ("version", WireFault::Value(2)));
    assert_eq!(fault(&with(8, 12)), ("payload", WireFault::Truncated));
    assert_eq!(fault(&with(8, 10)), ("payload", WireFault::Trailing));
    assert_eq!(fault(&with(5, 0x0c)), ("flags", WireFault::Value(0x0c)));
    assert_eq!(fault(&with(6, 1)), ("table count", WireFault::Value(1)));
}

#[test]
fn qry_15_unknown_kinds_and_kinds_of_clients_are_refused() {
    for kind in 0..=u8::MAX {
        let known = matches!(kind, 0x11..=0x13 | 0x16..=0x18);
        let error = read(&message(0, 0, &[kind])).expect_err("too short at least");
        let refused = error.field == "message kind" || (kind == 0x11 && error.field == "table count");
        assert_eq!(refused, !known || kind == 0x11, "{kind:#x}: {error}");
    }
    assert_eq!(fault(&message(0, 0, &[0x14])).1, WireFault::Inconsistent("only clients send this kind"));
}

#[test]
fn qry_15_batches_with_other_flags_are_refused() {
    for flags in [0x00, 0x04, 0x08, 0x0d, 0x0e, 0x2c, 0x8c] {
        assert_eq!(fault(&message(flags, 1, &[0x11; 20])), ("flags", WireFault::Value(flags.into())));
    }
    let Ok(Event::Batch(head)) = read(&message(0x1c, 1, &[0x11, 7, 0, 0, 0, 0, 0, 0, 0, 3])) else {
        panic!("a compressed batch")
    };
    assert_eq!(head, BatchHead { request_id: 7, seq: 3, compressed: true, body: 22 });
}

#[test]
fn qry_15_every_message_is_refused_at_every_cut_and_with_a_byte_too_many() {
    let messages = [
        result_end(7, 300, 1 << 40),
        query_error(7, 5, "bad SQL"),
        exec_done(7, 2, 300),
        cache_reset(1),
        server_info(1, 3, "node", Some("zone")),
        server_info(1, 2, "node", None),
    ];
    for good in messages {
        let (header, payload) = good.split_at(HEADER_BYTES);
        assert!(read(&good).is_ok());
        for cut in 0..good.len() {
            assert!(read(&good[..cut]).is_err(), "{good:02x?} cut at {cut}");
        }
        for cut in 0..payload.len() {
            assert!(read(&message(header[5], 0, &payload[..cut])).is_err(), "{good:02x?} short at {cut}");
        }
        assert!(read(&message(0, 0, &[payload, &[0]].concat())).is_err(), "{good:02x?} and a byte");
    }
}

// LIM-20
#[test]
fn lim_20_ids_of_any_length_and_text_are_read_and_zone_bytes_must_match_their_bit() {
    let long = "\u{e9}".repeat(32_767) + "z";
    for (node, zone) in [("", ""), (long.as_str(), long.as_str()), ("\u{1f600}", "eu-1a")] {
        let Ok(Event::ServerInfo(info)) = read(&server_info(200, 3, node, Some(zone))) else {
            panic!("server info")
        };
        assert_eq!((info.role, info.node_id.as_str(), info.zone_id.as_deref()), (200, node, Some(zone)));
    }
    assert_eq!(fault(&server_info(0, 1, "n", None)), ("zone id", WireFault::Truncated));
    assert_eq!(fault(&server_info(0, 2, "n", Some("z"))), ("server info", WireFault::Trailing));
}

#[test]
fn lim_20_an_unknown_capability_may_append_fields() {
    let mut payload = server_info(0, 0x12, "n", None)[HEADER_BYTES..].to_vec();
    payload.extend([1, 2, 3]);
    assert!(matches!(read(&message(0, 0, &payload)), Ok(Event::ServerInfo(_))));
}

#[test]
fn qry_06_minus_1_rows_are_unknown_and_not_0() {
    for (rows, read_back) in [(0, Some(0)), (3, Some(3)), (u64::MAX, None)] {
        let done = Event::Done { request_id: 9, op_type: 2, rows_affected: read_back };
        assert_eq!(read(&exec_done(9, 2, rows)), Ok(done));
    }
}

#[test]
fn an_error_text_with_a_lone_surrogate_is_read_lossily() {
    let mut bytes = query_error(1, 5, "[7] x??? y");
    let at = bytes.len() - 5;
    bytes[at..at + 3].copy_from_slice(&[0xed, 0xa0, 0x80]);
    let Ok(Event::Failed { message, .. }) = read(&bytes) else { panic!("an error") };
    assert!(message.starts_with("[7] x\u{fffd}") && message.ends_with(" y"), "{message}");
}

#[test]
fn bits_of_a_reset_mask_but_the_first_are_ignored() {
    for (mask, dictionary) in [(0x01, true), (0x82, false), (0xff, true), (0, false)] {
        assert_eq!(read(&cache_reset(mask)), Ok(Event::CacheReset { dictionary }));
    }
}

proptest! {
    // QRY-09
    #[test]
    fn qry_09_any_bytes_give_an_event_or_an_error(bytes: Vec<u8>, flags: u8, tables in 0_u16..2) {
        fuzz_event(&bytes);
        fuzz_event(&message(flags, tables, &bytes));
    }
}
