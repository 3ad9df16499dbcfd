//! What a row is, and what is left of one that is not finished (FLUSH-08, FLUSH-09, FLUSH-15).

use super::*;
use crate::error::ErrorKind;
use crate::value::{Decimal, Geohash, TimestampMicros};

#[test]
fn flush_01_rows_arrive_in_the_order_in_which_they_were_finished() {
    let mut p = producer();
    assert_eq!(p.sender.flush().unwrap(), None);
    for i in 0..3 {
        p.sender.table("t").symbol("s", format!("v{}", i % 2)).column_i64("n", i).at(ts(i)).unwrap();
    }
    assert_eq!(p.sender.pending_rows(), 3);
    assert_eq!(p.sender.flush().unwrap().map(crate::Fsn::as_i64), Some(0));
    assert_eq!(p.sender.pending_rows(), 0);
    assert_eq!(p.rows(), ["t: s=v0 n=0 @=0", "t: s=v1 n=1 @=1", "t: s=v0 n=2 @=2"]);
    // A flush without rows says what was published before.
    assert_eq!(p.sender.flush().unwrap().map(crate::Fsn::as_i64), Some(0));
    assert_eq!(p.frames(), []);
}

#[test]
fn lim_14_columns_that_a_row_does_not_name_are_null() {
    let mut p = producer();
    p.sender.table("t").column_i64("a", 1).at(ts(0)).unwrap();
    p.sender.table("t").column_f64("b", 2.0).at(ts(1)).unwrap();
    p.sender.table("t").column_i64("a", None).column_bool("c", true).at(ts(2)).unwrap();
    p.sender.table("t").at(ts(3)).unwrap();
    assert_eq!(
        p.flushed(),
        [
            "t: a=1 b=null c=false @=0",
            "t: a=null b=2/4000000000000000 c=false @=1",
            "t: a=null b=null c=true @=2",
            "t: a=null b=null c=false @=3",
        ]
    );
}

#[test]
fn the_next_batch_has_only_its_own_columns() {
    let mut p = producer();
    p.sender.table("t").column_i64("a", 1).column_i64("b", 1).at(ts(0)).unwrap();
    p.sender.table("u").column_i64("x", 1).at(ts(0)).unwrap();
    assert_eq!(p.flushed().len(), 2);
    p.sender.table("t").column_i64("b", 2).at(ts(1)).unwrap();
    assert_eq!(p.flushed(), ["t: b=2 @=1"]);
    // A column may have another type in another batch: the server converts, or says no.
    p.sender.table("t").column_str("b", "x").at(ts(2)).unwrap();
    assert_eq!(p.flushed(), ["t: b=\"x\" @=2"]);
}

/// Trials E04, E05, E31.
#[test]
fn flush_09_a_column_set_twice_in_a_row_is_an_error_that_names_both_spellings() {
    let pairs = [
        ("x", "x"),
        ("Side", "side"),
        ("\u{c9}", "\u{e9}"),
        ("\u{3a3}", "\u{3c3}"),
        ("\u{130}", "i"),
        ("\u{212a}", "k"),
    ];
    for (first, second) in pairs {
        let mut p = producer();
        p.sender.table("t").column_i64("n", 1).at(ts(1)).unwrap();
        let e = p.sender.table("t").column_i64(first, 1).column_i64(second, 2).at(ts(2)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidCall);
        assert!(e.to_string().contains(second) && e.to_string().contains("table t"), "{e}");
        // Across rows the two are one column, in its first spelling.
        p.sender.table("t").column_i64(first, 3).at(ts(3)).unwrap();
        p.sender.table("t").column_i64(second, 4).at(ts(4)).unwrap();
        let [frame] = &p.frames_after_flush()[..] else { panic!("one frame") };
        assert_eq!(frame.schema, ["n:LONG".to_owned(), format!("{first}:LONG"), "@:TIMESTAMP_NS".into()]);
        assert_eq!(frame.rows.len(), 3);
    }
    for (a, b) in [("\u{df}", "SS"), ("\u{3c3}", "\u{3c2}"), ("\u{17f}", "s")] {
        let mut p = producer();
        p.sender.table("t").column_i64(a, 1).column_i64(b, 2).at(ts(0)).unwrap();
        assert_eq!(p.flushed().len(), 1);
    }
}

/// Trial E04: a server takes `T` and `t` for one table.
#[test]
fn table_names_that_are_one_to_the_server_are_one_here() {
    let mut p = producer();
    p.sender.table("T").column_i64("n", 1).at(ts(0)).unwrap();
    p.sender.table("t").column_i64("n", 2).at(ts(1)).unwrap();
    assert_eq!(p.flushed(), ["T: n=1 @=0", "T: n=2 @=1"]);
}

