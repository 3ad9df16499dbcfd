//! A client's connection, and how it gets another one.

use super::cancel::CancelHandle;
use super::connection::{Connection, greet};
use super::counters::QueryCounters;
use super::info::ServerInfo;
use super::settings::Settings;
use super::spares::Spares;
use crate::dial::{Dialer, RoundFailure};
use crate::env::Env;
use crate::error::{EndpointFailure, Error, ErrorKind, Result};
use crate::time::{Clock, Deadline};
use crate::transport::Wake;
use crossbeam_channel::{Receiver, TryRecvError, bounded};
use std::sync::Arc;
use std::time::Duration;

/// A pause is cut into pieces, so that a cancel ends it soon (BACK-05).
const PAUSE_PIECE: Duration = Duration::from_millis(20);

/// Wake-ups that came too late for the query they were meant for, at most, in one walk.
const STALE_WAKES: usize = 4;

/// What lives as long as the client.
#[derive(Debug)]
pub(super) struct Session {
    settings: Settings,
    clock: Arc<dyn Clock>,
    rng: fastrand::Rng,
    dialer: Dialer,
    /// Fired by cancel handles, and by a drain that is done.
    wake: Wake,
    connection: Option<Connection>,
    /// The connection, while another thread reads a given-up result to its end.
    draining: Option<Receiver<Option<Connection>>>,
    /// The last connection broke, and its host was demoted: the outage has begun.
    demoted: bool,
    counters: QueryCounters,
    spares: Arc<Spares>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NotConnected {
    /// A round found nobody.
    Nobody(RoundFailure),
    /// The query was cancelled meanwhile.
    Cancelled,
}

/// Fires a wake-up if its thread panics: whoever waits finds the channel ended.
struct FireOnPanic(Wake);

impl Drop for FireOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fire();
        }
    }
}

impl Session {
    pub(super) fn new(settings: Settings, env: &Env) -> Result<Session> {
        let wake = Wake::new()
            .map_err(|e| Error::new(ErrorKind::Transport, "cannot set up the query client").caused_by(e))?;
        Ok(Session {
            dialer: Dialer::new(env.connector.clone(), settings.dial.clone()),
            settings,
            clock: env.clock.clone(),
            rng: env.rng(),
            wake,
            connection: None,
            draining: None,
            demoted: false,
            counters: QueryCounters::default(),
            spares: Arc::default(),
        })
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(super) fn wake(&self) -> &Wake {
        &self.wake
    }

    pub(super) fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    pub(super) fn counters(&self) -> &QueryCounters {
        &self.counters
    }

    pub(super) fn spares(&self) -> &Arc<Spares> {
        &self.spares
    }

    /// The server of the connection, if there is one.
    pub(super) fn info(&self) -> Option<&Arc<ServerInfo>> {
        self.connection.as_ref().map(Connection::info)
    }

    /// The connection, with what is needed to wait on it. There is one after [`Session::ready`] and
    /// [`Session::round`], until it is lost or handed off.
    pub(super) fn connection(&mut self) -> Result<(&mut Connection, &Wake)> {
        match &mut self.connection {
            Some(connection) => Ok((connection, &self.wake)),
            None => Err(Error::new(ErrorKind::Bug, "the query client has no connection")),
        }
    }

    /// Sees to a connection that can take a request: the one that is there if it still lives, else one
    /// walk over the endpoints, without a pause (QRY-10, QRY-16).
    ///
    /// Blocks for what [`Session::round`] takes, and for `query_close_timeout_ms` if a result that was
    /// given up is still being read to its end.
    pub(super) fn ready(&mut self, cancel: &CancelHandle) -> std::result::Result<(), NotConnected> {
        self.collect(cancel)?;
        let wake = &self.wake;
        if self.connection.as_mut().is_some_and(|connection| connection.is_alive(wake)) {
            return Ok(());
        }
        self.connection = None;
        if !std::mem::take(&mut self.demoted) {
            self.dialer.new_outage();
        }
        self.round(cancel).map(drop)
    }

    /// One walk over the endpoints.
    ///
    /// Blocks for at most `connect_timeout`, `auth_timeout_ms` and `server_info_timeout_ms` per endpoint.
    ///
    /// Returns what happened at the endpoints that were tried before the one that will do.
    pub(super) fn round(
        &mut self,
        cancel: &CancelHandle,
    ) -> std::result::Result<Vec<EndpointFailure>, NotConnected> {
        self.demoted = false;
        let mut stale_wakes = 0;
        loop {
            if cancel.is_cancelled() {
                return Err(NotConnected::Cancelled);
            }
            match self.try_round() {
                Err(failure) if failure.interrupted && stale_wakes < STALE_WAKES => stale_wakes += 1,
                Err(failure) => return Err(NotConnected::Nobody(failure)),
                Ok(passed) => return Ok(passed),
            }
        }
    }

    fn try_round(&mut self) -> std::result::Result<Vec<EndpointFailure>, RoundFailure> {
        let Session { settings, clock, dialer, wake, .. } = self;
        let mut greeting = None;
        let connected = dialer.round(wake, &mut |link| {
            let timeout = settings.server_info_timeout;
            greeting = Some(greet(link, settings.dial.target, wake, &**clock, timeout)?);
            Ok(())
        })?;
        let Some(greeting) = greeting else {
            let error = Error::new(ErrorKind::Bug, "connected without a SERVER_INFO");
            return Err(RoundFailure { error, all_role_rejected: false, interrupted: false });
        };
        dialer.zone_seen(connected.endpoint, greeting.zone_id.as_deref());
        let name = dialer.endpoint(connected.endpoint).to_string();
        let info = Arc::new(ServerInfo::new(name, greeting));
        log::debug!("query client connected to {} ({})", info.endpoint, info.role);
        let full_rows = settings.full_rows;
        self.connection =
            Some(Connection::new(connected.link, clock.clone(), connected.endpoint, info, full_rows));
        Ok(connected.passed)
    }

    /// The connection broke: it is dropped, and its host demoted (QFO-01).
    pub(super) fn lose(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.dialer.broke(connection.endpoint());
            self.demoted = true;
        }
    }

