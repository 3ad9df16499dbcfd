//! RECO, BACK: an outage of any kind, and what follows.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use kit::*;
use qwp::{LinkState, Sender};
use support::{Script, Server, Value};

/// So that waits between rounds do not make the tests slow.
const FAST: &str = "reconnect_initial_backoff_millis=1;";

/// A frame of its own with a new symbol, the first one and the one before.
fn frame_of_symbols(sender: &mut Sender, n: i64) {
    for name in [n, 0, (n - 1).max(0)] {
        sender.table("t").symbol("s", format!("s{name}")).column_i64("x", n).at(at(n)).unwrap();
    }
    sender.flush().unwrap();
}

/// What [`frame_of_symbols`] has written for these numbers.
fn symbols(ns: std::ops::Range<i64>) -> Vec<Value> {
    ns.flat_map(|n| [n, 0, (n - 1).max(0)]).map(|name| Value::symbol(&format!("s{name}"))).collect()
}

/// R14, RECO-01, RECO-02: the producer is neither blocked nor told.
#[test]
fn reco_02_an_outage_is_not_seen_by_the_producer() {
    let mut server = Server::start();
    let mut sender = sender(&server, "reconnect_max_backoff_millis=100;");
    row(&mut sender, 0);
    drain(&mut sender);
    server.stop();
    let mut slowest = ms(0);
    for x in 1..200 {
        let watch = Watch::start();
        row(&mut sender, x);
        sender.flush().unwrap();
        slowest = slowest.max(watch.elapsed());
    }
    assert!(slowest < ms(100), "{slowest:?}");
    eventually("rounds fail", || sender.health().failed_rounds > 1);
    assert_eq!(sender.health().state, LinkState::Reconnecting);
    assert!(sender.health().outage.is_some() && sender.was_ever_connected());
    server.restart();
    drain(&mut sender);
    assert_eq!(xs(&server), (0..200).collect::<Vec<_>>());
    assert_eq!((sender.health().state, sender.health().outage), (LinkState::Connected, None));
}

/// RECO-03, RECO-05: what was not acknowledged is sent again in its order, and nothing else.
#[test]
fn reco_03_the_first_unacknowledged_frame_is_sent_first() {
    for (script, acked) in
        [("up, read 5, rst", 0), ("up, read 5, ok 0, rst", 1), ("up, read 5, ok 2, eof", 3)]
    {
        let server = Server::scripted([script]);
        let mut sender = sender(&server, FAST);
        frames(&mut sender, 0..8);
        drain(&mut sender);
        assert_eq!(xs(&server), (0..8).collect::<Vec<_>>(), "{script}");
        let sent = server.frames();
        assert_eq!((sent.len(), sent[1].len()), (2, 8 - acked), "{script}");
        assert_eq!(sent[0][acked..5], sent[1][..5 - acked], "{script}: the same bytes");
        assert!(sender.counters().frames_replayed >= 5 - acked as u64);
    }
}

/// RECO-05: an acknowledgement that was lost makes duplicates, and no loss.
#[test]
fn reco_05_a_lost_acknowledgement_stores_twice() {
    let server = Server::scripted(["up, read 3, store, rst"]);
    let mut sender = sender(&server, FAST);
    frames(&mut sender, 0..3);
    drain(&mut sender);
    assert_eq!(xs(&server), [0, 1, 2, 0, 1, 2]);
}

/// H10, ERRP-04: bytes are kept until they are acknowledged.
#[test]
fn reco_03_every_attempt_sends_the_same_bytes() {
    let server = Server::scripted(["up, read 1, rst"; 5]);
    let mut sender = sender(&server, FAST);
    frame_of_symbols(&mut sender, 0);
    drain(&mut sender);
    let sent = server.frames();
    assert_eq!(sent.len(), 6);
    assert!(sent.iter().all(|frames| *frames == sent[0]));
    assert_eq!(server.column("t", "s"), symbols(0..1));
}

