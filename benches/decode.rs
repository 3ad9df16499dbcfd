//! Results through the public face: received, decoded, and every cell read once.
//!
//! The server is a thread that streams prepared batches over loopback as fast as it can, so that the
//! time is that of the client, and of the kernel that copies. Behind divan's table stands what the
//! fastest query of each kind comes to.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use qwp::{Batch, Column, ColumnType, QueryClient, TimestampNanos};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tungstenite::handshake::server::{Request, Response};
use tungstenite::{Message, WebSocket};

/// Batches of a result.
const BATCHES: usize = 16;

// Codes of types.
const LONG: u8 = 0x05;
const DOUBLE: u8 = 0x07;
const SYMBOL: u8 = 0x09;
const VARCHAR: u8 = 0x0f;
const TIMESTAMP_NANOS: u8 = 0x10;

/// What the fastest query of each kind took.
static FASTEST: Mutex<Vec<(&str, Figures)>> = Mutex::new(Vec::new());

struct Figures {
    rows: usize,
    values: usize,
    bytes: usize,
    time: Duration,
}

fn main() {
    divan::main();
    println!("\n{:<14} {:>10} {:>8} {:>9}", "fastest", "Mrows/s", "MB/s", "ns/value");
    for (name, Figures { rows, values, bytes, time }) in FASTEST.lock().expect("no panic").iter() {
        let [rows, values, bytes] = [rows, values, bytes].map(|&count| count as f64);
        let nanos = time.as_nanos() as f64;
        let (rows, bytes) = (rows / nanos * 1e3, bytes / nanos * 1e3);
        println!("{name:<14} {rows:>10.2} {bytes:>8.0} {:>9.2}", nanos / values);
    }
}

#[divan::bench]
fn trades(bencher: Bencher) {
    bench(bencher, "trades", &Table::trades(), read_columns);
}

#[divan::bench]
fn trades_by_row(bencher: Bencher) {
    bench(bencher, "trades_by_row", &Table::trades(), read_trades);
}

#[divan::bench]
fn wide(bencher: Bencher) {
    let mut table = Table::new(2_048);
    for entries in [100, 10_000, 4] {
        table.symbol(entries);
    }
    (0..20).for_each(|_| table.double(1));
    (0..5).for_each(|_| table.long());
    (0..2).for_each(|_| table.string());
    bench(bencher, "wide", &table, read_columns);
}

#[divan::bench]
fn strings(bencher: Bencher) {
    let mut table = Table::new(16_384);
    (0..4).for_each(|_| table.string());
    bench(bencher, "strings", &table, read_columns);
}

#[divan::bench]
fn symbols(bencher: Bencher) {
    let mut table = Table::new(16_384);
    for entries in [2, 100, 1_000, 100_000] {
        table.symbol(entries);
    }
    bench(bencher, "symbols", &table, read_columns);
}

/// A tenth of the cells hold a value.
#[divan::bench]
fn sparse(bencher: Bencher) {
    let mut table = Table::new(4_096);
    (0..50).for_each(|_| table.double(10));
    bench(bencher, "sparse", &table, read_columns);
}

/// Runs queries through one connection; `read` says how many cells it has read.
#[expect(clippy::disallowed_methods, reason = "what is measured is time")]
fn bench(bencher: Bencher, name: &'static str, table: &Table, read: fn(&Batch) -> usize) {
    let (address, server) = serve(table);
    let mut client = QueryClient::from_conf(&format!("ws::addr={address};")).expect("a server");
    // The first result brings the dictionary.
    let values = query(&mut client, read);
    let (rows, bytes) = (table.rows * BATCHES, table.body(false, table.texts.len()).len() * BATCHES);
    let mut time = Duration::MAX;
    bencher.counter(ItemsCount::new(rows)).counter(BytesCount::new(bytes)).bench_local(|| {
        let start = Instant::now();
        assert_eq!(query(&mut client, read), values);
        time = time.min(start.elapsed());
    });
    drop(client);
    server.join().expect("the server ends");
    if time < Duration::MAX {
        FASTEST.lock().expect("no panic").push((name, Figures { rows, values, bytes, time }));
    }
}

fn query(client: &mut QueryClient, read: fn(&Batch) -> usize) -> usize {
    let mut cursor = client.query("select").run().expect("a result");
    let mut values = 0;
    while let Some(batch) = cursor.next_batch().expect("a batch") {
        values += read(&batch);
    }
    values
}

