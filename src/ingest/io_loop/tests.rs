//! The real thread over socket pairs.

mod net;
mod turns;

use super::*;
use crate::config::Endpoint;
use crate::config::Target;
use crate::dial::DialSettings;
use crate::ingest::snapshot::LinkState;
use crate::store::{self, Appender, Fsn, Ledger, Outcome, Refused, SymbolLog};
use crate::time::SystemClock;
use crate::transport::Direction;
use crate::wire::frame::{Flags, OpenFrame, open};
use crate::wire::response::tests::ack;
use crate::wire::sink::Sink;
use net::{Answer, PATIENCE, Read1, Town, net};
use std::sync::atomic::Ordering;

/// A sender without rows: store, thread, network.
struct Client {
    appender: Appender,
    symbols: SymbolLog,
    ledger: Arc<Ledger>,
    shared: Arc<Shared>,
    thread: Thread,
    town: Town,
}

fn settings() -> DialSettings {
    let endpoint = |host: &str| Endpoint { host: host.to_owned(), port: 9000 };
    DialSettings {
        endpoints: [endpoint("a")].into(),
        direction: Direction::Ingress,
        encrypted: false,
        authorization: None,
        client_id: "test".to_owned(),
        durable_ack: false,
        accept_encoding: None,
        max_batch_rows: None,
        connect_timeout: PATIENCE,
        auth_timeout: PATIENCE,
        target: Target::Any,
        zone: None,
    }
}

impl Client {
    fn start() -> Client {
        Client::with(store::Config { segment_bytes: 1 << 20, total_bytes: 8 << 20 })
    }

    fn with(config: store::Config) -> Client {
        let (connector, town) = net();
        let (appender, cursor, ledger) = store::memory(config).unwrap();
        let (symbols, mirror) = store::symbols();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let shared = Arc::new(Shared::new(Arc::clone(&ledger), &*clock).unwrap());
        let thread = Thread::start(Parts {
            shared: Arc::clone(&shared),
            clock,
            rng: fastrand::Rng::with_seed(1),
            dialer: Dialer::new(connector, settings()),
            cursor,
            symbols: mirror.into(),
            rules: Rules { backoff_initial: Duration::from_millis(1), ..Rules::default() },
            first: None,
        });
        Client { appender, symbols, ledger, shared, thread: thread.unwrap(), town }
    }

    /// A frame with `bytes` of payload, of which the first tells frames apart.
    fn publish(&mut self, mark: u8, bytes: usize) -> Result<Vec<u8>, Refused> {
        let frame = frame(mark, bytes, 0);
        self.append(&frame)?;
        Ok(frame)
    }

    fn append(&mut self, frame: &[u8]) -> Result<(), Refused> {
        let mut group = self.appender.begin(&[frame.len()])?;
        group.frame(frame.len()).unwrap().copy_from_slice(frame);
        group.seal(frame.len());
        group.publish()?;
        self.shared.wake.notify();
        Ok(())
    }

    fn wait_acked(&self, fsn: i64) -> Outcome {
        let limit = Deadline::after(SystemClock.now(), PATIENCE);
        self.ledger.wait_acked(Fsn::new(fsn).unwrap(), limit, &SystemClock)
    }

    fn stop(mut self) {
        assert!(self.thread.stop(Duration::from_secs(1)), "FLUSH-14");
        let state = self.shared.link.health(SystemClock.now()).state;
        assert!(matches!(state, LinkState::Closed | LinkState::Failed), "{state:?}");
    }
}

fn frame(mark: u8, bytes: usize, delta_start: u64) -> Vec<u8> {
    let mut message = vec![0; bytes + 40];
    let mut sink = Sink::new(&mut message);
    let head: OpenFrame = open(&mut sink);
    sink.varint(delta_start);
    sink.varint(0);
    sink.put(&vec![mark; bytes]);
    head.close(&mut sink, Flags::DELTA_SYMBOLS, 1);
    let length = sink.finish().unwrap();
    message.truncate(length);
    message
}

