//! Trim, and what goes wrong with it.

use super::*;

fn full(segments: u64) -> Rig {
    let mut rig = Rig::new(segments, Durability::Memory);
    for byte in 0..4 {
        rig.put(byte, 60);
    }
    rig.tend();
    rig.opened.storage.files.spares.lock().target = 0;
    for fsn in 0..4 {
        rig.read(fsn);
    }
    rig.calls();
    rig
}

#[test]
fn pub_16_an_acknowledgement_is_recorded_once_and_for_the_batch() {
    let mut rig = full(9);
    assert_eq!(rig.watermark(), None);
    rig.ack(1);
    assert_eq!(rig.watermark(), Some(1));
    let writes = |rig: &Rig| rig.calls().iter().filter(|call| **call == DiskCall::Write).count();
    writes(&rig);
    rig.ack(1);
    rig.ack(0);
    assert_eq!((writes(&rig), rig.watermark()), (0, Some(1)));
    rig.ack(3);
    assert_eq!((writes(&rig), rig.watermark()), (1, Some(3)));
}

#[test]
fn pub_17_a_trim_syncs_symbols_watermark_and_bounds_before_anything_is_unlinked() {
    let mut rig = full(9);
    let (mut log, _mirror) = symbols();
    log.push("a").unwrap();
    let _ = rig.opened.storage.write_symbols(&log, 1).unwrap();
    rig.ack(2);
    rig.calls();
    rig.tend();
    let wanted = [
        DiskCall::Sync, // symbols
        DiskCall::Sync, // watermark
        DiskCall::Write,
        DiskCall::Sync, // bounds
        DiskCall::Unlink,
        DiskCall::Unlink,
        DiskCall::Unlink,
        DiskCall::SyncDir,
    ];
    assert_eq!(rig.calls(), wanted);
    assert_eq!(rig.bounds(), (3, 3));
    assert_eq!(strict(&rig.disk), (3, vec![vec![3; 60]]));
    // 12.14: three syncs if the symbols did not grow.
    rig.put(4, 60);
    rig.tend();
    rig.read(4);
    rig.ack(3);
    rig.calls();
    rig.tend();
    let syncs = rig.calls().into_iter().filter(|call| matches!(call, DiskCall::Sync | DiskCall::SyncDir));
    assert_eq!(syncs.count(), 3);
}

#[test]
fn pub_17_a_trimmed_segment_becomes_the_next_spare_without_its_old_frames() {
    let mut rig = full(4);
    assert!(matches!(rig.append(&[&[7; 60]]), Err(Refused::Full { .. })));
    rig.ack(0);
    rig.calls();
    rig.tend();
    let calls = rig.calls();
    let at = |wanted: DiskCall| calls.iter().position(|call| *call == wanted);
    assert!(at(DiskCall::Rename) > at(DiskCall::Sync) && at(DiskCall::Unlink).is_none(), "{calls:?}");
    assert_eq!(rig.opened.ledger.bytes_used(), 400);
    let spare = rig.disk.contents(&rig.path("sf-0000000000000004.sfa")).unwrap();
    assert!(Header::decode(&spare).unwrap().flagged && spare[HEADER_BYTES..].iter().all(|&byte| byte == 0));
    rig.append(&[&[7; 60]]).unwrap();
    assert_eq!(strict(&rig.disk), (1, vec![vec![1; 60], vec![2; 60], vec![3; 60], vec![7; 60]]));
    assert_eq!(rig.read(4).unwrap(), [7; 60]);
}

#[test]
fn pub_19_a_trim_that_fails_keeps_the_books_and_is_tried_again() {
    for (call, errno) in [(DiskCall::Sync, 5), (DiskCall::Unlink, 30), (DiskCall::SyncDir, 5)] {
        let mut rig = full(9);
        let all = rig.opened.ledger.bytes_used();
        rig.ack(1);
        rig.disk.fail_all(call, Some(errno));
        let deadline = rig.tend();
        assert_eq!(deadline, Deadline::after(rig.clock.now(), Duration::from_secs(1)), "{call:?}");
        let used = if call == DiskCall::SyncDir { all - 200 } else { all };
        assert_eq!(rig.opened.ledger.bytes_used(), used, "{call:?}");
        assert!(rig.opened.storage.trouble().unwrap().to_string().contains("/root/slot"));
        rig.disk.fail_all(call, None);
        assert_eq!(rig.tend_later(1), Deadline::NEVER);
        assert_eq!((rig.opened.ledger.bytes_used(), rig.bounds()), (all - 200, (2, 3)));
        assert!(rig.opened.storage.trouble().is_none());
        assert_eq!(strict(&rig.disk), (2, vec![vec![2; 60], vec![3; 60]]));
    }
}

