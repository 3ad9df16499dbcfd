//! The I/O thread: gather what came, let [`Delivery`] decide, act, wait.
//!
//! It owns the connection, the reading end of the store and the rounds over the endpoints. It waits
//! in one place, for socket, wake-up and deadline at once; an idle connection wakes it once a minute.

mod outbox;
#[cfg(test)]
mod tests;
mod thread;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::delivery::{Action, Delivery, Host, Report, Rules};
use super::rejections::Category;
use super::shared::Shared;
use crate::dial::{Connected, Dialer};
use crate::error::{Error, ErrorKind};
use crate::store::{Cursor, Epochs};
use crate::time::{Clock, Deadline};
use crate::transport::{Incoming, Link, LinkError, Waited};
use outbox::{Outbox, Outgoing};
pub(crate) use thread::Thread;

/// What the thread works with.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: fastrand::Rng,
    pub(crate) dialer: Dialer,
    pub(crate) cursor: Cursor,
    pub(crate) symbols: Epochs,
    pub(crate) rules: Rules,
    /// A connection that was made before the thread began.
    pub(crate) first: Option<Connected>,
}

/// The thread's state. A simulation drives it turn by turn.
#[derive(Debug)]
pub(crate) struct IoLoop {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    dialer: Dialer,
    delivery: Delivery,
    outbox: Outbox,
    wire: Option<Wire>,
}

/// The connection in use.
#[derive(Debug)]
struct Wire {
    link: Box<dyn Link>,
    endpoint: usize,
    /// The message that is being handed over.
    outgoing: Option<Outgoing>,
    /// Whether the link holds bytes that the socket did not take.
    unflushed: bool,
}

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// There is more to do.
    Again,
    /// Nothing to do before `deadline`, unless something comes.
    Wait(Deadline),
    /// It is all over.
    Done,
}

impl IoLoop {
    /// Nothing is done before the first turn.
    pub(crate) fn new(parts: Parts) -> IoLoop {
        let Parts { shared, clock, rng, dialer, cursor, symbols, rules, first } = parts;
        let delivery = Delivery::new(&rules, shared.ledger.acked(), rng, clock.now());
        let outbox = Outbox::new(cursor, symbols, Arc::clone(&shared));
        let mut io = IoLoop { shared, clock, dialer, delivery, outbox, wire: None };
        if let Some(connected) = first {
            io.adopt(connected);
        }
        io
    }

    /// Runs until the sender is closed or fails.
    pub(crate) fn run(&mut self) {
        loop {
            let published = self.shared.ledger.published();
            match self.turn() {
                Turn::Again => {}
                Turn::Wait(deadline) => {
                    // Only a producer that finds everything sent has to wake this thread.
                    let armed = self.delivery.is_caught_up();
                    if armed {
                        self.shared.wake.arm();
                    }
                    if !armed || self.shared.ledger.published() == published {
                        self.wait(deadline);
                    }
                    self.shared.wake.disarm();
                }
                Turn::Done => return,
            }
        }
    }

    /// Gather, step, act.
    pub(crate) fn turn(&mut self) -> Turn {
        let now = self.clock.now();
        self.receive(now);
        if self.shared.is_stopping() {
            self.delivery.on_stop();
        }
        let turn = self.act();
        self.flush(now);
        match turn {
            Turn::Wait(_) if self.delivery.is_ended() => Turn::Done,
            Turn::Wait(_) => Turn::Wait(self.delivery.next_deadline()),
            turn => turn,
        }
    }

    /// Takes in what came, until there is no more or nobody wants it.
    fn receive(&mut self, now: Instant) {
        for _ in 0..RECEIVED_MAX {
            let Some(wire) = self.wire.as_mut().filter(|_| self.delivery.is_up()) else { return };
            match wire.link.recv() {
                Ok(Some(Incoming::Message(message))) => {
                    self.delivery.on_message(&message, now);
                    wire.link.recycle(message);
                }
                Ok(Some(Incoming::Pong)) => self.delivery.on_pong(now),
                Ok(Some(Incoming::Close { code, reason })) => self.delivery.on_close(code, &reason, now),
                Ok(None) => return,
                Err(error) => self.delivery.on_link_error(error, now),
            }
        }
    }

    /// Does what is to be done, but not for so long that answers have to wait.
    fn act(&mut self) -> Turn {
        let mut left = BURST_BYTES;
        loop {
            // Each time: a round of connecting takes long.
            let now = self.clock.now();
            left = left.saturating_sub(self.pump(now));
            if left == 0 {
                return Turn::Again;
            }
            match self.delivery.poll(now, &mut self.outbox) {
                Some(action) => self.perform(action, now),
                None => return Turn::Wait(Deadline::NEVER),
            }
        }
    }

    fn perform(&mut self, action: Action, now: Instant) {
        match action {
            Action::Connect => self.dial(),
            Action::SendFrame(fsn) => self.hand_over(Outgoing::frame(fsn)),
            Action::SendSymbols { fsn, from, to, message_max } => {
                match self.outbox.symbols(fsn, from, to, message_max) {
                    Ok(outgoing) => self.hand_over(outgoing),
                    Err((id, bytes)) => self.delivery.on_symbol_too_large(id, bytes, now),
                }
            }
            Action::Ping => {
                if let Some(Err(error)) = self.wire.as_mut().map(|wire| wire.link.ping()) {
                    self.broke(error, now);
                }
            }
            Action::Acked { fsn, frames, bytes } => {
                self.shared.tally.frames_acked.add(frames);
                self.shared.tally.bytes_acked.add(bytes);
                self.outbox.acked(fsn);
            }
            Action::Disconnect { host, close, why } => self.disconnect(host, close, why),
            Action::Report(report) => self.report(&report),
            Action::Terminal { category, error } => {
                self.count(category);
                log::error!("the sender stops: {error}");
                self.shared.fail(error);
            }
        }
    }

