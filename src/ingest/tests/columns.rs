//! Columns at a time (FLUSH-18).

use super::super::arrays::Array;
use super::super::columns::Masked;
use super::super::texts::Texts;
use super::*;
use crate::error::ErrorKind;
use crate::value::{Date, Decimal, Geohash, Long256, Uuid};
use proptest::prelude::*;
use std::net::Ipv4Addr;

#[test]
fn flush_18_a_batch_of_columns_is_published_at_once() {
    let mut p = producer();
    let prices = vec![0.5, 1.5, 2.5];
    let (addresses, dates) = ([Ipv4Addr::new(0, 0, 0, 1); 3], [Date::new(5); 3]);
    let ids = [Uuid::from_u128(6); 3];
    let published = p
        .sender
        .columns("t")
        .symbol("s", &[1_u8, 0, 1], &["a", "b", "unused"])
        .column_f64("f", &prices)
        .column_i64("n", Masked::new(&[7, 8, 9], &[0b101]))
        .column_bool("b", &[true, false, true])
        .column_i8("i8", Masked::new(&[1, 2, 3], &[0b011]))
        .column_str("x", &["p", "", "q"])
        .column_u64("u", &[0, 1, i64::MAX as u64])
        .column_ipv4("ip", &addresses)
        .column_date("d", &dates)
        .column_uuid("id", &ids)
        .at_nanos(&[1, 2, 3])
        .unwrap();
    assert_eq!(published.map(crate::Fsn::as_i64), Some(0));
    assert_eq!(p.sender.pending_rows(), 0);
    let [frame] = &p.frames()[..] else { panic!("one frame") };
    assert_eq!(frame.new_symbols, ["b", "a"]);
    assert_eq!(
        frame.rows,
        [
            "t: s=b f=0.5/3fe0000000000000 n=7 b=true i8=1 x=\"p\" u=0 ip=1 d=5 id=00000000000000000000000000000006 @=1",
            "t: s=a f=1.5/3ff8000000000000 n=null b=false i8=2 x=\"\" u=1 ip=1 d=5 id=00000000000000000000000000000006 @=2",
            "t: s=b f=2.5/4004000000000000 n=9 b=true i8=0 x=\"q\" u=9223372036854775807 ip=1 d=5 id=00000000000000000000000000000006 @=3",
        ]
    );
}

#[test]
fn flush_18_the_types_with_a_parameter_or_a_length_of_their_own_are_taken_too() {
    let mut p = producer();
    p.sender.decimal_scale("t", "d", 3).unwrap();
    let hashes = [Geohash::new(5, 8).unwrap(), Geohash::new(6, 8).unwrap()];
    let decimals = ["1.5".parse::<Decimal>().unwrap(), "-2".parse().unwrap()];
    let arrays = [Array::new(&[2], &[1.0, 2.0]).unwrap(), Array::new(&[0], &[]).unwrap()];
    let longs = [Long256::from_limbs([1, 2, 3, 4]); 2];
    let blobs = [b"\0\xff".as_slice(), b""];
    p.sender
        .columns("t")
        .column_geohash("g", Masked::new(&hashes, &[0b10]))
        .column_decimal("d", &decimals)
        .column_f64_array("a", &arrays)
        .column_long256("l", &longs)
        .column_binary("b", &blobs)
        .column_char("c", Masked::new(&['x', '\u{1f600}'], &[0b01]))
        .at_nanos(&[1, 2])
        .unwrap();
    assert_eq!(
        p.rows(),
        [
            "t: g=null d=0.0.0.5dc a=[2][1.0, 2.0] l=4.3.2.1 b=[00, ff] c=120 @=1",
            "t: g=6 d=ffffffffffffffff.ffffffffffffffff.ffffffffffffffff.fffffffffffff830 a=[0][] l=4.3.2.1 b=[] c=0 @=2",
        ]
    );
    // The same scale in the next batch, and what does not fit is told with its row.
    let (tiny, fits) = (["0.0001".parse().unwrap()], ["0.001".parse().unwrap()]);
    let e = p.sender.columns("t").column_decimal("d", &tiny).at_nanos(&[3]).unwrap_err();
    assert!(e.to_string().contains("row 0") && e.to_string().contains("decimal_scale"), "{e}");
    let mixed = [Geohash::new(5, 8).unwrap(), Geohash::new(5, 9).unwrap()];
    let e = p.sender.columns("t").column_geohash("g", &mixed).at_nanos(&[3, 4]).unwrap_err();
    assert!(e.to_string().contains("row 1"), "{e}");
    let ranks = [Array::new(&[1], &[1.0]).unwrap(), Array::new(&[1, 1], &[1.0]).unwrap()];
    assert!(p.sender.columns("t").column_f64_array("a", &ranks).at_nanos(&[3, 4]).is_err());
    assert!(p.sender.columns("t").column_char("c", &['\u{1f600}']).at_nanos(&[3]).is_err());
    assert_eq!(p.frames(), []);
    p.sender.columns("t").column_decimal("d", &fits).at_nanos(&[5]).unwrap();
    assert_eq!(p.rows(), ["t: d=0.0.0.1 @=5"]);
}

