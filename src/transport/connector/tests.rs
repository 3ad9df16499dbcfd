use super::*;
use crate::config::Endpoint;
use crate::time::SystemClock;
use crate::transport::testing::*;
use crate::transport::{FailureClass, Incoming, Wake};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

fn connector() -> SocketConnector {
    SocketConnector::new(Arc::new(SystemClock), None)
}

fn fails(server: &Server, change: impl FnOnce(&mut Attempt<'_>)) -> ConnectFailure {
    let (endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    let mut attempt = attempt(&endpoint, &wake);
    change(&mut attempt);
    connector().connect(&attempt).expect_err("the server is no good one")
}

fn now() -> Instant {
    SystemClock.now()
}

/// R20
#[test]
fn conn_12_what_comes_in_the_segment_of_the_101_is_kept() {
    let server = Server::new(|mut stream| {
        let request = read_request(&mut stream);
        assert!(request.starts_with("GET /read/v1 HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
        let mut answer = switching(&request, "X-QuestDB-Role: PRIMARY\r\n");
        answer.extend(frame(0x82, b"server info"));
        answer.extend(&frame(0x82, b"cut here")[..4]);
        stream.write_all(&answer).unwrap();
        stream.write_all(&frame(0x82, b"cut here")[4..]).unwrap();
        expect_closed(&mut stream);
    });
    let (endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    let query = Attempt { direction: Direction::Egress, ..attempt(&endpoint, &wake) };
    let mut link = connector().connect(&query).unwrap();
    assert_eq!(link.upgrade().role.as_deref(), Some("PRIMARY"));
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"server info".to_vec()));
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"cut here".to_vec()));
    drop(link);
    server.join();
}

#[test]
fn conn_12_both_directions_work_one_byte_at_a_time() {
    let server = Server::new(|mut stream| {
        let request = read_request(&mut stream);
        let mut bytes = switching(&request, "X-QWP-Max-Batch-Size: 1000\r\n");
        bytes.extend(frame(0x02, b"frag"));
        bytes.extend(frame(0x89, b"ping"));
        bytes.extend(frame(0x80, &[b'x'; 200]));
        for byte in bytes {
            stream.write_all(&[byte]).unwrap();
        }
        let mut reader = OneByte(stream);
        assert_eq!(read_frame(&mut reader), (0x8a, b"ping".to_vec()));
        assert_eq!(read_frame(&mut reader), (0x82, vec![7; 300]));
        assert_eq!(read_frame(&mut reader), (0x88, vec![3, 0xe8]));
        for byte in frame(0x88, &[3, 0xe8]) {
            reader.0.write_all(&[byte]).unwrap();
        }
    });
    let (endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    let mut link = connector().connect(&attempt(&endpoint, &wake)).unwrap();
    assert_eq!(link.upgrade().max_batch_bytes, Some(1000));
    let expected = [&b"frag"[..], &[b'x'; 200]].concat();
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(expected));
    assert!(link.send(&[7; 300], &mut 0).unwrap());
    link.close(1000).unwrap();
    assert!(link.flush().unwrap());
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Close { code: Some(1000), reason: String::new() });
    server.join();
}

/// Gives a byte a read.
struct OneByte<R>(R);

impl<R: Read> Read for OneByte<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(1);
        self.0.read(&mut buffer[..count])
    }
}

