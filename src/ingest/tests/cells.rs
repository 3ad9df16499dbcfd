//! Every type of cell, its bounds and its NULL.

use super::*;
use crate::error::ErrorKind;
use crate::value::{Date, Decimal, DecimalWidth, Geohash, Long256, TimestampMicros, Uuid};
use std::net::Ipv4Addr;

fn row_of_values(p: &mut Producer) {
    p.sender
        .table("t")
        .symbol("sy", "")
        .column_bool("bo", true)
        .column_i8("i8", -128)
        .column_i16("i16", -32_768)
        .column_i32("i32", i32::MIN)
        .column_i64("i64", i64::MIN)
        .column_f32("f32", 0.1)
        .column_f64("f64", 0.1)
        .column_str("str", "na\u{ef}ve\0\u{feff}\u{1f600}")
        .column_binary("bin", b"\0\xff")
        .column_char("ch", '\u{ffff}')
        .column_ts("tsn", ts(i64::MAX))
        .column_ts("tsu", TimestampMicros::new(i64::MIN))
        .column_date("da", Date::new(-1))
        .column_uuid("uu", Uuid::from_u128(0x1234_0000_0000_0000_0000_0000_0000_5678))
        .column_long256("l2", Long256::from_limbs([1, 2, 3, 4]))
        .column_ipv4("ip", Ipv4Addr::new(255, 255, 255, 255))
        .column_geohash("ge", Geohash::new(0xff, 8).unwrap())
        .column_decimal("de", "-1.25".parse::<Decimal>().unwrap())
        .column_f64_array("ar", &[[1.0, f64::INFINITY]])
        .at(ts(1))
        .unwrap();
}

fn row_of_nulls(p: &mut Producer) {
    p.sender
        .table("t")
        .symbol("sy", None::<&str>)
        .column_bool("bo", None)
        .column_i8("i8", None)
        .column_i16("i16", None)
        .column_i32("i32", None)
        .column_i64("i64", None)
        .column_f32("f32", None)
        .column_f64("f64", None)
        .column_str("str", None::<String>)
        .column_binary("bin", None::<&[u8]>)
        .column_char("ch", None)
        .column_ts("tsn", None::<TimestampNanos>)
        .column_ts("tsu", None::<TimestampMicros>)
        .column_date("da", None)
        .column_uuid("uu", None)
        .column_long256("l2", None)
        .column_ipv4("ip", None)
        .column_geohash("ge", None)
        .column_decimal("de", None)
        .column_f64_array("ar", None::<&[f64]>)
        .at(ts(2))
        .unwrap();
}

#[test]
fn every_type_arrives_as_it_was_set_and_null_as_null() {
    let mut p = producer();
    row_of_values(&mut p);
    row_of_nulls(&mut p);
    let frames = p.frames_after_flush();
    assert_eq!(
        frames[0].rows[0],
        "t: sy= bo=true i8=-128 i16=-32768 i32=-2147483648 i64=-9223372036854775808 f32=0.1/3dcccccd \
         f64=0.1/3fb999999999999a str=\"na\u{ef}ve\\0\\u{feff}\u{1f600}\" bin=[00, ff] ch=65535 \
         tsn=9223372036854775807 tsu=-9223372036854775808 da=-1 uu=12340000000000000000000000005678 l2=4.3.2.1 \
         ip=4294967295 ge=255 de=ffffffffffffffff.ffffffffffffffff.ffffffffffffffff.ffffffffffffff83 \
         ar=[1, 2][1.0, inf] @=1"
    );
    assert_eq!(
        frames[0].rows[1],
        "t: sy=null bo=false i8=0 i16=0 i32=null i64=null f32=null f64=null str=null bin=null ch=0 tsn=null \
         tsu=null da=null uu=null l2=null ip=null ge=null de=null ar=null @=2"
    );
    assert_eq!(
        frames[0].schema,
        [
            "sy:SYMBOL",
            "bo:BOOLEAN",
            "i8:BYTE",
            "i16:SHORT",
            "i32:INT",
            "i64:LONG",
            "f32:FLOAT",
            "f64:DOUBLE",
            "str:VARCHAR",
            "bin:BINARY",
            "ch:CHAR",
            "tsn:TIMESTAMP_NS",
            "tsu:TIMESTAMP",
            "da:DATE",
            "uu:UUID",
            "l2:LONG256",
            "ip:IPv4",
            "ge:GEOHASH",
            "de:DECIMAL256",
            "ar:DOUBLE[]",
            "@:TIMESTAMP_NS"
        ]
    );
}

