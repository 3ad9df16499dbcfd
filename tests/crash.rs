//! FLUSH-02: a process is killed with SIGKILL at any instant; every row whose flush had returned is
//! delivered by the next one, in order, and no flush in part.
//!
//! `QWP_CRASH_RUNS=500 cargo test --test crash` runs more of them; a failing run prints its seed, and
//! `QWP_CRASH_SEED` repeats it as far as chance is ours.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kit::*;
use qwp::Sender;
use support::{Server, Value};

/// Rows of the larger flushes: several frames, several segments.
const GROUP_ROWS: i64 = 60;
/// Each child counts its rows from a multiple of this.
const CHILD_ROWS: i64 = 1_000_000;

const CONF: &str = "QWP_CRASH_CONF";
const FIRST: &str = "QWP_CRASH_FIRST";

/// Not a test: what the child does, until it is killed.
#[test]
fn child() {
    let (Ok(conf), Ok(first)) = (std::env::var(CONF), std::env::var(FIRST)) else { return };
    let mut sender = Sender::from_conf(&conf).unwrap();
    let mut x: i64 = first.parse().unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "\nopened").unwrap();
    for flush in 0.. {
        let rows = if flush % 7 == 3 { GROUP_ROWS } else { 1 + flush % 3 };
        for _ in 0..rows {
            add(&mut sender, x);
            x += 1;
        }
        // A full store is waited for: the server acknowledges, or the parent kills.
        while sender.flush().is_err() {}
        writeln!(out, "flushed {x}").unwrap();
        out.flush().unwrap();
    }
}

fn add(sender: &mut Sender, x: i64) {
    let text = "z".repeat(usize::try_from(x % 50).unwrap() * 4);
    let symbol = format!("s{}", x % 1000);
    let mut row = sender.table("t");
    row.symbol("s", &symbol).column_str("text", &text).column_i64("x", x).at(at(x)).unwrap();
}

/// How many rows of a child's had been flushed when it was killed, by its own words.
fn run_and_kill(conf: &str, first: i64, after: Duration) -> i64 {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CONF, conf)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Killed(child);
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "opened"), "the child did not open its slot");
    let (kill, killed) = std::sync::mpsc::channel::<()>();
    let mut printed = first;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = killed.recv_timeout(after);
            child.0.kill().unwrap();
            child.0.wait().unwrap();
        });
        for line in lines {
            if let Some(x) = line.strip_prefix("flushed ") {
                // The last line may be cut off; numbers of a child have one length.
                printed = printed.max(x.parse().unwrap_or(printed));
            }
        }
        drop(kill);
    });
    printed - first
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The rows that a child may have stored: whole flushes only.
fn whole_flushes(rows: i64) -> bool {
    let mut sum = 0;
    for flush in 0.. {
        if sum >= rows {
            break;
        }
        sum += if flush % 7 == 3 { GROUP_ROWS } else { 1 + flush % 3 };
    }
    sum == rows
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn conf_in(folder: &Path, address: &str, durability: &str) -> String {
    format!(
        "ws::addr={address};auto_flush=off;initial_connect_retry=async;sf_dir={};sender_id=w;\
         sf_durability={durability};sf_max_segment_bytes=8k;sf_max_total_bytes=16m;",
        folder.display()
    )
}

#[test]
fn flush_02_a_killed_process_loses_nothing_that_flush_had_taken() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let runs = number("QWP_CRASH_RUNS", 12);
    let seed = number("QWP_CRASH_SEED", u64::from(std::process::id()));
    let mut random = seed | 1;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let mut total = 0;
    for run in 0..runs {
        let folder = Folder(std::env::temp_dir().join(format!("qwp-crash-{}-{run}", std::process::id())));
        let _ = std::fs::remove_dir_all(&folder.0);
        let server = Server::start();
        let durability = ["memory", "memory", "periodic", "append"][usize::try_from(below(4)).unwrap()];
        // While the server is away the slot grows; while it is there it is trimmed.
        let mut flushed = Vec::new();
        for child in 0..1 + below(3) {
            let address = if below(2) == 0 { server.addr() } else { "127.0.0.1:1".to_owned() };
            let conf = conf_in(&folder.0, &address, durability);
            let first = i64::try_from(child).unwrap() * CHILD_ROWS;
            let after = Duration::from_micros(below(60_000));
            flushed.push(run_and_kill(&conf, first, after));
        }
        let mut last = Sender::from_conf(&conf_in(&folder.0, &server.addr(), durability)).unwrap();
        drain(&mut last);
        last.close().unwrap();
        let told = format!("seed {seed} run {run} {durability} {flushed:?}");
        check(&server, &flushed, &told);
        total += flushed.iter().sum::<i64>();
    }
    println!("{runs} runs, {total} rows flushed before a kill");
}

/// Rows may come twice, never out of order for the first time, never with a hole.
fn check(server: &Server, flushed: &[i64], told: &str) {
    let rows = server.rows("t");
    let mut next = vec![0; flushed.len()];
    for row in &rows {
        let Value::Long(x) = row.get("x") else { panic!("{told}: {row:?}") };
        let (child, index) = (usize::try_from(x / CHILD_ROWS).unwrap(), x % CHILD_ROWS);
        assert!(index <= next[child], "{told}: row {x} comes before row {}", next[child]);
        next[child] = next[child].max(index + 1);
        let Value::Symbol(symbol) = row.get("s") else { panic!("{told}: no symbol in {row:?}") };
        assert_eq!(**symbol, format!("s{}", x % 1000), "{told}");
    }
    for (child, (found, flushed)) in next.iter().zip(flushed).enumerate() {
        assert!(found >= flushed, "{told}: child {child} lost rows {found} to {flushed}");
        assert!(whole_flushes(*found), "{told}: child {child} has {found} rows, a part of a flush");
    }
}
