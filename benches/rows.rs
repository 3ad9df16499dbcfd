//! What a row costs its producer: building, encoding and publishing, by rows and by columns.
//!
//! `cargo bench --bench rows`. A server on loopback takes the frames, in this process, so that rows
//! go all the way; the time of a batch ends when `flush` has returned. The line before the table
//! tells the bytes that a row takes on the wire.

#![allow(unreachable_pub, reason = "a benchmark exports nothing")]
#![allow(clippy::unwrap_used, reason = "a panic is a failed benchmark")]

mod sink;

use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use qwp::{Fsn, Sender, TimestampNanos};

/// Rows of a batch: a frame or a few.
const TRADES: usize = 10_000;
const WIDE: usize = 2_000;

const EPOCH_NANOS: i64 = 1_700_000_000_000_000_000;

fn main() {
    let (trades, wide) = (Trades::new(), Wide::new());
    print_bytes("trades", TRADES, |sender| trades.add_rows(sender));
    print_bytes("wide", WIDE, |sender| wide.add_rows(sender));
    divan::main();
}

#[divan::bench]
fn trades_by_rows(bencher: Bencher<'_, '_>) {
    let data = Trades::new();
    measure(bencher, TRADES, |sender| data.add_rows(sender));
}

#[divan::bench]
fn trades_by_columns(bencher: Bencher<'_, '_>) {
    let data = Trades::new();
    measure(bencher, TRADES, |sender| data.add_columns(sender));
}

#[divan::bench]
fn wide_by_rows(bencher: Bencher<'_, '_>) {
    let data = Wide::new();
    measure(bencher, WIDE, |sender| data.add_rows(sender));
}

#[divan::bench]
fn wide_by_columns(bencher: Bencher<'_, '_>) {
    let data = Wide::new();
    measure(bencher, WIDE, |sender| data.add_columns(sender));
}

/// Times `add`, which publishes `rows` rows. What was published is acknowledged before the next
/// batch, outside of the time, so that no batch waits for room.
fn measure(bencher: Bencher<'_, '_>, rows: usize, add: impl Fn(&mut Sender) -> Option<Fsn>) {
    let sender = std::cell::RefCell::new(connect());
    settle(&mut sender.borrow_mut(), &add);
    bencher
        .counter(ItemsCount::new(rows))
        .with_inputs(|| {
            let mut sender = sender.borrow_mut();
            let published = sender.published();
            sender.wait_acked(published, ACKED_WITHIN).unwrap();
        })
        .bench_local_values(|()| add(&mut sender.borrow_mut()));
}

fn connect() -> Sender {
    Sender::from_conf(&format!("ws::addr={};auto_flush=off;max_buf_size=1g;", sink::start())).unwrap()
}

/// A few batches, so that memory is there and symbols are known.
fn settle(sender: &mut Sender, add: impl Fn(&mut Sender) -> Option<Fsn>) {
    for _ in 0..20 {
        let published = add(sender);
        sender.wait_acked(published, ACKED_WITHIN).unwrap();
    }
}

const ACKED_WITHIN: Duration = Duration::from_secs(30);

fn print_bytes(name: &str, rows: usize, add: impl Fn(&mut Sender) -> Option<Fsn>) {
    let mut sender = connect();
    settle(&mut sender, &add);
    let before = sink::received_bytes();
    settle(&mut sender, &add);
    let bytes = sink::received_bytes() - before;
    println!("{name}: {:.1} bytes a row", bytes as f64 / (20 * rows) as f64);
}

/// Two symbols of 1000 and 2 texts, two doubles, a time with jitter.
struct Trades {
    symbols: Vec<String>,
    symbol: Vec<u16>,
    side: Vec<u8>,
    price: Vec<f64>,
    amount: Vec<f64>,
    time: Vec<i64>,
}

const SIDES: [&str; 2] = ["buy", "sell"];

impl Trades {
    fn new() -> Trades {
        let mut rng = fastrand::Rng::with_seed(1);
        Trades {
            symbols: (0..1000).map(|number| format!("BTC{number:03}-USD")).collect(),
            symbol: (0..TRADES).map(|_| rng.u16(..1000)).collect(),
            side: (0..TRADES).map(|_| rng.u8(..2)).collect(),
            price: (0..TRADES).map(|_| f64::from(rng.u32(..5_000_000)) / 100.0).collect(),
            amount: (0..TRADES).map(|_| f64::from(rng.u32(..10_000)) / 100.0).collect(),
            time: (0..).take(TRADES).map(|row| EPOCH_NANOS + row * 1_000 + rng.i64(0..256)).collect(),
        }
    }

