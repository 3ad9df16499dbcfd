//! ACK, CONN-10, CONN-13: what the server says, and what it may not say.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use kit::*;
use qwp::{Fsn, Sender, ServerErrors};
use support::{Script, Server, Step};

const FAST: &str = "reconnect_initial_backoff_millis=1;";

/// A server whose first connection plays this script.
fn playing(script: Script) -> Server {
    let server = Server::start();
    server.script(script);
    server
}

fn acked(sender: &Sender) -> Option<i64> {
    sender.acked().map(Fsn::as_i64)
}

fn violations(sender: &Sender) -> u64 {
    sender.counters().server_errors.protocol_violation
}

/// So many tables of long names, as an OK lists them.
fn tables(count: usize, bytes: usize) -> Vec<(String, i64)> {
    (0..count).map(|n| (format!("t{n:0>width$}", width = bytes - 1), 1)).collect()
}

/// ACK-01: an OK covers every frame up to its own.
#[test]
fn ack_01_an_ok_acknowledges_everything_before_it() {
    let server = Server::scripted(["up, read 5, ok 1, hold a, ok 4"]);
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..5);
    eventually("the first OK", || acked(&sender) == Some(1));
    assert_eq!(kind(sender.drain(ms(0))), qwp::ErrorKind::Timeout);
    server.release("a");
    drain(&mut sender);
    assert_eq!((acked(&sender), sender.counters().frames_acked), (Some(4), 5));
}

/// H11: a repeated or lower OK, or a durable ack that nobody asked for, changes nothing.
#[test]
fn ack_01_02_lower_and_repeated_answers_change_nothing() {
    let durable = Step::Durable(vec![("unheard_of".into(), i64::MAX)]);
    let ok = |sequence| Step::OkListing(sequence, Vec::new());
    let script = Script::new("up, read 3, ok 2").then(ok(1)).then(ok(2)).then(ok(-1)).then(ok(i64::MIN));
    let server = playing(script.then(durable).and("serve"));
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..3);
    drain(&mut sender);
    frames(&mut sender, 3..6);
    drain(&mut sender);
    assert_eq!((xs(&server), server.connections().len()), ((0..6).collect::<Vec<_>>(), 1));
    assert_eq!(sender.counters().server_errors, ServerErrors::default());
}

/// H11, ERRP-08: what cannot be meant ends the connection, trims nothing, and is sent again.
#[test]
fn ack_01_an_answer_beyond_what_was_sent_is_a_violation_and_nothing_is_trimmed() {
    let ok = |sequence| Step::OkListing(sequence, Vec::new());
    let nack = |sequence: i64| {
        let mut message = vec![0x09];
        message.extend(sequence.to_le_bytes());
        message.extend([2, 0, b'n', b'o']);
        Step::Raw(message)
    };
    for (what, answers, done) in [
        ("an OK for 99", vec![ok(99)], 0),
        ("an OK for the largest number", vec![ok(i64::MAX)], 0),
        ("an OK for the next", vec![ok(3)], 0),
        ("an error for the next", vec![nack(3)], 0),
        ("an error for -1", vec![nack(-1)], 0),
        ("an error at an OK", vec![ok(1), nack(1)], 2),
        ("an error below an OK", vec![ok(1), nack(0)], 2),
    ] {
        let script = answers.into_iter().fold(Script::new("up, read 3"), Script::then);
        let server = playing(script.and("silent"));
        let mut sender = sender(&server, FAST);
        frames(&mut sender, 0..3);
        drain(&mut sender);
        assert_eq!(xs(&server), (done..3).collect::<Vec<_>>(), "{what}");
        assert_eq!((violations(&sender), server.connections().len()), (1, 2), "{what}");
        let closes = &server.connections()[0].closes;
        assert_eq!(
            closes.iter().map(|close| close[..2].to_vec()).collect::<Vec<_>>(),
            [[0x03, 0xea]],
            "{what}"
        );
    }
}

/// H11: numbers belong to a connection.
#[test]
fn ack_01_wire_numbers_start_over_on_every_connection() {
    let server = Server::scripted(["up, read 4, ok 2, rst", "up, read 1, ok 0, hold a"]);
    let mut sender = sender(&server, FAST);
    frames(&mut sender, 0..4);
    eventually("frame 3 is acknowledged as number 0", || acked(&sender) == Some(3));
    server.release("a");
    assert_eq!(xs(&server), [0, 1, 2, 3]);
}

