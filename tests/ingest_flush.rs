//! FLUSH: rows go into the store, and from there to the server.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::sync::Mutex;

use kit::*;
use qwp::{ErrorKind, LinkState, Sender};
use support::{Announced, Server, Value};

/// How often the server committed rows of a table.
fn commits(server: &Server, table: &str) -> i64 {
    server.state(|state| state.catalog.get(table).map_or(0, |table| table.txn))
}

#[test]
fn flush_01_a_flush_stores_and_does_not_wait_for_the_server() {
    let server = Server::scripted(["up, hold answers, serve"]);
    let mut sender = sender(&server, "");
    assert_eq!(sender.flush().unwrap(), None, "nothing was ever published");
    row(&mut sender, 0);
    assert_eq!((sender.pending_rows(), sender.published()), (1, None));
    let first = sender.flush().unwrap().unwrap();
    assert_eq!((first.as_i64(), sender.pending_rows(), sender.acked()), (0, 0, None));
    assert_eq!(sender.flush().unwrap(), Some(first), "nothing new: the last one again");
    row(&mut sender, 1);
    let second = sender.flush().unwrap();
    assert_eq!(second.map(qwp::Fsn::as_i64), Some(1));
    server.release("answers");
    sender.wait_acked(second, SOON).unwrap();
    assert_eq!((xs(&server), sender.acked()), (vec![0, 1], second));
    assert_eq!(sender.health().state, LinkState::Connected);
}

#[test]
fn flush_06_waits_end_at_their_own_time_out_and_change_nothing() {
    let server = Server::scripted(["up, hold answers, serve"]);
    let mut sender = sender(&server, "");
    row(&mut sender, 0);
    let published = sender.flush().unwrap();
    for timeout in [0, 200] {
        let watch = Watch::start();
        let waited = sender.wait_acked(published, ms(timeout)).unwrap_err();
        let drained = sender.drain(ms(timeout)).unwrap_err();
        watch.at_least(ms(2 * timeout));
        watch.at_most(ms(2 * timeout + 2000));
        // H07: one answer from every call, and never that rows have to be sent again.
        for error in [waited, drained] {
            assert_eq!((error.kind(), error.in_doubt()), (ErrorKind::Timeout, true), "{error}");
            let text = error.to_string();
            assert!(text.contains("frames left 1") && text.contains("stay on their way"), "{text}");
        }
    }
    assert_eq!(sender.wait_acked(None, ms(0)).ok(), Some(()), "nothing to wait for");
    server.release("answers");
    drain(&mut sender);
    sender.wait_acked(published, ms(0)).unwrap();
    assert_eq!(xs(&server), [0]);
}

#[test]
fn flush_06_waiting_for_a_frame_that_was_never_published_is_an_error_at_once() {
    let (here, there) = (Server::start(), Server::start());
    let (mut sender, mut other) = (sender(&here, ""), kit::sender(&there, ""));
    frames(&mut other, 0..2);
    let never = other.published();
    assert_eq!(kind(sender.wait_acked(never, SOON)), ErrorKind::InvalidCall);
    row(&mut sender, 0);
    sender.flush().unwrap();
    assert_eq!(kind(sender.wait_acked(never, SOON)), ErrorKind::InvalidCall);
    drain(&mut sender);
}

/// A large batch: 50 MiB, in frames below the cap, of which only the last one commits.
#[test]
fn flush_03_fifty_mebibytes_are_split_and_committed_as_one() {
    let server = Server::with(|config| config.keep_frames = false);
    let mut sender = sender(&server, "");
    let text = "x".repeat(64 << 10);
    const ROWS: i64 = 800;
    for x in 0..ROWS {
        sender.table("t").column_i64("x", x).column_str("text", &text).at(at(x)).unwrap();
    }
    let published = sender.flush().unwrap().unwrap();
    assert!(published.as_i64() >= 25, "{published}");
    sender.wait_acked(published, SOON).unwrap();
    assert_eq!(xs(&server), (0..ROWS).collect::<Vec<_>>());
    assert_eq!(commits(&server, "t"), 1, "all frames together");
    assert_eq!(server.refusals(), []);
    let counters = sender.counters();
    assert_eq!((counters.rows_published, counters.frames_acked), (800, counters.frames_published));
    assert!(counters.bytes_acked > 50 << 20);
}

