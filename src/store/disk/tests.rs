#![cfg(not(miri))] // system calls that Miri does not know

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A directory of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("qwp-disk-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn fmt_02_what_is_created_belongs_to_its_owner_only() {
    let folder = Folder::new("modes");
    let slot = folder.at("missing/parents/slot");
    assert!(SystemDisk.create_dir(&slot).unwrap());
    assert!(!SystemDisk.create_dir(&slot).unwrap());
    let file = slot.join("file");
    SystemDisk.open(&file, Access::Create).unwrap();
    for (path, wanted) in [(folder.at("missing"), 0o700), (slot, 0o700), (file, 0o600)] {
        assert_eq!(mode(&path), wanted, "{path:?}");
    }
}

#[test]
fn fmt_02_symbolic_links_are_not_followed() {
    let folder = Folder::new("links");
    std::fs::write(folder.at("target"), b"precious").unwrap();
    symlink(folder.at("target"), folder.at("link")).unwrap();
    symlink(&folder.0, folder.at("directory")).unwrap();
    for access in [Access::Read, Access::Write, Access::Create, Access::CreateNew] {
        SystemDisk.open(&folder.at("link"), access).unwrap_err();
    }
    SystemDisk.create_dir(&folder.at("directory")).unwrap_err();
    let kinds: Vec<_> = SystemDisk.list(&folder.0).unwrap().into_iter().map(|e| (e.name, e.kind)).collect();
    let wanted = [("directory", FileKind::Link), ("link", FileKind::Link), ("target", FileKind::File)];
    assert_eq!(kinds, wanted.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(SystemDisk.metadata(&folder.at("link")).unwrap().unwrap().kind, FileKind::Link);
}

#[test]
fn errors_name_path_and_errno() {
    let folder = Folder::new("errors");
    let path = folder.at("absent");
    let error = SystemDisk.open(&path, Access::Write).unwrap_err();
    assert!(error.is_not_found());
    let error = Error::from(error);
    assert_eq!(error.kind(), ErrorKind::Store);
    let wanted = format!("cannot open: path {}, errno 2: No such file or directory", path.display());
    assert_eq!(error.to_string(), wanted);
    assert_eq!(SystemDisk.metadata(&path).unwrap(), None);
}

#[test]
fn bytes_are_read_where_they_were_written() {
    let folder = Folder::new("bytes");
    let file = SystemDisk.open(&folder.at("file"), Access::CreateNew).unwrap();
    file.write_at(b"abc", 2).unwrap();
    file.write_at(b"d", 5).unwrap();
    assert_eq!(read_whole(&*file, 100).unwrap(), b"\0\0abcd");
    assert_eq!(read_whole(&*file, 4).unwrap(), b"\0\0ab");
    let mut buffer = [9; 4];
    assert_eq!(file.read_at(&mut buffer, 4).unwrap(), 2);
    assert_eq!(buffer, *b"cd\x09\x09");
    file.truncate(3).unwrap();
    assert_eq!(file.len().unwrap(), 3);
    match file.allocate(8192) {
        Ok(()) => assert_eq!(file.len().unwrap(), 8192),
        Err(error) => assert!(error.is_unsupported(), "{error:?}"),
    }
    file.sync().unwrap();
    SystemDisk.sync_dir(&folder.0).unwrap();
    SystemDisk.rename(&folder.at("file"), &folder.at("other")).unwrap();
    assert_eq!(SystemDisk.metadata(&folder.at("other")).unwrap().unwrap().id, file.id().unwrap());
    SystemDisk.unlink(&folder.at("other")).unwrap();
    assert!(SystemDisk.list(&folder.0).unwrap().is_empty());
}

#[test]
fn lock_02_a_second_open_in_one_process_collides() {
    let folder = Folder::new("lock");
    let open = || SystemDisk.open(&folder.at(".lock"), Access::Create).unwrap();
    let first = open();
    let second = open();
    assert!(!second.is_locked().unwrap());
    assert!(first.try_lock().unwrap());
    assert!(second.is_locked().unwrap());
    assert!(!second.try_lock().unwrap());
    drop(first);
    assert!(second.try_lock().unwrap());
}

#[test]
fn processes_are_alive_or_not() {
    assert!(SystemDisk.is_alive(std::process::id()));
    assert!(SystemDisk.is_alive(1));
    assert!(!SystemDisk.is_alive(0));
    assert!(!SystemDisk.is_alive(u32::MAX));
    assert!(!SystemDisk.host().is_empty());
}