/// ACK-05: an OK inside a group is no commit.
#[test]
fn ack_05_the_acknowledged_number_never_stands_inside_a_group() {
    let server =
        playing(Script::new("up(cap=1000), read 3").then(Step::OkListing(1, Vec::new())).and("hold a, rst"));
    server.configure(|config| config.cap = 1000);
    let mut sender = sender(&server, FAST);
    for x in 0..400 {
        row(&mut sender, x);
    }
    sender.flush().unwrap();
    until(&server, "the OK", |state| state.frame_count() >= 3);
    assert_eq!(kind(sender.drain(ms(100))), qwp::ErrorKind::Timeout);
    assert_eq!(acked(&sender), None);
    server.release("a");
    drain(&mut sender);
    assert_eq!(xs(&server), (0..400).collect::<Vec<_>>());
}

/// R20, LIM-21: the largest OK that a server sends.
#[test]
fn conn_10_an_ok_with_ten_thousand_tables_is_taken() {
    for (count, bytes) in [(700, 120), (10_000, 127)] {
        let script = Script::new("up, read 1, store").then(Step::OkListing(0, tables(count, bytes)));
        let server = playing(script);
        let mut sender = sender(&server, "");
        frames(&mut sender, 0..1);
        drain(&mut sender);
        assert_eq!((xs(&server), server.connections().len()), (vec![0], 1));
    }
}

/// R20, CONN-10, CONN-13, ERRP-08: each of these is refused, and its connection with it.
#[test]
fn errp_08_garbage_from_the_server_ends_the_connection_and_is_ridden_out() {
    let message = |payload: &[u8]| Step::Raw(payload.to_vec());
    let bytes = |bytes: &[u8]| Step::Bytes(bytes.to_vec());
    let ok = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let too_long = vec![0; (2 << 20) + 1];
    let mut announced = vec![0x82, 127];
    announced.extend((1_u64 << 40).to_be_bytes());
    let frames_of = |count: i64| {
        let cases = [
            ("no status", message(&[])),
            ("an unknown status without a text", message(&[0x77])),
            ("a short OK", message(&ok[..10])),
            ("a long OK", message(&[&ok[..], &[0]].concat())),
            ("an OK that lists less than it says", message(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])),
            ("a message of 2 MiB and a byte", message(&too_long)),
            ("a frame that announces a tebibyte", bytes(&announced)),
            ("text", bytes(&[0x81, 2, b'h', b'i'])),
            ("a masked frame", bytes(&[0x82, 0x81, 1, 2, 3, 4, 5])),
            ("a reserved bit", bytes(&[0xc2, 1, 0])),
            ("an unknown opcode", bytes(&[0x83, 0])),
            ("a continuation of nothing", bytes(&[0x80, 1, 0])),
            ("a fragmented ping", bytes(&[0x09, 0])),
            ("a close of one byte", bytes(&[0x88, 1, 3])),
        ];
        (count, cases)
    };
    let (count, cases) = frames_of(3);
    for (what, garbage) in cases {
        let server = playing(Script::new("up, read 3, ok 0").then(garbage).and("silent"));
        let mut sender = sender(&server, FAST);
        frames(&mut sender, 0..count);
        drain(&mut sender);
        assert_eq!((xs(&server), violations(&sender)), (vec![0, 1, 2], 1,), "{what}");
        assert_eq!(server.connections().len(), 2, "{what}");
        let text = sender.health().last_failure.unwrap().to_string();
        assert!(text.contains("broke the protocol") && text.contains(&server.addr()), "{what}: {text}");
    }
}

/// R20, CONN-16: a server whose answers are not read stops reading.
#[test]
fn conn_16_answers_are_read_while_sending_is_blocked() {
    let answer = Step::OkListing(0, tables(100, 120));
    let script = (0..2000).fold(Script::new("up, read 1, store"), |script, _| script.then(answer.clone()));
    let server = playing(script);
    let mut sender = sender(&server, "");
    let text = "x".repeat(200_000);
    const FRAMES: i64 = 100;
    for x in 0..FRAMES {
        sender.table("t").column_i64("x", x).column_str("text", &text).at(at(x)).unwrap();
        sender.flush().unwrap();
    }
    drain(&mut sender);
    assert_eq!((xs(&server).len(), server.connections().len()), (100, 1));
}

/// CONN-12: in pieces of any size.
#[test]
fn conn_12_answers_may_come_in_pieces() {
    let ok = support::ws::fragments(&support::ingress::ok(0, &tables(50, 60)), 1);
    let ping = support::ws::frame(0x09, b"are you there");
    let (head, tail) = ok.split_at(ok.len() / 3 * 3);
    let script = Script::new("up, read 1, store")
        .then(Step::Bytes(head.to_vec()))
        .then(Step::Bytes(ping))
        .then(Step::Bytes(tail.to_vec()));
    let server = playing(script);
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..1);
    drain(&mut sender);
    assert_eq!((acked(&sender), server.connections().len()), (Some(0), 1));
}
