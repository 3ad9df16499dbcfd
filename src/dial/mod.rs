//! Carries out one round over the endpoints, for sender, drainer and query alike.
//!
//! [`crate::health`] decides whom to try and what an answer means; here the attempts are made.

pub(crate) mod setup;

use crate::config::{Endpoint, Target};
use crate::error::{EndpointFailure, Error, ErrorKind};
use crate::health::{Exhausted, Failure, Round, Tracker};
use crate::transport::{Attempt, ConnectFailure, Connector, Direction, FailureClass, Link, Wake};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether this process was warned about credentials in the clear (SEC-03).
static WARNED: AtomicBool = AtomicBool::new(false);

/// Where to connect to, and what to ask for.
#[derive(Clone)]
pub(crate) struct DialSettings {
    pub(crate) endpoints: Arc<[Endpoint]>,
    pub(crate) direction: Direction,
    /// Whether the connector encrypts (`wss`).
    pub(crate) encrypted: bool,
    /// The value of the `Authorization` header. Never shown.
    pub(crate) authorization: Option<String>,
    pub(crate) client_id: String,
    pub(crate) durable_ack: bool,
    pub(crate) accept_encoding: Option<String>,
    pub(crate) max_batch_rows: Option<u32>,
    /// Bounds name look-up and TCP connect of each endpoint (CONN-01).
    pub(crate) connect_timeout: Duration,
    /// Bounds TLS and upgrade of each endpoint (CONN-01).
    pub(crate) auth_timeout: Duration,
    /// Read by queries only.
    pub(crate) target: Target,
    /// Read by queries only (HOST-02).
    pub(crate) zone: Option<String>,
}

/// Carries out rounds, and remembers between them what it saw of each endpoint.
#[derive(Debug)]
pub(crate) struct Dialer {
    connector: Arc<dyn Connector>,
    settings: DialSettings,
    tracker: Tracker,
}

/// A round that found somebody.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) link: Box<dyn Link>,
    /// Index in the list of endpoints.
    pub(crate) endpoint: usize,
    /// What happened at those that were tried before it, in order.
    pub(crate) passed: Vec<EndpointFailure>,
}

/// A round that found nobody.
#[derive(Debug)]
pub(crate) struct RoundFailure {
    /// Names each endpoint that was tried, in order (CONN-08).
    pub(crate) error: Error,
    /// Every endpoint was refused for its role (BACK-02, QFO-04).
    pub(crate) all_role_rejected: bool,
    /// The [`Wake`] fired in the middle of the round.
    pub(crate) interrupted: bool,
}

/// Looks at a connection that was just upgraded, and says whether it will do.
pub(crate) type Admit<'a> = dyn FnMut(&mut dyn Link) -> Result<(), ConnectFailure> + 'a;

impl Dialer {
    /// Nothing is known of any endpoint yet.
    pub(crate) fn new(connector: Arc<dyn Connector>, settings: DialSettings) -> Dialer {
        if let Some(warning) = exposure(&settings, &WARNED) {
            log::warn!("{warning}");
        }
        let hosts = settings.endpoints.len();
        let tracker = match settings.direction {
            Direction::Ingress => Tracker::ingest(hosts),
            Direction::Egress => Tracker::query(hosts, settings.target, settings.zone.as_deref()),
        };
        Dialer { connector, settings, tracker }
    }

    /// Tries each endpoint at most once, best first and without a pause, until one is connected and
    /// `admit` takes it (CONN-02).
    ///
    /// Blocks for at most `connect_timeout + auth_timeout` per endpoint, and what `admit` takes.
    /// Ends at once when `wake` fires.
    pub(crate) fn round(&mut self, wake: &Wake, admit: &mut Admit<'_>) -> Result<Connected, RoundFailure> {
        let mut round = Round::new(&self.tracker);
        while let Some(endpoint) = round.next(&self.tracker) {
            match self.attempt(endpoint, wake, admit) {
                Ok(link) => return Ok(Connected { link, endpoint, passed: round.end().reports }),
                Err(Failed::Interrupted) => return Err(interrupted(round)),
                Err(Failed::Endpoint(failure, why)) => {
                    let report = self.report(endpoint, failure, why);
                    log::debug!("cannot use {report}");
                    round.failed(&mut self.tracker, endpoint, failure, report);
                }
            }
        }
        Err(self.exhausted(round))
    }

    /// The server at `endpoint` says where it is (HOST-06).
    pub(crate) fn zone_seen(&mut self, endpoint: usize, zone: Option<&str>) {
        self.tracker.zone_seen(endpoint, zone);
    }

    /// The established connection to `endpoint` broke (HOST-05): the next round goes elsewhere first.
    pub(crate) fn broke(&mut self, endpoint: usize) {
        self.tracker.broke(endpoint);
    }

    /// An outage begins that is no endpoint's fault (HOST-04): the next round starts where the last
    /// one succeeded.
    pub(crate) fn new_outage(&mut self) {
        self.tracker.new_outage();
    }

    /// The endpoint with an index that [`Connected`] told.
    pub(crate) fn endpoint(&self, index: usize) -> &Endpoint {
        &self.settings.endpoints[index]
    }

