mod model;
mod rejections;

use super::*;
use crate::time::{Clock, SystemClock};
use crate::wire::response::tests::ack;
use connection::IN_FLIGHT_MAX;

/// A message that refuses one.
fn error(status: u8, sequence: i64, text: &str) -> Vec<u8> {
    let mut bytes = vec![status];
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

#[derive(Debug, Default)]
struct Frames {
    frames: Vec<Queued>,
    symbols: u64,
    /// A frame that does not decode.
    damaged: Option<usize>,
    /// A frame that needs a new connection.
    renewal: Option<Fsn>,
    /// A frame that numbers its symbols anew.
    renumbered: Option<Fsn>,
}

impl Backlog for Frames {
    fn frame(&mut self, fsn: Fsn) -> Option<Result<Queued, Unreadable>> {
        let index = usize::try_from(fsn.as_i64()).unwrap();
        if self.damaged == Some(index) {
            return Some(Err(Unreadable::Damaged(crate::wire::frame::peek(b"QWP").unwrap_err())));
        }
        self.frames.get(index).copied().map(Ok)
    }

    fn symbols(&self, _: Fsn) -> u64 {
        self.symbols
    }

    fn renumbers(&self, fsn: Fsn) -> bool {
        self.renumbered == Some(fsn)
    }

    fn must_renew(&self, first: Fsn, next: Fsn) -> bool {
        self.renewal.is_some_and(|mark| first < mark && mark <= next)
    }
}

/// A delivery, its store, and a link that takes everything at once. What it does is written down:
/// `connect`, `f3` (frame), `s0-5` (symbols), `ping`, `acked 3`, `report ..`, `terminal`, and
/// `drop` with what it says of the host.
struct Scene {
    delivery: Delivery,
    now: Instant,
    store: Frames,
    cap: Option<u64>,
    log: Vec<String>,
    errors: Vec<Error>,
    replayed: Vec<i64>,
    /// Frames and symbols are only begun, never sent whole.
    blocked: bool,
}

impl Scene {
    fn new() -> Scene {
        Scene::with(&Rules::default())
    }

    fn with(rules: &Rules) -> Scene {
        let now = SystemClock.now();
        Scene {
            delivery: Delivery::new(rules, None, fastrand::Rng::with_seed(7), now),
            now,
            store: Frames::default(),
            cap: None,
            log: Vec::new(),
            errors: Vec::new(),
            replayed: Vec::new(),
            blocked: false,
        }
    }

    /// Connected, with that many frames without symbols published and sent.
    fn sent(frames: usize) -> Scene {
        let mut scene = Scene::new();
        scene.publish(frames);
        scene.settle().up().said();
        scene
    }

    fn frame(&mut self, deferred: bool, delta_start: u64, delta_count: u64, bytes: usize) -> &mut Scene {
        let facts = FrameFacts { deferred, delta_start, delta_count, table_count: 1 };
        self.store.frames.push(Queued { facts, bytes });
        self.store.symbols = self.store.symbols.max(facts.delta_end());
        self
    }

    fn publish(&mut self, frames: usize) -> &mut Scene {
        for _ in 0..frames {
            self.frame(false, 0, 0, 10);
        }
        self
    }

    /// Does everything that there is to do now.
    fn settle(&mut self) -> &mut Scene {
        while let Some(action) = self.delivery.poll(self.now, &mut self.store) {
            let line = match action {
                Action::Connect => "connect".to_owned(),
                Action::SendFrame(fsn) => {
                    if !self.blocked {
                        let sent = self.delivery.on_sent(self.now).unwrap();
                        assert_eq!(sent.fsn, fsn);
                        self.replayed.extend(sent.replayed.then_some(fsn.as_i64()));
                    }
                    format!("f{fsn}")
                }
                Action::SendSymbols { from, to, message_max, .. } => {
                    let end = to.min(from + message_max as u64);
                    if !self.blocked {
                        self.delivery.on_symbols_sent(end, 10, self.now);
                    }
                    format!("s{from}-{end}")
                }
                Action::Ping => "ping".to_owned(),
                Action::Acked { fsn, .. } => format!("acked {fsn}"),
                Action::Disconnect { host, close, .. } => {
                    let close = close.map_or(String::new(), |code| format!(" {code}"));
                    format!("drop {host:?}{close}").to_lowercase()
                }
                Action::Report(report) => {
                    let line = format!("report {}", report.category);
                    self.errors.push(report.error);
                    line
                }
                Action::Terminal { error, .. } => {
                    self.errors.push(error);
                    "terminal".to_owned()
                }
            };
            self.log.push(line);
        }
        self
    }

    fn up(&mut self) -> &mut Scene {
        let upgrade = Upgrade { max_batch_bytes: self.cap, ..Upgrade::default() };
        self.delivery.on_upgraded("a:9000", &upgrade, self.now);
        self.settle()
    }

    fn message(&mut self, bytes: &[u8]) -> &mut Scene {
        self.delivery.on_message(bytes, self.now);
        self.settle()
    }

    fn ok(&mut self, sequence: i64) -> &mut Scene {
        self.message(&ack(Some(sequence), &[]))
    }

    fn nack(&mut self, status: u8, sequence: i64) -> &mut Scene {
        self.message(&error(status, sequence, "no\u{1b}t this"))
    }

    fn broken(&mut self) -> &mut Scene {
        self.delivery.on_link_error(LinkError::Ended, self.now);
        self.settle()
    }

    fn closed(&mut self, code: u16) -> &mut Scene {
        self.delivery.on_close(Some(code), "bye", self.now);
        self.settle()
    }

    fn no_host(&mut self, kind: ErrorKind, all_role_rejected: bool) -> &mut Scene {
        self.delivery.on_round_failed(Error::new(kind, "cannot connect"), all_role_rejected, self.now);
        self.settle()
    }

    fn pass(&mut self, time: Duration) -> &mut Scene {
        self.now += time;
        self.settle()
    }

    /// Jumps to the next deadline and returns how far that was; nowhere without one.
    fn jump(&mut self) -> Duration {
        let time = self.delivery.next_deadline().remaining(self.now).unwrap_or_default();
        self.pass(time);
        time
    }

    fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn init_03_frames_wait_for_the_first_connection_and_go_out_in_order() {
    let mut scene = Scene::new();
    scene.publish(3).settle();
    assert_eq!(scene.said(), ["connect"]);
    scene.up();
    assert_eq!(scene.said(), ["f0", "f1", "f2"]);
    assert!(scene.delivery.is_caught_up());
    scene.publish(1).settle();
    assert_eq!(scene.said(), ["f3"]);
    scene.ok(1);
    assert_eq!(scene.said(), ["acked 1"]);
    scene.ok(3);
    assert_eq!(scene.said(), ["acked 3"]);
}

#[test]
fn reco_03_after_a_break_the_first_unacknowledged_frame_goes_first() {
    let mut scene = Scene::sent(5);
    scene.ok(1).broken();
    assert_eq!(scene.said(), ["acked 1", "drop broke", "connect"]);
    scene.up();
    assert_eq!(scene.said(), ["f2", "f3", "f4"]);
    assert_eq!(scene.replayed, [2, 3, 4]);
    // Wire sequences start over: 1 is frame 3.
    scene.ok(1);
    assert_eq!(scene.said(), ["acked 3"]);
    scene.publish(1).settle().broken().up();
    assert_eq!(scene.replayed, [2, 3, 4, 4, 5]);
}

#[test]
fn r11_everything_up_to_the_close_counts_before_the_replay() {
    let mut scene = Scene::sent(6);
    scene.ok(4).closed(1000);
    assert_eq!(scene.said(), ["acked 4", "drop broke", "connect"]);
    scene.up();
    assert_eq!(scene.said(), ["f5"]);
    assert!(scene.errors.is_empty());
}

#[test]
fn ack_01_repeated_and_lower_oks_change_nothing() {
    let mut scene = Scene::sent(3);
    scene.ok(1).ok(1).ok(0).ok(-1);
    assert_eq!(scene.said(), ["acked 1"]);
}

#[test]
fn ack_01_errp_08_h11_answers_that_cannot_be_break_the_connection_and_trim_nothing() {
    for bytes in [
        ack(Some(3), &[]),
        ack(Some(99), &[]),
        error(0x09, 3, ""),
        error(0x09, 0, ""),
        error(0x09, -1, ""),
        vec![],
        vec![0, 1, 2],
        b"\x09\0\0\0\0\0\0\0\0\xff\0x".to_vec(),
    ] {
        let mut scene = Scene::sent(3);
        scene.ok(0).said();
        scene.message(&bytes);
        assert_eq!(scene.said(), ["report protocol violation", "drop broke 1002", "connect"], "{bytes:?}");
        assert_eq!(scene.errors[0].kind(), ErrorKind::ProtocolViolation);
        scene.up();
        assert_eq!(scene.said(), ["f1", "f2"]);
    }
}

#[test]
fn errp_08_websocket_garbage_is_a_violation_too() {
    let mut scene = Scene::sent(1);
    scene.delivery.on_link_error(LinkError::Protocol("masked frame".to_owned()), scene.now);
    scene.settle();
    assert_eq!(scene.said(), ["report protocol violation", "drop broke 1002", "connect"]);
    assert!(scene.errors[0].to_string().contains("masked frame"));
}

#[test]
fn pub_16_answers_that_come_together_are_told_at_once() {
    let mut scene = Scene::sent(5);
    for sequence in [0, 2, 3] {
        scene.delivery.on_message(&ack(Some(sequence), &[]), scene.now);
    }
    let action = scene.delivery.poll(scene.now, &mut scene.store).unwrap();
    assert!(matches!(action, Action::Acked { fsn, frames: 4, bytes: 40 } if Some(fsn) == Fsn::new(3)));
    assert!(scene.delivery.poll(scene.now, &mut scene.store).is_none());
}

#[test]
fn ack_02_durable_acks_that_nobody_asked_for_change_nothing() {
    let mut scene = Scene::sent(2);
    scene.message(&ack(None, &[("trades", 7)]));
    assert_eq!(scene.said(), [""; 0]);
}

#[test]
fn ack_05_a_group_is_settled_only_by_its_last_frame() {
    let mut scene = Scene::new();
    scene.publish(1).frame(true, 0, 0, 10).frame(true, 0, 0, 10).frame(false, 0, 0, 10).settle().up().said();
    scene.ok(2);
    assert_eq!(scene.said(), ["acked 0"]);
    scene.broken().up();
    assert_eq!(scene.said(), ["drop broke", "connect", "f1", "f2", "f3"]);
    scene.ok(2);
    assert_eq!(scene.said(), ["acked 3"]);
}

#[test]
fn rep_04_symbols_are_registered_before_the_first_frame_that_needs_them() {
    let mut scene = Scene::new();
    scene.frame(false, 0, 3, 10).frame(false, 3, 2, 10).frame(false, 5, 0, 10).settle().up();
    assert_eq!(scene.said(), ["connect", "f0", "f1", "f2"]);
    scene.ok(1).said();
    scene.broken().up();
    assert_eq!(scene.said(), ["drop broke", "connect", "s0-5", "f2"]);
    // REP-01: the OK for the catch-up moves nothing.
    scene.ok(0);
    assert_eq!(scene.said(), [""; 0]);
    scene.ok(1);
    assert_eq!(scene.said(), ["acked 2"]);
    // 12.16: with nothing unacknowledged nothing is registered before it is needed.
    scene.broken().up();
    assert_eq!(scene.said(), ["drop kept", "connect"]);
    scene.frame(false, 0, 2, 10).frame(false, 4, 2, 10).settle();
    assert_eq!(scene.said(), ["f3", "s2-4", "f4"]);
}

#[test]
fn rep_04_r17_symbols_never_go_out_inside_a_group() {
    let mut scene = Scene::new();
    scene.store.symbols = 20;
    // The second frame of the group lacks 4 to 8, the third carries what it builds on itself.
    scene.frame(true, 0, 4, 10).frame(true, 8, 2, 10).frame(false, 10, 1, 10).settle().up();
    assert_eq!(scene.said(), ["connect", "s0-8", "f0", "f1", "f2"]);
}

#[test]
fn rep_04_a_catch_up_is_cut_by_the_servers_cap() {
    let mut scene = Scene::new();
    scene.cap = Some(40);
    scene.store.symbols = 100;
    scene.frame(false, 100, 0, 40).settle().up();
    assert_eq!(scene.said(), ["connect", "s0-40", "s40-80", "s80-100", "f0"]);
    scene.ok(2);
    assert_eq!(scene.said(), [""; 0]);
    scene.ok(3);
    assert_eq!(scene.said(), ["acked 0"]);
}

#[test]
fn rep_02_a_frame_that_would_be_read_with_wrong_symbols_is_never_sent() {
    let mut scene = Scene::new();
    scene.frame(false, 5, 1, 10);
    scene.store.symbols = 4;
    scene.settle().up();
    assert_eq!(scene.said(), ["connect", "terminal", "drop kept 1000"]);
    assert_eq!(scene.errors[0].kind(), ErrorKind::Store);
    assert!(scene.delivery.is_ended());
}

#[test]
fn rep_02_the_last_look_is_at_the_frame_itself() {
    let mut scene = Scene::new();
    scene.blocked = true;
    scene.frame(true, 0, 0, 10).frame(false, 0, 0, 10).settle().up();
    assert_eq!(scene.said(), ["connect", "f0"]);
    // Other bytes than those that were seen when the group began.
    scene.store.frames[1].facts.delta_start = 1;
    scene.delivery.on_sent(scene.now);
    scene.settle();
    assert_eq!(scene.said(), ["terminal", "drop kept 1000"]);
}

#[test]
fn a_damaged_frame_is_terminal_and_named() {
    let mut scene = Scene::sent(1);
    scene.store.damaged = Some(1);
    scene.settle();
    assert_eq!(scene.said(), ["terminal", "drop kept 1000"]);
    assert!(scene.errors[0].to_string().contains("frame 1"), "{}", scene.errors[0]);
}

#[test]
fn rep_07_a_frame_over_the_cap_fails_the_endpoint_once_all_before_it_is_settled() {
    let mut scene = Scene::new();
    scene.cap = Some(100);
    scene.publish(2).frame(false, 0, 0, 100).frame(true, 0, 0, 50).frame(false, 0, 0, 101).settle().up();
    assert_eq!(scene.said(), ["connect", "f0", "f1", "f2"]);
    scene.ok(1);
    assert_eq!(scene.said(), ["acked 1"]);
    scene.ok(2);
    assert_eq!(scene.said(), ["acked 2", "report store", "drop broke 1000", "connect"]);
    assert!(scene.errors[0].to_string().contains("frame 4, bytes 101, limit 100"), "{}", scene.errors[0]);
    scene.cap = Some(101);
    scene.up();
    assert_eq!(scene.said(), ["f3", "f4"]);
}

#[test]
fn conn_17_a_new_connection_is_quiet_and_comes_once_everything_before_it_is_settled() {
    let mut scene = Scene::new();
    scene.store.renewal = Fsn::new(2);
    scene.publish(4).settle().up();
    assert_eq!(scene.said(), ["connect", "f0", "f1"]);
    scene.ok(0);
    assert_eq!(scene.said(), ["acked 0"]);
    scene.ok(1);
    assert_eq!(scene.said(), ["acked 1", "drop kept 1000", "connect"]);
    scene.up();
    assert_eq!(scene.said(), ["f2", "f3"]);
    assert!(scene.errors.is_empty());
    // A connection that begins before the mark ends before it as well, one behind it goes on.
    scene.ok(0).broken().up();
    assert_eq!(scene.said(), ["acked 2", "drop broke", "connect", "f3"]);
}

#[test]
fn rep_05_a_symbol_over_the_cap_fails_the_endpoint() {
    let mut scene = Scene::new();
    scene.blocked = true;
    scene.frame(false, 2, 0, 10);
    scene.store.symbols = 2;
    scene.settle().up();
    assert_eq!(scene.said(), ["connect", "s0-2"]);
    scene.delivery.on_symbol_too_large(1, 5_000_000, scene.now);
    scene.settle();
    assert_eq!(scene.said(), ["report store", "drop broke 1000", "connect"]);
    assert!(scene.errors[0].to_string().contains(&UNKNOWN_CAP_BYTES.to_string()));
}

#[test]
fn back_01_failed_rounds_pause_longer_and_longer_up_to_the_maximum() {
    let mut scene = Scene::sent(1);
    scene.broken();
    for base in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
        scene.no_host(ErrorKind::Transport, false);
        let pause = scene.jump();
        assert!((ms(base)..ms(2 * base)).contains(&pause), "{pause:?} for {base}");
    }
    // BACK-03: an upgrade starts over.
    scene.up().ok(0).broken();
    scene.no_host(ErrorKind::Transport, false);
    assert!(scene.jump() < ms(200));
}

#[test]
fn back_02_role_rejects_pause_alike_each_time() {
    let mut scene = Scene::new();
    scene.settle();
    for _ in 0..50 {
        scene.no_host(ErrorKind::RoleMismatch, true);
        let pause = scene.jump();
        assert!((ms(100)..ms(200)).contains(&pause), "{pause:?}");
    }
}

#[test]
fn init_04_auth_and_capability_are_terminal_only_before_the_first_connection() {
    for kind in [ErrorKind::Auth, ErrorKind::DurableAckUnsupported] {
        let mut scene = Scene::new();
        scene.settle().no_host(kind, false);
        assert_eq!(scene.said(), ["connect", "terminal"]);
        assert_eq!(scene.errors[0].kind(), kind);

        let mut scene = Scene::sent(1);
        scene.broken().no_host(kind, false);
        assert!(!scene.delivery.is_ended());
        scene.jump();
        assert_eq!(scene.said().last().unwrap(), "connect");
        // AUTH-06
        assert_eq!(scene.errors.len(), usize::from(kind == ErrorKind::Auth));
    }
    for kind in [ErrorKind::Transport, ErrorKind::RoleMismatch, ErrorKind::ProtocolVersion] {
        let mut scene = Scene::new();
        scene.settle().no_host(kind, false);
        assert!(!scene.delivery.is_ended());
    }
}

#[test]
fn reco_01_an_outage_of_days_ends_in_delivery() {
    let mut scene = Scene::sent(1);
    scene.broken();
    let start = scene.now;
    while scene.now - start < secs(3 * 86_400) {
        scene.no_host(ErrorKind::Transport, false);
        scene.jump();
    }
    assert!(scene.errors.is_empty());
    scene.said();
    scene.up().ok(0);
    assert_eq!(scene.said(), ["f0", "acked 0"]);
}

#[test]
fn conn_11_a_silent_server_is_asked_after_15_s_and_dropped_30_s_later() {
    let mut scene = Scene::sent(1);
    assert_eq!(scene.jump(), secs(15));
    assert_eq!(scene.said(), ["ping"]);
    assert_eq!(scene.jump(), secs(30));
    assert_eq!(scene.said(), ["drop broke", "connect"]);
    scene.up();
    assert_eq!(scene.said(), ["f0"]);
    scene.pass(secs(14));
    scene.delivery.on_pong(scene.now);
    assert_eq!(scene.jump(), secs(15));
    scene.delivery.on_pong(scene.now);
    scene.pass(secs(1)).ok(0);
    assert_eq!(scene.said(), ["ping", "acked 0"]);
}

#[test]
fn conn_11_a_blocked_send_counts_as_waiting() {
    let mut scene = Scene::new();
    scene.settle().up().said();
    scene.blocked = true;
    scene.pass(secs(50)).publish(1).settle();
    assert_eq!(scene.jump(), secs(15));
    assert_eq!(scene.jump(), secs(30));
    assert_eq!(scene.said(), ["f0", "ping", "drop broke", "connect"]);
}

#[test]
fn conn_15_an_idle_connection_is_kept_alive_and_its_end_is_no_event() {
    let mut scene = Scene::sent(1);
    scene.ok(0).said();
    for _ in 0..20 {
        assert_eq!(scene.jump(), secs(60));
        assert_eq!(scene.said(), ["ping"]);
        scene.delivery.on_pong(scene.now);
    }
    scene.broken();
    assert_eq!(scene.said(), ["drop kept", "connect"]);
    assert!(scene.errors.is_empty());
    // A host that does so again and again is one to leave.
    scene.up().broken();
    assert_eq!(scene.said(), ["drop broke"]);
}

#[test]
fn the_number_of_unanswered_messages_is_bounded_but_not_within_a_group() {
    let mut scene = Scene::new();
    scene.publish(IN_FLIGHT_MAX - 1);
    for _ in 0..IN_FLIGHT_MAX {
        scene.frame(true, 0, 0, 10);
    }
    scene.publish(3).settle().up();
    assert_eq!(scene.said().len(), 1 + 2 * IN_FLIGHT_MAX);
    assert!(!scene.delivery.is_caught_up());
    scene.ok(2 * IN_FLIGHT_MAX as i64 - 1);
    let last = scene.said();
    assert_eq!(last.len(), 3, "{last:?}");
    assert!(scene.delivery.is_caught_up());
}

#[test]
fn flush_14_a_stop_ends_it_in_every_state() {
    let mut scene = Scene::sent(1);
    scene.delivery.on_stop();
    scene.settle();
    assert_eq!(scene.said(), ["drop kept 1000"]);
    assert!(scene.delivery.is_ended());

    let mut dialling = Scene::new();
    dialling.settle().delivery.on_stop();
    let mut waiting = Scene::sent(1);
    waiting.nack(0x09, 0).delivery.on_stop();
    for mut scene in [dialling, waiting] {
        scene.said();
        scene.settle();
        assert!(scene.delivery.is_ended());
        assert_eq!(scene.delivery.next_deadline(), Deadline::NEVER);
        assert_eq!(scene.said(), [""; 0]);
    }
}

#[test]
fn an_interrupted_round_is_carried_out_again_at_once() {
    let mut scene = Scene::new();
    scene.settle();
    scene.delivery.on_interrupted(scene.now);
    scene.settle();
    assert_eq!(scene.said(), ["connect", "connect"]);
}