/// R20
#[test]
fn conn_16_nothing_is_written_before_the_101_has_arrived() {
    let server = Server::new(|mut stream| {
        let request = read_request(&mut stream);
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let early = stream.read(&mut [0]).expect_err("nothing comes");
        assert!(matches!(early.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(&switching(&request, "")).unwrap();
        assert_eq!(read_frame(&mut stream), (0x82, b"first".to_vec()));
    });
    let (endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    let mut link = connector().connect(&attempt(&endpoint, &wake)).unwrap();
    assert!(link.send(b"first", &mut 0).unwrap());
    assert!(link.flush().unwrap());
    server.join();
}

#[test]
fn conn_03_04_05_refusals_come_at_once_while_the_server_keeps_the_connection_open() {
    let role = FailureClass::Role { role: "REPLICA".to_owned() };
    let auth = FailureClass::Auth { status: 401, retryable_challenge: true };
    let chunked = "Transfer-Encoding: chunked\r\n\r\n0e\r\nUnauthorized\r\n\r\n00\r\n\r\n";
    let cases = [
        (format!("401 Unauthorized\r\n{chunked}"), auth, "HTTP status 401: Unauthorized"),
        (
            "421 Misdirected\r\nX-QuestDB-Role: REPLICA\r\nContent-Length: 0\r\n\r\n".to_owned(),
            role,
            "the node's role is REPLICA",
        ),
        (format!("404 Not Found\r\n{chunked}"), FailureClass::Transport, "HTTP status 404: Unauthorized"),
        ("426 Upgrade Required\r\n\r\n".to_owned(), FailureClass::Transport, "HTTP status 426"),
    ];
    for (answer, class, reason) in cases {
        let server = Server::new(move |mut stream| {
            read_request(&mut stream);
            // One byte at a time, so that the end of the body is not in the segment of the head.
            for byte in format!("HTTP/1.1 {answer}").bytes() {
                stream.write_all(&[byte]).unwrap();
            }
            expect_closed(&mut stream);
        });
        let failure = fails(&server, |_| {});
        let phase = if matches!(class, FailureClass::Role { .. }) { Phase::Role } else { Phase::Upgrade };
        assert_eq!((failure.class, failure.phase), (class, phase));
        assert!(failure.reason.contains(reason), "{}", failure.reason);
        server.join();
    }
}

#[test]
fn conn_05_a_refusal_stands_although_its_body_never_comes() {
    let server = Server::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno").unwrap();
        expect_closed(&mut stream);
    });
    let failure = fails(&server, |attempt| attempt.auth_timeout = Duration::from_millis(50));
    assert_eq!(failure.class, FailureClass::Auth { status: 403, retryable_challenge: false });
    assert_eq!(failure.reason, "the credentials do not permit this: HTTP status 403: no");
    server.join();
}

#[test]
fn conn_03_an_end_in_place_of_an_answer_is_a_transport_failure() {
    for sent in ["", "HTTP/1.1 101 Swi", "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n"] {
        let server = Server::new(move |mut stream| {
            read_request(&mut stream);
            stream.write_all(sent.as_bytes()).unwrap();
        });
        let failure = fails(&server, |_| {});
        assert_eq!((failure.class, failure.phase), (FailureClass::Transport, Phase::Upgrade));
        assert_eq!(failure.reason, "the server ended the connection in place of an answer");
        server.join();
    }
}

/// R07
#[test]
fn conn_01_a_mute_server_is_left_at_the_limit_and_the_phase_is_named() {
    let server = Server::new(|mut stream| {
        read_request(&mut stream);
        expect_closed(&mut stream);
    });
    let limit = Duration::from_millis(80);
    let start = now();
    let failure = fails(&server, |attempt| attempt.auth_timeout = limit);
    let took = now() - start;
    assert!(took >= limit && took < limit * 10, "{took:?}");
    assert_eq!((failure.class, failure.phase), (FailureClass::Transport, Phase::Upgrade));
    assert_eq!(failure.reason, "no answer within auth_timeout_ms of 80 ms");
    server.join();
}

/// C10
#[test]
fn conn_01_bytes_that_trickle_do_not_extend_the_time() {
    let server = Server::new(|mut stream| {
        let request = read_request(&mut stream);
        let answer = switching(&request, &"X: y\r\n".repeat(100));
        stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        for byte in answer {
            let closed = matches!(stream.read(&mut [0]), Ok(0));
            if closed || stream.write_all(&[byte]).is_err() {
                return;
            }
        }
        panic!("the client waited for all of it");
    });
    let failure = fails(&server, |attempt| attempt.auth_timeout = Duration::from_millis(100));
    assert_eq!(failure.reason, "no answer within auth_timeout_ms of 100 ms");
    server.join();
}

#[test]
fn conn_10_endless_headers_end_at_64_kib() {
    let server = Server::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\n").unwrap();
        let mut sent = 0;
        while stream.write_all(b"X-Endless: yes\r\n").is_ok() {
            sent += 16;
            assert!(sent < 64 << 20, "the client reads on for ever");
        }
    });
    let failure = fails(&server, |_| {});
    assert_eq!(failure.class, FailureClass::Transport);
    assert_eq!(failure.reason, "the head of the HTTP answer is larger than 65536 bytes");
    server.join();
}