fn read_columns(batch: &Batch) -> usize {
    for index in 0..batch.column_count() {
        black_box(read_column(&batch.column_at(index).expect("a column")));
    }
    batch.row_count() * batch.column_count()
}

fn read_column(column: &Column<'_>) -> Option<usize> {
    Some(match column.column_type() {
        ColumnType::Symbol => column.as_symbol().ok()?.iter().flatten().map(str::len).sum(),
        ColumnType::Varchar => column.as_str().ok()?.iter().flatten().map(str::len).sum(),
        // Not a sum: that of doubles is as slow as an addition after the other.
        ColumnType::Double => column.as_f64().ok()?.iter().flatten().filter(|price| *price > 99.0).count(),
        ColumnType::Long => column.as_i64().ok()?.iter().flatten().filter(|value| *value > 99).count(),
        ColumnType::TimestampNanos => {
            column.as_timestamp_nanos().ok()?.iter().flatten().filter(|time| time.as_i64() > 99).count()
        }
        _ => return None,
    })
}

/// The columns of [`Table::trades`], by place.
fn read_trades(batch: &Batch) -> usize {
    for row in batch.rows() {
        let symbols = [0, 1].map(|index| row.get_at::<&str>(index).expect("a symbol").len());
        let doubles = [2, 3].map(|index| row.get_at::<f64>(index).expect("a double"));
        let time: TimestampNanos = row.get_at(4).expect("a time");
        black_box((symbols, doubles, time));
    }
    batch.row_count() * batch.column_count()
}

/// A batch in the form of the protocol.
struct Table {
    rows: usize,
    texts: Vec<String>,
    schema: Vec<u8>,
    columns: Vec<u8>,
    random: fastrand::Rng,
}

impl Table {
    fn new(rows: usize) -> Table {
        let random = fastrand::Rng::with_seed(7);
        Table { rows, texts: Vec::new(), schema: Vec::new(), columns: Vec::new(), random }
    }

    fn trades() -> Table {
        let mut table = Table::new(16_384);
        table.symbol(1_000);
        table.symbol(2);
        table.double(1);
        table.double(1);
        table.time();
        table
    }

    /// Starts a column without NULLs.
    fn column(&mut self, kind: u8) {
        self.schema.push(kind);
        self.columns.push(0);
    }

    fn symbol(&mut self, entries: usize) {
        self.column(SYMBOL);
        let start = self.texts.len();
        self.texts.extend((0..entries).map(|entry| format!("SYM-{entry}")));
        for _ in 0..self.rows {
            varint(&mut self.columns, start + self.random.usize(..entries));
        }
    }

    /// One row in `one_of` has a value.
    fn double(&mut self, one_of: usize) {
        self.schema.push(DOUBLE);
        let set: Vec<bool> = (0..self.rows).map(|_| self.random.usize(..one_of) == 0).collect();
        self.columns.push(u8::from(one_of > 1));
        if one_of > 1 {
            let byte = |rows: &[bool]| rows.iter().rev().fold(0, |bits, set| bits << 1 | u8::from(!set));
            self.columns.extend(set.chunks(8).map(byte));
        }
        for _ in set.into_iter().filter(|set| *set) {
            let value = 100.0 * self.random.f64();
            self.columns.extend(value.to_le_bytes());
        }
    }

    fn long(&mut self) {
        self.column(LONG);
        for _ in 0..self.rows {
            let value = self.random.i64(0..1_000_000);
            self.columns.extend(value.to_le_bytes());
        }
    }

    fn string(&mut self) {
        self.column(VARCHAR);
        let (mut end, mut text) = (0_u32, Vec::new());
        self.columns.extend(end.to_le_bytes());
        for _ in 0..self.rows {
            let length = self.random.u8(5..30);
            text.extend((0..length).map(|_| self.random.u8(b'a'..=b'z')));
            end += u32::from(length);
            self.columns.extend(end.to_le_bytes());
        }
        self.columns.extend(text);
    }

