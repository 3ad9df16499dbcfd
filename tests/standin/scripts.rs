//! What scripts and settings make of the stand-in.

use std::time::Duration;

use super::client::{Client, Said, frame};
use crate::support::http::Endpoint;
use crate::support::value::{Type, Value};
use crate::support::ws;
use crate::support::{Announced, Durability, Script, Server, Step};

const LONG_ENOUGH: Duration = Duration::from_secs(10);

/// A message with one row `x` for a table `b1`.
fn row(x: i64) -> Vec<u8> {
    let mut out = b"QWP1\x01\x08\x01\0\x1e\0\0\0\0\0\x02b1\x01\x02\x01x\x05\0\x0a\0".to_vec();
    out.extend(x.to_le_bytes());
    out.push(0);
    out.extend(1_700_000_000_000_000i64.to_le_bytes());
    out
}

fn writer(server: &Server) -> Client {
    Client::upgrade(server.address(), "/write/v4", &[])
}

fn reader(server: &Server) -> Client {
    Client::upgrade(server.address(), "/read/v1", &[])
}

fn send_rows(client: &mut Client, rows: std::ops::Range<i64>) {
    for x in rows {
        client.send(&frame(0x82, &row(x)));
    }
}

fn ok(sequence: i64, txn: i64) -> Said {
    let mut out = vec![0];
    out.extend(sequence.to_le_bytes());
    out.extend(b"\x01\0\x02\0b1");
    out.extend(txn.to_le_bytes());
    Said::Binary(out)
}

fn error(status: u8, sequence: i64, text: &str) -> Said {
    let mut out = vec![status];
    out.extend(sequence.to_le_bytes());
    out.extend(u16::try_from(text.len()).expect("short").to_le_bytes());
    out.extend(text.as_bytes());
    Said::Binary(out)
}

fn stored(server: &Server) -> Vec<Value> {
    server.rows("b1").iter().map(|r| r.get("x").clone()).collect()
}

fn longs(numbers: &[i64]) -> Vec<Value> {
    numbers.iter().map(|n| Value::Long(*n)).collect()
}

fn query(id: i64, sql: &str) -> Vec<u8> {
    let mut out = vec![0x10];
    out.extend(id.to_le_bytes());
    out.push(u8::try_from(sql.len()).expect("short"));
    out.extend(sql.as_bytes());
    out.extend([0, 0]);
    frame(0x82, &out)
}

/// Kind and what follows the header of a message for a reader.
fn message(client: &mut Client) -> (u8, Vec<u8>) {
    let Said::Binary(bytes) = client.receive() else { panic!("no message") };
    (bytes[12], bytes[13..].to_vec())
}

#[test]
fn ok_stores_and_acknowledges_what_was_read_up_to_it_and_rst_loses_the_rest() {
    let server = Server::scripted(["up, read 3, ok 1, hold seen, rst"]);
    let mut client = writer(&server);
    send_rows(&mut client, 0..3);
    assert_eq!(client.receive(), ok(1, 2));
    assert_eq!(stored(&server), longs(&[0, 1]));
    server.release("seen");
    assert!(server.wait_until(|s| s.open() == 0, LONG_ENOUGH));
    let mut second = writer(&server);
    send_rows(&mut second, 2..3);
    assert_eq!(second.receive(), ok(0, 3));
    assert_eq!(server.frames()[0].len(), 3);
    assert_eq!(server.connections()[0].acked, Some(1));
}

#[test]
fn nack_sends_the_ok_owed_first_and_then_only_pong() {
    let server = Server::scripted(["up, read 3, nack 9 2", "up, read 3, ok 0, nack 0x77 1"]);
    for (sequence, status) in [(1, 9), (0, 0x77)] {
        let mut client = writer(&server);
        let before = i64::try_from(stored(&server).len()).expect("few");
        send_rows(&mut client, 0..3);
        assert_eq!(client.receive(), ok(sequence, before + sequence + 1));
        assert_eq!(client.receive(), error(status, sequence + 1, "scripted"));
        send_rows(&mut client, 3..4);
        client.send(&frame(0x89, b"hi"));
        assert_eq!(client.receive(), Said::Pong(b"hi".to_vec()));
    }
    assert_eq!(server.column("B1", "X"), longs(&[0, 1, 0]));
    assert_eq!(server.refusals().len(), 2);
}

#[test]
fn store_keeps_rows_whose_acknowledgement_is_lost() {
    let server = Server::scripted(["up, read 2, store, eof"]);
    let mut client = writer(&server);
    send_rows(&mut client, 0..2);
    assert_eq!(client.receive(), Said::Eof);
    assert_eq!(stored(&server), longs(&[0, 1]));
}

