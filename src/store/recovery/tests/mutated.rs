//! Slots changed at random: recovery never panics, always comes to an end, and loses no whole frame.

use super::*;
use crate::store::layout::HEADER_BYTES;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A change to one file of a slot.
#[derive(Debug, Clone)]
enum Change {
    Write(prop::sample::Index, Vec<u8>),
    Cut(prop::sample::Index),
    Grow(Vec<u8>),
    Remove,
    Copy,
    /// In the header of a segment, where changes tell most.
    Header(prop::sample::Index, u8),
}

fn change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..40);
    let change = prop_oneof![
        4 => (any::<prop::sample::Index>(), bytes()).prop_map(|(at, bytes)| Change::Write(at, bytes)),
        2 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Header(at, byte)),
        1 => any::<prop::sample::Index>().prop_map(Change::Cut),
        1 => bytes().prop_map(Change::Grow),
        1 => Just(Change::Remove),
        1 => Just(Change::Copy),
    ];
    (any::<prop::sample::Index>(), change)
}

fn apply(disk: &SimDisk, slot: &Path, file: &prop::sample::Index, change: &Change) {
    let names: Vec<_> = names_in(disk, slot).into_iter().filter(|name| name != names::LOCK).collect();
    if names.is_empty() {
        return;
    }
    let path = slot.join(file.get(&names));
    let mut bytes = disk.contents(&path).unwrap_or_default();
    match change {
        Change::Write(at, new) if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            for (to, from) in bytes[at..].iter_mut().zip(new) {
                *to = *from;
            }
        }
        Change::Header(at, byte) if bytes.len() >= HEADER_BYTES => bytes[8 + at.index(8)] = *byte,
        Change::Write(..) | Change::Header(..) => {}
        Change::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
        Change::Grow(new) => bytes.extend(new),
        Change::Remove => {
            disk.unlink(&path).unwrap();
            return;
        }
        Change::Copy => {
            disk.put(&slot.join("copy.sfa"), &bytes);
            return;
        }
    }
    disk.put(&path, &bytes);
}

/// Every whole payload in every file below the root, whatever its name.
fn payloads(disk: &SimDisk) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for (_, bytes) in disk.snapshot() {
        let mut at = HEADER_BYTES;
        while let Some((payload, end)) = crate::store::layout::checked_frame(&bytes, at) {
            all.insert(payload.to_vec());
            at = end;
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn recovery_loses_no_whole_frame_that_was_not_acknowledged(
        which in 0..4_usize,
        changes in prop::collection::vec(change(), 1..5),
    ) {
        let (name, slot) = [
            ("rust-7.2.1-rotated", "r2"),
            ("java-1.3.6-partly-acked", "r4"),
            ("mixed-java-on-rust", "m1"),
            ("rust-7.2.1-partly-acked", "r4"),
        ][which];
        let (disk, slot) = sample(name, slot);
        for (file, change) in &changes {
            apply(&disk, &slot, file, change);
        }
        disk.sync_all();
        let before = (payloads(&disk), disk.snapshot());
        let Ok(recovered) = recover(&disk, &slot, now()) else {
            prop_assert_eq!(disk.snapshot(), before.1, "a refusal changes nothing");
            return Ok(());
        };
        check_invariants(&recovered);
        let Verdict::Open(opened) = &recovered.verdict else {
            prop_assert_eq!(disk.snapshot(), before.1, "a slot that is set aside is not changed");
            return Ok(());
        };
        // What an interrupted trim leaves is acknowledged, by the manifest; an uncommitted tail is nobody's.
        let gone: Vec<_> = before.0.difference(&payloads(&disk)).cloned().collect();
        let deferred = |payload: &Vec<u8>| crate::wire::frame::peek(payload).is_ok_and(|facts| facts.deferred);
        prop_assert!(gone.iter().all(deferred) || opened.manifest.is_some_and(|m| m.first > 0), "{:?}", recovered.events);
        to_send(&disk, &slot, opened);
        let again = recover(&disk, &slot, now()).unwrap();
        let Verdict::Open(second) = &again.verdict else {
            let events = (recovered.events, again.events);
            return Err(TestCaseError::fail(format!("set aside only behind the recovery: {events:?}")));
        };
        // Without frames the numbers begin again at 0 unless a segment was made.
        let numbers = |opened: &Opened| (opened.start < opened.next).then_some((opened.start, opened.acked));
        let chain = |opened: &Opened| (chain_of(opened), numbers(opened));
        prop_assert_eq!(chain(second), chain(opened), "{:?} then {:?}", recovered.events, again.events);
        // Frames behind a hole may have brought symbols that are not needed any more.
        for epoch in second.epochs.iter().filter(|_| second.next > second.start) {
            let before = opened.epochs.iter().find(|before| before.first == epoch.first);
            let texts = before.map(|before| before.texts.iter().take(epoch.texts.len()).collect::<Vec<_>>());
            prop_assert_eq!(texts, Some(epoch.texts.iter().collect()));
        }
    }
}
