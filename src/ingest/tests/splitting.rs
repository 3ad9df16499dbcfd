//! Large batches: frames within the limit, groups that commit as one (FLUSH-03, LIM-03, LIM-05).

use super::*;
use crate::error::ErrorKind;
use proptest::prelude::*;

/// Segments of 4 KiB: frames of at most 2032 bytes, a row of at most 4064.
fn small() -> Options {
    Options { segment_bytes: 4096, ..Options::default() }
}

#[test]
fn flush_03_a_large_batch_is_cut_by_rows_and_only_its_last_frame_commits() {
    let mut p = Producer::new(small());
    for i in 0..500 {
        p.sender.table("t").symbol("s", format!("symbol {i}")).column_i64("n", i).at(ts(i)).unwrap();
    }
    p.sender.table("u").column_str("x", "last").at(ts(0)).unwrap();
    let frames = p.frames_after_flush();
    assert!(frames.len() > 5, "{}", frames.len());
    for (at, frame) in frames.iter().enumerate() {
        assert!(frame.bytes <= 2032, "{}", frame.bytes);
        assert_eq!(frame.deferred, at + 1 < frames.len());
    }
    let rows: Vec<String> = frames.into_iter().flat_map(|frame| frame.rows).collect();
    assert_eq!(rows.len(), 501);
    for (i, row) in rows[..500].iter().enumerate() {
        assert_eq!(*row, format!("t: s=symbol {i} n={i} @={i}"));
    }
}

