//! The shape of the source, checked: who imports whom, how large files, functions and structs are,
//! and what must not stand anywhere. Each check is a function from a file to its findings, so that
//! the checks themselves are tested below.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Modules by layer: each may use those of the layers before its own, never one beside or after it.
const LAYERS: &[&[&str]] = &[
    &["error", "time"],
    &["value"],
    &["config", "wire"],
    &["health", "store", "transport"],
    &["dial", "env", "slot"],
    &["ingest", "query"],
    &["pool"],
    &["fuzz", "sim"],
];

/// What the layers permit and the design does not: (module, what it does not name, why).
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("query", "crate::store", "a query stores nothing"),
    ("health", "crate::wire", "health takes plain values"),
    ("health", "std::net", "health is pure"),
    ("health", "std::fs", "health is pure"),
    ("health", "std::thread", "health is pure"),
    ("health", "Mutex", "health is pure"),
    ("health", "RwLock", "health is pure"),
    ("wire", "std::net", "wire is pure"),
    ("wire", "std::fs", "wire is pure"),
    ("wire", "std::thread", "wire is pure"),
    ("wire", "Mutex", "wire is pure"),
    ("wire", "RwLock", "wire is pure"),
    ("health", "Instant::now", "health reads no clock"),
    ("health", "Clock", "health reads no clock"),
    ("wire", "Clock", "wire reads no clock"),
];

/// Modules that use nothing but the standard library.
const STD_ONLY: &[&str] = &["error", "time"];

/// The only file that may permit itself `unsafe`.
const UNSAFE_HOME: &str = "src/store/region.rs";
/// An allocator cannot be written without; it is no part of the crate.
const UNSAFE_TEST: &str = "tests/allocations.rs";

const MAX_FILE_LINES: usize = 600;
const MAX_FN_LINES: usize = 70;
const MAX_FIELDS: usize = 12;

/// A file of the project.
struct Source {
    /// Relative to the project, with `/`.
    path: String,
    text: String,
    /// The text with comments and literals blanked, line by line the same.
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned(), code: blank(text) }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The top module that a file in src belongs to; none for lib.rs and for other folders.
    fn module(&self) -> Option<&str> {
        let name = self.path.strip_prefix("src/")?.split('/').next()?;
        let name = name.strip_suffix(".rs").unwrap_or(name);
        (name != "lib").then_some(name)
    }

    /// Whether all of it is test code.
    fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/") || self.path.starts_with("tests/")
    }

    /// The code that is shipped: nothing of a test file, and what stands before an inline `mod tests`.
    fn shipped(&self) -> &str {
        if self.is_test() {
            return "";
        }
        let mut switches = self.code.match_indices(TEST_SWITCH);
        let inline = switches.find(|(at, _)| item_after(&self.code[*at..]).starts_with("mod tests {"));
        &self.code[..inline.map_or(self.code.len(), |(at, _)| at)]
    }

    fn at(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

const TEST_SWITCH: &str = "#[cfg(test)]";

/// The item that attributes stand before; an attribute ends with its line.
fn item_after(code: &str) -> &str {
    let mut item = code.trim_start();
    while item.starts_with("#[") {
        item = item.split_once("]\n").map_or("", |(_, rest)| rest.trim_start());
    }
    item
}

/// The text with comments, strings and characters replaced by blanks; lines stay lines.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let name = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = opaque(rest, name);
        let (hidden, after) = rest.split_at(length.unwrap_or(c.len_utf8()));
        match length {
            Some(_) => out.extend(hidden.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
            None => out.push(c),
        }
        rest = after;
    }
    out
}

