//! Recovery that is interrupted: at every call to the disk, by an error and by a power cut behind it;
//! on a full disk; and what is refused.

use super::damage::Damage;
use super::*;
use crate::sim::DiskCall;
use std::collections::BTreeSet;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Cases whose repair has steps, of each kind.
const CASES: &[&str] = &[
    "active_torn_last",
    "active_flip_interior",
    "active_hole_first",
    "active_missing",
    "head_hole_first",
    "sealed_hole_first",
    "sealed_flip_last",
    "sealed_residue",
    "middle_missing",
    "head_missing",
    "head_bad_magic",
    "manifest_missing",
    "manifest_both_bad",
    "manifest_missing_unflagged",
    "manifest_torn_in_rotation",
    "manifest_head_moved_files_left",
    "manifest_active_beyond",
    "segments_gone_manifest_left",
    "watermark_mid",
    "watermark_beyond",
    "watermark_legacy16",
    "dict_missing",
    "dict_torn",
    "dict_bad_magic",
    "dict_disagrees",
    "deferred_tail",
    "all_deferred",
    "node_temp_files",
];

fn damaged(case: &str) -> Damage {
    let (disk, slot) = sample("rust-7.2.1-rotated", "r2");
    let damage = Damage { disk, slot };
    damage.case(case);
    damage
}

/// Every row that is to be sent from the slot and from the pieces that anybody may adopt.
fn rows(disk: &SimDisk, slot: &Path, recovered: &Recovered) -> BTreeSet<i64> {
    let mut all = BTreeSet::new();
    let mut add = |folder: &Path, opened: &Opened| {
        for (fsn, payload) in to_send(disk, folder, opened) {
            all.extend(trades(fsn, &payload, &opened.epochs).iter().map(|trade| trade.v));
        }
    };
    add(slot, opened(recovered));
    for name in names_in(disk, Path::new(ROOT)).iter().filter(|name| name.contains("-recovered-")) {
        let piece = slot.with_file_name(name);
        if marker::read(disk, &piece).unwrap().is_none() {
            let recovered = recover(disk, &piece, now()).unwrap();
            add(&piece, opened(&recovered));
        }
    }
    all
}

#[test]
fn rec_11_a_recovery_that_is_cut_off_anywhere_loses_nothing() {
    let mut images = 0;
    for case in CASES {
        let Damage { disk, slot } = damaged(case);
        let wanted = rows(&disk, &slot, &recover(&disk, &slot, now()).unwrap());
        for step in 0.. {
            assert!(step < 1000, "{case}: it never ends");
            let Damage { disk, slot } = damaged(case);
            disk.fail_after(step, EIO);
            let first = recover(&disk, &slot, now());
            for seed in 0..6 {
                let mut rng = fastrand::Rng::with_seed(seed);
                let image = if seed == 0 { disk.kill() } else { disk.crash(&mut rng) };
                let recovered = recover(&image, &slot, now());
                let recovered = recovered.unwrap_or_else(|e| panic!("{case}, step {step}, seed {seed}: {e}"));
                let left = rows(&image, &slot, &recovered);
                assert!(left.is_superset(&wanted), "{case}, step {step}, seed {seed}: {left:?}");
                images += 1;
            }
            if first.is_ok() {
                break;
            }
        }
    }
    println!("{images} images");
}

#[test]
fn a_disk_that_fails_while_it_is_read_is_a_refusal_and_nothing_changes() {
    let (disk, slot) = sample("rust-7.2.1-rotated", "r2");
    let before = disk.snapshot();
    let called = disk.calls();
    read(&disk, &slot).unwrap();
    let reads = disk.calls() - called;
    for call in 0..reads {
        disk.fail_after(call, EIO);
        let error = recover(&disk, &slot, now()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store);
        assert!(error.to_string().contains("path /sf") && error.to_string().contains("errno 5"), "{error}");
        assert_eq!(disk.snapshot(), before);
    }
}

#[test]
fn pub_10_a_slot_with_frames_opens_on_a_full_disk() {
    for (name, slot, pending) in [
        ("rust-7.2.1-rotated", "r2", false),
        ("rust-7.2.1-partly-acked", "r4", false),
        ("java-1.3.6-rotated", "r2", true),
        ("mixed-java-acked-rust", "m3", true),
    ] {
        let (disk, slot) = sample(name, slot);
        let wanted = {
            let (disk, slot) = sample(name, slot.file_name().unwrap().to_str().unwrap());
            to_send(&disk, &slot, opened(&recover(&disk, &slot, now()).unwrap()))
        };
        disk.set_free_bytes(Some(0));
        let recovered = recover(&disk, &slot, now()).unwrap();
        assert_eq!(!recovered.pending.is_empty(), pending, "{name}: {:?}", recovered.pending);
        assert_eq!(to_send(&disk, &slot, opened(&recovered)), wanted, "{name}");
        // What was left is done once there is room.
        disk.set_free_bytes(None);
        assert_eq!(carry_out(&disk, &slot, &recovered.pending, now()).unwrap(), []);
        let again = recover(&disk, &slot, now()).unwrap();
        assert_eq!(essence(opened(&again)), essence(opened(&recovered)), "{name}");
        assert!(decide(&read(&disk, &slot).unwrap()).unwrap().plan.is_empty(), "{name}");
    }
}