    fn hand_over(&mut self, outgoing: Outgoing) {
        if let Some(wire) = &mut self.wire {
            wire.outgoing = Some(outgoing);
        }
    }

    /// Hands over as much of the message under way as the link takes; returns the bytes of it if it
    /// is whole.
    fn pump(&mut self, now: Instant) -> usize {
        let Some(wire) = &mut self.wire else { return 0 };
        let Some(outgoing) = &mut wire.outgoing else { return 0 };
        match outgoing.send(&mut *wire.link, &mut self.outbox) {
            Ok(false) => 0,
            Ok(true) => {
                let outgoing = wire.outgoing.take();
                outgoing.map_or(0, |outgoing| self.sent(outgoing, now))
            }
            Err(error) => {
                self.broke(error, now);
                0
            }
        }
    }

    fn sent(&mut self, outgoing: Outgoing, now: Instant) -> usize {
        match outgoing {
            Outgoing::Frame { .. } => {
                let Some(sent) = self.delivery.on_sent(now) else { return 0 };
                self.shared.tally.frames_sent.add(1);
                self.shared.tally.bytes_sent.add(sent.bytes as u64);
                self.shared.tally.frames_replayed.add(sent.replayed.into());
                sent.bytes
            }
            Outgoing::Symbols { message, end, .. } => {
                self.delivery.on_symbols_sent(end, message.len(), now);
                message.len()
            }
        }
    }

    /// Writing failed: what the server said before that still counts (R11).
    fn broke(&mut self, error: LinkError, now: Instant) {
        self.receive(now);
        self.delivery.on_link_error(error, now);
    }

    fn flush(&mut self, now: Instant) {
        let Some(wire) = &mut self.wire else { return };
        match wire.link.flush() {
            Ok(flushed) => wire.unflushed = !flushed,
            Err(error) => self.broke(error, now),
        }
    }

    fn dial(&mut self) {
        // Fired wake-ups of before have nothing to say to this round; a stop is seen below.
        self.shared.wake.drain();
        if self.shared.is_stopping() {
            return self.delivery.on_stop();
        }
        self.shared.tally.connect_attempts.add(1);
        match self.dialer.round(&self.shared.wake, &mut |_| Ok(())) {
            Ok(connected) => self.adopt(connected),
            Err(failure) if failure.interrupted => self.delivery.on_interrupted(self.clock.now()),
            Err(failure) => {
                log::warn!("no server to send to: {}", failure.error);
                self.shared.link.round_failed(failure.error.clone());
                let now = self.clock.now();
                self.delivery.on_round_failed(failure.error, failure.all_role_rejected, now);
            }
        }
    }

    fn adopt(&mut self, connected: Connected) {
        let Connected { link, endpoint, passed: _ } = connected;
        let name = self.dialer.endpoint(endpoint).to_string();
        log::info!("connected to {name}");
        self.shared.connected(&name, link.upgrade().max_batch_bytes, &*self.clock);
        self.delivery.on_upgraded(&name, link.upgrade(), self.clock.now());
        self.wire = Some(Wire { link, endpoint, outgoing: None, unflushed: false });
    }

    fn disconnect(&mut self, host: Host, close: Option<u16>, why: String) {
        let Some(mut wire) = self.wire.take() else { return };
        match host {
            Host::Kept => self.dialer.new_outage(),
            Host::Broke => self.dialer.broke(wire.endpoint),
        }
        self.part(&mut *wire.link, close);
        let name = self.dialer.endpoint(wire.endpoint);
        log::info!("disconnected from {name}: {why}");
        let lost =
            Error::new(ErrorKind::Transport, "the connection ended").with("endpoint", name).because(why);
        self.shared.link.lost(lost, &*self.clock);
    }

    /// Says goodbye, without waiting for an answer. The link may be past that.
    fn part(&self, link: &mut dyn Link, close: Option<u16>) {
        let queued = close.map_or(Ok(()), |code| link.close(code));
        let flushed = queued.and_then(|()| link.flush());
        if let Ok(false) = flushed
            && self.shared.is_stopping()
        {
            let limit = Deadline::after(self.clock.now(), FAREWELL);
            let _ = link.wait(true, &self.shared.wake, limit).and_then(|_| link.flush());
        }
    }

    fn report(&self, report: &Report) {
        self.count(Some(report.category));
        log::warn!("{} (tried again): {}", report.category, report.error);
    }

    fn count(&self, category: Option<Category>) {
        if let Some(category) = category {
            self.shared.tally.server_errors[category.index()].add(1);
        }
    }

    /// The only place where this thread waits.
    fn wait(&mut self, deadline: Deadline) {
        let Some(wire) = &mut self.wire else {
            // A wake-up that cannot be waited for would make this loop spin.
            if let Err(error) = self.shared.wake.wait(deadline) {
                self.shared.fail(Error::new(ErrorKind::Bug, "cannot wait").caused_by(error));
                self.delivery.on_stop();
            }
            return;
        };
        let blocked = wire.outgoing.is_some() || wire.unflushed;
        match wire.link.wait(blocked, &self.shared.wake, deadline) {
            Ok(Waited::Ready | Waited::Woken | Waited::TimedOut) => {}
            Err(error) => self.broke(error, self.clock.now()),
        }
    }
}

/// Bytes that are sent before answers are looked for again.
const BURST_BYTES: usize = 1 << 20;
/// Messages that are taken in before something is sent again.
const RECEIVED_MAX: usize = 256;
/// How long a closing sender waits for the socket to take its CLOSE.
const FAREWELL: Duration = Duration::from_millis(100);