    fn attempt(
        &mut self,
        endpoint: usize,
        wake: &Wake,
        admit: &mut Admit<'_>,
    ) -> Result<Box<dyn Link>, Failed> {
        let connected = self.connector.connect(&self.settings.attempt(endpoint, wake));
        let mut link = connected.map_err(|why| self.refused(endpoint, why))?;
        self.tracker.zone_seen(endpoint, link.upgrade().zone.as_deref());
        if let Err(why) = admit(&mut *link) {
            // Polite, and not worth waiting for (ROLE-02).
            let _ = link.close(CLOSE_NORMAL).and_then(|()| link.flush());
            return Err(self.not_admitted(endpoint, why));
        }
        self.tracker.succeeded(endpoint);
        Ok(link)
    }

    fn refused(&mut self, endpoint: usize, why: ConnectFailure) -> Failed {
        self.tracker.zone_seen(endpoint, why.zone.as_deref());
        let failure = match &why.class {
            FailureClass::Interrupted => return Failed::Interrupted,
            FailureClass::Transport => Failure::Transport,
            FailureClass::Auth { .. } => Failure::Auth,
            FailureClass::Role { role } => Failure::from_role_header(role),
            FailureClass::Version => Failure::Version,
            FailureClass::DurableAck => Failure::DurableAck,
        };
        Failed::Endpoint(failure, why)
    }

    /// As [`Dialer::refused`], but a role that our own filter turned down is no matter of waiting:
    /// a node that catches up will become a primary, never what was asked for (ROLE-02).
    fn not_admitted(&mut self, endpoint: usize, why: ConnectFailure) -> Failed {
        match self.refused(endpoint, why) {
            Failed::Endpoint(Failure::CatchingUp, why) => Failed::Endpoint(Failure::Role, why),
            other => other,
        }
    }

    fn report(&self, endpoint: usize, failure: Failure, why: ConnectFailure) -> EndpointFailure {
        EndpointFailure {
            endpoint: self.endpoint(endpoint).to_string(),
            phase: why.phase,
            kind: failure.kind(),
            reason: why.reason,
        }
    }

    #[cold]
    fn exhausted(&self, round: Round) -> RoundFailure {
        let Exhausted { kind, all_role_rejected, reports } = round.end();
        let mut error = Error::new(kind, "cannot connect");
        if kind == ErrorKind::RoleMismatch && self.settings.direction == Direction::Egress {
            error = error.with("target", self.settings.target);
        }
        if let Some(why) = self.advice(kind) {
            error = error.because(why);
        }
        RoundFailure { error: error.at_endpoints(reports), all_role_rejected, interrupted: false }
    }

    /// Why, and what to do, where the endpoints' own reasons do not say it.
    fn advice(&self, kind: ErrorKind) -> Option<&'static str> {
        match (kind, self.settings.direction) {
            (ErrorKind::Auth, _) => {
                Some("credentials are the same for all endpoints, so no other was asked; check them")
            }
            (ErrorKind::DurableAckUnsupported, _) => {
                Some("no endpoint confirms durable acknowledgements; set request_durable_ack=off")
            }
            (ErrorKind::RoleMismatch, Direction::Ingress) => Some("no endpoint takes writes now"),
            (ErrorKind::RoleMismatch, Direction::Egress) => Some("no endpoint has a role that fits"),
            (ErrorKind::ProtocolVersion, _) => Some("no endpoint speaks version 1 of the protocol"),
            _ => None,
        }
    }
}

/// Close code of an orderly end.
const CLOSE_NORMAL: u16 = 1000;

/// Why an attempt came to nothing.
enum Failed {
    Endpoint(Failure, ConnectFailure),
    Interrupted,
}

#[cold]
fn interrupted(round: Round) -> RoundFailure {
    let error = Error::new(ErrorKind::Closed, "interrupted while connecting");
    let error = error.at_endpoints(round.end().reports);
    RoundFailure { error, all_role_rejected: false, interrupted: true }
}

impl DialSettings {
    fn attempt<'a>(&'a self, endpoint: usize, wake: &'a Wake) -> Attempt<'a> {
        Attempt {
            endpoint: &self.endpoints[endpoint],
            direction: self.direction,
            authorization: self.authorization.as_deref(),
            client_id: &self.client_id,
            durable_ack: self.durable_ack,
            accept_encoding: self.accept_encoding.as_deref(),
            max_batch_rows: self.max_batch_rows,
            connect_timeout: self.connect_timeout,
            auth_timeout: self.auth_timeout,
            wake,
        }
    }

    /// The first endpoint to which credentials would go in the clear over a network.
    fn exposed(&self) -> Option<&Endpoint> {
        if self.encrypted || self.authorization.is_none() {
            return None;
        }
        self.endpoints.iter().find(|endpoint| !is_loopback(&endpoint.host))
    }
}

impl fmt::Debug for DialSettings {
    /// Without the credentials (CONF-10).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialSettings")
            .field("endpoints", &self.endpoints)
            .field("direction", &self.direction)
            .field("encrypted", &self.encrypted)
            .field("authorization", &self.authorization.as_ref().map(|_| "***"))
            .field("target", &self.target)
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}

/// The warning of SEC-03, if there is cause and nobody was warned yet.
fn exposure(settings: &DialSettings, warned: &AtomicBool) -> Option<String> {
    let endpoint = settings.exposed()?;
    if warned.swap(true, Ordering::Relaxed) {
        return None;
    }
    Some(format!("credentials go to {endpoint} over a plain connection that others can read; use wss"))
}

fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            host == "localhost" || host.ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests;
