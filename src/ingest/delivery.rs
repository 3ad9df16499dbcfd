//! The I/O thread's decisions: when to connect, what to send next, what an answer means, when to
//! give a connection up. Pure: events and `now` in, actions and the next deadline out.
//!
//! ```text
//!             poll: Connect            on_upgraded
//!  Waiting -----------------> Dialling ------------> Up
//!    ^  ^      on_round_failed    |                   |  answers, silence, end of the link
//!    |  +-------------------------+                   |
//!    +------------------------------------------------+
//!  terminal error or on_stop, from anywhere: Ended
//! ```
//!
//! A connection starts over (RECO-03): wire sequence 0, no symbol registered, first unacknowledged
//! frame first.

mod connection;
mod report;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::acks::{Cargo, Covered};
use super::rejections::{Category, Pace, Poison, Policies, Policy, Strike, Suspect};
use crate::error::{Error, ErrorKind, printable};
use crate::health::Backoff;
use crate::store::Fsn;
use crate::time::Deadline;
use crate::transport::{LinkError, Upgrade};
use crate::wire::frame::FrameFacts;
use crate::wire::reader::WireError;
use crate::wire::response::{Response, Status};
pub(crate) use connection::UNKNOWN_CAP_BYTES;
use connection::{Connection, Step};
pub(crate) use report::Report;

/// Settings of delivery.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) policies: Policies,
    /// Strikes that make a frame poison (`max_frame_rejections`).
    pub(crate) rejections_max: u32,
    /// Over which time they are spread (`poison_min_escalation_window_millis`), if set.
    pub(crate) poison_window: Option<Duration>,
    pub(crate) backoff_initial: Duration,
    pub(crate) backoff_max: Duration,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            policies: Policies::default(),
            rejections_max: 4,
            poison_window: None,
            backoff_initial: Duration::from_millis(100),
            backoff_max: Duration::from_secs(5),
        }
    }
}

/// What the store holds, as far as delivery asks.
pub(crate) trait Backlog {
    /// A frame that is not acknowledged; `None` if it is not published.
    fn frame(&mut self, fsn: Fsn) -> Option<Result<Queued, Unreadable>>;

    /// Dictionary entries that exist for frames like this one.
    fn symbols(&self, fsn: Fsn) -> u64;

    /// Whether ids have other meanings from this frame on, which registers all that it needs (REC-13).
    fn renumbers(&self, fsn: Fsn) -> bool;

    /// Whether a connection that began with frame `first` has to end before frame `next`, since
    /// that needs a new one.
    fn must_renew(&self, first: Fsn, next: Fsn) -> bool;
}

/// A frame of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) facts: FrameFacts,
    pub(crate) bytes: usize,
}

/// Why a frame cannot be sent.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// Its bytes are wrong, for good.
    Damaged(WireError),
    /// The disk does not give it now.
    NotNow(Error),
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Action {
    /// Carry out one round; answer with `on_upgraded`, `on_round_failed` or `on_interrupted`.
    Connect,
    /// Send the frame; answer with `on_sent`.
    SendFrame(Fsn),
    /// Send one catch-up message of at most `message_max` bytes with entries from id `from` on, none
    /// of `to` and above, as frame `fsn` and those behind it need them; answer with `on_symbols_sent`
    /// or `on_symbol_too_large`.
    SendSymbols { fsn: Fsn, from: u64, to: u64, message_max: usize },
    /// Send a PING.
    Ping,
    /// Everything up to `fsn` is committed: `frames` of `bytes` since the last time.
    Acked { fsn: Fsn, frames: u64, bytes: u64 },
    /// Drop the link, with a CLOSE of that code if there is one.
    Disconnect { host: Host, close: Option<u16>, why: String },
    /// Tell the user.
    Report(Report),
    /// The sender stops for good. The category is that of the server's answer, if one led to it.
    Terminal { category: Option<Category>, error: Error },
}

/// What the end of a connection says of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// Nothing: the next round begins with it.
    Kept,
    /// It is demoted (HOST-05).
    Broke,
}

/// A frame that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentFrame {
    pub(crate) fsn: Fsn,
    pub(crate) bytes: usize,
    /// Whether it was sent on an earlier connection (REP-08).
    pub(crate) replayed: bool,
}

/// The state machine.
#[derive(Debug)]
pub(crate) struct Delivery {
    policies: Policies,
    state: State,
    /// Everything up to here is settled; never inside a group (ACK-05).
    acked: Option<Fsn>,
    highest_sent: Option<Fsn>,
    ever_connected: bool,
    /// The server missed symbols: the next connection gets all of them first (ERRP-02).
    register_all: bool,
    poison: Poison,
    pace: Pace,
    rounds: Backoff,
    rng: fastrand::Rng,
    /// Decided and not handed out. Each event adds at most three.
    out: VecDeque<Action>,
}

