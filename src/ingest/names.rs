//! Names of tables and columns: what QuestDB takes, and when two of them are one.

use crate::error::{Error, ErrorKind, Result};

/// What a name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameOf {
    Table,
    Column,
}

impl NameOf {
    fn word(self) -> &'static str {
        match self {
            NameOf::Table => "table name",
            NameOf::Column => "column name",
        }
    }
}

/// Characters that no name may have (wire.md 4.2).
const FORBIDDEN: &str = "?,'\"\\/:()+*%~\u{feff}";

/// Checks a name at the call (LIM-01, FLUSH-21): the server answers some bad names with a status
/// that says "try again", and takes others that break the table for good.
pub(crate) fn check(of: NameOf, name: &str, max_bytes: usize) -> Result<()> {
    let fault = |why: String| {
        Err(Error::new(ErrorKind::InvalidValue, format!("invalid {}", of.word()))
            .with("", format!("{name:?}"))
            .because(why))
    };
    if name.trim().is_empty() {
        return fault("it is empty or blank".into());
    }
    if name.len() > max_bytes {
        let cut = (0..=max_bytes).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        return fault(format!(
            "it has {} bytes, {max_bytes} are allowed: byte {cut} is where it grows too long",
            name.len()
        ));
    }
    for (at, c) in name.char_indices() {
        if c.is_control() || FORBIDDEN.contains(c) {
            return fault(format!("{c:?} at byte {at} is not allowed"));
        }
        if of == NameOf::Column && matches!(c, '.' | '-') {
            return fault(format!("{c:?} at byte {at} is not allowed in a column name"));
        }
    }
    if of == NameOf::Table {
        if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
            return fault("a table name has no dot at its ends and no two in a row".into());
        }
        if name.starts_with(' ') || name.ends_with(' ') {
            return fault("a table name has no space at its ends".into());
        }
    }
    Ok(())
}

/// Whether the server takes both for one column: it compares the lower case of each UTF-16 unit by
/// itself, so that a character beyond U+FFFF equals only itself.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a == b || a.chars().map(fold).eq(b.chars().map(fold))
}

/// A name in the form in which equal ones are the same text.
pub(crate) fn folded(name: &str) -> String {
    name.chars().map(fold).collect()
}

/// A character as the server compares it.
#[inline]
pub(crate) fn fold(c: char) -> char {
    if c.is_ascii() {
        c.to_ascii_lowercase()
    } else if c > '\u{ffff}' {
        c
    } else {
        c.to_lowercase().next().unwrap_or(c)
    }
}

/// A short text as two words that, with its length, tell it from every other one of up to 16 bytes.
/// The second word of a text of less than 8 bytes is its length.
///
/// The loads overlap, so that no byte is left out and none is read behind the end.
#[inline(always)]
pub(crate) fn words(text: &[u8]) -> Option<(u64, u64)> {
    let len = text.len();
    let first8 = text.first_chunk::<8>();
    let last8 = text.last_chunk::<8>();
    if let (Some(first), Some(last)) = (first8, last8) {
        return (len <= 16).then(|| (u64::from_le_bytes(*first), u64::from_le_bytes(*last)));
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return Some((u64::from(first) | u64::from(last) << 32, len as u64));
    }
    let word = match *text {
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a] => u64::from(a),
        _ => 0,
    };
    Some((word, len as u64))
}

/// A name that is compared with the same one row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    len: usize,
    /// [`words`] of the name, or [`NO_WORDS`].
    words: (u64, u64),
    name: Box<str>,
}

impl Key {
    pub(crate) fn new(name: &str) -> Key {
        Key { len: name.len(), words: words(name.as_bytes()).unwrap_or(NO_WORDS), name: name.into() }
    }

    /// The name in its first spelling.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether `name` is this one, to the letter. Folds to few comparisons for a literal.
    #[inline(always)]
    pub(crate) fn is(&self, name: &str) -> bool {
        match words(name.as_bytes()) {
            // The words of a short name say its length, and a key of another length has none of them:
            // the upper bytes of its second word are text, and names have no NUL.
            Some(words) if name.len() < 8 => words == self.words,
            Some(words) => self.len == name.len() && words == self.words,
            None => *self.name == *name,
        }
    }
}

/// Of a key that is too long for [`words`]; no short name has them.
const NO_WORDS: (u64, u64) = (u64::MAX, u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lim_01_bounds_count_bytes_and_say_where() {
        let ok = ["a".repeat(127), "\u{e9}".repeat(63), "\u{1f600}".into(), "na\u{ef}ve".into()];
        for name in &ok {
            assert!(check(NameOf::Table, name, 127).is_ok(), "{name}");
            assert!(check(NameOf::Column, name, 127).is_ok(), "{name}");
        }
        assert!(check(NameOf::Column, &"a".repeat(16), 16).is_ok());
        let too_long = check(NameOf::Column, &"a".repeat(17), 16).unwrap_err();
        assert!(too_long.to_string().contains("17 bytes"), "{too_long}");
        for (name, says) in [("a".repeat(128), "128 bytes"), ("\u{e9}".repeat(64), "128 bytes")] {
            let e = check(NameOf::Table, &name, 127).unwrap_err();
            assert!(e.to_string().contains(says), "{e}");
            assert!(e.to_string().contains("byte 12"), "{e}");
        }
        for name in ["", " ", "\t"] {
            assert_eq!(check(NameOf::Table, name, 127).unwrap_err().kind(), ErrorKind::InvalidValue);
        }
    }

    #[test]
    fn flush_21_names_that_the_server_does_not_take_are_refused_at_the_call() {
        for c in FORBIDDEN.chars().chain(['\0', '\n', '\u{7f}', '\u{85}']) {
            let name = format!("a{c}b");
            let e = check(NameOf::Table, &name, 127).unwrap_err();
            assert!(e.to_string().contains("byte 1"), "{e}");
            assert!(check(NameOf::Column, &name, 127).is_err());
        }
        for name in ["a.b", "a-b"] {
            assert!(check(NameOf::Column, name, 127).is_err());
            assert!(check(NameOf::Table, name, 127).is_ok());
        }
        for name in [".a", "a.", "a..b", " a", "a "] {
            assert!(check(NameOf::Table, name, 127).is_err(), "{name}");
        }
    }

    #[test]
    fn flush_09_names_are_equal_by_the_servers_rule() {
        // Trial E04.
        let equal = [
            ("Side", "side"),
            ("\u{c9}", "\u{e9}"),
            ("\u{3a3}", "\u{3c3}"),
            ("\u{130}", "i"),
            ("\u{212a}", "k"),
        ];
        for (a, b) in equal {
            assert!(same(a, b), "{a} {b}");
            assert_eq!(folded(a), folded(b));
        }
        let different =
            [("\u{df}", "SS"), ("\u{3c3}", "\u{3c2}"), ("\u{17f}", "s"), ("\u{10400}", "\u{10428}")];
        for (a, b) in different {
            assert!(!same(a, b), "{a} {b}");
            assert_ne!(folded(a), folded(b));
        }
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_name_and_no_other(a in "[a-c]{0,20}", b in "[a-c]{0,20}") {
            prop_assert!(Key::new(&a).is(&a));
            prop_assert_eq!(Key::new(&a).is(&b), a == b);
        }

        #[test]
        fn words_tell_short_texts_apart(a in proptest::collection::vec(0_u8..3, 0..17), b in proptest::collection::vec(0_u8..3, 0..17)) {
            if a.len() == b.len() {
                prop_assert_eq!(words(&a) == words(&b), a == b);
            }
        }
    }
}