    /// Drops the connection; its host is not to blame.
    pub(super) fn abandon(&mut self) {
        self.connection = None;
    }

    /// Sleeps, but not past `deadline` or a cancel.
    pub(super) fn pause(&self, pause: Duration, cancel: &CancelHandle, deadline: Deadline) {
        let end = Deadline::after(self.clock.now(), pause).min(deadline);
        while !cancel.is_cancelled() {
            match end.remaining(self.clock.now()) {
                Some(Duration::ZERO) => return,
                left => self.clock.sleep(left.map_or(PAUSE_PIECE, |left| left.min(PAUSE_PIECE))),
            }
        }
    }

    /// Lets another thread end the request `id` and read its result to the end, for at most
    /// `query_close_timeout_ms` (QRY-07). The next query waits for that.
    pub(super) fn hand_off(&mut self, id: i64) {
        let Some(mut connection) = self.connection.take() else { return };
        if connection.take_back() {
            self.connection = Some(connection);
            return;
        }
        let Ok(own_wake) = Wake::new() else { return };
        let (wake, timeout) = (self.wake.clone(), self.settings.close_timeout);
        let (done, draining) = bounded(1);
        let thread = std::thread::Builder::new().name("qwp-drain".into()).spawn(move || {
            let on_panic = FireOnPanic(wake.clone());
            let done = done;
            let usable = connection.wind_down(id, &own_wake, timeout);
            // In this order: `collect` relies on it.
            let _ = done.send(usable.then_some(connection));
            wake.fire();
            drop(done);
            drop(on_panic);
        });
        // Without a thread the connection is closed instead.
        self.draining = thread.is_ok().then_some(draining);
    }

    /// Takes the connection back from a thread that drains it, if there is one.
    fn collect(&mut self, cancel: &CancelHandle) -> std::result::Result<(), NotConnected> {
        while let Some(draining) = &self.draining {
            match draining.try_recv() {
                Ok(connection) => {
                    self.connection = connection;
                    // The thread fires the wake-up before it ends the channel: it is taken here, and not
                    // in the middle of a walk.
                    let _ = draining.recv();
                    self.wake.drain();
                    self.draining = None;
                }
                Err(TryRecvError::Disconnected) => self.draining = None,
                Err(TryRecvError::Empty) if cancel.is_cancelled() => return Err(NotConnected::Cancelled),
                // That thread has a limit of its own.
                Err(TryRecvError::Empty) => {
                    if self.wake.wait(Deadline::NEVER).is_err() {
                        self.draining = None;
                    }
                }
            }
        }
        Ok(())
    }
}
