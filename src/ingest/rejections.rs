//! What a rejection leads to: policy by category, the count of strikes, the pace of reconnects
//! (ERRP). Pure.

use std::fmt;
use std::time::{Duration, Instant};

use crate::config::{RejectionConfig, RejectionPolicy};
use crate::health::Backoff;
use crate::store::Fsn;
use crate::wire::response::Status;

/// What kind of failure the server, or its bytes, reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Category {
    SchemaMismatch,
    ParseError,
    InternalError,
    SecurityError,
    WriteError,
    NotWritable,
    DictionaryGap,
    /// A status that this client does not know.
    Unknown,
    /// Bytes that break the protocol, or a frame that no server survives.
    ProtocolViolation,
    /// The local store.
    Store,
}

/// What is done about it. There is no policy that drops data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Policy {
    /// The sender stops.
    Terminal,
    /// The connection is recycled and everything unacknowledged sent again.
    Retriable,
    /// The same, on another endpoint first.
    RetriableElsewhere,
}

impl Category {
    /// All of them, in the order of [`Category::index`].
    pub(crate) const ALL: [Category; 10] = [
        Category::SchemaMismatch,
        Category::ParseError,
        Category::InternalError,
        Category::SecurityError,
        Category::WriteError,
        Category::NotWritable,
        Category::DictionaryGap,
        Category::Unknown,
        Category::ProtocolViolation,
        Category::Store,
    ];

    /// Its place among all.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// The category of a status that refuses a message.
    pub(super) fn of(status: Status) -> Category {
        match status {
            Status::SchemaMismatch => Category::SchemaMismatch,
            Status::ParseError => Category::ParseError,
            Status::InternalError => Category::InternalError,
            Status::SecurityError => Category::SecurityError,
            Status::WriteError => Category::WriteError,
            Status::NotWritable => Category::NotWritable,
            Status::DictionaryGap => Category::DictionaryGap,
            Status::Ok
            | Status::DurableAck
            | Status::Cancelled
            | Status::LimitExceeded
            | Status::QueryTimeout
            | Status::Other(_) => Category::Unknown,
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Category::SchemaMismatch => "schema mismatch",
            Category::ParseError => "parse error",
            Category::InternalError => "internal error",
            Category::SecurityError => "security error",
            Category::WriteError => "write error",
            Category::NotWritable => "not writable",
            Category::DictionaryGap => "dictionary gap",
            Category::Unknown => "unknown status",
            Category::ProtocolViolation => "protocol violation",
            Category::Store => "store",
        })
    }
}

/// The policy of each category that has a choice (ERRP-01, ERRP-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policies {
    pub(crate) schema: Policy,
    pub(crate) parse: Policy,
    pub(crate) internal: Policy,
    pub(crate) security: Policy,
    pub(crate) write: Policy,
    pub(crate) unknown: Policy,
}

/// What was asked for; `auto` leaves the choice to others.
fn policy(asked: RejectionPolicy) -> Option<Policy> {
    match asked {
        RejectionPolicy::Auto => None,
        RejectionPolicy::Terminal => Some(Policy::Terminal),
        RejectionPolicy::Retriable => Some(Policy::Retriable),
        RejectionPolicy::RetriableOther => Some(Policy::RetriableElsewhere),
    }
}

impl Default for Policies {
    fn default() -> Policies {
        Policies {
            schema: Policy::Terminal,
            parse: Policy::Terminal,
            internal: Policy::Retriable,
            security: Policy::Terminal,
            write: Policy::Retriable,
            unknown: Policy::Retriable,
        }
    }
}

impl Policies {
    /// As configured: the key of a category, then `on_server_error`, then the default (ERRP-06).
    pub(super) fn new(config: &RejectionConfig) -> Policies {
        let default = Policies::default();
        let pick =
            |own: RejectionPolicy, default: Policy| policy(own).or(policy(config.server)).unwrap_or(default);
        Policies {
            schema: pick(config.schema, default.schema),
            parse: pick(config.parse, default.parse),
            internal: pick(config.internal, default.internal),
            security: pick(config.security, default.security),
            write: pick(config.write, default.write),
            unknown: policy(config.server).unwrap_or(default.unknown),
        }
    }

