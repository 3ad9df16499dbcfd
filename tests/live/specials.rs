//! Values and names at the edges of what QuestDB takes.

use crate::cell::Cell;
use crate::world::{World, deliver, number, quoted, wait_rows};
use qwp::{Decimal, ErrorKind, Geohash, QueryClient, Row, Sender, TimestampMicros, TimestampNanos, Uuid};
use std::net::Ipv4Addr;

/// The cells of a column in the order of the rows' times.
fn cells(client: &mut QueryClient, table: &str, column: &str) -> Vec<Option<Cell>> {
    let sql = format!("select {} from {} order by timestamp", quoted(column), quoted(table));
    let result = client.query(&sql).fetch_all().unwrap();
    result.rows().map(|row| Cell::of(row.value(0).unwrap())).collect()
}

/// One row a value, a nanosecond apart.
fn write<T: Copy>(sender: &mut Sender, table: &str, values: &[T], set: impl Fn(&mut Row<'_>, T)) {
    for (at, value) in values.iter().enumerate() {
        let mut row = sender.table(table);
        set(&mut row, *value);
        row.at(TimestampNanos::new(at as i64)).unwrap();
    }
}

// E11
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_19_nan_is_null_and_infinities_and_minus_zero_are_values() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("floats");
    let odd_nan = f64::from_bits(0xfff8_0000_dead_beef);
    let doubles = [f64::NAN, odd_nan, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::from_bits(1)];
    write(&mut sender, &table, &doubles, |row, value| {
        row.column_f64("d", value).column_f32("f", value as f32).column_f64_array("a", &[value]);
    });
    deliver(&mut sender);
    wait_rows(&mut client, &table, 6);
    let exact = |value: f64| (!value.is_nan()).then(|| Cell::double(value));
    assert_eq!(cells(&mut client, &table, "d"), doubles.map(exact));
    let narrow = |value: f64| (!value.is_nan()).then(|| Cell::float(value as f32));
    assert_eq!(cells(&mut client, &table, "f"), doubles.map(narrow));
    for (value, read) in doubles.into_iter().zip(cells(&mut client, &table, "a")) {
        let Some(Cell::Doubles(shape, bits)) = read else { panic!("an array is a value") };
        assert_eq!((shape, bits.len()), (vec![1], 1));
        let element = f64::from_bits(bits[0]);
        assert!(element.to_bits() == value.to_bits() || element.is_nan() && value.is_nan(), "{value}");
    }
    let infinite = number(&mut client, &format!("select count() from {} where d is null", quoted(&table)));
    assert_eq!(infinite, 4, "SQL takes infinities for NULL as well");
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_19_what_equals_the_sentinel_of_its_type_reads_back_as_null() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("sentinels");
    let half = 0x8000_0000_0000_0000;
    write(&mut sender, &table, &[()], |row, ()| {
        row.column_i32("i", i32::MIN)
            .column_i64("l", i64::MIN)
            .column_ts("t", TimestampMicros::new(i64::MIN))
            .column_uuid("u", Uuid::from_u128(half << 64 | half))
            .column_i8("b", i8::MIN);
    });
    deliver(&mut sender);
    wait_rows(&mut client, &table, 1);
    for name in ["i", "l", "t", "u"] {
        assert_eq!(cells(&mut client, &table, name), [None], "{name}");
    }
    assert_eq!(cells(&mut client, &table, "b"), [Some(Cell::Byte(i8::MIN))]);
}

