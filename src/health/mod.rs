//! Which host is tried next, what an answer says about a host, and how long to pause: pure state
//! machines without I/O, clock or lock.
//!
//! ```text
//! Tracker   what is known of each host (state, zone), kept for the client's life
//! Round     one walk over the hosts; asks the tracker for the next, tells it what happened
//! Backoff   the pause after a round that found nobody
//! ```

pub(crate) mod backoff;
pub(crate) mod classify;
pub(crate) mod role;
pub(crate) mod round;
pub(crate) mod tracker;

pub(crate) use backoff::Backoff;
pub(crate) use classify::Failure;
pub(crate) use role::Role;
pub(crate) use round::{Exhausted, Round};
pub(crate) use tracker::Tracker;
