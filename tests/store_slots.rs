//! A sender whose store is on disk: what it leaves, finds again, and says when the disk fails.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::path::{Path, PathBuf};

use kit::*;
use qwp::{ErrorKind, Fsn, Sender};
use support::{Script, Server, Value};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("qwp-slots-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn keys(&self, more: &str) -> String {
        format!("sf_dir={};sender_id=w;{more}", self.0.display())
    }

    fn slot(&self) -> PathBuf {
        self.0.join("w")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn files(slot: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(slot).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn symbols(sender: &mut Sender, x: i64) {
    let symbol = format!("s{}", x % 10);
    sender.table("t").symbol("s", &symbol).column_i64("x", x).at(at(x)).unwrap();
    sender.flush().unwrap();
}

#[test]
fn flush_07_close_03_a_drained_slot_is_left_with_its_lock_only() {
    let folder = Folder::new("drained");
    let server = Server::start();
    for round in 0..3 {
        let mut sender = sender(&server, &folder.keys(""));
        for x in round * 10..round * 10 + 10 {
            symbols(&mut sender, x);
        }
        // Numbers begin again after a drained close.
        assert_eq!(sender.published().map(Fsn::as_i64), Some(9));
        sender.close().unwrap();
        assert_eq!(files(&folder.slot()), [".lock", ".lock.pid"]);
    }
    assert_eq!(xs(&server), (0..30).collect::<Vec<_>>());
}

#[test]
fn close_04_what_was_not_delivered_is_on_disk_and_the_next_sender_delivers_it() {
    let folder = Folder::new("left");
    for durability in ["memory", "periodic", "append"] {
        let server = Server::start();
        let keys = folder.keys(&format!("sf_durability={durability};sf_max_segment_bytes=4k;"));
        let away = format!("ws::addr=127.0.0.1:1;auto_flush=off;initial_connect_retry=async;{keys}");
        let mut first = Sender::from_conf(&format!("{away}close_flush_timeout_millis=0;")).unwrap();
        for x in 0..100 {
            symbols(&mut first, x);
        }
        let error = first.close().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{durability}");
        let text = error.to_string();
        assert!(text.contains("frames left 100") && text.contains("is on disk"), "{text}");
        assert!(text.contains(&folder.slot().display().to_string()), "{text}");

        let mut second = sender(&server, &keys);
        assert_eq!(second.counters().frames_recovered, 100, "REP-08");
        assert_eq!(second.published().map(Fsn::as_i64), Some(99));
        for x in 100..120 {
            symbols(&mut second, x);
        }
        drain(&mut second);
        assert_eq!(second.counters().frames_replayed, 0);
        second.close().unwrap();
        assert_eq!(xs(&server), (0..120).collect::<Vec<_>>(), "{durability}");
        for (x, value) in server.column("t", "s").iter().enumerate() {
            assert!(matches!(value, Value::Symbol(s) if **s == *format!("s{}", x % 10)), "{value:?}");
        }
    }
}

#[test]
fn s13_what_was_acknowledged_is_not_sent_again() {
    let folder = Folder::new("acked");
    let keys = folder.keys("sf_max_segment_bytes=4k;");
    let server = Server::scripted(["up, read 60, ok 59, hold end"]);
    let mut first = sender(&server, &format!("{keys}close_flush_timeout_millis=0;"));
    for x in 0..60 {
        symbols(&mut first, x);
    }
    first.wait_acked(first.published(), SOON).unwrap();
    for x in 60..80 {
        symbols(&mut first, x);
    }
    first.close().unwrap_err();
    server.release("end");
    let other = Server::start();
    let mut second = sender(&other, &keys);
    assert_eq!(second.counters().frames_recovered, 20);
    second.close().unwrap();
    assert_eq!(xs(&other), (60..80).collect::<Vec<_>>());
    // Ids of symbols that only acknowledged frames carried are registered again.
    assert!(other.refusals().is_empty());
}

#[test]
fn dur_06_durable_tells_what_lasts() {
    let server = Server::start();
    for (durability, lasts) in [("memory", false), ("append", true)] {
        let folder = Folder::new("durable");
        let mut sender = sender(&server, &folder.keys(&format!("sf_durability={durability};")));
        assert_eq!(sender.durable(), None);
        row(&mut sender, 0);
        let published = sender.flush().unwrap();
        assert_eq!(sender.durable(), published.filter(|_| lasts), "{durability}");
        sender.close().unwrap();
    }
    let folder = Folder::new("durable");
    let mut sender = sender(&server, &folder.keys("sf_durability=periodic;sf_sync_interval_millis=1;"));
    row(&mut sender, 0);
    let published = sender.flush().unwrap();
    eventually("a pass", || sender.durable() == published);
    row(&mut sender, 1);
    let published = sender.flush().unwrap();
    eventually("another pass", || sender.durable() == published);
}

#[test]
fn lock_06_s07_a_slot_in_use_is_refused_with_its_path_and_holder() {
    let folder = Folder::new("locked");
    let server = Server::start();
    let mut first = sender(&server, &folder.keys(""));
    let error = Sender::from_conf(&conf(&server, &folder.keys(""))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreLocked);
    let text = error.to_string();
    assert!(text.contains(&format!("pid={}", std::process::id())), "{text}");
    assert!(text.contains(&folder.slot().display().to_string()) && text.contains("sender_id"), "{text}");
    row(&mut first, 1);
    first.close().unwrap();
    sender(&server, &folder.keys("")).close().unwrap();
    assert_eq!(xs(&server), [1]);
}

#[test]
fn a_build_that_fails_leaves_the_slot_unlocked_and_whole() {
    let folder = Folder::new("failed");
    let keys = folder.keys("close_flush_timeout_millis=0;");
    let away =
        |mode: &str| format!("ws::addr=127.0.0.1:1;auto_flush=off;initial_connect_retry={mode};{keys}");
    let mut first = Sender::from_conf(&away("async")).unwrap();
    row(&mut first, 7);
    first.close().unwrap_err();
    for _ in 0..3 {
        assert_eq!(kind(Sender::from_conf(&away("off"))), ErrorKind::Transport);
    }
    let server = Server::start();
    sender(&server, &folder.keys("")).close().unwrap();
    assert_eq!(xs(&server), [7]);
}

#[test]
fn pub_02_flush_04_without_a_server_rows_are_taken_until_the_store_is_full() {
    for durability in ["memory", "periodic", "append"] {
        let folder = Folder::new("cap");
        let keys = folder.keys(&format!(
            "sf_durability={durability};sf_max_segment_bytes=8k;sf_max_total_bytes=64k;\
             sf_append_deadline_millis=200;close_flush_timeout_millis=0;"
        ));
        let away = format!("ws::addr=127.0.0.1:1;auto_flush=off;initial_connect_retry=async;{keys}");
        let mut first = Sender::from_conf(&away).unwrap();
        let text = "x".repeat(900);
        let mut taken = 0;
        let error = loop {
            first.table("t").column_str("s", &text).column_i64("x", taken).at(at(taken)).unwrap();
            match first.flush() {
                Ok(_) => taken += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::BackPressure);
        assert!(taken >= 7 * 8, "{durability}: {taken} of about 64");
        assert!(error.to_string().contains("no connection for"), "{error}");
        assert!(first.counters().stalls > 0);
        first.close().unwrap_err();
        let server = Server::start();
        let mut second = sender(&server, &keys);
        drain(&mut second);
        second.close().unwrap();
        assert_eq!(xs(&server), (0..taken).collect::<Vec<_>>(), "{durability}");
    }
}

#[test]
fn rows_flow_through_few_segments_while_the_server_acknowledges() {
    let folder = Folder::new("flow");
    let server = Server::start();
    let keys = folder.keys("sf_max_segment_bytes=16k;sf_max_total_bytes=64k;");
    let mut sender = sender(&server, &keys);
    for x in 0..3000 {
        sender.table("t").symbol("s", format!("s{}", x % 300)).column_i64("x", x).at(at(x)).unwrap();
        if x % 10 == 9 {
            sender.flush().unwrap();
        }
    }
    drain(&mut sender);
    assert!(files(&folder.slot()).iter().filter(|name| name.ends_with(".sfa")).count() <= 4);
    sender.close().unwrap();
    assert_eq!(xs(&server), (0..3000).collect::<Vec<_>>());
}

#[test]
fn s16_fmt_02_folders_that_do_not_work_are_named() {
    let folder = Folder::new("bad");
    let server = Server::start();
    std::fs::write(folder.0.join("file"), b"").unwrap();
    std::os::unix::fs::symlink(&folder.0, folder.0.join("link")).unwrap();
    for (dir, id) in [("file", "w"), (".", "file"), (".", "link")] {
        let keys = format!("sf_dir={}/{dir};sender_id={id};", folder.0.display());
        let error = Sender::from_conf(&conf(&server, &keys)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store, "{dir} {id}");
        assert!(error.to_string().contains(&folder.0.display().to_string()), "{error}");
    }
    let id = "a/b";
    let keys = format!("sf_dir={};sender_id={id};", folder.0.display());
    assert_eq!(kind(Sender::from_conf(&conf(&server, &keys))), ErrorKind::Config);
}

#[test]
fn s16_a_small_disk_that_fills_is_back_pressure_and_is_freed_by_delivery() {
    let Some(mount) = Mount::tmpfs("8m") else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let keys = format!(
        "sf_dir={};sender_id=w;sf_max_segment_bytes=1m;sf_append_deadline_millis=300;\
         close_flush_timeout_millis=0;",
        mount.0.0.display()
    );
    let away = format!("ws::addr=127.0.0.1:1;auto_flush=off;initial_connect_retry=async;{keys}");
    let mut first = Sender::from_conf(&away).unwrap();
    let text = "y".repeat(100_000);
    let mut taken = 0;
    let error = loop {
        first.table("t").column_str("s", &text).column_i64("x", taken).at(at(taken)).unwrap();
        match first.flush() {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 100, "8 MiB hold no more than 80");
    };
    assert_eq!(error.kind(), ErrorKind::BackPressure);
    assert!(
        error.to_string().contains("disk: cannot allocate") && error.to_string().contains("errno 28"),
        "{error}"
    );
    assert_eq!(first.pending_rows(), 1, "the row stays in the buffer");
    first.close().unwrap_err();
    // A full disk does not keep a slot from being opened, drained and freed.
    let server = Server::start();
    let mut second = Sender::from_conf(&conf(&server, &format!("auto_flush=off;{keys}"))).unwrap();
    drain(&mut second);
    for x in taken..taken + 30 {
        second.table("t").column_str("s", &text).column_i64("x", x).at(at(x)).unwrap();
        eventually("room", || second.flush().is_ok());
    }
    drain(&mut second);
    second.close().unwrap();
    assert_eq!(xs(&server), (0..taken + 30).collect::<Vec<_>>());
}

/// A file system of its own; needs root.
struct Mount(Folder);

impl Mount {
    fn tmpfs(size: &str) -> Option<Mount> {
        let folder = Folder::new("tmpfs");
        let options = format!("size={size}");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&folder.0)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Mount(folder))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0.0).output();
    }
}

