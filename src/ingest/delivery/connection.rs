//! One connection: what was sent on it, what comes next, and how long it has been silent.

use std::time::{Duration, Instant};

use super::super::acks::{Cargo, InFlight, Sent};
use super::super::rejections::Suspect;
use super::{Action, Backlog, Cause, Queued, Unreadable, report};
use crate::error::Error;
use crate::store::Fsn;
use crate::time::Deadline;
use crate::transport::Upgrade;

/// Messages without an answer before a further group waits. Within a group there is no bound but
/// that of the store, since its answer comes with its last frame (wire.md 5.1).
pub(super) const IN_FLIGHT_MAX: usize = 1024;
/// Largest message for a server that does not say: 1.9 MiB (FLUSH-03).
pub(crate) const UNKNOWN_CAP_BYTES: usize = 1_992_294;
/// Silence, with something unanswered, after which the server is asked whether it is there (CONN-11).
const ASK_AFTER: Duration = Duration::from_secs(15);
/// Silence after that, with which the connection counts as dead.
const DEAD_AFTER: Duration = Duration::from_secs(30);
/// A connection without traffic is kept alive this often (CONN-15).
const KEEP_ALIVE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) endpoint: String,
    /// Largest message that the server takes, if it said so.
    cap: Option<u64>,
    pub(super) in_flight: InFlight,
    /// The message that is being handed over.
    sending: Option<Sending>,
    symbols: Symbols,
    /// The first frame of this connection.
    first: Fsn,
    /// The next frame to send.
    next: Fsn,
    /// The last frame of the group under way, or of the last one.
    group_end: Option<Fsn>,
    /// Whether everything published has been sent.
    pub(super) caught_up: bool,
    silence: Silence,
}

/// The server's dictionary, as far as this connection filled it.
#[derive(Debug, Default)]
struct Symbols {
    /// Entries that it has, or will have once everything sent has arrived.
    registered: u64,
    /// Entries that it has to have before the next frame.
    wanted: u64,
    /// Everything there is has to be registered first (ERRP-02).
    all: bool,
}

#[derive(Debug, Clone, Copy)]
enum Sending {
    Frame(Fsn, Queued),
    Symbols,
}

#[derive(Debug)]
struct Silence {
    /// When the server was last heard, or, if nothing waited for an answer, the wait began.
    since: Instant,
    /// When something was last sent.
    spoke: Instant,
    /// When the server was asked whether it is there, if it has not been heard since.
    asked: Option<Instant>,
}

/// What a look at the connection comes to.
#[derive(Debug)]
pub(super) enum Step {
    Nothing,
    Do(Action),
    GiveUp(Cause),
}

/// What to do about silence.
enum Due {
    Ask,
    GiveUp,
    KeepAlive,
}

impl Connection {
    pub(super) fn new(
        endpoint: &str,
        upgrade: &Upgrade,
        first: Fsn,
        register_all: bool,
        now: Instant,
    ) -> Connection {
        Connection {
            endpoint: endpoint.to_owned(),
            cap: upgrade.max_batch_bytes,
            in_flight: InFlight::default(),
            sending: None,
            symbols: Symbols { all: register_all, ..Symbols::default() },
            first,
            next: first,
            group_end: None,
            caught_up: false,
            silence: Silence { since: now, spoke: now, asked: None },
        }
    }

    /// What to do next.
    pub(super) fn step(&mut self, now: Instant, backlog: &mut impl Backlog) -> Step {
        if let Some(step) = self.mind_silence(now) {
            return step;
        }
        if self.sending.is_some() {
            return Step::Nothing;
        }
        if std::mem::take(&mut self.symbols.all) {
            self.symbols.wanted = backlog.symbols(self.next);
        }
        if self.symbols.registered < self.symbols.wanted {
            return self.begin_symbols(now);
        }
        let queued = backlog.frame(self.next);
        self.caught_up = queued.is_none();
        match queued {
            None => Step::Nothing,
            Some(Err(error)) => Step::GiveUp(unreadable(self.next, error)),
            Some(Ok(queued)) => self.next_frame(queued, now, backlog),
        }
    }

    fn next_frame(&mut self, queued: Queued, now: Instant, backlog: &mut impl Backlog) -> Step {
        if self.group_end < Some(self.next) {
            if self.in_flight.len() >= IN_FLIGHT_MAX {
                return Step::Nothing;
            }
            if backlog.must_renew(self.first, self.next) {
                return self.once_settled(|| Cause::Renewed);
            }
            if backlog.renumbers(self.next) {
                // What was registered before means something else now; the frame brings its own.
                self.symbols.registered = 0;
            }
            let group = match Group::look(self.next, queued, self.symbols.registered, backlog) {
                Ok(group) => group,
                Err(cause) => return Step::GiveUp(cause),
            };
            if let Some(cap) = self.cap.filter(|&cap| group.largest_bytes as u64 > cap) {
                return self.once_settled(|| {
                    let Group { largest, largest_bytes, .. } = group;
                    Cause::Unfit(report::frame_too_large(&self.endpoint, largest, largest_bytes, cap))
                });
            }
            if group.symbols_wanted > self.symbols.registered {
                let known = backlog.symbols(self.next);
                if group.symbols_wanted > known {
                    return self.symbols_lost(group.symbols_wanted, known);
                }
                self.symbols.wanted = group.symbols_wanted;
                return self.begin_symbols(now);
            }
            self.group_end = Some(group.end);
        }
        // REP-02, the last line of defence.
        if queued.facts.delta_start > self.symbols.registered {
            return self.symbols_lost(queued.facts.delta_start, self.symbols.registered);
        }
        self.begin(Sending::Frame(self.next, queued), now);
        Step::Do(Action::SendFrame(self.next))
    }

