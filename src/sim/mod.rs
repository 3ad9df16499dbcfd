//! Simulated twins of clock, network and disk, for tests: hours pass in milliseconds, and a seed decides
//! whatever chance decides outside.
//!
//! ```text
//! SimClock   stands still until somebody sleeps or waits; then it jumps to what happens next
//! SimNet     a Connector; each host answers as a script says
//! SimDisk    a Disk; knows what a power cut would leave
//! SimLink    a Link; at its other end a SimPeer
//! ```
//!
//! The simulation is meant for one thread: whoever waits moves the time for all.

mod clock;
mod disk;
mod link;
mod net;
mod peer;

use crate::env::Env;
use std::sync::Arc;

pub(crate) use clock::SimClock;
pub(crate) use disk::{DiskCall, SimDisk};
pub(crate) use net::{Answer, Knock, SimNet, Visit};
pub(crate) use peer::{Act, PeerAction, Silent, SimPeer};

/// A clock, a network and a disk that belong together.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) clock: SimClock,
    pub(crate) net: SimNet,
    pub(crate) disk: SimDisk,
    seed: u64,
}

impl World {
    /// A world without hosts, at time 0.
    pub(crate) fn new(seed: u64) -> World {
        let clock = SimClock::new();
        World { net: SimNet::new(clock.clone(), seed), clock, disk: SimDisk::new(), seed }
    }

    /// What a client takes from this world.
    pub(crate) fn env(&self) -> Env {
        Env::new(
            Arc::new(self.clock.clone()),
            Arc::new(self.net.clone()),
            Arc::new(self.disk.clone()),
            self.seed,
        )
    }
}

#[cfg(test)]
mod tests;
