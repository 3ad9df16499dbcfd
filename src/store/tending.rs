//! What the keeper does for one slot: one slow operation at a time, the most urgent first.
//!
//! ```text
//!  spare   the producer waits, or soon will: allocate a segment          (PUB-10, PUB-11)
//!  settle  after a rotation: directory, header, manifest                  (PUB-07)
//!  trim    symbols, watermark, manifest; then unlink or recycle, directory (PUB-17)
//!  shrink  a second after all was acknowledged: an empty segment          (PUB-18)
//!  pass    in `periodic`: symbols, directory, segments, manifest          (DUR-01)
//!  close   what is left to do, at once                                    (CLOSE-03, CLOSE-04)
//! ```
//!
//! Settle, trim and pass are rounds of jobs; spares come between the jobs. A job that fails ends its
//! round, which begins again after a pause (PUB-19, DUR-05).

mod close;
mod idle;
mod retry;

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::disk::DiskResult;
use super::files::Files;
use super::fsn::Fsn;
use super::layout::Header;
use super::ledger::Ledger;
use super::names;
use super::recovery::{self, Action};
use super::ring::{Ring, Sealed};
use super::segment::Blank;
use super::segment_file::SegmentFile;
use crate::config::Durability;
use crate::error::{Error, ErrorKind};
use crate::time::{Clock, Deadline};
pub(super) use close::{Close, Order};
use retry::Retry;

/// The keeper's side of a slot.
#[derive(Debug)]
pub(super) struct Tending {
    place: Place,
    segment_bytes: usize,
    /// From the end of one pass to the start of the next (DUR-04).
    interval: Duration,
    /// Only the keeper's, but for tests that stand in for it.
    work: Mutex<Work>,
    order: Mutex<Option<Order>>,
}

/// What the keeper works with.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) files: Arc<Files>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) ring: Arc<Ring>,
    pub(super) clock: Arc<dyn Clock>,
}

/// Steps that a recovery left, as the disk was full.
pub(super) type Pending = Vec<Action>;

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// There is more to do.
    Again,
    /// Nothing before `deadline`, unless the bell rings.
    Wait(Deadline),
    /// The slot is closed.
    Done,
}

#[derive(Debug)]
struct Work {
    /// Comes before anything else.
    pending: Pending,
    round: Option<Round>,
    /// The rest of the round.
    jobs: VecDeque<Job>,
    /// Trimmed segments whose files are still there, oldest first. They count as used.
    doomed: VecDeque<Sealed>,
    /// Whether there are names in the directory that may not last.
    new_names: bool,
    /// When to look whether still nothing came behind that frame.
    idle: Option<(Instant, Option<Fsn>)>,
    /// When the next pass may begin.
    next_pass: Option<Instant>,
    spare: Retry,
    settle: Retry,
    trim: Retry,
    pass: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Settle,
    Trim,
    Pass,
}

/// One slow operation.
#[derive(Debug)]
enum Job {
    Symbols,
    Watermark,
    Names,
    Segment(Arc<SegmentFile>),
    /// The manifest's head moves to the oldest segment that is left.
    Head,
    Manifest,
    /// Removes the first doomed segment, or makes a spare of it.
    Remove,
    /// Gives back what sealed segments need no longer.
    Cool,
    /// Everything up to here lasts.
    Durable(Option<Fsn>),
}

/// How long nothing has to come before an acknowledged segment is given up (PUB-18).
const IDLE: Duration = Duration::from_secs(1);
/// Mappings of sealed segments that are kept, since their frames are about to be sent.
const WARM_SEGMENTS: usize = 4;

impl Tending {
    pub(super) fn new(place: Place, segment_bytes: usize, interval: Duration, pending: Pending) -> Tending {
        let work = Work {
            pending,
            round: None,
            jobs: VecDeque::new(),
            doomed: VecDeque::new(),
            new_names: false,
            idle: None,
            next_pass: None,
            spare: Retry::default(),
            settle: Retry::default(),
            trim: Retry::default(),
            pass: Retry::up_to(interval.min(Duration::from_secs(1))),
        };
        let (work, order) = (Mutex::new(work), Mutex::default());
        Tending { place, segment_bytes, interval, work, order }
    }

