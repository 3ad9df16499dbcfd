//! A sender that has nothing to do. In a process of its own, since it looks at its threads.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use kit::*;
use support::Server;

/// Voluntary context switches of each thread of this process that is called `qwp-...`.
fn switches() -> Vec<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
    let field = |status: &str, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim_start_matches(':').trim().to_owned())
    };
    let own = status.filter(|status| field(status, "Name").is_some_and(|name| name.starts_with("qwp-")));
    own.map(|status| field(&status, "voluntary_ctxt_switches").unwrap().parse().unwrap()).collect()
}

/// Issue 3: less than twice a second.
#[test]
fn an_idle_sender_sleeps_and_a_closed_one_leaves_no_thread() {
    assert_eq!(switches(), []);
    let server = Server::start();
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..10);
    drain(&mut sender);
    // The thread goes to sleep soon after the last answer.
    let mut before = switches();
    assert_eq!(before.len(), 1, "one thread a sender");
    eventually("the thread is asleep", || {
        let now = switches();
        std::mem::replace(&mut before, now.clone()) == now
    });
    measure();
    let after = switches();
    assert!(after[0] - before[0] <= 1, "{} wake-ups in two seconds", after[0] - before[0]);

    row(&mut sender, 10);
    drain(&mut sender);
    assert_eq!(xs(&server).len(), 11, "it wakes for a row");
    sender.close().unwrap();
    // FLUSH-14
    assert_eq!(switches(), [], "its thread has ended");
}

/// The time over which wake-ups are counted.
fn measure() {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    never.recv_timeout(ms(2000)).expect_err("nobody sends");
}
