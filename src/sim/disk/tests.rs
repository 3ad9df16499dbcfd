use super::*;
use std::collections::BTreeSet;

fn path(name: &str) -> std::path::PathBuf {
    Path::new("/slot").join(name)
}

/// A disk with a durable directory.
fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.create_dir(Path::new("/slot")).unwrap();
    disk.sync_all();
    disk
}

/// Everything that 200 crashes left of a file; `None` for no file.
fn leftovers(disk: &SimDisk, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    (0..200).map(|seed| disk.crash(&mut fastrand::Rng::with_seed(seed)).contents(&path(name))).collect()
}

#[test]
fn a_crash_keeps_what_was_synced_and_any_part_of_the_rest() {
    let disk = disk();
    let file = disk.open(&path("a"), Access::Create).unwrap();
    file.write_at(&[1; 8192], 0).unwrap();
    assert!(leftovers(&disk, "a").contains(&None), "the name is not durable");
    file.sync().unwrap();
    disk.sync_dir(Path::new("/slot")).unwrap();
    assert_eq!(leftovers(&disk, "a"), BTreeSet::from([Some(vec![1; 8192])]));
    file.write_at(&[2; 8192], 0).unwrap();
    let mixed: Vec<_> = [[1, 1], [1, 2], [2, 1], [2, 2]].map(|[a, b]| [[a; 4096], [b; 4096]].concat()).into();
    assert_eq!(leftovers(&disk, "a"), mixed.into_iter().map(Some).collect());
}

#[test]
fn a_killed_process_leaves_everything_and_no_lock() {
    let disk = disk();
    let file = disk.open(&path("a"), Access::Create).unwrap();
    file.write_at(b"abc", 0).unwrap();
    assert!(file.try_lock().unwrap());
    let after = disk.kill();
    assert_eq!(after.contents(&path("a")).as_deref(), Some(&b"abc"[..]));
    assert!(after.open(&path("a"), Access::Write).unwrap().try_lock().unwrap());
    let second = disk.open(&path("a"), Access::Write).unwrap();
    assert!(!second.try_lock().unwrap() && second.is_locked().unwrap());
    drop(file);
    assert!(second.try_lock().unwrap());
}

#[test]
fn names_become_durable_in_order_and_with_their_directory() {
    let disk = disk();
    disk.put(&path("a"), b"a");
    disk.rename(&path("a"), &path("b")).unwrap();
    disk.put(&path("c"), b"");
    for seed in 0..100 {
        let after = disk.crash(&mut fastrand::Rng::with_seed(seed));
        let names: Vec<_> = after.list(Path::new("/slot")).unwrap().into_iter().map(|e| e.name).collect();
        assert!([&[][..], &["a"], &["b"], &["b", "c"]].iter().any(|left| names == *left), "{names:?}");
    }
    disk.sync_dir(Path::new("/slot")).unwrap();
    assert!(!leftovers(&disk, "b").contains(&None) && !leftovers(&disk, "c").contains(&None));
}

#[test]
fn the_call_that_is_to_fail_fails_and_no_other() {
    let disk = disk();
    disk.fail_after(1, 5);
    let file = disk.open(&path("a"), Access::Create).unwrap();
    assert_eq!(file.write_at(b"a", 0).unwrap_err().cause.raw_os_error(), Some(5));
    file.write_at(b"a", 0).unwrap();
    disk.fail_all(DiskCall::Sync, Some(5));
    file.sync().unwrap_err();
    file.sync().unwrap_err();
    disk.fail_all(DiskCall::Sync, None);
    file.sync().unwrap();
    assert!(disk.take_log().iter().filter(|(call, _)| *call == DiskCall::Sync).count() == 3);
}

#[test]
fn a_full_disk_takes_what_fits() {
    let disk = disk();
    disk.set_free_bytes(Some(10));
    let file = disk.open(&path("a"), Access::Create).unwrap();
    file.allocate(8).unwrap();
    file.write_at(&[1; 8], 0).unwrap();
    assert!(file.write_at(&[1; 3], 8).unwrap_err().is_full());
    file.write_at(&[1; 2], 8).unwrap();
    assert_eq!(disk.metadata(&path("a")).unwrap().unwrap().len, 10);
}

#[test]
fn directories_move_with_what_is_in_them() {
    let disk = disk();
    disk.put(&path("a"), b"a");
    disk.rename(Path::new("/slot"), Path::new("/aside")).unwrap();
    assert_eq!(disk.contents(Path::new("/aside/a")).as_deref(), Some(&b"a"[..]));
    assert_eq!(disk.metadata(Path::new("/slot")).unwrap(), None);
    disk.open(&path("b"), Access::Create).unwrap_err();
}