#[test]
fn corked_answers_come_in_one_segment_and_ok_without_a_number_serves() {
    let server = Server::scripted(["up, read 2, cork, ok 1, close 1000", "up, ok"]);
    let mut client = writer(&server);
    send_rows(&mut client, 0..2);
    assert_eq!(client.receive(), ok(1, 2));
    // Both were in what the first read brought.
    assert_eq!(client.unread(), b"\x88\x02\x03\xe8");
    let mut client = writer(&server);
    send_rows(&mut client, 2..3);
    assert_eq!(client.receive(), ok(0, 3));
}

#[test]
fn messages_that_came_together_may_stay_unread_until_another_comes() {
    let server = Server::with(|c| c.leaves_unread = true);
    let mut client = reader(&server);
    message(&mut client);
    client.send(&[query(1, "select 1 x"), query(2, "select 2 x")].concat());
    assert_eq!((message(&mut client).0, message(&mut client).0), (0x11, 0x12));
    client.send(&frame(0x89, b""));
    assert_eq!((message(&mut client).0, message(&mut client).0), (0x11, 0x12));
    client.send(&frame(0x89, b""));
    assert_eq!(client.receive(), Said::Pong(Vec::new()));
}

#[test]
fn fragments_make_up_the_message() {
    assert_eq!(ws::fragments(b"abc", 2), b"\x02\x02ab\x80\x01c");
    assert_eq!(ws::fragments(b"abc", 3), ws::frame(2, b"abc"));
}

#[test]
fn endings_are_as_scripted() {
    let server = Server::scripted(["up, close 1000", "up, cut 3, ping", "up, cut 0, ping", "rst"]);
    let mut client = writer(&server);
    assert_eq!(client.receive(), Said::Close(1000, String::new()));
    assert_eq!(client.receive(), Said::Eof);
    let mut client = writer(&server);
    assert_eq!(client.bytes(3), b"\x89\x04p");
    assert!(client.ended());
    assert_eq!(writer(&server).receive(), Said::Eof);
}

#[test]
fn upgrades_are_refused_as_scripted() {
    let server = Server::scripted([
        "http 503",
        "role REPLICA",
        "up(cap=100, durable=true)",
        "up(cap=none, version=2)",
    ]);
    server.configure(|c| c.zone = Some("eu".into()));
    let ask = [("X-QWP-Request-Durable-Ack", Some("true"))];
    for wanted in [
        vec!["HTTP/1.1 503 Scripted", "Content-Length: 0"],
        vec!["HTTP/1.1 421 ", "X-QuestDB-Role: REPLICA", "X-QuestDB-Zone: eu"],
        vec!["HTTP/1.1 101 ", "X-QWP-Max-Batch-Size: 100", "X-QWP-Durable-Ack: enabled"],
        vec!["HTTP/1.1 101 ", "X-QWP-Version: 2"],
    ] {
        let head = Client::request(server.address(), "/write/v4", &ask).head();
        for part in wanted {
            assert!(head.contains(part), "{part} is not in {head}");
        }
        assert!(!head.contains("Version: 2") || !head.contains("X-QWP-Max-Batch-Size"), "{head}");
    }
}

#[test]
fn settings_refuse_by_role_and_credentials_and_may_change() {
    let server = Server::with(|c| {
        c.authorization = crate::support::bearer("secret");
        c.announced = Announced::Text("-5".into());
    });
    assert!(Client::request(server.address(), "/write/v4", &[]).head().starts_with("HTTP/1.1 401 "));
    let token = [("Authorization", Some("Bearer secret"))];
    let head = Client::request(server.address(), "/write/v4", &token).head();
    assert!(head.contains("X-QWP-Max-Batch-Size: -5\r\n"), "{head}");
    server.configure(|c| {
        c.write_role = "PRIMARY_CATCHUP".into();
        c.read_role = "PRIMARY_CATCHUP".into();
    });
    let head = Client::request(server.address(), "/write/v4", &token).head();
    assert!(head.starts_with("HTTP/1.1 421 ") && head.contains("PRIMARY_CATCHUP"), "{head}");
    let mut client = Client::upgrade(server.address(), "/read/v1", &token);
    assert_eq!(message(&mut client).1[0], 3);
}

#[test]
fn a_held_connection_goes_on_when_the_gate_is_released() {
    let server = Server::scripted(["up, read 1, hold gate, ok 0"]);
    let mut client = writer(&server);
    send_rows(&mut client, 0..1);
    assert!(server.wait_until(|s| s.frame_count() == 1, LONG_ENOUGH));
    assert!(stored(&server).is_empty());
    server.release("gate");
    assert_eq!(client.receive(), ok(0, 1));
}

