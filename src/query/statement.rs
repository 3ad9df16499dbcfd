//! A query that is being put together.

use super::binds::BindValue;
use super::cancel::CancelHandle;
use super::cursor::{Advance, Cursor, OnReset};
use super::executed::Executed;
use super::execution::{Execution, Plan, Purpose};
use super::handler::{BatchHandler, drive};
use super::info::ServerInfo;
use super::request::Prepared;
use super::result::QueryResult;
use super::session::Session;
use crate::error::{Error, Result};
use crate::time::Deadline;
use crate::wire::request::Bind;
use std::fmt;
use std::time::Duration;

/// With `query_timeout_ms` the server ends the query itself; if it does not answer within that much
/// more, the client does.
const SERVER_GRACE: Duration = Duration::from_millis(500);

/// A query that is being put together. Nothing is sent before [`Query::run`] or one of its siblings.
#[must_use = "nothing is sent before it is run"]
pub struct Query<'c> {
    session: &'c mut Session,
    sql: String,
    binds: Vec<Bind<'static>>,
    /// The first value that could not be bound.
    error: Option<Error>,
    reset_dict: bool,
    timeout: Option<Duration>,
    idempotent: bool,
    on_reset: Option<OnReset<'c>>,
    cancel: CancelHandle,
}

impl<'c> Query<'c> {
    pub(super) fn new(session: &'c mut Session, sql: &str) -> Query<'c> {
        // What was fired for an earlier query is none of this one's.
        session.wake().drain();
        Query {
            cancel: CancelHandle::new(session.wake().clone()),
            session,
            sql: sql.to_owned(),
            binds: Vec::new(),
            error: None,
            reset_dict: false,
            timeout: None,
            idempotent: false,
            on_reset: None,
        }
    }

    /// Binds the next placeholder: the first call `$1`, the second `$2` and so on, 1,024 at most
    /// (QRY-03). A value that cannot be bound is reported when the query is run.
    pub fn bind(mut self, value: impl BindValue) -> Query<'c> {
        match value.into_bind() {
            Ok(bound) => self.binds.push(bound.0),
            Err(error) => {
                self.error.get_or_insert(error.with("bind", self.binds.len() + 1));
            }
        }
        self
    }

    /// Has the server empty the connection's symbol dictionary first, which frees memory at both ends.
    /// Fails if the server does not announce that it can (QRY-11).
    pub fn reset_dict(mut self) -> Query<'c> {
        self.reset_dict = true;
        self
    }

    /// Bounds the whole execution by the client's clock: connecting, waiting and reading. When it
    /// passes, the query is cancelled, and the call returns `Timeout`; there is no failover (QRY-17). An
    /// attempt to connect that is under way is not cut short. Default: none.
    pub fn timeout(mut self, timeout: Duration) -> Query<'c> {
        self.timeout = Some(timeout);
        self
    }

    /// Calls `tell` with the new node when the query is run again after rows were delivered, before any
    /// of them comes again: discard what you have. Without it such a restart is an error,
    /// `FailoverWouldDuplicate` (QFO-02).
    pub fn on_failover_reset(mut self, tell: impl FnMut(&ServerInfo) + Send + 'c) -> Query<'c> {
        self.on_reset = Some(Box::new(tell));
        self
    }

    /// Declares that the statement may be run twice without harm: [`Query::execute`] then sends it
    /// again when the connection is lost (QFO-07).
    pub fn idempotent(mut self) -> Query<'c> {
        self.idempotent = true;
        self
    }

    /// Cancels this execution from any thread, also while it still connects.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Connects if need be, sends the query and returns its cursor, without waiting for the answer.
    ///
    /// Blocks while connecting: one walk over the endpoints, without a pause. What the server says of
    /// the statement comes from the cursor. The published contract of `query` is that any statement is
    /// sent again when the connection is lost; for statements that write, use [`Query::execute`].
    ///
    /// # Errors
    ///
    /// `InvalidValue`, `TooLarge`: a bind, the SQL or the request. `InvalidCall`: the server does not
    /// support an option. `Transport`, `Auth`, `RoleMismatch`, `ProtocolVersion`: no connection.
    /// `Cancelled`.
    pub fn run(mut self) -> Result<Cursor<'c>> {
        let on_reset = self.on_reset.take();
        let execution = self.start(Purpose::Rows, on_reset.is_some())?;
        Ok(Cursor::new(execution, on_reset))
    }

    /// Runs a statement for its effect (DDL, INSERT, UPDATE) and waits for its end.
    ///
    /// It is sent again after a lost connection only if it had not left yet, or was declared
    /// [`idempotent`](Query::idempotent).
    ///
    /// # Errors
    ///
    /// As [`Query::run`] and [`Cursor::next_batch`]; [`Error::in_doubt`] tells whether the statement may
    /// have run. `InvalidCall` if it returns rows: those are discarded.
    pub fn execute(self) -> Result<Executed> {
        let idempotent = self.idempotent;
        let execution = self.start(Purpose::Effect { idempotent }, true)?;
        Cursor::new(execution, None).finish()
    }

    /// Runs the query and keeps all of its result, for results that are known to be small.
    ///
    /// A restart discards what had come, so that the result is that of one run.
    ///
    /// # Errors
    ///
    /// As [`Query::run`] and [`Cursor::next_batch`]. `TooLarge` if the result has more than
    /// [`QueryResult::MAX_ROWS`] rows.
    pub fn fetch_all(self) -> Result<QueryResult> {
        let execution = self.start(Purpose::Rows, true)?;
        let mut cursor = Cursor::new(execution, None);
        let mut batches = Vec::new();
        loop {
            match cursor.advance()? {
                Advance::Batch(batch) => batches.push(batch),
                Advance::Restarted => batches.clear(),
                Advance::End => break,
            }
            QueryResult::check(&batches)?;
        }
        Ok(QueryResult::new(cursor.shared_schema(), batches))
    }

    /// Runs the query and hands what comes to `handler`, on this thread, until the end.
    ///
    /// # Errors
    ///
    /// As [`Query::run`] and [`Cursor::next_batch`]; the handler saw the error before.
    pub fn run_with(self, handler: &mut dyn BatchHandler) -> Result<()> {
        match self.start(Purpose::Rows, true) {
            Ok(execution) => drive(Cursor::new(execution, None), handler),
            Err(error) => {
                handler.on_error(&error);
                Err(error)
            }
        }
    }

    fn start(self, purpose: Purpose, hears_of_restarts: bool) -> Result<Execution<'c>> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let settings = self.session.settings();
        let server_timeout = settings.query_timeout;
        let now = self.session.clock().now();
        let after = |timeout: Duration| Deadline::after(now, timeout);
        let own = self.timeout.map_or(Deadline::NEVER, after);
        let served = server_timeout.map_or(Deadline::NEVER, |t| after(t.saturating_add(SERVER_GRACE)));
        let credit = settings.initial_credit;
        let plan = Plan {
            prepared: Prepared::new(self.sql, self.binds, credit, self.reset_dict, server_timeout)?,
            purpose,
            deadline: own.min(served),
            hears_of_restarts,
            cancel: self.cancel,
        };
        Execution::start(self.session, plan)
    }
}

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("sql", &self.sql)
            .field("binds", &self.binds.len())
            .finish_non_exhaustive()
    }
}
