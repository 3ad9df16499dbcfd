//! What an operator sees: the state of the link and counters, read from any thread (OBS-03, OBS-04).

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::rejections::Category;
use crate::error::Error;
use crate::time::Clock;

/// Whether there is a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkState {
    /// There never was one yet.
    Connecting,
    /// Frames are being sent.
    Connected,
    /// It was lost; frames are kept.
    Reconnecting,
    /// The sender stopped for good: see [`Health::last_failure`].
    Failed,
    /// The sender was closed.
    Closed,
}

/// How a sender is doing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// Whether there is a connection.
    pub state: LinkState,
    /// `host:port` of the connection in use, or of the last one.
    pub endpoint: Option<String>,
    /// When a connection was last made.
    pub last_connected: Option<SystemTime>,
    /// Since when there is none.
    pub outage_since: Option<SystemTime>,
    /// How long there has been none, by the monotonic clock.
    pub outage: Option<Duration>,
    /// Rounds over the endpoints that found none, in this outage.
    pub failed_rounds: u64,
    /// The last thing that went wrong with a connection or a round.
    pub last_failure: Option<Error>,
}

/// The link as the I/O thread sees it. It takes the lock when the state changes, never for a frame.
#[derive(Debug)]
pub(crate) struct LinkStatus(Mutex<Status>);

#[derive(Debug)]
struct Status {
    state: LinkState,
    endpoint: Option<String>,
    last_connected: Option<SystemTime>,
    outage_since: Option<(Instant, SystemTime)>,
    failed_rounds: u64,
    last_failure: Option<Error>,
}

impl LinkStatus {
    /// Not connected yet.
    pub(crate) fn new(clock: &dyn Clock) -> LinkStatus {
        LinkStatus(Mutex::new(Status {
            state: LinkState::Connecting,
            endpoint: None,
            last_connected: None,
            outage_since: Some((clock.now(), clock.wall())),
            failed_rounds: 0,
            last_failure: None,
        }))
    }

    /// What is known at `now`.
    pub(crate) fn health(&self, now: Instant) -> Health {
        let status = self.0.lock();
        Health {
            state: status.state,
            endpoint: status.endpoint.clone(),
            last_connected: status.last_connected,
            outage_since: status.outage_since.map(|(_, wall)| wall),
            outage: status.outage_since.map(|(since, _)| now.saturating_duration_since(since)),
            failed_rounds: status.failed_rounds,
            last_failure: status.last_failure.clone(),
        }
    }

    pub(super) fn connected(&self, endpoint: &str, clock: &dyn Clock) {
        let mut status = self.0.lock();
        status.state = LinkState::Connected;
        status.endpoint = Some(endpoint.to_owned());
        status.last_connected = Some(clock.wall());
        status.outage_since = None;
        status.failed_rounds = 0;
    }

    /// The connection ended. Nothing new to a sender that failed.
    pub(super) fn lost(&self, failure: Error, clock: &dyn Clock) {
        let mut status = self.0.lock();
        if status.state != LinkState::Connected {
            return;
        }
        status.state = LinkState::Reconnecting;
        status.outage_since = Some((clock.now(), clock.wall()));
        status.last_failure = Some(failure);
    }

    pub(super) fn round_failed(&self, failure: Error) {
        let mut status = self.0.lock();
        status.failed_rounds += 1;
        status.last_failure = Some(failure);
    }

    pub(super) fn failed(&self, failure: Error) {
        let mut status = self.0.lock();
        status.state = LinkState::Failed;
        status.last_failure = Some(failure);
    }

    /// A sender that failed stays failed.
    pub(super) fn closed(&self) {
        let mut status = self.0.lock();
        if status.state != LinkState::Failed {
            status.state = LinkState::Closed;
        }
    }
}

/// How much a sender has done since it was built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Frames put into the store.
    pub frames_published: u64,
    /// Their bytes.
    pub bytes_published: u64,
    /// Their rows.
    pub rows_published: u64,
    /// Frames sent, each time that one was.
    pub frames_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Frames sent on a connection after they had been sent on an earlier one.
    pub frames_replayed: u64,
    /// Frames that an earlier sender left in the slot, not acknowledged (REP-08).
    pub frames_recovered: u64,
    /// Frames that the server acknowledged.
    pub frames_acked: u64,
    /// Their bytes.
    pub bytes_acked: u64,
    /// Rounds over the endpoints that were begun while running.
    pub connect_attempts: u64,
    /// Those that found a connection.
    pub connects: u64,
    /// What servers refused or got wrong, retried or not, by category.
    pub server_errors: ServerErrors,
    /// Times that a call waited for room in the store.
    pub stalls: u64,
    /// How long they waited, added up.
    pub stalled: Duration,
}

