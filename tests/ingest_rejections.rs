//! ERRP: what the server refuses, by class.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use kit::*;
use qwp::{Error, ErrorKind, LinkState, Sender, ServerErrors, ServerStatus};
use support::{Script, Server, Value};

const FAST: &str = "reconnect_initial_backoff_millis=1;";

/// How many of one status a sender has counted.
fn counted(errors: &ServerErrors, status: u8) -> u64 {
    match status {
        0x03 => errors.schema_mismatch,
        0x05 => errors.parse_error,
        0x06 => errors.internal_error,
        0x08 => errors.security_error,
        0x09 => errors.write_error,
        0x0c => errors.not_writable,
        0x0d => errors.dictionary_gap,
        _ => errors.unknown,
    }
}

/// What a server says that refuses its first frame with this status.
fn stopped_by(status: u8, text: &str) -> (Sender, Server, Error) {
    let server = Server::start();
    server.script(Script::new("up, read 2, ok 0").nack(status, 1, text));
    let mut sender = sender(&server, FAST);
    frames(&mut sender, 0..2);
    let error = sender.drain(SOON).unwrap_err();
    (sender, server, error)
}

/// R05: no replay can cure these.
#[test]
fn errp_01_a_schema_parse_or_security_error_is_terminal() {
    for status in [0x03, 0x05, 0x08] {
        let watch = Watch::start();
        let (sender, server, error) = stopped_by(status, "because");
        watch.at_most(ms(1000));
        assert_eq!(error.kind(), ErrorKind::Rejected);
        let ServerStatus { status: said, message, .. } = error.server_status().unwrap();
        assert_eq!((*said, &**message), (status, "because"));
        let text = error.to_string();
        for part in ["frame 1", "wire sequence 1", &server.addr(), "because"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!((xs(&server), server.connections().len()), (vec![0], 1), "never sent again");
        assert_eq!(counted(&sender.counters().server_errors, status), 1);
        assert_eq!(sender.health().state, LinkState::Failed);
    }
}

/// ERRP-05: the first one wins, and every call returns it.
#[test]
fn errp_05_every_call_returns_the_terminal_error() {
    let (mut sender, _server, first) = stopped_by(0x03, "no such column");
    let published = sender.published();
    let by_columns = sender.columns("t").column_i64("x", &[1]).at_now().unwrap_err();
    for error in [
        by_columns,
        try_row(&mut sender, 9).unwrap_err(),
        sender.flush().unwrap_err(),
        sender.drain(SOON).unwrap_err(),
        sender.wait_acked(published, SOON).unwrap_err(),
        sender.decimal_scale("t", "d", 2).unwrap_err(),
        sender.health().last_failure.unwrap(),
    ] {
        assert_eq!(error.to_string(), first.to_string());
    }
    assert_eq!(
        (sender.published(), sender.acked().map(qwp::Fsn::as_i64)),
        (published, Some(0)),
        "they still tell"
    );
    // H02: it was told, so what is left to tell is the loss.
    let left = sender.close().unwrap_err();
    assert!(left.to_string().contains("frames left 1") && left.to_string().contains("lost"), "{left}");
    assert_eq!(left.kind(), ErrorKind::Timeout);
    assert_eq!(kind(sender.flush()), ErrorKind::Closed);
}

/// ERRP-05: unless a call has returned it before.
#[test]
fn errp_05_close_returns_a_terminal_error_that_no_call_has_told() {
    let server = Server::scripted(["up, read 1, nack 5 0"]);
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..1);
    eventually("the sender stops", || sender.health().state == LinkState::Failed);
    assert_eq!(kind(sender.close()), ErrorKind::Rejected);
    sender.close().unwrap();
}

/// T04, ERRP-05: at most 1 KiB, control characters removed.
#[test]
fn errp_05_the_text_of_a_server_is_cut_and_cleaned() {
    let mut message = vec![0x05];
    message.extend(0_i64.to_le_bytes());
    message.extend(1024_u16.to_le_bytes());
    let mut text = b"\x1b[31mred\x1b[0m\r\nand\x07 ".to_vec();
    text.resize(1024, b'x');
    message.extend(&text);
    let server = Server::start();
    server.script(Script::new("up, read 1").raw(&message).and("silent"));
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..1);
    let error = sender.drain(SOON).unwrap_err();
    let said = &error.server_status().unwrap().message;
    assert!(said.starts_with("[31mred[0mand xx") && said.len() < 1024, "{said}");
    assert!(!error.to_string().chars().any(char::is_control));
}

/// R05: these are cured by another time, another host or another connection.
#[test]
fn errp_01_other_statuses_are_retried_until_the_server_turns_good() {
    for status in [0x06, 0x09, 0x0c, 0x0d, 0x04, 0x77, 0xff] {
        let script = format!("up, read 2, ok 0, nack {status:x} 1");
        let server =
            Server::scripted([&*script, &script.replace("read 2, ok 0,", "read 1,").replace(" 1", " 0")]);
        let mut sender = sender(&server, FAST);
        frames(&mut sender, 0..3);
        drain(&mut sender);
        assert_eq!(xs(&server), [0, 1, 2], "{status:#04x}");
        assert_eq!(counted(&sender.counters().server_errors, status), 2, "{status:#04x}");
        assert_eq!(server.connections().len(), 3);
    }
}

