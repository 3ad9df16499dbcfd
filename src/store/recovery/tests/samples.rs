//! Slots as real clients left them: exactly the frames, rows and symbols that are in them.

use super::*;

/// Sample, slot, first and next frame, acknowledged frame, what is not sent at the end, the first row
/// of the first frame that is sent, rows a frame, number of symbols.
type Sample = (&'static str, &'static str, (i64, i64), i64, i64, (i64, i64, i64));

const SAMPLES: &[Sample] = &[
    ("rust-7.2.1-one-segment", "r1", (0, 3), -1, 0, (0, 2, 3)),
    ("rust-7.2.1-rotated", "r2", (0, 30), -1, 0, (0, 3, 40)),
    ("rust-7.2.1-partly-acked", "r4", (8, 24), 13, 0, (42, 3, 40)),
    ("rust-7.2.1-periodic", "p", (0, 36), -1, 0, (0, 3, 40)),
    ("rust-7.2.1-pool", "app-ingest-0", (0, 1), -1, 0, (3, 3, 40)),
    ("rust-7.2.1-pool", "app-ingest-1", (0, 1), -1, 0, (0, 3, 40)),
    ("rust-7.2.1-pool", "app-ingest-2", (0, 1), -1, 0, (6, 3, 40)),
    ("rust-7.2.1-default-size", "default", (0, 1), -1, 0, (0, 3, 40)),
    ("python-6.0.0-rotated", "p1", (0, 14), -1, 0, (0, 3, 6)),
    ("java-1.3.6-one-segment", "r1", (0, 3), -1, 0, (0, 2, 3)),
    ("java-1.3.6-rotated", "r2", (0, 30), -1, 0, (0, 3, 40)),
    ("java-1.3.6-partly-acked", "r4", (10, 24), 13, 0, (42, 3, 40)),
    ("java-1.3.6-two-lives", "two", (0, 20), -1, 0, (0, 3, 40)),
    ("java-1.3.6-deferred", "def", (0, 5), -1, 0, (0, 3, 6)),
    ("java-1.3.6-pool", "app-0", (0, 1), -1, 0, (0, 3, 40)),
    ("java-1.3.6-pool", "app-1", (0, 1), -1, 0, (3, 3, 40)),
    ("java-1.3.6-pool", "app-2", (0, 1), -1, 0, (6, 3, 40)),
    ("mixed-java-acked-rust", "m3", (16, 30), 19, 0, (60, 3, 40)),
    ("mixed-java-after-drain", "m2", (0, 2), -1, 0, (0, 3, 40)),
    ("node-source-shaped", "node", (8, 20), 9, 0, (30, 3, 40)),
];

// FMT-04: the sizes of segments differ, and are those of the files. FMT-09: spares have bases within the
// active segment.

/// Cuts of zeros at the end of large files are undone here.
fn whole(name: &str, slot: &str) -> (SimDisk, PathBuf) {
    let (disk, slot) = sample(name, slot);
    if name == "rust-7.2.1-default-size" {
        for file in names_in(&disk, &slot).iter().filter(|name| name.ends_with(".sfa")) {
            disk.open(&slot.join(file), Access::Write).unwrap().truncate(4 << 20).unwrap();
        }
    }
    (disk, slot)
}

#[test]
fn rec_20_every_sample_recovers_to_its_frames_rows_and_symbols() {
    for &(name, slot, (start, next), acked, unsent, (first_row, rows, card)) in SAMPLES {
        let (disk, slot) = whole(name, slot);
        let recovered = recover_twice(&disk, &slot);
        let opened = opened(&recovered);
        assert_eq!((opened.start.as_i64(), opened.next.as_i64()), (start, next), "{name}");
        assert_eq!(opened.acked.map_or(-1, Fsn::as_i64), acked, "{name}");
        let frames = to_send(&disk, &slot, opened);
        assert_eq!(frames.len() as i64, next - acked.max(start - 1) - 1 - unsent, "{name}");
        let mut i = first_row;
        for (fsn, payload) in frames {
            let wanted: Vec<_> = (i..i + rows).map(|i| trade(i, card)).collect();
            assert_eq!(trades(fsn, &payload, &opened.epochs), wanted, "{name}, frame {fsn}");
            i += rows;
        }
    }
}

