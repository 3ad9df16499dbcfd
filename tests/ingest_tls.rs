//! CONN-09, CONF-13: `wss`, through a proxy that ends TLS in front of the stand-in.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::io::{ErrorKind as IoKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use kit::*;
use qwp::{ErrorKind, Phase, Sender};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};
use support::Server;

/// Ends TLS with a certificate of its own, for as many connections as come.
struct Proxy {
    address: SocketAddr,
    /// Its certificate, in PEM.
    roots: PathBuf,
}

impl Proxy {
    /// For a server, with a certificate for that name; `test` names the file.
    fn new(server: &Server, name: &str, test: &str) -> Proxy {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).unwrap();
        let roots = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.pem"));
        std::fs::write(&roots, cert.pem()).unwrap();
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key.into())
            .unwrap();
        let (listener, behind) = (TcpListener::bind("127.0.0.1:0").unwrap(), server.address());
        let address = listener.local_addr().unwrap();
        let config = Arc::new(config);
        // It ends with the process: nobody connects any more once the test is over.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let config = config.clone();
                std::thread::spawn(move || relay(config, client, behind));
            }
        });
        Proxy { address, roots }
    }

    fn conf(&self, host: &str, more: &str) -> String {
        format!("wss::addr={host}:{};tls_roots={};{more}", self.address.port(), self.roots.display())
    }
}

/// Carries bytes both ways until one side ends.
fn relay(config: Arc<ServerConfig>, mut client: TcpStream, behind: SocketAddr) {
    let mut tls = ServerConnection::new(config).unwrap();
    while tls.is_handshaking() {
        if tls.complete_io(&mut client).is_err() {
            return;
        }
    }
    let mut server = TcpStream::connect(behind).unwrap();
    client.set_read_timeout(Some(ms(1))).unwrap();
    server.set_read_timeout(Some(ms(1))).unwrap();
    let mut part = vec![0; 64 << 10];
    loop {
        match tls.read_tls(&mut client) {
            Ok(0) => return,
            Ok(_) => drop(tls.process_new_packets().unwrap()),
            Err(e) if is_time_out(e.kind()) => {}
            Err(_) => return,
        }
        while let Ok(count @ 1..) = tls.reader().read(&mut part) {
            if server.write_all(&part[..count]).is_err() {
                return;
            }
        }
        match server.read(&mut part) {
            Ok(0) => {
                tls.send_close_notify();
                drop(tls.write_tls(&mut client));
                return;
            }
            Ok(count) => tls.writer().write_all(&part[..count]).unwrap(),
            Err(e) if is_time_out(e.kind()) => {}
            Err(_) => return,
        }
        while tls.wants_write() {
            if tls.write_tls(&mut client).is_err() {
                return;
            }
        }
    }
}

fn is_time_out(kind: IoKind) -> bool {
    matches!(kind, IoKind::WouldBlock | IoKind::TimedOut)
}

#[test]
fn conn_09_rows_go_through_tls_and_survive_reconnects() {
    let server = Server::with(|config| config.authorization = Some("Bearer abc".into()));
    let proxy = Proxy::new(&server, "localhost", "tls_rows");
    let keys = "auto_flush=off;token=abc;reconnect_initial_backoff_millis=1;";
    let mut sender = Sender::from_conf(&proxy.conf("localhost", keys)).unwrap();
    let text = "x".repeat(300_000);
    for x in 0..10 {
        sender.table("t").column_i64("x", x).column_str("text", &text).at(at(x)).unwrap();
    }
    drain(&mut sender);
    server.cut();
    frames(&mut sender, 10..20);
    drain(&mut sender);
    assert_eq!(xs(&server), (0..20).collect::<Vec<_>>());
    sender.close().unwrap();
    assert!(server.connections().len() >= 2);
}

/// T02: phase, host and reason.
#[test]
fn conn_09_a_certificate_that_is_not_trusted_is_named_with_phase_tls() {
    let server = Server::start();
    let proxy = Proxy::new(&server, "somewhere.example", "tls_name");
    let webpki = format!("wss::addr=127.0.0.1:{};", proxy.address.port());
    for (what, text, reason) in [
        ("another name", proxy.conf("localhost", ""), "somewhere.example"),
        ("not among the roots", webpki, "webpki"),
    ] {
        let error = Sender::from_conf(&text).unwrap_err();
        let failure = &error.endpoints()[0];
        assert_eq!((error.kind(), failure.phase), (ErrorKind::Transport, Phase::Tls), "{what}: {error}");
        assert!(failure.reason.contains(reason), "{what}: {}", failure.reason);
    }
    assert_eq!(server.connections().len(), 0);
}

/// C10, H01, R08, CONN-01: a peer that stops in the middle of the handshake.
#[test]
fn conn_01_a_stalled_handshake_is_bounded_and_interrupted() {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let mut held = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = mute.accept().unwrap();
            stream.write_all(&[0x16, 0x03, 0x03]).unwrap();
            held.push(stream);
        }
        held
    });
    let watch = Watch::start();
    let error = Sender::from_conf(&format!("wss::addr={address};auth_timeout_ms=300;")).unwrap_err();
    watch.at_least(ms(290));
    watch.at_most(ms(2000));
    assert_eq!(error.endpoints()[0].phase, Phase::Tls, "{error}");

    let mut sender = Sender::from_conf(&format!("wss::addr={address};initial_connect_retry=async;")).unwrap();
    let _held = peer.join().unwrap();
    let watch = Watch::start();
    sender.close().unwrap();
    watch.at_most(ms(1000));
}

/// CONF-13
#[test]
fn conf_13_roots_that_do_not_work_fail_the_build_and_name_the_path() {
    let server = Server::start();
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tls_empty.pem");
    std::fs::write(&empty, "").unwrap();
    for path in [empty, PathBuf::from("/nowhere/roots.pem")] {
        let text = format!("wss::addr={};tls_roots={};", server.addr(), path.display());
        let error = Sender::from_conf(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
    }
    assert_eq!(server.connections().len(), 0);
}
