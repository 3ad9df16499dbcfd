//! The acknowledged frame, on disk: written by the I/O thread without a system call (PUB-16).

use std::sync::Arc;

use super::disk::{DiskFile, DiskResult};
use super::fsn::Fsn;
use super::record::{FILE_BYTES, Kind, RECORD_BYTES, Record};
use super::region::Writer;
use super::slot_file::SlotFile;
use crate::error::Error;

/// Writes the watermark of a slot. The keeper syncs it.
#[derive(Debug)]
pub(super) struct Watermark {
    place: Place,
    /// That of the newest record.
    generation: i64,
    /// What the newest record says.
    acked: Option<Fsn>,
}

#[derive(Debug)]
enum Place {
    /// Not opened yet.
    Unopened(Arc<SlotFile>),
    Mapped(Writer),
    /// Where files cannot be mapped.
    Written(Arc<dyn DiskFile>),
}

impl Watermark {
    /// Goes on behind the record `newest` of a file of the right size.
    pub(super) fn new(file: Arc<SlotFile>, newest: Option<Record>) -> Watermark {
        let generation = newest.map_or(0, |record| record.generation);
        let acked = newest.and_then(|record| Fsn::new(record.first));
        Watermark { place: Place::Unopened(file), generation, acked }
    }

    /// Records that everything up to `acked` is acknowledged; never twice, never backwards.
    pub(super) fn record(&mut self, acked: Fsn) {
        if self.acked >= Some(acked) {
            return;
        }
        // A hint: losing it costs duplicates only (DUR-08).
        if let Err(error) = self.write(acked) {
            log::warn!("the watermark was not written: {}", Error::from(error));
        }
    }

    fn write(&mut self, acked: Fsn) -> DiskResult<()> {
        if let Place::Unopened(file) = &self.place {
            let file = file.get()?;
            let mapped = file.mappable().and_then(|file| Writer::map(file, FILE_BYTES, 0).ok());
            self.place = mapped.map_or(Place::Written(file), Place::Mapped);
        }
        self.acked = Some(acked);
        self.generation += 1;
        let record = Record { generation: self.generation, first: acked.as_i64(), second: 0 };
        let (bytes, offset) = (record.encode(Kind::Watermark), record.offset());
        match &mut self.place {
            Place::Unopened(_) => {}
            Place::Mapped(writer) => {
                let start = usize::try_from(offset).unwrap_or(0);
                let Some(place) = writer.spare().get_mut(start..start + RECORD_BYTES) else { return Ok(()) };
                // The checksum comes last (FMT-15).
                let (values, checksum) = place.split_at_mut(RECORD_BYTES - CHECKSUM_BYTES);
                values.copy_from_slice(&bytes[..RECORD_BYTES - CHECKSUM_BYTES]);
                checksum.copy_from_slice(&bytes[RECORD_BYTES - CHECKSUM_BYTES..]);
            }
            Place::Written(file) => file.write_at(&bytes, offset)?,
        }
        Ok(())
    }
}

const CHECKSUM_BYTES: usize = 4;