#[derive(Debug)]
enum State {
    /// Connects at `until`.
    Waiting {
        until: Instant,
    },
    Dialling,
    Up(Box<Connection>),
    Ended,
}

/// Why a connection is given up.
#[derive(Debug)]
enum Cause {
    Nack {
        status: Status,
        sequence: i64,
        message: String,
        suspect: Suspect,
    },
    /// A CLOSE, or the end of the stream.
    Ended {
        orderly: bool,
        why: String,
    },
    /// Bytes that break the protocol (ERRP-08).
    Violation(String),
    /// Not a byte for too long (CONN-11).
    Mute,
    /// The endpoint cannot take what is to be sent next (REP-05, REP-07).
    Unfit(Error),
    /// What is to be sent next cannot be read now.
    Unread(Error),
    /// The next frames need a connection of their own (CONN-17).
    Renewed,
    /// The store is damaged.
    Fatal(Error),
}

impl Delivery {
    /// Connects at once, and sends what is behind `acked`.
    pub(crate) fn new(rules: &Rules, acked: Option<Fsn>, rng: fastrand::Rng, now: Instant) -> Delivery {
        let backoff = Backoff::ingest(rules.backoff_initial, rules.backoff_max);
        Delivery {
            policies: rules.policies,
            state: State::Waiting { until: now },
            acked,
            highest_sent: None,
            ever_connected: false,
            register_all: false,
            poison: Poison::new(rules.rejections_max, rules.poison_window),
            pace: Pace::new(backoff.clone()),
            rounds: backoff,
            rng,
            out: VecDeque::new(),
        }
    }

    /// The next thing to do, until there is none.
    pub(crate) fn poll(&mut self, now: Instant, backlog: &mut impl Backlog) -> Option<Action> {
        loop {
            if let Some(action) = self.out.pop_front() {
                return Some(action);
            }
            match &mut self.state {
                State::Waiting { until } if *until <= now => {
                    self.state = State::Dialling;
                    return Some(Action::Connect);
                }
                State::Waiting { .. } | State::Dialling | State::Ended => return None,
                State::Up(connection) => match connection.step(now, backlog) {
                    Step::Nothing => return None,
                    Step::Do(action) => return Some(action),
                    Step::GiveUp(cause) => self.give_up(cause, now),
                },
            }
        }
    }

    /// When [`Delivery::poll`] has something to do without any event.
    pub(crate) fn next_deadline(&self) -> Deadline {
        match &self.state {
            State::Waiting { until } => Deadline::at(*until),
            State::Up(connection) => connection.next_deadline(),
            State::Dialling | State::Ended => Deadline::NEVER,
        }
    }

    /// Whether a newly published frame would be sent at once.
    pub(crate) fn is_caught_up(&self) -> bool {
        matches!(&self.state, State::Up(connection) if connection.caught_up)
    }