#[test]
fn samples_in_order_are_no_events_but_information() {
    let damaged = ["java-1.3.6-deferred", "mixed-java-after-drain"];
    for &(name, slot, ..) in SAMPLES.iter().filter(|(name, ..)| !damaged.contains(name)) {
        let (disk, slot) = whole(name, slot);
        let recovered = recover(&disk, &slot, now()).unwrap();
        assert_eq!(words(&recovered.events), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn an_intact_slot_is_not_written_to() {
    for (name, slot) in [("rust-7.2.1-periodic", "p"), ("rust-7.2.1-rotated", "r2")] {
        let (disk, slot) = sample(name, slot);
        let decision = decide(&read(&disk, &slot).unwrap()).unwrap();
        let only_spares = |action: &Action| matches!(action, Action::Unlink(_) | Action::SyncNames);
        assert!(decision.plan.iter().all(only_spares), "{name}: {:?}", decision.plan);
    }
}

#[test]
fn rec_23_rows_of_both_clients_are_delivered_with_the_symbols_of_each() {
    let (disk, slot) = sample("mixed-java-on-rust", "m1");
    let recovered = recover_twice(&disk, &slot);
    let opened = opened(&recovered);
    assert_eq!(words(&recovered.events), ["manifest_stale"]);
    assert_eq!((opened.start.as_i64(), opened.next.as_i64(), opened.acked), (0, 40, None));
    assert!(opened.dense, "the last epoch is not the file's");
    let firsts: Vec<_> = opened.epochs.iter().map(|epoch| epoch.first.as_i64()).collect();
    assert_eq!(firsts, [0, 30]);
    let frames = to_send(&disk, &slot, opened);
    assert_eq!(frames.len(), 40);
    for ((fsn, payload), i) in frames.into_iter().zip((0..).step_by(3)) {
        let card = if fsn.as_i64() < 30 { 40 } else { 60 };
        let wanted: Vec<_> = (i..i + 3).map(|i| trade(i, card)).collect();
        assert_eq!(trades(fsn, &payload, &opened.epochs), wanted, "frame {fsn}");
    }
}

#[test]
fn rec_13_two_lives_of_old_java_are_two_epochs() {
    let (disk, slot) = sample("java-1.3.6-two-lives", "two");
    let recovered = recover(&disk, &slot, now()).unwrap();
    let opened = opened(&recovered);
    assert_eq!(opened.epochs.iter().map(|epoch| epoch.first.as_i64()).collect::<Vec<_>>(), [0, 10]);
    assert!(opened.dense);
    assert_eq!(disk.contents(&slot.join(names::DICTIONARY)), None, "the file is left alone");
}

#[test]
fn slots_without_symbols_and_of_other_tables_are_whole() {
    for (name, slot, frames, card) in [
        ("rust-7.2.1-no-symbols", "r3", 2, 0),
        ("java-1.3.6-no-symbols", "r3", 2, 0),
        ("rust-7.2.1-rich", "rich", 5, 204),
        ("java-1.3.6-rich", "rich", 6, 204),
        ("java-captured-legacy", "legacy", 3, 10),
    ] {
        let (disk, slot) = sample(name, slot);
        let recovered = recover_twice(&disk, &slot);
        let opened = opened(&recovered);
        let payloads = to_send(&disk, &slot, opened);
        assert_eq!(payloads.len(), frames, "{name}");
        let texts = &opened.epochs[0].texts;
        for (_, payload) in payloads {
            let message = decode::message(&payload).unwrap();
            let cells = message.blocks.iter().flat_map(|block| &block.columns);
            for column in cells.filter(|column| column.column_type == crate::wire::types::ColumnType::Symbol)
            {
                let known = |cell| matches!(cell, Cell::Unsigned(id) if id < texts.len() as u64);
                assert!(column.cells().flatten().all(known), "{name}");
            }
        }
        assert_eq!(texts.len(), card, "{name}");
        assert_eq!(words(&recovered.events), Vec::<&str>::new(), "{name}");
    }
    let (disk, slot) = sample("java-captured-modern", "modern");
    let recovered = recover_twice(&disk, &slot);
    let frames = to_send(&disk, &slot, opened(&recovered));
    assert_eq!(frames.iter().map(|(fsn, _)| fsn.as_i64()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn payloads_that_are_not_ours_are_kept_as_they_are() {
    let (disk, slot) = sample("java-captured-opaque", "opaque");
    let recovered = recover_twice(&disk, &slot);
    let frames = to_send(&disk, &slot, opened(&recovered));
    let wanted = [(42, &b"one"[..]), (43, b"two-two")];
    assert_eq!(frames.iter().map(|(fsn, payload)| (fsn.as_i64(), &payload[..])).collect::<Vec<_>>(), wanted);
}

#[test]
fn rec_21_drained_slots_are_empty() {
    for (name, slot) in [
        ("rust-7.2.1-drained", "drained"),
        ("java-1.3.6-drained", "drained"),
        ("mixed-java-drained-rust", "m4"),
    ] {
        let (disk, slot) = sample(name, slot);
        let recovered = recover_twice(&disk, &slot);
        let opened = opened(&recovered);
        assert_eq!((opened.next, opened.acked, opened.manifest), (Fsn::FIRST, None, None), "{name}");
        assert_eq!(words(&recovered.events), Vec::<&str>::new(), "{name}");
        assert_eq!(names_in(&disk, &slot), [".lock", ".lock.pid"], "{name}");
    }
}

#[test]
fn rec_16_a_slot_that_nobody_can_replay_is_set_aside_and_untouched() {
    let (disk, slot) = sample("rust-7.2.1-quarantined", "dmiss");
    let before = disk.snapshot();
    let recovered = recover(&disk, &slot, now()).unwrap();
    let Verdict::SetAside(reason) = recovered.verdict else { panic!("{recovered:?}") };
    assert_eq!(reason, "frame 16 needs symbol 2, which nobody has");
    assert_eq!(words(&recovered.events), ["set_aside"]);
    assert_eq!(disk.snapshot(), before);
    let aside = set_aside(&disk, &slot, now(), &reason).unwrap();
    assert_eq!(aside, Path::new(ROOT).join("dmiss.unreplayable-0"));
    assert_eq!(names_in(&disk, Path::new(ROOT)), ["dmiss.unreplayable-0"]);
    let marker = marker::read(&disk, &aside).unwrap().unwrap();
    assert!(marker.ends_with(&format!("unreplayable: {reason}")), "{marker}");
}

#[test]
fn rec_17_at_most_64_slots_of_a_name_are_set_aside() {
    let (disk, slot) = sample("rust-7.2.1-quarantined", "dmiss");
    for number in 0..64 {
        disk.create_dir(&slot.with_file_name(format!("dmiss.unreplayable-{number}"))).unwrap();
    }
    let error = set_aside(&disk, &slot, now(), "reason").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(disk.contents(&slot.join(names::MANIFEST)).is_some());
}

#[test]
fn rec_18_an_uncommitted_tail_at_the_end_is_zeroed_and_its_numbers_used_again() {
    let (disk, slot) = sample("java-1.3.6-deferred", "def");
    let recovered = recover(&disk, &slot, now()).unwrap();
    let opened = opened(&recovered);
    assert_eq!(words(&recovered.events), ["uncommitted_tail_dropped"]);
    assert_eq!(recovered.events[1].fsns, Some((5, Some(7))));
    assert_eq!(opened.next.as_i64(), 5);
    let bytes = disk.contents(&slot.join(names::INITIAL)).unwrap();
    let end = usize::try_from(opened.segments[0].end).unwrap();
    assert!(bytes[end..].iter().all(|&byte| byte == 0));
}
