//! Reading cells: every type, as a column, as a row and as text.

#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

use super::*;
use crate::value::{Date, Decimal, Geohash, Long256, Timestamp, TimestampMicros, TimestampNanos, Uuid};
use crate::wire::types::ColumnType;
use crate::{ArrayView, RowView};
use std::net::Ipv4Addr;

/// A batch of these columns of `rows` rows, each written out with its null section.
fn batch(rows: u64, columns: &[(&str, ColumnType, Vec<u8>)]) -> Batch {
    let schema: Vec<_> = columns.iter().map(|(name, kind, _)| (*name, *kind)).collect();
    let bytes: Vec<_> = columns.iter().map(|(_, _, bytes)| &bytes[..]).collect();
    let texts = ["sym", ""];
    let message =
        TestBatch { id: 1, rows, texts: &texts, schema: &schema, columns: &bytes, ..TestBatch::default() };
    let stage = Stage::new();
    let message = message.bytes();
    stage.server("a", move |_| {
        let message = message.clone();
        answers(move |_| send(&[message.clone(), result_end(1, 0, 0)]))
    });
    let mut client = stage.client("a", "");
    let mut cursor = client.query("q").run().expect("connected");
    cursor.next_batch().expect("a batch").expect("rows")
}

/// Two rows: the value, then NULL.
fn nullable(value: &[u8]) -> Vec<u8> {
    [&[1, 0b10], value].concat()
}

fn with_parameter(parameter: u8, value: &[u8]) -> Vec<u8> {
    [&[1, 0b10, parameter], value].concat()
}

fn text(value: &str) -> Vec<u8> {
    nullable(&[&[0; 4], &(value.len() as u32).to_le_bytes()[..], value.as_bytes()].concat())
}

fn time(ticks: i64) -> Vec<u8> {
    nullable(&[&[0], &ticks.to_le_bytes()[..]].concat())
}

/// Every type: the value, then NULL where there is one.
fn every_type() -> Batch {
    let array = [&[2_u8][..], &1_u32.to_le_bytes(), &2_u32.to_le_bytes()].concat();
    let doubles = [array.clone(), 1.5_f64.to_le_bytes().to_vec(), f64::NAN.to_le_bytes().to_vec()].concat();
    let longs = [array, 7_i64.to_le_bytes().to_vec(), i64::MIN.to_le_bytes().to_vec()].concat();
    batch(
        2,
        &[
            ("boolean", ColumnType::Boolean, vec![0, 0b01]),
            ("byte", ColumnType::Byte, vec![0, 0xff, 0]),
            ("short", ColumnType::Short, vec![0, 0xfe, 0xff, 0, 0]),
            ("int", ColumnType::Int, nullable(&(-3_i32).to_le_bytes())),
            ("long", ColumnType::Long, nullable(&(-4_i64).to_le_bytes())),
            ("float", ColumnType::Float, nullable(&0.1_f32.to_le_bytes())),
            ("double", ColumnType::Double, nullable(&1e300_f64.to_le_bytes())),
            ("symbol", ColumnType::Symbol, nullable(&[0])),
            ("timestamp", ColumnType::Timestamp, time(1_700_000_000_000_001)),
            ("nanos", ColumnType::TimestampNanos, time(1_700_000_000_000_000_001)),
            ("date", ColumnType::Date, time(-1)),
            ("uuid", ColumnType::Uuid, nullable(&0x123e4567_e89b_12d3_a456_426614174000_u128.to_le_bytes())),
            ("long256", ColumnType::Long256, nullable(&[&[1, 2], &[0; 30][..]].concat())),
            ("geohash", ColumnType::Geohash, with_parameter(20, &[0xa5, 0xa5, 0xf5])),
            ("bits", ColumnType::Geohash, with_parameter(3, &[0xfd])),
            ("varchar", ColumnType::Varchar, text("na\u{ef}ve \u{20ac}")),
            ("doubles", ColumnType::DoubleArray, nullable(&doubles)),
            ("longs", ColumnType::LongArray, nullable(&longs)),
            ("decimal64", ColumnType::Decimal64, with_parameter(2, &(-1_i64).to_le_bytes())),
            ("decimal128", ColumnType::Decimal128, with_parameter(0, &7_i128.to_le_bytes())),
            (
                "decimal256",
                ColumnType::Decimal256,
                with_parameter(4, &[&[0x39, 0x30], &[0; 30][..]].concat()),
            ),
            ("char", ColumnType::Char, vec![0, 0xac, 0x20, 0, 0]),
            ("binary", ColumnType::Binary, text("\u{1}\u{2}")),
            ("ipv4", ColumnType::Ipv4, nullable(&0xc0a8_0101_u32.to_le_bytes())),
        ],
    )
}

