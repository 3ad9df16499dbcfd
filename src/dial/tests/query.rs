//! Rounds of a query client: the seed's tables "Query client initial connect" and "Read-replica
//! startup".

use super::*;
use parking_lot::Mutex;

const STANDALONE: u8 = 0;
const PRIMARY: u8 = 1;
const REPLICA: u8 = 2;
const CATCHUP: u8 = 3;

/// `a` does so, `b` is a replica, and a replica is wanted.
fn bad_then_replica(script: impl FnMut(&Knock) -> Answer + Send + 'static) -> Scenario {
    let scenario = Scenario::query(2, Target::Replica, None);
    scenario.host("a", script);
    scenario.host("b", node(REPLICA, ""));
    scenario
}

fn assert_continues(script: impl FnMut(&Knock) -> Answer + Send + 'static) {
    let mut scenario = bad_then_replica(script);
    assert_eq!(scenario.query_round().expect("b is a replica").endpoint, 1);
    assert_eq!(scenario.asked(0), ["a", "b"]);
}

#[test]
fn qry_01_query_connect_dns_tcp_and_tls_failures_try_the_next_endpoint() {
    assert_continues(|_| Answer::Unresolvable);
    assert_continues(|_| Answer::Refuse);
    assert_continues(|_| Answer::BlackHole);
    assert_continues(|_| Answer::BadTls);
}

#[test]
fn qry_01_query_connect_upgrade_timeout_tries_the_next_endpoint() {
    assert_continues(|_| Answer::Mute);
}

#[test]
fn conn_05_query_connect_401_and_403_try_no_later_endpoint() {
    for status in [401, 403] {
        let mut scenario = bad_then_replica(move |_| Answer::Http(status));
        let failure = scenario.query_round().expect_err("over");
        assert_eq!(failure.error.kind(), ErrorKind::Auth);
        assert_eq!(scenario.asked(0), ["a"]);
        // AUTH-08: the next query connects anew, from the top of the list.
        scenario.dialer.new_outage();
        scenario.host("a", node(REPLICA, ""));
        assert_eq!(scenario.query_round().expect("a relents").endpoint, 0);
    }
}

#[test]
fn conn_04_query_connect_421_with_a_role_tries_the_next_endpoint() {
    assert_continues(|_| Answer::Role("PRIMARY", None));
}

#[test]
fn qry_01_query_connect_without_server_info_in_time_tries_the_next_endpoint() {
    let mut scenario = bad_then_replica(good);
    assert_eq!(scenario.query_round().expect("b is a replica").endpoint, 1);
    assert!(scenario.world.clock.elapsed() >= SERVER_INFO_TIMEOUT);
    // A TransportError, in the phase of its own.
    scenario.dialer.broke(1);
    scenario.host("b", |_| Answer::Refuse);
    let failure = scenario.query_round().expect_err("nobody");
    assert_eq!(failure.error.kind(), ErrorKind::Transport);
    assert_eq!(failure.error.endpoints()[0].phase, Phase::ServerInfo);
}

#[test]
fn role_02_query_connect_with_another_role_closes_politely_and_tries_the_next_endpoint() {
    struct Recorder(Node, Arc<Mutex<Vec<u16>>>);
    impl SimPeer for Recorder {
        fn on_connect(&mut self, now: Instant) -> Vec<PeerAction> {
            self.0.on_connect(now)
        }
        fn on_message(&mut self, _: &[u8], _: Instant) -> Vec<PeerAction> {
            Vec::new()
        }
        fn on_close(&mut self, code: u16, _: Instant) -> Vec<PeerAction> {
            self.1.lock().push(code);
            Vec::new()
        }
    }
    for role in [PRIMARY, STANDALONE, CATCHUP, 77] {
        let codes = Arc::new(Mutex::new(Vec::new()));
        let seen = codes.clone();
        assert_continues(move |_| {
            Answer::Accept(Upgrade::default(), Box::new(Recorder(Node(role, ""), seen.clone())))
        });
        assert_eq!(*codes.lock(), [1000]);
    }
}

#[test]
fn role_02_a_role_that_the_target_refuses_ranks_below_an_unreachable_host() {
    // Even a primary that catches up: it will never become a replica.
    let mut scenario = Scenario::query(2, Target::Replica, None);
    scenario.host("a", node(CATCHUP, ""));
    scenario.host("b", |_| Answer::Refuse);
    for order in [["a", "b"], ["b", "a"]] {
        let before = scenario.visits();
        drop(scenario.query_round().expect_err("nobody"));
        assert_eq!(scenario.asked(before), order);
    }
}

