//! What a recovery found and did, for people and for programs (OBS-07).

use std::fmt;
use std::path::{Path, PathBuf};

/// What was found in a slot. Each has a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A frame at the end of the queue was not finished; its bytes are discarded.
    TailDiscarded,
    /// A frame is damaged; whole frames behind it are set aside in a copy of the file.
    DamageInQueue,
    /// Bytes behind the last frame of a full segment are zeroed; no frame is missing.
    ResidueCleared,
    /// Frames in the middle of the queue are missing or damaged; those behind are kept apart.
    ChainBroken,
    /// Frames that were not acknowledged are missing.
    FramesMissing,
    /// There was a queue, and no segment of it is left.
    AllSegmentsMissing,
    /// Another client, which removes nothing else, delivered everything.
    DrainedByOther,
    /// A file is no segment although its name says so; it is set aside.
    NotASegment,
    /// A segment holds frames that another segment holds too; it is set aside.
    SegmentOverlaps,
    /// A segment that nobody needs any more is set aside, not deleted, as not all is as it should be.
    LeftOverKept,
    /// A segment begins below the bounds and ends above them.
    HeadStraddled,
    /// The bounds were lost and are rebuilt from the segments.
    ManifestRebuilt,
    /// Another client, which does not know the bounds, used the slot since.
    ManifestStale,
    /// The queue goes on beyond its bounds.
    ManifestBehind,
    /// A slot of the older layout gets bounds.
    LegacyUpgraded,
    /// The acknowledged frame lies beyond the queue; all frames are sent.
    WatermarkBeyond,
    /// Nothing confirms the number of the only segment, so acknowledged frames are sent again.
    WatermarkUnconfirmed,
    /// Symbols that the dictionary lacks are taken from the frames.
    DictionaryRebuilt,
    /// The dictionary contradicts the frames and is replaced.
    DictionaryReplaced,
    /// Frames that nobody will ever commit are dropped.
    UncommittedTailDropped,
    /// The queue needs symbols that nobody has; the slot is set aside.
    SetAside,
    /// Somebody marked the slot as failed.
    MarkedFailed,
}

impl EventKind {
    /// A word that never changes, for logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            EventKind::TailDiscarded => "tail_discarded",
            EventKind::DamageInQueue => "damage_in_queue",
            EventKind::ResidueCleared => "residue_cleared",
            EventKind::ChainBroken => "chain_broken",
            EventKind::FramesMissing => "frames_missing",
            EventKind::AllSegmentsMissing => "all_segments_missing",
            EventKind::DrainedByOther => "drained_by_other",
            EventKind::NotASegment => "not_a_segment",
            EventKind::SegmentOverlaps => "segment_overlaps",
            EventKind::LeftOverKept => "left_over_kept",
            EventKind::HeadStraddled => "head_straddled",
            EventKind::ManifestRebuilt => "manifest_rebuilt",
            EventKind::ManifestStale => "manifest_stale",
            EventKind::ManifestBehind => "manifest_behind",
            EventKind::LegacyUpgraded => "legacy_upgraded",
            EventKind::WatermarkBeyond => "watermark_beyond",
            EventKind::WatermarkUnconfirmed => "watermark_unconfirmed",
            EventKind::DictionaryRebuilt => "dictionary_rebuilt",
            EventKind::DictionaryReplaced => "dictionary_replaced",
            EventKind::UncommittedTailDropped => "uncommitted_tail_dropped",
            EventKind::SetAside => "set_aside",
            EventKind::MarkedFailed => "marked_failed",
        }
    }

    fn text(self) -> &'static str {
        match self {
            EventKind::TailDiscarded => "unfinished tail discarded",
            EventKind::DamageInQueue => "damage in the queue, whole frames behind it are set aside",
            EventKind::ResidueCleared => "bytes behind a full segment cleared, no frame is missing",
            EventKind::ChainBroken => "hole in the queue, frames behind it are kept apart",
            EventKind::FramesMissing => "frames are missing",
            EventKind::AllSegmentsMissing => "all segments are missing",
            EventKind::DrainedByOther => "drained by another client",
            EventKind::NotASegment => "not a segment, set aside",
            EventKind::SegmentOverlaps => "segment with frames that another one holds, set aside",
            EventKind::LeftOverKept => "segment below the bounds, set aside instead of deleted",
            EventKind::HeadStraddled => "segment begins below the bounds and ends above them",
            EventKind::ManifestRebuilt => "bounds rebuilt from the segments",
            EventKind::ManifestStale => "bounds were stale, another client used the slot",
            EventKind::ManifestBehind => "queue goes on beyond its bounds",
            EventKind::LegacyUpgraded => "slot of the older layout gets bounds",
            EventKind::WatermarkBeyond => {
                "acknowledged frame lies beyond the queue, all frames count as unsent"
            }
            EventKind::WatermarkUnconfirmed => {
                "nothing confirms which frames are acknowledged, they are sent again"
            }
            EventKind::DictionaryRebuilt => "symbols taken from the frames",
            EventKind::DictionaryReplaced => "dictionary contradicts the frames and is replaced",
            EventKind::UncommittedTailDropped => "uncommitted tail dropped",
            EventKind::SetAside => "slot cannot be replayed and is set aside",
            EventKind::MarkedFailed => "slot is marked as failed",
        }
    }
}

