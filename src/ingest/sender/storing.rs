//! How pending rows get into the store.

use super::super::encode::Plan;
use super::Sender;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Fsn, Outcome, Refused};
use crate::time::Deadline;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a disk that failed is left alone.
const DISK_PAUSE: Duration = Duration::from_secs(1);

impl Sender {
    /// Puts all finished rows into the store. In `append` they last when it returns (DUR-06).
    pub(in crate::ingest) fn publish(&mut self) -> Result<()> {
        if self.buffer.rows == 0 {
            return self.make_durable();
        }
        if let Some(storage) = &self.storage {
            storage.check()?;
        }
        self.buffer.seal();
        let mut plan = std::mem::take(&mut self.plan);
        plan.make(&self.buffer, self.published_symbols, self.frame_limit());
        let stored = (0..plan.groups.len()).try_for_each(|group| self.store(&plan, group));
        self.plan = plan;
        let durable = self.make_durable();
        stored?;
        self.buffer.clear();
        self.auto_flush.flushed();
        durable
    }

    /// Waits until everything published lasts, if that was asked for.
    fn make_durable(&self) -> Result<()> {
        self.storage.as_ref().map_or(Ok(()), |storage| storage.flushed().map_err(Error::doubtful))
    }

    /// Appends one commit group, waiting for room.
    fn store(&mut self, plan: &Plan, group: usize) -> Result<()> {
        let frames = plan.groups.get(group).cloned().unwrap_or_default();
        let rows = self.buffer.rows;
        let bytes = self.append_in_time(plan, &frames)?;
        if !plan.dense {
            self.published_symbols = plan.symbols_after(frames.clone());
        }
        let count = frames.len();
        plan.stored(frames, &mut self.buffer);
        let tally = &self.shared.tally;
        tally.frames_published.add(count as u64);
        tally.bytes_published.add(bytes as u64);
        tally.rows_published.add((rows - self.buffer.rows) as u64);
        self.shared.wake.notify();
        Ok(())
    }

    /// Appends a group, waiting for room in the store or on the disk (FLUSH-04, PUB-11).
    fn append_in_time(&mut self, plan: &Plan, frames: &Range<usize>) -> Result<usize> {
        let mut since = None;
        let result = loop {
            let before = self.shared.ledger.room_epoch();
            let (epoch, trouble) = match self.append(plan, frames) {
                Ok(Ok(bytes)) => break Ok(bytes),
                Ok(Err(Refused::Full { epoch })) => (epoch, None),
                Ok(Err(Refused::Disk(trouble))) => (before, Some(trouble)),
                Ok(Err(refused)) => break Err(refused_for_good(refused)),
                Err(error) => break Err(error),
            };
            let now = self.clock.now();
            let deadline = Deadline::after(*since.get_or_insert(now), self.settings.append_deadline);
            let again = match trouble {
                Some(_) => deadline.min(Deadline::after(now, DISK_PAUSE)),
                None => deadline,
            };
            match self.shared.ledger.wait_room(epoch, again, &*self.clock) {
                Outcome::Reached => {}
                Outcome::TimedOut if !deadline.passed(self.clock.now()) => {}
                Outcome::TimedOut => break Err(self.back_pressure(trouble)),
                Outcome::Ended => break Err(self.unusable()),
            }
        };
        if let Some(start) = since {
            self.count_stall(start);
        }
        result
    }

    fn count_stall(&self, start: Instant) {
        let stalled = self.clock.now().saturating_duration_since(start);
        self.shared.tally.stalls.add(1);
        self.shared.tally.stalled_nanos.add(u64::try_from(stalled.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Appends a group: symbols, then frames (PUB-03). If it is refused nothing has changed (PUB-06).
    fn append(&mut self, plan: &Plan, frames: &Range<usize>) -> Result<std::result::Result<usize, Refused>> {
        let bounds = plan.bounds.get(frames.clone()).unwrap_or_default();
        let mut group = match self.appender.begin(bounds) {
            Ok(group) => group,
            Err(refused) => return Ok(Err(refused)),
        };
        if self.reach.extend(plan.tables(frames.clone(), &self.buffer)) {
            let first = self.shared.ledger.published().map_or(Fsn::FIRST, Fsn::next);
            self.shared.renewals.mark(first);
        }
        let symbols = plan.symbols_after(frames.clone());
        let log = &self.buffer.symbols.log;
        let written = match self.storage.as_ref().map(|storage| storage.write_symbols(log, symbols)) {
            Some(Err(error)) => return Ok(Err(Refused::Disk(error))),
            Some(Ok(written)) => Some(written),
            None => None,
        };
        let mut bytes = 0;
        let mut whole = true;
        for frame in plan.frames.get(frames.clone()).unwrap_or_default() {
            let room = group.frame(frame.bytes_max);
            let Some(length) = room.and_then(|room| plan.write(frame, &self.buffer, room)) else {
                whole = false;
                break;
            };
            group.seal(length);
            bytes += length;
        }
        let result = match whole {
            true => {
                // Before the frames that use them are published.
                self.buffer.symbols.log.publish(symbols);
                Ok(group.publish().map(|_| bytes))
            }
            false => Err(Error::new(ErrorKind::Bug, "a frame outgrew its bound")),
        };
        if !matches!(result, Ok(Ok(_)))
            && let (Some(storage), Some(written)) = (&self.storage, written)
        {
            storage.take_back(written);
        }
        result
    }

    #[cold]
    fn back_pressure(&self, trouble: Option<Error>) -> Error {
        let ledger = &self.shared.ledger;
        let show = |fsn: Option<Fsn>| fsn.map_or_else(|| "none".to_owned(), |fsn| fsn.to_string());
        let e = Error::new(ErrorKind::BackPressure, "the store is full")
            .with("bytes used", ledger.bytes_used())
            .with("of", ledger.bytes_max())
            .with("published", show(ledger.published()))
            .with("acked", show(ledger.acked()));
        match trouble.or_else(|| self.storage.as_ref().and_then(|storage| storage.trouble())) {
            Some(trouble) => e
                .because(format!("disk: {trouble}; the rows stay in the buffer: flush again"))
                .caused_by(trouble),
            None => e.because(format!(
                "{}; the rows stay in the buffer: flush again, or raise sf_max_total_bytes",
                self.link_text()
            )),
        }
    }
}

/// A group that no waiting helps.
#[cold]
fn refused_for_good(refused: Refused) -> Error {
    let e = Error::new(ErrorKind::TooLarge, "batch too large for the store");
    match refused {
        // These were waited for.
        Refused::Full { .. } => Error::new(ErrorKind::Bug, "the store lost its room"),
        Refused::Disk(error) => error,
        Refused::FrameTooLarge { bytes, bytes_max } => e
            .with("bytes", bytes)
            .because(format!("a segment takes frames of {bytes_max} bytes; raise sf_max_segment_bytes")),
        Refused::NeverFits { segments, segments_max } => e.with("segments", segments).because(format!(
            "sf_max_total_bytes has room for {segments_max}; raise it, flush more often, or clear"
        )),
        Refused::NoMemory { bytes } => {
            Error::new(ErrorKind::Store, "no memory for a segment").with("bytes", bytes)
        }
    }
}