    pub(super) fn of(&self, category: Category) -> Policy {
        match category {
            Category::SchemaMismatch => self.schema,
            Category::ParseError => self.parse,
            Category::InternalError => self.internal,
            Category::SecurityError => self.security,
            Category::WriteError => self.write,
            Category::Unknown => self.unknown,
            Category::NotWritable => Policy::RetriableElsewhere,
            Category::DictionaryGap | Category::ProtocolViolation | Category::Store => Policy::Retriable,
        }
    }
}

/// What is taken for the cause of a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    Frame(Fsn),
    /// A catch-up message; it has no number (ERRP-09).
    Symbols,
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suspect::Frame(fsn) => write!(f, "frame {fsn}"),
            Suspect::Symbols => f.write_str("the symbols registered before the first frame"),
        }
    }
}

/// Whether a rejection was said or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strike {
    /// The server answered with an error.
    Nack,
    /// The connection ended.
    Break,
}

/// Finds the message that no server survives (ERRP-04, ERRP-09).
#[derive(Debug)]
pub(super) struct Poison {
    /// Strikes that make it poison, at least 1.
    strikes_max: u32,
    /// Over which time they have to be spread, if that was set.
    window: Option<Duration>,
    strikes: Option<Strikes>,
}

/// Consecutive rejections of one suspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Strikes {
    pub(super) suspect: Suspect,
    pub(super) count: u32,
    first: Instant,
    nacked: bool,
}

impl Poison {
    pub(super) fn new(strikes_max: u32, window: Option<Duration>) -> Poison {
        Poison { strikes_max: strikes_max.max(1), window, strikes: None }
    }

    /// Counts a rejection; returns the strikes if they are enough.
    pub(super) fn strike(&mut self, suspect: Suspect, strike: Strike, now: Instant) -> Option<Strikes> {
        let same = self.strikes.filter(|strikes| strikes.suspect == suspect);
        let mut strikes = same.unwrap_or(Strikes { suspect, count: 0, first: now, nacked: false });
        strikes.count = strikes.count.saturating_add(1);
        strikes.nacked |= strike == Strike::Nack;
        self.strikes = Some(strikes);
        let window = self.window.unwrap_or(if strikes.nacked { WINDOW_NACKED } else { WINDOW_SILENT });
        let spread = now.saturating_duration_since(strikes.first);
        (strikes.count >= self.strikes_max && spread >= window).then_some(strikes)
    }

    /// An OK came; `taken` is the last frame that it covers.
    pub(super) fn ok(&mut self, taken: Option<Fsn>) {
        self.strikes = self.strikes.filter(|strikes| match strikes.suspect {
            Suspect::Frame(fsn) => taken < Some(fsn),
            Suspect::Symbols => false,
        });
    }

    /// Whether something is under suspicion.
    pub(super) fn suspects(&self) -> bool {
        self.strikes.is_some()
    }
}

/// How soon a connection that was given up is replaced (ERRP-02, ERRP-10, BACK-03).
#[derive(Debug)]
pub(super) struct Pace {
    backoff: Backoff,
    /// Whether a connection was given up since the last OK.
    recycled: bool,
}

impl Pace {
    pub(super) fn new(backoff: Backoff) -> Pace {
        Pace { backoff, recycled: false }
    }

    /// The pause after a rejection that the server said.
    pub(super) fn after_nack(&mut self, rng: &mut fastrand::Rng) -> Duration {
        self.recycled = true;
        self.backoff.next(rng)
    }

    /// The pause after any other end: none for the first one since the last OK.
    pub(super) fn after_end(&mut self, rng: &mut fastrand::Rng) -> Duration {
        if std::mem::replace(&mut self.recycled, true) { self.backoff.next(rng) } else { Duration::ZERO }
    }

    /// Whether a connection was given up since the last OK.
    pub(super) fn is_recycled(&self) -> bool {
        self.recycled
    }

    /// An OK came and nothing is under suspicion.
    pub(super) fn ok(&mut self) {
        self.recycled = false;
        self.backoff.reset();
    }
}