#[test]
fn fmt_22_a_process_that_dies_in_a_trim_leaves_a_slot_that_every_peer_opens() {
    for dies_at in 0..30 {
        for recycle in [false, true] {
            let mut rig = full(if recycle { 5 } else { 9 });
            if recycle {
                rig.opened.storage.files.want_spares(3);
            }
            rig.ack(2);
            rig.disk.fail_after(dies_at, 5);
            let calls = rig.disk.calls();
            while rig.disk.calls() <= calls + dies_at
                && rig.opened.storage.tending.turn(rig.clock.now()) == Turn::Again
            {}
            let (head, frames) = strict(&rig.disk.kill());
            let expected: Vec<_> = (head..4).map(|byte| vec![u8::try_from(byte).unwrap(); 60]).collect();
            assert_eq!(frames, expected, "call {dies_at}");
        }
    }
}

#[test]
fn reco_03_every_unacknowledged_frame_is_read_again_after_its_mapping_was_given_back() {
    let mut rig = Rig::new(40, Durability::Memory);
    for byte in 0..30 {
        rig.put(byte, 60);
        rig.tend();
    }
    for fsn in (0..30_u8).rev().chain(0..30) {
        assert_eq!(rig.read(fsn.into()).unwrap(), [fsn; 60]);
    }
    assert_eq!(rig.read(30), None);
    rig.disk.fail_all(DiskCall::Open, Some(24));
    let mut cursor = Rig::new(2, Durability::Memory).opened.cursor;
    std::mem::swap(&mut cursor, &mut rig.opened.cursor);
    // What is known already needs no descriptor; a failure to open one is an error, not an end.
    assert!(cursor.frame(Fsn::FIRST).unwrap().is_some());
    cursor.acked(Fsn::FIRST.plus(4));
    rig.disk.fail_all(DiskCall::Open, None);
}

#[test]
fn the_keeper_runs_while_it_has_slots_and_ends_without() {
    let disk = SimDisk::new();
    let mut rig = Rig::with(&disk, config(4, Durability::Memory));
    let keeper = Keeper::new(Arc::new(crate::time::SystemClock));
    assert_eq!(format!("{keeper:?}"), "Keeper { slots: 0, running: false }");
    // Its bell is the one that the slot rings.
    let site = Site { keeper: keeper.clone(), ..site(&disk, &rig.clock) };
    let dir = PathBuf::from("/root/other");
    disk.create_dir(&dir).unwrap();
    let lock = SlotLock::acquire(&disk, &dir).unwrap();
    let recipe = Recipe { segment_bytes: 100, durability: Durability::Memory, created_us: 0, generation: 0 };
    let found = create(&site.disk, &dir, recipe).unwrap();
    let config = SlotConfig { dir, ..rig.config.clone() };
    rig.opened = assemble(found, &config, &site, lock).unwrap();
    rig.opened.storage.begin(&keeper).unwrap();
    assert_eq!(format!("{keeper:?}"), "Keeper { slots: 1, running: true }");
    let clock = crate::time::SystemClock;
    for byte in 0..40_u8 {
        let stored = loop {
            match rig.append(&[&[byte; 60]]) {
                Ok(fsn) => break fsn,
                Err(Refused::Full { epoch }) => {
                    let limit = Deadline::after(clock.now(), Duration::from_secs(60));
                    let outcome = rig.opened.ledger.wait_room(epoch, limit, &clock);
                    assert_eq!(outcome, crate::store::ledger::Outcome::Reached);
                }
                Err(refused) => panic!("{refused:?}"),
            }
        };
        assert_eq!(rig.read(stored.as_i64()).unwrap(), [byte; 60]);
        rig.ack(stored.as_i64());
    }
    let slow = [DiskCall::Sync, DiskCall::SyncDir, DiskCall::Unlink, DiskCall::Rename, DiskCall::Allocate];
    disk.take_log().into_iter().filter(|(call, _)| slow.contains(call)).skip(2).for_each(|(call, thread)| {
        assert_eq!(thread, "qwp-keeper", "{call:?}");
    });
    rig.opened.appender.close();
    rig.opened.storage.close(Duration::from_secs(60)).unwrap();
    // The thread ends by itself.
    let ended = |keeper: &Keeper| format!("{keeper:?}") == "Keeper { slots: 0, running: false }";
    while !ended(&keeper) {
        std::thread::yield_now();
    }
    let names: Vec<_> = disk.list(Path::new("/root/other")).unwrap().into_iter().map(|e| e.name).collect();
    assert_eq!(names, [names::LOCK, names::LOCK_PID]);
}