/// The length of the comment or literal that `rest` begins with. `name` says whether what stands
/// before it is part of a name, so that an `r` or `b` here opens no literal.
fn opaque(rest: &str, name: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    let prefix = if name { 0 } else { rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len() };
    let (prefix, literal) = rest.split_at(prefix.min(2));
    if prefix.contains('r') {
        let hashes = literal.len() - literal.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let body = literal[hashes..].strip_prefix('"')?;
        return Some(prefix.len() + hashes + 1 + body.find(&end).map_or(body.len(), |at| at + end.len()));
    }
    match literal.chars().next()? {
        '"' => Some(prefix.len() + quoted(literal, '"')),
        '\'' if is_character(literal) => Some(prefix.len() + quoted(literal, '\'')),
        _ => None,
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let bytes = &rest.as_bytes()[at..];
        if bytes.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a literal in these quotes.
fn quoted(literal: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in literal.char_indices().skip(1) {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    literal.len()
}

/// Tells `'a'` from the lifetime `'a`.
fn is_character(literal: &str) -> bool {
    let mut chars = literal.chars().skip(1);
    matches!((chars.next(), chars.next()), (Some('\\'), _) | (Some(_), Some('\'')))
}

/// The modules that a piece of code names after `crate::`, with their lines.
fn uses(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let line = code[..at].matches('\n').count() + 1;
        let after = &code[at + "crate::".len()..];
        if let Some(group) = after.strip_prefix('{') {
            found.extend(group_heads(group).into_iter().map(|name| (line, name)));
        } else {
            found.push((line, first_name(after)));
        }
    }
    found
}

fn first_name(code: &str) -> String {
    code.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first names of the parts of `a::x, b::{y, z}}`.
fn group_heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut at_head) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_head = true,
            c if at_head && !c.is_whitespace() => {
                heads.push(first_name(&group[at..]));
                at_head = false;
            }
            _ => {}
        }
    }
    heads
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn check_layers(source: &Source) -> Vec<String> {
    let Some(module) = source.module() else { return Vec::new() };
    let Some(own) = layer(module) else {
        return vec![source.at(1, "a module without a layer: give it one in tests/tidy.rs")];
    };
    let uses = uses(source.shipped());
    let foreign = uses.iter().filter(|(_, used)| used != module);
    // What is no module is an item of the crate's root.
    let wrong = foreign.filter(|(_, used)| layer(used).is_none_or(|other| other >= own));
    wrong.map(|(line, used)| source.at(*line, &format!("`{module}` must not use `crate::{used}`"))).collect()
}

fn check_forbidden(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (module, word, why) in FORBIDDEN {
        let lines = source.shipped().lines().enumerate();
        for (line, _) in lines.filter(|(_, code)| source.module() == Some(module) && code.contains(word)) {
            found.push(source.at(line + 1, &format!("`{word}`: {why}")));
        }
    }
    found
}

fn check_std_only(source: &Source) -> Vec<String> {
    if !source.module().is_some_and(|module| STD_ONLY.contains(&module)) {
        return Vec::new();
    }
    let lines = source.shipped().lines().enumerate();
    let imports = lines.filter_map(|(line, code)| {
        let path = code.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        Some((line, first_name(path.strip_prefix("use ")?)))
    });
    let home =
        |name: &str| ["std", "core", "super", "self", "crate", "endpoints", "rejection"].contains(&name);
    let foreign = imports.filter(|(_, name)| !home(name));
    foreign.map(|(line, name)| source.at(line + 1, &format!("`{name}`: only std may be used here"))).collect()
}

/// The attribute that begins in line `index`, to its closing bracket.
fn attribute_from(code: &str, index: usize) -> String {
    let lines: Vec<&str> = code.lines().skip(index).collect();
    let end = lines.iter().position(|line| line.trim_end().ends_with(")]")).map_or(1, |end| end + 1);
    lines.get(..end).unwrap_or_default().concat()
}