/// What servers refused or got wrong, by category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerErrors {
    /// A value does not go to its column.
    pub schema_mismatch: u64,
    /// A message was not understood, or over a limit.
    pub parse_error: u64,
    /// The server failed.
    pub internal_error: u64,
    /// No permission.
    pub security_error: u64,
    /// The rows could not be written.
    pub write_error: u64,
    /// The node takes no writes.
    pub not_writable: u64,
    /// The server lacked symbols.
    pub dictionary_gap: u64,
    /// A status that this client does not know.
    pub unknown: u64,
    /// Bytes that break the protocol.
    pub protocol_violation: u64,
    /// A stored frame or symbol that a server cannot take.
    pub store: u64,
}

/// [`Counters`], while they are counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) frames_published: Count,
    pub(crate) bytes_published: Count,
    pub(crate) rows_published: Count,
    pub(super) frames_sent: Count,
    pub(super) bytes_sent: Count,
    pub(super) frames_replayed: Count,
    pub(crate) frames_recovered: Count,
    pub(super) frames_acked: Count,
    pub(super) bytes_acked: Count,
    pub(super) connect_attempts: Count,
    pub(super) connects: Count,
    pub(super) server_errors: [Count; Category::ALL.len()],
    pub(crate) stalls: Count,
    pub(crate) stalled_nanos: Count,
}

/// A number that only rises.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds to it.
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Its value.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally {
    /// The counters as they are now, each for itself.
    pub(crate) fn read(&self) -> Counters {
        Counters {
            frames_published: self.frames_published.get(),
            bytes_published: self.bytes_published.get(),
            rows_published: self.rows_published.get(),
            frames_sent: self.frames_sent.get(),
            bytes_sent: self.bytes_sent.get(),
            frames_replayed: self.frames_replayed.get(),
            frames_recovered: self.frames_recovered.get(),
            frames_acked: self.frames_acked.get(),
            bytes_acked: self.bytes_acked.get(),
            connect_attempts: self.connect_attempts.get(),
            connects: self.connects.get(),
            server_errors: self.errors(),
            stalls: self.stalls.get(),
            stalled: Duration::from_nanos(self.stalled_nanos.get()),
        }
    }

    fn errors(&self) -> ServerErrors {
        let of = |category: Category| self.server_errors[category.index()].get();
        ServerErrors {
            schema_mismatch: of(Category::SchemaMismatch),
            parse_error: of(Category::ParseError),
            internal_error: of(Category::InternalError),
            security_error: of(Category::SecurityError),
            write_error: of(Category::WriteError),
            not_writable: of(Category::NotWritable),
            dictionary_gap: of(Category::DictionaryGap),
            unknown: of(Category::Unknown),
            protocol_violation: of(Category::ProtocolViolation),
            store: of(Category::Store),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::time::SystemClock;

    fn failure(what: &'static str) -> Error {
        Error::new(ErrorKind::Transport, what)
    }

    #[test]
    fn obs_03_health_follows_the_link() {
        let clock = SystemClock;
        let link = LinkStatus::new(&clock);
        let later = clock.now() + Duration::from_secs(3);
        let health = link.health(later);
        assert_eq!((health.state, health.endpoint), (LinkState::Connecting, None));
        assert!(health.outage.is_some_and(|outage| outage >= Duration::from_secs(3)));

        link.round_failed(failure("refused"));
        link.round_failed(failure("refused again"));
        let health = link.health(later);
        assert_eq!((health.state, health.failed_rounds), (LinkState::Connecting, 2));
        assert_eq!(health.last_failure.map(|e| e.to_string()).as_deref(), Some("refused again"));

        link.connected("a:9000", &clock);
        let health = link.health(later);
        assert_eq!((health.state, health.outage, health.failed_rounds), (LinkState::Connected, None, 0));
        assert!(health.last_connected.is_some());

        link.lost(failure("reset"), &clock);
        let health = link.health(later);
        assert_eq!((health.state, health.endpoint.as_deref()), (LinkState::Reconnecting, Some("a:9000")));
        assert!(health.outage_since.is_some());

        link.failed(failure("rejected"));
        link.closed();
        assert_eq!(link.health(later).state, LinkState::Failed);
    }

    #[test]
    fn obs_04_server_errors_are_counted_by_category() {
        let tally = Tally::default();
        for (index, category) in Category::ALL.into_iter().enumerate() {
            tally.server_errors[category.index()].add(index as u64 + 1);
        }
        let errors = tally.read().server_errors;
        let all = [
            errors.schema_mismatch,
            errors.parse_error,
            errors.internal_error,
            errors.security_error,
            errors.write_error,
            errors.not_writable,
            errors.dictionary_gap,
            errors.unknown,
            errors.protocol_violation,
            errors.store,
        ];
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
}
