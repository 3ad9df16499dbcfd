use super::*;
use proptest::prelude::*;

fn entries(texts: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        let (length, count) = varint::encode(text.len() as u64);
        bytes.extend(&length[..count]);
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn delta_bytes(start: u64, texts: &[&str]) -> Vec<u8> {
    let entries = entries(texts);
    let mut room = vec![0; delta_len(start, texts.len() as u64, entries.len())];
    let mut sink = Sink::new(&mut room);
    put_delta(start, texts.len() as u64, entries.chunks(3), &mut sink);
    assert_eq!(sink.finish(), Some(room.len()), "delta_len is exact");
    room
}

fn parts(start: u64, texts: &[&str], cap: usize) -> Vec<Result<(u64, u64), EntryTooLarge>> {
    let entries = entries(texts);
    catch_up(start, &entries, cap)
        .map(|part| {
            part.map(|part| {
                assert!(part.message_len() <= cap);
                let mut room = vec![0; part.message_len()];
                let mut sink = Sink::new(&mut room);
                part.put_message(&mut sink);
                assert_eq!(sink.finish(), Some(room.len()), "message_len is exact");
                let facts = frame::peek(&room).expect("our own message");
                assert_eq!((facts.deferred, facts.table_count), (false, 0));
                (facts.delta_start, part.end())
            })
        })
        .collect()
}

#[test]
fn a_delta_is_read_as_it_was_written() {
    let texts = ["", "AAPL", "na\u{ef}ve \u{1f600}", &"x".repeat(200)];
    let bytes = delta_bytes(1000, &texts);
    let mut reader = Reader::new(&bytes);
    let delta = Delta::read(&mut reader).expect("our own delta");
    assert_eq!((delta.start, delta.count, reader.remaining()), (1000, 4, 0));
    assert_eq!(delta.texts().collect::<Vec<_>>(), texts);
}

#[test]
fn lim_16_a_delta_cut_at_any_byte_or_not_utf8_is_refused() {
    let bytes = delta_bytes(7, &["AAPL", "\u{20ac}"]);
    for cut in 0..bytes.len() {
        assert!(Delta::read(&mut Reader::new(&bytes[..cut])).is_err(), "cut at {cut}");
    }
    for (bytes, what) in [
        (&b"\x00\x01\x02\xc3\x28"[..], WireFault::Utf8),
        (b"\x00\x02\x01a\x03\xed\xa0\x80", WireFault::Utf8),
        (b"\x00\x80", WireFault::Truncated),
        // counts and lengths near 2^64 do not wrap
        (b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", WireFault::Truncated),
        (b"\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a", WireFault::Truncated),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x01a", WireFault::Value(u64::MAX)),
    ] {
        assert_eq!(Delta::read(&mut Reader::new(bytes)).map_err(|e| e.what), Err(what), "{bytes:?}");
    }
}

#[test]
fn catch_up_parts_follow_each_other_and_stay_below_the_cap() {
    let a = "A".repeat(30);
    let texts = [&a[..]; 4];
    assert_eq!(parts(0, &[], 100), []);
    assert_eq!(parts(0, &texts, 1000), [Ok((0, 4))]);
    assert_eq!(parts(0, &texts, 110), [Ok((0, 2)), Ok((2, 4))]);
    // a single entry may use the whole cap: 12 + 1 + 1 + 31
    assert_eq!(parts(0, &texts[..2], 45), [Ok((0, 1)), Ok((1, 2))]);
    assert_eq!(parts(0, &texts[..2], 44), [Err(EntryTooLarge { id: 0, message_bytes: 45 })]);
    assert_eq!(parts(0, &["b", &a, "c"], 44), [Ok((0, 1)), Err(EntryTooLarge { id: 1, message_bytes: 45 })]);
    // the start of a later part takes more bytes
    assert_eq!(parts(127, &[&a, "c"], 45), [Ok((127, 128)), Ok((128, 129))]);
}

proptest! {
    #[test]
    fn catch_up_loses_no_entry(texts in prop::collection::vec(".{0,40}", 0..60), cap in 200_usize..400, start in 0_u64..1 << 20) {
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let entries = entries(&texts);
        let mut next = start;
        let mut seen = Vec::new();
        for part in catch_up(start, &entries, cap) {
            let part = part.expect("no entry is that long");
            prop_assert_eq!(part.delta.start, next);
            prop_assert!(part.message_len() <= cap);
            next = part.end();
            seen.extend(part.delta.texts());
        }
        prop_assert_eq!(seen, texts);
    }

    #[test]
    fn foreign_bytes_never_panic(data: Vec<u8>) {
        fuzz_symbols(&data);
    }
}
