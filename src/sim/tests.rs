use super::*;
use crate::config::Endpoint;
use crate::time::{Clock, Deadline};
use crate::transport::{Attempt, Connector, Direction, Incoming, Link, LinkError, Upgrade, Waited, Wake};
use parking_lot::Mutex;
use std::time::Duration;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn connect(world: &World, peer: impl SimPeer + 'static) -> Box<dyn Link> {
    let mut peer = Some(Box::new(peer) as Box<dyn SimPeer>);
    world.net.host("a:1", move |_| Answer::Accept(Upgrade::default(), peer.take().expect("one attempt")));
    let attempt = Attempt {
        endpoint: &Endpoint { host: "a".into(), port: 1 },
        direction: Direction::Ingress,
        authorization: None,
        client_id: "test",
        durable_ack: false,
        accept_encoding: None,
        max_batch_rows: None,
        connect_timeout: ms(1000),
        auth_timeout: ms(1000),
        wake: &Wake::new().expect("a wake"),
    };
    world.net.connect(&attempt).expect("accepted")
}

fn send(link: &mut dyn Link, message: &[u8]) {
    let mut taken = 0;
    while !link.send(message, &mut taken).expect("sent") {}
    assert!(link.flush().expect("flushed"));
}

/// The next thing that arrives, however often the link is ready with nothing.
fn receive(link: &mut dyn Link) -> Result<Incoming, LinkError> {
    let wake = Wake::new().expect("a wake");
    loop {
        assert_eq!(link.wait(false, &wake, Deadline::NEVER).expect("waited"), Waited::Ready);
        if let Some(incoming) = link.recv()? {
            return Ok(incoming);
        }
    }
}

#[test]
fn the_clock_jumps_from_event_to_event_in_order() {
    let clock = SimClock::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for at in [30, 10, 20, 10] {
        let (log, now) = (seen.clone(), clock.clone());
        clock.at(ms(at), move || log.lock().push((at, now.elapsed())));
    }
    clock.sleep(ms(20));
    assert_eq!(*seen.lock(), [(10, ms(10)), (10, ms(10)), (20, ms(20))]);
    clock.advance(Duration::from_secs(3600));
    assert_eq!(seen.lock().last(), Some(&(30, ms(30))));
    assert_eq!(clock.elapsed(), ms(3_600_020));
}

#[test]
fn a_peer_answers_in_order_and_in_simulated_time() {
    let world = World::new(1);
    let mut link = connect(&world, |message: &[u8], _| {
        vec![
            Act::Message(message.to_vec()).after(ms(500)),
            Act::Close { code: Some(1000), reason: "x".into() }.now(),
        ]
    });
    let began = world.clock.elapsed();
    send(&mut *link, b"hello");
    assert_eq!(receive(&mut *link).expect("echo"), Incoming::Message(b"hello".to_vec()));
    assert_eq!(world.clock.elapsed() - began, ms(500));
    assert_eq!(receive(&mut *link).expect("close"), Incoming::Close { code: Some(1000), reason: "x".into() });
    link.ping().expect("queued");
    link.flush().expect("flushed");
    assert_eq!(receive(&mut *link).expect("pong"), Incoming::Pong);
}

#[test]
fn an_end_and_a_reset_stay_what_they_are() {
    for (act, reset) in [(Act::End, false), (Act::Reset, true)] {
        let world = World::new(2);
        let mut link = connect(&world, move |_: &[u8], _| vec![act.clone().now()]);
        send(&mut *link, b"x");
        for _ in 0..2 {
            let error = receive(&mut *link).expect_err("over");
            assert_eq!(matches!(error, LinkError::Io(_)), reset);
        }
        assert_eq!(link.send(b"y", &mut 0).is_err(), reset);
    }
}

#[test]
fn a_peer_that_does_not_read_blocks_the_sender_until_it_does() {
    let world = World::new(3);
    let mut link = connect(&world, |_: &[u8], _| vec![Act::StopReading.now(), Act::Read.after(ms(700))]);
    let wake = Wake::new().expect("a wake");
    send(&mut *link, b"first");
    let began = world.clock.elapsed();
    assert!(!link.send(b"second", &mut 0).expect("blocked"));
    let waited = link.wait(true, &wake, Deadline::after(world.clock.now(), ms(100))).expect("waited");
    assert_eq!(waited, Waited::TimedOut);
    assert_eq!(link.wait(true, &wake, Deadline::NEVER).expect("waited"), Waited::Ready);
    assert_eq!(world.clock.elapsed() - began, ms(700));
    send(&mut *link, b"second");
}

#[test]
fn a_wake_ends_a_wait_at_its_simulated_time() {
    let world = World::new(4);
    let mut link = connect(&world, Silent);
    let wake = Wake::new().expect("a wake");
    let (fired, at) = (wake.clone(), world.clock.elapsed() + ms(250));
    world.clock.at(at, move || fired.fire());
    assert_eq!(link.wait(false, &wake, Deadline::NEVER).expect("waited"), Waited::Woken);
    assert_eq!(world.clock.elapsed(), at);
}

#[test]
fn a_message_that_was_not_flushed_does_not_leave() {
    let world = World::new(5);
    let mut link = connect(&world, |message: &[u8], _| vec![Act::Message(message.to_vec()).now()]);
    let mut taken = 0;
    while !link.send(b"hello", &mut taken).expect("sent") {}
    let wake = Wake::new().expect("a wake");
    let waited = link.wait(false, &wake, Deadline::after(world.clock.now(), ms(10_000))).expect("waited");
    assert_eq!(waited, Waited::TimedOut);
    link.flush().expect("flushed");
    assert_eq!(receive(&mut *link).expect("echo"), Incoming::Message(b"hello".to_vec()));
}

#[test]
fn the_same_seed_takes_messages_in_the_same_pieces() {
    let pieces = |seed| {
        let world = World::new(seed);
        let mut link = connect(&world, Silent);
        let mut cuts = Vec::new();
        for _ in 0..50 {
            let mut taken = 0;
            while !link.send(&[7; 100], &mut taken).expect("sent") {
                cuts.push(taken);
            }
        }
        cuts
    };
    assert_eq!(pieces(6), pieces(6));
    assert_ne!(pieces(6), pieces(7));
}
