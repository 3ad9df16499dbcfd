//! Every row of store-and-forward.md 4.4: what recovery makes of each case of damage.

use super::damage::Damage;
use super::*;

/// What is to come out of a case.
enum Wanted {
    /// So many frames are sent; words of the events that are no information; files that are set aside;
    /// frames of each piece.
    Opens(usize, &'static [&'static str], &'static [&'static str], &'static [usize]),
    /// Nothing is changed.
    Refuses,
    /// Nothing can be sent.
    SetAside,
}

use Wanted::{Opens, Refuses, SetAside};

const SEG: [&str; 4] = [
    "sf-0000000000000000.sfa.corrupt",
    "sf-0000000000000001.sfa.corrupt",
    "sf-0000000000000002.sfa.corrupt",
    "sf-0000000000000003.sfa.corrupt",
];
const STRAY: &str = "sf-00000000000000ff.sfa.corrupt";
const ACTIVE_KEPT: &[&str] = &[SEG[3]];

/// The case, and the column "new client" of its row.
const CASES: &[(&str, Wanted)] = &[
    // REC-10: tails of the active segment
    ("active_torn_last", Opens(29, &[], &[], &[])),
    ("active_cut_file", Opens(29, &[], &[], &[])),
    ("active_bad_length_last", Opens(29, &[], &[], &[])),
    ("active_flip_interior", Opens(26, &["damage_in_queue"], ACTIVE_KEPT, &[])),
    ("active_hole_interior", Opens(26, &["damage_in_queue"], ACTIVE_KEPT, &[])),
    ("active_zero_header_interior", Opens(26, &["damage_in_queue"], ACTIVE_KEPT, &[])),
    ("active_flip_first", Opens(25, &["damage_in_queue"], ACTIVE_KEPT, &[])),
    ("active_hole_first", Opens(25, &["damage_in_queue"], ACTIVE_KEPT, &[])),
    ("active_empty_payload_frame", Opens(30, &[], &[], &[])),
    // REC-11: holes inside the chain
    ("head_hole_first", Opens(0, &["chain_broken"], &SEG, &[29])),
    ("sealed_hole_first", Opens(8, &["chain_broken"], &SEG, &[21])),
    ("sealed_flip_last", Opens(15, &["chain_broken"], &[SEG[1], SEG[2], SEG[3]], &[14])),
    ("sealed_hole", Opens(10, &["chain_broken"], &[SEG[1], SEG[2], SEG[3]], &[14])),
    // REC-22
    ("sealed_residue", Opens(30, &["residue_cleared"], &[], &[])),
    ("middle_missing", Opens(8, &["chain_broken"], &[SEG[0], SEG[2], SEG[3]], &[14])),
    // REC-05
    ("head_missing", Opens(22, &["frames_missing"], &[], &[])),
    // REC-08
    ("active_missing", Opens(25, &["frames_missing"], &[], &[])),
    // REC-02
    ("zero_length_sfa", Opens(30, &["not_a_segment"], &[STRAY], &[])),
    ("short_sfa", Opens(30, &["not_a_segment"], &[STRAY], &[])),
    ("foreign_sfa", Opens(30, &["not_a_segment"], &["hello.sfa.corrupt"], &[])),
    // FMT-01
    ("foreign_files", Opens(30, &[], &[], &[])),
    ("node_temp_files", Opens(30, &[], &[], &[])),
    ("head_bad_magic", Opens(22, &["frames_missing", "not_a_segment"], &[SEG[0]], &[])),
    ("active_bad_magic", Opens(25, &["frames_missing", "not_a_segment"], &[SEG[3]], &[])),
    // REC-01
    ("active_version2", Refuses),
    ("stray_version2", Refuses),
    ("active_unknown_flag", Refuses),
    ("active_reserved_nonzero", Refuses),
    // REC-04, FMT-08
    ("manifest_missing", Opens(30, &["manifest_rebuilt"], &[], &[])),
    ("manifest_both_bad", Opens(30, &["manifest_rebuilt"], &["sf-manifest.bin.corrupt"], &[])),
    ("manifest_short", Opens(30, &["manifest_rebuilt"], &["sf-manifest.bin.corrupt"], &[])),
    // REC-03: legacy
    ("manifest_missing_unflagged", Opens(30, &[], &[], &[])),
    // REC-06
    ("manifest_newest_bad", Opens(30, &[], &[], &[])),
    ("manifest_active_behind", Opens(30, &["manifest_behind"], &[], &[])),
    ("manifest_torn_in_rotation", Opens(25, &[], &[], &[])),
    // REC-05, REC-07
    ("manifest_head_moved_files_left", Opens(22, &[], &[], &[])),
    ("manifest_active_beyond", Opens(30, &["frames_missing"], &[], &[])),
    // REC-21
    ("segments_gone_manifest_left", Opens(0, &["all_segments_missing"], &[], &[])),
    // REC-12, FMT-18
    ("watermark_mid", Opens(12, &[], &[], &[])),
    ("watermark_all", Opens(0, &[], &[], &[])),
    ("watermark_beyond", Opens(30, &["watermark_beyond"], &[], &[])),
    ("watermark_below_minus_one", Opens(30, &[], &[], &[])),
    ("watermark_missing", Opens(30, &[], &[], &[])),
    ("watermark_legacy16", Opens(12, &[], &[], &[])),
    // REC-14
    ("dict_missing", Opens(30, &[], &[], &[])),
    ("dict_torn", Opens(30, &[], &[], &[])),
    ("dict_zero_length", Opens(30, &[], &[], &[])),
    ("dict_bad_magic", Opens(30, &[], &[".symbol-dict.corrupt"], &[])),
    ("dict_unknown_version", Opens(30, &[], &[".symbol-dict.corrupt"], &[])),
    ("dict_zero_tail", Opens(30, &[], &[], &[])),
    // REC-15
    ("dict_disagrees", Opens(30, &["dictionary_replaced"], &[".symbol-dict.corrupt"], &[])),
    // REC-16
    ("dict_lost_after_trim", SetAside),
    // REC-18
    ("deferred_tail", Opens(28, &["uncommitted_tail_dropped"], &[], &[])),
    ("all_deferred", Opens(0, &["uncommitted_tail_dropped"], &SEG, &[])),
    ("only_lock_left", Opens(0, &[], &[], &[])),
    ("failed_marker", Opens(30, &["marked_failed"], &[], &[])),
    ("node_owner_directory", Opens(30, &[], &[], &[])),
];