#[test]
fn rec_10_nothing_is_zeroed_without_room_for_the_copy() {
    for case in ["active_flip_interior", "sealed_flip_last"] {
        let Damage { disk, slot } = damaged(case);
        let before: Vec<_> =
            disk.snapshot().into_iter().filter(|(path, _)| path.starts_with(&slot)).collect();
        disk.set_free_bytes(Some(0));
        let error = recover(&disk, &slot, now()).unwrap_err();
        assert!(error.to_string().contains(&format!("errno {ENOSPC}")), "{error}");
        let after: Vec<_> = disk.snapshot().into_iter().filter(|(path, _)| path.starts_with(&slot)).collect();
        assert_eq!(after, before, "{case}");
        disk.set_free_bytes(None);
        recover_twice(&disk, &slot);
    }
}

#[test]
fn an_intact_slot_is_synced_by_nobody() {
    let (disk, slot) = sample("rust-7.2.1-rotated", "r2");
    disk.take_log();
    recover(&disk, &slot, now()).unwrap();
    let syncs = disk.take_log().into_iter().filter(|(call, _)| *call == DiskCall::Sync).count();
    assert_eq!(syncs, 0);
}

#[test]
fn fmt_02_a_link_in_the_place_of_a_file_is_refused() {
    let folder = std::env::temp_dir().join(format!("qwp-links-{}", std::process::id()));
    for name in ["sf-0000000000000000.sfa", names::MANIFEST, names::WATERMARK, names::DICTIONARY, names::LOCK]
    {
        let _ = std::fs::remove_dir_all(&folder);
        let slot = folder.join("slot");
        std::fs::create_dir_all(&slot).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", slot.join(name)).unwrap();
        let error = recover(&crate::store::disk::SystemDisk, &slot, now()).unwrap_err();
        let wanted = format!("symbolic link in a slot: path {}", slot.join(name).display());
        assert!(error.to_string().starts_with(&wanted), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn rec_12_a_watermark_beyond_the_queue_is_corrected_before_anything_is_appended() {
    let Damage { disk, slot } = damaged("watermark_beyond");
    let recovered = recover(&disk, &slot, now()).unwrap();
    let written =
        crate::store::record::Watermark::read(&disk.contents(&slot.join(names::WATERMARK)).unwrap());
    assert_eq!(written.acked, Some(-1));
    assert_eq!(opened(&recovered).watermark, written.records.newest);
}

/// Every file below a folder of the machine, as a snapshot of a simulated disk shows it.
fn contents(folder: &Path, shown: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let shown = shown.join(entry.file_name());
        if entry.path().is_dir() {
            all.extend(contents(&entry.path(), &shown));
        } else {
            all.push((shown, std::fs::read(entry.path()).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn the_machines_disk_ends_up_like_the_simulated_one() {
    let folder = std::env::temp_dir().join(format!("qwp-recovery-{}", std::process::id()));
    for case in CASES {
        let Damage { disk, slot } = damaged(case);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("r2")).unwrap();
        for (path, bytes) in disk.snapshot() {
            std::fs::write(folder.join(path.strip_prefix(ROOT).unwrap()), bytes).unwrap();
        }
        let real = recover(&crate::store::disk::SystemDisk, &folder.join("r2"), now()).unwrap();
        let simulated = recover(&disk, &slot, now()).unwrap();
        assert_eq!(real.verdict, simulated.verdict, "{case}");
        assert_eq!(contents(&folder, Path::new(ROOT)), disk.snapshot(), "{case}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn numbers_at_their_ends_are_numbers_like_any_other() {
    for acked in [i64::MAX, i64::MAX - 1] {
        for base in [0, i64::MAX.unsigned_abs(), i64::MAX.unsigned_abs() - 3] {
            let (disk, slot) = sample("rust-7.2.1-rotated", "r2");
            let record = crate::store::record::Record { generation: i64::MAX, first: acked, second: 0 };
            let file = crate::store::record::file(crate::store::record::Kind::Watermark, Some(record));
            disk.put(&slot.join(names::WATERMARK), &file);
            let header = crate::store::layout::header(Fsn::FIRST.plus(base));
            disk.open(&slot.join(names::segment(3)), Access::Write).unwrap().write_at(&header, 0).unwrap();
            let recovered = recover(&disk, &slot, now()).unwrap();
            to_send(&disk, &slot, opened(&recovered));
        }
    }
}

#[test]
fn rec_07_what_an_interrupted_trim_left_is_deleted_and_all_else_is_kept() {
    let Damage { disk, slot } = damaged("manifest_head_moved_files_left");
    recover(&disk, &slot, now()).unwrap();
    assert!(!names_in(&disk, &slot).contains(&names::segment(0)));
    // The segment at the head is missing too: then the one below it may be more than a left-over.
    let Damage { disk, slot } = damaged("manifest_head_moved_files_left");
    disk.unlink(&slot.join(names::segment(1))).unwrap();
    let recovered = recover(&disk, &slot, now()).unwrap();
    assert_eq!(words(&recovered.events), ["frames_missing", "left_over_kept"]);
    assert!(names_in(&disk, &slot).contains(&format!("{}.corrupt", names::segment(0))));
}

#[test]
fn a_hole_in_front_of_acknowledged_frames_is_no_loss() {
    let (disk, slot) = sample("rust-7.2.1-rotated", "r2");
    let damage = Damage { disk, slot };
    damage.case("watermark_mid");
    damage.remove(&names::segment(1));
    let recovered = recover_twice(&damage.disk, &damage.slot);
    let opened = opened(&recovered);
    assert_eq!((opened.start.as_i64(), opened.acked.map(Fsn::as_i64)), (16, Some(17)));
    assert_eq!(words(&recovered.events), ["left_over_kept"]);
}
