//! FLUSH-07, FLUSH-13, FLUSH-14: the end of a sender, in whatever state it is.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::net::TcpListener;
use std::time::Duration;

use kit::*;
use qwp::{ErrorKind, LinkState, Sender};
use support::{Script, Server};

/// What `close_flush_timeout_millis=500` permits (H01).
const BOUND: Duration = Duration::from_millis(1500);

#[test]
fn flush_07_close_flushes_and_waits_for_acknowledgements() {
    let server = Server::scripted(["up, read 2, hold a, ok 1"]);
    let mut sender = sender(&server, "");
    row(&mut sender, 0);
    sender.flush().unwrap();
    row(&mut sender, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            until(&server, "both frames", |state| state.frame_count() == 2);
            server.release("a");
        });
        sender.close().unwrap();
    });
    assert_eq!((xs(&server), sender.health().state), (vec![0, 1], LinkState::Closed));
    until(&server, "an orderly end", |state| state.connections[0].closed);
    assert_eq!(server.connections()[0].closes, [1000_u16.to_be_bytes()]);
}

/// FLUSH-13: before anything else is looked at.
#[test]
fn flush_13_after_close_every_call_is_refused_and_observers_work() {
    let server = Server::start();
    let mut sender = sender(&server, "");
    row(&mut sender, 0);
    let published = sender.flush().unwrap();
    drain(&mut sender);
    sender.close().unwrap();
    sender.close().unwrap();
    type Call = fn(&mut Sender) -> qwp::Result<()>;
    let calls: [(&str, Call); 9] = [
        ("row", |sender| try_row(sender, 1)),
        ("bad row", |sender| sender.table("").column_i64("", 1).at(at(0))),
        ("empty row", |sender| sender.table("t").at_now()),
        ("columns", |sender| sender.columns("?").at_now().map(drop)),
        ("flush", |sender| sender.flush().map(drop)),
        ("wait", |sender| sender.wait_acked(sender.published(), SOON)),
        ("wait for nothing", |sender| sender.wait_acked(None, SOON)),
        ("drain", |sender| sender.drain(SOON)),
        ("scale", |sender| sender.decimal_scale("", "", 99)),
    ];
    for (what, call) in calls {
        assert_eq!(kind(call(&mut sender)), ErrorKind::Closed, "{what}");
    }
    assert_eq!((sender.published(), sender.acked(), sender.pending_rows()), (published, published, 0));
    assert_eq!((sender.counters().frames_acked, sender.was_ever_connected()), (1, true));
    assert_eq!(sender.health().state, LinkState::Closed);
    sender.clear();
    drop(sender);
    assert_eq!(xs(&server), [0]);
}

/// H02: what is left, and that it is lost.
#[test]
fn flush_07_close_says_what_was_not_acknowledged_and_that_it_is_lost() {
    let server = Server::scripted(["up, read 1, ok 0, silent"]);
    let mut sender = sender(&server, "close_flush_timeout_millis=300;");
    frames(&mut sender, 0..3);
    row(&mut sender, 3);
    let watch = Watch::start();
    let error = sender.close().unwrap_err();
    watch.at_least(ms(300));
    watch.at_most(ms(1300));
    assert_eq!((error.kind(), error.in_doubt()), (ErrorKind::Timeout, true));
    let text = error.to_string();
    assert!(text.contains("frames left 3") && text.contains("lost, as the store is in memory"), "{text}");
    // H08: how things stood, not how they stand now that it is closed.
    assert!(text.contains(&format!("connected to {}", server.addr())), "{text}");
    sender.close().unwrap();
}

/// FLUSH-07: zero and below skip the wait.
#[test]
fn flush_07_close_need_not_wait() {
    for timeout in [0, -1] {
        let server = Server::scripted(["up, silent"]);
        let mut sender = sender(&server, &format!("close_flush_timeout_millis={timeout};"));
        frames(&mut sender, 0..1);
        let watch = Watch::start();
        assert_eq!(kind(sender.close()), ErrorKind::Timeout);
        watch.at_most(ms(1000));
    }
}

/// FLUSH-14: with nothing pending and nothing unacknowledged close does not wait.
#[test]
fn flush_14_close_does_not_wait_for_nothing() {
    for script in ["up, silent", "up, deaf"] {
        let server = Server::scripted([script]);
        let watch = Watch::start();
        sender(&server, "").close().unwrap();
        watch.at_most(ms(1000));
    }
    let mut nowhere = Server::start();
    nowhere.stop();
    let watch = Watch::start();
    sender(&nowhere, "initial_connect_retry=async;").close().unwrap();
    watch.at_most(ms(1000));
}

