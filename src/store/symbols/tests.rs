#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

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

/// All entries `from..to`, collected chunk by chunk.
fn read(mirror: &mut SymbolMirror, from: u32, to: u32) -> Vec<u8> {
    let (mut bytes, mut next) = (Vec::new(), from);
    loop {
        let part = mirror.entries(next, to).to_vec();
        if part.is_empty() {
            return bytes;
        }
        let mut rest = &part[..];
        while !rest.is_empty() {
            let (length, count) = varint::decode(rest).unwrap();
            rest = &rest[count + length as usize..];
            next += 1;
        }
        bytes.extend(part);
    }
}

fn wire(log: &SymbolLog, from: u32, to: u32) -> Vec<u8> {
    log.wire(from, to).flatten().copied().collect()
}

#[test]
fn reco_03_the_other_end_sees_published_entries_only_as_they_travel() {
    let (mut log, mut mirror) = symbols();
    assert_eq!(read(&mut mirror, 0, 9), b"");
    assert_eq!([log.push("ab"), log.push(""), log.push("c")], [Some(0), Some(1), Some(2)]);
    assert_eq!(read(&mut mirror, 0, 9), b"");
    log.publish(2);
    assert_eq!((mirror.len(), log.len()), (2, 3));
    assert_eq!(read(&mut mirror, 0, 9), entries(&["ab", ""]));
    log.publish(3);
    assert_eq!(read(&mut mirror, 2, 3), entries(&["c"]));
    assert_eq!(read(&mut mirror, 1, 2), entries(&[""]));
    assert_eq!(wire(&log, 0, 2), entries(&["ab", ""]));
    assert_eq!((log.text(0), log.text(2), log.text(3)), (Some(&b"ab"[..]), Some(&b"c"[..]), None));
}

#[test]
fn flush_08_provisional_entries_are_taken_back_and_their_ids_given_again() {
    let (mut log, mut mirror) = symbols();
    log.push("kept");
    log.publish(1);
    let lost: u32 = if cfg!(miri) { 300 } else { 3000 };
    for round in 0..3 {
        for index in 0..lost {
            assert_eq!(log.push(&format!("lost {round} {index}")), Some(1 + index));
        }
        log.truncate(1);
        assert_eq!(log.len(), 1);
    }
    assert_eq!(log.push("new"), Some(1));
    log.publish(2);
    assert_eq!(read(&mut mirror, 0, 2), entries(&["kept", "new"]));
    assert_eq!(log.text(1), Some(&b"new"[..]));
}

#[test]
fn entries_beyond_the_published_ones_are_not_there() {
    let (mut log, mut mirror) = symbols();
    log.push("a");
    log.push("b");
    log.publish(2);
    for (from, to) in [(2, 2), (2, 9), (5, 9), (1, 0), (u32::MAX, u32::MAX)] {
        assert_eq!(mirror.entries(from, to), b"", "{from}..{to}");
    }
    assert_eq!(mirror.entries(1, u32::MAX), entries(&["b"]));
}

#[test]
fn lim_04_the_longest_text_gets_a_chunk_of_its_own_and_a_longer_one_none() {
    let longest = "x".repeat(1 << 20);
    let (mut log, mut mirror) = symbols();
    assert_eq!(log.push(&longest), Some(0));
    log.truncate(0);
    assert_eq!(log.push("short"), Some(0));
    assert_eq!(log.push(&longest), Some(1));
    assert_eq!(log.push("short too"), Some(2));
    assert_eq!(log.push(&"x".repeat((1 << 20) + 11)), None);
    log.publish(3);
    assert!(read(&mut mirror, 0, 3) == entries(&["short", &longest, "short too"]));
    assert_eq!(log.text(1).map(<[u8]>::len), Some(1 << 20));
}

#[test]
fn many_entries_are_read_in_pieces_without_a_hole() {
    let count: u32 = if cfg!(miri) { 1_000 } else { 100_000 };
    let (mut log, mut mirror) = symbols();
    let mut all = Vec::new();
    for index in 0..count {
        let text = format!("symbol {index}");
        all.extend(entries(&[&text]));
        assert_eq!(log.push(&text), Some(index));
        if index % 777 == 0 {
            log.publish(index + 1);
        }
    }
    log.publish(count);
    let bytes: Vec<u8> =
        (0..count).step_by(777).flat_map(|id| read(&mut mirror, id, (id + 777).min(count))).collect();
    assert!(bytes == all);
    assert!(read(&mut mirror, 0, count) == all);
    assert!(wire(&log, 0, count) == all);
}

#[test]
fn the_other_end_follows_on_another_thread() {
    let count: u32 = if cfg!(miri) { 300 } else { 20_000 };
    let (mut log, mut mirror) = symbols();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for index in 0..count {
                log.push(&index.to_string());
                log.publish(index + 1);
            }
        });
        let mut seen = 0;
        while seen < count {
            let to = mirror.len();
            let bytes = read(&mut mirror, seen, to);
            let texts: Vec<String> = (seen..to).map(|index| index.to_string()).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            assert_eq!(bytes, entries(&texts));
            seen = to;
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn any_range_reads_back_the_same_from_both_ends(
        texts in prop::collection::vec("[a-z]{0,200}", 1..200),
        looks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..20),
    ) {
        let (mut log, mut mirror) = symbols();
        for (index, text) in texts.iter().enumerate() {
            prop_assert_eq!(log.push(text), Some(index as u32));
            if index % 3 == 0 {
                log.push("provisional");
                log.truncate(index as u32 + 1);
            }
            if index % 5 == 0 {
                log.publish(index as u32);
            }
        }
        let count = texts.len();
        log.publish(count as u32);
        for (a, b) in looks {
            let (a, b) = (a.index(count + 1), b.index(count + 1));
            let (from, to) = (a.min(b), a.max(b));
            let want: Vec<&str> = texts[from..to].iter().map(String::as_str).collect();
            let want = entries(&want);
            prop_assert_eq!(&read(&mut mirror, from as u32, to as u32), &want);
            prop_assert_eq!(wire(&log, from as u32, to as u32), want);
        }
    }
}
