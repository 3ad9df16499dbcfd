//! Names, columns, symbols, sizes: the last good one and the one beyond.

use super::super::column::Values;
use super::*;
use crate::error::ErrorKind;

/// Trials E19, E20.
#[test]
fn lim_01_names_up_to_the_limit_go_out_as_they_are() {
    let mut p = producer();
    let names = ["a".repeat(127), "\u{e9}".repeat(63), "\u{1f600}".to_owned(), "na\u{ef}ve".to_owned()];
    for name in &names {
        p.sender.table(name).column_i64(name, 1).at(ts(0)).unwrap();
    }
    assert_eq!(p.flushed().len(), 4);
    for name in ["a".repeat(128), "\u{e9}".repeat(64)] {
        let e = p.sender.table("t").column_i64(&name, 1).at(ts(0)).unwrap_err();
        assert!(e.to_string().contains("128 bytes"), "{e}");
    }
    let mut p = Producer::new(Options { max_name_bytes: 16, ..Options::default() });
    assert!(p.sender.table(&"a".repeat(16)).column_i64(&"b".repeat(16), 1).at(ts(0)).is_ok());
    assert!(p.sender.table(&"a".repeat(17)).column_i64("b", 1).at(ts(0)).is_err());
    assert!(p.sender.table("a").column_i64(&"b".repeat(17), 1).at(ts(0)).is_err());
}

#[test]
fn lim_02_a_batch_has_2048_columns_the_designated_one_included() {
    let mut p = producer();
    let wide = |p: &mut Producer, columns: usize, prefix: &str| {
        let mut row = p.sender.table("t");
        for i in 0..columns {
            row.column_bool(&format!("{prefix}{i}"), true);
        }
        row.at(ts(0))
    };
    wide(&mut p, 2047, "a").unwrap();
    let e = wide(&mut p, 2048, "a").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLarge);
    let e = wide(&mut p, 1, "b").unwrap_err();
    assert!(e.to_string().contains("2048"), "{e}");
    let [frame] = &p.frames_after_flush()[..] else { panic!("one frame") };
    assert_eq!((frame.schema.len(), frame.rows.len()), (2048, 1));
    // Columns of earlier batches do not count.
    wide(&mut p, 2047, "b").unwrap();
    wide(&mut p, 2047, "b").unwrap();
    let [frame] = &p.frames_after_flush()[..] else { panic!("one frame") };
    assert_eq!((frame.schema.len(), frame.rows.len()), (2048, 2));
}

/// Trial E17, as far as the call that brings one symbol too many.
#[test]
fn lim_04_a_full_dictionary_refuses_new_symbols_and_keeps_the_known_ones() {
    let bounds = Bounds { entries: 3, text_bytes: 10, all_bytes: 25 };
    let mut p = Producer::new(Options { symbols: bounds, ..Options::default() });
    for text in ["a", "b", "0123456789"] {
        p.sender.table("t").symbol("s", text).at(ts(0)).unwrap();
    }
    let e = p.sender.table("t").symbol("s", "one more").at(ts(0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::DictionaryFull);
    let e = p.sender.table("t").symbol("s", "01234567890").at(ts(0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLarge);
    p.sender.table("t").symbol("s", "b").at(ts(1)).unwrap();
    assert_eq!(p.flushed(), ["t: s=a @=0", "t: s=b @=0", "t: s=0123456789 @=0", "t: s=b @=1"]);
    let bounds = Bounds { entries: 9, text_bytes: 10, all_bytes: 11 };
    let mut p = Producer::new(Options { symbols: bounds, ..Options::default() });
    p.sender.table("t").symbol("s", "0123456789").at(ts(0)).unwrap();
    p.sender.table("t").symbol("s", "a").at(ts(0)).unwrap();
    assert_eq!(p.sender.table("t").symbol("s", "b").at(ts(0)).unwrap_err().kind(), ErrorKind::DictionaryFull);
}

#[test]
fn flush_17_rows_beyond_max_buf_size_are_refused_until_a_flush_makes_room() {
    let mut p = Producer::new(Options { max_buf_bytes: 1000, ..Options::default() });
    let mut taken = 0;
    let e = loop {
        match p.sender.table("t").column_str("s", "x".repeat(100)).at(ts(taken)) {
            Ok(()) => taken += 1,
            Err(e) => break e,
        }
        assert!(taken < 100);
    };
    assert_eq!(e.kind(), ErrorKind::TooLarge);
    assert!(e.to_string().contains("max_buf_size") && e.to_string().contains("flush"), "{e}");
    assert_eq!(p.flushed().len() as i64, taken);
    p.sender.table("t").column_str("s", "x".repeat(100)).at(ts(0)).unwrap();
    assert_eq!(p.flushed().len(), 1);
    assert_eq!(
        p.sender.table("t").column_str("s", "x".repeat(1001)).at(ts(0)).unwrap_err().kind(),
        ErrorKind::TooLarge
    );
}

#[test]
fn clear_forgets_pending_rows_and_nothing_else() {
    let mut p = producer();
    p.sender.table("t").symbol("s", "a").at(ts(0)).unwrap();
    p.sender.clear();
    assert_eq!((p.sender.pending_rows(), p.flushed()), (0, vec![]));
    p.sender.table("t").symbol("s", "b").at(ts(1)).unwrap();
    assert_eq!(p.flushed(), ["t: s=b @=1"]);
}

#[test]
fn flush_17_the_buffer_starts_with_room_for_init_buf_size() {
    let capacity = |init_buf_bytes| {
        let mut p = Producer::new(Options { init_buf_bytes, ..Options::default() });
        p.sender.table("t").column_f64("x", 1.5).column_i64("n", 1).at(ts(0)).unwrap();
        p.sender.buffer.tables[0]
            .columns
            .iter()
            .map(|column| match &column.values {
                Values::Double(values) => values.capacity() * 8,
                Values::Long(values) => values.capacity() * 8,
                _ => unreachable!("two columns"),
            })
            .collect::<Vec<_>>()
    };
    let small: usize = capacity(0).iter().sum();
    assert!(small < 128, "{small}");
    let [first, second] = capacity(1 << 20)[..] else { panic!("two columns") };
    assert_eq!(first, 1 << 17);
    assert!(second > 100_000 && first + second <= 1 << 20, "{second}");
}
