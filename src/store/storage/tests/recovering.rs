//! What a writer leaves, however it ends, is found again by the recovery.

use super::*;
use crate::store::open::open;
use proptest::prelude::*;

/// A frame that recovery knows as one: header, no symbols, no block, and `mark` behind that.
fn frame(deferred: bool, mark: u8, len: usize) -> Vec<u8> {
    use crate::wire::frame::{Flags, open};
    use crate::wire::sink::Sink;
    let mut bytes = vec![0; 100 + len];
    let mut sink = Sink::new(&mut bytes);
    let head = open(&mut sink);
    sink.varint(0);
    sink.varint(0);
    sink.put(&vec![mark; len]);
    let flags = if deferred { Flags::DELTA_SYMBOLS.with(Flags::DEFER_COMMIT) } else { Flags::DELTA_SYMBOLS };
    head.close(&mut sink, flags, 0);
    let length = sink.finish().unwrap();
    bytes.truncate(length);
    bytes
}

/// Groups of one to four frames, with all but the last of a group deferred.
fn group(first: u8, lens: &[usize]) -> Vec<Vec<u8>> {
    let last = lens.len() - 1;
    lens.iter().zip(first..).enumerate().map(|(at, (len, mark))| frame(at < last, mark, *len)).collect()
}

#[derive(Debug, Clone)]
enum Step {
    /// Lengths of a group's frames.
    Append(Vec<usize>),
    Ack(prop::sample::Index),
    Tend,
    Wait,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => prop::collection::vec(1_usize..150, 1..5).prop_map(Step::Append),
        2 => any::<prop::sample::Index>().prop_map(Step::Ack),
        3 => Just(Step::Tend),
        1 => Just(Step::Wait),
    ]
}

/// What was done to a slot.
struct Run {
    rig: Rig,
    /// Every published frame.
    frames: Vec<Vec<u8>>,
    /// Ends of the groups.
    ends: Vec<usize>,
    acked: usize,
}

fn slot(durability: Durability) -> SlotConfig {
    let sizes = Config { segment_bytes: 400, total_bytes: 4000 };
    SlotConfig { sizes, ..config(4, durability) }
}

