//! What a node is, and which nodes a client wants (ROLE).

use crate::config::Target;
use std::fmt;

/// What a node says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// A server without replication.
    Standalone,
    /// The node that takes writes.
    Primary,
    /// A read-only copy.
    Replica,
    /// A node that was just promoted and still reads its predecessor's log.
    PrimaryCatchup,
    /// A number that this client does not know, as the server sent it.
    Unknown(u8),
}

impl Role {
    /// From the number in SERVER_INFO.
    pub(crate) fn from_wire(number: u8) -> Role {
        match number {
            0 => Role::Standalone,
            1 => Role::Primary,
            2 => Role::Replica,
            3 => Role::PrimaryCatchup,
            other => Role::Unknown(other),
        }
    }

    /// From the word in `X-QuestDB-Role`, in any case and with blanks around it.
    pub(crate) fn from_word(word: &str) -> Option<Role> {
        match word.trim().to_ascii_uppercase().as_str() {
            "STANDALONE" => Some(Role::Standalone),
            "PRIMARY" => Some(Role::Primary),
            "REPLICA" => Some(Role::Replica),
            "PRIMARY_CATCHUP" => Some(Role::PrimaryCatchup),
            _ => None,
        }
    }

    /// Whether a client that wants `target` uses such a node (ROLE-01, ROLE-03).
    pub(crate) fn fits(self, target: Target) -> bool {
        match (target, self) {
            (Target::Any, _) => true,
            (Target::Primary, Role::Standalone | Role::Primary | Role::PrimaryCatchup) => true,
            (Target::Replica, Role::Replica) => true,
            (Target::Primary, Role::Replica | Role::Unknown(_)) => false,
            (Target::Replica, Role::Standalone | Role::Primary | Role::PrimaryCatchup | Role::Unknown(_)) => {
                false
            }
        }
    }
}

impl fmt::Display for Role {
    /// The word of the protocol, or the number of an unknown role.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Standalone => "STANDALONE",
            Role::Primary => "PRIMARY",
            Role::Replica => "REPLICA",
            Role::PrimaryCatchup => "PRIMARY_CATCHUP",
            Role::Unknown(number) => return write!(f, "unknown role {number}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 5] =
        [Role::Standalone, Role::Primary, Role::Replica, Role::PrimaryCatchup, Role::Unknown(9)];

    /// ROLE-01, ROLE-03, and the target tables of both seeds.
    #[test]
    fn role_01_each_target_takes_the_roles_of_its_row() {
        let table = [
            (Target::Any, [true, true, true, true, true]),
            (Target::Primary, [true, true, false, true, false]),
            (Target::Replica, [false, false, true, false, false]),
        ];
        for (target, row) in table {
            for (role, fits) in ROLES.into_iter().zip(row) {
                assert_eq!(role.fits(target), fits, "{role} for target={target}");
            }
        }
    }

    #[test]
    fn a_role_is_read_from_its_number_and_from_its_word() {
        for (number, role) in (0..4).zip(ROLES) {
            assert_eq!(Role::from_wire(number), role);
            let word = role.to_string();
            assert_eq!(Role::from_word(&word), Some(role));
            assert_eq!(Role::from_word(&format!(" {} ", word.to_lowercase())), Some(role));
        }
        assert_eq!(Role::from_word("REPLICA2"), None);
        assert_eq!(Role::from_word(""), None);
    }

    #[test]
    fn lim_20_an_unknown_role_number_is_shown_as_such() {
        assert_eq!(Role::from_wire(200), Role::Unknown(200));
        assert_eq!(Role::Unknown(200).to_string(), "unknown role 200");
    }
}
