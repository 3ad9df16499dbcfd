//! A simulated connection.

use super::clock::SimClock;
use super::peer::{Act, PeerAction, SimPeer};
use crate::time::{Clock, Deadline, SystemClock};
use crate::transport::{Incoming, Link, LinkError, Upgrade, Waited, Wake};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection to a scripted peer. It is as awkward as the contract of [`Link`] permits: it takes
/// messages in pieces, keeps what was not flushed, and is sometimes ready with half a message.
pub(crate) struct SimLink {
    clock: SimClock,
    rng: fastrand::Rng,
    upgrade: Upgrade,
    peer: Box<dyn SimPeer>,
    /// What the peer will have done when.
    planned: BTreeMap<(Instant, u64), Act>,
    planned_count: u64,
    /// What has arrived and was not received yet.
    arrived: VecDeque<Act>,
    /// The latest arrival planned: a stream keeps its order.
    last_arrival: Instant,
    /// What was queued and not flushed yet.
    outbox: VecDeque<Out>,
    /// The message that was taken in part, to see that the rest is of the same one.
    partial: Option<Vec<u8>>,
    reading: bool,
    /// [`Act::End`] or [`Act::Reset`], once it has arrived.
    over: Option<Act>,
}

enum Out {
    Message(Vec<u8>),
    Ping,
    Close(u16),
}

impl SimLink {
    pub(super) fn new(
        clock: SimClock,
        rng: fastrand::Rng,
        upgrade: Upgrade,
        mut peer: Box<dyn SimPeer>,
    ) -> SimLink {
        let now = clock.now();
        let actions = peer.on_connect(now);
        let mut link = SimLink {
            clock,
            rng,
            upgrade,
            peer,
            planned: BTreeMap::new(),
            planned_count: 0,
            arrived: VecDeque::new(),
            last_arrival: now,
            outbox: VecDeque::new(),
            partial: None,
            reading: true,
            over: None,
        };
        link.plan(actions);
        link
    }

    fn plan(&mut self, actions: Vec<PeerAction>) {
        let now = self.clock.now();
        for PeerAction { after, act } in actions {
            let mut at = now + after;
            if act.arrives() {
                at = at.max(self.last_arrival);
                self.last_arrival = at;
            }
            self.planned_count += 1;
            self.planned.insert((at, self.planned_count), act);
        }
    }

    /// Has happen what is due.
    fn catch_up(&mut self) {
        let now = self.clock.now();
        while let Some(first) = self.planned.first_entry()
            && first.key().0 <= now
        {
            match first.remove() {
                Act::Timer => {
                    let actions = self.peer.on_timer(now);
                    self.plan(actions);
                }
                Act::StopReading => self.reading = false,
                Act::Read => self.reading = true,
                end @ (Act::End | Act::Reset) if self.over.is_none() => {
                    self.over = Some(end.clone());
                    self.arrived.push_back(end);
                }
                _ if self.over.is_some() => {}
                arriving => self.arrived.push_back(arriving),
            }
        }
    }

    /// Fails as a socket does after a reset; an end shows only to who receives.
    fn check_sendable(&mut self) -> Result<(), LinkError> {
        self.catch_up();
        if self.over == Some(Act::Reset) { Err(reset()) } else { Ok(()) }
    }

    fn deliver(&mut self, out: Out) {
        if self.over.is_some() {
            return;
        }
        let now = self.clock.now();
        let actions = match out {
            Out::Message(message) => self.peer.on_message(&message, now),
            Out::Ping => self.peer.on_ping(now),
            Out::Close(code) => self.peer.on_close(code, now),
        };
        self.plan(actions);
    }

    /// When something can happen next, at the latest at `deadline`.
    fn next_event(&self, deadline: Deadline) -> Option<Instant> {
        let planned = self.planned.first_key_value().map(|((at, _), _)| *at);
        [planned, self.clock.next_event(), deadline.instant()].into_iter().flatten().min()
    }
}

impl Link for SimLink {
    fn upgrade(&self) -> &Upgrade {
        &self.upgrade
    }

    fn send(&mut self, message: &[u8], taken: &mut usize) -> Result<bool, LinkError> {
        self.check_sendable()?;
        let begun = self.partial.as_deref();
        assert!(
            (begun.is_none() && *taken == 0) || (begun == Some(message) && *taken < message.len()),
            "the rest of another message"
        );
        let left = message.len() - *taken;
        if !self.reading || (left > 1 && self.rng.u8(..4) == 0) {
            *taken += if self.reading { self.rng.usize(1..left) } else { 0 };
            self.partial = (*taken > 0).then(|| message.to_vec());
            return Ok(false);
        }
        *taken = message.len();
        self.partial = None;
        self.outbox.push_back(Out::Message(message.to_vec()));
        Ok(true)
    }

    fn ping(&mut self) -> Result<(), LinkError> {
        self.check_sendable()?;
        self.outbox.push_back(Out::Ping);
        Ok(())
    }

    fn close(&mut self, code: u16) -> Result<(), LinkError> {
        self.check_sendable()?;
        self.outbox.push_back(Out::Close(code));
        Ok(())
    }

    fn flush(&mut self) -> Result<bool, LinkError> {
        self.check_sendable()?;
        while self.reading
            && let Some(out) = self.outbox.pop_front()
        {
            self.deliver(out);
            self.catch_up();
        }
        Ok(self.outbox.is_empty())
    }

    fn recv(&mut self) -> Result<Option<Incoming>, LinkError> {
        self.catch_up();
        if self.rng.u8(..8) == 0 {
            return Ok(None);
        }
        Ok(Some(match self.arrived.pop_front() {
            None => return Ok(None),
            Some(Act::Message(message)) => Incoming::Message(message),
            Some(Act::Pong) => Incoming::Pong,
            Some(Act::Close { code, reason }) => Incoming::Close { code, reason },
            Some(end) => {
                let error = if end == Act::Reset { reset() } else { LinkError::Ended };
                self.arrived.push_front(end);
                return Err(error);
            }
        }))
    }

    fn recycle(&mut self, _: Vec<u8>) {}

    fn wait(&mut self, writable: bool, wake: &Wake, deadline: Deadline) -> Result<Waited, LinkError> {
        loop {
            self.catch_up();
            if !self.arrived.is_empty() || (writable && self.reading) {
                return Ok(Waited::Ready);
            }
            if wake.drain() {
                return Ok(Waited::Woken);
            }
            if deadline.passed(self.clock.now()) {
                return Ok(Waited::TimedOut);
            }
            match self.next_event(deadline) {
                Some(event) => self.clock.advance_to(event),
                None => {
                    wait_for_other_threads(wake);
                    return Ok(Waited::Woken);
                }
            }
        }
    }
}

/// Nothing is planned: only another thread can still do something.
fn wait_for_other_threads(wake: &Wake) {
    let limit = Deadline::after(SystemClock.now(), Duration::from_secs(10));
    let fired = wake.wait(limit).expect("a wait");
    assert!(fired, "waits for ever in the simulation: nothing is planned, nobody wakes");
}

fn reset() -> LinkError {
    LinkError::Io(Arc::new(io::Error::from(io::ErrorKind::ConnectionReset)))
}

impl fmt::Debug for SimLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimLink")
            .field("arrived", &self.arrived)
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}
