//! Writes a few trades and reads them back: from the server that `QDB_CLIENT_CONF` names, else from a
//! demo server that this program starts on loopback.
//!
//! ```sh
//! cargo run --example quickstart
//! QDB_CLIENT_CONF='ws::addr=localhost:9000;' cargo run --example quickstart
//! ```

#[path = "../tests/support/mod.rs"]
mod support;

use qwp::{Batch, QueryClient, Sender, TimestampNanos};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Of a column on the screen: that of a timestamp.
const WIDTH: usize = 32;

/// A table of its own, so that nothing else is touched.
const TABLE: &str = "qwp_quickstart_trades";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> qwp::Result<()> {
    let from_environment = std::env::var("QDB_CLIENT_CONF").ok().filter(|conf| !conf.is_empty());
    let demo = from_environment.is_none().then(support::Server::start);
    let conf = match (&demo, from_environment) {
        (Some(server), _) => {
            println!("QDB_CLIENT_CONF is not set: using a demo server on {}", server.addr());
            format!("ws::addr={};", server.addr())
        }
        (None, Some(conf)) => {
            println!("using the server that QDB_CLIENT_CONF names");
            conf
        }
        (None, None) => unreachable!("there is a demo server unless the environment names one"),
    };

    let written = write(&conf)?;
    println!("wrote {written} trades, all acknowledged; reading them back:\n");
    let read = read(&conf, written)?;
    println!("\nread {read} of {written} trades");
    Ok(())
}

fn write(conf: &str) -> qwp::Result<usize> {
    let trades = [
        ("ETH-USD", "sell", 2615.54, 0.00044),
        ("BTC-USD", "sell", 39_269.98, 0.001),
        ("ETH-USD", "buy", 2615.6, 0.12),
        ("SOL-USD", "buy", 98.41, 12.5),
    ];
    let mut sender = Sender::from_conf(conf)?;
    for (symbol, side, price, amount) in trades {
        sender
            .table(TABLE)
            .symbol("symbol", symbol)
            .symbol("side", side)
            .column_f64("price", price)
            .column_f64("amount", amount)
            .at(TimestampNanos::now())?;
    }
    sender.drain(Duration::from_secs(10))?;
    sender.close()?;
    Ok(trades.len())
}

/// Prints the newest trades. An acknowledged row becomes visible a moment later, so this looks until
/// all are there, for at most five seconds.
#[expect(clippy::disallowed_methods, reason = "an example stands outside of the crate and its clock")]
fn read(conf: &str, wanted: usize) -> qwp::Result<usize> {
    let mut client = QueryClient::from_conf(conf)?;
    let sql = format!(
        "SELECT timestamp, symbol, side, price, amount FROM {TABLE} ORDER BY timestamp DESC LIMIT {wanted}"
    );
    let begin = Instant::now();
    loop {
        let mut cursor = client.query(&sql).run()?;
        let mut batches = Vec::new();
        while let Some(batch) = cursor.next_batch()? {
            batches.push(batch);
        }
        let rows = batches.iter().map(Batch::row_count).sum();
        if rows >= wanted || begin.elapsed() > Duration::from_secs(5) {
            batches.iter().for_each(print);
            return Ok(rows);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn print(batch: &Batch) {
    let names: Vec<&str> = batch.schema().iter().map(|(name, _)| name).collect();
    let line = |cells: Vec<String>| println!("{}", cells.join("").trim_end());
    line(names.iter().map(|name| format!("{name:<WIDTH$}")).collect());
    for row in batch.rows() {
        line(row.values().map(|value| format!("{:<WIDTH$}", value.to_string())).collect());
    }
}
