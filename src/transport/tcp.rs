//! Opening a TCP connection, within a time and interruptible.

#[cfg(test)]
mod tests;

use super::halt::Halt;
use super::poll::{self, Interest};
use super::wake::Wake;
use crate::time::{Clock, Deadline};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Silence after which the kernel asks whether the peer is still there (QRY-17).
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
/// Time between two such questions.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Unanswered questions after which the connection fails.
const KEEPALIVE_PROBES: u32 = 3;

/// Most addresses of one name that an attempt tries.
const MAX_ADDRESSES: usize = 16;

/// Connects to the first of `addresses` that answers. Each in turn gets an equal share of the time
/// that is left, so that one that swallows packets does not use it up (CONN-01). The socket is
/// non-blocking.
pub(super) fn connect(
    clock: &dyn Clock,
    addresses: &[SocketAddr],
    wake: &Wake,
    deadline: Deadline,
) -> Result<TcpStream, Halt> {
    let addresses = addresses.get(..MAX_ADDRESSES).unwrap_or(addresses);
    let mut reasons = Vec::with_capacity(addresses.len());
    let mut to_try = 0..addresses.len();
    for address in addresses {
        to_try.next();
        let share = share(clock, deadline, to_try.len());
        let reason = match connect_one(clock, *address, wake, share) {
            Ok(stream) => return Ok(stream),
            Err(Halt::Interrupted) => return Err(Halt::Interrupted),
            Err(Halt::TimedOut) => "no answer in time".to_owned(),
            Err(Halt::Failed(reason)) => reason,
        };
        reasons.push(format!("{address}: {reason}"));
    }
    Err(Halt::Failed(reasons.join(", ")))
}

/// When the attempt at one address ends, with `after` more addresses to come.
fn share(clock: &dyn Clock, deadline: Deadline, after: usize) -> Deadline {
    let now = clock.now();
    let count = u32::try_from(after).unwrap_or(u32::MAX).saturating_add(1);
    deadline.remaining(now).map_or(Deadline::NEVER, |left| Deadline::after(now, left / count))
}

fn connect_one(
    clock: &dyn Clock,
    address: SocketAddr,
    wake: &Wake,
    deadline: Deadline,
) -> Result<TcpStream, Halt> {
    let stream = open(address).map_err(Halt::failed)?;
    match rustix::net::connect(&stream, &address) {
        Ok(()) => {}
        // An interrupted connect goes on by itself (POSIX).
        Err(Errno::INPROGRESS | Errno::INTR) => {
            Halt::unless_ready(poll::wait(clock, &stream, Interest::Write, wake, deadline))?;
            let outcome = sockopt::socket_error(&stream).and_then(|outcome| outcome);
            outcome.map_err(|e| Halt::failed(io::Error::from(e)))?;
        }
        Err(e) => return Err(Halt::failed(io::Error::from(e))),
    }
    // TCP lets a socket connect to itself when the port is a free one of this machine.
    if address.ip().is_loopback() && stream.local_addr().is_ok_and(|local| local == address) {
        return Err(Halt::failed(io::Error::from(Errno::CONNREFUSED)));
    }
    Ok(stream)
}

/// A non-blocking socket with the options of CONN-11.
fn open(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = system::socket(family, SocketType::STREAM)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(&socket, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&socket, KEEPALIVE_PROBES)?;
    Ok(TcpStream::from(socket))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use rustix::fd::OwnedFd;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};

    pub(super) fn socket(family: AddressFamily, kind: SocketType) -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        rustix::net::socket_with(family, kind, flags, None)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use rustix::fd::OwnedFd;
    use rustix::net::{AddressFamily, SocketType};

    pub(super) fn socket(family: AddressFamily, kind: SocketType) -> rustix::io::Result<OwnedFd> {
        let socket = rustix::net::socket(family, kind, None)?;
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(socket)
    }
}
