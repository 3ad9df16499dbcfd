//! What a flush and a rotation put on disk.

use super::*;
use crate::store::disk::SystemDisk;

#[test]
fn rec_19_a_new_slot_has_all_its_files_and_nothing_is_synced_in_memory() {
    let disk = SimDisk::new();
    for (durability, syncs) in
        [(Durability::Memory, false), (Durability::Periodic, true), (Durability::Append, true)]
    {
        let disk = disk.clone();
        let dir = PathBuf::from(format!("/root/{durability:?}"));
        disk.create_dir(&dir).unwrap();
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        disk.take_log();
        let recipe = Recipe { segment_bytes: 100, durability, created_us: 7, generation: 3 };
        create(&shared, &dir, recipe).unwrap();
        let log = disk.take_log();
        assert_eq!(log.iter().any(|(call, _)| *call == DiskCall::Sync), syncs, "{durability:?}");
        let names: Vec<_> = disk.list(&dir).unwrap().into_iter().map(|entry| entry.name).collect();
        let wanted = [names::WATERMARK, names::DICTIONARY, "sf-0000000000000003.sfa", names::MANIFEST];
        assert_eq!(names, wanted);
        assert_eq!(disk.contents(&dir.join(names::WATERMARK)).unwrap(), [0; 8192]);
        assert_eq!(disk.contents(&dir.join(names::DICTIONARY)).unwrap(), b"SYD1\x01\0\0\0");
        let segment = disk.contents(&dir.join("sf-0000000000000003.sfa")).unwrap();
        assert_eq!(Header::decode(&segment).unwrap().created_us, 7);
        assert!(Header::decode(&segment).unwrap().flagged && segment[24..] == [0; 76]);
    }
}

#[test]
fn flush_02_what_is_published_is_in_the_file_and_nothing_else_is() {
    let mut rig = Rig::new(4, Durability::Memory);
    rig.append(&[b"one", b"two"]).unwrap();
    assert_eq!(strict(&rig.disk), (0, vec![b"one".to_vec(), b"two".to_vec()]));
    assert_eq!(rig.read(1).unwrap(), b"two");
    let killed = rig.disk.kill();
    assert_eq!(strict(&killed).1.len(), 2);
}

#[test]
fn pub_06_a_group_that_is_dropped_leaves_the_files_as_they_were() {
    let mut rig = Rig::new(6, Durability::Memory);
    rig.put(1, 16);
    rig.opened.storage.files.want_spares(3);
    rig.tend();
    let before = rig.disk.snapshot();
    for sealed in 0..3 {
        let mut group = rig.opened.appender.begin(&[60, 60, 60]).unwrap();
        for _ in 0..sealed {
            group.frame(60).unwrap().fill(9);
            group.seal(60);
        }
        group.frame(60).unwrap().fill(9);
        drop(group);
        assert_eq!(rig.disk.snapshot(), before, "{sealed} frames");
    }
    // The same segments are used all the same.
    rig.append(&[&[2; 60], &[3; 60]]).unwrap();
    let frames = strict(&rig.disk).1;
    assert_eq!(frames, [vec![1; 16], vec![2; 60], vec![3; 60]]);
}

#[test]
fn pub_06_a_group_that_the_disk_refuses_leaves_no_frame() {
    for failing in 0..6 {
        let mut rig = Rig::new(6, Durability::Memory);
        rig.put(1, 16);
        rig.opened.storage.files.want_spares(2);
        rig.tend();
        rig.disk.fail_after(failing, 5);
        let refused = rig.append(&[&[2; 40], &[3; 60], &[4; 60]]);
        if let Ok(fsn) = refused {
            assert_eq!(fsn.as_i64(), 3);
            assert!(failing >= 5, "{failing}");
        } else {
            assert!(matches!(refused, Err(Refused::Disk(_))));
            assert_eq!(rig.opened.ledger.published(), Fsn::new(0));
            let frames: Vec<_> = rig.disk.snapshot().iter().flat_map(|(_, bytes)| frames(bytes).0).collect();
            assert_eq!(frames, [vec![1; 16]], "call {failing}");
            rig.append(&[&[2; 40], &[3; 60], &[4; 60]]).unwrap();
        }
        assert_eq!(strict(&rig.disk).1, [vec![1; 16], vec![2; 40], vec![3; 60], vec![4; 60]]);
    }
}

#[test]
fn pub_07_fmt_22_a_process_that_dies_between_any_two_calls_leaves_a_slot_that_every_peer_opens() {
    // Each run dies one call later; the call that fails stands for the death.
    for dies_at in 0..200 {
        let mut rig = Rig::new(6, Durability::Memory);
        rig.disk.fail_after(dies_at, 5);
        let mut stored = Vec::new();
        let mut dead = false;
        for byte in 0..12 {
            let group = [vec![byte; 40], vec![byte; 30]];
            let payloads: Vec<&[u8]> = group.iter().map(Vec::as_slice).collect();
            for _ in 0..5 {
                let before = rig.disk.calls();
                match rig.append(&payloads) {
                    Ok(_) => {
                        stored.extend(group.clone());
                        break;
                    }
                    Err(Refused::Full { .. }) => drop(rig.tend()),
                    Err(_) => dead = true,
                }
                dead |= rig.disk.calls() > dies_at && before <= dies_at;
                if dead {
                    break;
                }
            }
            if dead {
                break;
            }
        }
        let killed = rig.disk.kill();
        let (head, found) = strict(&killed);
        assert_eq!(head, 0);
        assert!(found.starts_with(&stored), "call {dies_at}: {} of {}", found.len(), stored.len());
    }
}