// QRY-05
#[test]
fn qry_05_every_type_is_shown_as_the_web_console_shows_it() {
    let batch = every_type();
    let shown = |row: usize| -> Vec<String> {
        // From the row by value: its cells outlive it.
        batch.row(row).into_iter().flat_map(|row| row.values()).map(|value| value.to_string()).collect()
    };
    let values = [
        "true",
        "-1",
        "-2",
        "-3",
        "-4",
        "0.1",
        "1e300",
        "sym",
        "2023-11-14T22:13:20.000001Z",
        "2023-11-14T22:13:20.000000001Z",
        "1969-12-31T23:59:59.999Z",
        "123e4567-e89b-12d3-a456-426614174000",
        "0x0201",
        "cqut",
        "101",
        "na\u{ef}ve \u{20ac}",
        "[[1.5,null]]",
        "[[7,null]]",
        "-0.01",
        "7",
        "1.2345",
        "\u{20ac}",
        "0102",
        "192.168.1.1",
    ];
    let wanted: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let mut read = shown(0);
    // The geohash alphabet is that of `Geohash`, tested there.
    let hash = Geohash::new(0x5a5a5, 20).expect("20 bits").to_string();
    assert_eq!(read[13], hash);
    read[13] = "cqut".into();
    assert_eq!(read, wanted);
    let nulls = shown(1);
    for (index, (name, kind)) in batch.schema().iter().enumerate() {
        let wanted = match kind {
            ColumnType::Boolean => "false",
            ColumnType::Byte | ColumnType::Short => "0",
            ColumnType::Char => "",
            _ => "null",
        };
        assert_eq!(nulls[index], wanted, "{name}");
    }
}

/// Reads both rows of a column as `T`.
fn pair<'a, T: FromValue<'a>>(batch: &'a Batch, column: &str) -> (T, T) {
    let get = |row| batch.row(row).expect("a row").get(column).unwrap_or_else(|e| panic!("{column}: {e}"));
    (get(0), get(1))
}

#[test]
fn qry_05_every_type_is_read_from_rows_typed_and_null_as_none() {
    let batch = every_type();
    assert_eq!(pair::<bool>(&batch, "boolean"), (true, false));
    assert_eq!(pair::<i8>(&batch, "byte"), (-1, 0));
    assert_eq!(pair::<i16>(&batch, "short"), (-2, 0));
    assert_eq!(pair::<Option<i32>>(&batch, "int"), (Some(-3), None));
    assert_eq!(pair::<Option<i64>>(&batch, "long"), (Some(-4), None));
    assert_eq!(pair::<Option<f32>>(&batch, "float"), (Some(0.1), None));
    assert_eq!(pair::<Option<f64>>(&batch, "double"), (Some(1e300), None));
    assert_eq!(pair::<Option<&str>>(&batch, "symbol"), (Some("sym"), None));
    assert_eq!(pair::<Option<String>>(&batch, "varchar"), (Some("na\u{ef}ve \u{20ac}".into()), None));
    let micros = 1_700_000_000_000_001;
    assert_eq!(pair::<Option<Timestamp>>(&batch, "timestamp"), (Some(Timestamp::Micros(micros)), None));
    assert_eq!(
        pair::<Option<TimestampMicros>>(&batch, "timestamp"),
        (Some(TimestampMicros::new(micros)), None)
    );
    let nanos = 1_700_000_000_000_000_001;
    assert_eq!(pair::<Option<TimestampNanos>>(&batch, "nanos"), (Some(TimestampNanos::new(nanos)), None));
    assert_eq!(pair::<Option<Date>>(&batch, "date"), (Some(Date::new(-1)), None));
    let uuid = Uuid::from_u128(0x123e4567_e89b_12d3_a456_426614174000);
    assert_eq!(pair::<Option<Uuid>>(&batch, "uuid"), (Some(uuid), None));
    assert_eq!(
        pair::<Option<Long256>>(&batch, "long256"),
        (Some(Long256::from_limbs([0x201, 0, 0, 0])), None)
    );
    // Spare bits are ignored (QRY-14).
    assert_eq!(pair::<Option<Geohash>>(&batch, "geohash").0, Geohash::new(0x5a5a5, 20).ok());
    assert_eq!(pair::<Option<Geohash>>(&batch, "bits").0, Geohash::new(0b101, 3).ok());
    assert_eq!(pair::<Option<Decimal>>(&batch, "decimal64").0, Decimal::from_i64(-1, 2).ok());
    assert_eq!(pair::<Option<Decimal>>(&batch, "decimal128").0, Decimal::from_i64(7, 0).ok());
    assert_eq!(pair::<Option<Decimal>>(&batch, "decimal256").0, Decimal::from_i64(12345, 4).ok());
    assert_eq!(pair::<char>(&batch, "char"), ('\u{20ac}', '\0'));
    assert_eq!(pair::<Option<&[u8]>>(&batch, "binary"), (Some(&[1, 2][..]), None));
    assert_eq!(pair::<Option<Ipv4Addr>>(&batch, "ipv4"), (Some(Ipv4Addr::new(192, 168, 1, 1)), None));
    let (doubles, null) = pair::<Option<ArrayView<'_, f64>>>(&batch, "doubles");
    let doubles = doubles.expect("an array");
    assert_eq!((doubles.dimensions(), doubles.shape().collect::<Vec<_>>()), (2, vec![1, 2]));
    assert!(doubles.get(0) == Some(1.5) && doubles.get(1).is_some_and(f64::is_nan) && null.is_none());
    let longs = pair::<Option<ArrayView<'_, i64>>>(&batch, "longs").0.expect("an array");
    assert_eq!(longs.iter().collect::<Vec<_>>(), [7, i64::MIN]);
}

