//! Every single bit of a slot flipped: detected, reported or harmless, never silent.

use super::*;
use crate::store::record::Watermark;
use crate::store::recovery::found::Manifest;
use crate::store::{dictionary, layout};

/// What became of a flip.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    flips: u64,
    /// The same frames are sent, at most some acknowledged ones again.
    harmless: u64,
    /// An event tells of it.
    reported: u64,
    /// Nothing is touched.
    refused: u64,
}

/// What is sent: numbers and payloads, and the texts of the ids.
type Sent = (Vec<(Fsn, Vec<u8>)>, Vec<Epoch>);

fn sent(opened: &Opened, bytes: impl Fn(&str) -> Vec<u8>) -> Sent {
    let mut frames = Vec::new();
    for kept in &opened.segments {
        let file = bytes(&kept.file);
        for (offset, number) in kept.offsets.iter().zip(0..) {
            let fsn = kept.base.plus(number);
            let at = usize::try_from(*offset).unwrap();
            let (payload, _) = layout::checked_frame(&file, at).expect("a whole frame");
            if Some(fsn) > opened.acked {
                frames.push((fsn, payload.to_vec()));
            }
        }
    }
    (frames, opened.epochs.clone())
}

/// Puts other bytes in the place of a file.
fn put(found: &mut Found, name: &str, bytes: &[u8]) {
    match name {
        names::MANIFEST => found.manifest = Manifest::read(bytes),
        names::WATERMARK => found.watermark = Some(Watermark::read(bytes)),
        names::DICTIONARY => found.dictionary = Some(dictionary::read(bytes)),
        _ => {
            let file = found.files.iter_mut().find(|file| file.name == name).unwrap();
            file.scan = scan::scan(bytes);
        }
    }
}

fn sweep(disk: &SimDisk, slot: &Path) -> Tally {
    let good = read(disk, slot).unwrap();
    // Nothing protects the 16 bytes of old Java: a flip there is another number, and nobody can tell.
    let protected = |name: &str| name != names::WATERMARK || good.watermark.is_some_and(|w| w.current);
    let contents_of = |name: &str| disk.contents(&slot.join(name)).unwrap();
    sweep_over(&good, contents_of, protected)
}

fn sweep_over(
    good: &Found,
    contents: impl Fn(&str) -> Vec<u8> + Copy,
    protected: impl Fn(&str) -> bool,
) -> Tally {
    let baseline = decide(good).unwrap();
    let Verdict::Open(opened) = &baseline.verdict else { panic!("a good slot") };
    let wanted = sent(opened, contents);
    let mut tally = Tally::default();
    let ours = |name: &String| names::is_segment(name) || name.starts_with(".s") || name.starts_with(".a");
    let swept = good.names.iter().filter(|name| ours(name) || *name == names::MANIFEST);
    for name in swept.filter(|name| protected(name)) {
        let mut bytes = contents(name);
        let mut found = good.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            put(&mut found, name, &bytes);
            tally.flips += 1;
            if found == *good {
                tally.harmless += 1;
            } else {
                let here = |other: &str| if other == name { bytes.clone() } else { contents(other) };
                judge(&found, &baseline, &wanted, here, &mut tally, &format!("{name}, bit {bit}"));
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
    tally
}

fn judge(
    found: &Found,
    baseline: &Decision,
    wanted: &Sent,
    bytes: impl Fn(&str) -> Vec<u8>,
    tally: &mut Tally,
    what: &str,
) {
    let decision = match decide(found) {
        Ok(decision) => decision,
        Err(_) => {
            tally.refused += 1;
            return;
        }
    };
    if decision.events != baseline.events {
        tally.reported += 1;
        return;
    }
    let Verdict::Open(opened) = &decision.verdict else { panic!("{what}: set aside silently") };
    let (frames, epochs) = sent(opened, bytes);
    // Acknowledged frames may be sent again, in front.
    assert!(frames.ends_with(&wanted.0), "{what}: other frames are sent");
    assert_eq!(epochs, wanted.1, "{what}: other symbols");
    tally.harmless += 1;
}

#[test]
fn every_flipped_bit_is_detected_reported_or_harmless() {
    let lone = sample("java-1.3.6-partly-acked", "r4");
    lone.0.unlink(&lone.1.join(names::segment(1))).unwrap();
    for (name, (disk, slot), flips) in [
        ("ours", sample("rust-7.2.1-partly-acked", "r4"), 8 * (3 * 1024 + 2 * 8192 + 301)),
        ("old Java's", sample("java-1.3.6-partly-acked", "r4"), 8 * 3 * 2048),
        ("a lone segment of old Java's", lone, 8 * 2 * 2048),
    ] {
        let tally = sweep(&disk, &slot);
        println!("{name}: {tally:?}");
        assert_eq!(tally.flips, flips);
        assert_eq!(tally.harmless + tally.reported + tally.refused, flips);
        assert!(tally.reported > 0 && tally.refused > 0 && tally.harmless > 0);
    }
}

#[test]
fn rec_04_a_lone_segment_is_sent_as_a_whole_unless_a_spare_confirms_its_base() {
    for (spare, first) in [(10, 14), (19, 14), (20, 10), (9, 10)] {
        let (disk, slot) = sample("java-1.3.6-partly-acked", "r4");
        disk.unlink(&slot.join(names::segment(1))).unwrap();
        let header = layout::header(Fsn::FIRST.plus(spare));
        disk.open(&slot.join(names::segment(2)), Access::Write).unwrap().write_at(&header, 0).unwrap();
        let recovered = recover_twice(&disk, &slot);
        let sent = to_send(&disk, &slot, opened(&recovered));
        assert_eq!(sent[0].0.as_i64(), first, "a spare with base {spare}");
    }
}
