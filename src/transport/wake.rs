//! Wakes a thread that waits in [`super::Link::wait`], and costs nothing while that thread is awake.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
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
    event: OwnedFd,
    /// Whether the waiting side sleeps, or is about to.
    sleeping: AtomicBool,
}

impl Wake {
    /// A wake-up that has not fired.
    pub(crate) fn new() -> io::Result<Wake> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Wake(Arc::new(Inner { event, sleeping: AtomicBool::new(false) })))
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
        // A full counter means that it has fired already; nothing else can fail.
        let _ = rustix::io::write(&self.0.event, &1_u64.to_ne_bytes());
    }

    /// Forgets a fired wake-up; returns whether there was one.
    pub(crate) fn drain(&self) -> bool {
        let mut count = [0_u8; 8];
        rustix::io::read(&self.0.event, &mut count).is_ok()
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
