//! Rounds of a sender: the seed's table "Ingest endpoint walk", and the trials R02, R07, R10, R16.

use super::*;
use crate::health::Backoff;

/// `a` answers so, `b` is good: which endpoint is bound, or the failed round.
fn first_of_two(answer: impl Fn() -> Answer + Send + 'static) -> (Scenario, Result<Connected, RoundFailure>) {
    let mut scenario = Scenario::ingest(2);
    scenario.host("a", move |_| answer());
    scenario.host("b", good);
    let result = scenario.round();
    (scenario, result)
}

/// `a` answers so and the walk goes on to `b`.
fn assert_walks_on(answer: impl Fn() -> Answer + Send + 'static) {
    let (scenario, result) = first_of_two(answer);
    assert_eq!(result.expect("b is good").endpoint, 1);
    assert_eq!(scenario.asked(0), ["a", "b"]);
    let visits = scenario.world.net.visits();
    assert_eq!(visits[0].ended, visits[1].began, "CONN-02: no pause");
}

/// Every endpoint answers so.
fn all(hosts: usize, answer: impl Fn() -> Answer + Send + Clone + 'static) -> (Scenario, RoundFailure) {
    let mut scenario = Scenario::ingest(hosts);
    for name in NAMES.iter().take(hosts) {
        let answer = answer.clone();
        scenario.host(name, move |_| answer());
    }
    let failure = scenario.round().expect_err("nobody is good");
    (scenario, failure)
}

#[test]
fn conn_03_ingest_walk_dns_failure_tries_the_next_endpoint() {
    assert_walks_on(|| Answer::Unresolvable);
}

#[test]
fn conn_03_ingest_walk_tcp_connect_failure_tries_the_next_endpoint() {
    assert_walks_on(|| Answer::Refuse);
    assert_walks_on(|| Answer::BlackHole);
}

#[test]
fn conn_03_ingest_walk_tls_failure_tries_the_next_endpoint() {
    assert_walks_on(|| Answer::BadTls);
}

#[test]
fn conn_03_ingest_walk_upgrade_timeout_or_other_answer_tries_the_next_endpoint() {
    assert_walks_on(|| Answer::Mute);
    for status in [200, 302, 400, 404, 421, 426, 429, 500, 503] {
        assert_walks_on(move || Answer::Http(status));
    }
}

#[test]
fn conn_04_ingest_walk_421_with_a_role_tries_the_next_endpoint() {
    for role in ["REPLICA", "PRIMARY_CATCHUP", "STANDALONE", "ARBITER"] {
        assert_walks_on(move || Answer::Role(role, None));
    }
}

#[test]
fn conn_05_ingest_walk_401_and_403_stop_it() {
    for status in [401, 403] {
        let (scenario, result) = first_of_two(move || Answer::Http(status));
        let failure = result.expect_err("the walk is over");
        assert_eq!(failure.error.kind(), ErrorKind::Auth);
        assert_eq!(scenario.asked(0), ["a"], "R10: b is not contacted");
        assert_eq!(phases(&failure.error), [("a:9000".into(), Phase::Upgrade, ErrorKind::Auth)]);
        assert!(failure.error.to_string().contains("a:9000"), "{}", failure.error);
        assert!(!failure.all_role_rejected && !failure.interrupted);
    }
}

#[test]
fn conn_07_ingest_walk_durable_ack_unsupported_goes_on_and_names_the_round() {
    let mut scenario =
        Scenario::new(1, DialSettings { durable_ack: true, ..settings(Direction::Ingress, 3) });
    scenario.host("a", good);
    scenario.host("b", |_| Answer::Role("REPLICA", None));
    scenario
        .host("c", |_| Answer::Accept(Upgrade { durable_ack: true, ..Upgrade::default() }, Box::new(Silent)));
    assert_eq!(scenario.round().expect("c confirms").endpoint, 2);
    scenario.dialer.new_outage();
    scenario.host("c", |_| Answer::Refuse);
    let failure = scenario.round().expect_err("nobody confirms");
    assert_eq!(failure.error.kind(), ErrorKind::DurableAckUnsupported);
    let expected = [
        ("c:9000".into(), Phase::Connect, ErrorKind::Transport),
        ("a:9000".into(), Phase::DurableAck, ErrorKind::DurableAckUnsupported),
        ("b:9000".into(), Phase::Role, ErrorKind::RoleMismatch),
    ];
    assert_eq!(phases(&failure.error), expected, "in the order they were tried");
    // Ranked like a TopologyReject: the unreachable one comes before it.
    let before = scenario.visits();
    drop(scenario.round());
    assert_eq!(scenario.asked(before), ["c", "a", "b"]);
}