/// R04, ERRP-02: after an error a server hears nothing more on that connection.
#[test]
fn errp_02_after_a_rejection_the_connection_is_recycled_and_everything_behind_it_sent_again() {
    let server = Server::scripted(["up, read 3, ok 0, nack 9 1"]);
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..6);
    let watch = Watch::start();
    drain(&mut sender);
    watch.at_most(ms(2000));
    let sent = server.frames();
    assert_eq!((&sent[0][1], sent[1].len()), (&sent[1][0], 5), "frame 1 first, frame 0 not");
    assert_eq!(xs(&server), [0, 1, 2, 3, 4, 5]);
}

/// R05, ERRP-01: a node that takes no writes is left for another one.
#[test]
fn errp_01_not_writable_moves_to_the_next_host() {
    let (a, b) = (Server::scripted(["up, read 1, nack c 0"]), Server::start());
    let mut sender = Sender::from_conf(&conf_of(&[&a, &b], "auto_flush=off;")).unwrap();
    frames(&mut sender, 0..2);
    drain(&mut sender);
    assert_eq!((xs(&a), xs(&b)), (vec![], vec![0, 1]));
    assert_eq!(sender.health().endpoint.as_deref(), Some(&*b.addr()));
}

/// ERRP-01: a failure of the server itself is tried again where it happened.
#[test]
fn errp_02_a_retriable_rejection_stays_with_its_host() {
    let (a, b) = (Server::scripted(["up, read 1, nack 6 0"]), Server::start());
    let mut sender = Sender::from_conf(&conf_of(&[&a, &b], "auto_flush=off;")).unwrap();
    frames(&mut sender, 0..1);
    drain(&mut sender);
    assert_eq!((xs(&a), xs(&b)), (vec![0], vec![]));
}

/// R05, ERRP-02: the whole dictionary goes first, not what the next frame needs.
#[test]
fn errp_02_after_a_dictionary_gap_all_symbols_are_registered_first() {
    let server = Server::scripted(["up, read 1, nack d 0"]);
    let mut sender = sender(&server, FAST);
    for n in 0..5 {
        sender.table("t").symbol("s", format!("s{n}")).at(at(n)).unwrap();
        sender.flush().unwrap();
    }
    drain(&mut sender);
    let first = &server.frames()[1][0];
    let entries: Vec<u8> = (0..5).flat_map(|n| [2, b's', b'0' + n]).collect();
    assert_eq!(&first[6..8], [0, 0], "no rows in it");
    assert!(first.ends_with(&entries), "{first:02x?}");
    let wanted: Vec<Value> = (0..5).map(|n| Value::symbol(&format!("s{n}"))).collect();
    assert_eq!(server.column("t", "s"), wanted);
}

/// ERRP-09: a rejected message of symbols has no frame number, and an OK clears it.
#[test]
fn errp_09_a_rejection_of_the_symbols_is_ridden_out() {
    let server =
        Server::scripted(["up, read 1, ok 0, hold a, rst", "up, read 1, nack 6 0", "up, read 1, nack 6 0"]);
    let mut sender = sender(&server, FAST);
    for n in 0..2 {
        sender.table("t").symbol("s", format!("s{n}")).column_i64("x", n).at(at(n)).unwrap();
        drain_first(&mut sender, n);
    }
    server.release("a");
    drain(&mut sender);
    assert_eq!((xs(&server), sender.counters().server_errors.internal_error), (vec![0, 1], 2));
    let all = [Value::symbol("s0"), Value::symbol("s1")];
    assert_eq!(server.column("t", "s"), all);
}

fn drain_first(sender: &mut Sender, n: i64) {
    match n {
        0 => drain(sender),
        _ => drop(sender.flush().unwrap()),
    }
}

/// ERRP-03: closes carry no policy, whatever their code.
#[test]
fn errp_03_any_close_is_an_end_of_the_connection_and_no_more() {
    for code in [1000, 1001, 1002, 1003, 1008, 1009, 1011, 3000, 4999] {
        let server = Server::scripted([&*format!("up, read 2, ok 0, close {code}")]);
        let mut sender = sender(&server, FAST);
        frames(&mut sender, 0..3);
        drain(&mut sender);
        assert_eq!(xs(&server), [0, 1, 2], "{code}");
        assert_eq!(sender.counters().server_errors, ServerErrors::default(), "{code}");
    }
}

/// ERRP-04: four rejections are enough only if five seconds lie between the first and the last.
#[test]
fn errp_04_a_frame_that_no_server_takes_ends_the_sender_and_is_named() {
    let server = Server::start();
    server.always(Some(Script::new("up, read 1, nack 9 0")));
    let mut sender =
        sender(&server, "reconnect_initial_backoff_millis=300;reconnect_max_backoff_millis=600;");
    let watch = Watch::start();
    frames(&mut sender, 0..2);
    let error = sender.drain(SOON).unwrap_err();
    watch.at_least(ms(5000));
    watch.at_most(ms(9000));
    assert_eq!(error.kind(), ErrorKind::ProtocolViolation, "{error}");
    assert!(error.to_string().contains("frame 0"), "{error}");
    assert!(sender.counters().server_errors.write_error >= 4);
    assert_eq!(sender.acked(), None, "no rejection drops a frame");
}

/// ERRP-07: nothing asked for is ignored.
#[test]
fn errp_06_policies_that_cannot_be_kept_yet_are_refused() {
    let server = Server::start();
    for key in ["on_server_error", "on_schema_error", "on_write_error"] {
        let error = Sender::from_conf(&conf(&server, &format!("{key}=terminal;"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("not supported yet"), "{error}");
    }
}
