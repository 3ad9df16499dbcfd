//! Names of the files of a slot and of slots (store-and-forward.md 2.1, 2.10). Pure.

/// Locked while the slot is owned, always empty, never deleted.
pub(crate) const LOCK: &str = ".lock";
/// The owner's process, for people.
pub(crate) const LOCK_PID: &str = ".lock.pid";
/// The committed bounds.
pub(crate) const MANIFEST: &str = "sf-manifest.bin";
/// The acknowledged frame.
pub(crate) const WATERMARK: &str = ".ack-watermark";
/// The symbols.
pub(crate) const DICTIONARY: &str = ".symbol-dict";
/// Why nobody adopts the slot.
pub(crate) const FAILED: &str = ".failed";
/// What another client's drainer met last.
pub(crate) const LAST_ERROR: &str = ".last_error";
/// The mutex of a Node.js client: a directory with a file `owner` (LOCK-09).
pub(crate) const NODE_OWNER: &str = ".lock.owner";
/// Below the group root: locks on the names of slots (LOCK-08).
pub(crate) const SLOT_LOCKS: &str = ".slot-locks";
/// The first segment of old Java.
pub(crate) const INITIAL: &str = "sf-initial.sfa";

const SEGMENT_SUFFIX: &str = ".sfa";
const CORRUPT_SUFFIX: &str = ".corrupt";

/// Whether recovery looks into a file of that name (FMT-07).
pub(crate) fn is_segment(name: &str) -> bool {
    name.ends_with(SEGMENT_SUFFIX)
}

/// Whether it was set aside by a recovery, this client's or another's.
pub(crate) fn is_corrupt(name: &str) -> bool {
    name.split_once(CORRUPT_SUFFIX).is_some_and(|(_, number)| number.is_empty() || number.starts_with('-'))
}

/// The name of the segment of that generation (FMT-06).
pub(crate) fn segment(generation: u64) -> String {
    format!("sf-{generation:016x}{SEGMENT_SUFFIX}")
}

/// The generation in the name of a segment, also of one that was set aside (FMT-06).
pub(crate) fn generation(name: &str) -> Option<u64> {
    let name = name.split_once(CORRUPT_SUFFIX).map_or(name, |(original, _)| original);
    let digits = name.strip_prefix("sf-")?.strip_suffix(SEGMENT_SUFFIX)?;
    let hex = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let generation = u64::from_str_radix(digits, 16).ok().filter(|_| hex)?;
    (generation <= i64::MAX.unsigned_abs()).then_some(generation)
}

/// The generation that a new segment gets beside files of these names (FMT-06).
pub(crate) fn next_generation<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<u64> {
    match names.into_iter().filter_map(generation).max() {
        None => Some(0),
        Some(highest) => highest.checked_add(1).filter(|&next| next <= i64::MAX.unsigned_abs()),
    }
}

/// Whether it is a half-made file, of a Node.js client or of this one, that an owner deletes at open
/// (2.10).
pub(crate) fn is_temporary(name: &str) -> bool {
    let Some((original, rest)) = name.split_once(".tmp-") else { return false };
    let process = rest.split_once('-').map_or(rest, |(process, _)| process);
    let ours = is_segment(original) || [DICTIONARY, WATERMARK, MANIFEST, FAILED].contains(&original);
    ours && !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name under which a rewritten file is prepared.
pub(crate) fn temporary(name: &str) -> String {
    format!("{name}.tmp-{}-qwp", std::process::id())
}

/// A name under which a file can be set aside without covering one that was set aside earlier.
pub(crate) fn corrupt(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let first = format!("{name}{CORRUPT_SUFFIX}");
    let later = (2_u64..).map(|number| format!("{first}-{number}"));
    std::iter::once(first.clone()).chain(later).find(|name| !taken(name)).unwrap_or(first)
}

/// The name under which a whole slot is set aside; none is free beyond 64 (REC-17).
pub(crate) fn unreplayable(slot: &str, taken: impl Fn(&str) -> bool) -> Option<String> {
    (0..64).map(|number| format!("{slot}.unreplayable-{number}")).find(|name| !taken(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fmt_06_a_generation_is_one_above_all_that_were_ever_there() {
        assert_eq!(segment(10), "sf-000000000000000a.sfa");
        assert_eq!(next_generation([]), Some(0));
        assert_eq!(next_generation([INITIAL, "hello.sfa", MANIFEST]), Some(0));
        let names = ["sf-0000000000000003.sfa", "sf-0000000000000010.sfa.corrupt", "sf-1.sfa"];
        assert_eq!(next_generation(names), Some(17));
        assert_eq!(next_generation(["sf-7fffffffffffffff.sfa"]), None);
        assert_eq!(next_generation(["sf-8000000000000000.sfa"]), Some(0));
        for generation_number in [0, 1, 255, i64::MAX.unsigned_abs()] {
            assert_eq!(generation(&segment(generation_number)), Some(generation_number));
        }
    }

    #[test]
    fn fmt_07_every_name_with_the_suffix_is_looked_into() {
        for name in [INITIAL, "hello.sfa", "sf-0000000000000000.sfa"] {
            assert!(is_segment(name), "{name}");
        }
        for name in ["sf-0000000000000000.sfa.corrupt", "sf-0000000000000003.sfa.tmp-1-x", MANIFEST] {
            assert!(!is_segment(name), "{name}");
        }
    }

    #[test]
    fn temporary_files_are_known_by_their_whole_name() {
        for name in ["sf-0000000000000009.sfa.tmp-1-x", ".symbol-dict.tmp-42-u-u", ".ack-watermark.tmp-7"] {
            assert!(is_temporary(name), "{name}");
        }
        assert!(is_temporary(&temporary(DICTIONARY)));
        for name in ["notes.tmp-1-x", ".symbol-dict.tmp-x", ".symbol-dict.tmp-", ".symbol-dict"] {
            assert!(!is_temporary(name), "{name}");
        }
    }

    #[test]
    fn nothing_that_was_set_aside_is_covered() {
        assert_eq!(corrupt("a.sfa", |_| false), "a.sfa.corrupt");
        assert_eq!(corrupt("a.sfa", |name| name == "a.sfa.corrupt"), "a.sfa.corrupt-2");
        assert!(is_corrupt("a.sfa.corrupt") && is_corrupt("a.sfa.corrupt-2") && !is_corrupt("a.sfa"));
        assert_eq!(unreplayable("a", |name| name.ends_with("-0")).as_deref(), Some("a.unreplayable-1"));
        assert_eq!(unreplayable("a", |_| true), None);
    }
}
