//! Rows that are written column by column.

use crate::cell::Cell;
use crate::world::{World, deliver, quoted, wait_rows};
use qwp::{Date, Masked, QueryClient, Texts, Uuid};
use std::net::Ipv4Addr;

const START: i64 = 1_700_000_000_000_000;

fn column(client: &mut QueryClient, table: &str, name: &str) -> Vec<Option<Cell>> {
    let sql = format!("select {} from {} order by timestamp", quoted(name), quoted(table));
    let result = client.query(&sql).fetch_all().unwrap();
    result.batches().iter().flat_map(|batch| Cell::column(&batch.column(name).unwrap())).collect()
}

/// The same values as columns are given: of each type as many as there are rows.
struct Given {
    bools: Vec<bool>,
    bytes: Vec<i8>,
    shorts: Vec<i16>,
    ints: Vec<i32>,
    longs: Vec<i64>,
    unsigned: Vec<u64>,
    floats: Vec<f32>,
    doubles: Vec<f64>,
    dates: Vec<Date>,
    uuids: Vec<Uuid>,
    addresses: Vec<Ipv4Addr>,
    codes: Vec<u8>,
    texts: String,
    offsets: Vec<i32>,
    times: Vec<i64>,
}

const NAMES: [&str; 3] = ["", "\u{1f680}", "plain"];

impl Given {
    fn new(rows: usize) -> Given {
        let n = || 0..i32::try_from(rows).unwrap();
        let texts: Vec<String> = n().map(|n| format!("t\u{e9}xt{n}")).collect();
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len() as i32;
            Some(*end)
        });
        Given {
            bools: n().map(|n| n % 3 == 0).collect(),
            bytes: n().map(|n| n as i8).collect(),
            shorts: n().map(|n| n as i16 * 257).collect(),
            ints: n().map(|n| n * 65_537 - 7).collect(),
            longs: n().map(|n| i64::from(n) << 40).collect(),
            unsigned: n().map(|n| (n as u64) << 31).collect(),
            floats: n().map(|n| n as f32 / 3.0).collect(),
            doubles: n().map(|n| f64::from(n) / -3.0).collect(),
            dates: n().map(|n| Date::new(i64::from(n) * 86_400_000 - 1)).collect(),
            uuids: n().map(|n| Uuid::from_u128(1 << 100 | n as u128)).collect(),
            addresses: n().map(|n| Ipv4Addr::from(n as u32 + 1)).collect(),
            codes: n().map(|n| (n % 3) as u8).collect(),
            offsets: std::iter::once(0).chain(ends).collect(),
            texts: texts.concat(),
            times: n().map(|n| START + i64::from(n)).collect(),
        }
    }

    /// What comes back, column by column.
    fn cells(&self) -> Vec<(&'static str, Vec<Cell>)> {
        let text = |at: usize| &self.texts[self.offsets[at] as usize..self.offsets[at + 1] as usize];
        let rows = self.times.len();
        vec![
            ("bool", self.bools.iter().map(|v| Cell::Bool(*v)).collect()),
            ("i8", self.bytes.iter().map(|v| Cell::Byte(*v)).collect()),
            ("i16", self.shorts.iter().map(|v| Cell::Short(*v)).collect()),
            ("i32", self.ints.iter().map(|v| Cell::Int(*v)).collect()),
            ("i64", self.longs.iter().map(|v| Cell::Long(*v)).collect()),
            ("u64", self.unsigned.iter().map(|v| Cell::Long(*v as i64)).collect()),
            ("f32", self.floats.iter().map(|v| Cell::float(*v)).collect()),
            ("f64", self.doubles.iter().map(|v| Cell::double(*v)).collect()),
            ("date", self.dates.iter().map(|v| Cell::Date(v.as_i64())).collect()),
            ("us", self.times.iter().map(|v| Cell::Micros(v + 1)).collect()),
            ("ns", self.times.iter().map(|v| Cell::Nanos(v * 1000 + 1)).collect()),
            ("uuid", self.uuids.iter().map(|v| Cell::Uuid(*v)).collect()),
            ("ip", self.addresses.iter().map(|v| Cell::Ipv4(*v)).collect()),
            ("sym", self.codes.iter().map(|v| Cell::symbol(NAMES[usize::from(*v)])).collect()),
            ("str", (0..rows).map(|at| Cell::text(text(at))).collect()),
        ]
    }
}

