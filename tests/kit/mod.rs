//! What the tests of the public face share: senders of the stand-in, and watches.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file that includes this uses a part of it, and a test binary exports nothing"
)]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

use std::time::{Duration, Instant};

use qwp::{Error, ErrorKind, Sender, TimestampMicros};

use crate::support::{Server, State, Value};

/// For what has to happen soon. Nothing waits this long unless the test fails.
pub const SOON: Duration = Duration::from_secs(20);

/// A connect string for that server, with more keys.
pub fn conf(server: &Server, more: &str) -> String {
    format!("ws::addr={};{more}", server.addr())
}

/// A connect string for several servers in that order.
pub fn conf_of(servers: &[&Server], more: &str) -> String {
    let addresses: Vec<String> = servers.iter().map(|server| server.addr()).collect();
    format!("ws::addr={};{more}", addresses.join(","))
}

/// A sender that flushes only when it is told to.
pub fn sender(server: &Server, more: &str) -> Sender {
    Sender::from_conf(&conf(server, &format!("auto_flush=off;{more}"))).unwrap()
}

/// One row of table `t`: LONG column `x`.
pub fn row(sender: &mut Sender, x: i64) {
    try_row(sender, x).unwrap();
}

pub fn try_row(sender: &mut Sender, x: i64) -> qwp::Result<()> {
    sender.table("t").column_i64("x", x).at(at(x))
}

/// A frame of its own for each of these rows.
pub fn frames(sender: &mut Sender, xs: std::ops::Range<i64>) {
    for x in xs {
        row(sender, x);
        sender.flush().unwrap();
    }
}

/// A designated time that tells rows apart.
pub fn at(x: i64) -> TimestampMicros {
    TimestampMicros::new(1_700_000_000_000_000 + x)
}

/// Column `x` of table `t`, in the order of commits.
pub fn xs(server: &Server) -> Vec<i64> {
    let long = |value: &Value| match value {
        Value::Long(x) => *x,
        other => panic!("no LONG: {other:?}"),
    };
    let known = server.state(|state| state.catalog.get("t").is_some());
    if known { server.column("t", "x").iter().map(long).collect() } else { Vec::new() }
}

/// Waits until it holds.
pub fn until(server: &Server, what: &str, holds: impl FnMut(&State) -> bool) {
    assert!(server.wait_until(holds, SOON), "not within {SOON:?}: {what}");
}

/// Waits for something that no server sees, without holding a core.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let watch = Watch::start();
    while !holds() {
        assert!(watch.elapsed() < SOON, "not within {SOON:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Waits until the server has answered everything.
pub fn drain(sender: &mut Sender) {
    sender.drain(SOON).unwrap();
}

/// As [`drain`], for a sender whose store is full and whose deadline is short.
pub fn drain_full(sender: &mut Sender) {
    eventually("there is room", || sender.flush().is_ok());
    drain(sender);
}

/// The kind of an error.
pub fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.expect_err("an error").kind()
}

/// How long something takes.
pub struct Watch(Instant);

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "the time that a caller waits is what is tested")]
    pub fn start() -> Watch {
        Watch(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// Fails if more than `limit` has passed.
    pub fn at_most(&self, limit: Duration) {
        let elapsed = self.elapsed();
        assert!(elapsed <= limit, "took {elapsed:?}, more than {limit:?}");
    }

    pub fn at_least(&self, limit: Duration) {
        let elapsed = self.elapsed();
        assert!(elapsed >= limit, "took {elapsed:?}, less than {limit:?}");
    }
}

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
