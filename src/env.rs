//! The seams to the world: clock, network, disk and chance. A test puts simulated ones in their place.

use crate::store::Keeper;
use crate::store::disk::{Disk, SystemDisk};
use crate::time::{Clock, SystemClock};
use crate::transport::Connector;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a client takes from the world. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) disk: Arc<dyn Disk>,
    /// Does the slow work on files.
    pub(crate) keeper: Keeper,
    pub(crate) seed: u64,
    /// How many generators were handed out; no two clones hand out the same.
    streams: Arc<AtomicU64>,
}

impl Env {
    /// The machine's clocks, this network, and a seed that nobody knows.
    pub(crate) fn system(connector: Arc<dyn Connector>) -> Env {
        // Only pauses depend on the seed: where the system gives none, the generator's own will do.
        let seed = getrandom::u64().unwrap_or_else(|_| fastrand::u64(..));
        let disk = Arc::new(SystemDisk);
        Env { keeper: Keeper::shared(), ..Env::new(Arc::new(SystemClock), connector, disk, seed) }
    }

    /// These parts, and a keeper of its own.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        connector: Arc<dyn Connector>,
        disk: Arc<dyn Disk>,
        seed: u64,
    ) -> Env {
        let keeper = Keeper::new(Arc::clone(&clock));
        Env { clock, connector, disk, keeper, seed, streams: Arc::default() }
    }

    /// A generator of its own for each caller, so that clients of one pool do not march in step.
    pub(crate) fn rng(&self) -> fastrand::Rng {
        let stream = self.streams.fetch_add(1, Ordering::Relaxed);
        let mut seeds = fastrand::Rng::with_seed(self.seed.wrapping_add(stream));
        fastrand::Rng::with_seed(seeds.u64(..))
    }
}
