//! The producer's half of a sender.

mod storing;

use super::autoflush::AutoFlush;
use super::buffer::Buffer;
use super::delivery::UNKNOWN_CAP_BYTES;
use super::encode::{self, MAX_GROUP_ROWS, Plan};
use super::io_loop::Thread;
use super::reach::Reach;
use super::rows::Row;
use super::shared::Shared;
use super::snapshot::{Counters, Health, LinkState};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Appender, Fsn, Outcome, Storage};
use crate::time::{Clock, Deadline};
use std::sync::Arc;
use std::time::Duration;

/// How long stopping the I/O thread may take beyond a time-out (FLUSH-14).
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Writes rows into QuestDB.
///
/// [`table`](Sender::table) starts a row in the buffer; [`flush`](Sender::flush) puts the finished
/// rows into the local store, from which one thread of its own delivers them: it reconnects, sends
/// again what was not acknowledged, and never gives up because time has passed. Delivery is at
/// least once: only `DEDUP` on the table removes what a lost acknowledgement sends twice.
///
/// A sender is `Send` and not shared: one producer each. Dropping it is [`close`](Sender::close) with
/// its errors logged.
///
/// ```no_run
/// use qwp::{Sender, TimestampNanos};
/// use std::time::Duration;
///
/// let mut sender = Sender::from_conf("ws::addr=localhost:9000;")?;
/// sender
///     .table("trades")
///     .symbol("symbol", "ETH-USD")
///     .column_f64("price", 2615.54)
///     .at(TimestampNanos::now())?;
/// let published = sender.flush()?;
/// sender.wait_acked(published, Duration::from_secs(5))?;
/// sender.close()?;
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug)]
pub struct Sender {
    pub(super) buffer: Buffer,
    appender: Appender,
    plan: Plan,
    /// Dictionary entries that published frames carry.
    published_symbols: u32,
    reach: Reach,
    auto_flush: AutoFlush,
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Arc<dyn Clock>,
    settings: Settings,
    io: Option<Thread>,
    /// The slot on disk, if the store is in one.
    storage: Option<Storage>,
    state: State,
}

/// What a sender was configured to do.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) append_deadline: Duration,
    /// Zero skips the wait.
    pub(crate) close_timeout: Duration,
    pub(crate) transaction: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// A call has returned the terminal error: `close` need not.
    ToldTerminal,
    Closed,
}

impl Sender {
    pub(crate) fn new(
        buffer: Buffer,
        appender: Appender,
        auto_flush: AutoFlush,
        shared: Arc<Shared>,
        clock: Arc<dyn Clock>,
        settings: Settings,
        io: Option<Thread>,
    ) -> Sender {
        let published_symbols = buffer.symbols.len();
        Sender {
            buffer,
            appender,
            plan: Plan::default(),
            published_symbols,
            reach: Reach::default(),
            auto_flush,
            shared,
            clock,
            settings,
            io,
            storage: None,
            state: State::Open,
        }
    }

    /// Keeps its store in this slot, if there is one.
    pub(crate) fn in_slot(mut self, storage: Option<Storage>) -> Sender {
        self.storage = storage;
        if self.storage.as_ref().is_some_and(Storage::is_dense) {
            self.plan.dense = true;
            self.published_symbols = 0;
        }
        self
    }