/// R17: a server stores NULL for ids that it was not told, and says OK.
#[test]
fn reco_03_symbols_are_right_after_a_cut_at_any_frame() {
    const FRAMES: i64 = 6;
    for read in 1..=FRAMES {
        for acked in -1..read {
            let ok = if acked < 0 { String::new() } else { format!("ok {acked},") };
            let server = Server::scripted([format!("up, read {read}, {ok} rst").as_str()]);
            let mut sender = sender(&server, FAST);
            for n in 0..FRAMES {
                frame_of_symbols(&mut sender, n);
            }
            drain(&mut sender);
            server.cut();
            frame_of_symbols(&mut sender, FRAMES);
            drain(&mut sender);
            assert_eq!(server.column("t", "s"), symbols(0..FRAMES + 1), "cut at {read} after {acked}");
        }
    }
}

/// R17: the entries that a group needs go before it, since a message of their own inside it would
/// commit a part of it.
#[test]
fn reco_03_symbols_of_a_split_group_are_right_after_a_cut_at_any_frame() {
    const ROWS: i64 = 60;
    let group = |sender: &mut Sender, from: i64| {
        for n in from..from + ROWS {
            let row = &mut sender.table("t");
            row.symbol("s", format!("{n:0>100}")).symbol("first", "first").column_i64("x", n);
            row.at(at(n)).unwrap();
        }
        sender.flush().unwrap();
    };
    let wanted = |server: &Server| {
        let symbol = |n: i64| Value::symbol(&format!("{n:0>100}"));
        assert_eq!(server.column("t", "s"), (0..2 * ROWS).map(symbol).collect::<Vec<_>>());
        assert!(server.column("t", "first").iter().all(|value| *value == Value::symbol("first")));
        let commits = server.state(|state| state.catalog.get("t").unwrap().txn);
        assert_eq!(commits, 2, "each group as one");
    };
    const FRAMES: u64 = 12;
    for read in 1..=FRAMES {
        let server = Server::scripted([format!("up(cap=1500), read {read}, rst").as_str()]);
        server.configure(|config| config.cap = 1500);
        let mut sender = sender(&server, FAST);
        group(&mut sender, 0);
        group(&mut sender, ROWS);
        drain(&mut sender);
        assert_eq!(sender.counters().frames_published, FRAMES);
        wanted(&server);
        assert_eq!(server.refusals(), []);
    }
}

/// R17: the first group is acknowledged, so the second one builds on symbols of another connection.
#[test]
fn reco_03_symbols_of_acknowledged_frames_are_registered_again() {
    let server = Server::start();
    let mut sender = sender(&server, FAST);
    for n in 0..3 {
        frame_of_symbols(&mut sender, n);
        drain(&mut sender);
    }
    server.cut();
    frame_of_symbols(&mut sender, 3);
    drain(&mut sender);
    assert_eq!(server.column("t", "s"), symbols(0..4));
    let again = &server.frames()[1];
    // Bytes 6 and 7 count the blocks: none in a message that only registers symbols.
    assert_eq!((again.len(), &again[0][6..8]), (2, &[0, 0][..]), "first the symbols, then the frame");
}

/// R11, ERRP-03: what came before the close counts before anything is sent again.
#[test]
fn errp_03_acknowledgements_in_the_segment_of_a_close_are_read_before_the_replay() {
    let (a, b) = (Server::scripted(["up, read 5, cork, ok 4, close 1000"]), Server::start());
    let mut sender = Sender::from_conf(&conf_of(&[&a, &b], "auto_flush=off;")).unwrap();
    frames(&mut sender, 0..5);
    drain(&mut sender);
    frames(&mut sender, 5..8);
    drain(&mut sender);
    assert_eq!((xs(&a), xs(&b)), ((0..5).collect::<Vec<_>>(), (5..8).collect::<Vec<_>>()));
    assert_eq!(sender.counters().server_errors, qwp::ServerErrors::default());
}

/// HOST-05: the next attempt goes elsewhere when anything else is listed.
#[test]
fn host_05_a_host_that_broke_is_left_for_the_next() {
    let (a, b) = (Server::scripted(["up, read 2, ok 0, rst"]), Server::start());
    let mut sender = Sender::from_conf(&conf_of(&[&a, &b], "auto_flush=off;")).unwrap();
    assert_eq!(sender.health().endpoint.as_deref(), Some(&*a.addr()), "the first of the list");
    frames(&mut sender, 0..2);
    drain(&mut sender);
    assert_eq!((xs(&a), xs(&b)), (vec![0], vec![1]));
    assert_eq!(sender.health().endpoint.as_deref(), Some(&*b.addr()));
}