/// How far apart the first and the last strike are at least, where the server said why.
const WINDOW_NACKED: Duration = Duration::from_secs(5);
/// The same where it only ended connections: it may crash for reasons of its own.
const WINDOW_SILENT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Clock, SystemClock};

    fn frame(fsn: i64) -> Suspect {
        Suspect::Frame(Fsn::new(fsn).unwrap())
    }

    fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Strikes one suspect once a second; the second at which it becomes poison.
    fn poisoned_at(poison: &mut Poison, strikes: impl Fn(u64) -> Strike) -> Option<u64> {
        let start = SystemClock.now();
        (0..200).find(|&at| poison.strike(frame(3), strikes(at), start + secs(at)).is_some())
    }

    #[test]
    fn errp_04_strikes_and_their_spread_both_have_to_be_enough() {
        for (max, window, nack_at, poisoned) in [
            (4, None, Some(0), Some(5)),
            (4, None, None, Some(60)),
            (4, None, Some(30), Some(30)),
            (4, Some(0), Some(0), Some(3)),
            (4, Some(0), None, Some(3)),
            (4, Some(10), None, Some(10)),
            (100, None, Some(0), Some(99)),
            (1, Some(0), Some(0), Some(0)),
            (0, Some(0), Some(0), Some(0)),
        ] {
            let mut poison = Poison::new(max, window.map(secs));
            let strikes = |at| if Some(at) == nack_at { Strike::Nack } else { Strike::Break };
            assert_eq!(poisoned_at(&mut poison, strikes), poisoned, "{max} {window:?} {nack_at:?}");
        }
    }

    #[test]
    fn errp_04_only_an_ok_at_or_past_the_suspect_clears_it() {
        let now = SystemClock.now();
        for (taken, cleared) in [(None, false), (Some(2), false), (Some(3), true), (Some(4), true)] {
            let mut poison = Poison::new(2, Some(Duration::ZERO));
            poison.strike(frame(3), Strike::Nack, now);
            poison.ok(taken.and_then(Fsn::new));
            assert_eq!(poison.strike(frame(3), Strike::Nack, now).is_none(), cleared, "{taken:?}");
        }
    }

    #[test]
    fn errp_04_another_suspect_starts_its_own_count() {
        let now = SystemClock.now();
        let mut poison = Poison::new(2, Some(Duration::ZERO));
        assert_eq!(poison.strike(frame(3), Strike::Nack, now), None);
        assert_eq!(poison.strike(frame(4), Strike::Nack, now), None);
        let strikes = poison.strike(frame(4), Strike::Break, now).unwrap();
        assert_eq!((strikes.suspect, strikes.count), (frame(4), 2));
    }

    #[test]
    fn errp_09_any_ok_clears_strikes_on_the_symbols() {
        let now = SystemClock.now();
        let mut poison = Poison::new(2, Some(Duration::ZERO));
        poison.strike(Suspect::Symbols, Strike::Nack, now);
        poison.ok(None);
        assert!(!poison.suspects());
        poison.strike(Suspect::Symbols, Strike::Nack, now);
        assert!(poison.strike(Suspect::Symbols, Strike::Nack, now).is_some());
    }

    #[test]
    fn errp_10_only_the_first_recycle_since_an_ok_is_at_once() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut pace = Pace::new(Backoff::ingest(Duration::from_millis(100), secs(5)));
        for _ in 0..2 {
            assert_eq!(pace.after_end(&mut rng), Duration::ZERO);
            for base in [100, 200, 400] {
                let pause = pace.after_end(&mut rng);
                let base = Duration::from_millis(base);
                assert!((base..2 * base).contains(&pause), "{pause:?}");
            }
            pace.ok();
        }
        assert!(pace.after_nack(&mut rng) >= Duration::from_millis(100));
        assert!(pace.after_end(&mut rng) >= Duration::from_millis(200));
    }

    #[test]
    fn errp_01_the_default_policies_by_status() {
        for code in 0x03..=u8::MAX {
            let policy = Policies::default().of(Category::of(Status::from_code(code)));
            let wanted = match code {
                0x03 | 0x05 | 0x08 => Policy::Terminal,
                0x0c => Policy::RetriableElsewhere,
                _ => Policy::Retriable,
            };
            assert_eq!(policy, wanted, "{code:#04x}");
        }
        for (index, category) in Category::ALL.into_iter().enumerate() {
            assert_eq!(category.index(), index, "{category}");
        }
    }
}