    /// Does the most urgent thing that is due.
    pub(super) fn turn(&self, now: Instant) -> Turn {
        self.place.files.heard();
        let work = &mut *self.work.lock();
        match self.order.lock().take() {
            None => {}
            Some(Order::Forget) => return Turn::Done,
            Some(Order::Close(close)) => {
                self.carry_out(close, work);
                return Turn::Done;
            }
        }
        if !work.pending.is_empty() && !self.repair(work, now) {
            return Turn::Wait(work.trim.deadline());
        }
        if self.make_spare(work, now) {
            return Turn::Again;
        }
        if let Some(round) = work.round {
            self.go_on(round, work, now);
        } else if self.shrink(work, now) {
            return Turn::Again;
        } else if !self.begin_round(work, now) {
            return Turn::Wait(self.next_deadline(work));
        }
        Turn::Again
    }

    /// Goes on with what a recovery left; whether nothing is left.
    fn repair(&self, work: &mut Work, now: Instant) -> bool {
        if work.trim.is_due(now) {
            let Place { files, ledger, clock, .. } = &self.place;
            match recovery::carry_out(&*files.disk, &files.dir, &work.pending, clock.wall()) {
                Ok(left) if left.is_empty() => {
                    work.pending = left;
                    work.trim.reset();
                    files.signs.unrepaired.store(false, Ordering::Release);
                    files.set_trouble(None);
                    ledger.freed();
                    return true;
                }
                Ok(left) => {
                    work.pending = left;
                    let error = Error::new(ErrorKind::Store, "the disk is full");
                    files.set_trouble(Some(error.with("path", files.dir.display())));
                }
                Err(error) => files.set_trouble(Some(error)),
            }
            work.trim.failed(now);
        }
        false
    }

    /// The keeper panicked over this slot.
    #[cold]
    pub(super) fn broke_down(&self) {
        let error = Error::new(ErrorKind::Bug, "the keeper thread panicked").because("please report it");
        log::error!("store: {error}");
        self.place.files.set_trouble(Some(error.clone()));
        self.place.files.pass_ended(Some(error), self.place.clock.now());
    }

    /// When something is due without the bell.
    fn next_deadline(&self, work: &Work) -> Deadline {
        let mut deadline = Deadline::NEVER;
        if self.lacks_spares() {
            deadline = deadline.min(work.spare.deadline());
        }
        if let Some((at, _)) = work.idle {
            deadline = deadline.min(Deadline::at(at));
        }
        deadline = deadline.min(work.settle.deadline()).min(work.trim.deadline());
        if self.place.files.signs.dirty.load(Ordering::Acquire) {
            // Neither the interval nor the pause after a failure is cut short.
            let pass = work.pass.deadline().instant().max(work.next_pass);
            deadline = deadline.min(pass.map_or(Deadline::NEVER, Deadline::at));
        }
        deadline
    }

    fn lacks_spares(&self) -> bool {
        let spares = self.place.files.spares.lock();
        spares.ready.len() < spares.wanted.max(spares.target) && self.place.ledger.segments_left() > 0
    }

    /// Makes a spare if one is missing and the budget allows; whether it did something.
    fn make_spare(&self, work: &mut Work, now: Instant) -> bool {
        if !self.lacks_spares() || !work.spare.is_due(now) {
            return false;
        }
        let path = self.next_path();
        let made = SegmentFile::create(&self.place.files.disk, &path, self.segment_bytes, &self.header());
        match made.and_then(|blank| self.make_last(blank)) {
            Ok(blank) => {
                work.spare.reset();
                work.new_names |= self.place.files.durability != Durability::Append;
                self.place.ledger.grow(self.segment_bytes);
                self.offer(blank);
                self.place.files.set_trouble(None);
            }
            Err(error) => {
                work.spare.failed(now);
                self.place.files.set_trouble(Some(error.into()));
            }
        }
        true
    }

