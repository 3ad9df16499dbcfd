#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

use super::*;
use crate::time::{Clock, Deadline, SystemClock};
use proptest::prelude::*;
use std::thread::scope;
use std::time::Duration;

/// Segments of 100 bytes: 76 for envelopes and payloads, so 68 for the largest payload.
fn store(segments: u64) -> (Appender, Walk, Arc<Ledger>) {
    let config = Config { segment_bytes: 100, total_bytes: segments * 100 };
    let (appender, cursor, ledger) = memory(config).unwrap();
    (appender, Walk { cursor, at: 0 }, ledger)
}

fn append(appender: &mut Appender, payloads: &[&[u8]]) -> std::result::Result<Fsn, Refused> {
    let bounds: Vec<usize> = payloads.iter().map(|payload| payload.len() + 2).collect();
    let mut group = appender.begin(&bounds)?;
    for payload in payloads {
        group.frame(payload.len() + 2).unwrap()[..payload.len()].copy_from_slice(payload);
        group.seal(payload.len());
    }
    group.publish()
}

/// A cursor, and the number of the frame to read next.
struct Walk {
    cursor: Cursor,
    at: i64,
}

impl Walk {
    fn next(&mut self) -> Option<(i64, Vec<u8>)> {
        let payload = self.cursor.frame(Fsn::new(self.at).unwrap()).unwrap()?.to_vec();
        self.at += 1;
        Some((self.at - 1, payload))
    }

    fn ack(&mut self, ledger: &Ledger, fsn: i64) {
        assert!(ledger.published() >= Fsn::new(fsn));
        self.cursor.acked(Fsn::new(fsn).unwrap());
    }
}

#[test]
fn pub_13_sizes_that_do_not_work_are_refused() {
    for (segment_bytes, total_bytes, good) in [
        (33, 66, true),
        (32, 1000, false),
        (33, 65, false),
        (u64::from(u32::MAX), 1 << 40, true),
        (1 << 32, 1 << 40, false),
    ] {
        let result = memory(Config { segment_bytes, total_bytes });
        assert_eq!(result.is_ok(), good, "{segment_bytes} {total_bytes}");
    }
}

#[test]
fn frames_come_out_in_order_byte_for_byte() {
    let (mut appender, mut walk, ledger) = store(4);
    assert_eq!((walk.next(), ledger.published(), ledger.acked()), (None, None, None));
    assert_eq!(append(&mut appender, &[b"one"]).unwrap().as_i64(), 0);
    assert_eq!(append(&mut appender, &[b"two", b"three"]).unwrap().as_i64(), 2);
    assert_eq!(ledger.published(), Fsn::new(2));
    for (fsn, payload) in [(0, "one"), (1, "two"), (2, "three")] {
        assert_eq!(walk.next(), Some((fsn, payload.into())));
    }
    assert_eq!(walk.next(), None);
}

#[test]
fn pub_06_a_group_that_is_dropped_leaves_nothing() {
    let (mut appender, mut walk, ledger) = store(4);
    append(&mut appender, &[&[1; 28]]).unwrap();
    let mut group = appender.begin(&[28, 28, 28]).unwrap();
    for _ in 0..3 {
        group.frame(28).unwrap().fill(9);
        group.seal(28);
    }
    drop(group);
    assert_eq!((ledger.published(), ledger.bytes_used()), (Fsn::new(0), 100));
    append(&mut appender, &[&[2; 28], &[3; 28]]).unwrap();
    for (fsn, byte) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(walk.next(), Some((fsn, vec![byte; 28])));
    }
    assert_eq!(walk.next(), None);
    assert_eq!(ledger.bytes_used(), 200);
}

#[test]
fn a_group_over_several_segments_appears_at_once() {
    let (mut appender, mut walk, ledger) = store(4);
    let mut group = appender.begin(&[60, 60, 60]).unwrap();
    for byte in 1..=3 {
        group.frame(60).unwrap().fill(byte);
        group.seal(60);
    }
    assert_eq!((walk.next(), ledger.published()), (None, None));
    assert_eq!(group.publish().unwrap().as_i64(), 2);
    assert_eq!(ledger.bytes_used(), 300);
    for byte in 1..=3 {
        assert_eq!(walk.next(), Some((i64::from(byte) - 1, vec![byte; 60])));
    }
}

