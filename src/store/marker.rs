//! The marker that keeps everybody from adopting a slot (store-and-forward.md 2.10, ORPH-07).

use std::path::Path;
use std::time::SystemTime;

use super::disk::{Access, Disk, DiskResult, read_whole};
use super::names;
use crate::error::printable;
use crate::value::TimestampMicros;

const MARKER_BYTES_MAX: u64 = 4096;

/// Why a slot is not adopted any more. The words are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "drainers of orphans write the rest of them (ORPH-07)")]
pub(crate) enum FailedKind {
    /// A frame needs symbols that nobody has (REC-16).
    Unreplayable,
    /// The server refused the credentials.
    Auth,
    /// The server never offered durable acknowledgements.
    DurableAckUnavailable,
    /// The server rejected a frame for good.
    Rejected,
    /// The server closes whenever one frame is sent.
    Poison,
    /// A piece of a slot that is still being written (REC-11).
    UnderConstruction,
}

/// Reasons of [`FailedKind::UnderConstruction`].
pub(crate) const WRITING: &str = "writing";
pub(crate) const COMPLETE: &str = "complete";

impl FailedKind {
    /// Whether a text is that of a piece under construction, and whether everything is in it.
    pub(crate) fn under_construction(text: &str) -> Option<bool> {
        let (_, reason) = text.split_once(FailedKind::UnderConstruction.word())?;
        Some(reason.trim_start_matches(':').trim() == COMPLETE)
    }

    fn word(self) -> &'static str {
        match self {
            FailedKind::Unreplayable => "unreplayable",
            FailedKind::Auth => "auth",
            FailedKind::DurableAckUnavailable => "durable_ack_unavailable",
            FailedKind::Rejected => "rejected",
            FailedKind::Poison => "poison",
            FailedKind::UnderConstruction => "under_construction",
        }
    }
}

/// The text of a marker.
pub(crate) fn text(now: SystemTime, kind: FailedKind, reason: &str) -> String {
    let time = TimestampMicros::try_from(now).unwrap_or(TimestampMicros::new(0));
    format!("{time} {}: {}\n", kind.word(), printable(reason))
}

/// Writes a marker so that it is whole or not there.
pub(crate) fn write(
    disk: &dyn Disk,
    slot: &Path,
    now: SystemTime,
    kind: FailedKind,
    reason: &str,
) -> DiskResult<()> {
    let temporary = slot.join(names::temporary(names::FAILED));
    let file = disk.open(&temporary, Access::Create)?;
    file.truncate(0)?;
    file.write_at(text(now, kind, reason).as_bytes(), 0)?;
    file.sync()?;
    disk.rename(&temporary, &slot.join(names::FAILED))?;
    disk.sync_dir(slot)
}

/// The text of the marker in a slot, whoever wrote it, as it may be shown.
pub(crate) fn read(disk: &dyn Disk, slot: &Path) -> DiskResult<Option<String>> {
    match disk.open(&slot.join(names::FAILED), Access::Read) {
        Ok(file) => {
            let bytes = read_whole(&*file, MARKER_BYTES_MAX)?;
            Ok(Some(printable(String::from_utf8_lossy(&bytes).trim())))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimDisk;
    use std::time::Duration;

    #[test]
    fn orph_07_a_marker_is_one_line_with_time_kind_and_reason() {
        let disk = SimDisk::new();
        let slot = Path::new("/slot");
        disk.create_dir(slot).unwrap();
        assert_eq!(read(&disk, slot).unwrap(), None);
        let now = SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001);
        write(&disk, slot, now, FailedKind::Unreplayable, "symbol id 42\nis gone").unwrap();
        let wanted = "2023-11-14T22:13:20.000001Z unreplayable: symbol id 42is gone";
        assert_eq!(disk.contents(&slot.join(names::FAILED)).unwrap(), format!("{wanted}\n").into_bytes());
        assert_eq!(read(&disk, slot).unwrap().as_deref(), Some(wanted));
        assert_eq!(disk.list(slot).unwrap().len(), 1, "no temporary file is left");
    }
}
