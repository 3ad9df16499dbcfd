//! The mutex of Node.js clients, which cannot lock files: a directory that its owner touches every
//! five seconds (LOCK-09).

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::super::disk::{Access, Disk, DiskResult, FileKind, read_whole};
use super::super::names;

/// For how long an owner that was touched counts as alive.
const FRESH: Duration = Duration::from_secs(15);
const OWNER: &str = "owner";
const OWNER_BYTES_MAX: u64 = 4096;
const ABANDONED_MAX: u32 = 64;

/// What the mutex of a slot says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeOwner {
    /// There is none.
    Absent,
    /// Somebody uses the slot.
    Live(String),
    /// Its owner is gone.
    Abandoned,
}

/// Looks at the mutex of a slot, at a time of the wall clock.
pub(crate) fn node_owner(disk: &dyn Disk, slot: &Path, now: SystemTime) -> DiskResult<NodeOwner> {
    let folder = slot.join(names::NODE_OWNER);
    let Some(metadata) = disk.metadata(&folder)?.filter(|metadata| metadata.kind == FileKind::Directory)
    else {
        return Ok(NodeOwner::Absent);
    };
    let path = folder.join(OWNER);
    let touched = disk.metadata(&path)?.map_or(metadata.modified, |m| m.modified.max(metadata.modified));
    let text = match disk.open(&path, Access::Read) {
        Ok(file) => String::from_utf8_lossy(&read_whole(&*file, OWNER_BYTES_MAX)?).into_owned(),
        Err(error) if error.is_not_found() => String::new(),
        Err(error) => return Err(error),
    };
    let process = number(&text, "pid").and_then(|pid| u32::try_from(pid).ok());
    let here = string(&text, "host").is_some_and(|host| host == disk.host());
    // A time in the future is that of a clock that went back: fresh, rather than for ever.
    let fresh = now.duration_since(touched).is_ok_and(|age| age <= FRESH)
        || touched.duration_since(now).is_ok_and(|ahead| ahead <= FRESH);
    if fresh || here && process.is_some_and(|process| disk.is_alive(process)) {
        return Ok(NodeOwner::Live(process.map_or("unknown".to_owned(), |pid| format!("pid={pid}"))));
    }
    Ok(NodeOwner::Abandoned)
}

/// Removes the mutex of an owner that is gone: renamed first, so that an owner that comes back finds
/// its token gone at once.
pub(super) fn remove(disk: &dyn Disk, slot: &Path) -> DiskResult<()> {
    let mut away = slot.join(names::NODE_OWNER);
    for number in 0..ABANDONED_MAX {
        away = slot.join(format!("{}.abandoned-{number}", names::NODE_OWNER));
        if disk.metadata(&away)?.is_none() {
            break;
        }
    }
    disk.rename(&slot.join(names::NODE_OWNER), &away)?;
    for entry in disk.list(&away)? {
        if entry.kind == FileKind::File {
            disk.unlink(&away.join(entry.name))?;
        }
    }
    disk.remove_dir(&away)
}

/// The value behind `"key":` in JSON that has one level.
fn value<'t>(json: &'t str, key: &str) -> Option<&'t str> {
    let (_, behind) = json.split_once(&format!("\"{key}\""))?;
    behind.trim_start().strip_prefix(':').map(str::trim_start)
}

fn number(json: &str, key: &str) -> Option<u64> {
    let value = value(json, key)?;
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value.get(..digits)?.parse().ok()
}

fn string<'t>(json: &'t str, key: &str) -> Option<&'t str> {
    value(json, key)?.strip_prefix('"')?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_read_from_its_json() {
        let json = r#"{"pid":4242, "host" : "here","token":"t","instance":"i"}"#;
        assert_eq!((number(json, "pid"), string(json, "host")), (Some(4242), Some("here")));
        for broken in ["", "{", r#"{"pid":"#, r#"{"pid":x,"host":1}"#, r#""pid""#] {
            assert_eq!((number(broken, "pid"), string(broken, "host")), (None, None), "{broken}");
        }
    }
}
