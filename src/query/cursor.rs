//! The result of a query, batch by batch.

use super::batch::Batch;
use super::cancel::CancelHandle;
use super::executed::Executed;
use super::execution::{Execution, Step};
use super::info::ServerInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::egress::Schema;
use std::fmt;
use std::sync::Arc;

/// Told of the node on which a query runs again.
pub(super) type OnReset<'c> = Box<dyn FnMut(&ServerInfo) + Send + 'c>;

/// The result of a query, pulled batch by batch on the caller's thread.
///
/// Dropping it before its end cancels the query; another thread reads what is still under way, for at
/// most `query_close_timeout_ms`, and the client's next query waits for that (QRY-07).
pub struct Cursor<'c> {
    execution: Execution<'c>,
    on_reset: Option<OnReset<'c>>,
    /// Read ahead for the schema.
    ahead: Option<Batch>,
}

/// What came next, for those who want to hear of restarts.
#[derive(Debug)]
pub(super) enum Advance {
    Batch(Batch),
    /// What came before is void.
    Restarted,
    End,
}

impl<'c> Cursor<'c> {
    pub(super) fn new(execution: Execution<'c>, on_reset: Option<OnReset<'c>>) -> Cursor<'c> {
        Cursor { execution, on_reset, ahead: None }
    }

    /// The next rows, or `None` at the end, however often it is asked (QRY-12). A batch has at least
    /// one row: what a server sends without rows is skipped.
    ///
    /// Blocks until the server sends something. A server that is alive and silent is waited for without
    /// bound, since a statement may run long, unless the query was given a
    /// [`timeout`](crate::Query::timeout); a dead one is noticed by TCP within half a minute (QRY-17).
    /// If the connection breaks and `failover=on`, it connects anew and runs the query again, within
    /// `failover_max_duration_ms` and `failover_max_attempts`.
    ///
    /// # Errors
    ///
    /// The same error again each time once one was returned, so that a broken result is never taken for
    /// a whole one. `Query`: the server answered so. `Cancelled`. `Timeout`. `Transport`,
    /// `ProtocolViolation`: the connection was lost, and could not be restored within the bounds.
    /// `FailoverWouldDuplicate`: it was lost after rows had been delivered, and there is no
    /// [`on_failover_reset`](crate::Query::on_failover_reset). `Auth`, `RoleMismatch`: from the new
    /// connection.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        loop {
            match self.advance()? {
                Advance::Batch(batch) => return Ok(Some(batch)),
                Advance::Restarted => {}
                Advance::End => return Ok(None),
            }
        }
    }

    /// The next batch, end, or restart; the listener for restarts was called before.
    pub(super) fn advance(&mut self) -> Result<Advance> {
        if let Some(batch) = self.ahead.take() {
            self.execution.delivered();
            return Ok(Advance::Batch(batch));
        }
        let delivered = self.execution.has_delivered();
        match self.execution.step()? {
            Step::Batch(inner) => {
                self.execution.delivered();
                Ok(Advance::Batch(Batch::new(inner, self.execution.session().spares().clone())))
            }
            Step::Restarted => {
                // Silent as long as there is nothing to discard (QFO-02).
                if delivered
                    && let (Some(tell), Some(info)) = (&mut self.on_reset, self.execution.session().info())
                {
                    tell(info);
                }
                Ok(Advance::Restarted)
            }
            Step::End => Ok(Advance::End),
        }
    }

    /// Names and types of the columns; `None` if the statement ended without a result, such as an
    /// INSERT. Also of a result without rows.
    ///
    /// Blocks until the first batch has come, and keeps it for [`Cursor::next_batch`]. A restart may
    /// bring another schema.
    ///
    /// # Errors
    ///
    /// As [`Cursor::next_batch`].
    pub fn schema(&mut self) -> Result<Option<&Schema>> {
        while self.execution.schema().is_none() && self.ahead.is_none() {
            match self.execution.step()? {
                Step::Batch(inner) => {
                    self.ahead = Some(Batch::new(inner, self.execution.session().spares().clone()));
                }
                Step::Restarted => {}
                Step::End => break,
            }
        }
        Ok(self.execution.schema().map(|schema| &**schema))
    }

    /// Cancels this execution from any thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.execution.cancel().clone()
    }

    /// What the statement did, once it has ended without a result, such as an INSERT run by `query`.
    pub fn executed(&self) -> Option<Executed> {
        self.execution.executed()
    }

    /// How often the query was sent again to another connection.
    pub fn restarts(&self) -> u64 {
        self.execution.restarts()
    }

    /// The server that the query runs on, or ran on last; `None` if the connection is gone.
    pub fn server_info(&self) -> Option<&ServerInfo> {
        self.execution.session().info().map(|info| &**info)
    }

    pub(super) fn shared_schema(&self) -> Option<Arc<Schema>> {
        self.execution.schema().cloned()
    }

    /// Waits for the end of a statement that is run for its effect.
    pub(super) fn finish(mut self) -> Result<Executed> {
        loop {
            match self.advance()? {
                // A SELECT without rows ends so, too.
                Advance::End => break,
                Advance::Batch(_) | Advance::Restarted => {}
            }
        }
        self.execution.executed().ok_or_else(|| {
            Error::new(ErrorKind::InvalidCall, "the statement returns rows").because("run it by `query`")
        })
    }
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("execution", &self.execution).finish_non_exhaustive()
    }
}