    /// In `append` a flush waits for its frames only: header and name of their segment last already.
    fn make_last(&self, blank: Blank) -> DiskResult<Blank> {
        if self.place.files.durability == Durability::Append {
            let synced = blank.file.as_ref().map_or(Ok(()), |file| file.sync());
            if let Err(error) = synced.and_then(|()| self.place.files.disk.sync_dir(&self.place.files.dir)) {
                let _ = blank.file.map(|file| file.unlink());
                return Err(error);
            }
        }
        Ok(blank)
    }

    fn next_path(&self) -> std::path::PathBuf {
        let mut spares = self.place.files.spares.lock();
        let path = self.place.files.dir.join(names::segment(spares.generation));
        spares.generation = spares.generation.saturating_add(1);
        path
    }

    /// That of a segment without frames (FMT-09).
    fn header(&self) -> Header {
        let created = self.place.clock.wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        let created_us = u64::try_from(created.as_micros()).unwrap_or(u64::MAX);
        let base = self.place.ledger.published().map_or(Fsn::FIRST, Fsn::next);
        Header { flagged: true, base, created_us }
    }

    /// Hands a spare to the producer.
    fn offer(&self, blank: Blank) {
        let mut spares = self.place.files.spares.lock();
        if spares.target > 0 {
            // The producer is in a hurry: it shall not wait for pages either.
            blank.writer.populate();
        }
        spares.ready.push(blank);
        drop(spares);
        self.place.ledger.freed();
    }

    /// Begins the round that is most urgent; whether there is one.
    fn begin_round(&self, work: &mut Work, now: Instant) -> bool {
        if let Some(acked) = self.place.ledger.acked() {
            work.doomed.extend(self.place.ring.take_acked(acked));
        }
        let (round, jobs) =
            if work.settle.is_due(now) && self.place.files.signs.rotated.swap(false, Ordering::AcqRel) {
                (Round::Settle, self.settle_jobs())
            } else if (!work.doomed.is_empty() || work.trim.has_failed()) && work.trim.is_due(now) {
                (Round::Trim, trim_jobs(work.doomed.len()))
            } else if self.pass_is_due(work, now) {
                (Round::Pass, self.pass_jobs())
            } else {
                return false;
            };
        work.round = Some(round);
        work.jobs = jobs;
        true
    }

    /// PUB-07, PUB-08. Bounds that last name a segment whose header lasts, also when frames do not. In
    /// `append` the flush has seen to it.
    fn settle_jobs(&self) -> VecDeque<Job> {
        let mut jobs = VecDeque::new();
        if self.place.files.durability != Durability::Append {
            jobs.push_back(Job::Names);
            let unsynced = self.place.ring.unsynced();
            jobs.extend(unsynced.into_iter().filter(|file| !file.has_durable_header()).map(Job::Segment));
            jobs.push_back(Job::Manifest);
        }
        jobs.push_back(Job::Cool);
        jobs
    }

    /// DUR-01.
    fn pass_jobs(&self) -> VecDeque<Job> {
        // Behind this, whoever publishes rings again. Frames up to `published` are in their files.
        self.place.files.signs.dirty.swap(false, Ordering::AcqRel);
        let published = self.place.ledger.published();
        let mut jobs = VecDeque::from([Job::Symbols, Job::Names]);
        let (old, new): (Vec<_>, Vec<_>) =
            self.place.ring.unsynced().into_iter().partition(|file| file.has_durable_header());
        // A manifest that lasts names no segment whose header does not. With the header of a new segment
        // its frames become durable.
        jobs.extend(new.into_iter().map(Job::Segment));
        jobs.push_back(Job::Manifest);
        jobs.extend(old.into_iter().map(Job::Segment));
        jobs.push_back(Job::Durable(published));
        jobs
    }

    fn pass_is_due(&self, work: &Work, now: Instant) -> bool {
        self.place.files.durability == Durability::Periodic
            && self.place.files.signs.dirty.load(Ordering::Acquire)
            && work.pass.is_due(now)
            && work.next_pass.is_none_or(|at| at <= now)
    }

