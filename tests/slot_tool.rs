//! What operators see of slots, through the public API and the example that prints it.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

#[path = "../examples/slot.rs"]
#[allow(unreachable_pub, reason = "an example exports nothing")]
#[allow(dead_code, reason = "`main` is called by nobody here")]
mod tool;

use qwp::ErrorKind;
use qwp::slot::{self, EventKind};
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/slots").join(name)
}

/// A copy of a fixture, removed at the end.
struct Copy(PathBuf);

impl Copy {
    fn of(name: &str, test: &str) -> Copy {
        let path = std::env::temp_dir().join(format!("qwp-slot-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        copy(&fixture(name), &path);
        Copy(path)
    }

    fn slot(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Every file below a folder with its bytes.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

fn run(command: &str, path: &Path) -> (bool, String) {
    let mut out = Vec::new();
    let sound = tool::run(&[command, path.to_str().unwrap()], &mut out).unwrap();
    (sound, String::from_utf8(out).unwrap())
}

#[test]
fn ls_tells_of_each_slot_how_much_is_in_it_and_what_is_wrong() {
    let (sound, text) = run("ls", &fixture("rust-7.2.1-partly-acked"));
    let wanted = "r4: 16 frames, 10 unsent (1050 bytes), 38 % acked, 3 segments (3072 bytes), \
        2026-11-29T17:32:14.530524Z to 2026-11-29T17:32:14.563708Z, sound, free\n";
    assert_eq!((sound, text.as_str()), (true, wanted));
    let (sound, text) = run("ls", &fixture("rust-7.2.1-quarantined"));
    assert!(
        !sound && text.contains("dmiss: 15 frames, 15 unsent") && text.contains(", set_aside, "),
        "{text}"
    );
    let (sound, text) = run("ls", &fixture("rust-7.2.1-pool"));
    assert!(sound);
    assert_eq!(
        text.lines().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>(),
        ["app-ingest-0", "app-ingest-1", "app-ingest-2"]
    );
    assert_eq!(run("ls", &fixture("rust-7.2.1-drained")).1.split(',').next(), Some("drained: 0 frames"));
}

#[test]
fn folders_that_are_no_slots_are_left_out() {
    let listed = slot::list(fixture("node-source-shaped")).unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(slot::list(fixture("..")).unwrap().is_empty());
}

#[test]
fn verify_prints_events_and_fails_on_damage_only() {
    let (sound, text) = run("verify", &fixture("rust-7.2.1-rotated/r2"));
    let wanted =
        "frames: 30 (FSN 0 to 29)\nacknowledged: none\nunsent: 30 frames, 3359 bytes\nsymbols: 42\nsound\n";
    assert_eq!((sound, text.as_str()), (true, wanted));
    let copy = Copy::of("rust-7.2.1-rotated", "verify");
    fs::remove_file(copy.slot("r2").join("sf-0000000000000001.sfa")).unwrap();
    let before = contents(&copy.0);
    let (sound, text) = run("verify", &copy.slot("r2"));
    let kept = copy.slot("r2-recovered-0");
    let wanted = format!(
        "damage: chain_broken: hole in the queue, frames behind it are kept apart, FSN 8 to 15, 14 frames, \
        kept in {}: the first transaction behind it may have lost its beginning\n",
        kept.display()
    );
    assert!(!sound && text.starts_with(&wanted) && text.ends_with("DAMAGED\n"), "{text}");
    assert_eq!(contents(&copy.0), before, "nothing is changed");
}

#[test]
fn obs_07_events_have_stable_words_numbers_and_paths() {
    let copy = Copy::of("rust-7.2.1-rotated", "events");
    fs::write(copy.slot("r2").join("hello.sfa"), "not ours").unwrap();
    let report = slot::inspect(copy.slot("r2")).unwrap();
    let [event] = &report.events[..] else { panic!("{:?}", report.events) };
    assert_eq!(
        (event.kind, event.kind.word(), event.bytes),
        (EventKind::NotASegment, "not_a_segment", Some(8))
    );
    assert_eq!(event.file, Some(copy.slot("r2").join("hello.sfa")));
    assert_eq!(event.kept, Some(copy.slot("r2").join("hello.sfa.corrupt")));
    assert!(report.is_damaged());
}

#[test]
fn dump_shows_rows_with_their_symbols() {
    let (_, text) = run("dump", &fixture("rust-7.2.1-one-segment/r1"));
    let mut wanted = String::new();
    for (frame, bytes) in [98, 84, 79].into_iter().enumerate() {
        wanted += &format!("frame {frame}: {bytes} bytes\n");
        for i in 2 * frame..2 * frame + 2 {
            let side = if i % 2 == 0 { "buy" } else { "sell" };
            let sym = i % 3;
            wanted += &format!(
                "  trades: sym=\"S00{sym}\" side={side:?} v={i} timestamp=2023-11-14T22:13:20.00000{i}000Z\n"
            );
        }
    }
    assert_eq!(text, wanted);
    let (_, text) = run("dump", &fixture("rust-7.2.1-partly-acked/r4"));
    assert!(
        text.starts_with("frame 8: 112 bytes, acknowledged\n  trades: sym=\"S024\" side=\"buy\" v=24 "),
        "{text}"
    );
    assert_eq!(text.matches(", acknowledged\n").count(), 6);
}

#[test]
fn dump_shows_every_type_and_the_symbols_of_each_epoch() {
    let (_, text) = run("dump", &fixture("java-1.3.6-rich/rich"));
    for wanted in [
        "  m\u{e9}triques: ville=\"Z\u{fc}rich\" leer=\"\" t=-0.5 ok=true timestamp=2023-11-14T22:13:20.000000Z\n",
        "qty=-9223372036854775807 note=\"na\u{ef}ve \u{2603} \u{10348}\" timestamp=2023-11-14T22:13:20.000000000Z\n",
        "  sparse: timestamp=2023-11-14T22:13:21.000000003Z b=0.75\n",
        "  many: k=\"key-0199\" i=199 ",
        "  arr: m=[1.5, NaN, -2.0] w=1970-01-01T00:00:00.000005Z timestamp=",
        "  types: b=-1 s=-2 i=-3 f=0.25 c=\"\u{e9}\" u=00000000-0000-0001-0000-000000000002 \
            l=0x04000000000000000300000000000000020000000000000001 ip=1.2.3.4 bin=000102 g=u33d8 d=123.45 timestamp=",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    let (_, text) = run("dump", &fixture("mixed-java-on-rust/m1"));
    let row = |v: i64, card: i64| format!("sym=\"S{:03}\"", v % card) + &format!(" side=\"buy\" v={v} ");
    assert!(
        text.contains(&row(88, 40)) && text.contains(&row(90, 60)) && text.contains(&row(118, 60)),
        "{text}"
    );
    let (_, text) = run("dump", &fixture("java-captured-opaque/opaque"));
    assert!(text.starts_with("frame 42: 3 bytes\n  not readable: "), "{text}");
}

#[test]
fn the_holder_of_a_slot_is_told_and_not_disturbed() {
    let copy = Copy::of("rust-7.2.1-rotated", "holder");
    let lock = fs::File::open(copy.slot("r2").join(".lock")).unwrap();
    assert_eq!(slot::inspect(copy.slot("r2")).unwrap().holder, None);
    lock.try_lock().unwrap();
    let report = slot::inspect(copy.slot("r2")).unwrap();
    assert_eq!(report.holder.as_deref(), Some("pid=25786"));
    let (sound, text) = run("verify", &copy.slot("r2"));
    assert!(sound && text.starts_with("note: in use by pid=25786, "), "{text}");
}

#[test]
fn what_is_no_slot_or_too_new_is_a_typed_error() {
    let error = slot::inspect(fixture("rust-7.2.1-rotated")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.to_string().starts_with("not a slot: path "), "{error}");
    let error = slot::list("/nonexistent").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot list directory: path /nonexistent, errno 2: No such file or directory"
    );
    let copy = Copy::of("rust-7.2.1-rotated", "newer");
    let path = copy.slot("r2").join("sf-0000000000000003.sfa");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4] = 2;
    fs::write(&path, bytes).unwrap();
    let error = slot::inspect(copy.slot("r2")).unwrap_err();
    assert!(error.to_string().starts_with("unsupported slot format: path "), "{error}");
    let (sound, text) = run("ls", &copy.0);
    assert!(!sound && text.starts_with("r2: unsupported slot format: "), "{text}");
    assert!(slot::dump(fixture("rust-7.2.1-quarantined/dmiss"), &mut Vec::new()).is_err());
}

#[test]
fn drain_and_unknown_commands_are_refused() {
    for arguments in [&["drain", "x"][..], &["ls"], &[], &["rm", "x"]] {
        assert!(tool::run(arguments, &mut Vec::new()).is_err(), "{arguments:?}");
    }
}