#[test]
fn flush_03_frames_obey_ninety_per_cent_of_the_cap_and_a_row_may_use_all_of_it() {
    const CAP: usize = 10_000;
    let server = Server::with(|config| config.cap = CAP);
    let mut sender = sender(&server, "");
    for x in 0..100 {
        sender.table("t").column_i64("x", x).column_str("text", "y".repeat(500)).at(at(x)).unwrap();
    }
    drain(&mut sender);
    let frames = server.frames().concat();
    assert!(frames.len() > 5 && frames.iter().all(|frame| frame.len() <= CAP * 9 / 10));

    // LIM-05: a row of exactly the cap goes out, and one byte more does not.
    let mut add = |bytes: usize| {
        sender.table("t").column_i64("x", 100).column_str("text", "z".repeat(bytes)).at(at(100))
    };
    let largest = (CAP - 200..CAP).rev().find(|&bytes| add(bytes).is_ok()).unwrap();
    assert_eq!(kind(add(largest + 1)), ErrorKind::TooLarge);
    drain(&mut sender);
    assert_eq!(server.frames().concat().last().map(Vec::len), Some(CAP));
    assert_eq!((xs(&server).len(), server.refusals().len()), (101, 0));
}

/// LIM-05: a cap that says nothing is unknown.
#[test]
fn lim_05_without_a_usable_cap_frames_stay_below_nineteen_tenths_of_a_mebibyte() {
    for announced in [
        Announced::Nothing,
        Announced::Text("0".into()),
        Announced::Text("-1".into()),
        Announced::Text("many".into()),
        Announced::Text("99999999999999999999".into()),
    ] {
        let server = Server::with(|config| config.announced = announced.clone());
        let mut sender = sender(&server, "");
        let text = "x".repeat(100_000);
        for x in 0..40 {
            sender.table("t").column_i64("x", x).column_str("text", &text).at(at(x)).unwrap();
        }
        drain(&mut sender);
        let largest = server.frames().concat().iter().map(Vec::len).max();
        assert!(
            largest.is_some_and(|bytes| (1_800_000..=1_992_294).contains(&bytes)),
            "{announced:?}: {largest:?}"
        );
        assert_eq!((xs(&server).len(), server.refusals().len()), (40, 0));
    }
}

/// FLUSH-11: the limit of the connection in use, and the last known one without a connection.
#[test]
fn flush_11_the_frame_limit_follows_the_server_in_use() {
    let server = Server::scripted(["up(cap=20000), read 2, ok 1, rst", "up(cap=6000), serve"]);
    let mut sender = sender(&server, "");
    let batch = |sender: &mut Sender| {
        for x in 0..60 {
            sender.table("t").column_i64("x", x).column_str("text", "y".repeat(500)).at(at(x)).unwrap();
        }
        sender.flush().unwrap();
    };
    batch(&mut sender);
    drain(&mut sender);
    until(&server, "the second connection", |state| state.connections.len() == 2);
    eventually("the sender has the new limit", || sender.counters().connects == 2);
    batch(&mut sender);
    drain(&mut sender);
    let largest: Vec<usize> =
        server.frames().iter().map(|frames| frames.iter().map(Vec::len).max().unwrap()).collect();
    assert!(largest[0] > 6000 && largest[0] <= 18_000 && largest[1] <= 5400, "{largest:?}");
    assert_eq!(xs(&server).len(), 120);
}

/// R20: the OK lists all of them, which is more than a small receive limit.
#[test]
fn conn_10_seven_hundred_tables_of_long_names_in_one_flush() {
    let server = Server::start();
    let mut sender = sender(&server, "");
    let name = |n: usize| format!("t{n:0>119}");
    for n in 0..700 {
        sender.table(&name(n)).column_i64("x", 1).at(at(0)).unwrap();
    }
    drain(&mut sender);
    assert_eq!(server.connections().len(), 1);
    assert!((0..700).all(|n| server.state(|state| state.row_count(&name(n))) == 1));
}

/// P10: a sender moves between threads, behind a lock of the caller's.
#[test]
fn flush_01_eight_threads_behind_a_lock_lose_and_double_nothing() {
    let server = Server::start();
    let sender = Mutex::new(sender(&server, ""));
    const EACH: i64 = 200;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let sender = &sender;
            scope.spawn(move || {
                for n in 0..EACH {
                    row(&mut sender.lock().unwrap(), thread * EACH + n);
                    if n % 7 == 0 {
                        sender.lock().unwrap().flush().unwrap();
                    }
                }
            });
        }
    });
    drain(&mut sender.lock().unwrap());
    let mut found = xs(&server);
    found.sort_unstable();
    assert_eq!(found, (0..8 * EACH).collect::<Vec<_>>());
}

