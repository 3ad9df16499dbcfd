use super::*;
use crate::error::Phase;
use crate::time::SystemClock;
use crate::transport::testing::*;
use crate::transport::{
    Attempt, ConnectFailure, Connector, FailureClass, Incoming, Link, LinkError, SocketConnector,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

type Authority = CertifiedIssuer<'static, KeyPair>;

/// What a server shows: its chain in DER, and the key of the first.
struct Shown(Vec<Vec<u8>>, KeyPair);

fn authority(name: &str) -> Authority {
    CertifiedIssuer::self_signed(authority_params(name), KeyPair::generate().unwrap()).unwrap()
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn leaf_params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

fn issue(params: CertificateParams, issuer: &Authority) -> Shown {
    let key = KeyPair::generate().unwrap();
    let leaf = params.signed_by(&key, issuer).unwrap();
    Shown(vec![leaf.der().to_vec()], key)
}

/// Trusts one authority, as `tls_roots=/etc/own-ca.pem` does.
fn trusting(root: &Authority) -> TlsOptions {
    pem_file(vec![root.der().to_vec()])
}

fn pem_file(certificates: Vec<Vec<u8>>) -> TlsOptions {
    TlsOptions { roots: Roots::PemFile(PathBuf::from("/etc/own-ca.pem"), certificates), verify: true }
}

type Encrypted = StreamOwned<ServerConnection, TcpStream>;

/// A TLS server that plays a script for one connection; without a completed handshake it is skipped.
fn serve(shown: Shown, script: impl FnOnce(Encrypted) + Send + 'static) -> Server {
    let chain = shown.0.into_iter().map(CertificateDer::from).collect();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(shown.1.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    Server::new(move |mut socket| {
        let mut tls = ServerConnection::new(Arc::new(config)).unwrap();
        while tls.is_handshaking() {
            if tls.complete_io(&mut socket).is_err() {
                return;
            }
        }
        script(StreamOwned::new(tls, socket));
    })
}

fn connect(
    options: &TlsOptions,
    server: &Server,
    host: &str,
    wake: &Wake,
) -> std::result::Result<Box<dyn Link>, ConnectFailure> {
    let setup = TlsSetup::new(options).unwrap();
    let connector = SocketConnector::new(Arc::new(SystemClock), Some(setup));
    let mut endpoint = server.endpoint();
    host.clone_into(&mut endpoint.host);
    connector.connect(&attempt(&endpoint, wake))
}

/// T02
#[test]
fn conn_09_certificates_are_accepted_and_refused_with_phase_and_reason() {
    let root = authority("Own CA");
    let other = authority("Other CA");
    let middle_key = KeyPair::generate().unwrap();
    let middle = CertifiedIssuer::signed_by(authority_params("Middle"), middle_key, &root).unwrap();
    let mut expired = leaf_params(&["localhost"]);
    expired.not_before = rcgen::date_time_ymd(2001, 1, 1);
    expired.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let mut early = leaf_params(&["localhost"]);
    early.not_before = rcgen::date_time_ymd(2900, 1, 1);
    early.not_after = rcgen::date_time_ymd(2901, 1, 1);
    let self_key = KeyPair::generate().unwrap();
    let self_signed = leaf_params(&["localhost"]).self_signed(&self_key).unwrap();
    let mut whole_chain = issue(leaf_params(&["localhost"]), &middle);
    whole_chain.0.push(middle.der().to_vec());

    let trust = trusting(&root);
    let cases: Vec<(&str, Shown, &str, &str)> = vec![
        ("own authority", issue(leaf_params(&["localhost"]), &root), "localhost", ""),
        ("whole chain", whole_chain, "localhost", ""),
        ("address", issue(leaf_params(&["127.0.0.1"]), &root), "127.0.0.1", ""),
        (
            "other authority",
            issue(leaf_params(&["localhost"]), &other),
            "localhost",
            "unknown issuer: the certificate of localhost leads to none of the roots of /etc/own-ca.pem",
        ),
        (
            "self-signed",
            Shown(vec![self_signed.der().to_vec()], self_key),
            "localhost",
            "unknown issuer: the certificate of localhost leads to none of the roots of /etc/own-ca.pem",
        ),
        (
            "middle missing",
            issue(leaf_params(&["localhost"]), &middle),
            "localhost",
            "unknown issuer: the certificate of localhost leads to none of the roots of /etc/own-ca.pem",
        ),
        ("expired", issue(expired, &root), "localhost", "the certificate of localhost has expired"),
        ("early", issue(early, &root), "localhost", "the certificate of localhost is not valid yet"),
        (
            "wrong name",
            issue(leaf_params(&["db.example"]), &root),
            "localhost",
            "name mismatch: the certificate is for db.example, not for localhost",
        ),
        ("name, not address", issue(leaf_params(&["localhost"]), &root), "127.0.0.1", "name mismatch: "),
        (
            "wrong address",
            issue(leaf_params(&["127.0.0.2"]), &root),
            "127.0.0.1",
            "name mismatch: the certificate is for 127.0.0.2, not for 127.0.0.1",
        ),
    ];
    for (name, shown, host, reason) in cases {
        let server = serve(shown, |mut stream| upgrade(&mut stream));
        let wake = Wake::new().unwrap();
        match (connect(&trust, &server, host, &wake), reason) {
            (Ok(_), "") => {}
            (Ok(_), _) => panic!("{name}: accepted"),
            (Err(failure), "") => panic!("{name}: {}", failure.reason),
            (Err(failure), reason) => {
                assert_eq!((failure.phase, failure.class), (Phase::Tls, FailureClass::Transport), "{name}");
                assert!(failure.reason.starts_with(reason), "{name}: {}", failure.reason);
            }
        }
        server.join();
    }
}

#[test]
fn conn_09_the_built_in_roots_do_not_trust_an_own_authority() {
    let server = serve(issue(leaf_params(&["localhost"]), &authority("Own CA")), |_| {});
    let wake = Wake::new().unwrap();
    let options = TlsOptions { roots: Roots::Webpki, verify: true };
    let failure = connect(&options, &server, "localhost", &wake).unwrap_err();
    assert!(failure.reason.ends_with("leads to none of the built-in webpki roots"), "{}", failure.reason);
    server.join();
}

#[test]
fn conf_13_roots_that_cannot_be_used_are_config_errors() {
    let failure = TlsSetup::new(&pem_file(vec![b"no certificate".to_vec()])).unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Config);
    assert!(failure.to_string().starts_with("a root does not parse: file /etc/own-ca.pem: "), "{failure}");
}

#[cfg(not(feature = "insecure-tls"))]
#[test]
fn conn_09_unchecked_certificates_are_refused_without_the_feature() {
    let failure = TlsSetup::new(&TlsOptions { roots: Roots::Webpki, verify: false }).unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Config);
    assert!(failure.to_string().ends_with("built without its feature insecure-tls"), "{failure}");
}

#[cfg(feature = "insecure-tls")]
#[test]
fn conn_09_any_certificate_will_do_with_the_feature() {
    let mut expired = leaf_params(&["db.example"]);
    expired.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let server = serve(issue(expired, &authority("Own CA")), |mut stream| upgrade(&mut stream));
    let wake = Wake::new().unwrap();
    let options = TlsOptions { roots: Roots::Webpki, verify: false };
    assert!(connect(&options, &server, "localhost", &wake).is_ok());
    server.join();
}

#[cfg(not(feature = "os-roots"))]
#[test]
fn the_systems_roots_are_refused_without_the_feature() {
    for roots in [Roots::Os, Roots::WebpkiAndOs] {
        let failure = TlsSetup::new(&TlsOptions { roots, verify: true }).unwrap_err();
        assert!(failure.to_string().ends_with("built without its feature os-roots"), "{failure}");
    }
}

#[cfg(feature = "os-roots")]
#[test]
fn the_systems_roots_are_loaded_or_it_is_said_that_there_are_none() {
    TlsSetup::new(&TlsOptions { roots: Roots::WebpkiAndOs, verify: true })
        .map(drop)
        .or_else(|failure| match failure.kind() {
            ErrorKind::Config => Ok(()),
            _ => Err(failure),
        })
        .unwrap();
}

/// T01: a provider that another part of the program installed, or none, makes no difference.
#[test]
fn the_provider_is_passed_and_never_the_process_default() {
    assert!(rustls::crypto::CryptoProvider::get_default().is_none(), "nothing installs one");
    let root = authority("Own CA");
    let server = serve(issue(leaf_params(&["localhost"]), &root), |mut stream| upgrade(&mut stream));
    let wake = Wake::new().unwrap();
    assert!(connect(&trusting(&root), &server, "localhost", &wake).is_ok());
    assert!(rustls::crypto::CryptoProvider::get_default().is_none(), "nothing installed one");
    server.join();
}

#[test]
fn large_messages_go_both_ways_and_small_ones_in_one_record_are_all_seen() {
    const LARGE: usize = 2 << 20;
    let root = authority("Own CA");
    let server = serve(issue(leaf_params(&["localhost"]), &root), |mut stream| {
        upgrade(&mut stream);
        let (_, payload) = read_frame(&mut stream);
        stream.write_all(&frame(0x82, &payload)).unwrap();
        let three = [frame(0x82, b"1"), frame(0x82, b"2"), frame(0x82, b"3")].concat();
        stream.write_all(&three).unwrap();
        assert_eq!(read_frame(&mut stream), (0x88, vec![3, 0xe8]));
        stream.write_all(&frame(0x88, &[3, 0xe8])).unwrap();
        stream.flush().unwrap();
        // The client says that it is done before it closes.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    let wake = Wake::new().unwrap();
    let mut link = connect(&trusting(&root), &server, "localhost", &wake).unwrap();
    assert_eq!(send_all(&mut *link, &wake, &pattern(LARGE)), []);
    assert!(next(&mut *link, &wake).unwrap() == Incoming::Message(pattern(LARGE)));
    for expected in [b"1", b"2", b"3"] {
        assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(expected.to_vec()));
    }
    link.close(1000).unwrap();
    assert!(link.flush().unwrap());
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Close { code: Some(1000), reason: String::new() });
    drop(link);
    server.join();
}

#[test]
fn the_end_of_the_encrypted_stream_is_seen_while_tcp_stays_open() {
    let root = authority("Own CA");
    let server = serve(issue(leaf_params(&["localhost"]), &root), |mut stream| {
        upgrade(&mut stream);
        stream.write_all(&frame(0x82, b"last")).unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        expect_closed(&mut stream);
    });
    let wake = Wake::new().unwrap();
    let mut link = connect(&trusting(&root), &server, "localhost", &wake).unwrap();
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"last".to_vec()));
    assert!(matches!(next(&mut *link, &wake), Err(LinkError::Ended)));
    drop(link);
    server.join();
}

