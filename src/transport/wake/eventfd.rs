//! The wake-up as one counter of the kernel.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

/// A flag that can be polled.
#[derive(Debug)]
pub(super) struct Event(OwnedFd);

impl Event {
    pub(super) fn new() -> io::Result<Event> {
        Ok(Event(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(super) fn fire(&self) {
        // A full counter means that it has fired already; nothing else can fail.
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(&self.0, &1_u64.to_ne_bytes()));
    }

    pub(super) fn drain(&self) -> bool {
        let mut count = [0_u8; 8];
        rustix::io::retry_on_intr(|| rustix::io::read(&self.0, &mut count)).is_ok()
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