#[test]
fn lim_05_a_single_row_may_use_the_whole_message_and_not_one_byte_more() {
    let mut p = Producer::new(small());
    // Header 12, delta 2, table 2, counts 2, schema 3 + 2, null flags 2, offsets 8, encoding and time 9.
    let overhead = 12 + 2 + 2 + 2 + 3 + 2 + 2 + 8 + 9;
    let fits = "x".repeat(4096 - 32 - overhead);
    p.sender.table("t").column_str("s", &fits).at(ts(0)).unwrap();
    let [frame] = &p.frames_after_flush()[..] else { panic!("one frame") };
    assert_eq!(frame.bytes, 4096 - 32);
    p.sender.table("t").column_i64("n", 1).at(ts(0)).unwrap();
    let e = p.sender.table("t").column_str("s", format!("{fits}x")).at(ts(0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLarge);
    assert!(e.to_string().contains("4065"), "{e}");
    assert_eq!(p.flushed(), ["t: n=1 @=0"]);
}

/// Trial E34.
#[test]
fn lim_03_no_group_reaches_a_million_rows_of_a_table() {
    let mut p = producer();
    for i in 0..2_500_000 {
        p.sender.table(if i % 5 == 0 { "u" } else { "t" }).column_bool("b", true).at(ts(0)).unwrap();
    }
    p.sender.flush().unwrap();
    let mut in_group = std::collections::HashMap::new();
    let mut rows = 0;
    for frame in p.frames_without_rows() {
        for (table, count) in frame.rows_by_table {
            rows += count;
            *in_group.entry(table).or_insert(0) += count;
        }
        assert!(in_group.values().all(|count| *count <= 999_999), "{in_group:?}");
        if !frame.deferred {
            in_group.clear();
        }
    }
    assert!(in_group.is_empty(), "the last frame commits");
    assert_eq!(rows, 2_500_000);
}

#[test]
fn lim_03_a_transaction_refuses_the_row_that_a_server_would_commit_by_itself() {
    let mut p = Producer::new(Options { transaction: true, ..Options::default() });
    for _ in 0..999_999 {
        p.sender.table("t").column_bool("b", true).at(ts(0)).unwrap();
    }
    let e = p.sender.table("t").column_bool("b", true).at(ts(0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLarge);
    p.sender.table("u").column_bool("b", true).at(ts(0)).unwrap();
    p.sender.flush().unwrap();
    let frames = p.frames_without_rows();
    assert!(frames.iter().rev().skip(1).all(|frame| frame.deferred));
    assert_eq!(
        frames.iter().flat_map(|frame| &frame.rows_by_table).map(|(_, count)| count).sum::<usize>(),
        1_000_000
    );
}

/// Trial E29.
#[test]
fn lim_22_no_group_names_more_tables_than_a_server_takes() {
    let mut p = producer();
    for i in 0..25_000 {
        p.sender.table(&format!("t{i}")).column_bool("b", true).at(ts(0)).unwrap();
    }
    p.sender.flush().unwrap();
    let mut tables = std::collections::HashSet::new();
    let mut all = 0;
    for frame in p.frames_without_rows() {
        all += frame.rows_by_table.len();
        tables.extend(frame.rows_by_table.into_iter().map(|(table, _)| table));
        assert!(tables.len() <= 10_000);
        if !frame.deferred {
            tables.clear();
        }
    }
    assert_eq!(all, 25_000);
}

#[test]
fn pub_06_a_flush_that_finds_no_room_keeps_all_rows() {
    let mut p = Producer::new(Options { segment_bytes: 4096, total_bytes: 8192, ..Options::default() });
    let fill = |p: &mut Producer| {
        for i in 0..150 {
            p.sender
                .table("t")
                .symbol("s", format!("s{i}"))
                .column_i64("n", i * 1_000_003)
                .at(ts(i * i))
                .unwrap();
        }
    };
    fill(&mut p);
    p.sender.flush().unwrap();
    fill(&mut p);
    let e = loop {
        match p.sender.flush() {
            Ok(_) => fill(&mut p),
            Err(e) => break e,
        }
    };
    assert_eq!(e.kind(), ErrorKind::BackPressure);
    assert!(!e.in_doubt());
    assert!(e.to_string().contains("8192"), "{e}");
    assert_eq!(p.sender.pending_rows(), 150);
    assert_eq!(p.sender.flush().unwrap_err().kind(), ErrorKind::BackPressure);
}

#[test]
fn pub_13_a_batch_that_the_store_can_never_hold_is_told_at_once() {
    let mut p = Producer::new(Options { segment_bytes: 4096, total_bytes: 8192, ..Options::default() });
    for i in 0..2000 {
        p.sender.table("t").column_str("s", format!("text number {i}")).at(ts(0)).unwrap();
    }
    let e = p.sender.flush().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLarge);
    assert!(e.to_string().contains("sf_max_total_bytes"), "{e}");
    assert_eq!(p.sender.pending_rows(), 2000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Trial E28: whatever the rows, no frame outgrows the limit, and what was cut is the same as
    /// what was not.
    #[test]
    fn lim_05_frames_stay_within_the_limit_and_carry_the_same_rows(rows in proptest::collection::vec(
        (0_usize..3, proptest::option::of("[a-z]{0,300}"), proptest::option::of(any::<i64>()), "[a-e]{1,2}", any::<bool>(), 0_i64..1 << 40), 1..200)) {
        let mut cut = Producer::new(small());
        let mut whole = producer();
        for p in [&mut cut, &mut whole] {
            for (table, text, number, symbol, flag, time) in &rows {
                let mut row = p.sender.table(["t", "u", "long_table_name"][*table]);
                row.symbol("s", symbol).column_str("x", text).column_i64("n", *number);
                if *flag {
                    row.column_bool("b", true).column_f64("f", 1.5);
                }
                row.at(ts(*time)).unwrap();
            }
        }
        let frames = cut.frames_after_flush();
        prop_assert!(frames.iter().all(|frame| frame.bytes <= 2032));
        // Absent is NULL.
        let values = |row: String| row.split(' ').filter(|cell| !cell.ends_with("=null")).collect::<Vec<_>>().join(" ");
        let cut: Vec<String> = frames.into_iter().flat_map(|frame| frame.rows).map(values).collect();
        let whole: Vec<String> = whole.flushed().into_iter().map(values).collect();
        prop_assert!(cut == whole);
    }
}