fn check_words(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (index, (code, text)) in source.code.lines().zip(source.text.lines()).enumerate() {
        let mut finding = |what: &str| found.push(source.at(index + 1, what));
        for word in ["todo!(", "unimplemented!(", "dbg!("] {
            if code.contains(word) {
                finding(&format!("`{word}`"));
            }
        }
        for word in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")] {
            if text.contains(word) {
                finding(&format!("`{word}`: file an issue"));
            }
        }
        // In macros `expect` may find nothing to expect.
        if code.contains("[allow(") && !attribute_from(&source.code, index).contains("reason = ") {
            finding("`allow` without a reason; `expect` is better still");
        }
        let is_home = source.path == UNSAFE_HOME || source.path == UNSAFE_TEST;
        if code.contains("(unsafe_code") && !code.contains("deny(") && !is_home {
            finding("`unsafe` has one home");
        }
    }
    found
}

/// Shipped code has no switches for tests, only modules of them.
fn check_test_switches(source: &Source) -> Vec<String> {
    let code = source.shipped();
    let mut found = Vec::new();
    for (at, _) in code.match_indices(TEST_SWITCH) {
        let item = item_after(&code[at..]);
        if !item.starts_with("mod ") && !item.starts_with("pub(crate) mod ") {
            let line = code[..at].matches('\n').count() + 1;
            found.push(source.at(line, "a switch for tests: find the seam that is missing"));
        }
    }
    found
}

fn check_ascii(source: &Source) -> Vec<String> {
    let lines = source.text.lines().enumerate().filter(|(_, line)| !line.is_ascii());
    lines.map(|(line, _)| source.at(line + 1, "not ASCII")).collect()
}

fn check_file_length(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    if lines <= MAX_FILE_LINES { Vec::new() } else { vec![source.at(lines, &format!("{lines} lines"))] }
}

/// The lines of each item whose first line satisfies `opens`, by the way rustfmt lays items out: it
/// ends with a closing brace as far indented as it began.
fn items(code: &str, opens: impl Fn(&str) -> bool) -> Vec<(usize, Vec<&str>)> {
    let lines: Vec<_> = code.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate().filter(|(_, line)| opens(line.trim_start())) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let last = lines[first..].iter().position(|line| {
            let line = line.strip_prefix(indent).unwrap_or("");
            line.starts_with('}') || (!line.starts_with([' ', ')']) && line.trim_end().ends_with([';', '}']))
        });
        found.push((first + 1, lines[first..=first + last.unwrap_or(0)].to_vec()));
    }
    found
}

fn without_visibility(line: &str) -> &str {
    let line = line.strip_prefix("pub").unwrap_or(line);
    let line = if line.starts_with('(') { line.split_once(')').map_or(line, |(_, rest)| rest) } else { line };
    line.trim_start()
}

fn opens_fn(line: &str) -> bool {
    let words: Vec<_> = without_visibility(line).split(' ').collect();
    let at = words.iter().position(|word| *word == "fn");
    at.is_some_and(|at| words[..at].iter().all(|word| ["const", "async", "unsafe", "extern"].contains(word)))
}

fn check_fn_length(source: &Source) -> Vec<String> {
    let long = items(&source.code, opens_fn).into_iter().filter(|(_, lines)| lines.len() > MAX_FN_LINES);
    long.map(|(line, lines)| source.at(line, &format!("a function of {} lines", lines.len()))).collect()
}

/// A struct acts when it has a method that changes it.
fn check_fields(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (line, lines) in items(&source.code, |line| without_visibility(line).starts_with("struct ")) {
        let name = first_name(&without_visibility(lines[0].trim_start())["struct ".len()..]);
        let fields = lines[1..].iter().filter(|line| is_field(line)).count();
        if fields > MAX_FIELDS && acts(&source.code, &name) {
            found.push(source.at(line, &format!("`{name}` acts and has {fields} fields")));
        }
    }
    found
}

fn is_field(line: &str) -> bool {
    let line = without_visibility(line.trim_start());
    let name = first_name(line);
    !name.is_empty() && line[name.len()..].starts_with(": ")
}