#[test]
fn what_came_before_a_broken_record_is_received_and_then_the_error() {
    let root = authority("Own CA");
    let server = serve(issue(leaf_params(&["localhost"]), &root), |mut stream| {
        upgrade(&mut stream);
        let mut wire = Vec::new();
        stream.conn.writer().write_all(&frame(0x82, b"last")).unwrap();
        stream.conn.write_tls(&mut wire).unwrap();
        // A record that decrypts to nothing.
        wire.extend([0x17, 3, 3, 0, 32]);
        wire.extend([0; 32]);
        stream.sock.write_all(&wire).unwrap();
        while stream.sock.read(&mut [0; 100]).is_ok_and(|count| count > 0) {}
    });
    let wake = Wake::new().unwrap();
    let mut link = connect(&trusting(&root), &server, "localhost", &wake).unwrap();
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"last".to_vec()));
    let Err(LinkError::Io(error)) = next(&mut *link, &wake) else { panic!("no error") };
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    drop(link);
    server.join();
}

/// The beginning of a TLS attempt against a server that is no good one.
fn failed_handshake(server: &Server, clock: Arc<dyn Clock>, wake: &Wake, limit: Duration) -> ConnectFailure {
    let setup = TlsSetup::new(&TlsOptions { roots: Roots::Webpki, verify: true }).unwrap();
    let connector = SocketConnector::new(clock, Some(setup));
    let endpoint = server.endpoint();
    connector.connect(&Attempt { auth_timeout: limit, ..attempt(&endpoint, wake) }).unwrap_err()
}

