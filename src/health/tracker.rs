//! What is known of each host, and which one to try next (HOST).
//!
//! ```text
//!              succeeded                    failed
//! any state ---------------> Healthy    any state ---> TransientReject | TransportError | TopologyReject
//! Healthy   -- broke ------> TransportError, then as for a new outage, but this host stays demoted
//! any state -- new_outage -> Unknown, but the sticky host stays Healthy
//! ```

use super::classify::HostState;
use crate::config::Target;

/// How near a host is, nearest first (HOST-02). The order is the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ZoneTier {
    /// In the client's zone, or zones do not matter.
    Same,
    /// It has not said where it is.
    Unknown,
    /// In another zone.
    Other,
}

/// States and zones of all hosts of a client, by their index in the list.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    hosts: Vec<Host>,
    /// The client's own zone; none when zones do not matter.
    zone: Option<String>,
    /// Counts successes, so that the most recent one can be told.
    successes: u64,
}

#[derive(Debug, Clone)]
struct Host {
    state: HostState,
    tier: ZoneTier,
    /// The number of its last success; 0 if it never had one.
    succeeded: u64,
}

impl Tracker {
    /// For connections that write: they follow the primary wherever it is (HOST-02).
    pub(crate) fn ingest(hosts: usize) -> Tracker {
        Tracker::new(hosts, None)
    }

    /// For connections that read. A blank zone is none (CONF-14).
    pub(crate) fn query(hosts: usize, target: Target, zone: Option<&str>) -> Tracker {
        let zone = zone.map(str::trim).filter(|zone| !zone.is_empty());
        match target {
            Target::Primary => Tracker::new(hosts, None),
            Target::Any | Target::Replica => Tracker::new(hosts, zone),
        }
    }

    fn new(hosts: usize, zone: Option<&str>) -> Tracker {
        let tier = if zone.is_some() { ZoneTier::Unknown } else { ZoneTier::Same };
        let host = Host { state: HostState::Unknown, tier, succeeded: 0 };
        Tracker { hosts: vec![host; hosts], zone: zone.map(str::to_owned), successes: 0 }
    }

    /// How many hosts there are.
    pub(crate) fn len(&self) -> usize {
        self.hosts.len()
    }

    /// The host to try next of those that `wanted` permits: least state, then nearest, then first
    /// in the list (HOST-03).
    pub(crate) fn best(&self, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let hosts = self.hosts.iter().enumerate().filter(|(index, _)| wanted(*index));
        hosts.min_by_key(|(_, host)| (host.state, host.tier)).map(|(index, _)| index)
    }

    /// An attempt failed.
    pub(crate) fn failed(&mut self, host: usize, state: HostState) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.state = state;
        }
    }

    /// An attempt succeeded (HOST-06).
    pub(crate) fn succeeded(&mut self, host: usize) {
        self.successes += 1;
        if let Some(host) = self.hosts.get_mut(host) {
            host.state = HostState::Healthy;
            host.succeeded = self.successes;
        }
    }

    /// A host says where it is. One that says nothing stays where it was (HOST-02).
    pub(crate) fn zone_seen(&mut self, host: usize, zone: Option<&str>) {
        let zone = zone.map(str::trim).filter(|zone| !zone.is_empty());
        if let (Some(host), Some(seen), Some(own)) = (self.hosts.get_mut(host), zone, &self.zone) {
            host.tier = if seen.eq_ignore_ascii_case(own) { ZoneTier::Same } else { ZoneTier::Other };
        }
    }

    /// An outage begins that is no host's fault, such as a quiet reconnect: all but the sticky host
    /// are Unknown again (HOST-04).
    pub(crate) fn new_outage(&mut self) {
        self.forget_all_but(None);
    }

    /// An established connection to `host` broke, and with that an outage begins: it is demoted
    /// first, so that the next pick goes elsewhere (HOST-05), and then the others are Unknown
    /// again (HOST-04).
    pub(crate) fn broke(&mut self, host: usize) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.state = host.state.max(HostState::TransportError);
        }
        self.forget_all_but(Some(host));
    }

    fn forget_all_but(&mut self, demoted: Option<usize>) {
        let sticky = self.sticky();
        for (index, host) in self.hosts.iter_mut().enumerate() {
            if Some(index) != sticky && Some(index) != demoted {
                host.state = HostState::Unknown;
            }
        }
    }

    /// The most recently successful host of those that are still Healthy and near (HOST-04).
    fn sticky(&self) -> Option<usize> {
        let near = |host: &Host| host.state == HostState::Healthy && host.tier == ZoneTier::Same;
        let hosts = self.hosts.iter().enumerate().filter(|(_, host)| near(host));
        hosts.max_by_key(|(_, host)| host.succeeded).map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests;
