//! For those who prefer callbacks to a cursor (QRY-04).

use super::batch::Batch;
use super::cursor::{Advance, Cursor};
use super::executed::Executed;
use super::info::ServerInfo;
use crate::error::{Error, Result};

/// Is handed the result of a query, on the thread that runs it, see [`Query::run_with`](crate::Query::run_with).
///
/// The client is borrowed meanwhile, so that no callback can run another query on it.
pub trait BatchHandler {
    /// Rows came: at least one.
    ///
    /// # Errors
    ///
    /// An error ends the query, and is returned from `run_with`.
    fn on_batch(&mut self, batch: Batch) -> Result<()>;

    /// The result is complete.
    fn on_end(&mut self) {}

    /// The statement had no result.
    fn on_exec_done(&mut self, done: Executed) {
        let _ = done;
    }

    /// The query failed; nothing follows.
    fn on_error(&mut self, error: &Error) {
        let _ = error;
    }

    /// The query runs again from its start, on that node: discard the rows that came before.
    fn on_failover_reset(&mut self, node: &ServerInfo) {
        let _ = node;
    }
}

/// Reads a cursor to its end.
pub(super) fn drive(mut cursor: Cursor<'_>, handler: &mut dyn BatchHandler) -> Result<()> {
    let mut delivered = false;
    loop {
        let advance = match cursor.advance() {
            Ok(advance) => advance,
            Err(error) => {
                handler.on_error(&error);
                return Err(error);
            }
        };
        match advance {
            Advance::Batch(batch) => {
                delivered = true;
                handler.on_batch(batch)?;
            }
            Advance::Restarted => {
                if std::mem::take(&mut delivered)
                    && let Some(node) = cursor.server_info()
                {
                    handler.on_failover_reset(node);
                }
            }
            Advance::End => break,
        }
    }
    match cursor.executed() {
        Some(done) => handler.on_exec_done(done),
        None => handler.on_end(),
    }
    Ok(())
}