fn acts(code: &str, name: &str) -> bool {
    let impls = items(code, |line| line.starts_with("impl") && line.contains(name));
    let of = |header: &str| {
        let target = header.split(" for ").last().unwrap_or(header).trim_start_matches("impl");
        let target =
            if target.starts_with('<') { target.split_once("> ").map_or("", |(_, t)| t) } else { target };
        first_name(target.trim_start()) == name
    };
    impls.iter().any(|(_, lines)| of(lines[0]) && lines.iter().any(|line| line.contains("&mut self")))
}

type Check = fn(&Source) -> Vec<String>;

const CHECKS: &[(&str, Check)] = &[
    ("layers", check_layers),
    ("forbidden words", check_forbidden),
    ("std only", check_std_only),
    ("words", check_words),
    ("test switches", check_test_switches),
    ("file length", check_file_length),
    ("function length", check_fn_length),
    ("fields", check_fields),
];

#[test]
fn the_source_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources(root);
    let rust = sources.iter().filter(|source| source.is_rust()).count();
    assert!(rust > 20, "found only {rust} files: the walk over the folders is wrong");
    let mut report = String::new();
    for source in &sources {
        let rust_checks = CHECKS.iter().filter(|_| source.is_rust());
        let findings = rust_checks.flat_map(|(_, check)| check(source)).chain(check_ascii(source));
        for finding in findings {
            writeln!(report, "{finding}").expect("a String takes everything");
        }
    }
    let lines: usize = sources.iter().map(|source| source.text.lines().count()).sum();
    let names: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
    println!("{} files, {lines} lines: {}, ascii", sources.len(), names.join(", "));
    assert!(report.is_empty(), "\n{report}");
}

fn sources(root: &Path) -> Vec<Source> {
    let mut files = Vec::new();
    for folder in ["src", "tests", "examples", "benches", "fuzz", "scripts", ".ci"] {
        collect(&root.join(folder), &mut files);
    }
    files.extend(["Cargo.toml", "clippy.toml", "deny.toml", "rustfmt.toml"].map(|name| root.join(name)));
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        let relative = path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/");
        Some(Source::new(&relative, &text))
    };
    files.into_iter().filter_map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    const NOT_OURS: [&str; 5] = ["target", "fixtures", "corpus", "artifacts", "coverage"];
    const SUFFIXES: [&str; 5] = ["rs", "toml", "sh", "py", ""];
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
        if path.is_dir() && !NOT_OURS.contains(&name) {
            collect(&path, files);
        } else if path.is_file() && !name.starts_with('.') && SUFFIXES.contains(&suffix) {
            files.push(path);
        }
    }
}

/// Findings of one check in a file made up here.
fn findings(check: Check, path: &str, text: &str) -> usize {
    check(&Source::new(path, text)).len()
}

#[test]
fn comments_and_literals_are_not_code() {
    let text =
        "a // b \"\n/* c /* d */ e */ f \"g \\\" h\" 'i' '\\'' 'j r#\"k \" l\"# br\"m\" xr\"n\" 'static";
    let words: Vec<_> = blank(text).split_whitespace().map(str::to_owned).collect();
    assert_eq!(words, ["a", "f", "'j", "xr", "'static"]);
    assert_eq!(blank("\"a\nb\"\nc").lines().count(), 3);
}

#[test]
fn a_use_of_a_layer_beside_or_above_is_found() {
    let bad = [
        "use crate::dial::Dialer;",
        "use crate::store;",
        "use crate::{error, ingest::X};",
        "use crate::Foo;",
    ];
    for code in bad {
        assert_eq!(findings(check_layers, "src/health/x.rs", code), 1, "{code}");
    }
    let good = [
        "use crate::config::Target;",
        "use crate::health::y;",
        "// use crate::pool;",
        "use crate::{error, time::{A, B}};",
    ];
    for code in good {
        assert_eq!(findings(check_layers, "src/health/x.rs", code), 0, "{code}");
    }
    let test = "use crate::error;\n#[cfg(test)]\nmod tests {\n    use crate::sim::World;\n}\n";
    assert_eq!(findings(check_layers, "src/health/x.rs", test), 0);
    assert_eq!(findings(check_layers, "src/health/tests.rs", "use crate::sim::World;"), 0);
    assert_eq!(findings(check_layers, "src/nobody.rs", ""), 1);
    assert_eq!(findings(check_layers, "src/lib.rs", "use crate::pool;"), 0);
}