#[test]
fn conn_08_the_phase_says_how_far_it_came() {
    let wake = Wake::new().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = Endpoint { host: "127.0.0.1".to_owned(), port };
    let refused = connector().connect(&attempt(&closed, &wake)).unwrap_err();
    assert_eq!((refused.class, refused.phase), (FailureClass::Transport, Phase::Connect));
    assert!(refused.reason.to_lowercase().contains("refused"), "{}", refused.reason);

    let named = Endpoint { host: "db".to_owned(), port };
    let unknown = SocketConnector {
        resolver: Resolver::with(|_, _| Err(io::Error::other("no such host"))),
        ..connector()
    };
    let unresolved = unknown.connect(&attempt(&named, &wake)).unwrap_err();
    assert_eq!((unresolved.class, unresolved.phase), (FailureClass::Transport, Phase::Resolve));
    assert_eq!(unresolved.reason, "no such host");
}

/// R07
#[test]
fn conn_01_look_up_and_connect_share_connect_timeout() {
    let (hole, wake) = (BlackHole::new(), Wake::new().unwrap());
    let address = hole.address();
    let named = Endpoint { host: "db".to_owned(), port: address.port() };
    let slow = SocketConnector {
        resolver: Resolver::with(move |_, _| {
            // A look-up that takes a while.
            Wake::new()?.wait(within(Duration::from_millis(40)))?;
            Ok(vec![address])
        }),
        ..connector()
    };
    let limit = Duration::from_millis(80);
    let start = now();
    let failure = slow.connect(&Attempt { connect_timeout: limit, ..attempt(&named, &wake) }).unwrap_err();
    let took = now() - start;
    assert!(took >= limit && took < limit + Duration::from_millis(38), "{took:?}");
    assert_eq!((failure.class, failure.phase), (FailureClass::Transport, Phase::Connect));
    assert_eq!(failure.reason, format!("{address}: no answer in time"));

    let never = Attempt { connect_timeout: Duration::from_millis(10), ..attempt(&named, &wake) };
    let failure = slow.connect(&never).unwrap_err();
    assert_eq!(failure.phase, Phase::Resolve);
    assert_eq!(failure.reason, "no answer within connect_timeout of 10 ms");
}

/// H01
#[test]
fn flush_14_a_wake_up_ends_an_attempt_wherever_it_is() {
    let interrupted = |endpoint: &Endpoint| {
        let wake = Wake::new().unwrap();
        let other = wake.clone();
        let firing = std::thread::spawn(move || other.fire());
        let failure = connector().connect(&attempt(endpoint, &wake)).unwrap_err();
        assert_eq!(failure.class, FailureClass::Interrupted);
        firing.join().unwrap();
        failure.phase
    };
    let hole = BlackHole::new();
    let endpoint = Endpoint { host: "127.0.0.1".to_owned(), port: hole.address().port() };
    assert_eq!(interrupted(&endpoint), Phase::Connect);

    // In the middle of an answer, after the client has shown that it is there.
    let wake = Wake::new().unwrap();
    let other = wake.clone();
    let server = Server::new(move |mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nhalf").unwrap();
        other.fire();
        expect_closed(&mut stream);
    });
    let endpoint = server.endpoint();
    let failure = connector().connect(&attempt(&endpoint, &wake)).unwrap_err();
    assert_eq!((failure.class, failure.phase), (FailureClass::Interrupted, Phase::Upgrade));
    assert!(!wake.drain(), "it is drained");
    server.join();
}

/// T05
#[test]
fn auth_03_a_value_that_a_header_cannot_carry_is_not_sent() {
    let server = Server::new(|mut stream| expect_closed(&mut stream));
    let failure = fails(&server, |attempt| attempt.authorization = Some("Bearer a\r\nX: y"));
    assert_eq!(failure.reason, "the value for Authorization has a byte that a header cannot carry");
    server.join();
}