/// Trial E11.
#[test]
fn flush_19_odd_floats_go_out_bit_by_bit() {
    let odd =
        [f64::NAN, f64::from_bits(0xfff8_0000_0000_1234), f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324];
    let mut p = producer();
    for value in odd {
        p.sender
            .table("t")
            .column_f64("x", value)
            .column_f32("y", f32::from_bits(0xffc0_0001))
            .at(ts(0))
            .unwrap();
    }
    for (row, value) in p.flushed().iter().zip(odd) {
        assert!(row.contains(&format!("/{:016x} y=NaN/ffc00001", value.to_bits())), "{row}");
    }
}

/// Trial E10.
#[test]
fn flush_19_an_address_that_is_null_to_the_server_is_refused() {
    let mut p = producer();
    let e = p.sender.table("t").column_ipv4("ip", Ipv4Addr::UNSPECIFIED).at(ts(0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidValue);
    assert!(e.to_string().contains("None"), "{e}");
    p.sender.table("t").column_ipv4("ip", Ipv4Addr::new(1, 2, 3, 4)).at(ts(0)).unwrap();
    assert_eq!(p.flushed(), ["t: ip=16909060 @=0"]);
}

#[test]
fn lim_07_a_char_is_one_utf_16_unit() {
    let mut p = producer();
    for (c, ok) in [('\0', true), ('\u{e9}', true), ('\u{ffff}', true), ('\u{10000}', false)] {
        assert_eq!(p.sender.table("t").column_char("c", c).at(ts(0)).is_ok(), ok, "{c:?}");
    }
}

/// Trials E08, FLUSH-22.
#[test]
fn lim_11_a_batch_has_one_precision_and_a_column_that_is_all_null_is_left_out() {
    for precision in [1, 5, 8, 59, 60] {
        let ones = (1_u64 << precision) - 1;
        let mut p = producer();
        p.sender.table("t").column_geohash("g", Geohash::new(ones, precision).unwrap()).at(ts(0)).unwrap();
        p.sender.table("t").column_geohash("g", Geohash::new(0, precision).unwrap()).at(ts(1)).unwrap();
        let other = Geohash::new(0, if precision == 1 { 2 } else { precision - 1 }).unwrap();
        let e = p.sender.table("t").column_geohash("g", other).at(ts(2)).unwrap_err();
        assert!(e.to_string().contains("column g") && e.to_string().contains(&precision.to_string()), "{e}");
        assert_eq!(p.flushed(), [format!("t: g={ones} @=0"), "t: g=0 @=1".to_owned()]);
        p.sender.table("t").column_geohash("g", None).at(ts(3)).unwrap();
        assert_eq!(p.flushed(), ["t: @=3"]);
        p.sender.table("t").column_geohash("g", other).at(ts(4)).unwrap();
        assert_eq!(p.flushed(), ["t: g=0 @=4"]);
    }
}

/// Trial E14.
#[test]
fn flush_22_a_decimal_column_keeps_its_first_scale_for_good() {
    let decimal = |text: &str| text.parse::<Decimal>().unwrap();
    let mut p = producer();
    p.sender.table("t").column_decimal("d", decimal("1.25")).at(ts(0)).unwrap();
    p.sender.table("t").column_decimal("d", decimal("1.5")).at(ts(1)).unwrap();
    let e = p.sender.table("t").column_decimal("d", decimal("1.125")).at(ts(2)).unwrap_err();
    assert!(e.to_string().contains("decimal_scale") && e.to_string().contains("column d"), "{e}");
    assert_eq!(p.flushed(), ["t: d=0.0.0.7d @=0", "t: d=0.0.0.96 @=1"]);
    // In the next batch too, and when the table was forgotten meanwhile.
    for i in 0..1100 {
        p.sender.table(&format!("other{i}")).at(ts(0)).unwrap();
    }
    p.flushed();
    p.sender.table("T").column_decimal("D", decimal("2")).at(ts(3)).unwrap();
    assert_eq!(p.flushed(), ["T: D=0.0.0.c8 @=3"]);
    assert!(p.sender.table("t").column_decimal("d", decimal("1.125")).at(ts(4)).is_err());
    assert!(p.sender.decimal_scale("t", "d", 3).is_err());
    p.sender.decimal_scale("t", "d", 2).unwrap();
    // Declared before the first value.
    p.sender.decimal_scale("t", "e", 4).unwrap();
    p.sender.table("t").column_decimal("e", decimal("1")).at(ts(5)).unwrap();
    assert_eq!(p.flushed(), ["T: e=0.0.0.2710 @=5"]);
    assert!(p.sender.decimal_scale("t", "x", 77).is_err());
    assert!(p.sender.decimal_scale("t", "x", 76).is_ok());
}

#[test]
fn flush_22_a_scale_that_only_a_failed_row_brought_is_forgotten() {
    let decimal = |text: &str| text.parse::<Decimal>().unwrap();
    let mut p = producer();
    p.sender.table("t").column_i64("n", 1).at(ts(0)).unwrap();
    p.sender.table("t").column_decimal("d", None).at(ts(1)).unwrap();
    p.sender.table("t").column_decimal("d", decimal("1.25")).cancel_row();
    p.sender.table("t").column_decimal("d", decimal("1.125")).at(ts(2)).unwrap();
    assert_eq!(p.flushed()[2], "t: n=null d=0.0.0.465 @=2");
}

#[test]
fn lim_10_digits_beyond_the_width_are_refused_also_after_raising() {
    let decimal = |text: &str, width| text.parse::<Decimal>().unwrap().with_width(width);
    for (width, digits) in [(DecimalWidth::W64, 18), (DecimalWidth::W128, 38), (DecimalWidth::W256, 76)] {
        for sign in ["", "-"] {
            let mut p = producer();
            let most = format!("{sign}{}", "9".repeat(digits));
            p.sender.table("t").column_decimal("d", decimal(&most, width).unwrap()).at(ts(0)).unwrap();
            let one_more = format!("{most}9").parse::<Decimal>().and_then(|d| d.with_width(width));
            assert_eq!(one_more.unwrap_err().kind(), ErrorKind::InvalidValue);
            p.sender.decimal_scale("t", "raised", 1).unwrap();
            let e = p.sender.table("t").column_decimal("raised", decimal(&most, width).unwrap()).at(ts(1));
            assert_eq!(e.unwrap_err().kind(), ErrorKind::InvalidValue, "{width:?}");
            assert_eq!(p.flushed().len(), 1);
        }
    }
    let mut p = producer();
    p.sender.table("t").column_decimal("d", decimal("1", DecimalWidth::W64).unwrap()).at(ts(0)).unwrap();
    let e = p.sender.table("t").column_decimal("d", decimal("1", DecimalWidth::W128).unwrap()).at(ts(1));
    assert_eq!(e.unwrap_err().kind(), ErrorKind::InvalidCall);
    // Without a declared width a value takes the column's.
    p.sender.table("t").column_decimal("d", None).at(ts(2)).unwrap();
}

/// Trials E01, E02.
#[test]
fn lim_08_empty_arrays_are_values_and_a_batch_has_one_rank() {
    let mut p = producer();
    p.sender.table("t").column_f64_array("a", &[1.5]).at(ts(0)).unwrap();
    p.sender.table("t").at(ts(1)).unwrap();
    p.sender.table("t").column_f64_array("a", &[0.0; 0]).at(ts(2)).unwrap();
    let e = p.sender.table("t").column_f64_array("a", &[[1.0]]).at(ts(3)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidValue);
    let [frame] = &p.frames_after_flush()[..] else { panic!("one frame") };
    assert_eq!(frame.rows, ["t: a=[1][1.5] @=0", "t: a=null @=1", "t: a=[0][] @=2"]);
    assert_eq!(frame.schema, ["a:DOUBLE[]", "@:TIMESTAMP_NS"]);
}

/// Trials E25, E32.
#[test]
fn lim_12_designated_times_that_no_server_survives_are_refused_and_plain_ones_are_not() {
    const DAY_US: i64 = 9_223_286_400_000_000;
    let us = TimestampMicros::new;
    let last_us = 253_402_300_799_999_999;
    let last_ns = 9_214_646_399_999_999_999;
    let mut p = producer();
    for (time, ok) in [
        (us(0), true),
        (us(-1), false),
        (us(last_us), true),
        (us(last_us + 1), false),
        (us(DAY_US - 1), true),
        (us(DAY_US), false),
        (us(DAY_US + 86_400_000_000 - 1), false),
        (us(DAY_US + 86_400_000_000), true),
        (us(i64::MIN), false),
    ] {
        assert_eq!(p.sender.table("us").column_i64("n", 1).at(time).is_ok(), ok, "{time:?}");
        assert!(p.sender.table("plain").column_ts("x", time).at(ts(0)).is_ok());
    }
    for (time, ok) in [(0, true), (-1, false), (last_ns, true), (last_ns + 1, false), (i64::MAX, false)] {
        assert_eq!(p.sender.table("ns").column_i64("n", 1).at(ts(time)).is_ok(), ok, "{time}");
        assert!(p.sender.table("plain_ns").column_ts("x", ts(time)).at(ts(0)).is_ok());
    }
    let before_1970 = std::time::SystemTime::UNIX_EPOCH - Duration::from_secs(1);
    assert!(p.sender.table("us").column_i64("n", 1).at(before_1970).is_err());
    assert!(p.sender.table("us").column_i64("n", 1).at(None::<TimestampMicros>).is_err());
    assert_eq!(p.flushed().len(), 4 + 9 + 2 + 5);
}

/// LIM-13: any value goes into a column that is not the designated one, and what cannot be converted
/// is refused.
#[test]
fn lim_13_plain_times_take_every_number() {
    let mut p = producer();
    for value in [i64::MIN, -1, 0, i64::MAX] {
        p.sender
            .table("t")
            .column_ts("a", TimestampMicros::new(value))
            .column_ts("b", ts(value))
            .column_date("c", Date::new(value))
            .at(ts(0))
            .unwrap();
    }
    let rows = p.flushed();
    assert_eq!(rows[0], format!("t: a={0} b={0} c={0} @=0", i64::MIN));
    assert_eq!(rows[3], format!("t: a={0} b={0} c={0} @=0", i64::MAX));
}

#[test]
fn a_null_time_fits_either_resolution() {
    let mut p = producer();
    p.sender.table("t").column_ts("a", None::<TimestampMicros>).at(ts(0)).unwrap();
    p.sender.table("t").column_ts("a", ts(5)).at(ts(1)).unwrap();
    p.sender.table("t").column_ts("a", None::<TimestampMicros>).at(ts(2)).unwrap();
    assert!(p.sender.table("t").column_ts("a", TimestampMicros::new(1)).at(ts(3)).is_err());
    assert_eq!(p.flushed(), ["t: a=null @=0", "t: a=5 @=1", "t: a=null @=2"]);
}

#[test]
fn lim_06_empty_texts_are_values() {
    let mut p = producer();
    p.sender.table("t").symbol("s", "").column_str("v", "").column_binary("b", b"").at(ts(0)).unwrap();
    p.sender.table("t").column_str("v", None::<&str>).at(ts(1)).unwrap();
    assert_eq!(p.flushed(), ["t: s= v=\"\" b=[] @=0", "t: s=null v=null b=null @=1"]);
}
