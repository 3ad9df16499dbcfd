use super::*;
use crate::sim::{DiskCall, SimClock, SimDisk};
use std::time::SystemTime;

const EBADF: i32 = 9;
const ENOLCK: i32 = 37;

fn slot() -> PathBuf {
    PathBuf::from("/root/slot")
}

fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.create_dir(&slot()).unwrap();
    disk
}

fn acquire_now(disk: &SimDisk) -> Result<Held> {
    acquire(disk, &SimClock::new(), &slot())
}

#[test]
fn lock_06_the_second_owner_is_told_who_the_first_one_is() {
    let disk = disk();
    let held = acquire_now(&disk).unwrap();
    drop(held.logical);
    let error = acquire_now(&disk).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreLocked);
    let pid = std::process::id();
    let wanted = format!(
        "the slot is in use: slot /root/slot, holder=pid={pid}: \
        another sender owns it; give each sender a sender_id of its own"
    );
    assert_eq!(error.to_string(), wanted);
    drop(held.slot);
    acquire_now(&disk).unwrap();
}

#[test]
fn lock_06_a_holder_that_cannot_be_read_is_unknown() {
    let disk = disk();
    let _held = acquire_now(&disk).unwrap();
    for (bytes, wanted) in [(&b""[..], "unknown"), (b" \n", "unknown"), (b"17\n", "pid=17")] {
        disk.put(&slot().join(names::LOCK_PID), bytes);
        let error = SlotLock::acquire(&disk, &slot()).unwrap_err();
        assert!(error.to_string().contains(&format!("holder={wanted}:")), "{error}");
    }
    disk.put(&slot().join(names::LOCK_PID), &[b'9'; 1000]);
    assert_eq!(holder(&disk, &slot().join(names::LOCK_PID)).len(), "pid=".len() + 64);
    disk.unlink(&slot().join(names::LOCK_PID)).unwrap();
    assert_eq!(look(&disk, &slot()).unwrap().as_deref(), Some("unknown"));
}

#[test]
fn lock_04_only_a_lock_that_somebody_has_is_in_use() {
    for errno in [EBADF, ENOLCK, 5] {
        let disk = disk();
        disk.fail_all(DiskCall::Lock, Some(errno));
        let error = SlotLock::acquire(&disk, &slot()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store);
        assert!(error.to_string().contains(&format!("path /root/slot/.lock, errno {errno}")), "{error}");
    }
}

#[test]
fn lock_07_the_pid_is_written_after_the_lock_and_its_failure_is_ignored() {
    let disk = disk();
    disk.fail_all(DiskCall::Write, Some(28));
    let held = acquire_now(&disk).unwrap();
    drop(held);
    disk.fail_all(DiskCall::Write, None);
    let _held = acquire_now(&disk).unwrap();
    let pid = disk.contents(&slot().join(names::LOCK_PID)).unwrap();
    assert_eq!(pid, format!("{}\n", std::process::id()).into_bytes());
    assert_eq!(disk.contents(&slot().join(names::LOCK)).unwrap(), b"", "2.9: it stays empty");
}

/// A disk on which the slot is renamed and made again whenever its lock was opened.
#[derive(Debug)]
struct Replaced(SimDisk, std::sync::atomic::AtomicU32);

impl Disk for Replaced {
    fn create_dir(&self, path: &Path) -> DiskResult<bool> {
        self.0.create_dir(path)
    }
    fn list(&self, path: &Path) -> DiskResult<Vec<super::super::disk::Entry>> {
        self.0.list(path)
    }
    fn metadata(&self, path: &Path) -> DiskResult<Option<super::super::disk::Metadata>> {
        self.0.metadata(path)
    }
    fn open(&self, path: &Path, access: Access) -> DiskResult<Box<dyn DiskFile>> {
        let file = self.0.open(path, access);
        let left = self.1.load(std::sync::atomic::Ordering::Relaxed);
        if path.ends_with(names::LOCK) && left > 0 {
            self.1.store(left - 1, std::sync::atomic::Ordering::Relaxed);
            self.0.rename(&slot(), Path::new(&format!("/root/aside-{left}")))?;
            self.0.create_dir(&slot())?;
        }
        file
    }
    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        self.0.rename(from, to)
    }
    fn unlink(&self, path: &Path) -> DiskResult<()> {
        self.0.unlink(path)
    }
    fn remove_dir(&self, path: &Path) -> DiskResult<()> {
        self.0.remove_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> DiskResult<()> {
        self.0.sync_dir(path)
    }
    fn is_alive(&self, process: u32) -> bool {
        self.0.is_alive(process)
    }
    fn host(&self) -> String {
        self.0.host()
    }
}