#[test]
fn errp_05_s14_a_terminal_rejection_keeps_the_slot_for_the_next_start() {
    let folder = Folder::new("rejected");
    let server = Server::start();
    server.script(Script::new("up, read 1, nack 3 0 bad"));
    let keys = folder.keys("");
    let mut first = sender(&server, &keys);
    for x in 0..3 {
        row(&mut first, x);
        let _ = first.flush();
    }
    eventually("the rejection", || first.flush().is_err());
    let _ = first.close();
    let mut second = sender(&server, &keys);
    second.drain(SOON).unwrap();
    second.close().unwrap();
    assert_eq!(xs(&server).first(), Some(&0));
}

/// Copies a slot that another client left.
fn sample(folder: &Folder, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/slots").join(name);
    let slot = std::fs::read_dir(&from).unwrap().map(|e| e.unwrap().path()).find(|path| path.is_dir());
    std::fs::create_dir(folder.slot()).unwrap();
    for entry in std::fs::read_dir(slot.unwrap_or(from)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.slot().join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn rec_13_23_s20_slots_of_other_clients_are_delivered_and_gone_on_with() {
    for (name, frames) in [
        ("java-1.3.6-two-lives", 20),
        ("mixed-java-on-rust", 40),
        ("java-1.3.6-partly-acked", 10),
        ("rust-7.2.1-rotated", 30),
    ] {
        let folder = Folder::new(&format!("sample-{name}"));
        sample(&folder, name);
        let server = Server::start();
        let mut first = sender(&server, &folder.keys(""));
        assert_eq!(first.counters().frames_recovered, frames, "{name}");
        for x in 0..3 {
            symbols(&mut first, x);
        }
        drain(&mut first);
        assert_eq!(first.counters().frames_acked, frames + 3, "{name}");
        first.close().unwrap();
        assert_eq!(xs(&server), [0, 1, 2], "{name}");
        for (x, value) in server.column("t", "s").iter().enumerate() {
            assert!(matches!(value, Value::Symbol(s) if **s == *format!("s{x}")), "{name}: {value:?}");
        }
        assert!(server.refusals().is_empty(), "{name}");
        assert!(!files(&folder.slot()).iter().any(|file| file.ends_with(".sfa")), "{name}");
    }
}