#[test]
fn role_01_query_connect_binds_an_endpoint_that_matches_the_target() {
    for (target, roles) in [
        (Target::Any, &[STANDALONE, PRIMARY, REPLICA, CATCHUP, 77][..]),
        (Target::Primary, &[STANDALONE, PRIMARY, CATCHUP]),
        (Target::Replica, &[REPLICA]),
    ] {
        for role in roles {
            let mut scenario = Scenario::query(2, target, None);
            scenario.host("a", node(*role, ""));
            assert_eq!(scenario.query_round().expect("a fits").endpoint, 0, "{target} {role}");
        }
    }
}

#[test]
fn conn_08_query_connect_all_transport_failures() {
    let mut scenario = Scenario::query(3, Target::Replica, None);
    scenario.host("b", |_| Answer::Refuse);
    scenario.host("c", |_| Answer::BadTls);
    let failure = scenario.query_round().expect_err("nobody");
    assert_eq!(failure.error.kind(), ErrorKind::Transport);
    assert_eq!(failure.error.endpoints().len(), 3);
}

#[test]
fn role_04_query_connect_all_role_rejects_name_each_role_and_the_target() {
    let mut scenario = Scenario::query(3, Target::Replica, None);
    scenario.host("a", node(PRIMARY, ""));
    scenario.host("b", node(STANDALONE, ""));
    scenario.host("c", |_| Answer::Role("PRIMARY_CATCHUP", None));
    let failure = scenario.query_round().expect_err("nobody");
    assert_eq!(failure.error.kind(), ErrorKind::RoleMismatch);
    assert!(failure.all_role_rejected, "QFO-04");
    let text = failure.error.to_string();
    for word in ["target replica", "the node is PRIMARY;", "STANDALONE", "PRIMARY_CATCHUP"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert_eq!(scenario.asked(0), ["a", "b", "c"], "R07: one walk");
}

#[test]
fn host_02_a_near_host_is_preferred_once_zones_are_known() {
    let mut scenario = Scenario::query(3, Target::Any, Some("eu"));
    scenario.host("a", |_| {
        let upgrade = Upgrade { zone: Some("us".into()), ..Upgrade::default() };
        Answer::Accept(upgrade, Box::new(Node(PRIMARY, "")))
    });
    scenario.host("b", |_| Answer::Role("REPLICA", Some("us")));
    scenario.host("c", node(REPLICA, "eu"));
    assert_eq!(scenario.query_round().expect("a").endpoint, 0);
    // The zone of the 101 is remembered: a is far, so it is not kept for the next outage (HOST-04).
    scenario.dialer.new_outage();
    assert_eq!(scenario.query_round().expect("c").endpoint, 2);
    assert_eq!(scenario.asked(0), ["a", "b", "c"]);
    // What SERVER_INFO says comes by `zone_seen`; that of the 421 is remembered, too (CONN-04).
    scenario.dialer.zone_seen(2, Some("EU"));
    scenario.dialer.broke(2);
    scenario.host("b", node(REPLICA, ""));
    assert_eq!(scenario.query_round().expect("a: b is as far and later in the list").endpoint, 0);
    scenario.dialer.new_outage();
    assert_eq!(scenario.query_round().expect("c is near").endpoint, 2);
    scenario.dialer.new_outage();
    assert_eq!(scenario.query_round().expect("c is sticky").endpoint, 2);
}

#[test]
fn host_02_the_zone_of_a_host_that_the_target_refused_is_remembered() {
    let mut scenario = Scenario::query(2, Target::Replica, Some("eu"));
    scenario.host("a", node(PRIMARY, "us"));
    scenario.host("b", node(REPLICA, "eu"));
    scenario.query_round().expect("b");
    scenario.dialer.zone_seen(1, Some("eu"));
    // a becomes a replica: it is far, as its refusal said.
    scenario.host("a", node(REPLICA, "us"));
    scenario.dialer.broke(1);
    assert_eq!(scenario.query_round().expect("b broke").endpoint, 0);
    scenario.dialer.new_outage();
    assert_eq!(scenario.query_round().expect("b is near").endpoint, 1);
}

#[test]
fn back_05_a_wake_while_waiting_for_server_info_ends_the_round() {
    let mut scenario = Scenario::query(2, Target::Any, None);
    scenario.host("a", good);
    scenario.host("b", node(PRIMARY, ""));
    let failure = scenario.dialer.round(&scenario.wake, &mut |_| {
        let class = FailureClass::Interrupted;
        Err(ConnectFailure { phase: Phase::ServerInfo, class, reason: "closed".into(), zone: None })
    });
    assert!(failure.expect_err("interrupted").interrupted);
    assert_eq!(scenario.asked(0), ["a"]);
}
