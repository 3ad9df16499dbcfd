//! A network of scripted hosts.

use super::clock::SimClock;
use super::link::SimLink;
use super::peer::SimPeer;
use crate::error::Phase;
use crate::time::Clock;
use crate::transport::{Attempt, ConnectFailure, Connector, Direction, FailureClass, Link, Upgrade, Wake};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long it takes to hear from a host that answers.
const ROUND_TRIP: Duration = Duration::from_millis(1);

/// A simulated network. Clones are the same network.
#[derive(Debug, Clone)]
pub(crate) struct SimNet {
    clock: SimClock,
    state: Arc<Mutex<State>>,
}

struct State {
    rng: fastrand::Rng,
    /// By `host:port`.
    hosts: HashMap<String, Host>,
    visits: Vec<Visit>,
}

struct Host {
    visits: usize,
    script: Box<dyn FnMut(&Knock) -> Answer + Send>,
}

/// An attempt, as the host sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Knock {
    /// How many attempts at this host there were before.
    pub(crate) nth: usize,
    /// Simulated time.
    pub(crate) at: Duration,
    pub(crate) direction: Direction,
    pub(crate) authorization: Option<String>,
    pub(crate) durable_ack: bool,
}

/// What a host does about an attempt.
pub(crate) enum Answer {
    /// Its name has no address.
    Unresolvable,
    /// It refuses the connection.
    Refuse,
    /// It drops what is sent to it.
    BlackHole,
    /// Its certificate does not do.
    BadTls,
    /// It takes the connection and says nothing.
    Mute,
    /// It answers the upgrade with this status: 401 and 403 are about credentials.
    Http(u16),
    /// It answers 421 with this role and zone.
    Role(&'static str, Option<&'static str>),
    /// It speaks another version.
    Version,
    /// It upgrades. Without `durable_ack` in the upgrade, one who asked for that fails.
    Accept(Upgrade, Box<dyn SimPeer>),
}

/// An attempt, as it was seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) endpoint: String,
    pub(crate) began: Duration,
    pub(crate) ended: Duration,
    pub(crate) upgraded: bool,
}

impl SimNet {
    pub(super) fn new(clock: SimClock, seed: u64) -> SimNet {
        let rng = fastrand::Rng::with_seed(seed);
        let state = State { rng, hosts: HashMap::new(), visits: Vec::new() };
        SimNet { clock, state: Arc::new(Mutex::new(state)) }
    }

    /// Puts a host at `endpoint` (`host:port`), in the place of the one before.
    pub(crate) fn host(&self, endpoint: &str, script: impl FnMut(&Knock) -> Answer + Send + 'static) {
        let host = Host { visits: 0, script: Box::new(script) };
        self.state.lock().hosts.insert(endpoint.to_owned(), host);
    }

    /// All attempts so far, in their order.
    pub(crate) fn visits(&self) -> Vec<Visit> {
        self.state.lock().visits.clone()
    }

    /// Who was tried so far, in their order.
    pub(crate) fn visited(&self) -> Vec<String> {
        self.visits().into_iter().map(|visit| visit.endpoint).collect()
    }

    fn answer(&self, attempt: &Attempt<'_>) -> Answer {
        let mut state = self.state.lock();
        let Some(host) = state.hosts.get_mut(&attempt.endpoint.to_string()) else {
            return Answer::Unresolvable;
        };
        let knock = Knock {
            nth: host.visits,
            at: self.clock.elapsed(),
            direction: attempt.direction,
            authorization: attempt.authorization.map(str::to_owned),
            durable_ack: attempt.durable_ack,
        };
        host.visits += 1;
        (host.script)(&knock)
    }

