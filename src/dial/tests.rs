//! Rounds in a simulated world. A scenario is one call; the files below go by what is tested.

mod ingest;
mod properties;
mod query;

use super::*;
use crate::error::Phase;
use crate::health::Role;
use crate::sim::{Act, Answer, Knock, PeerAction, Silent, SimPeer, World};
use crate::time::{Clock, Deadline};
use crate::transport::{Incoming, Upgrade};
use std::time::Instant;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const AUTH_TIMEOUT: Duration = Duration::from_secs(15);
const SERVER_INFO_TIMEOUT: Duration = Duration::from_secs(5);

/// Host names in the order of the list: a:9000, b:9000 and so on.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A dialer over so many hosts, none of which exists yet.
struct Scenario {
    world: World,
    dialer: Dialer,
    wake: Wake,
}

fn settings(direction: Direction, hosts: usize) -> DialSettings {
    let endpoint = |name: &&str| Endpoint { host: (*name).to_owned(), port: 9000 };
    DialSettings {
        endpoints: NAMES.iter().take(hosts).map(endpoint).collect(),
        direction,
        encrypted: false,
        authorization: None,
        client_id: "test".into(),
        durable_ack: false,
        accept_encoding: None,
        max_batch_rows: None,
        connect_timeout: CONNECT_TIMEOUT,
        auth_timeout: AUTH_TIMEOUT,
        target: Target::Any,
        zone: None,
    }
}

impl Scenario {
    fn new(seed: u64, settings: DialSettings) -> Scenario {
        let world = World::new(seed);
        let dialer = Dialer::new(world.env().connector, settings);
        Scenario { world, dialer, wake: Wake::new().expect("a wake") }
    }

    fn ingest(hosts: usize) -> Scenario {
        Scenario::new(1, settings(Direction::Ingress, hosts))
    }

    fn query(hosts: usize, target: Target, zone: Option<&str>) -> Scenario {
        let settings = settings(Direction::Egress, hosts);
        Scenario::new(1, DialSettings { target, zone: zone.map(str::to_owned), ..settings })
    }

    /// Puts a host in place.
    fn host(&self, name: &str, script: impl FnMut(&Knock) -> Answer + Send + 'static) {
        self.world.net.host(&format!("{name}:9000"), script);
    }

    /// One round that takes every upgraded connection.
    fn round(&mut self) -> Result<Connected, RoundFailure> {
        self.dialer.round(&self.wake, &mut |_| Ok(()))
    }

    /// One round as a query makes it: the first message tells the role, the byte of [`node`].
    fn query_round(&mut self) -> Result<Connected, RoundFailure> {
        let (clock, target) = (self.world.clock.clone(), self.dialer.settings.target);
        let never = Wake::new().expect("a wake");
        self.dialer.round(&self.wake, &mut |link| server_info(link, &clock, &never, target))
    }

    /// The hosts that were asked since the last look.
    fn asked(&self, before: usize) -> Vec<String> {
        let visited = self.world.net.visited().split_off(before);
        visited.iter().map(|endpoint| endpoint.trim_end_matches(":9000").to_owned()).collect()
    }

    fn visits(&self) -> usize {
        self.world.net.visits().len()
    }
}

/// Upgrades, and stays.
fn good(_: &Knock) -> Answer {
    Answer::Accept(Upgrade::default(), Box::new(Silent))
}

/// A query server of this role and zone, given as one message `role zone`.
struct Node(u8, &'static str);

impl SimPeer for Node {
    fn on_connect(&mut self, _: Instant) -> Vec<PeerAction> {
        let mut message = vec![self.0];
        message.extend_from_slice(self.1.as_bytes());
        vec![Act::Message(message).now()]
    }

    fn on_message(&mut self, _: &[u8], _: Instant) -> Vec<PeerAction> {
        Vec::new()
    }
}

fn node(role: u8, zone: &'static str) -> impl FnMut(&Knock) -> Answer {
    move |_| Answer::Accept(Upgrade::default(), Box::new(Node(role, zone)))
}

/// Waits for the first message, and applies the target filter: what a query client's `admit` does.
fn server_info(
    link: &mut dyn Link,
    clock: &dyn Clock,
    wake: &Wake,
    target: Target,
) -> Result<(), ConnectFailure> {
    let failure = |phase, class, reason: String| ConnectFailure { phase, class, reason, zone: None };
    let deadline = Deadline::after(clock.now(), SERVER_INFO_TIMEOUT);
    let message = loop {
        match link.recv() {
            Ok(Some(Incoming::Message(message))) => break message,
            Ok(_) if deadline.passed(clock.now()) => {
                let reason = "no SERVER_INFO in time".to_owned();
                return Err(failure(Phase::ServerInfo, FailureClass::Transport, reason));
            }
            Ok(_) => drop(link.wait(false, wake, deadline).expect("a wait")),
            Err(e) => return Err(failure(Phase::ServerInfo, FailureClass::Transport, format!("{e:?}"))),
        }
    };
    let role = Role::from_wire(message[0]);
    if role.fits(target) {
        return Ok(());
    }
    let zone = Some(String::from_utf8_lossy(&message[1..]).into_owned());
    let class = FailureClass::Role { role: role.to_string() };
    Err(ConnectFailure { zone, ..failure(Phase::Role, class, format!("the node is {role}")) })
}

/// What an error says of each endpoint.
fn phases(error: &Error) -> Vec<(String, Phase, ErrorKind)> {
    error.endpoints().iter().map(|e| (e.endpoint.clone(), e.phase, e.kind)).collect()
}

#[test]
fn sec_03_credentials_in_the_clear_over_a_network_are_warned_about_once() {
    let over = |host: &str, encrypted: bool, authorization: Option<&str>| DialSettings {
        endpoints: Arc::new([
            Endpoint { host: "localhost".into(), port: 9000 },
            Endpoint { host: host.into(), port: 9000 },
        ]),
        encrypted,
        authorization: authorization.map(str::to_owned),
        ..settings(Direction::Ingress, 0)
    };
    let safe =
        ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "LocalHost", "db.localhost", "localhost."];
    for host in safe {
        assert_eq!(exposure(&over(host, false, Some("Basic x")), &AtomicBool::new(false)), None, "{host}");
    }
    for host in ["10.0.0.1", "::2", "db.example.com", "localhost.example.com", "notlocalhost", "0.0.0.0"] {
        let warned = AtomicBool::new(false);
        let settings = over(host, false, Some("Basic c2VjcmV0"));
        let warning = exposure(&settings, &warned).expect(host);
        assert!(warning.contains(host) && !warning.contains("c2VjcmV0"), "{warning}");
        assert_eq!(exposure(&settings, &warned), None, "only once");
        assert_eq!(exposure(&over(host, true, Some("Basic x")), &AtomicBool::new(false)), None, "{host}");
        assert_eq!(exposure(&over(host, false, None), &AtomicBool::new(false)), None, "{host}");
    }
}

#[test]
fn conf_10_the_settings_do_not_show_the_credentials() {
    let settings =
        DialSettings { authorization: Some("Bearer hush".into()), ..settings(Direction::Ingress, 1) };
    let shown = format!("{:?}", Dialer::new(World::new(1).env().connector, settings));
    assert!(!shown.contains("hush") && shown.contains("***"), "{shown}");
}