// QRY-14
#[test]
fn qry_14_each_accessor_takes_its_own_types_and_names_both_for_any_other() {
    fn check<S>(batch: &Batch, takes: &[ColumnType], open: impl for<'a> Fn(&Column<'a>) -> crate::Result<S>) {
        for index in 0..batch.column_count() {
            let column = batch.column_at(index).expect("below the count");
            let result = open(&column).map(|_| ());
            match (result, takes.contains(&column.column_type())) {
                (Ok(()), true) => {}
                (Err(error), false) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidCall);
                    let text = error.to_string();
                    for word in [column.name(), &column.column_type().to_string()] {
                        assert!(text.contains(word), "{word} in {text}");
                    }
                }
                (result, _) => panic!("{}: {result:?}", column.name()),
            }
        }
    }
    let batch = every_type();
    check(&batch, &[ColumnType::Boolean], |c| c.as_bool().map(|v| v.len()));
    check(&batch, &[ColumnType::Byte], |c| c.as_i8().map(|v| v.len()));
    check(&batch, &[ColumnType::Short], |c| c.as_i16().map(|v| v.len()));
    check(&batch, &[ColumnType::Int], |c| c.as_i32().map(|v| v.len()));
    check(&batch, &[ColumnType::Long], |c| c.as_i64().map(|v| v.len()));
    check(&batch, &[ColumnType::Float], |c| c.as_f32().map(|v| v.len()));
    check(&batch, &[ColumnType::Double], |c| c.as_f64().map(|v| v.len()));
    check(&batch, &[ColumnType::Char], |c| c.as_char().map(|v| v.len()));
    check(&batch, &[ColumnType::Ipv4], |c| c.as_ipv4().map(|v| v.len()));
    check(&batch, &[ColumnType::Uuid], |c| c.as_uuid().map(|v| v.len()));
    check(&batch, &[ColumnType::Long256], |c| c.as_long256().map(|v| v.len()));
    check(&batch, &[ColumnType::Symbol], |c| c.as_symbol().map(|v| v.len()));
    check(&batch, &[ColumnType::Varchar], |c| c.as_str().map(|v| v.len()));
    check(&batch, &[ColumnType::Binary], |c| c.as_binary().map(|v| v.len()));
    let both = [ColumnType::Timestamp, ColumnType::TimestampNanos];
    check(&batch, &both, |c| c.as_timestamp().map(|v| v.len()));
    check(&batch, &both[..1], |c| c.as_timestamp_micros().map(|v| v.len()));
    check(&batch, &both[1..], |c| c.as_timestamp_nanos().map(|v| v.len()));
    check(&batch, &[ColumnType::Date], |c| c.as_date().map(|v| v.len()));
    check(&batch, &[ColumnType::Geohash], |c| c.as_geohash().map(|v| v.len()));
    let decimals = [ColumnType::Decimal64, ColumnType::Decimal128, ColumnType::Decimal256];
    check(&batch, &decimals, |c| c.as_decimal().map(|v| v.len()));
    check(&batch, &[ColumnType::DoubleArray], |c| c.as_f64_array().map(|v| v.len()));
    check(&batch, &[ColumnType::LongArray], |c| c.as_i64_array().map(|v| v.len()));
}