#[test]
fn ingest_walk_binds_the_first_successful_upgrade() {
    let (scenario, result) = first_of_two(|| good(&knock()));
    let connected = result.expect("a is good");
    assert_eq!(connected.endpoint, 0);
    assert_eq!(scenario.dialer.endpoint(0).to_string(), "a:9000");
    assert_eq!(scenario.asked(0), ["a"]);
}

fn knock() -> Knock {
    let at = Duration::ZERO;
    Knock { nth: 0, at, direction: Direction::Ingress, authorization: None, durable_ack: false }
}

#[test]
fn conn_08_ingest_walk_all_transport_failures_name_every_endpoint_and_phase() {
    let mut scenario = Scenario::ingest(5);
    scenario.host("b", |_| Answer::BlackHole);
    scenario.host("c", |_| Answer::BadTls);
    scenario.host("d", |_| Answer::Mute);
    scenario.host("e", |_| Answer::Http(503));
    let failure = scenario.round().expect_err("nobody is good");
    assert_eq!(failure.error.kind(), ErrorKind::Transport);
    let expected = [Phase::Resolve, Phase::Connect, Phase::Tls, Phase::Upgrade, Phase::Upgrade];
    let text = failure.error.to_string();
    for ((name, phase), found) in NAMES.iter().zip(expected).zip(failure.error.endpoints()) {
        assert_eq!((found.endpoint.as_str(), found.phase), (&*format!("{name}:9000"), phase));
        assert!(text.contains(&format!("{name}:9000 ({phase})")), "{text}");
    }
    assert!(!failure.all_role_rejected);
}

#[test]
fn role_04_ingest_walk_all_role_rejects_are_a_role_mismatch() {
    let (_, failure) = all(3, || Answer::Role("REPLICA", None));
    assert_eq!(failure.error.kind(), ErrorKind::RoleMismatch);
    assert!(failure.all_role_rejected);
    assert_eq!(failure.error.to_string().matches("REPLICA").count(), 3, "{}", failure.error);
}

#[test]
fn conn_06_only_a_round_of_versions_alone_is_a_version_failure() {
    let (_, failure) = all(2, || Answer::Version);
    assert_eq!(failure.error.kind(), ErrorKind::ProtocolVersion);
    // R16: one that speaks ours is used, and the other one is asked again later.
    assert_walks_on(|| Answer::Version);
    let (mut scenario, result) = first_of_two(|| Answer::Version);
    let bound = result.expect("b is good").endpoint;
    scenario.dialer.broke(bound);
    scenario.host("a", good);
    assert_eq!(scenario.round().expect("upgraded meanwhile").endpoint, 0);
    // Beside another failure it does not name the round.
    let mut scenario = Scenario::ingest(2);
    scenario.host("a", |_| Answer::Version);
    assert_eq!(scenario.round().expect_err("nobody").error.kind(), ErrorKind::Transport);
}

#[test]
fn conn_01_each_endpoint_gets_its_own_limits() {
    // R07: a black hole, a mute one, a good one.
    let mut scenario = Scenario::ingest(3);
    scenario.host("a", |_| Answer::BlackHole);
    scenario.host("b", |_| Answer::Mute);
    scenario.host("c", good);
    assert_eq!(scenario.round().expect("c is good").endpoint, 2);
    let visits = scenario.world.net.visits();
    assert!(visits[1].ended <= CONNECT_TIMEOUT + CONNECT_TIMEOUT + AUTH_TIMEOUT);
    for visit in &visits {
        assert!(visit.ended - visit.began <= CONNECT_TIMEOUT + AUTH_TIMEOUT, "{visit:?}");
    }
    // With c stopped, the error lists all three with the phase that failed.
    scenario.dialer.broke(2);
    scenario.host("c", |_| Answer::Refuse);
    let failure = scenario.round().expect_err("nobody");
    let found: Vec<_> = failure.error.endpoints().iter().map(|e| (e.endpoint.as_str(), e.phase)).collect();
    let expected = [("a:9000", Phase::Connect), ("b:9000", Phase::Upgrade), ("c:9000", Phase::Connect)];
    assert_eq!(found, expected);
}