#[test]
fn frames_shorter_than_their_bounds_always_fit_what_was_reserved() {
    let (mut appender, _walk, _ledger) = store(100);
    for lengths in [[1_usize, 68, 1, 68], [68, 1, 68, 1], [34, 1, 34, 68], [60, 8, 1, 1]] {
        let mut group = appender.begin(&[68, 68, 68, 68]).unwrap();
        for length in lengths {
            assert_eq!(group.frame(68).unwrap().len(), 68);
            group.seal(length);
        }
        group.publish().unwrap();
    }
}

#[test]
fn fmt_14_the_largest_frame_fits_and_one_byte_more_does_not() {
    let (mut appender, mut walk, _ledger) = store(2);
    assert_eq!(appender.max_frame(), 68);
    let refused = appender.begin(&[1, 69]).unwrap_err();
    assert!(matches!(refused, Refused::FrameTooLarge { bytes: 69, bytes_max: 68 }));
    let mut group = appender.begin(&[68]).unwrap();
    group.frame(68).unwrap().fill(7);
    group.seal(68);
    group.publish().unwrap();
    assert_eq!(walk.next(), Some((0, vec![7; 68])));
    assert!(appender.begin(&[]).unwrap().frame(69).is_none());
    assert!(appender.begin(&[5]).unwrap().frame(usize::MAX).is_none());
}

#[test]
#[should_panic(expected = "FMT-13")]
fn fmt_13_an_empty_frame_is_never_written() {
    let (mut appender, _walk, _ledger) = store(2);
    let mut group = appender.begin(&[5]).unwrap();
    group.frame(5);
    group.seal(0);
}

#[test]
fn pub_13_a_group_that_can_never_fit_is_told_from_one_that_has_to_wait() {
    let (mut appender, mut walk, ledger) = store(2);
    append(&mut appender, &[&[1; 60]]).unwrap();
    let refused = appender.begin(&[60, 60, 60]).unwrap_err();
    assert!(matches!(refused, Refused::NeverFits { segments: 3, segments_max: 2 }));
    append(&mut appender, &[&[2; 60]]).unwrap();
    assert!(matches!(appender.begin(&[60]), Err(Refused::Full { .. })));
    assert!(matches!(appender.begin(&[60, 60]), Err(Refused::Full { .. })));
    assert_eq!((ledger.bytes_used(), ledger.bytes_max()), (200, 200));

    while walk.next().is_some() {}
    walk.ack(&ledger, 0);
    assert_eq!(ledger.bytes_used(), 100);
    assert!(matches!(appender.begin(&[60, 60]), Err(Refused::Full { .. })));
    append(&mut appender, &[&[3; 60]]).unwrap();
    while walk.next().is_some() {}
    walk.ack(&ledger, 1);
    let Err(Refused::Full { epoch }) = appender.reserve(&[60, 60]) else { panic!("no room yet") };
    let at_once = Deadline::at(SystemClock.now());
    assert_eq!(ledger.wait_room(epoch, at_once, &SystemClock), Outcome::TimedOut);
    walk.ack(&ledger, 2);
    assert_eq!(ledger.wait_room(epoch, at_once, &SystemClock), Outcome::Reached);
    // Everything is acknowledged: the segment being written to makes room as well.
    append(&mut appender, &[&[4; 60], &[5; 60]]).unwrap();
    assert_eq!(walk.next(), Some((3, vec![4; 60])));
    assert_eq!(walk.next(), Some((4, vec![5; 60])));
    assert_eq!(walk.next(), None);
}

#[test]
fn reco_03_any_unacknowledged_frame_can_be_read_again() {
    let (mut appender, mut walk, ledger) = store(40);
    for index in 0..50_u8 {
        append(&mut appender, &[&[index; 20]]).unwrap();
    }
    while walk.next().is_some() {}
    walk.ack(&ledger, 17);
    for start in [18, 49, 30, 19] {
        walk.at = start;
        for index in start..50 {
            assert_eq!(walk.next(), Some((index, vec![index as u8; 20])));
        }
        assert_eq!(walk.next(), None);
    }
    walk.at = 18;
    assert_eq!(walk.cursor.frame(Fsn::new(40).unwrap()).unwrap(), Some(&[40; 20][..]));
    assert_eq!(walk.cursor.frame(Fsn::new(50).unwrap()).unwrap(), None);
    assert_eq!(walk.next(), Some((18, vec![18; 20])));
}