    fn add_rows(&self, sender: &mut Sender) -> Option<Fsn> {
        for row in 0..TRADES {
            sender
                .table("trades")
                .symbol("symbol", &self.symbols[usize::from(self.symbol[row])])
                .symbol("side", SIDES[usize::from(self.side[row])])
                .column_f64("price", self.price[row])
                .column_f64("amount", self.amount[row])
                .at(TimestampNanos::new(self.time[row]))
                .unwrap();
        }
        sender.flush().unwrap()
    }

    fn add_columns(&self, sender: &mut Sender) -> Option<Fsn> {
        sender
            .columns("trades")
            .symbol("symbol", &self.symbol, &self.symbols)
            .symbol("side", &self.side, &SIDES)
            .column_f64("price", &self.price)
            .column_f64("amount", &self.amount)
            .at_nanos(&self.time)
            .unwrap()
    }
}

/// Three symbols of 100, 10,000 and 4 texts, 20 doubles, 5 longs, two strings of 12 to 28 bytes.
struct Wide {
    texts: [Vec<String>; 3],
    codes: [Vec<u16>; 3],
    doubles: [Vec<f64>; 20],
    longs: [Vec<i64>; 5],
    strings: [Vec<String>; 2],
    time: Vec<i64>,
}

const SYMBOLS: [&str; 3] = ["site", "device", "status"];
const DOUBLES: [&str; 20] = [
    "d00", "d01", "d02", "d03", "d04", "d05", "d06", "d07", "d08", "d09", "d10", "d11", "d12", "d13", "d14",
    "d15", "d16", "d17", "d18", "d19",
];
const LONGS: [&str; 5] = ["l0", "l1", "l2", "l3", "l4"];
const STRINGS: [&str; 2] = ["note", "origin"];

impl Wide {
    fn new() -> Wide {
        let mut rng = fastrand::Rng::with_seed(2);
        let texts = [("site", 100), ("device", 10_000), ("status", 4)]
            .map(|(name, count)| (0..count).map(|number| format!("{name}-{number}")).collect::<Vec<_>>());
        Wide {
            codes: [100, 10_000, 4].map(|count| (0..WIDE).map(|_| rng.u16(..count)).collect()),
            texts,
            doubles: [(); 20].map(|()| (0..WIDE).map(|_| f64::from(rng.u32(..100_000)) / 100.0).collect()),
            longs: [(); 5].map(|()| (0..WIDE).map(|_| rng.i64(0..1_000_000)).collect()),
            strings: [(); 2].map(|()| (0..WIDE).map(|_| string(&mut rng)).collect()),
            time: (0..).take(WIDE).map(|row| EPOCH_NANOS + row * 1_000 + rng.i64(0..256)).collect(),
        }
    }

    fn add_rows(&self, sender: &mut Sender) -> Option<Fsn> {
        for at in 0..WIDE {
            let mut row = sender.table("wide");
            for ((name, texts), codes) in SYMBOLS.iter().zip(&self.texts).zip(&self.codes) {
                row.symbol(name, &texts[usize::from(codes[at])]);
            }
            for (name, values) in DOUBLES.iter().zip(&self.doubles) {
                row.column_f64(name, values[at]);
            }
            for (name, values) in LONGS.iter().zip(&self.longs) {
                row.column_i64(name, values[at]);
            }
            for (name, values) in STRINGS.iter().zip(&self.strings) {
                row.column_str(name, &values[at]);
            }
            row.at(TimestampNanos::new(self.time[at])).unwrap();
        }
        sender.flush().unwrap()
    }

    fn add_columns(&self, sender: &mut Sender) -> Option<Fsn> {
        let mut batch = sender.columns("wide");
        for ((name, texts), codes) in SYMBOLS.iter().zip(&self.texts).zip(&self.codes) {
            batch.symbol(name, codes, texts);
        }
        for (name, values) in DOUBLES.iter().zip(&self.doubles) {
            batch.column_f64(name, values);
        }
        for (name, values) in LONGS.iter().zip(&self.longs) {
            batch.column_i64(name, values);
        }
        for (name, values) in STRINGS.iter().zip(&self.strings) {
            batch.column_str(name, values);
        }
        batch.at_nanos(&self.time).unwrap()
    }
}

fn string(rng: &mut fastrand::Rng) -> String {
    let length = rng.usize(12..29);
    (0..length).map(|_| rng.lowercase()).collect()
}