    /// Does the next job of a round.
    fn go_on(&self, round: Round, work: &mut Work, now: Instant) {
        let Some(job) = work.jobs.pop_front() else {
            return self.end_round(round, work);
        };
        if let Err(error) = self.carry(job, work) {
            work.round = None;
            work.jobs.clear();
            work.retry(round).failed(now);
            self.round_failed(round, error.into(), now);
        }
    }

    fn end_round(&self, round: Round, work: &mut Work) {
        work.round = None;
        work.retry(round).reset();
        match round {
            Round::Settle => {}
            Round::Trim => self.place.files.set_trouble(None),
            Round::Pass => {
                let now = self.place.clock.now();
                work.next_pass = now.checked_add(self.interval);
                self.place.files.pass_ended(None, now);
            }
        }
    }

    /// The signs that led to the round are up again.
    #[cold]
    fn round_failed(&self, round: Round, error: Error, now: Instant) {
        match round {
            Round::Settle => {
                self.place.files.signs.rotated.store(true, Ordering::Release);
                log::warn!("store: {error}; tried again");
            }
            Round::Trim => self.place.files.set_trouble(Some(error)),
            Round::Pass => {
                self.place.files.signs.dirty.store(true, Ordering::Release);
                self.place.files.pass_ended(Some(error), now);
            }
        }
    }

    fn carry(&self, job: Job, work: &mut Work) -> DiskResult<()> {
        let files = &self.place.files;
        match job {
            Job::Symbols => files.symbols.sync(),
            Job::Watermark => files.watermark.get()?.sync(),
            Job::Names => self.sync_names(work),
            Job::Segment(file) => {
                file.sync()?;
                file.release();
                Ok(())
            }
            Job::Head => self.place.ring.head().map_or(Ok(()), |head| files.bounds.raise_head(head)),
            Job::Manifest => files.bounds.sync(),
            Job::Remove => self.remove(work),
            Job::Cool => {
                self.place.ring.cool(WARM_SEGMENTS);
                Ok(())
            }
            Job::Durable(published) => {
                published.into_iter().for_each(|fsn| self.place.ledger.set_durable(fsn));
                Ok(())
            }
        }
    }

    fn sync_names(&self, work: &mut Work) -> DiskResult<()> {
        if work.new_names {
            self.place.files.disk.sync_dir(&self.place.files.dir)?;
            work.new_names = false;
        }
        Ok(())
    }

    /// Removes the oldest doomed segment, or makes a spare of it if one is missing.
    fn remove(&self, work: &mut Work) -> DiskResult<()> {
        let Some(sealed) = work.doomed.pop_front() else { return Ok(()) };
        let wanted = {
            let spares = self.place.files.spares.lock();
            spares.ready.len() < spares.wanted.max(spares.target)
        };
        let used = self.place.ledger.bytes_used() <= self.place.ledger.bytes_max();
        if wanted
            && used
            && sealed.len == self.segment_bytes
            && let Ok(blank) = sealed.file.recycle(&self.next_path(), &self.header())
        {
            work.new_names = true;
            self.offer(blank);
            return Ok(());
        }
        if let Err(error) = sealed.file.unlink() {
            work.doomed.push_front(sealed);
            return Err(error);
        }
        work.new_names = true;
        self.place.ledger.shrink(sealed.len);
        // A disk that was full may have room now.
        work.spare.reset();
        self.place.ledger.freed();
        Ok(())
    }
}

impl Work {
    fn retry(&mut self, round: Round) -> &mut Retry {
        match round {
            Round::Settle => &mut self.settle,
            Round::Trim => &mut self.trim,
            Round::Pass => &mut self.pass,
        }
    }
}

/// PUB-17. The symbols come first: the segments that are given up may be all that carries some.
fn trim_jobs(doomed: usize) -> VecDeque<Job> {
    let mut jobs = VecDeque::from([Job::Symbols, Job::Watermark, Job::Head, Job::Manifest]);
    jobs.extend((0..doomed).map(|_| Job::Remove));
    jobs.push_back(Job::Names);
    jobs
}
