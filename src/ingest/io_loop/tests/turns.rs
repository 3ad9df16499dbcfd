//! Single turns, without a thread, over a link that a test scripts call by call.

use std::collections::VecDeque;
use std::io;

use super::*;
use crate::dial::Connected;
use crate::transport::{Upgrade, Wake};

#[derive(Debug, Default)]
struct Script {
    upgrade: Upgrade,
    incoming: VecDeque<Result<Incoming, LinkError>>,
    /// Whether writing fails.
    broken: bool,
    sent: usize,
}

impl Link for Script {
    fn upgrade(&self) -> &Upgrade {
        &self.upgrade
    }

    fn send(&mut self, message: &[u8], taken: &mut usize) -> Result<bool, LinkError> {
        *taken = message.len();
        self.sent += 1;
        if self.broken && self.sent > 1 {
            return Err(LinkError::Io(Arc::new(io::ErrorKind::BrokenPipe.into())));
        }
        Ok(true)
    }

    fn ping(&mut self) -> Result<(), LinkError> {
        Ok(())
    }

    fn close(&mut self, _code: u16) -> Result<(), LinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<bool, LinkError> {
        Ok(true)
    }

    fn recv(&mut self) -> Result<Option<Incoming>, LinkError> {
        // What comes is there only once something was sent.
        let next = if self.sent > 1 { self.incoming.pop_front() } else { None };
        next.transpose()
    }

    fn recycle(&mut self, _buffer: Vec<u8>) {}

    fn wait(&mut self, _writable: bool, _wake: &Wake, _deadline: Deadline) -> Result<Waited, LinkError> {
        panic!("a turn does not wait");
    }
}

/// A loop with two frames published, connected by `link`; its appender, and the town that answers
/// attempts.
fn connected(link: Script) -> (IoLoop, Arc<Shared>, Town) {
    let (connector, town) = net();
    let config = store::Config { segment_bytes: 1 << 20, total_bytes: 8 << 20 };
    let (mut appender, cursor, ledger) = store::memory(config).unwrap();
    for mark in 0..2 {
        let frame = frame(mark, 10, 0);
        let mut group = appender.begin(&[frame.len()]).unwrap();
        group.frame(frame.len()).unwrap().copy_from_slice(&frame);
        group.seal(frame.len());
        group.publish().unwrap();
    }
    let shared = Arc::new(Shared::new(ledger, &SystemClock).unwrap());
    let io = IoLoop::new(Parts {
        shared: Arc::clone(&shared),
        clock: Arc::new(SystemClock),
        rng: fastrand::Rng::with_seed(1),
        dialer: Dialer::new(connector, settings()),
        cursor,
        symbols: store::symbols().1.into(),
        rules: Rules::default(),
        first: Some(Connected { link: Box::new(link), endpoint: 0, passed: Vec::new() }),
    });
    (io, shared, town)
}

#[test]
fn init_03_a_connection_made_before_is_used_from_the_first_turn() {
    let (mut io, shared, _town) = connected(Script::default());
    assert!(shared.was_ever_connected());
    assert!(matches!(io.turn(), Turn::Wait(_)));
    assert_eq!(shared.tally.read().frames_sent, 2);
}

#[test]
fn r11_what_the_server_said_before_writing_failed_still_counts() {
    let mut link = Script { broken: true, ..Script::default() };
    link.incoming.push_back(Ok(Incoming::Message(ack(Some(0), &[]))));
    link.incoming.push_back(Err(LinkError::Ended));
    let (mut io, shared, town) = connected(link);
    town.answers.send(Answer::Refused).unwrap();
    assert!(matches!(io.turn(), Turn::Wait(_)));
    assert_eq!(shared.ledger.acked(), Some(Fsn::FIRST));
    let health = shared.link.health(SystemClock.now());
    assert_eq!((health.state, health.failed_rounds), (LinkState::Reconnecting, 1));
}

#[test]
fn a_stop_between_turns_ends_the_next_one() {
    let (mut io, shared, _town) = connected(Script::default());
    shared.ask_to_stop();
    assert_eq!(io.turn(), Turn::Done);
    assert_eq!(shared.tally.read().frames_sent, 0);
}