#[test]
fn silent_and_deaf_say_nothing_and_end_with_the_server() {
    let mut server = Server::scripted(["up, silent", "deaf"]);
    let mut silent = writer(&server);
    silent.send(&frame(0x89, b"x"));
    let mut deaf = Client::request(server.address(), "/write/v4", &[]);
    let heard =
        server.wait_until(|s| s.connections[0].pings.len() == 1 && s.connections.len() == 2, LONG_ENOUGH);
    assert!(heard);
    server.stop();
    assert_eq!(silent.receive(), Said::Eof);
    assert!(deaf.ended());
}

#[test]
fn results_are_scripted_for_the_request_that_came() {
    let server = Server::start();
    let columns = vec![("s".to_owned(), Type::Symbol, vec![Value::symbol("a"), Value::Null])];
    server.script(
        Script::new("up, info REPLICA, batch 2, batch 1, end")
            .batch(columns)
            .and("qerr 0b, reset, done 2 -1"),
    );
    let mut client = reader(&server);
    assert_eq!(message(&mut client).1[0], 2);
    let three = |x: i64| x.to_le_bytes();
    client.send(&query(7, "select what is never looked at"));
    let first = [b"\x07\0\0\0\0\0\0\0\0\0\0\0\x02\x01\x01x\x05\0".as_slice(), &three(1), &three(2)].concat();
    assert_eq!(message(&mut client), (0x11, first));
    let second = [b"\x07\0\0\0\0\0\0\0\x01\0\0\0\x01\0".as_slice(), &three(3)].concat();
    assert_eq!(message(&mut client), (0x11, second));
    assert_eq!(message(&mut client), (0x12, b"\x07\0\0\0\0\0\0\0\x01\x03".to_vec()));
    client.send(&query(8, "x"));
    assert_eq!(
        message(&mut client),
        (0x11, b"\x08\0\0\0\0\0\0\0\0\0\x01\x01a\0\x02\x01\x01s\x09\x01\x02\0".to_vec())
    );
    assert_eq!(message(&mut client), (0x13, b"\x08\0\0\0\0\0\0\0\x0b\x08\0scripted".to_vec()));
    assert_eq!(message(&mut client), (0x17, vec![1]));
    client.send(&query(9, "x"));
    assert_eq!(
        message(&mut client),
        (0x16, b"\x09\0\0\0\0\0\0\0\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01".to_vec())
    );
    client.send(&query(10, "select 1 x"));
    assert_eq!(message(&mut client).0, 0x11);
}

#[test]
fn answers_of_any_bytes_go_out_as_they_are() {
    let server = Server::start();
    let tables = vec![("t".to_owned(), 5)];
    let anything = Script::new("up")
        .then(Step::OkListing(9, tables.clone()))
        .then(Step::Durable(tables))
        .raw(b"any")
        .then(Step::Bytes(ws::fragments(b"ab", 1)))
        .and("eof");
    server.script(anything);
    server.script(Script::new("up").nack(3, 0, "no"));
    server.script(Script::new("").then(Step::HttpRaw(b"HTTP/9 what\r\n\r\n".to_vec())));
    let reply = Step::Reply { flags: 0x1c, kind: 0x11, body: b"body".to_vec() };
    server.script(Script::new("up, info").then(reply).and("rst"));
    let mut client = writer(&server);
    assert_eq!(
        client.receive(),
        Said::Binary(b"\0\x09\0\0\0\0\0\0\0\x01\0\x01\0t\x05\0\0\0\0\0\0\0".to_vec())
    );
    assert_eq!(client.receive(), Said::Binary(b"\x02\x01\0\x01\0t\x05\0\0\0\0\0\0\0".to_vec()));
    assert_eq!(client.receive(), Said::Binary(b"any".to_vec()));
    assert_eq!(client.bytes(6), b"\x02\x01a\x80\x01b");
    assert_eq!(client.receive(), Said::Eof);
    assert_eq!(writer(&server).receive(), error(3, 0, "no"));
    assert_eq!(Client::request(server.address(), "/write/v4", &[]).head(), "HTTP/9 what\r\n\r\n");
    let mut client = reader(&server);
    message(&mut client);
    client.send(&query(5, "x"));
    let Said::Binary(message) = client.receive() else { panic!("no message") };
    assert_eq!(message, b"QWP1\x01\x1c\x01\0\x0d\0\0\0\x11\x05\0\0\0\0\0\0\0body");
    assert!(client.ended());
    server.cut();
    assert_eq!(server.addr(), server.address().to_string());
}

#[test]
fn scripts_of_one_service_leave_the_other_alone() {
    let server = Server::start();
    server.script_at(Endpoint::Read, Script::new("up, info, eof"));
    let mut client = writer(&server);
    send_rows(&mut client, 0..1);
    assert_eq!(client.receive(), ok(0, 1));
    let mut client = reader(&server);
    assert_eq!(message(&mut client).0, 0x18);
    assert_eq!(client.receive(), Said::Eof);
    server.always(Some(Script::new("http 500")));
    assert!(Client::request(server.address(), "/read/v1", &[]).head().starts_with("HTTP/1.1 500"));
    server.always(None);
    assert_eq!(message(&mut reader(&server)).0, 0x18);
}