#[test]
fn a_sender_may_go_to_another_thread() {
    fn may_move<T: Send>() {}
    may_move::<Sender>();
    may_move::<qwp::SenderBuilder>();
}

/// FLUSH-08, FLUSH-15, E22, E23: what is not finished is not sent, and takes nothing with it.
#[test]
fn flush_08_a_half_built_row_is_gone_and_the_others_stay() {
    let server = Server::start();
    let mut sender = sender(&server, "");
    row(&mut sender, 0);
    sender.table("t").symbol("ghost", "ghost").column_i64("x", 7).cancel_row();
    let mut half = sender.table("nowhere");
    half.column_i64("x", 1).symbol("s", "y");
    drop(half);
    row(&mut sender, 1);
    assert_eq!(kind(sender.table("t").at_now()), ErrorKind::InvalidCall);
    let twice = sender.table("t").column_i64("x", 1).column_i64("X", 2).at(at(9));
    assert_eq!(kind(twice), ErrorKind::InvalidCall);
    sender.flush().unwrap();
    sender.table("t").at(at(2)).unwrap();
    drain(&mut sender);
    let rows = server.rows("t");
    assert_eq!(rows.len(), 3, "two rows, and one with only its time");
    assert_eq!(rows[2].get("x"), &Value::Null);
    assert_eq!(*rows[0].names, ["x", "timestamp"]);
    assert_eq!(server.state(|state| state.catalog.names()), ["t"]);
}

/// E16: an id is bound once a published frame carries it, and only then.
#[test]
fn flush_08_symbols_of_abandoned_rows_never_reach_the_wire() {
    let server = Server::start();
    let mut sender = sender(&server, "");
    sender.table("t").symbol("s", "ghost").cancel_row();
    let failed = sender.table("t").symbol("s", "spook").column_i64("x", 1).column_i64("x", 2).at(at(0));
    assert_eq!(kind(failed), ErrorKind::InvalidCall);
    sender.table("t").symbol("s", "real").at(at(1)).unwrap();
    drain(&mut sender);
    server.cut();
    sender.table("t").symbol("s", "other").at(at(2)).unwrap();
    sender.table("t").symbol("s", "real").at(at(3)).unwrap();
    drain(&mut sender);
    let symbols: Vec<Value> = ["real", "other", "real"].map(Value::symbol).into();
    assert_eq!(server.column("t", "s"), symbols);
    for frame in server.frames().concat() {
        for text in ["ghost", "spook"] {
            assert!(!frame.windows(text.len()).any(|bytes| bytes == text.as_bytes()), "{text}");
        }
    }
}

/// FLUSH-17
#[test]
fn flush_17_rows_beyond_max_buf_size_are_refused_and_a_flush_makes_room() {
    let server = Server::start();
    let mut sender = sender(&server, "init_buf_size=100;max_buf_size=1000;");
    let refused = (0..).find_map(|x| try_row(&mut sender, x).err().map(|error| (x, error)));
    let (x, error) = refused.unwrap();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(x > 10 && x < 100 && error.to_string().contains("max_buf_size"), "{x}: {error}");
    assert_eq!(sender.pending_rows(), usize::try_from(x).unwrap());
    sender.flush().unwrap();
    row(&mut sender, x);
    drain(&mut sender);
    assert_eq!(xs(&server), (0..=x).collect::<Vec<_>>());
}

/// FLUSH-12
#[test]
fn flush_12_a_transaction_is_published_by_flush_alone_and_as_one() {
    let server = Server::with(|config| config.cap = 10_000);
    let text = conf(&server, "transaction=on;auto_flush_rows=2;auto_flush_bytes=10;auto_flush_interval=1;");
    let mut sender = Sender::from_conf(&text).unwrap();
    for x in 0..3000 {
        row(&mut sender, x);
    }
    assert_eq!((sender.pending_rows(), sender.published()), (3000, None), "triggers do nothing");
    assert!(sender.flush().unwrap().unwrap().as_i64() > 0, "several frames");
    drain(&mut sender);
    assert_eq!((xs(&server).len(), commits(&server, "t")), (3000, 1));

    row(&mut sender, 3000);
    row(&mut sender, 3001);
    let error = sender.close().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidCall);
    assert!(error.to_string().contains("rows 2"), "{error}");
    assert_eq!(xs(&server).len(), 3000, "they are discarded");
}
