//! One execution of a query: what its messages mean, and what a broken connection means for it.
//!
//! ```text
//!             +-- batch --> (caller) --+
//!             v                        |
//!  submit -> Running ------------------+
//!             |  | \-- RESULT_END, EXEC_DONE -------------> Ended   (sticky, QRY-12)
//!             |  +---- QUERY_ERROR, cancel, time-out -----> Failed  (sticky)
//!             +------- connection lost --> restart --+
//!             ^                                      |  budget used up, may not be repeated --> Failed
//!             +------- submit to another <-----------+
//! ```

use super::cancel::CancelHandle;
use super::connection::Received;
use super::executed::{Executed, OpType};
use super::failover::{Failover, Next};
use super::lost::Lost;
use super::refusal;
use super::request::Prepared;
use super::session::{NotConnected, Session};
use crate::error::{EndpointFailure, Error, ErrorKind, Result};
use crate::time::Deadline;
use crate::wire::egress::{Batch, BatchHead, Event, Schema, event};
use crate::wire::reader::WireError;
use crate::wire::request::Request;
use std::sync::Arc;
use std::time::Duration;

/// A CANCELLED that nobody asked for, and the end of the connection within this time: a server that
/// shuts down (QFO-01).
const SHUTDOWN_WITHIN: Duration = Duration::from_millis(200);

/// What a statement is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// For its rows: may be run again.
    Rows,
    /// For its effect: is run again only if that can do no harm (QFO-07).
    Effect { idempotent: bool },
}

/// What the caller wants of an execution.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) prepared: Prepared,
    pub(super) purpose: Purpose,
    /// By the client's clock (QRY-17).
    pub(super) deadline: Deadline,
    /// Whether the caller learns of a restart before replayed rows (QFO-02).
    pub(super) hears_of_restarts: bool,
    pub(super) cancel: CancelHandle,
}

/// What came next.
#[derive(Debug)]
pub(super) enum Step {
    /// Rows, at least one.
    Batch(Batch),
    /// The query runs again from its start, on another connection. What came before is void.
    Restarted,
    /// Nothing more.
    End,
}

#[derive(Debug)]
enum State {
    Running,
    Ended(Option<Executed>),
    Failed(Error),
}

/// Why no further message is read on this connection.
enum Stop {
    /// The server answered with an error; the connection can be used again.
    Refused(Error),
    Lost(Lost),
    Cancelled,
    TimedOut,
    /// A statement that was run for its effect has rows.
    HasRows,
    Failed(Error),
}

impl From<Lost> for Stop {
    fn from(lost: Lost) -> Stop {
        Stop::Lost(lost)
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Stop {
        Stop::Lost(Lost::Garbled(error))
    }
}

/// One execution of a query.
#[derive(Debug)]
pub(super) struct Execution<'c> {
    session: &'c mut Session,
    plan: Plan,
    /// None: `failover=off`.
    failover: Option<Failover>,
    /// The last failure of each endpoint, in the order of the first.
    failures: Vec<EndpointFailure>,
    /// Of the request on the connection that is there now.
    id: i64,
    /// The caller holds rows of the run that a restart would void.
    delivered: bool,
    /// A whole request has left at least once.
    may_have_run: bool,
    schema: Option<Arc<Schema>>,
    restarts: u64,
    state: State,
}

