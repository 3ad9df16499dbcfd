//! Which tables were named since the last mark of [`Renewals`](super::renewals::Renewals): a server
//! takes only so many on one connection (CONN-17, LIM-22).

use super::encode::MAX_GROUP_TABLES;
use super::lookup::{self, Lookup};
use super::names;

/// The names, each once, as the server compares them. At most [`MAX_GROUP_TABLES`].
#[derive(Debug, Default)]
pub(crate) struct Reach {
    names: Vec<Box<str>>,
    by_name: Lookup,
}

impl Reach {
    /// Adds the tables of a commit group, which has at most [`MAX_GROUP_TABLES`]. True if the group
    /// needs a connection of its own: what was named before it is forgotten then.
    pub(crate) fn extend<'a>(&mut self, group: impl Iterator<Item = &'a str> + Clone) -> bool {
        let before = self.names.len();
        for name in group.clone() {
            self.add(name);
        }
        if self.names.len() <= MAX_GROUP_TABLES {
            return false;
        }
        let renewed = before > 0;
        self.names.clear();
        self.by_name = Lookup::default();
        for name in group {
            self.add(name);
        }
        renewed
    }

    /// Allocates only for a name that is new.
    fn add(&mut self, name: &str) {
        let hash = lookup::hash_name(SEED, name);
        let Reach { names, by_name } = self;
        if by_name.find(hash, |at| names.get(at as usize).is_some_and(|known| is(known, name))).is_none() {
            by_name.push(hash, |at| names.get(at as usize).map_or(0, |known| lookup::hash_name(SEED, known)));
            names.push(name.into());
        }
    }
}

fn is(known: &str, name: &str) -> bool {
    known == name || names::same(known, name)
}

/// Whoever chooses table names that collide slows down nobody but their own flush.
const SEED: u64 = 0x51_7c_c1_b7_27_22_0a_95;

#[cfg(test)]
mod tests {
    use super::*;

    fn extend(reach: &mut Reach, tables: std::ops::Range<usize>) -> bool {
        let names: Vec<String> = tables.map(|number| format!("t{number}")).collect();
        reach.extend(names.iter().map(String::as_str))
    }

    #[test]
    fn conn_17_lim_22_only_what_goes_beyond_ten_thousand_tables_needs_a_connection_of_its_own() {
        let mut reach = Reach::default();
        assert!(!extend(&mut reach, 0..10_000));
        assert!(!extend(&mut reach, 0..10_000), "the same ones again");
        assert!(!reach.extend(["T7", "t7"].into_iter()), "the same to the server");
        assert!(extend(&mut reach, 9_999..10_001), "one more");
        assert!(!extend(&mut reach, 10_001..19_999), "which was counted from 0 again");
        assert!(extend(&mut reach, 0..1));
        assert!(extend(&mut reach, 1..10_001));
        assert!(reach.names.len() <= MAX_GROUP_TABLES);
    }
}
