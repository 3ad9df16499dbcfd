//! What a failed attempt says about its host, and about the round it belongs to.

use super::role::Role;
use crate::error::ErrorKind;

/// What was last seen of a host, best first (HOST-01). The order is the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum HostState {
    /// The last attempt succeeded.
    Healthy,
    /// Not tried in this outage.
    Unknown,
    /// It will take us soon: a primary that is catching up.
    TransientReject,
    /// It could not be reached, or a connection to it broke.
    TransportError,
    /// It will not take us before somebody changes something: role, durable acks, credentials.
    TopologyReject,
}

/// Why an attempt at a host failed, as far as the choice of the next one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Failure {
    /// Name look-up, TCP, TLS, time-outs, HTTP answers that say nothing more telling (CONN-03).
    Transport,
    /// No common protocol version (CONN-06).
    Version,
    /// Refused as a primary that is still catching up (CONN-04).
    CatchingUp,
    /// Refused for any other role, by the server or by the target filter (CONN-04, ROLE-02).
    Role,
    /// Durable acks were asked for and not confirmed (CONN-07).
    DurableAck,
    /// The credentials were refused (CONN-05).
    Auth,
}

impl Failure {
    /// A 421 with this `X-QuestDB-Role`; a blank one is as good as none (CONN-04).
    pub(crate) fn from_role_header(role: &str) -> Failure {
        match Role::from_word(role) {
            Some(Role::PrimaryCatchup) => Failure::CatchingUp,
            _ if role.trim().is_empty() => Failure::Transport,
            _ => Failure::Role,
        }
    }

    /// The state that the host is in after it.
    ///
    /// A host that refuses the credentials ranks last, so that the next round asks another one
    /// first: one node with stale credentials must not keep a running sender from the others.
    pub(crate) fn state(self) -> HostState {
        match self {
            Failure::Transport | Failure::Version => HostState::TransportError,
            Failure::CatchingUp => HostState::TransientReject,
            Failure::Role | Failure::DurableAck | Failure::Auth => HostState::TopologyReject,
        }
    }

    /// The kind of error that it would be alone.
    pub(crate) fn kind(self) -> ErrorKind {
        match self {
            Failure::Transport => ErrorKind::Transport,
            Failure::Version => ErrorKind::ProtocolVersion,
            Failure::CatchingUp | Failure::Role => ErrorKind::RoleMismatch,
            Failure::DurableAck => ErrorKind::DurableAckUnsupported,
            Failure::Auth => ErrorKind::Auth,
        }
    }

    /// Whether the host refused because of its role (BACK-02).
    pub(crate) fn is_role_reject(self) -> bool {
        self.kind() == ErrorKind::RoleMismatch
    }
}

/// The kind of a round in which these attempts failed and none succeeded (CONN-08).
pub(crate) fn most_telling(failures: &[Failure]) -> ErrorKind {
    let telling = [ErrorKind::Auth, ErrorKind::DurableAckUnsupported, ErrorKind::RoleMismatch];
    for kind in telling {
        if failures.iter().any(|failure| failure.kind() == kind) {
            return kind;
        }
    }
    if !failures.is_empty() && failures.iter().all(|failure| *failure == Failure::Version) {
        return ErrorKind::ProtocolVersion;
    }
    ErrorKind::Transport
}

#[cfg(test)]
mod tests {
    use super::Failure::{Auth, CatchingUp, DurableAck, Role, Transport, Version};
    use super::*;

    #[test]
    fn host_01_states_rank_from_healthy_to_topology_reject() {
        let best_first = [
            HostState::Healthy,
            HostState::Unknown,
            HostState::TransientReject,
            HostState::TransportError,
            HostState::TopologyReject,
        ];
        assert!(best_first.is_sorted());
    }

    #[test]
    fn conn_04_the_role_of_a_421_tells_what_the_host_is_good_for() {
        let table = [
            ("PRIMARY_CATCHUP", CatchingUp, HostState::TransientReject),
            (" primary_Catchup ", CatchingUp, HostState::TransientReject),
            ("REPLICA", Role, HostState::TopologyReject),
            ("PRIMARY", Role, HostState::TopologyReject),
            ("STANDALONE", Role, HostState::TopologyReject),
            ("ARBITER", Role, HostState::TopologyReject),
            ("", Transport, HostState::TransportError),
            ("  ", Transport, HostState::TransportError),
        ];
        for (header, failure, state) in table {
            assert_eq!(Failure::from_role_header(header), failure, "{header:?}");
            assert_eq!(failure.state(), state, "{header:?}");
        }
    }

    /// CONN-03, CONN-06, CONN-07.
    #[test]
    fn the_other_failures_rank_as_required() {
        assert_eq!(Transport.state(), HostState::TransportError);
        assert_eq!(Version.state(), HostState::TransportError);
        assert_eq!(DurableAck.state(), HostState::TopologyReject);
        assert_eq!(Auth.state(), HostState::TopologyReject);
    }

    #[test]
    fn conn_08_the_most_telling_failure_names_the_round() {
        let table: [(&[Failure], ErrorKind); 12] = [
            (&[Transport, Role, DurableAck, Auth], ErrorKind::Auth),
            (&[Auth], ErrorKind::Auth),
            (&[Role, DurableAck, Transport], ErrorKind::DurableAckUnsupported),
            (&[Role, Role], ErrorKind::RoleMismatch),
            (&[CatchingUp], ErrorKind::RoleMismatch),
            (&[Transport, Role], ErrorKind::RoleMismatch),
            (&[Version, Role], ErrorKind::RoleMismatch),
            (&[Version], ErrorKind::ProtocolVersion),
            (&[Version, Version], ErrorKind::ProtocolVersion),
            (&[Version, Transport], ErrorKind::Transport),
            (&[Transport, Transport], ErrorKind::Transport),
            (&[], ErrorKind::Transport),
        ];
        for (failures, kind) in table {
            assert_eq!(most_telling(failures), kind, "{failures:?}");
        }
    }

    #[test]
    fn back_02_only_refusals_for_a_role_are_role_rejects() {
        for (failure, is) in [
            (Transport, false),
            (Version, false),
            (CatchingUp, true),
            (Role, true),
            (DurableAck, false),
            (Auth, false),
        ] {
            assert_eq!(failure.is_role_reject(), is, "{failure:?}");
        }
    }
}
