//! The end of a slot (10).

use super::*;

impl Rig {
    /// As a sender does, but the keeper is this thread.
    fn close(mut self) -> (SimDisk, Result<()>) {
        self.opened.appender.close();
        let (done, closed) = bounded(1);
        let until = Deadline::after(self.clock.now(), Duration::from_secs(5));
        self.opened.storage.tending.order(Order::Close(Close { until, done }));
        assert_eq!(self.opened.storage.tending.turn(self.clock.now()), Turn::Done);
        (self.disk.clone(), closed.recv().unwrap())
    }
}

fn used() -> Rig {
    let mut rig = Rig::new(9, Durability::Memory);
    for byte in 0..3 {
        rig.put(byte, 60);
        rig.tend();
    }
    rig.opened.storage.files.want_spares(1);
    rig.tend();
    rig
}

fn names(disk: &SimDisk) -> Vec<String> {
    disk.list(Path::new(ROOT)).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn close_03_a_drained_slot_is_left_empty_and_unlocked() {
    for frames in [0, 3] {
        let mut rig = if frames == 0 { Rig::new(4, Durability::Memory) } else { used() };
        if frames > 0 {
            rig.ack(2);
        }
        rig.disk.put(&rig.path(names::FAILED), b"old");
        rig.disk.put(&rig.path("mine"), b"a file of somebody else");
        let (disk, closed) = rig.close();
        closed.unwrap();
        assert_eq!(names(&disk), [names::LOCK, names::LOCK_PID, "mine"]);
        SlotLock::acquire(&disk, Path::new(ROOT)).unwrap();
    }
}

#[test]
fn close_03_manifest_and_watermark_go_last_and_only_after_every_segment() {
    for dies_at in 0..40 {
        let mut rig = used();
        rig.ack(2);
        rig.disk.fail_after(dies_at, 5);
        let calls = rig.disk.calls();
        let (disk, closed) = rig.close();
        let died = disk.calls() > calls + dies_at;
        disk.fail_after(1 << 40, 5);
        let left = names(&disk);
        if died && left.len() > 2 {
            closed.unwrap_err();
        }
        let has = |name: &str| left.iter().any(|left| left == name);
        if left.iter().any(|name| names::is_segment(name)) {
            assert!(has(names::MANIFEST) && has(names::WATERMARK), "{dies_at}: {left:?}");
        }
        if has(names::WATERMARK) {
            assert!(has(names::MANIFEST), "{dies_at}: a watermark that outlives the bounds: {left:?}");
        }
        SlotLock::acquire(&disk, Path::new(ROOT)).unwrap();
    }
}

#[test]
fn close_03_a_segment_that_is_not_ours_keeps_its_manifest() {
    let mut rig = used();
    rig.ack(2);
    rig.disk.put(&rig.path("hello.sfa"), b"whatever");
    let (disk, closed) = rig.close();
    closed.unwrap();
    let left = names(&disk);
    assert!(left.iter().any(|name| name == names::MANIFEST) && left.contains(&"hello.sfa".to_owned()));
    assert_eq!(left.iter().filter(|name| names::is_segment(name)).count(), 1);
}

#[test]
fn close_04_what_is_not_acknowledged_stays_without_the_spare() {
    let mut rig = used();
    rig.ack(0);
    let (disk, closed) = rig.close();
    closed.unwrap();
    let (_, frames) = strict(&disk);
    assert!(frames.ends_with(&[vec![1; 60], vec![2; 60]]));
    let segments: Vec<_> = names(&disk).into_iter().filter(|name| names::is_segment(name)).collect();
    assert_eq!(segments.len(), frames.len());
    SlotLock::acquire(&disk, Path::new(ROOT)).unwrap();
}

#[test]
fn close_04_the_last_pass_makes_everything_durable_where_that_was_asked_for() {
    for durability in [Durability::Periodic, Durability::Append] {
        let mut rig = Rig::new(9, durability);
        for byte in 0..3 {
            rig.put(byte, 60);
            rig.tend();
        }
        rig.ack(0);
        let (disk, closed) = rig.close();
        closed.unwrap();
        for seed in 0..50 {
            let crashed = disk.crash(&mut fastrand::Rng::with_seed(seed));
            assert!(strict(&crashed).1.ends_with(&[vec![1; 60], vec![2; 60]]), "{durability:?} {seed}");
        }
    }
}

#[test]
fn lock_11_the_lock_outlives_a_storage_that_was_not_closed() {
    let Rig { disk, opened, .. } = used();
    let Opened { appender, cursor, storage, .. } = opened;
    drop(storage);
    drop(appender);
    SlotLock::acquire(&disk, Path::new(ROOT)).unwrap_err();
    // The I/O thread that was left behind ends.
    drop(cursor);
    SlotLock::acquire(&disk, Path::new(ROOT)).unwrap();
}