// E08, E10, E14, E19
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_21_refused_values_leave_nothing_behind() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("refused");
    let narrow = Geohash::new(1, 5).unwrap();
    let good = |row: &mut Row<'_>| {
        row.column_decimal("d", "1.25".parse::<Decimal>().unwrap()).column_geohash("g", narrow);
    };
    let bad: [fn(&mut Row<'_>); 5] = [
        |row| {
            row.column_ipv4("ip", Ipv4Addr::UNSPECIFIED);
        },
        |row| {
            row.column_char("c", '\u{1f600}');
        },
        |row| {
            row.column_geohash("g", Geohash::new(1, 8).unwrap());
        },
        |row| {
            row.column_decimal("d", "1.255".parse::<Decimal>().unwrap());
        },
        |row| {
            row.column_i64("na?me", 1);
        },
    ];
    for (at, bad) in bad.into_iter().enumerate() {
        write(&mut sender, &table, &[()], |row, ()| good(row));
        let mut row = sender.table(&table);
        row.symbol("s", "ghost");
        bad(&mut row);
        let error = row.at(TimestampNanos::new(at as i64)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{at}: {error}");
    }
    deliver(&mut sender);
    wait_rows(&mut client, &table, 5);
    assert_eq!(cells(&mut client, &table, "g"), vec![Some(Cell::Geohash(narrow)); 5]);
    let sql = format!("select * from {}", quoted(&table));
    let result = client.query(&sql).fetch_all().unwrap();
    let schema = result.schema().unwrap();
    assert_eq!(schema.len(), 3, "neither the symbol nor what was refused: {schema:?}");
}

// E14: fewer digits are raised exactly, and a second frame keeps the scale.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_22_a_decimal_column_keeps_its_scale() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("decimals");
    let texts = ["1.25", "1.5", "-0.00", "+1", "1e5"];
    for half in [&texts[..2], &texts[2..]] {
        for text in half {
            let at = texts.iter().position(|known| known == text).unwrap();
            let value: Decimal = text.parse().unwrap();
            let mut row = sender.table(&table);
            row.column_decimal("d", value).at(TimestampNanos::new(at as i64)).unwrap();
        }
        deliver(&mut sender);
    }
    wait_rows(&mut client, &table, 5);
    let wanted = ["1.25", "1.50", "0.00", "1.00", "100000.00"];
    let wanted = wanted.map(|text| Some(Cell::Decimal(text.parse().unwrap())));
    assert_eq!(cells(&mut client, &table, "d"), wanted);
}

// E19, E20
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_01_names_with_emoji_and_of_127_bytes_are_names() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let emoji = world.table("\u{1f600} na\u{ef}ve");
    let mut long = world.table("");
    long.extend(std::iter::repeat_n('x', 127 - long.len()));
    let column = format!("{}x", "\u{e9}".repeat(63));
    assert_eq!((long.len(), column.len()), (127, 127));
    for table in [&emoji, &long] {
        let mut row = sender.table(table);
        row.column_i64("\u{1f680}", 1).column_i64(&column, 2).symbol("s p a c e", "v");
        row.at(TimestampNanos::new(1)).unwrap();
    }
    let too_long = format!("{long}x");
    for (table, column) in [(&too_long, "x"), (&long, &format!("{column}x")[..])] {
        let error = sender.table(table).column_i64(column, 1).at_now().unwrap_err();
        assert!(error.to_string().contains("128"), "{error}");
    }
    deliver(&mut sender);
    for table in [&emoji, &long] {
        wait_rows(&mut client, table, 1);
        assert_eq!(cells(&mut client, table, "\u{1f680}"), [Some(Cell::Long(1))]);
        assert_eq!(cells(&mut client, table, &column), [Some(Cell::Long(2))]);
        assert_eq!(cells(&mut client, table, "s p a c e"), [Some(Cell::symbol("v"))]);
    }
}