/// R08
#[test]
fn conn_01_half_a_server_hello_burns_no_cpu_and_ends_by_the_limit() {
    let server = Server::new(|mut stream| {
        stream.write_all(&[0x16, 0x03, 0x03]).unwrap();
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    });
    let (clock, wake) = (Arc::new(CountingClock::default()), Wake::new().unwrap());
    let limit = Duration::from_millis(300);
    let start = SystemClock.now();
    let failure = failed_handshake(&server, Arc::clone(&clock) as Arc<dyn Clock>, &wake, limit);
    let took = SystemClock.now() - start;
    assert!(took >= limit && took < limit * 4, "{took:?}");
    assert_eq!((failure.phase, failure.class), (Phase::Tls, FailureClass::Transport));
    assert_eq!(failure.reason, "no answer within auth_timeout_ms of 300 ms");
    let turns = clock.0.load(Ordering::Relaxed);
    assert!(turns < 30, "turned {turns} times");
    server.join();
}

/// R08, H01
#[test]
fn flush_14_a_mute_handshake_is_interrupted() {
    let wake = Wake::new().unwrap();
    let other = wake.clone();
    let server = Server::new(move |mut stream| {
        stream.read_exact(&mut [0; 5]).unwrap();
        other.fire();
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    });
    let failure = failed_handshake(&server, Arc::new(SystemClock), &wake, LONG);
    assert_eq!((failure.phase, failure.class), (Phase::Tls, FailureClass::Interrupted));
    server.join();
}

