//! The table of keys in the documentation, made from the registry so that it cannot differ from it.

use super::keys::{Key, Side, Support};
use std::fmt::Write;

/// The keys in Markdown, by side.
pub(crate) fn table() -> String {
    let mut out = String::new();
    let sides = [
        (Side::Common, "Both directions"),
        (Side::Ingest, "Senders"),
        (Side::Query, "Queries"),
        (Side::Pool, "The pool"),
    ];
    for (side, title) in sides {
        // Writing to a `String` does not fail.
        let _ = write!(out, "\n**{title}**\n\n| key | default | meaning |\n|---|---|---|\n");
        for key in Key::ALL.iter().filter(|key| key.spec().side == side) {
            row(&mut out, *key);
        }
    }
    out.push('\n');
    out
}

fn row(out: &mut String, key: Key) {
    let spec = key.spec();
    let aliases: String = spec.aliases.iter().map(|alias| format!(" (`{alias}`)")).collect();
    let default = match spec.default {
        "" => "unset".to_owned(),
        // So that a release does not change the documentation.
        default => format!("`{}`", default.replace(env!("CARGO_PKG_VERSION"), "<version>")),
    };
    let later = match spec.support {
        Support::Full => "",
        Support::DefaultOnly => " (not supported yet)",
    };
    let _ = writeln!(out, "| `{}`{aliases} | {default} | {}{later} |", spec.name, spec.about);
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "<!-- keys -->\n";
    const END: &str = "<!-- /keys -->";

    /// Run with `UPDATE_README=1` to write the table into README.md.
    #[test]
    fn conf_03_the_readme_has_the_table_of_the_registry() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        let readme = std::fs::read_to_string(path).expect("README.md is part of the package");
        let (before, rest) = readme.split_once(START).expect("README.md has the mark <!-- keys -->");
        let (found, after) = rest.split_once(END).expect("README.md has the mark <!-- /keys -->");
        if std::env::var_os("UPDATE_README").is_some() {
            std::fs::write(path, format!("{before}{START}{}{END}{after}", table())).unwrap();
            return;
        }
        assert!(found == table(), "README.md is behind the registry: run this test with UPDATE_README=1");
    }

    #[test]
    fn conf_03_every_key_and_alias_is_documented() {
        let table = table();
        for key in Key::ALL {
            let spec = key.spec();
            assert!(table.contains(&format!("| `{}`", spec.name)), "{}", spec.name);
            assert!(!spec.about.is_empty() && !spec.about.ends_with('.'), "{}", spec.name);
            spec.aliases.iter().for_each(|alias| assert!(table.contains(&format!("(`{alias}`)")), "{alias}"));
        }
    }
}
