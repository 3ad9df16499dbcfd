//! CONF-18: for each key that a sender reads, a value other than the default reaches the running one;
//! keys that it does not read are accepted whatever their value. Driven by the registry, as
//! `Config::reference` shows it: a key without a case fails.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::collections::BTreeMap;

use kit::*;
use qwp::{Config, ErrorKind, Sender, TimestampNanos};
use support::{Script, Server};

/// The keys of the registry by the heading under which they stand; whether each is supported.
fn registry() -> BTreeMap<String, Vec<(String, bool)>> {
    let mut sides: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
    let mut side = String::new();
    for line in Config::reference().lines() {
        if let Some(title) = line.strip_prefix("**") {
            side = title.trim_end_matches('*').to_owned();
        }
        if let Some(name) = line.strip_prefix("| `").and_then(|rest| rest.split('`').next()) {
            let supported = !line.contains("(not supported yet)");
            sides.entry(side.clone()).or_default().push((name.to_owned(), supported));
        }
    }
    sides
}

/// What is seen of a key at the stand-in.
type Case = (&'static str, fn());

const CASES: &[Case] = &[
    ("addr", addr),
    ("username", basic),
    ("password", basic),
    ("token", token),
    ("tls_verify", tls_verify),
    ("tls_roots", tls_only),
    ("tls_ca", tls_only),
    ("tls_roots_password", tls_roots_password),
    ("auth_timeout_ms", auth_timeout_ms),
    ("connect_timeout", connect_timeout),
    ("client_id", client_id),
    ("auto_flush", auto_flush),
    ("auto_flush_rows", auto_flush_rows),
    ("auto_flush_interval", auto_flush_interval),
    ("auto_flush_bytes", auto_flush_bytes),
    ("transaction", transaction),
    ("init_buf_size", buf_sizes),
    ("max_buf_size", buf_sizes),
    ("max_name_len", max_name_len),
    ("allow_timestamp_column", allow_timestamp_column),
    ("sender_id", sender_id),
    ("sf_max_segment_bytes", store_sizes),
    ("sf_max_total_bytes", store_sizes),
    ("sf_append_deadline_millis", sf_append_deadline_millis),
    ("initial_connect_retry", initial_connect_retry),
    ("reconnect_initial_backoff_millis", backoffs),
    ("reconnect_max_backoff_millis", backoffs),
    ("reconnect_max_duration_millis", reconnect_max_duration_millis),
    ("close_flush_timeout_millis", close_flush_timeout_millis),
];

/// Values other than the default, of keys that are not supported yet.
const LATER: &[(&str, &str)] = &[
    ("sf_dir", "sf_dir=/nowhere"),
    ("sf_durability", "sf_dir=/nowhere;sf_durability=periodic"),
    ("sf_sync_interval_millis", "sf_dir=/nowhere;sf_durability=periodic;sf_sync_interval_millis=1"),
    ("drain_orphans", "drain_orphans=on"),
    ("max_background_drainers", "max_background_drainers=1"),
    ("request_durable_ack", "request_durable_ack=on"),
    ("durable_ack_keepalive_interval_millis", "durable_ack_keepalive_interval_millis=1"),
    ("max_frame_rejections", "max_frame_rejections=1"),
    ("poison_min_escalation_window_millis", "poison_min_escalation_window_millis=1"),
    ("on_server_error", "on_server_error=terminal"),
    ("on_schema_error", "on_schema_error=retriable"),
    ("on_parse_error", "on_parse_error=retriable"),
    ("on_internal_error", "on_internal_error=terminal"),
    ("on_security_error", "on_security_error=retriable"),
    ("on_write_error", "on_write_error=terminal"),
    ("error_inbox_capacity", "error_inbox_capacity=16"),
    ("connection_listener_inbox_capacity", "connection_listener_inbox_capacity=1"),
];

/// Every supported key of senders is seen to work; `cargo test -- --nocapture` names the one that is not.
#[test]
fn conf_18_every_key_of_a_sender_reaches_it() {
    let registry = registry();
    let mut left: Vec<Case> = CASES.to_vec();
    for side in ["Both directions", "Senders"] {
        for (name, supported) in &registry[side] {
            let at = left.iter().position(|(key, _)| key == name);
            match at {
                Some(at) => {
                    assert!(supported, "{name} has a case and is not supported");
                    let (key, case) = left.remove(at);
                    println!("{key}");
                    case();
                }
                None => assert!(!supported, "{name} has no case"),
            }
        }
    }
    assert!(left.is_empty(), "cases of keys that the registry does not have");
}

#[test]
fn conf_18_keys_that_are_not_supported_yet_are_refused_and_never_ignored() {
    let server = Server::start();
    let registry = registry();
    let all = registry["Both directions"].iter().chain(&registry["Senders"]);
    for (name, _) in all.filter(|(_, supported)| !supported) {
        let (_, text) =
            LATER.iter().find(|(key, _)| key == name).unwrap_or_else(|| panic!("{name} has no case"));
        let error = Sender::from_conf(&conf(&server, &format!("{text};"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        assert!(error.to_string().contains("not supported yet"), "{name}: {error}");
    }
    assert_eq!(server.connections().len(), 0);
}

/// C05, CONF-04: keys of queries and the pool are none of a sender's business.
#[test]
fn conf_18_a_sender_accepts_keys_of_the_other_side_whatever_their_value() {
    let server = Server::start();
    let registry = registry();
    for side in ["Queries", "The pool"] {
        for (name, _) in &registry[side] {
            for value in ["leader", "-1", ""] {
                let built = Sender::from_conf(&conf(&server, &format!("{name}={value};")));
                assert!(built.is_ok(), "{name}={value}: {built:?}");
            }
        }
    }
    assert_eq!(kind(Sender::from_conf(&conf(&server, "targett=any;"))), ErrorKind::Config);
}

/// C05: all keys with a default, at it, in one string.
#[test]
fn conf_04_one_string_with_every_default_builds_a_sender() {
    let server = Server::start();
    let mut text = conf(&server, "");
    for line in Config::reference().lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let (name, default) = (cells[0].split('`').nth(1).unwrap(), cells[1].trim_matches('`'));
        let foreign = name.starts_with("tls_") || name == "client_id" || name == "sf_sync_interval_millis";
        if !foreign && default != "unset" {
            text.push_str(&format!("{name}={default};"));
        }
    }
    assert!(text.matches('=').count() > 40, "{text}");
    let mut sender = Sender::from_conf(&text).unwrap();
    row(&mut sender, 0);
    drain(&mut sender);
    assert_eq!(xs(&server), [0]);
}

/// C08: empty values, each key by itself.
#[test]
fn conf_14_an_empty_value_is_refused_with_the_key_named() {
    let server = Server::start();
    let registry = registry();
    for (name, _) in registry["Both directions"].iter().chain(&registry["Senders"]) {
        let more = if name == "addr" { String::new() } else { conf(&server, "") };
        let text = match &*more {
            "" => "ws::addr=;".to_owned(),
            text => format!("{text}{name}=;"),
        };
        let error = Sender::from_conf(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        assert!(error.to_string().contains(&**name), "{name}: {error}");
    }
    assert_eq!(server.connections().len(), 0);
}

/// A key that is set by a call does the same.
#[test]
fn conf_09_a_call_wins_over_the_string() {
    let server = Server::start();
    let text = conf(&server, "auto_flush_rows=1;auto_flush_interval=off;");
    let builder = Sender::builder().set("auto_flush_rows", 3).unwrap().conf(&text).unwrap();
    let mut sender = builder.build().unwrap();
    for x in 0..3 {
        assert_eq!(sender.published(), None);
        row(&mut sender, x);
    }
    assert!(sender.published().is_some());
}

fn addr() {
    let (a, b) = (Server::scripted(["http 503"]), Server::start());
    let twice = format!("ws::addr={};addr={};", a.addr(), b.addr());
    for text in [conf_of(&[&a, &b], ""), twice] {
        let sender = Sender::from_conf(&text).unwrap();
        let used = sender.health().endpoint;
        assert!(used == Some(b.addr()) || used == Some(a.addr()), "{used:?}");
    }
    assert_eq!(b.connections().len(), 1, "once a was refused");
}

/// The header of the first upgrade of a sender with these keys.
fn header(keys: &str, name: &str) -> Option<String> {
    let server = Server::start();
    drop(Sender::from_conf(&conf(&server, keys)).unwrap());
    server.connections()[0].requests[0].header(name).map(str::to_owned)
}

fn basic() {
    let header = header("user=joe;pass=secret;", "Authorization");
    assert_eq!(header.as_deref(), Some("Basic am9lOnNlY3JldA=="));
}

fn token() {
    assert_eq!(header("token=abc;", "Authorization").as_deref(), Some("Bearer abc"));
}

fn client_id() {
    assert_eq!(header("client_id=mine/1;", "X-QWP-Client-Id").as_deref(), Some("mine/1"));
}

/// That they reach the handshake is shown in `ingest_tls`.
fn tls_only() {
    let server = Server::start();
    for keys in ["tls_roots=/nowhere.pem;", "tls_ca=pem_file;"] {
        assert_eq!(kind(Sender::from_conf(&conf(&server, keys))), ErrorKind::Config, "{keys}");
    }
    let missing = format!("wss::addr={};tls_roots=/nowhere.pem;", server.addr());
    let names = if cfg!(feature = "tls") { "/nowhere.pem" } else { "feature" };
    assert!(Sender::from_conf(&missing).unwrap_err().to_string().contains(names));
    let alone = format!("wss::addr={};tls_ca=pem_file;", server.addr());
    assert_eq!(kind(Sender::from_conf(&alone)), ErrorKind::Config);
}

fn tls_verify() {
    let server = Server::start();
    let refused = Sender::from_conf(&conf(&server, "tls_verify=unsafe_off;"));
    assert_eq!(kind(refused), ErrorKind::Config, "not without TLS");
    let text = format!("wss::addr={};tls_verify=unsafe_off;auth_timeout_ms=100;", server.addr());
    let wanted = if cfg!(feature = "insecure-tls") { ErrorKind::Transport } else { ErrorKind::Config };
    assert_eq!(kind(Sender::from_conf(&text)), wanted);
}

fn tls_roots_password() {
    let server = Server::start();
    let text = format!("wss::addr={};tls_roots=/nowhere;tls_roots_password=x;", server.addr());
    let error = Sender::from_conf(&text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("PEM"), "{error}");
}

fn auth_timeout_ms() {
    let server = Server::scripted(["deaf"]);
    let watch = Watch::start();
    assert_eq!(kind(Sender::from_conf(&conf(&server, "auth_timeout_ms=80;"))), ErrorKind::Transport);
    watch.at_least(ms(75));
    watch.at_most(ms(2000));
}

/// That it bounds connecting is shown in `ingest_connect`, with a host that drops what comes.
fn connect_timeout() {
    let server = Server::start();
    assert_eq!(kind(Sender::from_conf(&conf(&server, "connect_timeout=0;"))), ErrorKind::Config);
    drop(Sender::from_conf(&conf(&server, "connect_timeout=5000;")).unwrap());
}

/// How many rows a sender publishes by itself, of so many that it is given at once.
fn flushed(keys: &str, rows: i64) -> u64 {
    let server = Server::start();
    let mut sender = Sender::from_conf(&conf(&server, keys)).unwrap();
    (0..rows).for_each(|x| row(&mut sender, x));
    sender.counters().rows_published
}

fn auto_flush() {
    assert_eq!(flushed("auto_flush=off;auto_flush_rows=2;", 10), 0);
}

fn auto_flush_rows() {
    assert_eq!(flushed("auto_flush_rows=4;auto_flush_interval=off;", 10), 8);
}

fn auto_flush_bytes() {
    assert_eq!(flushed("auto_flush_bytes=48;auto_flush_rows=off;auto_flush_interval=off;", 10), 9);
}

fn auto_flush_interval() {
    let server = Server::start();
    let keys = "auto_flush_rows=off;auto_flush_interval=20;";
    let mut sender = Sender::from_conf(&conf(&server, keys)).unwrap();
    let watch = Watch::start();
    let mut x = 0;
    while sender.published().is_none() {
        row(&mut sender, x);
        x += 1;
        assert!(watch.elapsed() < SOON);
    }
    watch.at_least(ms(20));
}

fn transaction() {
    assert_eq!(flushed("transaction=on;auto_flush_rows=2;", 10), 0);
}

fn buf_sizes() {
    let server = Server::start();
    let mut sender = sender(&server, "init_buf_size=16;max_buf_size=64;");
    (0..4).for_each(|x| row(&mut sender, x));
    assert_eq!(kind(try_row(&mut sender, 4)), ErrorKind::TooLarge);
    drain(&mut sender);
    let swapped = conf(&server, "init_buf_size=65;max_buf_size=64;");
    assert_eq!(kind(Sender::from_conf(&swapped)), ErrorKind::Config);
}

fn max_name_len() {
    let server = Server::start();
    let mut sender = sender(&server, "max_name_len=16;");
    let (fits, long) = ("x".repeat(16), "x".repeat(17));
    sender.table(&fits).column_i64(&fits, 1).at_now().unwrap();
    let table = kind(sender.table(&long).column_i64("x", 1).at_now());
    let column = kind(sender.table("t").column_i64(&long, 1).at_now());
    assert_eq!([table, column], [ErrorKind::InvalidValue; 2]);
}

fn allow_timestamp_column() {
    let server = Server::start();
    let mut refusing = sender(&server, "");
    let refused = refusing.table("u").column_i64("TimeStamp", 1).at_now();
    assert_eq!(kind(refused), ErrorKind::InvalidValue);
    let mut sender = sender(&server, "allow_timestamp_column=on;");
    sender.table("u").column_i64("TimeStamp", 1).at(TimestampNanos::now()).unwrap();
    assert_eq!(sender.pending_rows(), 1);
    sender.clear();
}

/// Without a directory it names nothing; its form is checked all the same.
fn sender_id() {
    let server = Server::start();
    drop(sender(&server, "sender_id=writer-1;"));
    assert_eq!(kind(Sender::from_conf(&conf(&server, "sender_id=a/b;"))), ErrorKind::Config);
}

fn store_sizes() {
    let server = Server::scripted(["up, silent"]);
    let keys = "sf_max_segment_bytes=1k;sf_max_total_bytes=3k;sf_append_deadline_millis=0;";
    let mut sender = sender(&server, &format!("{keys}close_flush_timeout_millis=0;"));
    let full = (0..1000).find_map(|x| {
        row(&mut sender, x);
        sender.flush().err()
    });
    let text = full.unwrap().to_string();
    assert!(text.contains("bytes used 3072, of 3072"), "{text}");
    assert!(sender.counters().bytes_published < 3072);
    let large = sender.table("t").column_str("s", "x".repeat(1024)).at_now();
    assert_eq!(kind(large), ErrorKind::TooLarge, "a row has to fit into a segment");
}

fn sf_append_deadline_millis() {
    let server = Server::scripted(["up, silent"]);
    let keys = "sf_max_segment_bytes=1k;sf_max_total_bytes=2k;sf_append_deadline_millis=150;";
    let mut sender = sender(&server, &format!("{keys}close_flush_timeout_millis=0;"));
    let watch = Watch::start();
    let full = (0..1000).any(|x| {
        row(&mut sender, x);
        sender.flush().is_err()
    });
    assert!(full);
    watch.at_least(ms(150));
    watch.at_most(ms(2500));
}

fn initial_connect_retry() {
    for (mode, built, rounds) in [("off", false, 1), ("sync", true, 3), ("on", true, 3), ("async", true, 0)] {
        let server = Server::scripted(["http 503", "http 503"]);
        let keys = format!("initial_connect_retry={mode};reconnect_initial_backoff_millis=1;");
        let result = Sender::from_conf(&conf(&server, &keys));
        assert_eq!(result.is_ok(), built, "{mode}");
        assert!(mode == "async" || server.connections().len() == rounds, "{mode}");
    }
}

/// Rounds that a `sync` initial connect makes in so many milliseconds.
fn rounds(keys: &str, budget: u64) -> usize {
    let server = Server::start();
    server.always(Some(Script::new("http 503")));
    let text = conf(&server, &format!("{keys}reconnect_max_duration_millis={budget};"));
    assert_eq!(kind(Sender::from_conf(&text)), ErrorKind::Transport);
    server.connections().len()
}

fn backoffs() {
    let slow = rounds("reconnect_initial_backoff_millis=400;", 300);
    let growing = rounds("reconnect_initial_backoff_millis=4;reconnect_max_backoff_millis=5000;", 400);
    let fast = rounds("reconnect_initial_backoff_millis=4;reconnect_max_backoff_millis=4;", 400);
    assert!(slow == 1 && growing < 9 && fast > 12, "{slow} {growing} {fast}");
}

fn reconnect_max_duration_millis() {
    let watch = Watch::start();
    rounds("reconnect_initial_backoff_millis=10;", 250);
    watch.at_most(ms(1500));
    assert_eq!(rounds("", 0), 1);
}

fn close_flush_timeout_millis() {
    let server = Server::scripted(["up, silent"]);
    let mut sender = sender(&server, "close_flush_timeout_millis=120;");
    frames(&mut sender, 0..1);
    let watch = Watch::start();
    assert_eq!(kind(sender.close()), ErrorKind::Timeout);
    watch.at_least(ms(120));
    watch.at_most(ms(1500));
}
