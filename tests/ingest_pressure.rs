//! FLUSH-04, PUB-14, PUB-15: a store that is full.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::time::Duration;

use kit::*;
use qwp::{Error, ErrorKind, Sender};
use support::{Script, Server};

/// A store of two segments of a kilobyte.
const SMALL: &str = "sf_max_segment_bytes=1k;sf_max_total_bytes=2k;close_flush_timeout_millis=0;reconnect_initial_backoff_millis=1;";

/// Publishes rows, one a frame, until there is no room; how many were published, and the error.
fn fill(sender: &mut Sender) -> (i64, Error) {
    for x in 0..10_000 {
        row(sender, x);
        if let Err(error) = sender.flush() {
            return (x, error);
        }
    }
    panic!("a store of two kilobytes takes no 10,000 frames");
}

/// How many frames the store takes.
fn frames_that_fit() -> i64 {
    let server = Server::scripted(["up, silent"]);
    fill(&mut sender(&server, &format!("{SMALL}sf_append_deadline_millis=0;"))).0
}

/// FLUSH-04: the server is there, and slower than the producer.
#[test]
fn flush_04_a_full_store_is_told_with_the_wire_up_and_keeps_the_rows() {
    let server = Server::scripted(["up, silent"]);
    let mut sender = sender(&server, &format!("{SMALL}sf_append_deadline_millis=200;"));
    let watch = Watch::start();
    let (stored, error) = fill(&mut sender);
    watch.at_least(ms(190));
    watch.at_most(ms(2200));
    assert_eq!((error.kind(), error.in_doubt()), (ErrorKind::BackPressure, false));
    let text = error.to_string();
    for part in [
        "bytes used 2048, of 2048",
        "acked none",
        &server.addr(),
        "slower than the producer",
        "the rows stay",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(sender.pending_rows(), 1);
    assert_eq!(kind(sender.flush()), ErrorKind::BackPressure, "still full");
    let counters = sender.counters();
    assert!(counters.stalls >= 2 && counters.stalled >= ms(380), "{counters:?}");
    server.cut();
    drain_full(&mut sender);
    assert_eq!(xs(&server), (0..=stored).collect::<Vec<_>>());
}

/// FLUSH-04: nobody is there; attempts, and since when.
#[test]
fn flush_04_a_full_store_is_told_with_the_wire_down() {
    let mut server = Server::start();
    server.stop();
    let keys = format!("{SMALL}sf_append_deadline_millis=100;initial_connect_retry=async;");
    let mut sender = sender(&server, &keys);
    eventually("rounds fail", || sender.health().failed_rounds > 1);
    let (stored, error) = fill(&mut sender);
    assert_eq!(error.kind(), ErrorKind::BackPressure);
    let text = error.to_string();
    for part in ["no connection for", "rounds over the endpoints failed", &server.addr(), "refused"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    server.restart();
    drain_full(&mut sender);
    assert_eq!(xs(&server), (0..=stored).collect::<Vec<_>>());
}

/// PUB-14: 0 is no wait.
#[test]
fn flush_04_a_deadline_of_zero_does_not_wait() {
    let server = Server::scripted(["up, silent"]);
    let mut sender = sender(&server, &format!("{SMALL}sf_append_deadline_millis=0;"));
    let watch = Watch::start();
    let (_, error) = fill(&mut sender);
    watch.at_most(ms(1000));
    assert_eq!(error.kind(), ErrorKind::BackPressure);
}

/// PUB-13: what the whole store cannot hold is told at once.
#[test]
fn pub_13_a_batch_larger_than_the_store_is_told_at_once() {
    let server = Server::scripted(["up, silent"]);
    let mut sender = sender(&server, SMALL);
    for x in 0..500 {
        row(&mut sender, x);
    }
    let watch = Watch::start();
    let error = sender.flush().unwrap_err();
    watch.at_most(ms(1000));
    assert_eq!((error.kind(), sender.pending_rows()), (ErrorKind::TooLarge, 500), "{error}");
}

/// What this thread has used of the processor, if the system tells.
fn cpu() -> Option<Duration> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedstat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// FLUSH-04, PUB-14: parked, not spinning.
#[test]
fn flush_04_a_producer_that_waits_for_room_uses_no_processor() {
    let server = Server::scripted(["up, silent"]);
    let mut sender = sender(&server, &format!("{SMALL}sf_append_deadline_millis=700;"));
    let before = cpu();
    let watch = Watch::start();
    assert_eq!(fill(&mut sender).1.kind(), ErrorKind::BackPressure);
    watch.at_least(ms(690));
    if let (Some(before), Some(after)) = (before, cpu()) {
        assert!(after - before < ms(200), "{:?} in {:?}", after - before, watch.elapsed());
    }
}

/// A producer that is parked in `flush` when `then` happens; what it returned, and how soon after.
fn parked(script: &str, then: impl FnOnce(&Server)) -> (qwp::Result<()>, Duration, Server, Sender) {
    let fit = frames_that_fit();
    let server = Server::start();
    server.script(Script::new(&script.replace("FIT", &fit.to_string())));
    let mut sender = sender(&server, SMALL);
    let producer = std::thread::spawn(move || {
        frames(&mut sender, 0..fit);
        row(&mut sender, fit);
        let flushed = sender.flush().map(drop);
        (flushed, sender)
    });
    until(&server, "all that fits", |state| state.frame_count() == usize::try_from(fit).unwrap());
    let watch = Watch::start();
    then(&server);
    let (flushed, sender) = producer.join().unwrap();
    (flushed, watch.elapsed(), server, sender)
}

/// PUB-14: it wakes once there is room.
#[test]
fn flush_04_a_parked_producer_wakes_when_acknowledgements_make_room() {
    let (returned, took, server, mut sender) =
        parked("up, read FIT, hold a, serve", |server| server.release("a"));
    returned.unwrap();
    assert!(took < ms(2000), "{took:?}");
    drain(&mut sender);
    assert_eq!(xs(&server), (0..=frames_that_fit()).collect::<Vec<_>>());
}

/// H05: not "the store is full" half a minute later.
#[test]
fn errp_05_a_parked_producer_learns_at_once_why_the_sender_stops() {
    let (returned, took, _server, mut sender) =
        parked("up, read FIT, hold a, nack 5 0", |server| server.release("a"));
    let error = returned.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
    assert!(took < ms(1000), "{took:?}");
    assert_eq!(sender.pending_rows(), 1, "they stay in the buffer");
    assert_eq!(kind(sender.flush()), ErrorKind::Rejected);
}
