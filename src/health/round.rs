//! One walk over the hosts: who is next, and what the walk comes to (CONN-02, CONN-05, CONN-08).
//!
//! ```text
//! next -> host -> attempt -+-> failed, Auth ----------> next gives none: over
//!   ^                      +-> failed, anything else -+
//!   +-------------------------------------------------+   next gives none when each was tried
//! ```
//!
//! A success needs no word here: the walk is dropped. The marks of who was tried belong to the walk,
//! so that walks side by side never make each other skip a host (HOST-07).

use super::classify::{Failure, most_telling};
use super::tracker::Tracker;
use crate::error::{EndpointFailure, ErrorKind};

/// One walk over the hosts.
#[derive(Debug)]
pub(crate) struct Round {
    tried: Vec<bool>,
    /// What happened, in the order of the attempts.
    failures: Vec<Failure>,
    reports: Vec<EndpointFailure>,
}

/// What a round came to that found nobody.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exhausted {
    /// The most telling kind (CONN-08).
    pub(crate) kind: ErrorKind,
    /// Every attempt was refused for the host's role (BACK-02, QFO-04).
    pub(crate) all_role_rejected: bool,
    /// What happened at each host, in the order of the attempts.
    pub(crate) reports: Vec<EndpointFailure>,
}

impl Round {
    /// A walk that has tried nobody yet.
    pub(crate) fn new(tracker: &Tracker) -> Round {
        Round { tried: vec![false; tracker.len()], failures: Vec::new(), reports: Vec::new() }
    }

    /// The host to try now, each at most once; none when the walk is over (CONN-02, CONN-05).
    pub(crate) fn next(&mut self, tracker: &Tracker) -> Option<usize> {
        if self.failures.last() == Some(&Failure::Auth) {
            return None;
        }
        let host = tracker.best(|host| self.tried.get(host) == Some(&false))?;
        *self.tried.get_mut(host)? = true;
        Some(host)
    }

    /// The attempt at `host` failed.
    pub(crate) fn failed(
        &mut self,
        tracker: &mut Tracker,
        host: usize,
        failure: Failure,
        report: EndpointFailure,
    ) {
        tracker.failed(host, failure.state());
        self.failures.push(failure);
        self.reports.push(report);
    }

    /// What the walk came to. Call when [`Round::next`] gives none.
    pub(crate) fn end(self) -> Exhausted {
        Exhausted {
            kind: most_telling(&self.failures),
            all_role_rejected: !self.failures.is_empty() && self.failures.iter().all(|f| f.is_role_reject()),
            reports: self.reports,
        }
    }
}

#[cfg(test)]
mod tests;