#[test]
fn what_a_module_must_not_name_is_found() {
    assert_eq!(findings(check_forbidden, "src/wire/x.rs", "use std::net::IpAddr;"), 1);
    assert_eq!(findings(check_forbidden, "src/query/x.rs", "crate::store::Fsn"), 1);
    assert_eq!(findings(check_forbidden, "src/transport/x.rs", "use std::net::IpAddr;"), 0);
    assert_eq!(findings(check_std_only, "src/time.rs", "use std::fmt;\nuse log::warn;"), 1);
    assert_eq!(findings(check_std_only, "src/wire/x.rs", "use log::warn;"), 0);
}

#[test]
fn words_that_must_not_stay_are_found() {
    for text in [
        "todo!()",
        concat!("// TO", "DO later"),
        "#[allow(dead_code)]",
        "#![allow(dead_code)]",
        "#[expect(unsafe_code)]",
    ] {
        assert_eq!(findings(check_words, "src/x.rs", text), 1, "{text}");
    }
    assert_eq!(findings(check_words, UNSAFE_HOME, "#![expect(unsafe_code, reason = \"one\")]"), 0);
    assert_eq!(findings(check_words, "src/lib.rs", "#![deny(unsafe_code)]"), 0);
    assert_eq!(findings(check_test_switches, "src/x.rs", "#[cfg(test)]\nfn f() {}"), 1);
    assert_eq!(
        findings(check_test_switches, "src/x.rs", "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod tests {\n"),
        0
    );
    let attributes = "#[cfg(test)]\n#[expect(lint, reason = \"why\")]\nmod tests {\n    use crate::sim;\n}\n";
    assert_eq!(findings(check_test_switches, "src/x.rs", attributes), 0);
    assert_eq!(findings(check_layers, "src/error.rs", attributes), 0);
    assert_eq!(findings(check_ascii, "src/x.rs", "// \u{e9}\n"), 1);
}

#[test]
fn what_is_too_large_is_found() {
    assert_eq!(findings(check_file_length, "src/x.rs", &"x\n".repeat(MAX_FILE_LINES)), 0);
    assert_eq!(findings(check_file_length, "src/x.rs", &"x\n".repeat(MAX_FILE_LINES + 1)), 1);
    let function = |lines: usize| {
        format!(
            "    pub(crate) const fn f(\n        a: u8,\n    ) {{\n{}    }}\n",
            "        x();\n".repeat(lines - 4)
        )
    };
    assert_eq!(findings(check_fn_length, "src/x.rs", &function(MAX_FN_LINES)), 0);
    assert_eq!(findings(check_fn_length, "src/x.rs", &function(MAX_FN_LINES + 1)), 1);
    assert_eq!(
        findings(check_fn_length, "src/x.rs", &format!("fn a();\nfn b() {{}}\n{}", "x\n".repeat(200))),
        0
    );
    let with = |fields: usize, code: &str| {
        format!(
            "pub(crate) struct S<'a> {{\n{}}}\n\n{code} {{\n    fn f(&mut self) {{}}\n}}\n",
            "    /// A field.\n    pub(crate) a: u8,\n".repeat(fields)
        )
    };
    assert_eq!(findings(check_fields, "src/x.rs", &with(MAX_FIELDS + 1, "impl<'a> S<'a>")), 1);
    assert_eq!(findings(check_fields, "src/x.rs", &with(MAX_FIELDS + 1, "impl Link for S<'_>")), 1);
    assert_eq!(findings(check_fields, "src/x.rs", &with(MAX_FIELDS, "impl<'a> S<'a>")), 0);
    assert_eq!(findings(check_fields, "src/x.rs", &with(MAX_FIELDS + 1, "impl Other")), 0);
}
