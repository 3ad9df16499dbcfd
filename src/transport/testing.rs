//! Small servers for the tests of this folder.

use super::Wake;
use crate::time::{Clock, Deadline, SystemClock};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any machine needs, so that only a lost event takes it.
pub(super) const LONG: Duration = Duration::from_secs(30);

pub(super) fn within(duration: Duration) -> Deadline {
    Deadline::after(SystemClock.now(), duration)
}

/// An address that swallows packets: a listener whose backlog is full.
pub(super) struct BlackHole {
    listener: std::os::fd::OwnedFd,
    /// Kept open.
    filling: Vec<TcpStream>,
}

impl BlackHole {
    pub(super) fn new() -> BlackHole {
        use rustix::net::{AddressFamily, SocketType};
        let listener = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let mut hole = BlackHole { listener, filling: Vec::new() };
        let wake = Wake::new().unwrap();
        for _ in 0..16 {
            let limit = within(Duration::from_millis(30));
            match super::tcp::connect(&SystemClock, &[hole.address()], &wake, limit) {
                Ok(stream) => hole.filling.push(stream),
                Err(_) => return hole,
            }
        }
        panic!("the backlog does not fill up");
    }

    pub(super) fn address(&self) -> SocketAddr {
        rustix::net::getsockname(&self.listener).unwrap().try_into().unwrap()
    }
}