type Fail = fn(&mut Row<'_>);

use super::super::buffer::NO_ROW;
use super::super::rows::Row;

/// Trials E07, E16: whatever fails in a row, nothing of it is left.
#[test]
fn flush_08_a_failed_row_leaves_nothing_behind() {
    let long = "x".repeat((1 << 20) + 1);
    let failures: [(&str, Fail); 9] = [
        ("bad name", |row| _ = row.column_i64("a?", 1)),
        ("wrong type", |row| _ = row.column_str("n", "x")),
        ("twice", |row| _ = row.column_i64("n", 1)),
        ("precision", |row| _ = row.column_geohash("g", Geohash::new(1, 6).unwrap())),
        ("decimal digits", |row| _ = row.column_decimal("d", "1.2345".parse::<Decimal>().unwrap())),
        ("emoji in a char", |row| _ = row.column_char("c", '\u{1f600}')),
        ("address", |row| _ = row.column_ipv4("ip", std::net::Ipv4Addr::UNSPECIFIED)),
        ("ragged", |row| _ = row.column_f64_array("m", &vec![vec![1.0], vec![]])),
        ("rank", |row| _ = row.column_f64_array("m", &[[1.0]])),
    ];
    let good = |p: &mut Producer, i: i64| {
        p.sender
            .table("t")
            .symbol("s", "old")
            .column_i64("n", i)
            .column_geohash("g", Geohash::new(1, 5).unwrap())
            .column_decimal("d", "1.25".parse::<Decimal>().unwrap())
            .column_f64_array("m", &[1.5])
            .at(ts(i))
            .unwrap();
    };
    for (what, fail) in failures {
        for new_table in [false, true] {
            let mut p = producer();
            (0..3).for_each(|i| good(&mut p, i));
            let mut row = p.sender.table(if new_table { "ghost_table" } else { "t" });
            row.symbol("ghost_column", "ghost").column_i64("n", 9);
            if new_table {
                row.column_geohash("g", Geohash::new(1, 5).unwrap()).column_f64_array("m", &[1.0]);
                row.column_decimal("d", "1.25".parse::<Decimal>().unwrap());
            }
            fail(&mut row);
            let e = row.at(ts(9)).unwrap_err();
            assert!(!e.in_doubt(), "{what}: {e}");
            row.cancel_row();
            drop(row);
            (3..5).for_each(|i| good(&mut p, i));
            let frames = p.frames_after_flush();
            let [frame] = &frames[..] else { panic!("one frame") };
            assert_eq!(frame.rows.len(), 5, "{what}");
            assert_eq!(frame.new_symbols, ["old"], "{what}");
            assert!(frame.rows.iter().all(|row| row.starts_with("t: s=old n=")), "{what}: {:?}", frame.rows);
            assert_eq!(frame.schema.len(), 6, "{what}: {:?}", frame.schema);
        }
    }
    let mut p = producer();
    let e = p.sender.table("t").symbol("s", &long).at(ts(0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLarge);
    let e = p.sender.table("t").column_i64("n", 1).at(TimestampNanos::new(-1)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidValue);
    assert_eq!(p.flushed(), [""; 0]);
}

/// Trial E23.
#[test]
fn flush_08_a_dropped_or_cancelled_row_is_gone_and_the_rows_before_it_stay() {
    let mut p = producer();
    p.sender.table("t").symbol("s", "a").column_i64("n", 1).at(ts(1)).unwrap();
    let _ = p.sender.table("t").symbol("s", "dropped").column_i64("n", 2);
    let mut row = p.sender.table("t");
    row.symbol("s", "cancelled").column_str("extra", "x");
    row.cancel_row();
    row.cancel_row();
    assert_eq!(row.at(ts(2)).unwrap_err().kind(), ErrorKind::InvalidCall);
    drop(row);
    assert_eq!(p.sender.pending_rows(), 1);
    assert_eq!(p.flushed(), ["t: s=a n=1 @=1"]);
    p.sender.table("t").symbol("s", "b").column_i64("n", 3).at(ts(3)).unwrap();
    let [frame] = &p.frames_after_flush()[..] else { panic!("one frame") };
    assert_eq!(
        (&frame.new_symbols[..], &frame.rows[..]),
        (&["b".to_owned()][..], &["t: s=b n=3 @=3".to_owned()][..])
    );
}

/// Ids that were taken back must not live on in a column's memory of texts.
#[test]
fn flush_08_a_symbol_that_was_taken_back_gets_a_new_id() {
    let mut p = producer();
    p.sender.table("t").symbol("s", "a").at(ts(0)).unwrap();
    p.sender.table("t").symbol("s", "ghost").cancel_row();
    p.sender.table("t").symbol("s", "b").at(ts(1)).unwrap();
    p.sender.table("t").symbol("s", "ghost").at(ts(2)).unwrap();
    assert_eq!(p.flushed(), ["t: s=a @=0", "t: s=b @=1", "t: s=ghost @=2"]);
}

/// Trial E22.
#[test]
fn flush_15_a_time_alone_is_a_row_and_nothing_at_all_is_none() {
    let mut p = producer();
    p.sender.table("t").at(ts(5)).unwrap();
    let e = p.sender.table("t").at_now().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidCall);
    assert!(e.to_string().contains("set a column"), "{e}");
    let _ = p.sender.table("u");
    assert_eq!(p.flushed(), ["t: @=5"]);
}

/// Trial E26.
#[test]
fn flush_09_two_resolutions_are_an_error_and_at_now_mixes_with_each() {
    let mut p = producer();
    p.sender.table("t").column_i64("n", 1).at(ts(1000)).unwrap();
    let e = p.sender.table("t").column_i64("n", 2).at(TimestampMicros::new(2)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidCall);
    p.sender.table("t").column_i64("n", 3).at_now().unwrap();
    p.sender.table("now").column_i64("n", 4).at_now().unwrap();
    p.sender.table("us").column_i64("n", 5).at(TimestampMicros::new(7)).unwrap();
    assert_eq!(p.flushed(), ["t: n=1 @=1000", "t: n=3 @=null", "now: n=4", "us: n=5 @=7"]);
    // Another batch is free to choose.
    p.sender.table("t").column_i64("n", 6).at(TimestampMicros::new(2)).unwrap();
    assert_eq!(p.flushed(), ["t: n=6 @=2"]);
}

#[test]
fn flush_09_a_missing_or_bad_table_name_is_an_error_of_the_row() {
    let mut p = producer();
    for name in ["", "a?b", "..", &"x".repeat(128)] {
        let e = p.sender.table(name).column_i64("n", 1).at(ts(0)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidValue, "{name}");
    }
    assert_eq!(p.flushed(), [""; 0]);
}

/// Trial E31: the designated column of a table that a frame makes is called `timestamp`.
#[test]
fn flush_21_a_column_called_timestamp_needs_the_key_that_allows_it() {
    for name in ["timestamp", "TimeStamp"] {
        let mut p = producer();
        let e = p.sender.table("t").column_i64(name, 1).at(ts(0)).unwrap_err();
        assert!(e.to_string().contains("allow_timestamp_column"), "{e}");
        assert!(p.sender.table("t").symbol(name, "x").at(ts(0)).is_err());
        assert!(p.sender.table("t").column_ts(name, ts(1)).at(ts(0)).is_err());
        assert_eq!(p.flushed(), [""; 0]);
        let mut p = Producer::new(Options { allow_timestamp: true, ..Options::default() });
        p.sender.table("t").column_i64(name, 1).at(ts(0)).unwrap();
        assert_eq!(p.flushed(), [format!("t: {name}=1 @=0")]);
    }
}

#[test]
fn a_row_can_be_built_by_steps() {
    let mut p = producer();
    let optional: Option<&str> = None;
    let mut row = p.sender.table("t");
    row.column_i64("n", 3_000_000_000);
    row.column_str("text", optional);
    row.column_str("other", String::from("x"));
    row.at(ts(1)).unwrap();
    drop(row);
    assert_eq!(p.flushed(), ["t: n=3000000000 text=null other=\"x\" @=1"]);
}

/// Trial P01: what a leaked row has set does not end up in the next one.
#[test]
fn flush_08_a_leaked_row_is_taken_back_by_the_next_call() {
    let leak = |p: &mut Producer| {
        let mut row = p.sender.table("t");
        row.column_i64("leaked", 1).column_i64("n", 2);
        std::mem::forget(row);
    };
    let mut p = producer();
    leak(&mut p);
    assert_ne!(p.sender.buffer.open_row, NO_ROW);
    p.sender.table("t").column_i64("n", 3).at(ts(1)).unwrap();
    assert_eq!(p.sender.buffer.open_row, NO_ROW, "a row that has ended costs the next one nothing");
    leak(&mut p);
    p.sender.table("u").column_i64("n", 4).at(ts(2)).unwrap();
    leak(&mut p);
    p.sender.columns("t").column_i64("n", &[5]).at_nanos(&[3]).unwrap();
    leak(&mut p);
    assert_eq!(p.flushed(), ["t: n=3 @=1", "t: n=5 @=3", "u: n=4 @=2"]);
}
