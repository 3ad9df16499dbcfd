//! Random rounds against a model of HOST that knows nothing of the code.

use super::*;
use crate::sim::Visit;

const SEEDS: u64 = 20_000;
const ROUNDS: usize = 6;

/// What a host will answer, as plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Unresolvable,
    Refuse,
    BlackHole,
    BadTls,
    Mute,
    Unavailable,
    Version,
    CatchingUp,
    Replica(Option<&'static str>),
    Forbidden,
    Good(Option<&'static str>),
}

impl Plan {
    fn random(rng: &mut fastrand::Rng) -> Plan {
        let zone = [None, Some("eu"), Some("EU"), Some("us")][rng.usize(..4)];
        let plans = [
            Plan::Unresolvable,
            Plan::Refuse,
            Plan::BlackHole,
            Plan::BadTls,
            Plan::Mute,
            Plan::Unavailable,
            Plan::Version,
            Plan::CatchingUp,
            Plan::Replica(zone),
            Plan::Good(zone),
            Plan::Good(zone),
        ];
        if rng.u8(..40) == 0 { Plan::Forbidden } else { plans[rng.usize(..plans.len())] }
    }

    fn answer(self) -> Answer {
        match self {
            Plan::Unresolvable => Answer::Unresolvable,
            Plan::Refuse => Answer::Refuse,
            Plan::BlackHole => Answer::BlackHole,
            Plan::BadTls => Answer::BadTls,
            Plan::Mute => Answer::Mute,
            Plan::Unavailable => Answer::Http(503),
            Plan::Version => Answer::Version,
            Plan::CatchingUp => Answer::Role("PRIMARY_CATCHUP", None),
            Plan::Replica(zone) => Answer::Role("REPLICA", zone),
            Plan::Forbidden => Answer::Http(403),
            Plan::Good(zone) => {
                let upgrade = Upgrade { zone: zone.map(str::to_owned), ..Upgrade::default() };
                Answer::Accept(upgrade, Box::new(Silent))
            }
        }
    }

    /// The rank of HOST-01: 0 Healthy, 1 Unknown, 2 TransientReject, 3 TransportError, 4 TopologyReject.
    fn rank(self) -> u8 {
        match self {
            Plan::Good(_) => 0,
            Plan::CatchingUp => 2,
            Plan::Replica(_) | Plan::Forbidden => 4,
            _ => 3,
        }
    }

    fn zone(self) -> Option<&'static str> {
        match self {
            Plan::Good(zone) | Plan::Replica(zone) => zone,
            _ => None,
        }
    }
}

/// HOST-01 to HOST-06 as numbers: rank and tier of each host.
struct Model {
    zone_aware: bool,
    ranks: Vec<u8>,
    tiers: Vec<u8>,
    last_success: Vec<usize>,
    clock: usize,
}

impl Model {
    fn new(hosts: usize, zone_aware: bool) -> Model {
        let tier = u8::from(zone_aware);
        Model {
            zone_aware,
            ranks: vec![1; hosts],
            tiers: vec![tier; hosts],
            last_success: vec![0; hosts],
            clock: 0,
        }
    }

    /// The order of a whole round, should every host fail.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.ranks.len()).collect();
        order.sort_by_key(|host| (self.ranks[*host], self.tiers[*host], *host));
        order
    }

    fn tried(&mut self, host: usize, plan: Plan) {
        self.clock += 1;
        self.ranks[host] = plan.rank();
        if plan.rank() == 0 {
            self.last_success[host] = self.clock;
        }
        if let (true, Some(zone)) = (self.zone_aware, plan.zone()) {
            self.tiers[host] = if zone.eq_ignore_ascii_case("eu") { 0 } else { 2 };
        }
    }

    fn outage(&mut self, broken: Option<usize>) {
        if let Some(host) = broken {
            self.ranks[host] = 3;
        }
        let candidates =
            (0..self.ranks.len()).filter(|host| self.ranks[*host] == 0 && self.tiers[*host] == 0);
        let sticky = candidates.max_by_key(|host| self.last_success[*host]);
        for host in 0..self.ranks.len() {
            if Some(host) != sticky && Some(host) != broken {
                self.ranks[host] = 1;
            }
        }
    }
}