/// Writes a batch whose NULLs are where `validity` has a 0, and reads it back.
fn round_trip(rows: usize, is_null: impl Fn(usize) -> bool) {
    let world = World::new();
    let (mut sender, mut client) = (world.sender(""), world.client(""));
    let table = world.table("columns");
    let given = Given::new(rows);
    let mut validity = vec![0_u8; rows.div_ceil(8)];
    for row in (0..rows).filter(|row| !is_null(*row)) {
        validity[row / 8] |= 1 << (row % 8);
    }
    let valid = &validity[..];
    let micros: Vec<i64> = given.times.iter().map(|time| time + 1).collect();
    let nanos: Vec<i64> = given.times.iter().map(|time| time * 1000 + 1).collect();
    sender
        .columns(&table)
        .column_bool("bool", Masked::new(&given.bools, valid))
        .column_i8("i8", Masked::new(&given.bytes, valid))
        .column_i16("i16", Masked::new(&given.shorts, valid))
        .column_i32("i32", Masked::new(&given.ints, valid))
        .column_i64("i64", Masked::new(&given.longs, valid))
        .column_u64("u64", Masked::new(&given.unsigned, valid))
        .column_f32("f32", Masked::new(&given.floats, valid))
        .column_f64("f64", Masked::new(&given.doubles, valid))
        .column_date("date", Masked::new(&given.dates, valid))
        .column_ts_micros("us", Masked::new(&micros, valid))
        .column_ts_nanos("ns", Masked::new(&nanos, valid))
        .column_uuid("uuid", Masked::new(&given.uuids, valid))
        .column_ipv4("ip", Masked::new(&given.addresses, valid))
        .symbol("sym", Masked::new(&given.codes, valid), &NAMES)
        .column_str("str", Texts::new(&given.offsets, given.texts.as_bytes()).with_validity(valid))
        .at_micros(&given.times)
        .unwrap();
    deliver(&mut sender);
    wait_rows(&mut client, &table, rows as u64);
    for (name, cells) in given.cells() {
        let wanted: Vec<Option<Cell>> = cells
            .into_iter()
            .enumerate()
            .map(|(row, cell)| if is_null(row) { cell.null() } else { Some(cell) })
            .collect();
        assert_eq!(column(&mut client, &table, name), wanted, "{name}, {rows} rows");
    }
    let times: Vec<_> = given.times.iter().map(|time| Some(Cell::Micros(*time))).collect();
    assert_eq!(column(&mut client, &table, "timestamp"), times);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_columns_without_nulls_come_back_equal() {
    for rows in [1, 8, 65] {
        round_trip(rows, |_| false);
    }
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_columns_with_nulls_first_last_and_between_come_back_equal() {
    for rows in [1, 9, 64] {
        round_trip(rows, |row| row == 0);
        round_trip(rows, |row| row + 1 == rows);
    }
    round_trip(65, |row| row % 3 == 1);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_columns_that_are_all_null_come_back_null() {
    round_trip(9, |_| true);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn columns_without_a_time_get_the_servers() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender(""), world.client(""));
    let table = world.table("now");
    sender.columns(&table).column_i64("x", &[1, 2, 3]).at_now().unwrap();
    deliver(&mut sender);
    wait_rows(&mut client, &table, 3);
    let times = column(&mut client, &table, "timestamp");
    assert!(
        times.iter().all(|time| *time == times[0] && matches!(time, Some(Cell::Micros(1..)))),
        "{times:?}"
    );
}