// E04, E31
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_18_names_that_would_break_a_table_are_refused_and_it_stays_readable() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("names");
    let bad: [fn(&mut Row<'_>); 6] = [
        |row| {
            row.column_i64("timestamp", 1);
        },
        |row| {
            row.symbol("TimeStamp", "a");
        },
        |row| {
            row.column_str("TIMESTAMP", "a");
        },
        |row| {
            row.column_ts("timestamp", TimestampMicros::new(1));
        },
        |row| {
            row.symbol("Side", "a").symbol("side", "b");
        },
        |row| {
            row.column_f64("Qty", 1.0).symbol("qty", "b");
        },
    ];
    for bad in bad {
        let mut row = sender.table(&table);
        bad(&mut row);
        row.at(TimestampNanos::new(0)).unwrap_err();
    }
    for (at, name) in ["Side", "side", "SIDE"].into_iter().enumerate() {
        sender.table(&table).symbol(name, "a").at(TimestampNanos::new(at as i64)).unwrap();
        deliver(&mut sender);
    }
    wait_rows(&mut client, &table, 3);
    assert_eq!(cells(&mut client, &table, "Side"), vec![Some(Cell::symbol("a")); 3]);
    let sql = format!("select * from {}", quoted(&table));
    assert_eq!(client.query(&sql).fetch_all().unwrap().schema().unwrap().len(), 2);
}

// E31, the key
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_18_a_column_named_timestamp_goes_to_a_table_that_has_it() {
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("named");
    client
        .execute(&format!(
            "create table {} (ts timestamp, timestamp symbol) timestamp(ts) partition by day wal",
            quoted(&table)
        ))
        .unwrap();
    let mut sender = world.sender("auto_flush=off;allow_timestamp_column=on;");
    sender.table(&table).symbol("timestamp", "text").at(TimestampMicros::new(7)).unwrap();
    deliver(&mut sender);
    wait_rows(&mut client, &table, 1);
    let result = client.query(&format!("select ts, timestamp from {}", quoted(&table))).fetch_all().unwrap();
    let row = result.rows().next().unwrap();
    assert_eq!(row.get::<TimestampMicros>("ts").unwrap(), TimestampMicros::new(7));
    assert_eq!(row.get::<&str>("timestamp").unwrap(), "text");
}

// E16
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_08_symbols_of_a_cancelled_row_are_not_those_of_the_next() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("ghosts");
    sender.table(&table).symbol("s", "ghost").cancel_row();
    for (at, text) in ["real", "other", "real"].into_iter().enumerate() {
        sender
            .table(&table)
            .symbol("s", "ghost of a row that fails")
            .column_i64("na?me", 1)
            .at_now()
            .unwrap_err();
        sender.table(&table).symbol("s", text).at(TimestampNanos::new(at as i64)).unwrap();
        deliver(&mut sender);
    }
    wait_rows(&mut client, &table, 3);
    assert_eq!(
        cells(&mut client, &table, "s"),
        ["real", "other", "real"].map(|text| Some(Cell::symbol(text)))
    );
}

// E17
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_16_a_million_symbols_are_the_most_and_those_known_go_on_working() {
    const SYMBOLS: i64 = 1_000_000;
    let world = World::new();
    let (mut sender, mut client) = (world.sender(""), world.client(""));
    let table = world.table("symbols");
    for i in 0..SYMBOLS {
        sender
            .table(&table)
            .symbol("s", format!("s{i}"))
            .column_i64("i", i)
            .at(TimestampNanos::new(i))
            .unwrap();
    }
    for text in ["one too many", "and another"] {
        let error = sender.table(&table).symbol("s", text).at(TimestampNanos::new(0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DictionaryFull, "{error}");
    }
    let mut row = sender.table(&table);
    row.symbol("s", format!("s{}", SYMBOLS - 1)).column_i64("i", SYMBOLS - 1);
    row.at(TimestampNanos::new(SYMBOLS)).unwrap();
    drop(row);
    deliver(&mut sender);
    wait_rows(&mut client, &table, SYMBOLS as u64 + 1);
    let name = quoted(&table);
    assert_eq!(number(&mut client, &format!("select count_distinct(s) from {name}")), SYMBOLS);
    let wrong = format!("select count() from {name} where s is null or s != concat('s', i)");
    assert_eq!(number(&mut client, &wrong), 0);
    assert_eq!(sender.counters().server_errors, Default::default());
}