#[test]
fn host_05_the_attempt_after_a_break_goes_elsewhere_and_comes_back_last() {
    let mut scenario = Scenario::ingest(3);
    scenario.host("a", good);
    scenario.host("b", |_| Answer::Refuse);
    scenario.host("c", |_| Answer::Refuse);
    assert_eq!(scenario.round().expect("a is good").endpoint, 0);
    scenario.dialer.broke(0);
    let before = scenario.visits();
    assert_eq!(scenario.round().expect("a again").endpoint, 0);
    assert_eq!(scenario.asked(before), ["b", "c", "a"]);
}

#[test]
fn host_04_a_quiet_reconnect_goes_back_to_the_same_endpoint() {
    // CONN-15: nobody's fault, so the host stays Healthy.
    let mut scenario = Scenario::ingest(3);
    scenario.host("a", |knock| if knock.nth == 0 { Answer::Refuse } else { good(knock) });
    scenario.host("b", good);
    assert_eq!(scenario.round().expect("b is good").endpoint, 1);
    scenario.dialer.new_outage();
    assert_eq!(scenario.round().expect("b is good").endpoint, 1);
    assert_eq!(scenario.asked(0), ["a", "b", "b"]);
}

#[test]
fn host_01_a_catching_up_primary_is_asked_before_an_unreachable_host_and_that_before_a_replica() {
    let mut scenario = Scenario::ingest(3);
    scenario.host("a", |_| Answer::Role("REPLICA", None));
    scenario.host("b", |_| Answer::Refuse);
    scenario.host("c", |_| Answer::Role("primary_catchup", None));
    for order in [["a", "b", "c"], ["c", "b", "a"], ["c", "b", "a"]] {
        let before = scenario.visits();
        let failure = scenario.round().expect_err("nobody");
        assert_eq!(scenario.asked(before), order);
        assert_eq!(failure.error.kind(), ErrorKind::RoleMismatch, "CONN-08: any role reject");
        assert!(!failure.all_role_rejected, "BACK-02: one was unreachable");
    }
}

#[test]
fn back_02_role_rejects_are_retried_50_to_100_times_in_10_s_and_out_of_step() {
    // R02, as a sender's loop paces it.
    let times = |seed| {
        let mut scenario = Scenario::new(seed, settings(Direction::Ingress, 1));
        scenario.host("a", |_| Answer::Role("REPLICA", None));
        let mut rng = scenario.world.env().rng();
        let mut backoff = Backoff::ingest(Duration::from_millis(100), Duration::from_secs(5));
        while scenario.world.clock.elapsed() < Duration::from_secs(10) {
            assert!(scenario.round().expect_err("a replica").all_role_rejected);
            let pause = backoff.role_reject(&mut rng);
            scenario.world.clock.sleep(pause);
        }
        scenario.world.net.visits().iter().map(|visit| visit.began).collect::<Vec<_>>()
    };
    let (one, other) = (times(1), times(2));
    assert!((50..=100).contains(&one.len()), "{}", one.len());
    assert!((50..=100).contains(&other.len()), "{}", other.len());
    let together = one.iter().skip(1).filter(|at| other.contains(at)).count();
    assert_eq!(together, 0, "they do not march in step");
}

#[test]
fn back_05_a_wake_ends_the_round_in_every_phase() {
    let phases: [fn(&Knock) -> Answer; 2] = [|_| Answer::BlackHole, |_| Answer::Mute];
    for phase in phases {
        let mut scenario = Scenario::ingest(2);
        scenario.host("a", phase);
        scenario.host("b", good);
        let (wake, at) = (scenario.wake.clone(), Duration::from_millis(700));
        scenario.world.clock.at(at, move || wake.fire());
        let failure = scenario.round().expect_err("interrupted");
        assert!(failure.interrupted && !failure.all_role_rejected);
        assert_eq!(failure.error.kind(), ErrorKind::Closed);
        assert_eq!(scenario.world.clock.elapsed(), at, "at once");
        assert_eq!(scenario.asked(0), ["a"]);
        // That was no failure of the host: it is tried first again.
        scenario.host("a", good);
        assert_eq!(scenario.round().expect("a is good").endpoint, 0);
    }
}

#[test]
fn auth_01_the_credentials_go_with_every_attempt() {
    let authorization = Some("Bearer t".to_owned());
    let mut scenario = Scenario::new(1, DialSettings { authorization, ..settings(Direction::Ingress, 2) });
    for name in ["a", "b"] {
        scenario.host(name, |knock| {
            assert_eq!(knock.authorization.as_deref(), Some("Bearer t"));
            Answer::Http(503)
        });
    }
    drop(scenario.round());
    assert_eq!(scenario.visits(), 2);
}