/// Something that was found in a slot, with numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// What was found.
    pub kind: EventKind,
    /// Whether this is no damage: nothing was lost, nobody has to look.
    pub information: bool,
    /// First and last frame that it is about, as far as they are known.
    pub fsns: Option<(i64, Option<i64>)>,
    /// How many frames it is about.
    pub frames: Option<u64>,
    /// How many bytes it is about.
    pub bytes: Option<u64>,
    /// The file or folder that it is about.
    pub file: Option<PathBuf>,
    /// Where its bytes are kept.
    pub kept: Option<PathBuf>,
    /// What else there is to say.
    pub detail: Option<String>,
}

impl Event {
    pub(crate) fn new(kind: EventKind) -> Event {
        Event {
            kind,
            information: false,
            fsns: None,
            frames: None,
            bytes: None,
            file: None,
            kept: None,
            detail: None,
        }
    }

    pub(crate) fn information(kind: EventKind) -> Event {
        Event { information: true, ..Event::new(kind) }
    }

    /// With whole paths instead of names in the slot.
    pub(crate) fn within(mut self, slot: &Path) -> Event {
        let whole = |name: PathBuf| match name.strip_prefix("..") {
            Ok(beside) => slot.with_file_name(beside),
            Err(_) => slot.join(name),
        };
        self.file = self.file.map(whole);
        self.kept = self.kept.map(whole);
        self
    }

    /// From a frame on, up to the one in front of `end` if that is known.
    pub(crate) fn from(self, first: i64, end: Option<i64>) -> Event {
        Event { fsns: Some((first, end.map(|end| end.saturating_sub(1)))), ..self }
    }

    pub(crate) fn frames(self, frames: u64) -> Event {
        Event { frames: Some(frames), ..self }
    }

    pub(crate) fn bytes(self, bytes: u64) -> Event {
        Event { bytes: Some(bytes), ..self }
    }

    pub(crate) fn file(self, file: impl AsRef<Path>) -> Event {
        Event { file: Some(file.as_ref().to_owned()), ..self }
    }

    pub(crate) fn kept(self, kept: impl AsRef<Path>) -> Event {
        Event { kept: Some(kept.as_ref().to_owned()), ..self }
    }

    pub(crate) fn detail(self, detail: impl Into<String>) -> Event {
        Event { detail: Some(detail.into()), ..self }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.word(), self.kind.text())?;
        match self.fsns {
            Some((first, Some(last))) if first == last => write!(f, ", FSN {first}")?,
            Some((first, Some(last))) => write!(f, ", FSN {first} to {last}")?,
            Some((first, None)) => write!(f, ", from FSN {first} on")?,
            None => {}
        }
        if let Some(frames) = self.frames {
            write!(f, ", {frames} frames")?;
        }
        if let Some(bytes) = self.bytes {
            write!(f, ", {bytes} bytes")?;
        }
        if let Some(file) = &self.file {
            write!(f, ", in {}", file.display())?;
        }
        if let Some(kept) = &self.kept {
            write!(f, ", kept in {}", kept.display())?;
        }
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        Ok(())
    }
}
