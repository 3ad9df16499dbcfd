//! FLUSH-05: rows that go out without a call.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use kit::*;
use qwp::Sender;
use support::Server;

fn flushing(server: &Server, keys: &str) -> Sender {
    Sender::from_conf(&conf(server, keys)).unwrap()
}

/// How many rows each frame published, as they are added.
fn batches(sender: &mut Sender, rows: i64, mut between: impl FnMut(i64)) -> Vec<u64> {
    let mut batches = Vec::new();
    let mut before = sender.counters().rows_published;
    for x in 0..rows {
        between(x);
        row(sender, x);
        let published = sender.counters().rows_published;
        if published > before {
            batches.push(published - before);
            before = published;
        }
    }
    batches
}

/// Lets time pass: an interval is what is tested.
fn pause(time: std::time::Duration) {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    never.recv_timeout(time).expect_err("nobody sends");
}

/// C01
#[test]
fn flush_05_by_rows() {
    let server = Server::start();
    for (keys, rows, wanted) in [
        ("auto_flush_rows=5;auto_flush_interval=off;", 13, vec![5, 5]),
        ("auto_flush_rows=1;", 3, vec![1, 1, 1]),
        ("auto_flush_interval=off;", 2500, vec![1000, 1000]),
        ("auto_flush_rows=0;auto_flush_interval=off;", 2500, vec![]),
        ("auto_flush_rows=off;auto_flush_interval=off;", 2500, vec![]),
    ] {
        let mut sender = flushing(&server, keys);
        assert_eq!(batches(&mut sender, rows, |_| {}), wanted, "{keys}");
        sender.close().unwrap();
    }
}

/// C01: a row of one LONG weighs 16 bytes, its time included.
#[test]
fn flush_05_by_bytes() {
    let server = Server::start();
    let off = "auto_flush_rows=off;auto_flush_interval=off;";
    for (bytes, rows, wanted) in
        [("160", 25, vec![10, 10]), ("161", 25, vec![11, 11]), ("1k", 70, vec![64]), ("off", 70, vec![])]
    {
        let mut sender = flushing(&server, &format!("{off}auto_flush_bytes={bytes};"));
        assert_eq!(batches(&mut sender, rows, |_| {}), wanted, "{bytes}");
    }
}

/// C01, CONF-15
#[test]
fn flush_05_off_wins_over_every_trigger() {
    let server = Server::start();
    let keys = "auto_flush=off;auto_flush_rows=1;auto_flush_bytes=1;auto_flush_interval=1;";
    let mut sender = flushing(&server, keys);
    let none = batches(&mut sender, 50, |_| pause(ms(1)));
    assert_eq!((none, sender.pending_rows()), (vec![], 50));
    drain(&mut sender);
    assert_eq!(xs(&server).len(), 50);
}

/// C02: not on every row, and not never again after a pause.
#[test]
fn flush_05_by_age_counts_from_the_first_row_of_a_batch() {
    let server = Server::start();
    let mut sender = flushing(&server, "auto_flush_rows=off;auto_flush_interval=100;");
    for _ in 0..2 {
        let batches = batches(&mut sender, 60, |_| pause(ms(10)));
        // At 10 ms or more a row; never a single one.
        assert!(batches.iter().all(|rows| (2..=11).contains(rows)), "{batches:?}");
        assert_eq!(batches.iter().sum::<u64>() + sender.pending_rows() as u64, 60);

        let before = sender.flush().unwrap();
        row(&mut sender, 60);
        pause(ms(150));
        assert_eq!((sender.pending_rows(), sender.published()), (1, before), "a row has to complete");
        row(&mut sender, 61);
        assert_eq!(sender.pending_rows(), 0, "the first row after the pause takes along what waited");
    }
    drain(&mut sender);
    assert_eq!(xs(&server).len(), 2 * 62);
}

/// FLUSH-05, FLUSH-04: the row was taken, and so it says.
#[test]
fn flush_05_an_auto_flush_that_fails_keeps_the_rows() {
    let server = Server::scripted(["up, silent"]);
    let small = "sf_max_segment_bytes=1k;sf_max_total_bytes=2k;sf_append_deadline_millis=50;";
    let keys = format!("auto_flush_rows=10;auto_flush_interval=off;close_flush_timeout_millis=0;{small}");
    let mut sender = flushing(&server, &keys);
    let error = (0..1000).find_map(|x| try_row(&mut sender, x).err()).unwrap();
    assert_eq!((error.kind(), error.in_doubt()), (qwp::ErrorKind::BackPressure, true));
    assert_eq!(sender.pending_rows(), 10);
    let taken = sender.counters().rows_published + 10;
    server.cut();
    drain_full(&mut sender);
    assert_eq!(xs(&server), (0..i64::try_from(taken).unwrap()).collect::<Vec<_>>());
}
