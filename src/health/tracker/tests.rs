use super::HostState::{Healthy, TopologyReject, TransientReject, TransportError, Unknown};
use super::*;
use crate::health::Round;

impl Tracker {
    pub(crate) fn state(&self, host: usize) -> HostState {
        self.hosts[host].state
    }

    fn tier(&self, host: usize) -> ZoneTier {
        self.hosts[host].tier
    }
}

/// All hosts in the order in which one round would try them, if each failed without a trace.
fn order(tracker: &Tracker) -> Vec<usize> {
    let mut round = Round::new(tracker);
    std::iter::from_fn(|| round.next(tracker)).collect()
}

fn states(tracker: &Tracker) -> Vec<HostState> {
    (0..tracker.len()).map(|host| tracker.state(host)).collect()
}

/// A tracker for reads from zone `near`, of hosts in these states and tiers.
fn hosts(of: &[(HostState, ZoneTier)]) -> Tracker {
    let mut tracker = Tracker::query(of.len(), Target::Any, Some("near"));
    for (host, (state, tier)) in of.iter().enumerate() {
        match tier {
            ZoneTier::Same => tracker.zone_seen(host, Some("near")),
            ZoneTier::Unknown => {}
            ZoneTier::Other => tracker.zone_seen(host, Some("far")),
        }
        match state {
            Healthy => tracker.succeeded(host),
            Unknown => {}
            other => tracker.failed(host, *other),
        }
    }
    tracker
}

#[test]
fn host_03_at_first_the_order_is_that_of_the_list() {
    assert_eq!(order(&Tracker::ingest(5)), [0, 1, 2, 3, 4]);
    assert_eq!(order(&Tracker::query(5, Target::Any, Some("z"))), [0, 1, 2, 3, 4]);
    assert!(order(&Tracker::ingest(0)).is_empty());
}

#[test]
fn host_03_state_goes_before_zone_and_ties_keep_the_order_of_the_list() {
    use ZoneTier::{Other, Same};
    let tracker = hosts(&[
        (TopologyReject, Same),
        (Unknown, Other),
        (TransportError, Same),
        (Unknown, ZoneTier::Unknown),
        (Healthy, Other),
        (TransientReject, Other),
        (Unknown, Same),
        (Unknown, Same),
        (TransientReject, Same),
        (Healthy, Same),
    ]);
    assert_eq!(order(&tracker), [9, 4, 6, 7, 3, 1, 8, 5, 2, 0]);
}

#[test]
fn host_02_zones_are_compared_without_case_and_matter_to_reads_only() {
    let tiers = |mut tracker: Tracker| {
        tracker.zone_seen(0, Some(" EU-West-1 "));
        tracker.zone_seen(1, Some("us"));
        (0..3).map(|host| tracker.tier(host)).collect::<Vec<_>>()
    };
    use ZoneTier::{Other, Same, Unknown};
    for target in [Target::Any, Target::Replica] {
        assert_eq!(tiers(Tracker::query(3, target, Some("eu-west-1"))), [Same, Other, Unknown]);
    }
    assert_eq!(tiers(Tracker::query(3, Target::Primary, Some("eu-west-1"))), [Same, Same, Same]);
    assert_eq!(tiers(Tracker::query(3, Target::Any, None)), [Same, Same, Same]);
    assert_eq!(tiers(Tracker::query(3, Target::Any, Some("  "))), [Same, Same, Same]);
    assert_eq!(tiers(Tracker::ingest(3)), [Same, Same, Same]);
}

#[test]
fn host_02_a_zone_is_remembered_until_another_one_is_advertised() {
    let mut tracker = Tracker::query(1, Target::Any, Some("eu"));
    tracker.zone_seen(0, Some("us"));
    for silence in [None, Some(""), Some("  ")] {
        tracker.zone_seen(0, silence);
        tracker.broke(0);
        tracker.new_outage();
        tracker.succeeded(0);
        assert_eq!(tracker.tier(0), ZoneTier::Other);
    }
    tracker.zone_seen(0, Some("EU"));
    assert_eq!(tracker.tier(0), ZoneTier::Same);
}