#[test]
fn flush_18_pending_rows_go_first_and_the_times_may_be_the_servers() {
    let mut p = producer();
    p.sender.table("t").column_i64("n", 1).at_now().unwrap();
    p.sender.columns("t").column_i64("n", &[2, 3]).at_now().unwrap();
    assert_eq!(p.rows(), ["t: n=1", "t: n=2", "t: n=3"]);
    let none: [i64; 0] = [];
    assert!(p.sender.columns("t").column_i64("n", &none).at_nanos(&none).is_ok());
    assert_eq!(p.frames(), []);
    p.sender.columns("t").at_micros(&[5, 6]).unwrap();
    assert_eq!(p.rows(), ["t: @=5", "t: @=6"]);
}

#[test]
fn flush_18_what_is_wrong_is_told_with_column_and_row_before_anything_is_added() {
    type Fail = fn(&mut Sender) -> crate::Result<Option<crate::Fsn>>;
    let cases: [(&str, ErrorKind, &str, Fail); 16] = [
        ("unequal", ErrorKind::InvalidCall, "column n", |s| {
            s.columns("t").column_i64("n", &[1]).at_nanos(&[1, 2])
        }),
        ("validity", ErrorKind::InvalidCall, "column n", |s| {
            s.columns("t").column_i64("n", Masked::new(&[1; 9], &[0xff])).at_nanos(&[1; 9])
        }),
        ("twice", ErrorKind::InvalidCall, "column N", |s| {
            s.columns("t").column_i64("n", &[1]).column_i64("N", &[1]).at_nanos(&[1])
        }),
        ("type", ErrorKind::InvalidCall, "column old", |s| {
            s.columns("t").column_f64("old", &[1.0]).at_nanos(&[1])
        }),
        ("code", ErrorKind::InvalidValue, "row 1", |s| {
            s.columns("t").symbol("s", &[0_i8, 1], &["ghost"]).at_nanos(&[1, 2])
        }),
        ("negative code", ErrorKind::InvalidValue, "row 0", |s| {
            s.columns("t").symbol("s", &[-1_i16], &["ghost"]).at_nanos(&[1])
        }),
        ("utf-8", ErrorKind::InvalidValue, "column x", |s| {
            s.columns("t").column_str("x", Texts::new(&[0, 1], b"\xff")).at_nanos(&[1])
        }),
        ("split character", ErrorKind::InvalidValue, "row 0", |s| {
            s.columns("t").column_str("x", Texts::new(&[0, 1, 2], "\u{e9}".as_bytes())).at_nanos(&[1, 2])
        }),
        ("offsets fall", ErrorKind::InvalidValue, "row 2", |s| {
            s.columns("t").column_str("x", Texts::new(&[0, 2, 1], b"ab")).at_nanos(&[1, 2])
        }),
        ("offsets leave", ErrorKind::InvalidValue, "row 1", |s| {
            s.columns("t").symbol("s", &[0_u8], Texts::new(&[0, 3], b"ab")).at_nanos(&[1])
        }),
        ("negative offset", ErrorKind::InvalidValue, "negative", |s| {
            s.columns("t").column_str("x", Texts::new(&[0_i64, -1], b"ab")).at_nanos(&[1])
        }),
        ("u64", ErrorKind::InvalidValue, "row 1", |s| {
            s.columns("t").column_u64("u", &[1, 1 << 63]).at_nanos(&[1, 2])
        }),
        ("address", ErrorKind::InvalidValue, "row 0", |s| {
            s.columns("t").column_ipv4("ip", &[Ipv4Addr::UNSPECIFIED]).at_nanos(&[1])
        }),
        ("time", ErrorKind::InvalidValue, "row 1", |s| {
            s.columns("t").column_i64("n", &[1, 2]).at_nanos(&[1, -1])
        }),
        ("name", ErrorKind::InvalidValue, "timestamp", |s| {
            s.columns("t").column_i64("timestamp", &[1]).at_nanos(&[1])
        }),
        ("nothing", ErrorKind::InvalidCall, "column", |s| s.columns("t").at_now()),
    ];
    for (what, kind, says, fail) in cases {
        let mut p = producer();
        p.sender.table("t").column_i64("old", 1).at(ts(0)).unwrap();
        let e = fail(&mut p.sender).unwrap_err();
        assert_eq!(e.kind(), kind, "{what}: {e}");
        assert!(e.to_string().contains(says), "{what}: {e}");
        assert!(!e.in_doubt());
        assert_eq!((p.frames(), p.sender.pending_rows()), (vec![], 1), "{what}");
        p.sender.table("t").symbol("s", "real").at(ts(1)).unwrap();
        let [frame] = &p.frames_after_flush()[..] else { panic!("one frame") };
        assert_eq!(frame.new_symbols, ["real"], "{what}");
        assert_eq!(frame.rows, ["t: old=1 s=null @=0", "t: old=null s=real @=1"], "{what}");
    }
}