#[test]
fn durable_acks_come_in_answer_to_a_ping_or_to_anything() {
    let ask = [("X-QWP-Request-Durable-Ack", Some("true"))];
    let durable = Said::Binary(b"\x02\x01\0\x02\0b1\x01\0\0\0\0\0\0\0".to_vec());
    for durability in [Durability::OnPing, Durability::Prompt, Durability::Held] {
        let server = Server::with(|c| c.durability = durability);
        let mut client = Client::upgrade(server.address(), "/write/v4", &ask);
        send_rows(&mut client, 0..1);
        assert_eq!(client.receive(), ok(0, 1));
        if durability == Durability::Prompt {
            send_rows(&mut client, 1..2);
            assert_eq!(client.receive(), durable);
            assert_eq!(client.receive(), ok(1, 2));
            continue;
        }
        client.send(&frame(0x89, b""));
        if durability == Durability::OnPing {
            assert_eq!(client.receive(), durable);
        }
        assert_eq!(client.receive(), Said::Pong(Vec::new()));
    }
}

#[test]
fn the_frame_has_to_fit_the_receive_buffer_with_its_header() {
    let server = Server::with(|c| c.cap = 65_522);
    let mut client = writer(&server);
    client.send(&frame(0x82, &vec![0; 65_528]));
    assert_eq!(client.receive(), error(5, 0, "invalid magic bytes"));
    let mut client = writer(&server);
    send_rows(&mut client, 0..1);
    client.send(&frame(0x82, &vec![0; 65_529]));
    assert_eq!(client.receive(), ok(0, 1));
    assert_eq!(client.receive(), Said::Close(1009, "frame payload exceeds maximum size".into()));
    assert_eq!(client.receive(), Said::Eof);
}

#[test]
fn the_last_day_of_nanoseconds_ends_the_server_for_good() {
    let server = Server::start();
    let mut client = writer(&server);
    let mut message = b"QWP1\x01\x08\x01\0\x12\0\0\0\0\0\x02b1\x01\x01\0\x10\0".to_vec();
    message.extend(9_223_286_400_000_000_000i64.to_le_bytes());
    client.send(&frame(0x82, &message));
    assert_eq!(client.receive(), ok(0, 1));
    assert!(server.wait_until(|s| s.catalog.crashed && s.open() == 0, LONG_ENOUGH));
    assert!(Client::request(server.address(), "/write/v4", &[]).ended());
}

#[test]
fn batches_are_cut_to_the_send_buffer_and_the_dictionary_is_reset_when_it_is_full() {
    let server = Server::with(|c| {
        c.send_bytes = 120;
        c.limits.result_symbols = 2;
    });
    let mut client = reader(&server);
    message(&mut client);
    client.send(&query(1, "select cast('x'||x as symbol) s, x from long_sequence(9)"));
    let mut batches = 0;
    while message(&mut client).0 == 0x11 {
        batches += 1;
    }
    assert_eq!(batches, 2);
    client.send(&query(2, "select 1 x"));
    assert_eq!(message(&mut client), (0x17, vec![1]));
}

#[test]
fn tables_and_port_outlive_a_restart() {
    let mut server = Server::start();
    let mut client = writer(&server);
    send_rows(&mut client, 0..1);
    assert_eq!(client.receive(), ok(0, 1));
    let address = server.address();
    server.restart();
    assert_eq!(client.receive(), Said::Eof);
    assert_eq!((server.address(), stored(&server)), (address, longs(&[0])));
    let mut client = writer(&server);
    send_rows(&mut client, 1..2);
    assert_eq!(client.receive(), ok(0, 2));
}

#[test]
fn bytes_before_the_101_are_lost_and_noted() {
    let server = Server::start();
    let mut early = b"GET /write/v4 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        .to_vec();
    early.extend(frame(0x82, &row(0)));
    let mut client = Client::connect(server.address());
    client.send(&early);
    assert!(client.head().contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    client.send(&frame(0x82, &row(1)));
    assert_eq!(client.receive(), ok(0, 1));
    assert_eq!(stored(&server), longs(&[1]));
    assert!(server.connections()[0].early_bytes > 0);
}

#[test]
#[should_panic(expected = "no such option")]
fn a_panic_of_a_server_thread_is_a_panic_of_the_test() {
    let server = Server::start();
    server.script(Script { steps: vec![Step::Up(vec![("frob".into(), "1".into())])] });
    assert!(Client::request(server.address(), "/write/v4", &[]).ended());
}

#[test]
#[should_panic(expected = "no such word")]
fn a_word_that_no_script_knows_is_refused() {
    Script::new("up, fly");
}