#[test]
fn host_04_a_new_round_of_an_outage_forgets_nothing_but_who_was_tried() {
    let mut tracker = Tracker::ingest(3);
    tracker.failed(0, TopologyReject);
    tracker.failed(1, TransportError);
    tracker.failed(2, TransientReject);
    assert_eq!(order(&tracker), [2, 1, 0]);
    assert_eq!(order(&tracker), [2, 1, 0]);
    assert_eq!(states(&tracker), [TopologyReject, TransportError, TransientReject]);
}

#[test]
fn host_04_a_new_outage_keeps_the_most_recent_near_healthy_host_only() {
    let mut tracker = Tracker::ingest(5);
    tracker.succeeded(1);
    tracker.succeeded(3);
    tracker.failed(0, TopologyReject);
    tracker.failed(2, TransportError);
    tracker.failed(4, TransientReject);
    tracker.new_outage();
    assert_eq!(states(&tracker), [Unknown, Unknown, Unknown, Healthy, Unknown]);
    assert_eq!(order(&tracker), [3, 0, 1, 2, 4]);
    tracker.succeeded(1);
    tracker.new_outage();
    assert_eq!(states(&tracker), [Unknown, Healthy, Unknown, Unknown, Unknown]);
}

#[test]
fn host_04_a_healthy_host_that_is_not_near_is_forgotten() {
    for tier in [ZoneTier::Other, ZoneTier::Unknown] {
        let mut tracker = hosts(&[(Unknown, ZoneTier::Same), (Healthy, tier)]);
        tracker.new_outage();
        assert_eq!(states(&tracker), [Unknown, Unknown]);
        assert_eq!(order(&tracker)[0], 0, "the near host is tried first");
    }
    // The most recent one was far, so the one before it stays.
    let mut tracker = hosts(&[(Healthy, ZoneTier::Same), (Healthy, ZoneTier::Other)]);
    tracker.new_outage();
    assert_eq!(states(&tracker), [Healthy, Unknown]);
}

#[test]
fn host_05_the_host_that_broke_is_demoted_before_the_reset_and_stays_so() {
    let mut tracker = Tracker::ingest(3);
    tracker.failed(0, TransportError);
    tracker.succeeded(1);
    tracker.broke(1);
    assert_eq!(states(&tracker), [Unknown, TransportError, Unknown]);
    assert_eq!(order(&tracker), [0, 2, 1]);
    // The next outage forgets that, too.
    tracker.succeeded(2);
    tracker.broke(2);
    assert_eq!(states(&tracker), [Unknown, Unknown, TransportError]);
    // Alone in the list it is tried again at once.
    let mut alone = Tracker::ingest(1);
    alone.succeeded(0);
    alone.broke(0);
    assert_eq!(order(&alone), [0]);
}

#[test]
fn host_05_another_healthy_host_is_preferred_after_a_break() {
    let mut tracker = Tracker::ingest(3);
    tracker.succeeded(2);
    tracker.succeeded(1);
    tracker.broke(1);
    assert_eq!(states(&tracker), [Unknown, TransportError, Healthy]);
    assert_eq!(order(&tracker), [2, 0, 1]);
}

#[test]
fn host_06_success_makes_any_host_healthy() {
    for state in [Unknown, TransientReject, TransportError, TopologyReject] {
        let mut tracker = Tracker::ingest(1);
        tracker.failed(0, state);
        tracker.succeeded(0);
        assert_eq!(tracker.state(0), Healthy);
    }
}

#[test]
fn a_host_out_of_the_list_changes_nothing() {
    let mut tracker = Tracker::query(2, Target::Any, Some("eu"));
    tracker.failed(2, TopologyReject);
    tracker.zone_seen(2, Some("eu"));
    tracker.succeeded(9);
    tracker.broke(7);
    assert_eq!(states(&tracker), [Unknown, Unknown]);
}
