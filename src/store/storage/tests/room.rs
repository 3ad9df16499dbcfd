//! Spares, the budget, a full disk.

use super::*;
use crate::store::ledger::Outcome;

const ENOSPC: i32 = 28;

#[test]
fn pub_10_s19_a_spare_is_made_when_the_segment_is_three_quarters_full() {
    let mut rig = Rig::new(4, Durability::Memory);
    rig.tend();
    assert_eq!((segments(&rig), rig.opened.ledger.bytes_used()), (1, 100));
    rig.put(1, 30);
    rig.tend();
    assert_eq!(segments(&rig), 1);
    rig.put(2, 10);
    rig.tend();
    // PUB-12: it counts.
    assert_eq!((segments(&rig), rig.opened.ledger.bytes_used()), (2, 200));
    rig.append(&[&[3; 60]]).unwrap();
}

fn segments(rig: &Rig) -> usize {
    rig.names().iter().filter(|name| names::is_segment(name)).count()
}

#[test]
fn pub_11_a_missing_spare_is_waited_for_like_room() {
    let mut rig = Rig::new(4, Durability::Memory);
    let refused = rig.append(&[&[1; 60], &[2; 60]]);
    let Err(Refused::Full { epoch }) = refused else { panic!("{refused:?}") };
    rig.tend();
    let now = Deadline::at(rig.clock.now());
    assert_eq!(rig.opened.ledger.wait_room(epoch, now, &rig.clock), Outcome::Reached);
    rig.append(&[&[1; 60], &[2; 60]]).unwrap();
}

#[test]
fn pub_11_s16_a_full_disk_is_tried_again_with_pauses_and_told_as_the_cause() {
    let mut rig = Rig::new(4, Durability::Memory);
    rig.disk.fail_all(DiskCall::Allocate, Some(ENOSPC));
    rig.put(1, 60);
    assert!(matches!(rig.append(&[&[2; 60]]), Err(Refused::Full { .. })));
    let deadline = rig.tend();
    assert_eq!(deadline, Deadline::after(rig.clock.now(), Duration::from_secs(1)));
    let trouble = rig.opened.storage.trouble().unwrap().to_string();
    assert!(trouble.contains("sf-0000000000000001.sfa") && trouble.contains("errno 28"), "{trouble}");
    assert_eq!(segments(&rig), 1, "what was half made is removed");
    // The bell does not shorten the pause.
    rig.opened.storage.files.ring();
    assert_eq!(rig.tend(), deadline);
    rig.tend_later(1);
    assert_eq!(rig.tend(), Deadline::after(rig.clock.now(), Duration::from_secs(2)));
    assert!(matches!(rig.append(&[&[2; 60]]), Err(Refused::Full { .. })));
    rig.disk.fail_all(DiskCall::Allocate, None);
    assert_eq!(rig.tend_later(2), Deadline::NEVER);
    assert!(rig.opened.storage.trouble().is_none());
    rig.append(&[&[2; 60]]).unwrap();
    assert_eq!(strict(&rig.disk).1.len(), 2);
}

#[test]
fn pub_11_a_trim_ends_the_pause_of_a_full_disk() {
    let mut rig = Rig::new(4, Durability::Memory);
    rig.put(1, 60);
    rig.opened.storage.files.want_spares(1);
    rig.tend();
    rig.disk.fail_all(DiskCall::Allocate, Some(ENOSPC));
    rig.disk.fail_all(DiskCall::Rename, Some(5));
    rig.put(2, 60);
    assert!(matches!(rig.append(&[&[3; 60]]), Err(Refused::Full { .. })));
    rig.tend();
    rig.disk.fail_all(DiskCall::Allocate, None);
    rig.read(0);
    rig.read(1);
    rig.ack(0);
    assert_eq!(rig.tend(), Deadline::NEVER);
    rig.append(&[&[3; 60]]).unwrap();
}

