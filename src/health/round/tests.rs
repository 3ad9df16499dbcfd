use super::*;
use crate::error::Phase;
use crate::health::classify::HostState;

fn report(host: usize, kind: ErrorKind) -> EndpointFailure {
    EndpointFailure { endpoint: format!("h{host}:9000"), phase: Phase::Upgrade, kind, reason: "no".into() }
}

/// Walks hosts that fail so; hosts beyond the list must not be reached.
fn walk(tracker: &mut Tracker, failures: &[Failure]) -> (Vec<usize>, Exhausted) {
    let mut round = Round::new(tracker);
    let mut order = Vec::new();
    while let Some(host) = round.next(tracker) {
        order.push(host);
        round.failed(tracker, host, failures[host], report(host, failures[host].kind()));
    }
    (order, round.end())
}

#[test]
fn conn_02_each_host_is_tried_once_in_the_order_of_the_tracker() {
    let mut tracker = Tracker::ingest(4);
    tracker.succeeded(2);
    let (order, end) = walk(&mut tracker, &[Failure::Transport; 4]);
    assert_eq!(order, [2, 0, 1, 3]);
    assert_eq!(end.kind, ErrorKind::Transport);
    let reports: Vec<_> = end.reports.iter().map(|report| report.endpoint.as_str()).collect();
    assert_eq!(reports, ["h2:9000", "h0:9000", "h1:9000", "h3:9000"], "in the order they were tried");
}

#[test]
fn conn_05_refused_credentials_end_the_walk_at_once() {
    let failures = [Failure::Role, Failure::Auth, Failure::Transport];
    let mut tracker = Tracker::ingest(3);
    let (order, end) = walk(&mut tracker, &failures);
    assert_eq!(order, [0, 1]);
    assert_eq!(end.kind, ErrorKind::Auth);
    assert_eq!(end.reports.len(), 2);
    assert_eq!(tracker.state(2), HostState::Unknown);
}

#[test]
fn a_host_with_stale_credentials_does_not_starve_the_others() {
    let failures = [Failure::Auth, Failure::Transport];
    let mut tracker = Tracker::ingest(2);
    tracker.succeeded(1);
    tracker.broke(1);
    assert_eq!(walk(&mut tracker, &failures).0, [0]);
    assert_eq!(walk(&mut tracker, &failures).0, [1, 0], "the next round asks the other one first");
}

#[test]
fn back_02_a_round_is_role_rejected_only_if_every_attempt_was() {
    use Failure::{Auth, CatchingUp, DurableAck, Role, Transport, Version};
    let table: [(&[Failure], bool); 8] = [
        (&[Role, Role], true),
        (&[Role, CatchingUp], true),
        (&[CatchingUp], true),
        (&[Role, Transport], false),
        (&[Role, DurableAck], false),
        (&[Version, Role], false),
        (&[Role, Auth], false),
        (&[], false),
    ];
    for (failures, all) in table {
        let (_, end) = walk(&mut Tracker::ingest(failures.len()), failures);
        assert_eq!(end.all_role_rejected, all, "{failures:?}");
    }
}

#[test]
fn host_07_walks_side_by_side_do_not_make_each_other_skip_a_host() {
    let mut tracker = Tracker::ingest(3);
    let mut slow = Round::new(&tracker);
    assert_eq!(slow.next(&tracker), Some(0));
    let (order, _) = walk(&mut tracker, &[Failure::Transport; 3]);
    assert_eq!(order, [0, 1, 2], "the other walk tries every host, also the one that this one holds");
    slow.failed(&mut tracker, 0, Failure::Transport, report(0, ErrorKind::Transport));
    assert_eq!(slow.next(&tracker), Some(1));
    assert_eq!(slow.next(&tracker), Some(2));
    assert_eq!(slow.next(&tracker), None);
}

#[test]
fn a_walk_over_no_hosts_ends_at_once() {
    let (order, end) = walk(&mut Tracker::ingest(0), &[]);
    assert_eq!((order.len(), end.kind, end.reports.len()), (0, ErrorKind::Transport, 0));
}
