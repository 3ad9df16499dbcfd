//! One attempt at one endpoint over real sockets: look-up, TCP, TLS, upgrade.

#[cfg(test)]
mod tests;

use super::exchange::{Exchange, failure};
use super::halt::Halt;
use super::link::SocketLink;
use super::resolve::Resolver;
use super::stream::Stream;
use super::tls::TlsSetup;
use super::upgrade::{self, Asked};
use super::{Attempt, ConnectFailure, Connector, Direction, Link, tcp};
use crate::error::Phase;
use crate::time::{Clock, Deadline};
use std::net::TcpStream;
use std::sync::Arc;

/// Largest message of an ingest server: an OK lists every table that it commits (CONN-10).
const MAX_INGRESS_MESSAGE_BYTES: usize = 2 << 20;
/// Largest message of a query server (CONN-10).
const MAX_EGRESS_MESSAGE_BYTES: usize = 16 << 20;

/// Opens connections over TCP, with TLS if it was set up.
#[derive(Debug)]
pub(crate) struct SocketConnector {
    clock: Arc<dyn Clock>,
    resolver: Resolver,
    tls: Option<TlsSetup>,
}

impl SocketConnector {
    /// With `tls` every connection is `wss`, without it none is.
    pub(crate) fn new(clock: Arc<dyn Clock>, tls: Option<TlsSetup>) -> SocketConnector {
        SocketConnector { clock, resolver: Resolver::system(), tls }
    }

    /// Look-up and TCP, both within `connect_timeout`.
    fn open(&self, attempt: &Attempt<'_>) -> Result<TcpStream, ConnectFailure> {
        let clock = &*self.clock;
        let deadline = Deadline::after(clock.now(), attempt.connect_timeout);
        let failed = |phase| {
            let limit = format!("connect_timeout of {} ms", attempt.connect_timeout.as_millis());
            move |halt| failure(phase, halt, &limit)
        };
        let addresses = self
            .resolver
            .resolve(clock, attempt.endpoint, attempt.wake, deadline)
            .map_err(failed(Phase::Resolve))?;
        tcp::connect(clock, &addresses, attempt.wake, deadline).map_err(failed(Phase::Connect))
    }

    /// TLS and upgrade, both within `auth_timeout`.
    fn upgrade(&self, attempt: &Attempt<'_>, socket: TcpStream) -> Result<SocketLink, ConnectFailure> {
        let clock = &*self.clock;
        let deadline = Deadline::after(clock.now(), attempt.auth_timeout);
        let failed = |phase| {
            let limit = format!("auth_timeout_ms of {} ms", attempt.auth_timeout.as_millis());
            move |halt| failure(phase, halt, &limit)
        };
        let mut stream = match &self.tls {
            None => Stream::Plain(socket),
            Some(setup) => {
                let host = &attempt.endpoint.host;
                let stream = setup.handshake(clock, host, socket, attempt.wake, deadline);
                Stream::Tls(Box::new(stream.map_err(failed(Phase::Tls))?))
            }
        };
        let (request, key) = request(attempt).map_err(failed(Phase::Upgrade))?;
        let asked = Asked { key: &key, direction: attempt.direction, durable_ack: attempt.durable_ack };
        let exchange = Exchange { clock, stream: &mut stream, wake: attempt.wake, deadline };
        let (upgrade, behind) = exchange.run(&request, &asked).map_err(failed(Phase::Upgrade))??;
        let limit = match attempt.direction {
            Direction::Ingress => MAX_INGRESS_MESSAGE_BYTES,
            Direction::Egress => MAX_EGRESS_MESSAGE_BYTES,
        };
        Ok(SocketLink::new(Arc::clone(&self.clock), stream, upgrade, limit, &behind))
    }
}

impl Connector for SocketConnector {
    fn connect(&self, attempt: &Attempt<'_>) -> Result<Box<dyn Link>, ConnectFailure> {
        let socket = self.open(attempt)?;
        let link = self.upgrade(attempt, socket)?;
        Ok(Box::new(link))
    }
}

/// The request, and the key in it.
fn request(attempt: &Attempt<'_>) -> Result<(Vec<u8>, String), Halt> {
    let key = upgrade::fresh_key()
        .map_err(|e| Halt::Failed(format!("the system has no random bytes for the key: {e}")))?;
    let request = upgrade::request(attempt, &key).map_err(|name| {
        Halt::Failed(format!("the value for {name} has a byte that a header cannot carry"))
    })?;
    Ok((request, key))
}