    /// Gives up once everything sent is answered: on the next connection it would be sent again.
    fn once_settled(&self, cause: impl FnOnce() -> Cause) -> Step {
        if self.in_flight.is_empty() { Step::GiveUp(cause()) } else { Step::Nothing }
    }

    fn symbols_lost(&self, needed: u64, known: u64) -> Step {
        Step::GiveUp(Cause::Fatal(report::symbols_lost(self.next, needed, known)))
    }

    fn begin_symbols(&mut self, now: Instant) -> Step {
        self.begin(Sending::Symbols, now);
        let Symbols { registered: from, wanted: to, .. } = self.symbols;
        Step::Do(Action::SendSymbols { fsn: self.next, from, to, message_max: self.message_max() })
    }

    fn begin(&mut self, sending: Sending, now: Instant) {
        if !self.is_waiting() {
            self.silence.since = now;
            self.silence.asked = None;
        }
        self.sending = Some(sending);
    }

    /// The frame that was being handed over is sent: its number and bytes.
    pub(super) fn frame_sent(&mut self, now: Instant) -> Option<(Fsn, usize)> {
        let Some(Sending::Frame(fsn, Queued { facts, bytes })) = self.sending else { return None };
        self.sending = None;
        self.silence.spoke = now;
        self.in_flight.sent(Sent { cargo: Cargo::Frame { fsn, deferred: facts.deferred }, bytes });
        self.symbols.registered = self.symbols.registered.max(facts.delta_end());
        self.next = fsn.next();
        Some((fsn, bytes))
    }

    /// Entries below id `end` are sent.
    pub(super) fn symbols_sent(&mut self, end: u64, bytes: usize, now: Instant) {
        self.sending = None;
        self.silence.spoke = now;
        self.in_flight.sent(Sent { cargo: Cargo::Symbols, bytes });
        self.symbols.registered = self.symbols.registered.max(end);
    }

    pub(super) fn symbol_too_large(&self, id: u64, bytes: usize) -> Error {
        report::symbol_too_large(&self.endpoint, id, bytes, self.message_max())
    }

    /// Bytes came from the server.
    pub(super) fn heard(&mut self, now: Instant) {
        self.silence.since = now;
        self.silence.asked = None;
    }

    /// What the end of this connection is blamed on: the first frame that was begun and not
    /// answered, else symbols that were.
    pub(super) fn suspect(&self) -> Option<Suspect> {
        let begun = match self.sending {
            Some(Sending::Frame(fsn, _)) => Some(fsn),
            Some(Sending::Symbols) | None => None,
        };
        let frame = self.in_flight.first_frame().or(begun).map(Suspect::Frame);
        frame.or(self.is_waiting().then_some(Suspect::Symbols))
    }

    /// When something has to be done about silence.
    pub(super) fn next_deadline(&self) -> Deadline {
        self.due().0
    }

    fn mind_silence(&mut self, now: Instant) -> Option<Step> {
        let (deadline, due) = self.due();
        if !deadline.passed(now) {
            return None;
        }
        match due {
            Due::GiveUp => return Some(Step::GiveUp(Cause::Mute)),
            Due::Ask => self.silence.asked = Some(now),
            Due::KeepAlive => self.silence.spoke = now,
        }
        Some(Step::Do(Action::Ping))
    }

    fn due(&self) -> (Deadline, Due) {
        match (self.is_waiting(), self.silence.asked) {
            (true, Some(asked)) => (Deadline::after(asked, DEAD_AFTER), Due::GiveUp),
            (true, None) => (Deadline::after(self.silence.since, ASK_AFTER), Due::Ask),
            (false, _) => {
                let traffic = self.silence.since.max(self.silence.spoke);
                (Deadline::after(traffic, KEEP_ALIVE), Due::KeepAlive)
            }
        }
    }

    /// Whether something waits for an answer.
    fn is_waiting(&self) -> bool {
        self.sending.is_some() || !self.in_flight.is_empty()
    }

    fn message_max(&self) -> usize {
        self.cap.map_or(UNKNOWN_CAP_BYTES, |cap| usize::try_from(cap).unwrap_or(usize::MAX))
    }
}

fn unreadable(fsn: Fsn, why: Unreadable) -> Cause {
    match why {
        Unreadable::Damaged(error) => Cause::Fatal(report::damaged(fsn, error)),
        Unreadable::NotNow(error) => Cause::Unread(error.with("frame", fsn)),
    }
}

/// Frames that are committed together: a run of deferred ones and the one behind it.
struct Group {
    end: Fsn,
    /// Entries that have to be registered before its first frame: a catch-up message inside it
    /// would commit a part of it (REP-04).
    symbols_wanted: u64,
    largest: Fsn,
    largest_bytes: usize,
}

impl Group {
    /// Looks at the group that begins with `first`. It was published at once, so it is all there.
    fn look(first: Fsn, queued: Queued, registered: u64, backlog: &mut impl Backlog) -> Result<Group, Cause> {
        let mut group = Group { end: first, symbols_wanted: 0, largest: first, largest_bytes: 0 };
        let mut known = registered;
        let mut queued = queued;
        loop {
            if queued.facts.delta_start > known {
                group.symbols_wanted = group.symbols_wanted.max(queued.facts.delta_start);
            }
            known = known.max(group.symbols_wanted).max(queued.facts.delta_end());
            if queued.bytes > group.largest_bytes {
                (group.largest, group.largest_bytes) = (group.end, queued.bytes);
            }
            if !queued.facts.deferred {
                return Ok(group);
            }
            let next = group.end.next();
            queued = match backlog.frame(next) {
                None => return Ok(group),
                Some(found) => found.map_err(|error| unreadable(next, error))?,
            };
            group.end = next;
        }
    }
}