impl Run {
    fn new(durability: Durability) -> Run {
        let rig = Rig::with(&SimDisk::new(), slot(durability));
        Run { rig, frames: Vec::new(), ends: Vec::new(), acked: 0 }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Append(lens) => {
                let group = group(u8::try_from(self.frames.len() % 200).unwrap(), lens);
                let payloads: Vec<&[u8]> = group.iter().map(Vec::as_slice).collect();
                for _ in 0..4 {
                    match self.rig.append(&payloads) {
                        Ok(_) => {
                            self.frames.extend(group);
                            self.ends.push(self.frames.len());
                            let _ = self.rig.opened.storage.flushed();
                            return;
                        }
                        Err(_) => drop(self.rig.tend()),
                    }
                }
            }
            Step::Ack(index) => {
                // Only whole groups are acknowledged.
                let open: Vec<_> = self.ends.iter().filter(|end| **end > self.acked).collect();
                if let Some(end) = open.get(index.index(open.len().max(1))) {
                    self.acked = **end;
                    self.rig.ack(i64::try_from(self.acked - 1).unwrap());
                }
            }
            Step::Tend => drop(self.rig.tend()),
            Step::Wait => drop(self.rig.tend_later(6)),
        }
    }

    /// Opens what is left on a disk, and returns the number of the first frame, and the frames from there.
    fn reopen(&self, disk: &SimDisk) -> (usize, Vec<Vec<u8>>) {
        let site = site(disk, &self.rig.clock);
        let (mut opened, _events) = open(&self.rig.config, &site).unwrap();
        let first = opened.ledger.acked().map_or(0, |fsn| usize::try_from(fsn.as_i64()).unwrap() + 1);
        let mut frames = Vec::new();
        while let Some(frame) = opened.cursor.frame(Fsn::FIRST.plus((first + frames.len()) as u64)).unwrap() {
            frames.push(frame.to_vec());
        }
        opened.appender.close();
        drop(opened.cursor);
        opened.storage.close(Duration::from_secs(60)).unwrap();
        (first, frames)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn flush_02_a_killed_process_leaves_everything_published(
        steps in prop::collection::vec(step(), 1..40),
        durability in prop::sample::select(vec![Durability::Memory, Durability::Periodic, Durability::Append]),
    ) {
        let mut run = Run::new(durability);
        for step in &steps {
            run.step(step);
            let (first, frames) = run.reopen(&run.rig.disk.kill());
            // PUB-16: the watermark is that of the last acknowledgement.
            prop_assert_eq!(first, run.acked);
            prop_assert_eq!(&frames[..], &run.frames[run.acked..]);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn dur_01_06_a_power_cut_takes_nothing_that_was_durable(
        steps in prop::collection::vec(step(), 1..40),
        durability in prop::sample::select(vec![Durability::Periodic, Durability::Append]),
        seed: u64,
    ) {
        let mut run = Run::new(durability);
        let mut rng = fastrand::Rng::with_seed(seed);
        for step in &steps {
            run.step(step);
            let durable = run.rig.opened.ledger.durable().map_or(0, |fsn| usize::try_from(fsn.as_i64()).unwrap() + 1);
            for _ in 0..3 {
                let (first, frames) = run.reopen(&run.rig.disk.crash(&mut rng));
                prop_assert!(frames.iter().all(|frame| run.frames.contains(frame)));
                if durable > run.acked {
                    // Else nothing was promised: the rest may be there in part, or begin again from 0.
                    prop_assert!(first <= run.acked, "{} of {}", first, run.acked);
                    let kept = first + frames.len();
                    prop_assert!(kept >= durable, "{} of {}", kept, durable);
                    prop_assert_eq!(&frames[..], &run.frames[first..kept]);
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn a_power_cut_in_memory_mode_never_keeps_a_slot_from_opening(
        steps in prop::collection::vec(step(), 1..40),
        seed: u64,
    ) {
        let mut run = Run::new(Durability::Memory);
        let mut rng = fastrand::Rng::with_seed(seed);
        for step in &steps {
            run.step(step);
            for _ in 0..3 {
                run.reopen(&run.rig.disk.crash(&mut rng));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn a_process_that_dies_between_two_calls_leaves_whole_groups_and_all_that_were_published(
        steps in prop::collection::vec(step(), 1..30),
        dies_at in 0..300_u64,
    ) {
        let mut run = Run::new(Durability::Memory);
        run.rig.disk.fail_after(dies_at, 5);
        let before = run.rig.disk.calls();
        for step in &steps {
            run.step(step);
            if run.rig.disk.calls() > before + dies_at {
                break;
            }
        }
        let (first, frames) = run.reopen(&run.rig.disk.kill());
        prop_assert_eq!(&frames[..], &run.frames[first..]);
    }
}

#[test]
fn a_slot_is_gone_on_with_where_it_ended() {
    let mut run = Run::new(Durability::Memory);
    for round in 0..10 {
        run.step(&Step::Append(vec![30, 90 + round]));
        run.step(&Step::Tend);
    }
    let disk = run.rig.disk.kill();
    for life in 0..5_u8 {
        let site = site(&disk, &run.rig.clock);
        let (opened, events) = open(&run.rig.config, &site).unwrap();
        assert!(events.is_empty(), "{events:?}");
        assert_eq!(opened.storage.recovered(), run.frames.len() as u64);
        run.rig.opened = opened;
        let group = group(200 + life, &[20, 70, 40]);
        let payloads: Vec<&[u8]> = group.iter().map(Vec::as_slice).collect();
        let clock = crate::time::SystemClock;
        while let Err(Refused::Full { epoch }) = run.rig.append(&payloads) {
            let limit = Deadline::after(clock.now(), Duration::from_secs(60));
            run.rig.opened.ledger.wait_room(epoch, limit, &clock);
        }
        run.frames.extend(group);
        let Opened { appender, cursor, storage, .. } = run.rig.reopenable();
        drop((appender, cursor));
        storage.close(Duration::from_secs(60)).unwrap();
    }
    assert_eq!(run.reopen(&disk), (0, run.frames.clone()));
}

impl Rig {
    /// Its store, another one in its place.
    fn reopenable(&mut self) -> Opened {
        std::mem::replace(&mut self.opened, Rig::new(2, Durability::Memory).opened)
    }
}

#[test]
fn pub_10_a_full_disk_does_not_keep_a_slot_from_being_opened_and_drained() {
    let mut run = Run::new(Durability::Memory);
    for _ in 0..10 {
        run.step(&Step::Append(vec![30, 100]));
        run.step(&Step::Tend);
    }
    let disk = run.rig.disk.kill();
    disk.set_free_bytes(Some(0));
    let site = site(&disk, &run.rig.clock);
    let (mut opened, _) = open(&run.rig.config, &site).unwrap();
    for (fsn, frame) in run.frames.iter().enumerate() {
        assert_eq!(opened.cursor.frame(Fsn::FIRST.plus(fsn as u64)).unwrap().unwrap(), &frame[..]);
    }
    opened.cursor.acked(Fsn::FIRST.plus(run.frames.len() as u64 - 1));
    let Opened { appender, cursor, storage, .. } = opened;
    drop((appender, cursor));
    storage.close(Duration::from_secs(60)).unwrap();
    let left: Vec<_> = disk.list(Path::new(ROOT)).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(left, [names::LOCK, names::LOCK_PID]);
}

#[test]
fn rec_14_symbols_of_an_earlier_life_keep_their_ids() {
    let rig = Rig::new(4, Durability::Memory);
    let (mut log, _mirror) = symbols();
    for text in ["a", "b", "c"] {
        log.push(text).unwrap();
    }
    let _ = rig.opened.storage.write_symbols(&log, 3).unwrap();
    let disk = rig.disk.kill();
    let (opened, _) = open(&rig.config, &site(&disk, &rig.clock)).unwrap();
    let (mut log, mut epochs) = opened.symbols;
    assert_eq!((log.len(), log.text(1)), (3, Some(&b"b"[..])));
    assert_eq!(epochs.entries(Fsn::FIRST, 0, 3), b"\x01a\x01b\x01c");
    log.push("d").unwrap();
    let _ = opened.storage.write_symbols(&log, 4).unwrap();
    assert_eq!(texts(&disk), ["a", "b", "c", "d"]);
}