/// R01, BACK-03, ERRP-10: only an OK starts the pacing over.
#[test]
fn back_03_connections_that_die_after_the_upgrade_are_not_a_storm() {
    let scripts = ["up, rst", "up, close 1000", "up, read 1, rst", "up, read 1, close 1001"];
    std::thread::scope(|scope| {
        for script in scripts {
            scope.spawn(move || {
                let server = Server::start();
                server.always(Some(Script::new(script)));
                let mut sender =
                    sender(&server, "reconnect_max_backoff_millis=1000;initial_connect_retry=async;");
                frames(&mut sender, 0..1);
                let watch = Watch::start();
                // The second one may come at once; then 100, 200, 400, 800 ms at least.
                until(&server, script, |state| state.connections.len() >= 6);
                watch.at_least(ms(1450));
                watch.at_most(ms(4500));
                server.always(None);
                sender.drain(ms(2 * 1000 + 1000)).unwrap();
                assert_eq!(xs(&server), [0], "{script}");
            });
        }
    });
}

/// R01, CONN-15: nor if there is nothing to send.
#[test]
fn conn_15_an_idle_sender_reconnects_quietly_and_no_storm_follows() {
    let server = Server::start();
    let sender = sender(&server, "");
    server.cut();
    until(&server, "a new connection", |state| state.connections.len() == 2 && state.open() == 1);
    let errors = sender.counters().server_errors;
    assert_eq!(errors, qwp::ServerErrors::default());
    server.always(Some(Script::new("up, rst")));
    let watch = Watch::start();
    server.cut();
    until(&server, "more connections", |state| state.connections.len() >= 6);
    watch.at_least(ms(650));
}

/// R02, BACK-02: one pause a round, which does not grow.
#[test]
fn back_02_role_rejects_are_retried_at_an_even_pace() {
    let server = Server::start();
    server.always(Some(Script::new("role REPLICA")));
    let mut sender = sender(&server, "initial_connect_retry=async;");
    row(&mut sender, 0);
    sender.flush().unwrap();
    let watch = Watch::start();
    until(&server, "attempts", |state| state.connections.len() >= 12);
    watch.at_least(ms(950));
    watch.at_most(ms(5000));
    server.always(None);
    drain(&mut sender);
    assert_eq!(xs(&server), [0]);
}

/// R16, CONN-06: a version is that host's failure, and may change.
#[test]
fn conn_06_a_running_sender_waits_for_a_version_that_it_speaks() {
    let server = Server::scripted(["up, read 1, rst", "up(version=99)", "up(version=2)"]);
    let mut sender = sender(&server, FAST);
    frames(&mut sender, 0..2);
    drain(&mut sender);
    assert_eq!((xs(&server), server.connections().len()), (vec![0, 1], 4));
}

/// E29, CONN-17, LIM-22: the server takes ten thousand tables on a connection.
#[test]
fn conn_17_twenty_five_thousand_tables_in_one_flush() {
    const TABLES: usize = 25_000;
    let server = Server::with(|config| config.keep_frames = false);
    let mut sender = sender(&server, "");
    for n in 0..TABLES {
        sender.table(&format!("t{n}")).symbol("s", "one").at(at(0)).unwrap();
    }
    drain(&mut sender);
    let stored = (0..TABLES).filter(|n| server.state(|s| s.row_count(&format!("t{n}"))) == 1).count();
    assert_eq!((stored, server.refusals().len()), (TABLES, 0));
    assert_eq!(server.connections().len(), 3, "a new one for each ten thousand");
    assert_eq!(sender.counters().server_errors, qwp::ServerErrors::default());
}

/// E29: one flush for each, and back to the first ones.
#[test]
fn conn_17_a_flush_for_each_of_many_tables() {
    const LIMIT: usize = 10_000;
    let server = Server::with(|config| config.keep_frames = false);
    let mut sender = sender(&server, "");
    for n in (0..LIMIT + 500).chain(0..200) {
        sender.table(&format!("t{n}")).symbol("s", "one").at(at(0)).unwrap();
        sender.flush().unwrap();
    }
    drain(&mut sender);
    let rows: usize = server.state(|s| (0..LIMIT + 500).map(|n| s.row_count(&format!("t{n}"))).sum());
    assert_eq!((rows, server.refusals().len(), server.connections().len()), (LIMIT + 700, 0, 2));
}