#[test]
fn qry_14_unknown_names_and_places_are_typed_errors_or_none() {
    let batch = every_type();
    let row: RowView<'_> = batch.row(0).expect("a row");
    for error in [
        batch.column("nope").map(|_| ()).expect_err("no such name"),
        batch.column("LONG").map(|_| ()).expect_err("names are compared exactly"),
        batch.column_at(24).map(|_| ()).expect_err("24 columns"),
        row.get::<i64>("nope").map(|_| ()).expect_err("no such name"),
        row.get_at::<i64>(24).map(|_| ()).expect_err("24 columns"),
        row.get::<i64>("int").map(|_| ()).expect_err("an INT is no LONG"),
        row.get::<f64>("float").map(|_| ()).expect_err("a FLOAT is no DOUBLE"),
        row.get::<TimestampMicros>("nanos").map(|_| ()).expect_err("another unit"),
        batch.row(1).expect("a row").get::<i64>("long").map(|_| ()).expect_err("NULL"),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidCall, "{error}");
    }
    let null = batch.row(1).expect("a row").get::<i64>("long").expect_err("NULL");
    assert!(null.to_string().contains("Option") && null.to_string().contains("row 1"), "{null}");
    assert!(batch.row(2).is_none() && row.value(24).is_none());
    let long = batch.column("long").expect("long");
    assert!(long.value(2).is_none() && !long.is_null(2) && long.is_null(1));
    let view = long.as_i64().expect("LONG");
    assert_eq!((view.get(0), view.get(1), view.get(2), view.get(usize::MAX)), (Some(-4), None, None, None));
    assert_eq!((view.len(), view.null_count(), long.null_count()), (2, 1, 1));
}

// Q11, LIM-14
#[test]
fn qry_05_null_and_value_are_told_apart_at_every_place() {
    for rows in [1, 8, 9, 64, 65, 200] {
        for null in [|_: usize| true, |row: usize| row == 0, |row: usize| row % 2 == 1] {
            let mut bytes = vec![1];
            bytes.resize(1 + usize::div_ceil(rows, 8), 0);
            for row in (0..rows).filter(|row| null(*row)) {
                bytes[1 + row / 8] |= 1 << (row % 8);
            }
            let present: Vec<usize> = (0..rows).filter(|row| !null(*row)).collect();
            present.iter().for_each(|_| bytes.extend(0_f64.to_le_bytes()));
            let batch = batch(rows as u64, &[("x", ColumnType::Double, bytes)]);
            let view = batch.column("x").expect("x").as_f64().expect("DOUBLE");
            let wanted: Vec<_> = (0..rows).map(|row| (!null(row)).then_some(0.0)).collect();
            assert_eq!(view.iter().collect::<Vec<_>>(), wanted, "0 is no NULL");
            assert_eq!((0..rows).map(|row| view.get(row)).collect::<Vec<_>>(), wanted);
            assert_eq!(view.values().len(), present.len());
            assert_eq!(view.iter().len(), rows);
        }
    }
}

// Q02
#[test]
fn qry_05_columns_of_one_name_are_told_apart_by_place() {
    let batch = batch(
        1,
        &[
            ("x", ColumnType::Byte, vec![0, 1]),
            ("x", ColumnType::Byte, vec![0, 2]),
            ("", ColumnType::Byte, vec![0, 3]),
        ],
    );
    let first: Vec<i8> = batch.column("x").expect("x").as_i8().expect("BYTE").values().collect();
    assert_eq!(first, [1], "by name the first is found");
    let all: Vec<i8> =
        (0..3).map(|index| batch.row(0).expect("a row").get_at(index).expect("BYTE")).collect();
    assert_eq!(all, [1, 2, 3]);
    assert_eq!(batch.row(0).expect("a row").get::<i8>("").expect("the empty name"), 3);
}

// Q02
#[test]
fn qry_05_rows_without_columns_are_rows() {
    let batch = batch(5, &[]);
    assert_eq!((batch.row_count(), batch.column_count(), batch.rows().count()), (5, 0, 5));
    assert_eq!(batch.row(4).expect("a row").values().count(), 0);
}