    /// About a microsecond from row to row, encoded as differences of differences.
    fn time(&mut self) {
        self.column(TIMESTAMP_NANOS);
        self.columns.push(1);
        let mut time = 1_700_000_000_000_000_000_i64;
        self.columns.extend(time.to_le_bytes());
        let mut delta = 1_000;
        time += delta;
        self.columns.extend(time.to_le_bytes());
        let mut bits = Vec::new();
        for _ in 2..self.rows {
            let next = 1_000 + self.random.i64(-200..200);
            difference(&mut bits, next - delta);
            delta = next;
        }
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        self.columns.extend(bits.chunks(8).map(byte));
    }

    /// What follows the number of a batch. `known` are symbols that an earlier result brought.
    fn body(&self, schema: bool, known: usize) -> Vec<u8> {
        let mut body = Vec::new();
        varint(&mut body, known);
        varint(&mut body, self.texts.len() - known);
        self.texts.iter().skip(known).for_each(|text| string(&mut body, text));
        string(&mut body, "");
        varint(&mut body, self.rows);
        if schema {
            varint(&mut body, self.schema.len());
            for (index, kind) in self.schema.iter().enumerate() {
                string(&mut body, &format!("column_{index}"));
                body.push(*kind);
            }
        }
        body.extend(&self.columns);
        body
    }
}

/// A difference of differences of at most 9 bits.
fn difference(bits: &mut Vec<bool>, value: i64) {
    let (prefix, width): (&[bool], u32) = match value {
        0 => (&[false], 0),
        -64..=63 => (&[true, false], 7),
        _ => (&[true, true, false], 9),
    };
    bits.extend(prefix);
    bits.extend((0..width).map(|bit| value >> bit & 1 == 1));
}

fn varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn string(out: &mut Vec<u8>, text: &str) {
    varint(out, text.len());
    out.extend(text.as_bytes());
}

/// Answers every request of one connection with [`BATCHES`] batches.
fn serve(table: &Table) -> (SocketAddr, JoinHandle<()>) {
    let known = table.texts.len();
    let (opening, first, next) = (table.body(true, 0), table.body(true, known), table.body(false, known));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    let thread = thread::spawn(move || {
        let mut socket = accept(&listener);
        send(&mut socket, 0, 0, &[0x18], &[0; 25]);
        let mut heads = vec![&opening];
        while let Ok(Message::Binary(request)) = socket.read() {
            let Some([0x10, id @ ..]) = request.first_chunk::<9>() else { continue };
            let head = heads.pop().unwrap_or(&first);
            for seq in 0..BATCHES {
                let prefix = [&[0x11], &id[..], &[seq.to_le_bytes()[0]]].concat();
                send(&mut socket, 0x0c, 1, &prefix, if seq == 0 { head } else { &next });
            }
            let last = BATCHES.to_le_bytes()[0] - 1;
            send(&mut socket, 0, 0, &[&[0x12], &id[..], &[last, 0]].concat(), &[]);
        }
    });
    (address, thread)
}

#[expect(clippy::result_large_err, reason = "the callback's type is tungstenite's")]
fn accept(listener: &TcpListener) -> WebSocket<TcpStream> {
    let (stream, _) = listener.accept().expect("a client");
    stream.set_nodelay(true).expect("an option");
    let version = |_: &Request, mut response: Response| {
        response.headers_mut().append("X-QWP-Version", "1".parse().expect("a value"));
        Ok(response)
    };
    tungstenite::accept_hdr(stream, version).expect("an upgrade")
}

/// Writes a message past the socket's frames, so that a large body is not copied.
fn send(socket: &mut WebSocket<TcpStream>, flags: u8, tables: u16, prefix: &[u8], body: &[u8]) {
    let payload = u32::try_from(prefix.len() + body.len()).expect("a small message");
    let mut head = vec![0x82, 127];
    head.extend((u64::from(payload) + 12).to_be_bytes());
    if payload + 12 < 126 {
        head = vec![0x82, payload.to_le_bytes()[0] + 12];
    } else if payload + 12 < 1 << 16 {
        let [.., high, low] = (payload + 12).to_be_bytes();
        head = vec![0x82, 126, high, low];
    }
    head.extend(b"QWP1\x01");
    head.push(flags);
    head.extend(tables.to_le_bytes());
    head.extend(payload.to_le_bytes());
    head.extend(prefix);
    // A client that goes away early has failed, and tells why.
    let _ = socket.get_mut().write_all(&head).and_then(|()| socket.get_mut().write_all(body));
}