#[test]
fn pub_07_a_record_that_is_not_synced_is_written_over_and_the_last_durable_one_is_not() {
    let mut rig = Rig::new(9, Durability::Memory);
    let generations = |rig: &Rig| {
        let manifest = rig.disk.contents(&rig.path(names::MANIFEST)).unwrap();
        [0, 4096].map(|at| i64::from_le_bytes(manifest[at + 8..at + 16].try_into().unwrap()))
    };
    rig.opened.storage.files.want_spares(4);
    rig.tend();
    assert_eq!(generations(&rig), [0, 1]);
    rig.append(&[&[1; 60]]).unwrap();
    rig.append(&[&[2; 60]]).unwrap();
    assert_eq!(generations(&rig), [2, 1], "generation 1 was synced by the keeper");
    rig.append(&[&[3; 60]]).unwrap();
    rig.append(&[&[4; 60]]).unwrap();
    assert_eq!(generations(&rig), [6, 1], "2 and 4 were never synced");
    rig.tend();
    rig.append(&[&[5; 60]]).unwrap();
    assert_eq!(generations(&rig), [6, 7]);
    assert_eq!(rig.bounds(), (0, 4));
}

#[test]
fn pub_01_the_producer_and_the_io_thread_never_sync_allocate_or_unlink() {
    for durability in [Durability::Memory, Durability::Periodic] {
        let mut rig = Rig::new(4, durability);
        let mut log = symbols();
        for round in 0..60_u8 {
            let id = log.0.push(&format!("text {round}")).unwrap();
            rig.tend();
            rig.calls();
            let written = rig.opened.storage.write_symbols(&log.0, id + 1).unwrap();
            drop(written);
            rig.append(&[&[round; 40]]).unwrap();
            rig.opened.storage.flushed().unwrap();
            rig.read(i64::from(round));
            rig.ack(i64::from(round));
            let slow =
                [DiskCall::Sync, DiskCall::SyncDir, DiskCall::Allocate, DiskCall::Unlink, DiskCall::Rename];
            let calls = rig.calls();
            assert!(!calls.iter().any(|call| slow.contains(call)), "{durability:?} {round}: {calls:?}");
        }
        assert!(rig.bounds().0 > 50, "{:?}", rig.bounds());
    }
}

#[test]
fn pub_03_symbols_are_in_the_file_before_the_frames_and_are_taken_back_with_them() {
    let rig = Rig::new(4, Durability::Memory);
    let (mut log, _mirror) = symbols();
    for text in ["a", "", "ccc"] {
        log.push(text).unwrap();
    }
    let storage = &rig.opened.storage;
    let _ = storage.write_symbols(&log, 2).unwrap();
    assert_eq!(texts(&rig.disk), ["a", ""]);
    let written = storage.write_symbols(&log, 3).unwrap();
    assert_eq!(texts(&rig.disk), ["a", "", "ccc"]);
    storage.take_back(written);
    assert_eq!(texts(&rig.disk), ["a", ""]);

    // PUB-05: where the file cannot be cut, the next chunk covers what is left.
    let written = storage.write_symbols(&log, 3).unwrap();
    rig.disk.fail_all(DiskCall::Truncate, Some(5));
    storage.take_back(written);
    log.truncate(2);
    log.push("x").unwrap();
    let _ = storage.write_symbols(&log, 3).unwrap();
    assert_eq!(texts(&rig.disk), ["a", "", "x"]);
    log.push("next").unwrap();
    let _ = storage.write_symbols(&log, 4).unwrap();
    assert_eq!(texts(&rig.disk), ["a", "", "x", "next"]);

    rig.disk.fail_all(DiskCall::Truncate, None);
    rig.disk.fail_all(DiskCall::Write, Some(28));
    log.push("never").unwrap();
    storage.write_symbols(&log, 5).unwrap_err();
    assert_eq!(texts(&rig.disk).len(), 4);
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("qwp-storage-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
#[cfg_attr(miri, ignore = "maps files")]
fn pub_09_a_mapping_and_positioned_writes_give_the_same_bytes() {
    let folder = Folder::new("ways");
    let mut rig = Rig::new(8, Durability::Memory);
    let real: Arc<dyn Disk> = Arc::new(SystemDisk);
    let config = SlotConfig { dir: folder.0.clone(), ..rig.config.clone() };
    let lock = SlotLock::acquire(&*real, &folder.0).unwrap();
    let recipe =
        Recipe { segment_bytes: SEGMENT_BYTES, durability: Durability::Memory, created_us: 7, generation: 0 };
    let found = create(&real, &folder.0, recipe).unwrap();
    let clock = rig.clock.clone();
    let site = Site { disk: real, ..site(&rig.disk, &clock) };
    let mut mapped = assemble(found, &config, &site, lock).unwrap();
    std::mem::swap(&mut rig.opened, &mut mapped);
    for other in [false, true] {
        if other {
            std::mem::swap(&mut rig.opened, &mut mapped);
        }
        for byte in 1..=9_u8 {
            rig.put(byte, usize::from(byte) * 7);
        }
        for fsn in 0..9_u8 {
            assert_eq!(rig.read(fsn.into()).unwrap(), vec![fsn + 1; usize::from(fsn + 1) * 7]);
        }
        rig.ack(4);
        rig.tend();
    }
    let simulated: Vec<_> = rig.names();
    let real: Vec<_> = SystemDisk.list(&folder.0).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(simulated, real);
    for name in real.iter().filter(|name| *name != names::LOCK_PID) {
        let file = std::fs::read(folder.0.join(name)).unwrap();
        assert!(file == rig.disk.contents(&rig.path(name)).unwrap(), "{name}");
    }
}