fn nack(status: u8, sequence: i64) -> Vec<u8> {
    let mut bytes = vec![status];
    bytes.extend(sequence.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn reco_05_what_is_published_arrives_in_order_and_is_acknowledged() {
    let mut client = Client::start();
    let mut server = client.town.server();
    for round in 0..20_i64 {
        let frames: Vec<_> = (0..10).map(|mark| client.publish(mark, 100).unwrap()).collect();
        for frame in frames {
            assert_eq!(server.message(), frame);
        }
        server.say(&ack(Some(round * 10 + 9), &[("trades", 1)]));
        assert_eq!(client.wait_acked(round * 10 + 9), Outcome::Reached);
    }
    let counters = client.shared.tally.read();
    assert_eq!((counters.frames_sent, counters.frames_acked, counters.frames_replayed), (200, 200, 0));
    assert_eq!(client.shared.link.health(SystemClock.now()).state, LinkState::Connected);
    client.stop();
    assert_eq!(server.read(), Read1::Close);
    assert_eq!(server.read(), Read1::End);
}

#[test]
fn reco_03_h10_frames_are_replayed_byte_for_byte_until_they_are_acknowledged() {
    let mut client = Client::start();
    let frames = [client.publish(1, 50_000).unwrap(), client.publish(2, 10).unwrap()];
    for _ in 0..5 {
        let mut server = client.town.server();
        assert_eq!(server.message(), frames[0]);
    }
    let mut server = client.town.server();
    for frame in &frames {
        assert_eq!(server.message(), *frame);
    }
    server.say(&ack(Some(1), &[]));
    assert_eq!(client.wait_acked(1), Outcome::Reached);
    assert!(client.shared.tally.read().frames_replayed >= 5);
    client.stop();
}

#[test]
fn r11_answers_before_a_close_count() {
    let mut client = Client::start();
    client.publish(1, 10).unwrap();
    let second = client.publish(2, 10).unwrap();
    let mut server = client.town.server();
    server.message();
    server.message();
    server.say(&ack(Some(0), &[]));
    server.close(1000);
    let mut server = client.town.server();
    assert_eq!(server.message(), second);
    client.stop();
}

#[test]
fn rep_04_symbols_are_registered_from_the_dictionary() {
    let mut client = Client::start();
    for text in ["a", "bc", ""] {
        client.symbols.push(text);
    }
    client.symbols.publish(3);
    let frame = frame(9, 10, 2);
    client.append(&frame).unwrap();
    let mut server = client.town.server();
    let catch_up = server.message();
    assert_eq!(catch_up[5..8], [0x08, 0, 0]);
    assert_eq!(catch_up[12..], [0, 2, 1, b'a', 2, b'b', b'c']);
    assert_eq!(server.message(), frame);
    server.say(&ack(Some(1), &[]));
    assert_eq!(client.wait_acked(0), Outcome::Reached);
    client.stop();
}

/// R20: the server stops reading until each of its answers was taken.
#[test]
fn conn_16_answers_are_read_while_sending_is_blocked() {
    let mut client = Client::start();
    let mut server = client.town.server();
    // More than the sockets hold, both ways.
    let frames: Vec<_> = (0..10).map(|mark| client.publish(mark, 500_000).unwrap()).collect();
    assert_eq!(server.message(), frames[0]);
    let names: Vec<String> = (0..100).map(|index| format!("{index:0>120}")).collect();
    let tables: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    for _ in 0..5_000 {
        server.say(&ack(Some(0), &tables));
    }
    for frame in &frames[1..] {
        assert!(server.message() == *frame);
    }
    server.say(&ack(Some(9), &[]));
    assert_eq!(client.wait_acked(9), Outcome::Reached);
    client.stop();
}

#[test]
fn h05_errp_05_a_parked_producer_gets_the_rejection_at_once() {
    let mut client = Client::with(store::Config { segment_bytes: 1000, total_bytes: 2000 });
    let mut server = client.town.server();
    let epoch = loop {
        match client.publish(1, 800) {
            Ok(_) => drop(server.message()),
            Err(Refused::Full { epoch }) => break epoch,
            Err(other) => panic!("{other:?}"),
        }
    };
    std::thread::scope(|scope| {
        let parked = scope.spawn(|| client.ledger.wait_room(epoch, Deadline::NEVER, &SystemClock));
        server.say(&nack(0x05, 0));
        assert_eq!(parked.join().unwrap(), Outcome::Ended);
    });
    assert_eq!(client.shared.terminal().unwrap().kind(), ErrorKind::Rejected);
    assert_eq!(client.shared.tally.read().server_errors.parse_error, 1);
    assert_eq!(server.read(), Read1::Close);
    client.stop();
}

#[test]
fn flush_14_a_stop_interrupts_every_wait() {
    let connecting = Client::start();
    connecting.town.answers.send(Answer::Silence).unwrap();
    connecting.stop();

    let waiting = Client::start();
    let mut backing_off = Client::start();
    backing_off.publish(1, 10).unwrap();
    for _ in 0..12 {
        backing_off.town.answers.send(Answer::Refused).unwrap();
    }
    backing_off.stop();

    let idle = waiting;
    let mut server = idle.town.server();
    idle.stop();
    assert_eq!(server.read(), Read1::Close);

    let mut blocked = Client::start();
    let server = blocked.town.server();
    for mark in 0..8 {
        blocked.publish(mark, 900_000).unwrap();
    }
    blocked.stop();
    drop(server);
}

#[test]
fn a_panic_on_the_thread_is_a_terminal_error() {
    let client = Client::start();
    client.town.answers.send(Answer::Panic).unwrap();
    assert_eq!(client.wait_acked(0), Outcome::Ended);
    let error = client.shared.terminal().unwrap();
    assert_eq!(error.kind(), ErrorKind::Bug);
    assert!(error.to_string().contains("the connector is broken"), "{error}");
    client.stop();
}

#[test]
fn issue_3_an_idle_connection_does_not_wake_the_thread() {
    let mut client = Client::start();
    let mut server = client.town.server();
    client.publish(1, 10).unwrap();
    server.message();
    server.say(&ack(Some(0), &[]));
    assert_eq!(client.wait_acked(0), Outcome::Reached);
    let before = client.town.waits.load(Ordering::SeqCst);
    // A wait that nothing ends: the frame is never published.
    let limit = Deadline::after(SystemClock.now(), Duration::from_millis(300));
    let never = client.ledger.wait_acked(Fsn::FIRST.plus(1), limit, &SystemClock);
    assert_eq!(never, Outcome::TimedOut);
    let waits = client.town.waits.load(Ordering::SeqCst) - before;
    assert!(waits <= 2, "{waits} waits while nothing happened");
    client.stop();
}

#[test]
fn pub_20_a_full_store_drains_under_a_producer_that_waits_for_room() {
    let mut client = Client::with(store::Config { segment_bytes: 1 << 16, total_bytes: 1 << 17 });
    let mut server = client.town.server();
    let frames = 400_i64;
    let _server = std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            for sequence in 0..frames {
                let message = server.message();
                assert_eq!(message.last(), Some(&u8::try_from(sequence % 251).unwrap()));
                server.say(&ack(Some(sequence), &[]));
            }
            server
        });
        for sequence in 0..frames {
            let mark = u8::try_from(sequence % 251).unwrap();
            while let Err(refused) = client.publish(mark, 10_000) {
                let Refused::Full { epoch } = refused else { panic!("{refused:?}") };
                let limit = Deadline::after(SystemClock.now(), PATIENCE);
                assert_eq!(client.ledger.wait_room(epoch, limit, &SystemClock), Outcome::Reached);
            }
        }
        assert_eq!(client.wait_acked(frames - 1), Outcome::Reached);
        serving.join().unwrap()
    });
    assert!(client.ledger.bytes_used() <= 1 << 17);
    client.stop();
}