impl<'c> Execution<'c> {
    /// Connects if need be, and sends the request; does not wait for an answer.
    pub(super) fn start(session: &'c mut Session, plan: Plan) -> Result<Execution<'c>> {
        session.counters().query();
        match session.ready(&plan.cancel) {
            Ok(()) => {}
            Err(NotConnected::Cancelled) => return Err(cancelled()),
            Err(NotConnected::Nobody(failure)) => return Err(failure.error),
        }
        let settings = &session.settings().failover;
        let failover = settings.enabled.then(|| Failover::new(settings));
        let mut execution = Execution {
            session,
            plan,
            failover,
            failures: Vec::new(),
            id: 0,
            delivered: false,
            may_have_run: false,
            schema: None,
            restarts: 0,
            state: State::Running,
        };
        match execution.submit() {
            Ok(()) => Ok(execution),
            Err(error) => Err(execution.fail(error)),
        }
    }

    pub(super) fn cancel(&self) -> &CancelHandle {
        &self.plan.cancel
    }

    pub(super) fn session(&self) -> &Session {
        self.session
    }

    /// The schema of the run, once its first batch has come.
    pub(super) fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    pub(super) fn restarts(&self) -> u64 {
        self.restarts
    }

    /// What EXEC_DONE said, if the statement ended so.
    pub(super) fn executed(&self) -> Option<Executed> {
        match self.state {
            State::Ended(executed) => executed,
            State::Running | State::Failed(_) => None,
        }
    }

    /// The caller got rows: a restart voids them.
    pub(super) fn delivered(&mut self) {
        self.delivered = true;
    }

    /// Whether the caller holds rows of the run.
    pub(super) fn has_delivered(&self) -> bool {
        self.delivered
    }

    /// What comes next. Ends are sticky (QRY-12).
    ///
    /// Blocks until the server sends something, the deadline passes or the query is cancelled.
    pub(super) fn step(&mut self) -> Result<Step> {
        match &self.state {
            State::Running => {}
            State::Ended(_) => return Ok(Step::End),
            State::Failed(error) => return Err(error.clone()),
        }
        let error = match self.exchange() {
            Ok(step) => return Ok(step),
            Err(Stop::Lost(lost)) => match self.restart(&lost) {
                Ok(()) => return Ok(Step::Restarted),
                Err(error) => error,
            },
            Err(Stop::Refused(error) | Stop::Failed(error)) => error,
            Err(Stop::Cancelled) => self.wind_down(),
            Err(Stop::TimedOut) => {
                self.give_up();
                self.timed_out()
            }
            Err(Stop::HasRows) => {
                self.give_up();
                Error::new(ErrorKind::InvalidCall, "the statement returns rows").because("run it by `query`")
            }
        };
        Err(self.fail(error))
    }

    fn fail(&mut self, error: Error) -> Error {
        let answered = error.server_status().is_some() || error.kind() == ErrorKind::InvalidCall;
        let effect = matches!(self.plan.purpose, Purpose::Effect { .. });
        let error = if effect && self.may_have_run && !answered { error.doubtful() } else { error };
        self.plan.cancel.close();
        self.state = State::Failed(error.clone());
        error
    }

    fn submit(&mut self) -> Result<()> {
        let (connection, _) = self.session.connection()?;
        self.id = connection.next_id();
        let message = self.plan.prepared.message(self.id, connection.info())?;
        connection.request(message);
        self.schema = None;
        self.delivered = false;
        Ok(())
    }

    /// Reads messages until one concerns the caller.
    fn exchange(&mut self) -> std::result::Result<Step, Stop> {
        loop {
            if self.plan.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let nudge = self.plan.prepared.has_credit();
            let (connection, wake) = self.session.connection().map_err(Stop::Failed)?;
            match connection.receive(wake, self.plan.deadline, nudge)? {
                Received::Message(message) => {
                    self.session.counters().message(message.len());
                    if let Some(step) = self.on_message(message)? {
                        return Ok(step);
                    }
                }
                Received::Woken => {}
                Received::TimedOut => return Err(Stop::TimedOut),
            }
        }
    }

    fn on_message(&mut self, message: Vec<u8>) -> std::result::Result<Option<Step>, Stop> {
        let event = event::read(&message)?;
        let (connection, _) = self.session.connection().map_err(Stop::Failed)?;
        match event {
            Event::Batch(head) => return self.on_batch(&head, message),
            Event::CacheReset { dictionary } => {
                if connection.decoder.batches() > 0 {
                    return Err(Stop::Lost(Lost::Unexpected("a CACHE_RESET between two batches")));
                }
                if dictionary {
                    connection.decoder.reset_dictionary();
                }
            }
            Event::End { request_id, final_seq, .. } => {
                self.expect_id(request_id)?;
                return self.on_end(final_seq).map(Some);
            }
            Event::Done { request_id, op_type, rows_affected } => {
                self.expect_id(request_id)?;
                return self.on_done(op_type, rows_affected).map(Some);
            }
            Event::Failed { request_id, status, message } => {
                // 0 and -1: the server could not tell the request, and there is only one.
                if request_id != 0 && request_id != -1 {
                    self.expect_id(request_id)?;
                }
                return Err(self.on_refusal(status, &message));
            }
            Event::ServerInfo(_) => return Err(Stop::Lost(Lost::Unexpected("a second SERVER_INFO"))),
        }
        connection.recycle(message);
        Ok(None)
    }

    fn expect_id(&self, request_id: i64) -> std::result::Result<(), Stop> {
        if request_id == self.id {
            return Ok(());
        }
        Err(Stop::Lost(Lost::Unexpected("a message for another request")))
    }

    fn on_batch(&mut self, head: &BatchHead, message: Vec<u8>) -> std::result::Result<Option<Step>, Stop> {
        self.expect_id(head.request_id)?;
        let bytes = message.len();
        let (buffer, shell) = self.session.spares().take();
        let (connection, _) = self.session.connection().map_err(Stop::Failed)?;
        if let Some(buffer) = buffer {
            connection.recycle(buffer);
        }
        let batch = connection.decoder.batch(head, message, shell)?;
        self.schema = Some(batch.schema().clone());
        if matches!(self.plan.purpose, Purpose::Effect { .. }) {
            return Err(Stop::HasRows);
        }
        if self.plan.prepared.has_credit() {
            let credit = Request::Credit { request_id: self.id, additional_bytes: bytes as u64 };
            connection.control(&credit);
        }
        self.session.counters().batch(batch.rows(), batch.bytes());
        if batch.rows() == 0 {
            self.session.spares().keep(batch);
            return Ok(None);
        }
        Ok(Some(Step::Batch(batch)))
    }

    fn on_end(&mut self, final_seq: u64) -> std::result::Result<Step, Stop> {
        let (connection, _) = self.session.connection().map_err(Stop::Failed)?;
        if final_seq != connection.decoder.batches().saturating_sub(1) {
            return Err(Stop::Lost(Lost::Unexpected("a RESULT_END that names another last batch")));
        }
        self.end(None)
    }

    fn on_done(&mut self, op_type: u8, rows_affected: Option<u64>) -> std::result::Result<Step, Stop> {
        let (connection, _) = self.session.connection().map_err(Stop::Failed)?;
        if connection.decoder.batches() > 0 {
            return Err(Stop::Lost(Lost::Unexpected("an EXEC_DONE behind batches")));
        }
        self.end(Some(Executed { op_type: OpType::from_wire(op_type), rows_affected }))
    }

    fn end(&mut self, executed: Option<Executed>) -> std::result::Result<Step, Stop> {
        self.plan.cancel.close();
        if self.plan.cancel.is_cancelled() {
            // It was asked for before the end was read: the caller counts on it.
            self.session.counters().cancel();
            return Err(Stop::Refused(cancelled()));
        }
        self.state = State::Ended(executed);
        Ok(Step::End)
    }

    fn on_refusal(&mut self, status: u8, message: &str) -> Stop {
        let asked = self.plan.cancel.is_cancelled();
        let (connection, wake) = match self.session.connection() {
            Ok(there) => there,
            Err(error) => return Stop::Failed(error),
        };
        if status == refusal::CANCELLED && !asked && connection.ends_within(wake, SHUTDOWN_WITHIN) {
            return Stop::Lost(Lost::Shutdown);
        }
        let endpoint = connection.info().endpoint.clone();
        Stop::Refused(refusal::error(self.plan.prepared.sql(), &endpoint, status, message))
    }

    /// Ends the query on the server, waiting for that (QRY-07).
    fn wind_down(&mut self) -> Error {
        self.session.counters().cancel();
        let timeout = self.session.settings().close_timeout;
        let id = self.id;
        let usable = match self.session.connection() {
            Ok((connection, wake)) => {
                self.may_have_run |= connection.request_left();
                connection.wind_down(id, wake, timeout)
            }
            Err(_) => false,
        };
        if !usable {
            self.session.abandon();
        }
        cancelled()
    }

    /// Ends the query on the server, without waiting for it.
    fn give_up(&mut self) {
        self.session.counters().cancel();
        if let Ok((connection, _)) = self.session.connection() {
            self.may_have_run |= connection.request_left();
        }
        self.session.hand_off(self.id);
    }

    fn timed_out(&self) -> Error {
        Error::new(ErrorKind::Timeout, "the query did not end in time")
            .because("it was cancelled; the time-out is that of the call, or query_timeout_ms")
    }

    /// Sees to the query running again after `lost` (QFO).
    fn restart(&mut self, lost: &Lost) -> Result<()> {
        let (connection, _) = self.session.connection()?;
        let left = connection.request_left();
        let endpoint = connection.info().endpoint.clone();
        self.may_have_run |= left;
        self.session.lose();
        self.note(lost.at(&endpoint));
        self.may_restart(lost, left, &endpoint)?;
        log::warn!("query lost its connection to {endpoint}: {}; it is sent again", lost.reason());
        self.reconnect(lost.error(&endpoint))?;
        self.session.counters().restart();
        self.restarts += 1;
        self.submit()
    }

    /// Whether the query may run again at all.
    fn may_restart(&mut self, lost: &Lost, left: bool, endpoint: &str) -> Result<()> {
        if self.plan.cancel.is_cancelled() {
            self.session.counters().cancel();
            return Err(cancelled()); // QFO-09
        }
        let now = self.session.clock().now();
        let error = lost.error(endpoint);
        let Some(failover) = &mut self.failover else { return Err(error) };
        if !failover.lost(lost.is_garbled(), now) {
            return Err(error.with("attempts", failover.attempts()));
        }
        if left && self.plan.purpose == (Purpose::Effect { idempotent: false }) {
            return Err(error.because(
                "the statement may have run, and is not sent again: see what it did, or declare it idempotent",
            ));
        }
        if self.delivered && !self.plan.hears_of_restarts {
            return Err(Error::new(ErrorKind::FailoverWouldDuplicate, "the query cannot be restarted")
                .with("endpoint", endpoint)
                .caused_by(error)
                .because(
                    "rows were delivered already; set on_failover_reset to discard them, or run it again",
                ));
        }
        Ok(())
    }

    /// Walks the endpoints until somebody answers or a bound is reached.
    fn reconnect(&mut self, mut last: Error) -> Result<()> {
        loop {
            if self.plan.cancel.is_cancelled() {
                self.session.counters().cancel();
                return Err(cancelled());
            }
            let now = self.session.clock().now();
            if self.plan.deadline.passed(now) {
                return Err(self.timed_out());
            }
            let Some(failover) = &mut self.failover else { return Err(last) };
            match failover.next(now, self.session.rng()) {
                Next::Pause(pause) => self.session.pause(pause, &self.plan.cancel, self.plan.deadline),
                Next::GiveUp => return Err(self.gave_up(&last)),
                Next::Round => match self.session.round(&self.plan.cancel) {
                    Ok(passed) => {
                        failover.connected(self.session.clock().now());
                        passed.into_iter().for_each(|failure| self.note(failure));
                        return Ok(());
                    }
                    Err(NotConnected::Cancelled) => {}
                    Err(NotConnected::Nobody(failure)) => {
                        failover.found_nobody();
                        failure.error.endpoints().iter().for_each(|failure| self.note(failure.clone()));
                        if failure.all_role_rejected || failure.error.kind() == ErrorKind::Auth {
                            return Err(failure.error); // QFO-04
                        }
                        last = failure.error;
                    }
                },
            }
        }
    }

    #[cold]
    fn gave_up(&self, last: &Error) -> Error {
        let now = self.session.clock().now();
        let (attempts, time) = match &self.failover {
            Some(failover) => (failover.attempts(), failover.time(now)),
            None => (1, Duration::ZERO),
        };
        Error::new(last.kind(), "the query lost its connection and could not be restarted")
            .with("attempts", attempts)
            .with("milliseconds", time.as_millis())
            .at_endpoints(self.failures.clone())
    }

    /// Keeps the last failure of each endpoint.
    fn note(&mut self, failure: EndpointFailure) {
        match self.failures.iter_mut().find(|known| known.endpoint == failure.endpoint) {
            Some(known) => *known = failure,
            None => self.failures.push(failure),
        }
    }
}

impl Drop for Execution<'_> {
    /// A result that was not read to its end is given up.
    fn drop(&mut self) {
        self.plan.cancel.close();
        if let State::Running = self.state {
            self.give_up();
        }
    }
}

#[cold]
fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the query was cancelled")
}
