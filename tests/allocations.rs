//! In the steady state a row allocates nothing, by rows and by columns, and neither does an idle
//! connection: counted by an allocator that stands in for the system's.

#![allow(unsafe_code, reason = "an allocator is unsafe to write; this one hands every call on")]
#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(clippy::cast_possible_truncation, reason = "test data may wrap")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

#[path = "../benches/sink/mod.rs"]
mod sink;

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use qwp::{Date, Decimal, Geohash, Long256, Masked, Sender, Texts, TimestampMicros, TimestampNanos, Uuid};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(start, layout, bytes) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Batches of each measurement.
const BATCHES: usize = 20;
/// Allocations that a flush may make: the heads of its frames, the parts of a batch of columns.
const PER_FLUSH: u64 = 16;
/// Rows of a small batch and of a large one, which still is one frame.
const SMALL: usize = 200;
const LARGE: usize = 2_000;

/// One test, so that nothing else runs in this process while it counts.
#[test]
fn a_row_allocates_nothing_in_the_steady_state_and_an_idle_connection_neither() {
    let address = sink::start();
    let mut sender = Sender::from_conf(&format!("ws::addr={address};auto_flush=off;")).unwrap();
    let pools = Pools::new();
    let kinds: [(&str, Add<'_>); 2] = [
        ("rows", &|sender, batch, rows| add_rows(sender, &pools, batch, rows)),
        ("columns", &|sender, batch, rows| add_columns(sender, &pools, batch, rows)),
    ];
    for (kind, add) in kinds {
        run(&mut sender, LARGE, add);
        let large = run(&mut sender, LARGE, add);
        let small = run(&mut sender, SMALL, add);
        let most = PER_FLUSH * BATCHES as u64;
        println!("{kind}: {small} allocations for {BATCHES} batches of {SMALL}, {large} for {LARGE}");
        assert!(small <= most && large <= most, "{kind}: {small} and {large} allocations");
        assert!(large < small + BATCHES as u64, "{kind}: {small}, with ten times the rows {large}");
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    #[expect(clippy::disallowed_methods, reason = "that time passes is what is tested")]
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before, "an idle connection");
    assert_eq!(sender.pending_rows(), 0);
}

/// Adds a batch: its number, and how many rows.
type Add<'a> = &'a dyn Fn(&mut Sender, usize, usize);

/// Allocations while the batches are added, sent and acknowledged.
fn run(sender: &mut Sender, rows: usize, add: Add<'_>) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for batch in 0..BATCHES {
        add(sender, batch, rows);
        sender.drain(Duration::from_secs(30)).unwrap();
    }
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Values that were made before anything is counted.
struct Pools {
    symbols: Vec<String>,
    codes: Vec<u16>,
    floats: Vec<f64>,
    longs: Vec<i64>,
    times: Vec<i64>,
    bits: Vec<u8>,
    offsets: Vec<i32>,
    text: Vec<u8>,
    decimals: Vec<Decimal>,
    geohash: Geohash,
}

impl Pools {
    fn new() -> Pools {
        let row_texts: Vec<String> = (0..LARGE).map(|row| format!("text {row}")).collect();
        let ends = row_texts.iter().scan(0, |end, text| {
            *end += text.len() as i32;
            Some(*end)
        });
        Pools {
            symbols: (0..300).map(|number| format!("SYM-{number}")).collect(),
            codes: (0..LARGE).map(|row| (row % 300) as u16).collect(),
            floats: (0..LARGE).map(|row| row as f64 / 4.0).collect(),
            longs: (0..LARGE as i64).collect(),
            times: (0..LARGE as i64).map(|row| EPOCH_NANOS + row * 1_000 + row % 7).collect(),
            bits: vec![0b1011_0111; LARGE.div_ceil(8)],
            offsets: std::iter::once(0).chain(ends).collect(),
            text: row_texts.concat().into_bytes(),
            decimals: (0..100).map(|number| format!("{number}.25").parse().unwrap()).collect(),
            geohash: "u33dc0".parse().unwrap(),
        }
    }
}

const EPOCH_NANOS: i64 = 1_700_000_000_000_000_000;

fn add_rows(sender: &mut Sender, pools: &Pools, batch: usize, rows: usize) {
    for number in 0..rows {
        let value = batch * LARGE + number;
        let mut row = sender.table("all_types");
        row.symbol("symbol", &pools.symbols[number % 300])
            .symbol(
                "long_symbol",
                if value.is_multiple_of(2) { "a symbol of many bytes" } else { "another of them all" },
            )
            .column_bool("bool", value.is_multiple_of(3))
            .column_i8("byte", value as i8)
            .column_i16("short", value as i16)
            .column_char("char", 'x')
            .column_i32("int", value as i32)
            .column_i64("long", (!value.is_multiple_of(5)).then_some(value as i64))
            .column_f32("float", value as f32)
            .column_f64("double", value as f64)
            .column_date("date", Date::from_secs(value as i64).unwrap())
            .column_ts("micros", TimestampMicros::new(value as i64))
            .column_ts("nanos", TimestampNanos::new(value as i64))
            .column_uuid("uuid", Uuid::from_u128(value as u128))
            .column_long256("long256", Long256::from_limbs([value as u64, 1, 2, 3]))
            .column_ipv4("ipv4", Ipv4Addr::from(value as u32 + 1))
            .column_geohash("geohash", pools.geohash)
            .column_decimal("decimal", pools.decimals[number % 100])
            .column_binary("binary", &pools.text[number % 50..number % 50 + 20])
            .column_f64_array("array", &pools.floats[..number % 4]);
        if value.is_multiple_of(2) {
            row.column_str("name", "some text");
        }
        row.at(TimestampNanos::new(EPOCH_NANOS + value as i64 * 1_000)).unwrap();
    }
}

fn add_columns(sender: &mut Sender, pools: &Pools, _: usize, rows: usize) {
    sender
        .columns("by_columns")
        .symbol("symbol", &pools.codes[..rows], &pools.symbols)
        .column_f64("double", &pools.floats[..rows])
        .column_i64("long", Masked::new(&pools.longs[..rows], &pools.bits))
        .column_ts_micros("micros", &pools.longs[..rows])
        .column_str("text", Texts::new(&pools.offsets[..=rows], &pools.text))
        .at_nanos(&pools.times[..rows])
        .unwrap();
}
