//! Every type, written row by row: with and without NULLs, read back by rows and by columns.

use crate::cell::Cell;
use crate::world::{World, deliver, quoted, wait_rows};
use qwp::{ColumnType, DecimalWidth, Long256, QueryClient, QueryResult, Sender, TimestampNanos, Uuid};
use std::net::Ipv4Addr;

/// Where the NULLs of a column are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nulls {
    None,
    First,
    Last,
    Third,
    All,
}

impl Nulls {
    fn is_null(self, row: usize, rows: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::First => row == 0,
            Nulls::Last => row + 1 == rows,
            Nulls::Third => row % 3 == 1,
            Nulls::All => true,
        }
    }
}

/// Around the bytes and words of a bitmap.
const ROWS: [usize; 5] = [1, 8, 9, 64, 65];

const START: i64 = 1_700_000_000_000_000_000;

/// What a column of each type is made of, in turn.
fn samples() -> Vec<(&'static str, Vec<Cell>)> {
    let mut samples = numbers();
    samples.extend(texts_and_times());
    samples.extend(decimals());
    samples.extend(geohashes());
    samples.extend(arrays());
    samples
}

fn numbers() -> Vec<(&'static str, Vec<Cell>)> {
    let long256 = |limbs| Cell::Long256(Long256::from_limbs(limbs));
    vec![
        ("bool", vec![Cell::Bool(true), Cell::Bool(false), Cell::Bool(true)]),
        ("i8", [1, i8::MIN, i8::MAX, 0, -1].map(Cell::Byte).into()),
        ("i16", [1, i16::MIN, i16::MAX, 0, -1].map(Cell::Short).into()),
        ("i32", [1, i32::MIN + 1, i32::MAX, 0, -1].map(Cell::Int).into()),
        // E13: not narrowed.
        ("i64", [1, i64::MIN + 1, i64::MAX, 0, (1 << 40) + 1].map(Cell::Long).into()),
        ("f32", [0.1, -0.0, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1)].map(Cell::float).into()),
        ("f64", [0.1, -0.0, f64::MIN, f64::MIN_POSITIVE, f64::from_bits(1)].map(Cell::double).into()),
        ("uuid", [0, 1, u128::MAX, 0x123e_4567_e89b_12d3].map(|v| Cell::Uuid(Uuid::from_u128(v))).into()),
        ("long256", [[0; 4], [1, 2, 3, 4], [u64::MAX; 4], [0, 0, 0, 1 << 63]].map(long256).into()),
        // E10
        (
            "ip",
            [[1, 2, 3, 4], [255; 4], [128, 0, 0, 0], [0, 0, 0, 1]]
                .map(|v| Cell::Ipv4(Ipv4Addr::from(v)))
                .into(),
        ),
    ]
}

fn texts_and_times() -> Vec<(&'static str, Vec<Cell>)> {
    vec![
        // E19
        ("sym", ["a", "", "\u{1f680}\u{1f680}", "na\u{ef}ve", "\u{feff}", "a\0b"].map(Cell::symbol).into()),
        (
            "text",
            ["", "\0", "\u{1f600}", "e\u{301}", "\u{fffd}", "\u{feff}", "long enough not to be inlined"]
                .map(Cell::text)
                .into(),
        ),
        ("bin", [&b""[..], b"\0", b"\xff\xfe", b"0123456789"].map(|v| Cell::Bytes(v.to_vec())).into()),
        ("chr", [0x41, 0xe9, 0x20ac, 0xffff, 1].map(Cell::Char).into()),
        ("us", [0, -1, i64::MAX, i64::MIN + 1, 1_700_000_000_000_001].map(Cell::Micros).into()),
        ("ns", [0, -1, i64::MAX, i64::MIN + 1, START + 1].map(Cell::Nanos).into()),
        ("date", [0, -1, 1_700_000_000_001, 253_402_300_799_999].map(Cell::Date).into()),
    ]
}

fn decimals() -> Vec<(&'static str, Vec<Cell>)> {
    let of = |width: DecimalWidth, scale: usize| {
        let nines = "9".repeat(usize::from(width.max_digits()));
        let (whole, fraction) = nines.split_at(nines.len() - scale);
        let point = if scale == 0 { "" } else { "." };
        let most = format!("{whole}{point}{fraction}");
        let zero = format!("0{point}{}", "0".repeat(scale));
        let texts =
            [most.clone(), format!("-{most}"), zero.clone(), format!("-1{}", zero.trim_start_matches('0'))];
        texts.iter().map(|text| Cell::decimal(text, width)).collect()
    };
    vec![
        ("d18", of(DecimalWidth::W64, 3)),
        ("d38", of(DecimalWidth::W128, 0)),
        ("d76", of(DecimalWidth::W256, 38)),
        ("d76s", of(DecimalWidth::W256, 75)),
    ]
}

/// E08: the whole range of some precisions, all ones of byte-aligned ones too.
fn geohashes() -> Vec<(&'static str, Vec<Cell>)> {
    let of = |precision: u8| {
        let all = (1 << precision) - 1;
        [all, 0, all >> 1, all ^ 1].map(|bits| Cell::geohash(bits, precision)).into()
    };
    vec![("g1", of(1)), ("g5", of(5)), ("g8", of(8)), ("g56", of(56)), ("g59", of(59)), ("g60", of(60))]
}

