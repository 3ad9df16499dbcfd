//! Wakes a thread that waits in [`super::Link::wait`] or on the wake-up alone, and costs nothing
//! while that thread is awake.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod eventfd;
#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
mod pipe;
#[cfg(test)]
mod tests;

#[cfg(any(target_os = "linux", target_os = "android"))]
use eventfd::Event;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use pipe::Event;

use super::poll;
use crate::time::Deadline;
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// A wake-up that other threads can fire. Clones fire the same one.
///
/// The waiting side says that it is about to sleep ([`Wake::arm`]), looks once more for work, and
/// only then waits; the firing side publishes its work first. The two fences make it impossible
/// that both miss each other.
#[derive(Debug, Clone)]
pub(crate) struct Wake(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    event: Event,
    /// Whether the waiting side sleeps, or is about to.
    sleeping: AtomicBool,
}

impl Wake {
    /// A wake-up that has not fired.
    pub(crate) fn new() -> io::Result<Wake> {
        Ok(Wake(Arc::new(Inner { event: Event::new()?, sleeping: AtomicBool::new(false) })))
    }

    /// The waiting side is about to sleep. Look for work once more after this, then wait.
    pub(crate) fn arm(&self) {
        self.0.sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The waiting side is awake again.
    pub(crate) fn disarm(&self) {
        self.0.sleeping.store(false, Ordering::Relaxed);
    }

    /// Wakes the waiting side if it sleeps: call after the work is published. No system call if it
    /// is awake.
    #[inline]
    pub(crate) fn notify(&self) {
        fence(Ordering::SeqCst);
        if self.0.sleeping.load(Ordering::Relaxed) && self.0.sleeping.swap(false, Ordering::Relaxed) {
            self.fire();
        }
    }

    /// Wakes the waiting side, now or at its next wait, whether it sleeps or not.
    pub(crate) fn fire(&self) {
        self.0.event.fire();
    }

    /// Forgets a fired wake-up; returns whether there was one.
    pub(crate) fn drain(&self) -> bool {
        self.0.event.drain()
    }

    /// Blocks until the wake-up fires or `deadline` passes, by the machine's own clock. Returns
    /// whether it fired; then it is drained.
    ///
    /// [`Wake::notify`] fires only between [`Wake::arm`] and [`Wake::disarm`]; [`Wake::fire`] at any
    /// time, also before the wait.
    pub(crate) fn wait(&self, deadline: Deadline) -> io::Result<bool> {
        poll::wake_only(self, deadline)
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
