//! Name look-up that can be left behind.
//!
//! The system's look-up blocks for as long as it likes and cannot be interrupted, so it runs on a
//! thread of its own. When time is over or the wake-up fires, the thread is left to end by itself
//! (FLUSH-14); how many may be left is bounded.

use super::halt::Halt;
use super::poll::{self, Interest};
use super::wake::Wake;
use crate::config::Endpoint;
use crate::time::{Clock, Deadline};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Most look-ups that run at a time, those left behind included.
const MAX_RUNNING: usize = 16;

/// Blocks until the addresses of a name are known.
type Lookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Looks names up, again at every attempt (CONN-01).
#[derive(Clone)]
pub(super) struct Resolver {
    lookup: Arc<Lookup>,
    running: Arc<AtomicUsize>,
}

impl Resolver {
    /// The system's look-up.
    pub(super) fn system() -> Resolver {
        Resolver::with(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }

    /// Another look-up.
    pub(super) fn with(
        lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Resolver {
        Resolver { lookup: Arc::new(lookup), running: Arc::new(AtomicUsize::new(0)) }
    }

    /// The addresses of `endpoint`, at least one. An address in place of a name is not looked up.
    pub(super) fn resolve(
        &self,
        clock: &dyn Clock,
        endpoint: &Endpoint,
        wake: &Wake,
        deadline: Deadline,
    ) -> Result<Vec<SocketAddr>, Halt> {
        if let Ok(ip) = endpoint.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, endpoint.port)]);
        }
        let done = Wake::new().map_err(Halt::failed)?;
        let (answer, answered) = crossbeam_channel::bounded(1);
        let slot = Slot::take(&self.running)?;
        let (lookup, host, port) = (Arc::clone(&self.lookup), endpoint.host.clone(), endpoint.port);
        let fire = FireOnDrop(done.clone());
        thread::Builder::new()
            .name("qwp-resolve".to_owned())
            .spawn(move || {
                // Dropped in this order: the answer is there before the wake-up fires.
                let _fire = fire;
                let _slot = slot;
                // Nobody takes the answer if this was left behind.
                let _ = answer.send(lookup(&host, port));
            })
            .map_err(|e| Halt::Failed(format!("cannot start a thread for the name look-up: {e}")))?;
        Halt::unless_ready(poll::wait(clock, &done, Interest::Read, wake, deadline))?;
        match answered.try_recv() {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(Halt::failed("the name has no address")),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(e)) => Err(Halt::failed(e)),
            Err(_) => Err(Halt::failed("the name look-up panicked")),
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("running", &self.running).finish_non_exhaustive()
    }
}

/// One of the look-ups that run.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(running: &Arc<AtomicUsize>) -> Result<Slot, Halt> {
        let slot = Slot(Arc::clone(running));
        if running.fetch_add(1, Ordering::Relaxed) >= MAX_RUNNING {
            return Err(Halt::Failed(format!("{MAX_RUNNING} earlier name look-ups have not returned yet")));
        }
        Ok(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Fires also when the look-up panics.
struct FireOnDrop(Wake);

impl Drop for FireOnDrop {
    fn drop(&mut self) {
        self.0.fire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SystemClock;
    use std::sync::mpsc;
    use std::time::Duration;

    fn name(host: &str) -> Endpoint {
        Endpoint { host: host.to_owned(), port: 9000 }
    }

    fn within(duration: Duration) -> Deadline {
        Deadline::after(SystemClock.now(), duration)
    }

    const LONG: Duration = Duration::from_secs(30);

    /// A look-up that blocks until the sender is dropped.
    fn hanging() -> (Resolver, mpsc::Sender<()>) {
        let (hold, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let resolver = Resolver::with(move |_, _| {
            let _ = held.lock().unwrap().recv();
            Err(io::Error::other("released"))
        });
        (resolver, hold)
    }

    #[test]
    fn conn_01_names_are_looked_up_and_addresses_are_not() {
        let wake = Wake::new().unwrap();
        let v4: SocketAddr = "127.0.0.1:9000".parse().unwrap();
        let v6: SocketAddr = "[::1]:9000".parse().unwrap();
        let resolver = Resolver::with(move |host, port| {
            assert_eq!((host, port), ("db", 9000));
            Ok(vec![v6, v4])
        });
        let resolve = |host| resolver.resolve(&SystemClock, &name(host), &wake, within(LONG));
        assert_eq!(resolve("db"), Ok(vec![v6, v4]));
        assert_eq!(resolve("127.0.0.1"), Ok(vec![v4]));
        assert_eq!(resolve("::1"), Ok(vec![v6]));
        let system = Resolver::system();
        assert!(system.resolve(&SystemClock, &name("localhost"), &wake, within(LONG)).is_ok());
    }

    #[test]
    fn a_failed_look_up_says_why() {
        let wake = Wake::new().unwrap();
        for (resolver, reason) in [
            (Resolver::with(|_, _| Err(io::Error::other("no such host"))), "no such host"),
            (Resolver::with(|_, _| Ok(vec![])), "the name has no address"),
            (Resolver::with(|_, _| panic!("on purpose")), "the name look-up panicked"),
        ] {
            let failed = resolver.resolve(&SystemClock, &name("db"), &wake, within(LONG));
            assert_eq!(failed, Err(Halt::failed(reason)));
        }
    }

    #[test]
    fn conn_01_flush_14_a_hanging_look_up_is_left_behind() {
        let (resolver, hold) = hanging();
        let wake = Wake::new().unwrap();
        let short = within(Duration::from_millis(10));
        assert_eq!(resolver.resolve(&SystemClock, &name("db"), &wake, short), Err(Halt::TimedOut));
        wake.fire();
        let interrupted = resolver.resolve(&SystemClock, &name("db"), &wake, within(LONG));
        assert_eq!(interrupted, Err(Halt::Interrupted));
        drop(hold);
    }

    #[test]
    fn look_ups_left_behind_are_bounded_and_counted_down_when_they_return() {
        let (resolver, hold) = hanging();
        let wake = Wake::new().unwrap();
        let resolve = |deadline| resolver.resolve(&SystemClock, &name("db"), &wake, deadline);
        for _ in 0..MAX_RUNNING {
            assert_eq!(resolve(within(Duration::ZERO)), Err(Halt::TimedOut));
        }
        let Err(Halt::Failed(reason)) = resolve(within(LONG)) else { panic!("started") };
        assert_eq!(reason, "16 earlier name look-ups have not returned yet");
        drop(hold);
        let end = SystemClock.now() + LONG;
        while resolver.running.load(Ordering::Relaxed) > 0 {
            assert!(SystemClock.now() < end, "the threads end");
            thread::yield_now();
        }
        assert_eq!(resolve(within(LONG)), Err(Halt::failed("released")));
    }
}