/// E01: empty arrays keep their shape.
fn arrays() -> Vec<(&'static str, Vec<Cell>)> {
    vec![
        (
            "a1",
            vec![
                Cell::doubles(&[1], &[1.5]),
                Cell::doubles(&[0], &[]),
                Cell::doubles(&[2], &[-0.0, f64::MAX]),
            ],
        ),
        (
            "a2",
            vec![
                Cell::doubles(&[2, 0], &[]),
                Cell::doubles(&[0, 3], &[]),
                Cell::doubles(&[2, 2], &[1.0, 2.0, 3.0, 4.0]),
                Cell::doubles(&[1, 1], &[f64::INFINITY]),
            ],
        ),
        (
            "a3",
            vec![
                Cell::doubles(&[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                Cell::doubles(&[3, 0, 2], &[]),
                Cell::doubles(&[2, 1, 1], &[-1.0, 1.0]),
            ],
        ),
    ]
}

/// Writes one batch; `i` numbers its rows from `first`.
fn write(
    sender: &mut Sender,
    table: &str,
    nulls: Nulls,
    first: usize,
    rows: usize,
    columns: &[(&str, Vec<Cell>)],
) {
    for at in 0..rows {
        let mut row = sender.table(table);
        row.column_i64("i", (first + at) as i64);
        for (name, cells) in columns {
            let cell = &cells[at % cells.len()];
            match nulls.is_null(at, rows) {
                true => cell.set_null(&mut row, name),
                false => cell.set(&mut row, name),
            }
        }
        row.at(TimestampNanos::new(START + (first + at) as i64)).unwrap();
    }
    deliver(sender);
}

fn all_rows(client: &mut QueryClient, table: &str) -> QueryResult {
    client.query(&format!("select * from {} order by i", quoted(table))).fetch_all().unwrap()
}

/// The cells of a column, which have to be the same by rows and by columns; `None` if there is no such
/// column.
fn read(result: &QueryResult, name: &str) -> Option<Vec<Option<Cell>>> {
    let at = result.schema().unwrap().position(name)?;
    let by_row: Vec<_> = result.rows().map(|row| Cell::of(row.value(at).unwrap())).collect();
    let by_column: Vec<_> =
        result.batches().iter().flat_map(|batch| Cell::column(&batch.column(name).unwrap())).collect();
    assert_eq!(by_row, by_column, "{name}");
    Some(by_row)
}

fn round_trip(nulls: Nulls) {
    let world = World::new();
    let mut sender = world.sender("auto_flush=off;");
    let mut client = world.client("");
    let table = world.table("types");
    let columns = samples();
    let mut first = 0;
    for rows in ROWS {
        write(&mut sender, &table, nulls, first, rows, &columns);
        first += rows;
    }
    wait_rows(&mut client, &table, first as u64);
    let result = all_rows(&mut client, &table);
    for (name, cells) in &columns {
        let wanted: Vec<Option<Cell>> = ROWS
            .into_iter()
            .flat_map(|rows| (0..rows).map(move |at| (at, rows)))
            .map(|(at, rows)| {
                let cell = &cells[at % cells.len()];
                if nulls.is_null(at, rows) { cell.null() } else { Some(cell.clone()) }
            })
            .collect();
        match read(&result, name) {
            Some(read) => assert_eq!(read, wanted, "{name}, NULLs: {nulls:?}"),
            // wire.md 4.4: nothing is known of such a column as long as all of it is NULL.
            None => assert!(
                nulls == Nulls::All
                    && matches!(cells[0], Cell::Geohash(_) | Cell::Decimal(_) | Cell::Doubles(..)),
                "{name} was not created"
            ),
        }
    }
}

// E01, E02, E08, E10, E13, E14, E19, Q11
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_every_type_comes_back_equal_without_nulls() {
    round_trip(Nulls::None);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_every_type_comes_back_equal_with_the_first_row_null() {
    round_trip(Nulls::First);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_every_type_comes_back_equal_with_the_last_row_null() {
    round_trip(Nulls::Last);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_every_type_comes_back_equal_with_every_third_row_null() {
    round_trip(Nulls::Third);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_14_every_type_comes_back_null_from_rows_that_are_all_null() {
    round_trip(Nulls::All);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn columns_that_the_server_makes_are_of_the_type_of_the_setter() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("types");
    write(&mut sender, &table, Nulls::None, 0, 1, &samples());
    wait_rows(&mut client, &table, 1);
    let result = all_rows(&mut client, &table);
    let batch = &result.batches()[0];
    for (name, wanted) in [
        ("i32", ColumnType::Int),
        ("i64", ColumnType::Long),
        ("f32", ColumnType::Float),
        ("f64", ColumnType::Double),
        ("sym", ColumnType::Symbol),
        ("text", ColumnType::Varchar),
        ("date", ColumnType::Date),
        ("d18", ColumnType::Decimal64),
        ("d38", ColumnType::Decimal128),
        ("d76", ColumnType::Decimal256),
        ("timestamp", ColumnType::TimestampNanos),
    ] {
        assert_eq!(batch.column(name).unwrap().column_type(), wanted, "{name}");
    }
    for (name, precision) in [("g1", 1), ("g5", 5), ("g8", 8), ("g59", 59), ("g60", 60)] {
        assert_eq!(batch.column(name).unwrap().geohash_precision(), Some(precision));
    }
    for (name, scale) in [("d18", 3), ("d38", 0), ("d76", 38)] {
        assert_eq!(batch.column(name).unwrap().decimal_scale(), Some(scale));
    }
}