// E01
#[test]
fn qry_05_empty_arrays_are_no_null_and_keep_their_shape() {
    let array = |lengths: &[u32], elements: &[f64]| -> Vec<u8> {
        let mut out = vec![lengths.len() as u8];
        lengths.iter().for_each(|length| out.extend(length.to_le_bytes()));
        elements.iter().for_each(|element| out.extend(element.to_le_bytes()));
        out
    };
    let batch = batch(
        3,
        &[
            ("a", ColumnType::DoubleArray, [vec![1, 1], array(&[0], &[]), array(&[1], &[1.5])].concat()),
            ("b", ColumnType::DoubleArray, [vec![1, 1], array(&[2, 0], &[]), array(&[0, 3], &[])].concat()),
        ],
    );
    let shapes = |name: &str| -> Vec<Option<Vec<usize>>> {
        let view = batch.column(name).expect(name).as_f64_array().expect("DOUBLE[]");
        view.iter().map(|array| array.map(|array| array.shape().collect())).collect()
    };
    assert_eq!(shapes("a"), [None, Some(vec![0]), Some(vec![1])]);
    assert_eq!(shapes("b"), [None, Some(vec![2, 0]), Some(vec![0, 3])]);
    let shown: Vec<String> =
        batch.rows().map(|row| format!("{} {}", row.value(0).unwrap(), row.value(1).unwrap())).collect();
    assert_eq!(shown, ["null null", "[] []", "[1.5] []"]);
}

// E10
#[test]
fn qry_14_ipv4_addresses_are_those_that_the_server_sent() {
    let addresses = [0x8000_0000_u32, u32::MAX, 0x0102_0304, 0];
    let bytes = [vec![0], addresses.iter().flat_map(|a| a.to_le_bytes()).collect()].concat();
    let batch = batch(4, &[("ip", ColumnType::Ipv4, bytes)]);
    let shown: Vec<String> = batch.rows().map(|row| row.value(0).expect("ip").to_string()).collect();
    assert_eq!(shown, ["128.0.0.0", "255.255.255.255", "1.2.3.4", "0.0.0.0"]);
}

// E11
#[test]
fn qry_05_infinities_and_negative_zero_are_values() {
    let values = [f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::from_bits(1), 1.0];
    let bytes = [vec![0], values.iter().flat_map(|v| v.to_le_bytes()).collect()].concat();
    let batch = batch(5, &[("d", ColumnType::Double, bytes)]);
    let view = batch.column("d").expect("d").as_f64().expect("DOUBLE");
    let bits: Vec<u64> = view.values().map(f64::to_bits).collect();
    assert_eq!(bits, values.map(f64::to_bits));
    let shown: Vec<String> = batch.rows().map(|row| row.value(0).expect("d").to_string()).collect();
    assert_eq!(shown, ["Infinity", "-Infinity", "-0.0", "5e-324", "1.0"]);
}

#[test]
fn qry_14_half_of_a_surrogate_pair_is_given_as_its_u16() {
    let batch = batch(1, &[("c", ColumnType::Char, vec![0, 0x3d, 0xd8])]);
    let row = batch.row(0).expect("a row");
    assert_eq!(row.get::<u16>("c").expect("a CHAR"), 0xd83d);
    assert_eq!(row.get::<char>("c").expect_err("no character").kind(), ErrorKind::InvalidCall);
    assert_eq!(row.value(0).expect("c").to_string(), "\u{fffd}");
}

#[test]
fn a_batch_can_be_read_on_another_thread_after_the_client_is_gone() {
    let batch = every_type();
    let reader = std::thread::spawn(move || batch.row(0).expect("a row").get::<String>("symbol"));
    assert_eq!(reader.join().expect("a thread").expect("a symbol"), "sym");
}

#[test]
fn symbols_are_read_by_id_and_text() {
    let batch = batch(3, &[("s", ColumnType::Symbol, vec![1, 0b010, 1, 0])]);
    let view = batch.column("s").expect("s").as_symbol().expect("SYMBOL");
    assert_eq!((view.id(0), view.id(1), view.id(2)), (Some(1), None, Some(0)));
    assert_eq!((view.text(0), view.text(1), view.text(2)), (Some("sym"), Some(""), None));
    assert_eq!(view.iter().collect::<Vec<_>>(), [Some(""), None, Some("sym")], "empty is no NULL");
}