#[test]
fn lock_05_a_lock_on_a_file_that_was_replaced_is_taken_again() {
    for (replaced, wins) in [(0, true), (2, true), (3, false)] {
        let disk = Replaced(disk(), replaced.into());
        let lock = SlotLock::acquire(&disk, &slot());
        assert_eq!(lock.is_ok(), wins, "{replaced}");
        if let Ok(_lock) = lock {
            assert!(look(&disk, &slot()).unwrap().is_some(), "the lock is that of the path");
        }
    }
}

#[test]
fn lock_08_the_name_is_locked_first_and_waited_for() {
    let disk = disk();
    let clock = SimClock::new();
    let held = acquire(&disk, &clock, &slot()).unwrap();
    let lock = Path::new("/root/.slot-locks/slot.lock");
    assert!(disk.open(lock, Access::Read).unwrap().is_locked().unwrap());
    drop(held.slot);
    let begun = clock.now();
    let error = acquire(&disk, &clock, &slot()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreLocked);
    let waited = clock.now() - begun;
    assert!((LOGICAL_WAIT..LOGICAL_WAIT * 2).contains(&waited), "{waited:?}");
    assert_eq!(look(&disk, &slot()).unwrap(), None, "the slot itself was not touched");
    held.logical.unwrap().remove(&disk).unwrap();
    assert!(disk.list(Path::new("/root/.slot-locks")).unwrap().is_empty());
    acquire(&disk, &clock, &slot()).unwrap();
}

#[test]
fn lock_08_a_name_that_cannot_be_locked_does_not_keep_from_opening() {
    let disk = disk();
    disk.fail_all(DiskCall::CreateDir, Some(30));
    let held = acquire_now(&disk).unwrap();
    assert!(held.logical.is_none());
}

#[test]
fn lock_09_a_live_node_client_is_an_owner_and_a_dead_one_is_cleared_away() {
    let clock = SimClock::new();
    let json =
        |pid: u32, host: &str| format!(r#"{{"pid":{pid},"host":"{host}","token":"t","instance":"i"}}"#);
    for (owner, age, live) in [
        (json(7, "sim"), 3600, true),
        (json(8, "sim"), 3600, false),
        (json(7, "elsewhere"), 3600, false),
        (json(8, "elsewhere"), 15, true),
        (json(8, "elsewhere"), 16, false),
        (String::new(), 0, true),
        ("{".to_owned(), 16, false),
    ] {
        let disk = disk();
        disk.set_alive(7);
        let folder = slot().join(names::NODE_OWNER);
        disk.create_dir(&folder).unwrap();
        disk.put(&folder.join("owner"), owner.as_bytes());
        let touched = clock.wall() - std::time::Duration::from_secs(age);
        disk.touch(&folder.join("owner"), touched);
        let result = acquire(&disk, &clock, &slot());
        assert_eq!(result.is_err(), live, "{owner}, {age} s old");
        assert_eq!(disk.metadata(&folder).unwrap().is_some(), live, "{owner}, {age} s old");
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::StoreLocked);
            assert_eq!(look(&disk, &slot()).unwrap(), None, "nothing stays locked");
        }
    }
    assert_eq!(node_owner(&disk(), &slot(), SystemTime::UNIX_EPOCH).unwrap(), NodeOwner::Absent);
}
