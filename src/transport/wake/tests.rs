use super::*;
use crate::time::{Clock, SystemClock};
use std::thread;
use std::time::Duration;

/// Longer than any machine needs, so that only a lost wake-up takes it.
fn long() -> Deadline {
    Deadline::after(SystemClock.now(), Duration::from_secs(30))
}

fn now() -> Deadline {
    Deadline::at(SystemClock.now())
}

#[test]
fn a_wake_up_fired_before_the_wait_ends_it_once() {
    let wake = Wake::new().unwrap();
    assert!(!wake.wait(now()).unwrap());
    wake.fire();
    wake.fire();
    assert!(wake.wait(long()).unwrap());
    assert!(!wake.wait(now()).unwrap(), "drained by the wait");
    assert!(!wake.drain());
}

#[test]
fn the_wait_lasts_until_the_deadline_and_not_less() {
    let wake = Wake::new().unwrap();
    let end = SystemClock.now() + Duration::from_millis(20);
    assert!(!wake.wait(Deadline::at(end)).unwrap());
    assert!(SystemClock.now() >= end);
}

#[test]
fn notify_fires_only_while_armed_and_once() {
    let wake = Wake::new().unwrap();
    wake.notify();
    assert!(!wake.drain());
    wake.arm();
    wake.notify();
    wake.notify();
    assert!(wake.wait(long()).unwrap());
    assert!(!wake.drain());
    wake.arm();
    wake.disarm();
    wake.notify();
    assert!(!wake.drain());
}

#[test]
fn no_wake_up_is_lost_between_two_threads() {
    const ROUNDS: u32 = 2_000;
    let wake = Wake::new().unwrap();
    let work = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (producer_wake, producer_work) = (wake.clone(), Arc::clone(&work));
    let producer = thread::spawn(move || {
        for _ in 0..ROUNDS {
            producer_work.fetch_add(1, Ordering::Relaxed);
            producer_wake.notify();
        }
    });
    let mut waits = 0;
    while work.load(Ordering::Relaxed) < ROUNDS {
        wake.arm();
        if work.load(Ordering::Relaxed) < ROUNDS {
            // The last round always comes after this look, so the wait always ends.
            assert!(wake.wait(long()).unwrap(), "lost after {waits} waits");
        }
        wake.disarm();
        waits += 1;
    }
    producer.join().unwrap();
}

#[test]
fn the_pipe_keeps_one_wake_up_however_often_it_is_fired() {
    let event = pipe::Event::new().unwrap();
    assert!(!event.drain());
    for _ in 0..100_000 {
        event.fire();
    }
    assert!(event.drain());
    assert!(!event.drain());
    event.fire();
    let mut fds = [rustix::event::PollFd::new(&event, rustix::event::PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut fds, None).unwrap(), 1);
}
