//! The one way to wait: for a descriptor, a [`Wake`] and a deadline at once.

use super::Wake;
use crate::time::{Clock, Deadline, SystemClock};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// Longest single system call: some systems refuse more than an `int` of milliseconds.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How a wait on a descriptor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Polled {
    /// The descriptor can be read, written, or has failed: the next call on it says which.
    Ready { readable: bool, writable: bool },
    /// The wake-up fired. It is drained.
    Woken,
    /// The deadline passed.
    TimedOut,
}

/// What a wait on a descriptor waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    Read,
    Write,
    Both,
}

impl Interest {
    fn flags(self) -> PollFlags {
        match self {
            Interest::Read => PollFlags::IN,
            Interest::Write => PollFlags::OUT,
            Interest::Both => PollFlags::IN | PollFlags::OUT,
        }
    }
}

/// Waits until `fd` is ready, `wake` fires or `deadline` passes. A wake-up comes first, so that a
/// descriptor that is always ready cannot hide it.
pub(super) fn wait(
    clock: &dyn Clock,
    fd: impl AsFd,
    interest: Interest,
    wake: &Wake,
    deadline: Deadline,
) -> io::Result<Polled> {
    let mut fds = [PollFd::new(&fd, interest.flags()), PollFd::new(wake, PollFlags::IN)];
    while poll(clock, &mut fds, deadline)? {
        let [socket, woken] = fds.each_ref().map(PollFd::revents);
        if !woken.is_empty() && wake.drain() {
            return Ok(Polled::Woken);
        }
        if !socket.is_empty() {
            let failed = socket.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
            return Ok(Polled::Ready {
                readable: failed || socket.contains(PollFlags::IN),
                writable: failed || socket.contains(PollFlags::OUT),
            });
        }
    }
    Ok(Polled::TimedOut)
}

/// Waits until `wake` fires, which drains it, or `deadline` passes.
pub(super) fn wake_only(wake: &Wake, deadline: Deadline) -> io::Result<bool> {
    let mut fds = [PollFd::new(wake, PollFlags::IN)];
    while poll(&SystemClock, &mut fds, deadline)? {
        if wake.drain() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits until one of `fds` is ready or `deadline` passes; returns whether one is. A deadline that
/// has passed still looks once.
fn poll(clock: &dyn Clock, fds: &mut [PollFd<'_>], deadline: Deadline) -> io::Result<bool> {
    loop {
        let left = deadline.remaining(clock.now());
        let limit = left.map(|left| left.min(LONGEST));
        // `LONGEST` fits every `Timespec`.
        let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match rustix::event::poll(fds, timeout.as_ref()) {
            Ok(0) if left == Some(Duration::ZERO) => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(e) => return Err(e.into()),
        }
    }
}