#[test]
fn conn_01_tls_and_upgrade_share_auth_timeout() {
    let root = authority("Own CA");
    let server = serve(issue(leaf_params(&["localhost"]), &root), |mut stream| {
        read_request(&mut stream);
        expect_closed(&mut stream);
    });
    let connector =
        SocketConnector::new(Arc::new(SystemClock), Some(TlsSetup::new(&trusting(&root)).unwrap()));
    let (mut endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    "localhost".clone_into(&mut endpoint.host);
    let limit = Duration::from_millis(500);
    let failure =
        connector.connect(&Attempt { auth_timeout: limit, ..attempt(&endpoint, &wake) }).unwrap_err();
    assert_eq!(failure.phase, Phase::Upgrade);
    assert_eq!(failure.reason, "no answer within auth_timeout_ms of 500 ms");
    server.join();
}

#[test]
fn conn_08_a_server_without_tls_and_one_that_hangs_up_are_failures_of_tls() {
    let cases: [(&[u8], &str); 3] = [
        (b"HTTP/1.1 400 Bad request\r\n\r\n", "the server does not speak TLS: use ws if it has none"),
        (b"", "the server ended the connection during the handshake"),
        // The alert handshake_failure.
        (&[0x15, 3, 3, 0, 2, 2, 40], "received fatal alert: "),
    ];
    for (answer, reason) in cases {
        let server = Server::new(move |mut stream| {
            stream.read_exact(&mut [0; 5]).unwrap();
            stream.set_nonblocking(true).unwrap();
            // What came of the hello is read, so that closing does not reset.
            while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
            stream.set_nonblocking(false).unwrap();
            stream.write_all(answer).unwrap();
        });
        let wake = Wake::new().unwrap();
        let failure = failed_handshake(&server, Arc::new(SystemClock), &wake, LONG);
        assert_eq!(failure.phase, Phase::Tls);
        assert!(failure.reason.starts_with(reason), "{}", failure.reason);
        server.join();
    }
}
