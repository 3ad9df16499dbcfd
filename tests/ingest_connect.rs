//! CONN and INIT: the first connection, and the walk over several endpoints.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use kit::*;
use qwp::{ConnectMode, Error, ErrorKind, LinkState, Phase, Sender};
use support::{Script, Server, Step};

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Every connection plays this script.
fn always(script: Script) -> Server {
    let server = Server::start();
    server.always(Some(script));
    server
}

/// What the error says of each endpoint.
fn failures(error: &Error) -> Vec<(String, Phase, ErrorKind)> {
    error.endpoints().iter().map(|failure| (failure.endpoint.clone(), failure.phase, failure.kind)).collect()
}

/// Hosts that cannot be used, each with the kind and the phase that an error names.
fn bad_hosts() -> Vec<(&'static str, Option<Script>, ErrorKind, Phase)> {
    use ErrorKind::{ProtocolVersion, RoleMismatch, Transport};
    let http = |answer: &str| Some(Script { steps: vec![Step::HttpRaw(answer.as_bytes().to_vec())] });
    let words = |words: &str| Some(Script::new(words));
    let wrong_key = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                     Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\nX-QWP-Version: 1\r\n\r\n";
    vec![
        ("refuses", None, Transport, Phase::Connect),
        ("mute", words("deaf"), Transport, Phase::Upgrade),
        ("ends", words("eof"), Transport, Phase::Upgrade),
        ("404", words("http 404"), Transport, Phase::Upgrade),
        ("426", words("http 426"), Transport, Phase::Upgrade),
        ("503", words("http 503"), Transport, Phase::Upgrade),
        ("200", http("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), Transport, Phase::Upgrade),
        ("no HTTP", http("SSH-2.0-OpenSSH_9.6\r\n"), Transport, Phase::Upgrade),
        ("cut", words("cut 40, up"), Transport, Phase::Upgrade),
        ("wrong accept key", http(wrong_key), Transport, Phase::Upgrade),
        ("421 without a role", words("http 421"), Transport, Phase::Upgrade),
        ("421 replica", words("role REPLICA"), RoleMismatch, Phase::Role),
        ("421 catching up", words("role primary_catchup"), RoleMismatch, Phase::Role),
        ("421 some other role", words("role OBSERVER"), RoleMismatch, Phase::Role),
        ("version 99", words("up(version=99), serve"), ProtocolVersion, Phase::Upgrade),
    ]
}

/// R07, R16, CONN-03, CONN-04, CONN-06: whatever the first one does, the second one is used.
#[test]
fn conn_02_a_host_that_cannot_be_used_is_passed_over_and_named_with_its_phase() {
    for (what, script, kind, phase) in bad_hosts() {
        let bad = script.map(always);
        let address = bad.as_ref().map_or_else(|| nobody().to_string(), Server::addr);
        let good = Server::start();
        let keys = "auth_timeout_ms=300;auto_flush=off;";
        let watch = Watch::start();
        let mut sender = Sender::from_conf(&format!("ws::addr={address},{};{keys}", good.addr())).unwrap();
        watch.at_most(ms(3000));
        assert_eq!(sender.health().endpoint.as_deref(), Some(&*good.addr()), "{what}");
        row(&mut sender, 1);
        drain(&mut sender);
        assert_eq!(xs(&good), [1], "{what}");

        let alone = Sender::from_conf(&format!("ws::addr={address};{keys}")).unwrap_err();
        // A reset may overtake the end of the TCP handshake.
        let early = |(_, phase, _): &(String, Phase, ErrorKind)| what == "resets" && *phase == Phase::Connect;
        let phase = if failures(&alone).iter().any(early) { Phase::Connect } else { phase };
        assert_eq!((alone.kind(), failures(&alone)), (kind, vec![(address, phase, kind)]), "{what}: {alone}");
    }
}

/// R07, H08: each endpoint in order, with the phase that failed; the most telling kind of all.
#[test]
fn conn_08_the_error_of_a_round_lists_every_endpoint_with_its_phase() {
    let refusing = nobody().to_string();
    let (mute, busy) = (always(Script::new("deaf")), always(Script::new("http 503")));
    let (old, replica) = (always(Script::new("up(version=99)")), always(Script::new("role REPLICA")));
    let keys = "auth_timeout_ms=300;";
    let list = format!("{refusing},{},{},{},{}", mute.addr(), busy.addr(), old.addr(), replica.addr());
    let error = Sender::from_conf(&format!("ws::addr={list};{keys}")).unwrap_err();
    let transport = |address: String, phase| (address, phase, ErrorKind::Transport);
    let wanted = vec![
        transport(refusing.clone(), Phase::Connect),
        transport(mute.addr(), Phase::Upgrade),
        transport(busy.addr(), Phase::Upgrade),
        (old.addr(), Phase::Upgrade, ErrorKind::ProtocolVersion),
        (replica.addr(), Phase::Role, ErrorKind::RoleMismatch),
    ];
    assert_eq!((error.kind(), failures(&error)), (ErrorKind::RoleMismatch, wanted), "{error}");
    let text = error.to_string();
    for part in ["503", "99", "REPLICA", "no endpoint takes writes", &refusing, "upgrade", "connect"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let without_role = format!("{refusing},{},{}", busy.addr(), old.addr());
    let error = Sender::from_conf(&format!("ws::addr={without_role};{keys}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "one of them might have been reached: {error}");
}

/// R10, CONN-05: it ends the walk, whatever the mode.
#[test]
fn conn_05_a_refused_credential_ends_the_walk_at_once() {
    for mode in ["off", "sync"] {
        for status in [401, 403] {
            let (a, b) = (always(Script::new(&format!("http {status}"))), Server::start());
            let watch = Watch::start();
            let error =
                Sender::from_conf(&conf_of(&[&a, &b], &format!("initial_connect_retry={mode};token=x;")))
                    .unwrap_err();
            watch.at_most(ms(1000));
            assert_eq!(failures(&error), [(a.addr(), Phase::Upgrade, ErrorKind::Auth)], "{error}");
            assert_eq!((error.kind(), b.connections().len()), (ErrorKind::Auth, 0));
        }
    }
}

/// R10, INIT-04: with nobody to return it to, the next call and `close` do.
#[test]
fn init_04_a_refused_credential_is_terminal_before_the_first_connection() {
    let (a, b) = (always(Script::new("http 401")), Server::start());
    let keys = "initial_connect_retry=async;auto_flush=off;";
    let mut sender = Sender::from_conf(&conf_of(&[&a, &b], keys)).unwrap();
    eventually("the sender stops", || sender.health().state == LinkState::Failed);
    let error = try_row(&mut sender, 0).unwrap_err();
    assert_eq!(failures(&error), [(a.addr(), Phase::Upgrade, ErrorKind::Auth)]);
    assert_eq!((kind(sender.flush()), sender.was_ever_connected()), (ErrorKind::Auth, false));
    assert_eq!(b.connections().len(), 0);
    sender.close().unwrap();

    let untold = Sender::from_conf(&conf_of(&[&a, &b], keys)).map(|mut sender| {
        eventually("the sender stops", || sender.health().state == LinkState::Failed);
        sender.close()
    });
    assert_eq!(kind(untold.unwrap()), ErrorKind::Auth, "close tells what no call has told");
}

/// R10, AUTH-05: a sender that has connected rides it out.
#[test]
fn auth_05_a_refused_credential_is_ridden_out_after_the_first_connection() {
    let server = Server::scripted(["up, read 1, ok 0, rst", "http 401", "http 403", "http 401"]);
    let mut sender = sender(&server, "reconnect_initial_backoff_millis=10;");
    frames(&mut sender, 0..3);
    drain(&mut sender);
    assert_eq!(xs(&server), [0, 1, 2]);
    assert_eq!(sender.counters().server_errors.security_error, 3, "each such round is reported");
    assert_eq!(server.connections().len(), 5);
}

/// INIT-01
#[test]
fn init_01_off_makes_one_round_and_returns_its_failure() {
    let server = always(Script::new("http 503"));
    let watch = Watch::start();
    let error = Sender::from_conf(&conf(&server, "")).unwrap_err();
    watch.at_most(ms(1000));
    assert_eq!((error.kind(), server.connections().len()), (ErrorKind::Transport, 1));
}

/// INIT-01, INIT-05
#[test]
fn init_01_sync_tries_until_its_budget_is_used_up() {
    let server = always(Script::new("http 503"));
    let keys = "initial_connect_retry=sync;reconnect_initial_backoff_millis=20;";
    for (budget, rounds) in [(0, 1..2), (400, 4..20)] {
        let before = server.connections().len();
        let watch = Watch::start();
        let more = format!("{keys}reconnect_max_duration_millis={budget};");
        assert_eq!(kind(Sender::from_conf(&conf(&server, &more))), ErrorKind::Transport);
        watch.at_most(ms(budget + 1000));
        let made = server.connections().len() - before;
        assert!(rounds.contains(&made), "{made} rounds in {budget} ms");
    }
}

/// INIT-01, R16: other versions and roles are waited for, too.
#[test]
fn init_01_sync_connects_once_a_server_is_ready() {
    let server = Server::scripted(["http 503", "up(version=99)", "role REPLICA", "rst"]);
    let keys = "initial_connect_retry=sync;reconnect_initial_backoff_millis=10;auto_flush=off;";
    let mut sender = Sender::from_conf(&conf(&server, keys)).unwrap();
    assert!(sender.was_ever_connected());
    row(&mut sender, 1);
    drain(&mut sender);
    assert_eq!((xs(&server), server.connections().len()), (vec![1], 5));
}

/// INIT-02: an explicit mode wins, else any `reconnect_*` key means `sync`.
#[test]
fn init_02_a_reconnect_key_promotes_the_initial_connect() {
    let promoted = "reconnect_initial_backoff_millis=1;reconnect_max_duration_millis=300;";
    for (keys, rounds) in [
        (promoted.to_owned(), 2..1000),
        (format!("{promoted}initial_connect_retry=off;"), 1..2),
        (String::new(), 1..2),
    ] {
        let server = always(Script::new("http 503"));
        assert_eq!(kind(Sender::from_conf(&conf(&server, &keys))), ErrorKind::Transport);
        let made = server.connections().len();
        assert!(rounds.contains(&made), "{keys}: {made} rounds");
    }
}

/// INIT-03, R20: rows wait, in order, for a server that comes later.
#[test]
fn init_03_async_takes_rows_before_there_is_a_server() {
    let mut server = Server::start();
    server.stop();
    let keys = "auto_flush=off;reconnect_max_backoff_millis=200;reconnect_initial_backoff_millis=50;";
    let builder = Sender::builder().conf(&conf(&server, keys)).unwrap();
    let watch = Watch::start();
    let mut sender = builder.initial_connect(ConnectMode::Async).build().unwrap();
    watch.at_most(ms(500));
    assert!(!sender.was_ever_connected());
    frames(&mut sender, 0..20);
    eventually("a failed round", || sender.health().failed_rounds > 0);
    let health = sender.health();
    assert_eq!((health.state, sender.was_ever_connected()), (LinkState::Connecting, false));
    let failure = health.last_failure.unwrap();
    assert_eq!(failures(&failure), [(server.addr(), Phase::Connect, ErrorKind::Transport)]);
    // H08: not "the connection is alive".
    let text = sender.drain(ms(0)).unwrap_err().to_string();
    assert!(text.contains("no connection for") && text.contains(&server.addr()), "{text}");

    server.restart();
    drain(&mut sender);
    assert_eq!(xs(&server), (0..20).collect::<Vec<_>>());
    assert!(sender.was_ever_connected());
    assert_eq!(sender.health().state, LinkState::Connected);
}

/// R20, CONN-16: the server would lose it without an error.
#[test]
fn conn_16_nothing_is_written_before_the_101() {
    let server = Server::scripted(["hold gate, serve"]);
    let mut sender = sender(&server, "initial_connect_retry=async;");
    frames(&mut sender, 0..5);
    until(&server, "the connection", |state| !state.connections.is_empty());
    // Time for bytes that must not come.
    assert_eq!(kind(sender.drain(ms(300))), ErrorKind::Timeout);
    server.release("gate");
    drain(&mut sender);
    let connections = server.connections();
    assert_eq!((connections.len(), connections[0].early_bytes), (1, 0));
    assert_eq!(xs(&server), [0, 1, 2, 3, 4]);
}

/// R20, CONN-12: what follows the 101 in its segment is kept, and pieces are as good as a whole.
#[test]
fn conn_12_an_answer_in_the_segment_of_the_101_is_read() {
    let server = Server::scripted(["cork, up, close 1000"]);
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..3);
    drain(&mut sender);
    assert_eq!((xs(&server), server.connections().len()), (vec![0, 1, 2], 2));
}

/// C10, CONN-01: a server that trickles is bounded by `auth_timeout_ms`.
#[test]
fn conn_01_no_silent_peer_holds_a_walk_longer_than_its_limits() {
    for script in ["deaf", "silent"] {
        let server = always(Script::new(script));
        let watch = Watch::start();
        let error = Sender::from_conf(&conf(&server, "auth_timeout_ms=250;")).unwrap_err();
        watch.at_least(ms(240));
        watch.at_most(ms(2000));
        assert_eq!(error.endpoints()[0].phase, Phase::Upgrade);
        assert!(error.to_string().contains("250 ms") || error.to_string().contains("time"), "{error}");
    }
}

/// C10: one byte at a time, and never all of them.
#[test]
fn conn_01_an_upgrade_that_trickles_is_bounded_as_a_whole() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(ms(20))).unwrap();
        // The time-out of a read is the pause; the client ends it.
        let head = b"HTTP/1.1 101 Switching Protocols\r\nX: ";
        for byte in head.iter().chain(std::iter::repeat(&b'x')) {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            drop(stream.read(&mut [0; 1024]));
        }
    });
    let watch = Watch::start();
    let error = Sender::from_conf(&format!("ws::addr={address};auth_timeout_ms=300;")).unwrap_err();
    watch.at_least(ms(290));
    watch.at_most(ms(2000));
    assert_eq!(failures(&error), [(address.to_string(), Phase::Upgrade, ErrorKind::Transport)]);
    peer.join().unwrap();
}

/// R07, CONN-01: a host whose backlog is full drops what comes, as a black hole does.
#[test]
fn conn_01_a_black_hole_costs_connect_timeout_and_each_host_gets_a_fresh_one() {
    let hole = BlackHole::new();
    let good = Server::start();
    let watch = Watch::start();
    let sender =
        Sender::from_conf(&format!("ws::addr={},{};connect_timeout=400;", hole.address, good.addr()));
    watch.at_least(ms(390));
    watch.at_most(ms(3000));
    drop(sender.unwrap());
    let error = Sender::from_conf(&format!("ws::addr={};connect_timeout=200;", hole.address)).unwrap_err();
    assert_eq!(failures(&error), [(hole.address.to_string(), Phase::Connect, ErrorKind::Transport)]);
}

/// A listener that takes nobody, with its backlog filled.
struct BlackHole {
    address: SocketAddr,
    _listener: rustix::fd::OwnedFd,
    _waiting: Vec<std::net::TcpStream>,
}

impl BlackHole {
    fn new() -> BlackHole {
        use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&listener, 0).unwrap();
        let address: SocketAddr = getsockname(&listener).unwrap().try_into().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            waiting.push(stream);
        }
        BlackHole { address, _listener: listener, _waiting: waiting }
    }
}
