//! What lasts, and when (5).

use super::*;

fn syncs(rig: &Rig) -> usize {
    rig.calls().iter().filter(|call| matches!(call, DiskCall::Sync | DiskCall::SyncDir)).count()
}

#[test]
fn dur_04_a_pass_comes_at_once_then_after_the_interval_and_never_without_frames() {
    let mut rig = Rig::new(9, Durability::Periodic);
    assert_eq!(rig.tend(), Deadline::NEVER);
    rig.calls();
    rig.put(1, 10);
    assert_eq!((rig.opened.ledger.durable(), rig.tend()), (None, Deadline::NEVER));
    assert_eq!((rig.opened.ledger.durable(), syncs(&rig)), (Fsn::new(0), 1));
    rig.put(2, 10);
    let due = Deadline::after(rig.clock.now(), Duration::from_secs(5));
    assert_eq!(rig.tend(), due);
    assert_eq!(rig.tend_later(4), due);
    assert_eq!((rig.opened.ledger.durable(), syncs(&rig)), (Fsn::new(0), 0));
    assert_eq!(rig.tend_later(1), Deadline::NEVER);
    assert_eq!((rig.opened.ledger.durable(), syncs(&rig)), (Fsn::new(1), 1));
    // Long idle, then at once again.
    assert_eq!(rig.tend_later(3600), Deadline::NEVER);
    rig.put(3, 3);
    assert_eq!(rig.tend(), Deadline::NEVER);
    assert_eq!(rig.opened.ledger.durable(), Fsn::new(2));
}

#[test]
fn dur_01_a_pass_reaches_symbols_names_bounds_and_every_segment() {
    let mut rig = Rig::new(9, Durability::Periodic);
    let (mut log, _mirror) = symbols();
    log.push("a").unwrap();
    rig.tend();
    let _ = rig.opened.storage.write_symbols(&log, 1).unwrap();
    for byte in 0..3 {
        rig.opened.storage.files.want_spares(1);
        rig.tend();
        rig.put(byte, 60);
    }
    rig.clock.advance(Duration::from_secs(5));
    rig.tend();
    assert_eq!(rig.opened.ledger.durable(), Fsn::new(2));
    for seed in 0..200 {
        // What is durable is there, whatever a power cut does to the rest.
        let crashed = rig.disk.crash(&mut fastrand::Rng::with_seed(seed));
        let (head, frames) = strict(&crashed);
        assert_eq!((head, &frames[..]), (0, &[vec![0; 60], vec![1; 60], vec![2; 60]][..]), "seed {seed}");
        assert_eq!(texts(&crashed), ["a"]);
    }
    rig.calls();
    assert_eq!((rig.tend(), syncs(&rig)), (Deadline::NEVER, 0));
}

#[test]
fn dur_05_a_failed_pass_writes_again_before_it_syncs_and_flushes_fail_after_an_interval() {
    let mut rig = Rig::new(9, Durability::Periodic);
    rig.tend();
    rig.put(1, 30);
    rig.calls();
    rig.disk.fail_all(DiskCall::Sync, Some(5));
    assert_eq!(rig.tend(), Deadline::after(rig.clock.now(), Duration::from_secs(1)));
    assert_eq!(rig.opened.ledger.durable(), None);
    rig.opened.storage.check().unwrap();
    rig.tend_later(1);
    assert!(rig.calls().contains(&DiskCall::Write), "the bytes are written over themselves");
    assert_eq!(
        rig.tend_later(1),
        Deadline::after(rig.clock.now(), Duration::from_secs(1)),
        "no longer pause"
    );
    rig.tend_later(4);
    let error = rig.opened.storage.check().unwrap_err();
    assert!(error.to_string().contains("errno 5"), "{error}");
    rig.disk.fail_all(DiskCall::Sync, None);
    assert_eq!(rig.tend_later(1), Deadline::NEVER);
    rig.opened.storage.check().unwrap();
    assert_eq!(rig.opened.ledger.durable(), Fsn::new(0));
}

#[test]
fn dur_06_append_syncs_once_a_flush_and_more_only_for_symbols_and_rotations() {
    let mut rig = Rig::new(9, Durability::Append);
    let (mut log, _mirror) = symbols();
    rig.tend();
    rig.calls();
    for byte in 0..3 {
        rig.put(byte, 5);
        rig.opened.storage.flushed().unwrap();
        assert_eq!((syncs(&rig), rig.opened.ledger.durable()), (1, rig.opened.ledger.published()));
    }
    log.push("a").unwrap();
    let _ = rig.opened.storage.write_symbols(&log, 1).unwrap();
    rig.put(3, 5);
    rig.opened.storage.flushed().unwrap();
    assert_eq!(syncs(&rig), 2);
    rig.opened.storage.files.want_spares(1);
    rig.tend();
    rig.calls();
    rig.put(4, 60);
    rig.opened.storage.flushed().unwrap();
    // The rest of the old segment was durable already; bounds and the new one are left.
    let log = syncs(&rig);
    assert!(log <= 3, "{log} syncs");
    for seed in 0..200 {
        let crashed = rig.disk.crash(&mut fastrand::Rng::with_seed(seed));
        assert_eq!(strict(&crashed).1.len(), 5, "seed {seed}");
        assert_eq!(texts(&crashed), ["a"]);
    }
    assert_eq!((rig.opened.storage.flushed().is_ok(), syncs(&rig)), (true, 0));
    rig.put(5, 3);
    rig.disk.fail_all(DiskCall::Sync, Some(5));
    rig.opened.storage.flushed().unwrap_err();
    assert_eq!(rig.opened.ledger.durable(), Fsn::new(4));
    rig.disk.fail_all(DiskCall::Sync, None);
    rig.opened.storage.flushed().unwrap();
    assert_eq!(rig.opened.ledger.durable(), Fsn::new(5));
}

#[test]
fn memory_never_says_that_anything_lasts() {
    let mut rig = Rig::new(9, Durability::Memory);
    for byte in 0..5 {
        rig.put(byte, 60);
        rig.tend_later(60);
    }
    rig.opened.storage.flushed().unwrap();
    assert_eq!(rig.opened.ledger.durable(), None);
}
