//! The keeper: the one thread of a process that does the slow work on files, for all slots (PUB-01).
//!
//! It starts with the first slot and ends with the last one. It waits in one place, for its bell and
//! the earliest deadline of a slot, and has neither when nothing is to be done (DUR-04). What there is
//! to do in a slot is decided in `tending`.

use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::tending::{Tending, Turn};
use crate::time::{Clock, Deadline, SystemClock};

/// A keeper. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Keeper(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    crew: Mutex<Crew>,
    bell: Bell,
    heard: Receiver<()>,
}

#[derive(Default)]
struct Crew {
    slots: Vec<Arc<Tending>>,
    running: bool,
}

/// Wakes a keeper. It remembers one ring.
#[derive(Debug, Clone)]
pub(super) struct Bell(Sender<()>);

impl Bell {
    /// A bell, and what its keeper waits for.
    pub(super) fn new() -> (Bell, Receiver<()>) {
        let (bell, heard) = bounded(1);
        (Bell(bell), heard)
    }

    pub(super) fn ring(&self) {
        // A ring that was not heard yet stands for this one as well.
        let _ = self.0.try_send(());
    }
}

impl Keeper {
    /// The keeper of this process.
    pub(crate) fn shared() -> Keeper {
        static KEEPER: OnceLock<Keeper> = OnceLock::new();
        KEEPER.get_or_init(|| Keeper::new(Arc::new(SystemClock))).clone()
    }

    /// A keeper of its own.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Keeper {
        let (bell, heard) = Bell::new();
        Keeper(Arc::new(Inner { clock, crew: Mutex::default(), bell, heard }))
    }

    pub(super) fn bell(&self) -> Bell {
        self.0.bell.clone()
    }

    /// Looks after a slot until that is closed.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn tend(&self, slot: Arc<Tending>) -> io::Result<()> {
        let mut crew = self.0.crew.lock();
        if !crew.running {
            let inner = Arc::clone(&self.0);
            Builder::new().name("qwp-keeper".to_owned()).spawn(move || inner.live())?;
            crew.running = true;
        }
        crew.slots.push(slot);
        drop(crew);
        self.0.bell.ring();
        Ok(())
    }
}

impl Inner {
    /// The thread's body.
    fn live(&self) {
        while let Some(slots) = self.slots() {
            let mut deadline = Deadline::NEVER;
            for slot in &slots {
                deadline = deadline.min(self.look(slot));
            }
            drop(slots);
            // A deadline that has passed does not wait.
            match deadline.remaining(self.clock.now()) {
                Some(left) => drop(self.heard.recv_timeout(left)),
                None => drop(self.heard.recv()),
            }
        }
    }

    /// The slots of this round; the thread ends without any.
    fn slots(&self) -> Option<Vec<Arc<Tending>>> {
        let mut crew = self.crew.lock();
        crew.running = !crew.slots.is_empty();
        crew.running.then(|| crew.slots.clone())
    }

    /// One step in a slot; returns when the next one is due.
    fn look(&self, slot: &Arc<Tending>) -> Deadline {
        let now = self.clock.now();
        let turn = catch_unwind(AssertUnwindSafe(|| slot.turn(now))).unwrap_or_else(|_| {
            slot.broke_down();
            Turn::Done
        });
        match turn {
            Turn::Again => Deadline::at(now),
            Turn::Wait(deadline) => deadline,
            Turn::Done => {
                self.crew.lock().slots.retain(|other| !Arc::ptr_eq(other, slot));
                Deadline::at(now)
            }
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crew = self.0.crew.lock();
        f.debug_struct("Keeper").field("slots", &crew.slots.len()).field("running", &crew.running).finish()
    }
}
