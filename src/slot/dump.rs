//! The rows of a slot as text.

use std::io::Write;
use std::path::Path;

use super::{look_into, show};
use crate::error::{Error, ErrorKind, Result};
use crate::store::disk::{Access, Disk, SystemDisk, read_whole};
use crate::store::layout;
use crate::store::recovery::{Opened, Verdict};
use crate::wire::ingress::decode;

/// Writes the frames of a slot, decoded to rows, symbols looked up: a line for each frame, then one
/// for each row, `table: column=value ...`. NULLs are left out.
///
/// ```no_run
/// qwp::slot::dump("/var/lib/app/qdb/writer-1", &mut std::io::stdout().lock())?;
/// # Ok::<(), qwp::Error>(())
/// ```
///
/// # Errors
///
/// `Store` as [`inspect`](super::inspect), if the slot cannot be replayed, and if `out` cannot be
/// written to.
pub fn dump(dir: impl AsRef<Path>, out: &mut dyn Write) -> Result<()> {
    dump_on(&SystemDisk, dir.as_ref(), out)
}

fn dump_on(disk: &dyn Disk, dir: &Path, out: &mut dyn Write) -> Result<()> {
    match look_into(disk, dir)?.1.verdict {
        Verdict::Open(opened) => frames(disk, dir, &opened, out),
        Verdict::SetAside(reason) => Err(Error::new(ErrorKind::Store, "the slot cannot be replayed")
            .with("path", dir.display())
            .because(reason)),
    }
}

fn frames(disk: &dyn Disk, dir: &Path, opened: &Opened, out: &mut dyn Write) -> Result<()> {
    for kept in &opened.segments {
        let path = dir.join(&kept.file);
        let file = read_whole(&*disk.open(&path, Access::Read)?, kept.bytes)?;
        for (&offset, number) in kept.offsets.iter().zip(0..) {
            let fsn = kept.base.plus(number);
            let frame = usize::try_from(offset).ok().and_then(|offset| layout::checked_frame(&file, offset));
            let Some((payload, _)) = frame else {
                return Err(Error::new(ErrorKind::Store, "the slot changed meanwhile")
                    .with("path", path.display())
                    .with("frame", fsn)
                    .because("a sender is using it; try again"));
            };
            let acked = if Some(fsn) <= opened.acked { ", acknowledged" } else { "" };
            let epoch = opened.epochs.iter().rev().find(|epoch| epoch.first <= fsn);
            let rows = rows(payload, |id| epoch.and_then(|epoch| epoch.texts.get(id)));
            let written = writeln!(out, "frame {fsn}: {} bytes{acked}", payload.len());
            written
                .and_then(|()| out.write_all(rows.as_bytes()))
                .map_err(|cause| Error::new(ErrorKind::Store, "cannot write the dump").caused_by(cause))?;
        }
    }
    Ok(())
}

/// The rows of a payload, a line each; why there are none if it cannot be read.
fn rows<'t>(payload: &[u8], symbol: impl Fn(usize) -> Option<&'t str>) -> String {
    let message = match decode::message(payload) {
        Ok(message) => message,
        Err(error) => return format!("  not readable: {error}\n"),
    };
    let mut lines = String::new();
    for block in &message.blocks {
        let mut rows = vec![format!("  {}:", block.name); block.row_count];
        for column in &block.columns {
            for (row, cell) in rows.iter_mut().zip(column.cells()) {
                if let Some(cell) = cell {
                    let name = if column.name.is_empty() { "timestamp" } else { column.name };
                    row.push_str(&format!(" {name}={}", show::cell(column, cell, &symbol)));
                }
            }
        }
        rows.iter_mut().for_each(|row| row.push('\n'));
        lines.extend(rows);
    }
    lines
}
