//! What a recovery does to the disk, step by step (REC steps 8, REC-10, REC-11). Data, no I/O.

use crate::store::dictionary::Texts;
use crate::store::fsn::Fsn;
use crate::store::record::Record;

/// One step. After each of them a crash leaves a slot from which recovery comes to the same end. Names
/// are those of files in the slot, or of folders beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Removes a piece that was not finished.
    RemovePiece(String),
    /// Makes a slot of frames behind a hole, complete and synced, that nobody adopts yet.
    MakePiece(Piece),
    /// Lets everybody adopt the piece.
    ReleasePiece(String),
    /// Copies a file, durably.
    Copy {
        /// The file.
        from: String,
        /// The name of the copy.
        to: String,
    },
    /// Zeroes a part of a file, durably.
    Zero {
        /// The file.
        file: String,
        /// The first byte.
        from: u64,
        /// Behind the last byte.
        to: u64,
    },
    /// Renames a file.
    Rename {
        /// The file.
        from: String,
        /// Its new name.
        to: String,
    },
    /// Removes a file.
    Unlink(String),
    /// Makes what was done to names last.
    SyncNames,
    /// Writes a record of the manifest, durably.
    Manifest {
        /// The record.
        record: Record,
        /// Whether a whole new file is written.
        fresh: bool,
    },
    /// Flags a segment, durably: from now on it needs a manifest (FMT-08).
    Flag(String),
    /// Writes a record of the watermark, durably.
    Watermark {
        /// The record; none for an untouched file.
        record: Option<Record>,
        /// Whether a whole new file is written.
        fresh: bool,
    },
    /// Replaces the dictionary, durably.
    Dictionary(Texts),
    /// Cuts the dictionary behind its last whole chunk.
    CutDictionary(u64),
}

impl Action {
    /// Whether it only has to be done before the first append or trim, so that a slot can be drained
    /// from a full disk (PUB-10).
    pub(crate) fn can_wait(&self) -> bool {
        match self {
            Action::Manifest { .. }
            | Action::Flag(_)
            | Action::Watermark { .. }
            | Action::Dictionary(_)
            | Action::CutDictionary(_)
            | Action::Unlink(_)
            | Action::SyncNames => true,
            Action::RemovePiece(_)
            | Action::MakePiece(_)
            | Action::ReleasePiece(_)
            | Action::Copy { .. }
            | Action::Zero { .. }
            | Action::Rename { .. } => false,
        }
    }
}

/// A slot that holds what was behind a hole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Name of its folder.
    pub(crate) folder: String,
    /// Its segments, each base that of the one before plus its frames.
    pub(crate) segments: Vec<PieceSegment>,
    /// Its acknowledged frame, -1 for none.
    pub(crate) acked: i64,
    /// Its dictionary.
    pub(crate) texts: Texts,
}

/// A segment of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PieceSegment {
    /// Number of its first frame.
    pub(crate) base: Fsn,
    /// How many frames it holds.
    pub(crate) frames: u64,
    /// Bytes of its file.
    pub(crate) bytes: u64,
    /// The file that its frames come from.
    pub(crate) source: String,
    /// Where they stand there, one behind the other.
    pub(crate) from: u64,
    /// Behind the last one.
    pub(crate) to: u64,
}