    /// Starts a row of a table. Nothing of it counts before [`Row::at`] or [`Row::at_now`].
    #[inline]
    pub fn table(&mut self, table: &str) -> Row<'_> {
        Row::start(self, table)
    }

    /// Declares how many digits after the point a decimal column has, for this sender's life: before
    /// its first value, or equal to what that has set (FLUSH-22).
    ///
    /// # Errors
    ///
    /// `InvalidCall` if the column has another scale already; `InvalidValue` above 76.
    pub fn decimal_scale(&mut self, table: &str, column: &str, scale: u8) -> Result<()> {
        const MAX_SCALE: u8 = 76;
        self.check_usable()?;
        if scale > MAX_SCALE {
            return Err(Error::new(ErrorKind::InvalidValue, "scale too large")
                .with("scale", scale)
                .because(format!("a decimal has at most {MAX_SCALE} digits after the point")));
        }
        self.buffer.declare_scale(table, column, scale)
    }

    /// Puts all finished rows into the store and returns the highest frame number published so far,
    /// `None` if there never was one. Does not wait for the server: see
    /// [`wait_acked`](Sender::wait_acked) (FLUSH-01).
    ///
    /// Blocks only while the store is full, at most `sf_append_deadline_millis`. A large batch is cut
    /// into several frames that the server commits as one (FLUSH-03).
    ///
    /// # Errors
    ///
    /// `BackPressure` when the store stayed full: all rows stay in the buffer (FLUSH-04), but those of
    /// commit groups stored before, if a batch of a million rows or more was cut into several.
    /// `TooLarge` for a batch that the whole store cannot hold. The terminal error, once there is one.
    pub fn flush(&mut self) -> Result<Option<Fsn>> {
        self.check_usable()?;
        self.publish()?;
        Ok(self.shared.ledger.published())
    }

    /// Waits until the server has acknowledged everything up to `published`; `None` at once. An
    /// acknowledgement means committed, not yet visible to queries.
    ///
    /// Blocks at most `timeout`; zero looks once.
    ///
    /// # Errors
    ///
    /// `Timeout`, which is [in doubt](crate::Error::in_doubt) and changes nothing: the rows are on
    /// their way, do not send them again. `InvalidCall` for a number that was never published. The
    /// terminal error, once there is one.
    pub fn wait_acked(&mut self, published: impl Into<Option<Fsn>>, timeout: Duration) -> Result<()> {
        if self.state == State::Closed {
            return Err(closed());
        }
        let Some(fsn) = published.into() else { return Ok(()) };
        if self.shared.ledger.published() < Some(fsn) {
            return Err(Error::new(ErrorKind::InvalidCall, "frame was never published").with("fsn", fsn));
        }
        self.wait(fsn, Deadline::after(self.clock.now(), timeout))
    }

    /// [`flush`](Sender::flush), then waits until everything published is acknowledged.
    ///
    /// Blocks at most as long as `flush` does, and then `timeout`; zero looks once.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub fn drain(&mut self, timeout: Duration) -> Result<()> {
        let published = self.flush()?;
        self.wait_acked(published, timeout)
    }

    /// Flushes, waits up to `close_flush_timeout_millis` for acknowledgements, and stops the I/O
    /// thread, which takes at most a second more. Then a slot on disk is left: empty if everything was
    /// acknowledged, else with a last sync if `sf_durability` asks for one, which may take 5 seconds more.
    /// Later calls return `Closed`; a second `close` does nothing (FLUSH-07, FLUSH-13).
    ///
    /// # Errors
    ///
    /// `Timeout` with what is left, and whether it is on disk or lost. What `flush` fails with, and the
    /// rows that are lost by that. `Store` if the files could not be put in order. The terminal error,
    /// unless a call has returned it before. `InvalidCall` under `transaction=on` for rows that were
    /// pending: they are discarded, the error counts them (FLUSH-12).
    pub fn close(&mut self) -> Result<()> {
        if self.state == State::Closed {
            return Ok(());
        }
        // Flush and wait share the time-out.
        let deadline = Deadline::after(self.clock.now(), self.settings.close_timeout);
        self.settings.append_deadline = self.settings.append_deadline.min(self.settings.close_timeout);
        let flushed = self.flush_for_close();
        if let Some(last) = self.shared.ledger.published() {
            // What is left is counted below, for every way in which the wait can end.
            let _ = self.shared.ledger.wait_acked(last, deadline, &*self.clock);
        }
        let told = self.state == State::ToldTerminal;
        // Before the thread ends, and with it the connection.
        let link = self.link_text();
        self.state = State::Closed;
        let stopped = self.io.take().is_none_or(|mut io| io.stop(STOP_GRACE));
        if !stopped {
            log::error!("the I/O thread did not end within {} ms and is left behind", STOP_GRACE.as_millis());
        }
        // CLOSE-06: the files come first.
        let left = self.shared.ledger.unacked();
        let fate = self.fate();
        let files = self.close_files(stopped, deadline);
        match (self.shared.terminal(), flushed) {
            (Some(terminal), _) if !told => Err(terminal.clone()),
            (_, Err(e)) => Err(self.not_flushed(e, left, &link, &fate)),
            (_, Ok(())) if left > 0 => Err(left_behind(left, &link, &fate)),
            (_, Ok(())) => files,
        }
    }

    /// Leaves the slot in order, if the store is in one.
    fn close_files(&mut self, stopped: bool, deadline: Deadline) -> Result<()> {
        self.appender.close();
        let Some(storage) = self.storage.take() else { return Ok(()) };
        if !stopped {
            // A thread that may still work with the files keeps the lock (LOCK-11).
            return Ok(());
        }
        let left = deadline.remaining(self.clock.now()).unwrap_or(self.settings.close_timeout);
        storage.close(left).inspect_err(|e| log::error!("closing the slot: {e}"))
    }

    /// Forgets the rows that were not flushed.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.auto_flush.flushed();
    }

    /// Finished rows that were not flushed yet.
    pub fn pending_rows(&self) -> usize {
        self.buffer.rows
    }

    /// The highest frame in the store, `None` if there never was one.
    pub fn published(&self) -> Option<Fsn> {
        self.shared.ledger.published()
    }

    /// The frame up to which the server has acknowledged everything.
    pub fn acked(&self) -> Option<Fsn> {
        self.shared.ledger.acked()
    }

    /// Whether a connection was ever established (INIT-03).
    pub fn was_ever_connected(&self) -> bool {
        self.shared.was_ever_connected()
    }

    /// The frame up to which everything is on stable storage: with `sf_durability=append` what was
    /// flushed, with `periodic` what the last sync of the files reached. Without either nobody asks for
    /// that, and it is `None` (DUR-01).
    pub fn durable(&self) -> Option<Fsn> {
        self.shared.ledger.durable()
    }

    /// How the sender is doing: whether there is a connection, since when there is none, and why.
    pub fn health(&self) -> Health {
        self.shared.link.health(self.clock.now())
    }

    /// What the sender has done since it was built.
    pub fn counters(&self) -> Counters {
        self.shared.tally.read()
    }

    /// What keeps the server from acknowledging, for the texts of errors (PUB-15).
    fn link_text(&self) -> String {
        let health = self.health();
        let failure = health.last_failure.map_or_else(String::new, |e| format!("; last failure: {e}"));
        let endpoint = health.endpoint.unwrap_or_default();
        match (health.state, health.outage) {
            (LinkState::Connected, _) => {
                format!("connected to {endpoint}: the server is slower than the producer")
            }
            (_, Some(outage)) => format!(
                "no connection for {:.1} s, {} rounds over the endpoints failed{failure}",
                outage.as_secs_f64(),
                health.failed_rounds
            ),
            (_, None) => format!("no connection{failure}"),
        }
    }

    /// Whether a producer call makes sense.
    #[inline]
    pub(super) fn check_usable(&mut self) -> Result<()> {
        if self.state == State::Open && self.shared.terminal().is_none() {
            return Ok(());
        }
        Err(self.unusable())
    }

    #[cold]
    fn unusable(&mut self) -> Error {
        match self.shared.terminal() {
            Some(terminal) if self.state != State::Closed => {
                self.state = State::ToldTerminal;
                terminal.clone()
            }
            _ => closed(),
        }
    }

    /// Whether there is room for more rows of that weight together.
    #[inline(always)]
    pub(super) fn check_rows(&self, table: usize, rows: usize, weight: usize) -> Result<()> {
        if self.buffer.bytes.saturating_add(weight) > self.buffer.max_bytes() {
            return Err(self.too_many_bytes());
        }
        if self.settings.transaction { self.check_transaction(table, rows) } else { Ok(()) }
    }

    #[cold]
    fn too_many_bytes(&self) -> Error {
        Error::new(ErrorKind::TooLarge, "pending rows outgrow max_buf_size")
            .with("rows", self.buffer.rows)
            .with("bytes", self.buffer.bytes)
            .because(format!("{} are allowed; flush, and add this again", self.buffer.max_bytes()))
    }

    fn check_transaction(&self, table: usize, rows: usize) -> Result<()> {
        if self.buffer.tables.get(table).is_some_and(|table| table.pending() + rows > MAX_GROUP_ROWS) {
            return Err(Error::new(ErrorKind::TooLarge, "too many rows in a transaction").because(
                "a server commits by itself at 1000000 rows of a table; flush, and add this row again",
            ));
        }
        Ok(())
    }

    /// Whether the row that was just finished fits a frame of its own.
    pub(super) fn row_fits(&self, table: usize) -> Result<()> {
        let limit = self.row_limit();
        let bytes = encode::last_row_bytes(&self.buffer, table, self.published_symbols);
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::new(ErrorKind::TooLarge, "row too large").with("bytes", bytes).because(format!(
            "a message has at most {limit} bytes, by the server's cap and the segment's size"
        )))
    }

    /// A row was added. Flushes if it is time.
    #[inline(always)]
    pub(super) fn row_finished(&mut self, weight: usize) -> Result<()> {
        self.buffer.rows += 1;
        self.buffer.bytes += weight;
        if self.auto_flush.is_due(self.buffer.rows, self.buffer.bytes, &*self.clock) {
            return self.publish_finished();
        }
        Ok(())
    }

    #[inline(never)]
    fn publish_finished(&mut self) -> Result<()> {
        self.publish().map_err(Error::doubtful)
    }

    /// Rows were added all at once: flushes them.
    pub(super) fn rows_finished(&mut self, rows: usize, weight: usize) -> Result<Option<Fsn>> {
        self.buffer.rows += rows;
        self.buffer.bytes += weight;
        if !self.settings.transaction {
            self.publish().map_err(Error::doubtful)?;
        }
        Ok(self.shared.ledger.published())
    }

    /// The largest message that may be sent now.
    #[inline(always)]
    pub(super) fn row_limit(&self) -> usize {
        let by_server = self.shared.cap().unwrap_or(UNKNOWN_CAP_BYTES as u64);
        usize::try_from(by_server).unwrap_or(usize::MAX).min(self.appender.max_frame())
    }

    /// The size that frames are cut to (FLUSH-03).
    fn frame_limit(&self) -> usize {
        let by_server = usize::try_from(self.shared.frame_limit()).unwrap_or(usize::MAX);
        by_server.min(self.appender.max_frame() / 2)
    }

    fn wait(&mut self, fsn: Fsn, deadline: Deadline) -> Result<()> {
        match self.shared.ledger.wait_acked(fsn, deadline, &*self.clock) {
            Outcome::Reached => Ok(()),
            Outcome::TimedOut => Err(Error::new(ErrorKind::Timeout, "not acknowledged in time")
                .with("frames left", self.shared.ledger.unacked())
                .because(format!("{}; the rows are stored and stay on their way", self.link_text()))
                .doubtful()),
            Outcome::Ended => Err(self.unusable()),
        }
    }

    fn flush_for_close(&mut self) -> Result<()> {
        let rows = self.buffer.rows;
        if self.settings.transaction && rows > 0 {
            self.clear();
            return Err(Error::new(ErrorKind::InvalidCall, "pending rows discarded")
                .with("rows", rows)
                .because("under transaction=on only flush publishes rows"));
        }
        if self.shared.terminal().is_some() { Ok(()) } else { self.publish() }
    }

    /// What becomes of frames that the server did not get (FLUSH-07, CLOSE-04).
    fn fate(&self) -> String {
        match &self.storage {
            None => "what the server did not get is lost, as the store is in memory".to_owned(),
            Some(storage) => format!(
                "what the server did not get is on disk, with {} bytes of segments in {}: the next sender of this slot delivers it",
                self.shared.ledger.bytes_used(),
                storage.dir().display()
            ),
        }
    }

    /// The error of the flush in `close`: with it are lost the rows, and maybe what was on its way.
    #[cold]
    fn not_flushed(&self, error: Error, left: u64, link: &str, fate: &str) -> Error {
        let mut error = match error.kind() {
            ErrorKind::BackPressure => error.because(format!("{link}; {fate}")),
            _ => error,
        };
        if self.buffer.rows > 0 {
            error = error.with("rows lost", self.buffer.rows);
        }
        match left {
            0 => error,
            left => error.with("frames left", left).doubtful(),
        }
    }
}

#[cold]
fn left_behind(frames: u64, link: &str, fate: &str) -> Error {
    Error::new(ErrorKind::Timeout, "closed before everything was acknowledged")
        .with("frames left", frames)
        .because(format!("{link}; {fate}"))
        .doubtful()
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let Err(e) = self.close() {
            log::error!("sender dropped: {e}");
        }
    }
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the sender is closed")
}