/// Senders that hang in every way, by name; each with something unacknowledged.
fn hanging() -> Vec<(&'static str, Server, Sender)> {
    let keys = "close_flush_timeout_millis=500;initial_connect_retry=async;";
    let make = |what, script: Option<&str>, rows: i64, more: &str| {
        let mut server = Server::start();
        match script {
            Some(script) => drop(server.always(Some(Script::new(script)))),
            None => server.stop(),
        }
        let mut sender = sender(&server, &format!("{keys}{more}"));
        let text = "x".repeat(1 << 20);
        for x in 0..rows {
            let text = (rows > 1).then_some(&text);
            sender.table("t").column_i64("x", x).column_str("text", text).at(at(x)).unwrap();
            sender.flush().unwrap();
        }
        (what, server, sender)
    };
    let mut hanging = vec![
        make("a server that says nothing", Some("up, silent"), 1, ""),
        make("full buffers at a server that does not read", Some("up, deaf"), 30, ""),
        make("no answer to the upgrade", Some("deaf"), 1, ""),
        make("connections that die", Some("up, rst"), 1, ""),
        make("a pause between rounds", None, 1, "reconnect_initial_backoff_millis=60000;"),
        make("every role is wrong", Some("role REPLICA"), 1, "reconnect_initial_backoff_millis=60000;"),
        make("a store that is full", Some("up, deaf"), 10, "sf_max_segment_bytes=4m;sf_max_total_bytes=16m;"),
    ];
    let (.., full) = hanging.last_mut().unwrap();
    let fits = full.published();
    for x in 0..8 {
        full.table("t").column_i64("x", x).column_str("text", "x".repeat(1 << 20)).at(at(x)).unwrap();
    }
    assert_eq!(full.published(), fits, "they do not fit: close waits for room");
    for (what, server, sender) in &hanging {
        match *what {
            "a pause between rounds" => {
                eventually(what, || sender.health().failed_rounds > 0);
            }
            _ => until(server, what, |state| !state.connections.is_empty()),
        }
    }
    hanging
}

/// H01, H04
#[test]
fn flush_14_close_is_bounded_in_every_state() {
    std::thread::scope(|scope| {
        for (what, server, mut sender) in hanging() {
            scope.spawn(move || {
                let watch = Watch::start();
                let error = sender.close().unwrap_err();
                let took = watch.elapsed();
                assert!(took < BOUND, "{what}: {took:?}");
                let full = what == "a store that is full";
                let wanted = if full { ErrorKind::BackPressure } else { ErrorKind::Timeout };
                assert_eq!((error.kind(), error.in_doubt()), (wanted, true), "{what}: {error}");
                let text = error.to_string();
                assert!(text.contains("frames left") && text.contains("lost"), "{what}: {text}");
                assert_eq!(text.contains("rows lost 8"), full, "{what}: {text}");
                let gone = |state: &support::State| state.open() == 0 || what.contains("deaf");
                assert!(server.wait_until(|s| gone(s) || holds_on(what), SOON), "{what}: the thread is gone");
            });
        }
    });
}

/// A server that does not read does not see the end either.
fn holds_on(what: &str) -> bool {
    ["full buffers at a server that does not read", "no answer to the upgrade", "a store that is full"]
        .contains(&what)
}

/// H01
#[test]
fn flush_14_dropping_is_as_bounded_as_closing() {
    std::thread::scope(|scope| {
        for (what, _server, sender) in hanging() {
            scope.spawn(move || {
                let watch = Watch::start();
                drop(sender);
                let took = watch.elapsed();
                assert!(took < BOUND, "{what}: {took:?}");
            });
        }
    });
}

/// FLUSH-07: dropping delivers as well.
#[test]
fn flush_07_dropping_flushes_and_waits() {
    let server = Server::start();
    let mut sender = sender(&server, "");
    row(&mut sender, 0);
    drop(sender);
    assert_eq!(xs(&server), [0]);
}

/// FLUSH-07: a panic that unwinds through a sender does not become an abort.
#[test]
fn flush_07_dropping_while_a_panic_unwinds_still_delivers() {
    let server = Server::start();
    let mut sender = sender(&server, "");
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        row(&mut sender, 0);
        let _moved = sender;
        std::panic::resume_unwind(Box::new("a user's panic"));
    }));
    assert!(unwound.is_err());
    assert_eq!(xs(&server), [0]);
}

/// FLUSH-06: a thread that waits while another one holds a clone of nothing: waits end on a terminal
/// error at once.
#[test]
fn flush_06_a_wait_ends_at_once_on_a_terminal_error() {
    let server = Server::scripted(["up, read 1, hold a, nack 5 0"]);
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || sender.drain(SOON).unwrap_err().kind());
        until(&server, "the frame", |state| state.frame_count() == 1);
        let watch = Watch::start();
        server.release("a");
        assert_eq!(waiting.join().unwrap(), ErrorKind::Rejected);
        watch.at_most(ms(1000));
    });
}

/// CONN-16, H01: a peer that is no server at all.
#[test]
fn flush_14_close_interrupts_an_upgrade_at_a_peer_that_never_answers() {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!("ws::addr={};initial_connect_retry=async;", mute.local_addr().unwrap());
    let mut sender = Sender::from_conf(&text).unwrap();
    let (_accepted, _) = mute.accept().unwrap();
    let watch = Watch::start();
    sender.close().unwrap();
    watch.at_most(ms(1000));
}
