//! What was found in a slot: the input of every decision. Pure.

use super::scan::{Scan, Segment};
use crate::store::dictionary::Contents;
use crate::store::fsn::Fsn;
use crate::store::names;
use crate::store::record::{Records, Watermark};

/// A slot as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Name of the slot.
    pub(crate) slot: String,
    /// Files whose names end like those of segments, in the order of the names (FMT-07).
    pub(crate) files: Vec<File>,
    /// The committed bounds.
    pub(crate) manifest: Manifest,
    /// The acknowledged frame.
    pub(crate) watermark: Option<Watermark>,
    /// The symbols.
    pub(crate) dictionary: Option<Contents>,
    /// The text of the marker.
    pub(crate) failed: Option<String>,
    /// Every name in the slot.
    pub(crate) names: Vec<String>,
    /// Every name beside the slot.
    pub(crate) siblings: Vec<String>,
    /// Pieces of this slot that a recovery began to make (REC-11).
    pub(crate) pieces: Vec<Unfinished>,
}

/// A file that should be a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Its name.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) scan: Scan,
}

/// A piece that an interrupted recovery left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    /// Its name.
    pub(crate) name: String,
    /// Whether everything is in it.
    pub(crate) complete: bool,
}

/// The manifest file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Manifest {
    /// There is none, or it was never written to.
    #[default]
    Absent,
    /// It has another size, or no valid record.
    Invalid,
    /// It has bounds.
    Valid {
        /// Head base: lowest base of what is retained.
        head: Fsn,
        /// Active base: that of the segment being appended to.
        active: Fsn,
        /// Its records.
        records: Records,
    },
}

impl Manifest {
    /// Reads a file.
    pub(crate) fn read(file: &[u8]) -> Manifest {
        let records = Records::read(crate::store::record::Kind::Manifest, file).unwrap_or_default();
        let bounds = records.newest.and_then(|r| Some((Fsn::new(r.first)?, Fsn::new(r.second)?)));
        match bounds {
            Some((head, active)) => Manifest::Valid { head, active, records },
            None if file.iter().all(|&byte| byte == 0) => Manifest::Absent,
            None => Manifest::Invalid,
        }
    }

    /// Head base and active base.
    pub(crate) fn bounds(&self) -> Option<(Fsn, Fsn)> {
        match self {
            Manifest::Valid { head, active, .. } => Some((*head, *active)),
            Manifest::Absent | Manifest::Invalid => None,
        }
    }
}

impl Found {
    /// The segment that a file holds.
    pub(crate) fn segment(&self, file: usize) -> Option<&Segment> {
        match &self.files.get(file)?.scan {
            Scan::Segment(segment) => Some(segment),
            Scan::NotASegment { .. } | Scan::Unsupported { .. } => None,
        }
    }

    /// All segments with the places of their files.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (usize, &Segment)> {
        (0..self.files.len()).filter_map(|file| Some((file, self.segment(file)?)))
    }

    /// The name of a file.
    pub(crate) fn name(&self, file: usize) -> &str {
        self.files.get(file).map_or("", |file| &file.name)
    }

    /// The generation of the next segment (FMT-06); `None` if there is none left.
    pub(crate) fn next_generation(&self) -> Option<u64> {
        names::next_generation(self.names.iter().map(String::as_str))
    }

    /// What the watermark says, -1 for nothing acknowledged.
    pub(crate) fn acked(&self) -> Option<i64> {
        self.watermark.and_then(|watermark| watermark.acked)
    }
}