#[test]
fn flush_18_null_rows_intern_no_symbol_and_need_no_code() {
    let mut p = producer();
    p.sender
        .columns("t")
        .symbol("s", Masked::new(&[0_i32, 77], &[0b01]), &["a", "b"])
        .at_nanos(&[1, 2])
        .unwrap();
    let [frame] = &p.frames()[..] else { panic!("one frame") };
    assert_eq!((&frame.new_symbols[..], frame.rows.len()), (&["a".to_owned()][..], 2));
    assert_eq!(frame.rows[1], "t: s=null @=2");
    let texts = Texts::new(&[0_i32, 1, 2], b"ab").with_validity(&[0b10]);
    p.sender.columns("t").column_str("x", texts).at_nanos(&[3, 4]).unwrap();
    assert_eq!(p.rows(), ["t: x=null @=3", "t: x=\"b\" @=4"]);
}

#[test]
fn flush_12_under_a_transaction_a_batch_of_columns_waits_for_the_flush() {
    let mut p = Producer::new(Options { transaction: true, ..Options::default() });
    assert_eq!(p.sender.columns("t").column_i64("n", &[1, 2]).at_nanos(&[1, 2]).unwrap(), None);
    assert_eq!((p.frames(), p.sender.pending_rows()), (vec![], 2));
    assert_eq!(p.flushed(), ["t: n=1 @=1", "t: n=2 @=2"]);
}

proptest! {
    /// The frames carry the same values as the same rows added one by one, also when split.
    #[test]
    fn flush_18_columns_are_the_same_as_rows(rows in proptest::collection::vec(
        (proptest::option::of(0_u16..5), proptest::option::of(any::<f64>()), any::<Option<i64>>(), any::<Option<bool>>(), any::<Option<i16>>(), "[a-z]{0,40}", 0_i64..1 << 50), 1..150)) {
        const NAMES: [&str; 5] = ["a", "", "long symbol text beyond 16", "d", "e"];
        let small = || Options { segment_bytes: 4096, ..Options::default() };
        let (mut by_rows, mut by_columns) = (Producer::new(small()), Producer::new(small()));
        for (code, f, n, b, i, x, t) in &rows {
            let mut row = by_rows.sender.table("t");
            row.symbol("s", code.map(|code| NAMES[usize::from(code)])).column_f64("f", *f).column_i64("n", *n);
            row.column_bool("b", *b).column_i16("i", *i).column_str("x", x);
            row.at(ts(*t)).unwrap();
        }
        fn split<T: Copy + Default>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<u8>) {
            let values: Vec<Option<T>> = values.collect();
            let mut bits = vec![0_u8; values.len().div_ceil(8)];
            values.iter().enumerate().for_each(|(at, value)| bits[at / 8] |= u8::from(value.is_some()) << (at % 8));
            (values.into_iter().map(Option::unwrap_or_default).collect(), bits)
        }
        let (s, s_bits) = split(rows.iter().map(|row| row.0));
        let (f, f_bits) = split(rows.iter().map(|row| row.1));
        let (n, n_bits) = split(rows.iter().map(|row| row.2));
        let (b, b_bits) = split(rows.iter().map(|row| row.3));
        let (i, i_bits) = split(rows.iter().map(|row| row.4));
        let x: Vec<&str> = rows.iter().map(|row| row.5.as_str()).collect();
        let t: Vec<i64> = rows.iter().map(|row| row.6).collect();
        by_columns.sender.columns("t")
            .symbol("s", Masked::new(&s, &s_bits), &NAMES)
            .column_f64("f", Masked::new(&f, &f_bits))
            .column_i64("n", Masked::new(&n, &n_bits))
            .column_bool("b", Masked::new(&b, &b_bits))
            .column_i16("i", Masked::new(&i, &i_bits))
            .column_str("x", &x)
            .at_nanos(&t).unwrap();
        prop_assert!(by_rows.flushed() == by_columns.rows());
    }
}