fn kind(tried: &[Plan]) -> ErrorKind {
    let any = |wanted: fn(&Plan) -> bool| tried.iter().any(wanted);
    if any(|plan| *plan == Plan::Forbidden) {
        ErrorKind::Auth
    } else if any(|plan| matches!(plan, Plan::CatchingUp | Plan::Replica(_))) {
        ErrorKind::RoleMismatch
    } else if tried.iter().all(|plan| *plan == Plan::Version) {
        ErrorKind::ProtocolVersion
    } else {
        ErrorKind::Transport
    }
}

/// Plays one round against the model; returns who was connected.
fn check_round(scenario: &mut Scenario, model: &mut Model, rng: &mut fastrand::Rng) -> Option<usize> {
    let hosts = model.ranks.len();
    let plans: Vec<_> = (0..hosts).map(|_| Plan::random(rng)).collect();
    for (name, plan) in NAMES.iter().zip(&plans) {
        let plan = *plan;
        scenario.host(name, move |_| plan.answer());
    }
    let mut expected = model.order();
    let last = expected.iter().position(|host| matches!(plans[*host], Plan::Good(_) | Plan::Forbidden));
    expected.truncate(last.map_or(hosts, |last| last + 1));

    let before = scenario.visits();
    let result = scenario.round();
    let visits = scenario.world.net.visits().split_off(before);
    let names: Vec<_> = expected.iter().map(|host| format!("{}:9000", NAMES[*host])).collect();
    assert_eq!(
        visits.iter().map(|visit| &visit.endpoint).collect::<Vec<_>>(),
        names.iter().collect::<Vec<_>>()
    );
    check_times(&visits);

    let tried: Vec<_> = expected.iter().map(|host| plans[*host]).collect();
    for host in &expected {
        model.tried(*host, plans[*host]);
    }
    match result {
        Ok(connected) => {
            assert_eq!(Some(&connected.endpoint), expected.last());
            assert!(matches!(tried.last(), Some(Plan::Good(_))));
            Some(connected.endpoint)
        }
        Err(failure) => {
            assert_eq!(failure.error.kind(), kind(&tried));
            let rejected = |plan: &Plan| matches!(plan, Plan::CatchingUp | Plan::Replica(_));
            assert_eq!(failure.all_role_rejected, tried.iter().all(rejected));
            assert!(failure.error.endpoints().iter().map(|e| &e.endpoint).eq(&names));
            None
        }
    }
}

/// No pause between two endpoints, and none takes longer than its limits permit.
fn check_times(visits: &[Visit]) {
    assert!(visits.windows(2).all(|pair| pair[0].ended == pair[1].began));
    for visit in visits {
        assert!(visit.ended - visit.began <= CONNECT_TIMEOUT + AUTH_TIMEOUT, "{visit:?}");
    }
}

/// Prints the seed if the test dies with it.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

/// CONN-01, CONN-02, CONN-05, CONN-08, HOST-01 to HOST-06.
#[test]
fn conn_02_20000_random_walks_try_each_endpoint_at_most_once_in_order_and_without_pause() {
    let mut connected = 0;
    for seed in 0..SEEDS {
        let _seed = Seed(seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let hosts = rng.usize(1..=NAMES.len());
        let direction = if rng.bool() { Direction::Ingress } else { Direction::Egress };
        let target = [Target::Any, Target::Primary][rng.usize(..2)];
        let zone = rng.bool().then(|| "eu".to_owned());
        let zone_aware = direction == Direction::Egress && target == Target::Any && zone.is_some();
        let settings = DialSettings { target, zone, ..settings(direction, hosts) };
        let mut scenario = Scenario::new(seed, settings);
        let mut model = Model::new(hosts, zone_aware);
        for _ in 0..ROUNDS {
            let Some(host) = check_round(&mut scenario, &mut model, &mut rng) else { continue };
            connected += 1;
            let broken = rng.bool().then_some(host);
            model.outage(broken);
            match broken {
                Some(host) => scenario.dialer.broke(host),
                None => scenario.dialer.new_outage(),
            }
        }
    }
    assert!(connected > SEEDS, "the walks do succeed: {connected}");
}