fn damaged(case: &str) -> Damage {
    let (disk, slot) = sample("rust-7.2.1-rotated", "r2");
    let damage = Damage { disk, slot };
    damage.case(case);
    damage
}

/// The rows of frames, which have the numbers that their frames tell.
fn check_rows(frames: Vec<(Fsn, Vec<u8>)>, epochs: &[Epoch], case: &str) {
    for (fsn, payload) in frames {
        let rows = trades(fsn, &payload, epochs);
        let i = rows[0].v;
        let wanted: Vec<_> = (i..i + 3).map(|i| trade(i, 40)).collect();
        assert_eq!((rows, i), (wanted, 3 * fsn.as_i64()), "{case}");
    }
}

#[test]
fn every_row_of_the_damage_matrix() {
    assert_eq!(CASES.len(), 57);
    for (case, wanted) in CASES {
        let Damage { disk, slot } = damaged(case);
        let before = disk.snapshot();
        let result = recover(&disk, &slot, now());
        match (wanted, result) {
            (Opens(frames, events, kept, pieces), Ok(recovered)) => {
                let opened = opened(&recovered);
                let sent = to_send(&disk, &slot, opened);
                assert_eq!(sent.len(), *frames, "{case}: {:?}", recovered.events);
                check_rows(sent, &opened.epochs, case);
                assert_eq!(words(&recovered.events), *events, "{case}: {:?}", recovered.events);
                let set_aside: Vec<_> =
                    names_in(&disk, &slot).into_iter().filter(|n| names::is_corrupt(n)).collect();
                assert_eq!(set_aside, *kept, "{case}");
                check_pieces(&disk, &slot, pieces, case);
                check_again(&disk, &slot, opened, case);
            }
            (SetAside, Ok(recovered)) => {
                assert!(matches!(recovered.verdict, Verdict::SetAside(_)), "{case}");
                assert_eq!(disk.snapshot(), before, "{case}");
            }
            (Refuses, Err(error)) => {
                assert_eq!(error.kind(), ErrorKind::Store);
                assert!(error.to_string().starts_with("unsupported slot format: path /sf/r2/sf-"), "{error}");
                assert_eq!(disk.snapshot(), before, "{case}");
            }
            (_, other) => panic!("{case}: {other:?}"),
        }
    }
}

/// Pieces are slots like any other: adoptable, whole, with the frames under their old numbers.
fn check_pieces(disk: &SimDisk, slot: &Path, wanted: &[usize], case: &str) {
    let name = slot.file_name().unwrap().to_str().unwrap();
    for (number, frames) in wanted.iter().enumerate() {
        let folder = slot.with_file_name(format!("{name}-recovered-{number}"));
        assert_eq!(marker::read(disk, &folder).unwrap(), None, "{case}: adoptable");
        let recovered = recover_twice(disk, &folder);
        assert_eq!(recovered.events, [], "{case}");
        let opened = opened(&recovered);
        let sent = to_send(disk, &folder, opened);
        assert_eq!(sent.len(), *frames, "{case}");
        check_rows(sent, &opened.epochs, case);
    }
    let siblings = names_in(disk, Path::new(ROOT));
    assert_eq!(siblings.len(), 1 + wanted.len(), "{case}: {siblings:?}");
}

/// A second recovery comes to the same end, and finds nothing new but what is not repaired.
fn check_again(disk: &SimDisk, slot: &Path, before: &Opened, case: &str) {
    let recovered = recover(disk, slot, now()).unwrap();
    assert_eq!(essence(opened(&recovered)), essence(before), "{case}");
    let repeated = words(&recovered.events);
    assert!(repeated.iter().all(|word| *word == "marked_failed"), "{case}: {repeated:?}");
}

#[test]
fn every_case_is_told_apart_from_a_good_slot() {
    let silent = ["foreign_files", "node_temp_files", "only_lock_left", "watermark_mid", "watermark_all"];
    let unseen = ["watermark_below_minus_one", "watermark_missing", "watermark_legacy16", "dict_zero_tail"];
    let harmless = ["manifest_newest_bad", "manifest_torn_in_rotation", "manifest_head_moved_files_left"];
    for (case, wanted) in CASES {
        let Opens(..) = wanted else { continue };
        let Damage { disk, slot } = damaged(case);
        let recovered = recover(&disk, &slot, now()).unwrap();
        let quiet = [&silent[..], &unseen, &harmless, &["node_owner_directory"]].concat();
        assert_eq!(recovered.events.is_empty(), quiet.contains(case), "{case}: {:?}", recovered.events);
    }
}

#[test]
fn lock_09_the_case_of_a_node_owner_is_in_use_while_it_is_fresh() {
    let Damage { disk, slot } = damaged("node_owner_directory");
    let clock = crate::sim::SimClock::new();
    let owner = slot.join(names::NODE_OWNER).join("owner");
    disk.touch(&owner, crate::time::Clock::wall(&clock));
    let error = crate::store::lock::acquire(&disk, &clock, &slot).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreLocked);
}
