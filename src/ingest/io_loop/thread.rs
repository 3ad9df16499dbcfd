//! The life of the I/O thread.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use super::{IoLoop, Parts};
use crate::error::{Error, ErrorKind};
use crate::ingest::shared::Shared;

/// A running I/O thread.
#[derive(Debug)]
pub(crate) struct Thread {
    shared: Arc<Shared>,
    /// Never gets a message: it is disconnected when the thread ends.
    ended: Receiver<()>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    /// Starts it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(parts: Parts) -> io::Result<Thread> {
        let shared = Arc::clone(&parts.shared);
        let (ending, ended) = bounded(0);
        let io = IoLoop::new(parts);
        let body = move || {
            let _ending = ending;
            live(io);
        };
        let handle = Builder::new().name("qwp-io".to_owned()).spawn(body)?;
        Ok(Thread { shared, ended, handle: Some(handle) })
    }

    /// Ends the thread wherever it is, and all waits. Frames without an acknowledgement stay in the
    /// store. Blocks until the thread has ended, but at most for `limit` (FLUSH-14); returns whether
    /// it has: if not, it is left behind.
    pub(crate) fn stop(&mut self, limit: Duration) -> bool {
        self.shared.ask_to_stop();
        self.shared.ledger.end();
        match self.ended.recv_timeout(limit) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                // A panic was dealt with on the thread itself.
                self.handle.take().map(JoinHandle::join);
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
        }
    }
}

impl Drop for Thread {
    /// Does not wait.
    fn drop(&mut self) {
        self.shared.ask_to_stop();
    }
}

/// The thread's body. A panic becomes a terminal error.
fn live(mut io: IoLoop) {
    let shared = Arc::clone(&io.shared);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| io.run())) {
        let error = Error::new(ErrorKind::Bug, "the I/O thread panicked").because(text(&*panic));
        log::error!("the sender stops: {error}");
        shared.fail(error);
    }
    drop(io);
    shared.link.closed();
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("please report it").to_owned()
}