#[test]
fn pub_09_where_nothing_can_be_allocated_files_are_written_all_the_same() {
    const EOPNOTSUPP: i32 = 95;
    let disk = SimDisk::new();
    disk.fail_all(DiskCall::Allocate, Some(EOPNOTSUPP));
    let mut rig = Rig::with(&disk, config(4, Durability::Memory));
    for byte in 0..6 {
        rig.put(byte, 60);
        rig.read(byte.into());
        if byte > 1 {
            rig.ack(i64::from(byte) - 2);
        }
    }
    let (head, frames) = strict(&disk);
    assert_eq!(head + frames.len() as i64, 6);
}

#[test]
fn pub_13_a_group_that_can_never_fit_is_no_wait() {
    let mut rig = Rig::new(2, Durability::Memory);
    let refused = rig.append(&[&[1; 60], &[2; 60], &[3; 60]]);
    assert!(matches!(refused, Err(Refused::NeverFits { segments: 3, segments_max: 2 })));
}

#[test]
fn pub_13_two_segments_are_enough_for_ever() {
    let mut rig = Rig::new(2, Durability::Memory);
    for round in 0..30_u8 {
        let first = i64::from(round) * 2;
        let group: [&[u8]; 2] = [&[round; 60], &[round; 60]];
        let mut stored = false;
        for _ in 0..4 {
            match rig.append(&group) {
                Ok(fsn) => {
                    assert_eq!(fsn.as_i64(), first + 1);
                    stored = true;
                    break;
                }
                Err(Refused::Full { .. }) => drop(rig.tend()),
                Err(refused) => panic!("{refused:?}"),
            }
        }
        assert!(stored, "round {round}");
        assert!(rig.opened.ledger.bytes_used() <= 200);
        assert_eq!(rig.read(first).unwrap(), [round; 60]);
        assert_eq!(rig.read(first + 1).unwrap(), [round; 60]);
        rig.ack(first + 1);
        rig.tend();
        strict(&rig.disk);
    }
}

#[test]
fn a_producer_that_had_to_wait_gets_more_spares_and_no_more_than_the_budget() {
    let mut rig = Rig::new(5, Durability::Memory);
    for byte in 0..4 {
        rig.put(byte, 60);
        rig.tend();
        assert!(rig.opened.ledger.bytes_used() <= 500);
    }
    assert_eq!(rig.opened.ledger.bytes_used(), 500);
    rig.append(&[&[4; 60]]).unwrap();
    assert!(matches!(rig.append(&[&[5; 60]]), Err(Refused::Full { .. })));
    assert_eq!(rig.tend(), Deadline::NEVER, "nothing can be done before a trim");
}

#[test]
fn pub_18_an_idle_slot_shrinks_to_one_empty_segment() {
    let mut rig = Rig::new(9, Durability::Memory);
    for byte in 0..5 {
        rig.put(byte, 60);
    }
    for fsn in 0..5 {
        rig.read(fsn);
    }
    rig.ack(4);
    let due = Deadline::after(rig.clock.now(), Duration::from_secs(1));
    assert_eq!(rig.tend(), due);
    // Something comes in time: not idle.
    rig.put(5, 60);
    rig.tend_later(1);
    assert_eq!(strict(&rig.disk).1.last(), Some(&vec![5; 60]));
    rig.read(5);
    rig.ack(5);
    rig.tend();
    rig.tend_later(2);
    assert_eq!(rig.tend_later(2), Deadline::NEVER, "and never again");
    assert_eq!((segments(&rig), rig.opened.ledger.bytes_used(), rig.bounds()), (1, 100, (6, 6)));
    assert_eq!(strict(&rig.disk), (6, vec![]));
    rig.put(6, 60);
    assert_eq!((rig.read(6).unwrap(), strict(&rig.disk)), (vec![6; 60], (6, vec![vec![6; 60]])));
}

#[test]
fn pub_18_a_segment_that_is_not_half_full_stays() {
    let mut rig = Rig::new(9, Durability::Memory);
    rig.put(0, 10);
    rig.read(0);
    rig.ack(0);
    assert_eq!(rig.tend(), Deadline::NEVER);
    assert_eq!(rig.tend_later(60), Deadline::NEVER);
    assert_eq!(strict(&rig.disk), (0, vec![vec![0; 10]]));
}