#[test]
fn pub_20_blocks_of_trimmed_segments_are_used_again() {
    let (mut appender, mut walk, ledger) = store(3);
    let mut seen = std::collections::HashSet::new();
    for round in 0..50 {
        let mut group = appender.begin(&[60]).unwrap();
        let space = group.frame(60).unwrap();
        seen.insert(space.as_ptr() as usize);
        space.fill(round);
        group.seal(60);
        let fsn = group.publish().unwrap().as_i64();
        assert_eq!(walk.next(), Some((fsn, vec![round; 60])));
        walk.ack(&ledger, fsn);
        assert!(ledger.bytes_used() <= 200);
    }
    assert!(seen.len() <= 3, "{} blocks", seen.len());
}

#[test]
fn pub_14_a_parked_producer_goes_on_as_soon_as_a_segment_is_trimmed() {
    let (mut appender, mut walk, ledger) = store(2);
    append(&mut appender, &[&[0; 60]]).unwrap();
    append(&mut appender, &[&[1; 60]]).unwrap();
    scope(|scope| {
        scope.spawn(|| {
            for index in 2..200_u8 {
                loop {
                    match append(&mut appender, &[&[index; 60]]) {
                        Ok(fsn) => break assert_eq!(fsn.as_i64(), i64::from(index)),
                        Err(Refused::Full { epoch }) => {
                            let limit = Deadline::after(SystemClock.now(), Duration::from_secs(60));
                            assert_eq!(ledger.wait_room(epoch, limit, &SystemClock), Outcome::Reached);
                        }
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        });
        let mut fsn = 0;
        while fsn < 200 {
            let Some((seen, payload)) = walk.next() else {
                std::thread::yield_now();
                continue;
            };
            assert_eq!((seen, payload), (fsn, vec![fsn as u8; 60]));
            walk.ack(&ledger, fsn);
            fsn += 1;
        }
    });
}

#[test]
fn segments_are_made_when_they_are_needed() {
    let (appender, _cursor, ledger) =
        memory(Config { segment_bytes: 1 << 31, total_bytes: 1 << 40 }).unwrap();
    assert_eq!(ledger.bytes_used(), 0);
    drop(appender);
}

#[derive(Debug, Clone)]
enum Step {
    Append { lengths: Vec<usize>, publish: bool },
    Read(usize),
    Ack(prop::sample::Index),
    Rewind(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (prop::collection::vec(1_usize..60, 1..6), prop::bool::weighted(0.8))
            .prop_map(|(lengths, publish)| Step::Append { lengths, publish }),
        3 => (1_usize..8).prop_map(Step::Read),
        2 => any::<prop::sample::Index>().prop_map(Step::Ack),
        1 => any::<prop::sample::Index>().prop_map(Step::Rewind),
    ]
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn the_store_behaves_like_a_list_of_frames(steps in prop::collection::vec(step(), 1..120)) {
        let (mut appender, mut walk, ledger) = store(6);
        let mut model: Vec<Vec<u8>> = Vec::new();
        let (mut at, mut acked) = (0_usize, 0_usize);
        for step in steps {
            match step {
                Step::Append { lengths, publish } => {
                    let bounds: Vec<usize> = lengths.iter().map(|length| (length + 5).min(68)).collect();
                    let Ok(mut group) = appender.begin(&bounds) else {
                        prop_assert!(acked < model.len(), "an acknowledged store takes any group");
                        continue;
                    };
                    let mut frames = Vec::new();
                    for (length, bound) in lengths.iter().zip(&bounds) {
                        let byte = (model.len() + frames.len()) as u8;
                        group.frame(*bound).unwrap()[..*length].fill(byte);
                        group.seal(*length);
                        frames.push(vec![byte; *length]);
                    }
                    if publish {
                        model.extend(frames);
                        prop_assert_eq!(group.publish().unwrap().as_i64(), model.len() as i64 - 1);
                    }
                }
                Step::Read(count) => for _ in 0..count {
                    let want = model.get(at).map(|frame| (at as i64, frame.clone()));
                    at += usize::from(want.is_some());
                    prop_assert_eq!(walk.next(), want);
                },
                Step::Ack(index) => if at > acked {
                    acked += index.index(at - acked) + 1;
                    walk.ack(&ledger, acked as i64 - 1);
                },
                Step::Rewind(index) => {
                    at = acked + index.index(model.len() - acked + 1);
                    walk.at = at as i64;
                }
            }
            prop_assert_eq!(ledger.unacked(), (model.len() - acked) as u64);
            prop_assert!(ledger.bytes_used() <= 600);
        }
    }
}