    /// Whether there is a connection, so that what comes from the server has a meaning.
    pub(crate) fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    /// Whether it is all over.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended) && self.out.is_empty()
    }

    /// A connection to `endpoint` is up.
    pub(crate) fn on_upgraded(&mut self, endpoint: &str, upgrade: &Upgrade, now: Instant) {
        self.rounds.reset();
        self.ever_connected = true;
        let first = self.acked.map_or(Fsn::FIRST, Fsn::next);
        let connection = Connection::new(endpoint, upgrade, first, self.register_all, now);
        self.state = State::Up(Box::new(connection));
    }

    /// A round found nobody.
    pub(crate) fn on_round_failed(&mut self, error: Error, all_role_rejected: bool, now: Instant) {
        let hopeless = matches!(error.kind(), ErrorKind::Auth | ErrorKind::DurableAckUnsupported);
        if hopeless && !self.ever_connected {
            // INIT-04
            return self.fail(None, error);
        }
        if error.kind() == ErrorKind::Auth {
            self.report(Category::SecurityError, error);
        }
        let pause = match all_role_rejected {
            true => self.rounds.role_reject(&mut self.rng),
            false => self.rounds.next(&mut self.rng),
        };
        self.wait(pause, now);
    }

    /// A round was interrupted: it says nothing of the endpoints.
    pub(crate) fn on_interrupted(&mut self, now: Instant) {
        self.wait(Duration::ZERO, now);
    }

    /// The message of the last `SendFrame` was handed over whole.
    pub(crate) fn on_sent(&mut self, now: Instant) -> Option<SentFrame> {
        let State::Up(connection) = &mut self.state else { return None };
        let (fsn, bytes) = connection.frame_sent(now)?;
        let replayed = Some(fsn) <= self.highest_sent;
        self.highest_sent = self.highest_sent.max(Some(fsn));
        Some(SentFrame { fsn, bytes, replayed })
    }

    /// The message of the last `SendSymbols` was handed over whole: `bytes`, with the entries below
    /// id `end`.
    pub(crate) fn on_symbols_sent(&mut self, end: u64, bytes: usize, now: Instant) {
        if let State::Up(connection) = &mut self.state {
            connection.symbols_sent(end, bytes, now);
        }
    }

    /// The entry `id` alone needs a message of `bytes`, more than the server takes (REP-05).
    pub(crate) fn on_symbol_too_large(&mut self, id: u64, bytes: usize, now: Instant) {
        if let State::Up(connection) = &self.state {
            let error = connection.symbol_too_large(id, bytes);
            self.give_up(Cause::Unfit(error), now);
        }
    }

    /// The peer answered a PING.
    pub(crate) fn on_pong(&mut self, now: Instant) {
        if let State::Up(connection) = &mut self.state {
            connection.heard(now);
        }
    }

    /// A message came.
    pub(crate) fn on_message(&mut self, message: &[u8], now: Instant) {
        let State::Up(connection) = &mut self.state else { return };
        connection.heard(now);
        let outcome = match Response::decode(message) {
            Ok(Response::Ok { sequence, .. }) => connection.in_flight.ok(sequence).map(Answer::Ok),
            Ok(Response::Error { status, sequence, message }) => {
                connection.in_flight.refused(sequence).map(|sent| {
                    let suspect = match sent.cargo {
                        Cargo::Frame { fsn, .. } => Suspect::Frame(fsn),
                        Cargo::Symbols => Suspect::Symbols,
                    };
                    let message = printable(&message);
                    Answer::Error(Cause::Nack { status, sequence, message, suspect })
                })
            }
            // ACK-02: nobody asked for it.
            Ok(Response::DurableAck { .. }) => Ok(Answer::Ok(None)),
            Err(error) => {
                let cause = Cause::Violation(format!("an answer does not decode: {error}"));
                return self.give_up(cause, now);
            }
        };
        match outcome {
            Ok(Answer::Ok(Some(covered))) => self.on_ok(covered),
            Ok(Answer::Ok(None)) => {}
            Ok(Answer::Error(cause)) => self.give_up(cause, now),
            Err(fault) => self.give_up(Cause::Violation(fault.to_string()), now),
        }
    }

    fn on_ok(&mut self, covered: Covered) {
        self.register_all = false;
        self.poison.ok(covered.taken);
        // Not for an OK of nothing but symbols: a server that gives up after it must not be stormed.
        if covered.taken.is_some() && !self.poison.suspects() {
            self.pace.ok();
        }
        if let Some(fsn) = covered.committed {
            self.acked = Some(fsn);
            self.settled(fsn, covered.frames, covered.bytes);
        }
    }

    /// Answers that come together are told at once (PUB-16).
    fn settled(&mut self, settled: Fsn, more_frames: u64, more_bytes: u64) {
        match self.out.back_mut() {
            Some(Action::Acked { fsn, frames, bytes }) => {
                *fsn = settled;
                *frames += more_frames;
                *bytes += more_bytes;
            }
            _ => self.out.push_back(Action::Acked { fsn: settled, frames: more_frames, bytes: more_bytes }),
        }
    }

    /// The peer sent a CLOSE.
    pub(crate) fn on_close(&mut self, code: Option<u16>, reason: &str, now: Instant) {
        let orderly = matches!(code, Some(1000 | 1001));
        let code = code.map_or("without a code".to_owned(), |code| code.to_string());
        let why = format!("the server closed the connection ({code}) {}", printable(reason));
        self.give_up(Cause::Ended { orderly, why: why.trim_end().to_owned() }, now);
    }

    /// The link failed. What came before was given to [`Delivery::on_message`] first.
    pub(crate) fn on_link_error(&mut self, error: LinkError, now: Instant) {
        let cause = match error {
            LinkError::Ended => Cause::Ended { orderly: false, why: "the connection ended".to_owned() },
            LinkError::Io(error) => Cause::Ended { orderly: false, why: error.to_string() },
            LinkError::Protocol(why) => Cause::Violation(why),
        };
        self.give_up(cause, now);
    }

    /// The sender is closed.
    pub(crate) fn on_stop(&mut self) {
        if let State::Up(_) = self.state {
            let why = "the sender was closed".to_owned();
            self.out.push_back(Action::Disconnect { host: Host::Kept, close: Some(1000), why });
        }
        self.state = State::Ended;
    }

    /// Ends the connection and decides what comes next.
    fn give_up(&mut self, cause: Cause, now: Instant) {
        let State::Up(connection) = &mut self.state else { return };
        let suspect = connection.suspect();
        let endpoint = std::mem::take(&mut connection.endpoint);
        // CONN-15: nothing was unacknowledged. A second time in a row it is the host's fault.
        let quiet = suspect.is_none() && connection.caught_up && !self.pace.is_recycled();
        let (host, close) = match &cause {
            Cause::Nack { status, .. } => match self.policy(*status) {
                Policy::RetriableElsewhere => (Host::Broke, Some(CLOSE_NORMAL)),
                Policy::Retriable | Policy::Terminal => (Host::Kept, Some(CLOSE_NORMAL)),
            },
            Cause::Ended { orderly, .. } => (if quiet && !orderly { Host::Kept } else { Host::Broke }, None),
            Cause::Violation(_) => (Host::Broke, Some(CLOSE_PROTOCOL_ERROR)),
            Cause::Mute => (Host::Broke, None),
            Cause::Unfit(_) => (Host::Broke, Some(CLOSE_NORMAL)),
            Cause::Renewed | Cause::Unread(_) | Cause::Fatal(_) => (Host::Kept, Some(CLOSE_NORMAL)),
        };
        self.state = State::Waiting { until: now };
        let why = cause.to_string();
        let pause = self.judge(cause, suspect, &endpoint, now);
        self.out.push_back(Action::Disconnect { host, close, why });
        if let Some(pause) = pause {
            self.wait(pause, now);
        }
    }

    /// Counts strikes and reports; returns the pause before the next connection, none after a
    /// terminal error.
    fn judge(
        &mut self,
        cause: Cause,
        suspect: Option<Suspect>,
        endpoint: &str,
        now: Instant,
    ) -> Option<Duration> {
        match cause {
            Cause::Nack { status, sequence, message, suspect } => {
                let category = Category::of(status);
                let error = report::rejected(endpoint, suspect, sequence, status, message);
                if self.policy(status) == Policy::Terminal {
                    return self.give_in(category, error);
                }
                self.register_all |= category == Category::DictionaryGap;
                // NotWritable is no fault of the frame (ERRP-04, ERRP-10).
                let exempt = category == Category::NotWritable;
                if !exempt {
                    self.strike(Some(suspect), Strike::Nack, &error.to_string(), now)?;
                }
                self.report(category, error);
                Some(match exempt {
                    true => self.pace.after_end(&mut self.rng),
                    false => self.pace.after_nack(&mut self.rng),
                })
            }
            Cause::Ended { orderly, why } => {
                self.strike(suspect.filter(|_| !orderly), Strike::Break, &why, now)?;
                Some(self.pace.after_end(&mut self.rng))
            }
            Cause::Violation(why) => {
                self.strike(suspect, Strike::Break, &why, now)?;
                self.report(Category::ProtocolViolation, report::violation(endpoint, why));
                Some(self.pace.after_end(&mut self.rng))
            }
            Cause::Mute => {
                self.strike(suspect, Strike::Break, "no answer", now)?;
                Some(self.pace.after_end(&mut self.rng))
            }
            Cause::Unfit(error) | Cause::Unread(error) => {
                self.report(Category::Store, error);
                Some(self.pace.after_end(&mut self.rng))
            }
            Cause::Renewed => Some(self.pace.after_end(&mut self.rng)),
            Cause::Fatal(error) => self.give_in(Category::Store, error),
        }
    }

    /// Counts a strike; `None` if it was one too many.
    fn strike(&mut self, suspect: Option<Suspect>, strike: Strike, why: &str, now: Instant) -> Option<()> {
        let Some(suspect) = suspect else { return Some(()) };
        match self.poison.strike(suspect, strike, now) {
            None => Some(()),
            Some(strikes) => {
                self.fail(Some(Category::ProtocolViolation), report::poisoned(&strikes, why));
                None
            }
        }
    }

    fn policy(&self, status: Status) -> Policy {
        self.policies.of(Category::of(status))
    }

    fn report(&mut self, category: Category, error: Error) {
        self.out.push_back(Action::Report(Report { category, error }));
    }

    fn wait(&mut self, pause: Duration, now: Instant) {
        self.state = State::Waiting { until: now.checked_add(pause).unwrap_or(now) };
    }

    fn fail(&mut self, category: Option<Category>, error: Error) {
        self.out.push_back(Action::Terminal { category, error });
        self.state = State::Ended;
    }

    fn give_in(&mut self, category: Category, error: Error) -> Option<Duration> {
        self.fail(Some(category), error);
        None
    }
}

enum Answer {
    Ok(Option<Covered>),
    Error(Cause),
}

const CLOSE_NORMAL: u16 = 1000;
const CLOSE_PROTOCOL_ERROR: u16 = 1002;
