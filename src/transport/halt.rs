//! Why one step of an attempt ended before its time.

use super::poll::Polled;
use std::fmt::Display;

/// Why one step of an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Halt {
    /// The attempt's wake-up fired.
    Interrupted,
    /// The time for the step is over.
    TimedOut,
    /// Anything else, for people.
    Failed(String),
}

impl Halt {
    #[cold]
    pub(super) fn failed(reason: impl Display) -> Halt {
        Halt::Failed(reason.to_string())
    }

    /// Ends the step unless the wait found the descriptor ready.
    pub(super) fn unless_ready(polled: std::io::Result<Polled>) -> Result<(), Halt> {
        match polled {
            Ok(Polled::Ready { .. }) => Ok(()),
            Ok(Polled::Woken) => Err(Halt::Interrupted),
            Ok(Polled::TimedOut) => Err(Halt::TimedOut),
            Err(e) => Err(Halt::failed(e)),
        }
    }
}