    /// What comes of the answer, in simulated time.
    fn carry_out(&self, answer: Answer, attempt: &Attempt<'_>) -> Result<Box<dyn Link>, ConnectFailure> {
        let pass = |phase, time| self.pass(phase, time, attempt.wake);
        match answer {
            Answer::Unresolvable => Err(refusal(Phase::Resolve, FailureClass::Transport, "unknown name")),
            Answer::BlackHole => {
                pass(Phase::Connect, attempt.connect_timeout)?;
                Err(refusal(Phase::Connect, FailureClass::Transport, "no answer in time"))
            }
            Answer::Refuse => {
                pass(Phase::Connect, ROUND_TRIP.min(attempt.connect_timeout))?;
                Err(refusal(Phase::Connect, FailureClass::Transport, "connection refused"))
            }
            reachable => {
                pass(Phase::Connect, ROUND_TRIP.min(attempt.connect_timeout))?;
                self.upgrade(reachable, attempt)
            }
        }
    }

    fn upgrade(&self, answer: Answer, attempt: &Attempt<'_>) -> Result<Box<dyn Link>, ConnectFailure> {
        let time = if let Answer::Mute = answer { attempt.auth_timeout } else { ROUND_TRIP };
        self.pass(Phase::Upgrade, time.min(attempt.auth_timeout), attempt.wake)?;
        let failed = |class, reason: &str| Err(refusal(Phase::Upgrade, class, reason));
        match answer {
            Answer::BadTls => Err(refusal(Phase::Tls, FailureClass::Transport, "unknown issuer")),
            Answer::Http(status @ (401 | 403)) => {
                failed(FailureClass::Auth { status, retryable_challenge: status == 401 }, "refused")
            }
            Answer::Http(status) => failed(FailureClass::Transport, &format!("HTTP status {status}")),
            Answer::Role(role, zone) => {
                let class = FailureClass::Role { role: role.to_owned() };
                let reason = format!("the node is {role}");
                let zone = zone.map(str::to_owned);
                Err(ConnectFailure { zone, ..refusal(Phase::Role, class, &reason) })
            }
            Answer::Version => failed(FailureClass::Version, "version 99"),
            Answer::Accept(upgrade, _) if attempt.durable_ack && !upgrade.durable_ack => {
                Err(refusal(Phase::DurableAck, FailureClass::DurableAck, "not confirmed"))
            }
            Answer::Accept(upgrade, peer) => {
                let rng = self.state.lock().rng.fork();
                Ok(Box::new(SimLink::new(self.clock.clone(), rng, upgrade, peer)))
            }
            Answer::Unresolvable | Answer::Refuse | Answer::BlackHole | Answer::Mute => {
                failed(FailureClass::Transport, "no answer in time")
            }
        }
    }

    /// Lets time pass within an attempt, unless it is interrupted.
    fn pass(&self, phase: Phase, time: Duration, wake: &Wake) -> Result<(), ConnectFailure> {
        if sleep_until(&self.clock, self.clock.now() + time, wake) {
            Ok(())
        } else {
            Err(refusal(phase, FailureClass::Interrupted, "interrupted"))
        }
    }
}

impl Connector for SimNet {
    fn connect(&self, attempt: &Attempt<'_>) -> Result<Box<dyn Link>, ConnectFailure> {
        let began = self.clock.elapsed();
        let result = self.carry_out(self.answer(attempt), attempt);
        self.state.lock().visits.push(Visit {
            endpoint: attempt.endpoint.to_string(),
            began,
            ended: self.clock.elapsed(),
            upgraded: result.is_ok(),
        });
        result
    }
}

/// Moves to `instant` event by event; stops where `wake` fires, and says whether it did not.
fn sleep_until(clock: &SimClock, instant: Instant, wake: &Wake) -> bool {
    loop {
        if wake.drain() {
            return false;
        }
        if clock.now() >= instant {
            return true;
        }
        clock.advance_to(clock.next_event().map_or(instant, |event| event.min(instant)));
    }
}

fn refusal(phase: Phase, class: FailureClass, reason: &str) -> ConnectFailure {
    ConnectFailure { phase, class, reason: reason.to_owned(), zone: None }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("visits", &self.visits).finish_non_exhaustive()
    }
}
