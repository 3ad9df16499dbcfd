use super::*;
use crate::config::Endpoint;
use crate::transport::Wake;
use proptest::prelude::*;
use std::time::Duration;

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// The answer to [`KEY`] in RFC 6455 1.3.
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const INGRESS: Asked<'static> = Asked { key: KEY, direction: Direction::Ingress, durable_ack: false };
const EGRESS: Asked<'static> = Asked { key: KEY, direction: Direction::Egress, durable_ack: false };
const DURABLE: Asked<'static> = Asked { key: KEY, direction: Direction::Ingress, durable_ack: true };

fn head(text: &str) -> Head {
    let mut reader = HeadReader::new();
    reader.push(text.as_bytes());
    reader.parse().unwrap().unwrap()
}

type Headers<'a> = &'a [(&'a str, &'a str)];

/// A good 101 with `more` headers; those of the same name are replaced, without a value removed.
fn switching(more: Headers) -> String {
    let mut headers = vec![
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", ACCEPT),
        ("X-QWP-Version", "1"),
    ];
    for (name, value) in more {
        headers.retain(|(found, _)| found != name);
        if !value.is_empty() {
            headers.push((name, value));
        }
    }
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 101 Switching Protocols\r\n{lines}\r\n")
}

fn attempt<'a>(endpoint: &'a Endpoint, wake: &'a Wake) -> Attempt<'a> {
    Attempt {
        endpoint,
        direction: Direction::Ingress,
        authorization: None,
        client_id: "rust/0.1.0",
        durable_ack: false,
        accept_encoding: None,
        max_batch_rows: None,
        connect_timeout: Duration::from_secs(1),
        auth_timeout: Duration::from_secs(1),
        wake,
    }
}

fn endpoint(host: &str) -> Endpoint {
    Endpoint { host: host.to_owned(), port: 9000 }
}

#[test]
fn auth_01_the_ingress_request_has_its_headers_and_no_others() {
    let (endpoint, wake) = (endpoint("::1"), Wake::new().unwrap());
    let asked = Attempt {
        authorization: Some("Bearer a.b.c"),
        durable_ack: true,
        accept_encoding: Some("zstd"),
        max_batch_rows: Some(5),
        ..attempt(&endpoint, &wake)
    };
    let expected = "GET /write/v4 HTTP/1.1\r\n\
        Host: [::1]:9000\r\n\
        Connection: Upgrade\r\n\
        Upgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Authorization: Bearer a.b.c\r\n\
        X-QWP-Max-Version: 1\r\n\
        X-QWP-Client-Id: rust/0.1.0\r\n\
        X-QWP-Request-Durable-Ack: true\r\n\r\n";
    assert_eq!(String::from_utf8(request(&asked, KEY).unwrap()).unwrap(), expected);
}

#[test]
fn the_egress_request_has_its_headers_and_no_others() {
    let (endpoint, wake) = (endpoint("db.example"), Wake::new().unwrap());
    let asked = Attempt {
        direction: Direction::Egress,
        client_id: "",
        durable_ack: true,
        accept_encoding: Some("zstd;level=3,raw"),
        max_batch_rows: Some(1000),
        ..attempt(&endpoint, &wake)
    };
    let expected = "GET /read/v1 HTTP/1.1\r\n\
        Host: db.example:9000\r\n\
        Connection: Upgrade\r\n\
        Upgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        X-QWP-Max-Version: 1\r\n\
        X-QWP-Accept-Encoding: zstd;level=3,raw\r\n\
        X-QWP-Max-Batch-Rows: 1000\r\n\r\n";
    assert_eq!(String::from_utf8(request(&asked, KEY).unwrap()).unwrap(), expected);
}

/// T05
#[test]
fn auth_03_no_value_can_add_a_header_or_show_up_in_the_failure() {
    let wake = Wake::new().unwrap();
    for bad in ["a\r\nX: y", "a\nb", "a\0b", "t\u{f6}ken", "tab\tbed", "del\u{7f}"] {
        let good = endpoint("db");
        let with_token = Attempt { authorization: Some(bad), ..attempt(&good, &wake) };
        assert_eq!(request(&with_token, KEY), Err("Authorization"), "{bad:?}");
        let with_id = Attempt { client_id: bad, ..attempt(&good, &wake) };
        assert_eq!(request(&with_id, KEY), Err("X-QWP-Client-Id"), "{bad:?}");
        let host = endpoint(bad);
        assert_eq!(request(&attempt(&host, &wake), KEY), Err("Host"), "{bad:?}");
    }
    let good = endpoint("db");
    let long = format!("Bearer {}", "x".repeat(16 * 1024));
    let with_long = Attempt { authorization: Some(&long), ..attempt(&good, &wake) };
    assert!(request(&with_long, KEY).unwrap().windows(long.len()).any(|w| w == long.as_bytes()));
}

#[test]
fn the_key_is_16_fresh_random_bytes() {
    let (a, b) = (fresh_key().unwrap(), fresh_key().unwrap());
    assert_ne!(a, b);
    assert_eq!((a.len(), BASE64.decode(a.as_bytes()).unwrap().len()), (24, 16));
}

#[test]
fn a_good_101_is_accepted_with_what_it_says() {
    let plain = accept(&INGRESS, &head(&switching(&[]))).unwrap();
    assert_eq!(plain, Upgrade::default());
    let full = switching(&[
        ("Upgrade", "WebSocket"),
        ("Connection", "keep-alive, UPGRADE"),
        ("X-QWP-Max-Batch-Size", "2097138"),
        ("X-QWP-Durable-Ack", "Enabled"),
        ("X-QuestDB-Role", "PRIMARY"),
        ("X-QuestDB-Zone", "eu-1"),
        ("Set-Cookie", "a=b"),
    ]);
    let expected = Upgrade {
        max_batch_bytes: Some(2_097_138),
        durable_ack: true,
        zstd: false,
        role: Some("PRIMARY".to_owned()),
        zone: Some("eu-1".to_owned()),
    };
    assert_eq!(accept(&DURABLE, &head(&full)).unwrap(), expected);
}

/// LIM-05
#[test]
fn lim_05_a_cap_that_is_no_positive_number_is_unknown() {
    for value in ["", "0", "-1", "abc", "1.5", "99999999999999999999", "12 34"] {
        let upgrade = accept(&INGRESS, &head(&switching(&[("X-QWP-Max-Batch-Size", value)]))).unwrap();
        assert_eq!(upgrade.max_batch_bytes, None, "{value}");
    }
}

#[test]
fn conn_03_06_07_each_miss_of_a_101_fails_with_its_class_in_order() {
    let transport = || FailureClass::Transport;
    let cases: Vec<(Headers, FailureClass, Phase, &str)> = vec![
        (&[("Upgrade", "")], transport(), Phase::Upgrade, "does not upgrade to websocket"),
        (&[("Upgrade", "h2c")], transport(), Phase::Upgrade, "does not upgrade to websocket"),
        (&[("Connection", "")], transport(), Phase::Upgrade, "does not upgrade the connection"),
        (&[("Connection", "keep-alive, upgraded")], transport(), Phase::Upgrade, "does not upgrade the"),
        (&[("Sec-WebSocket-Accept", "")], transport(), Phase::Upgrade, "Sec-WebSocket-Accept is wrong"),
        (
            &[("Sec-WebSocket-Accept", "s3pplmbitxaq9kygzzhzrbk+xoo=")],
            transport(),
            Phase::Upgrade,
            "is wrong",
        ),
        (&[("Sec-WebSocket-Extensions", "permessage-deflate")], transport(), Phase::Upgrade, "not asked for"),
        (&[("Sec-WebSocket-Protocol", "qwp")], transport(), Phase::Upgrade, "not asked for"),
        (&[("X-QWP-Version", "")], FailureClass::Version, Phase::Upgrade, "names no QWP version"),
        (&[("X-QWP-Version", "2")], FailureClass::Version, Phase::Upgrade, "speaks QWP version 2"),
        (&[("X-QWP-Version", "01")], FailureClass::Version, Phase::Upgrade, "speaks QWP version 01"),
        (&[("X-QWP-Durable-Ack", "")], FailureClass::DurableAck, Phase::DurableAck, "does not confirm"),
        (&[("X-QWP-Durable-Ack", "no")], FailureClass::DurableAck, Phase::DurableAck, "does not confirm"),
        // The check that comes first tells.
        (&[("Upgrade", ""), ("X-QWP-Version", "")], transport(), Phase::Upgrade, "to websocket"),
        (&[("X-QWP-Version", "2"), ("X-QWP-Durable-Ack", "")], FailureClass::Version, Phase::Upgrade, "2"),
    ];
    for (change, class, phase, reason) in cases {
        let mut headers = vec![("X-QWP-Durable-Ack", "enabled")];
        headers.extend(change);
        let failure = accept(&DURABLE, &head(&switching(&headers))).unwrap_err();
        assert_eq!((failure.class, failure.phase), (class, phase), "{change:?}");
        assert!(failure.reason.contains(reason), "{change:?}: {}", failure.reason);
    }
}

#[test]
fn conn_14_an_unknown_content_encoding_fails_a_query_connection() {
    for (value, zstd) in [
        ("", Ok(false)),
        ("raw", Ok(false)),
        ("Identity", Ok(false)),
        ("zstd", Ok(true)),
        ("ZSTD;level=3", Ok(true)),
        ("zstd ; level=3", Ok(true)),
        ("gzip", Err(())),
        ("zstd2", Err(())),
        ("lz4;level=1", Err(())),
    ] {
        let answer = head(&switching(&[("X-QWP-Content-Encoding", value)]));
        let found = accept(&EGRESS, &answer);
        assert_eq!(found.as_ref().map(|upgrade| upgrade.zstd).map_err(|_| ()), zstd, "{value}");
        if let Err(failure) = found {
            assert_eq!(failure.class, FailureClass::Transport);
            assert!(failure.reason.contains(value), "{}", failure.reason);
        }
        assert!(accept(&INGRESS, &answer).is_ok(), "says nothing on ingest");
    }
}

#[test]
fn conn_03_04_05_refusals_have_their_class_zone_and_reason() {
    let role = |role: &str| FailureClass::Role { role: role.to_owned() };
    let auth = |status, retryable_challenge| FailureClass::Auth { status, retryable_challenge };
    let transport = || FailureClass::Transport;
    let cases = [
        ("400 Bad Request", "", transport(), "the server refused the upgrade: HTTP status 400: why"),
        ("401 Unauthorized", "", auth(401, true), "the server refused the credentials: HTTP status 401: why"),
        (
            "401 Unauthorized",
            "WWW-Authenticate: Bearer error=\"insufficient_scope\"\r\n",
            auth(401, false),
            "HTTP status 401",
        ),
        ("403 Forbidden", "", auth(403, false), "the credentials do not permit this: HTTP status 403: why"),
        ("404 Not Found", "", transport(), "no /write/v4 there"),
        ("421 Misdirected", "X-QuestDB-Role: REPLICA\r\n", role("REPLICA"), "the node's role is REPLICA"),
        ("421 Misdirected", "x-questdb-role:  primary_catchup \r\n", role("primary_catchup"), "catchup"),
        ("421 Misdirected", "X-QuestDB-Role: \r\n", transport(), "HTTP status 421"),
        ("421 Misdirected", "", transport(), "HTTP status 421"),
        ("426 Upgrade Required", "", transport(), "HTTP status 426"),
        ("429 Slow", "Retry-After: 30\r\n", transport(), "HTTP status 429: why (retry after 30)"),
        ("503 Busy", "X-QuestDB-Role: REPLICA\r\n", transport(), "HTTP status 503"),
        ("307 Moved", "Location: http://other/\r\n", transport(), "redirects to http://other/, which is not"),
        ("200 OK", "", transport(), "the server refused the upgrade: HTTP status 200"),
    ];
    for (status, headers, class, reason) in cases {
        let answer = head(&format!("HTTP/1.1 {status}\r\nX-QuestDB-Zone: eu\r\n{headers}\r\n"));
        let failure = refuse(&INGRESS, &answer, "why");
        assert_eq!(failure.class, class, "{status}");
        let phase =
            if matches!(failure.class, FailureClass::Role { .. }) { Phase::Role } else { Phase::Upgrade };
        assert_eq!(failure.phase, phase, "CONN-08: {status}");
        assert_eq!(failure.zone.as_deref(), Some("eu"));
        assert!(failure.reason.contains(reason), "{}", failure.reason);
    }
}

#[test]
fn server_text_in_reasons_is_without_control_characters() {
    let answer = head("HTTP/1.1 307 x\r\nLocation: http://\u{9b}evil\r\nRetry-After: 1\u{85}2\r\n\r\n");
    let failure = refuse(&INGRESS, &answer, "");
    assert!(!failure.reason.chars().any(char::is_control), "{:?}", failure.reason);
}

/// A body as [`fuzz_upgrade`] reads it: the reason, if the answer is complete.
fn reason(answer: &str, piece: usize) -> Option<String> {
    read_all(answer.as_bytes(), piece)?.0.err()
}

#[test]
fn the_body_is_read_by_its_framing() {
    let refused = "the server refused the upgrade: HTTP status 503";
    let cases = [
        ("Content-Length: 3\r\n\r\nwhyXX", "why"),
        ("Content-Length: 0\r\n\r\nXX", ""),
        ("\r\nXX", ""),
        ("Content-Length: x\r\n\r\nXX", ""),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nwhy\r\n0\r\n\r\nXX", "why"),
        (
            "Transfer-Encoding: gzip, Chunked\r\nContent-Length: 1\r\n\r\n2\r\nwh\r\n1\r\ny\r\n0\r\n\r\n",
            "why",
        ),
        ("Transfer-Encoding: chunked\r\n\r\n0c ;a=\"b\"\r\nwhy\r\nso long\r\n0\r\n\r\n", "why so long"),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nwhyX", "why"),
        ("Transfer-Encoding: chunked\r\n\r\nxyz\r\nwhy", ""),
        ("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nwhy", ""),
        ("Transfer-Encoding: gzip\r\n\r\nXX", ""),
        ("Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nXX", ""),
        ("Content-Length: 12\r\n\r\n a \r\n\x1b[31m b ", "a [31m b"),
    ];
    for (answer, text) in cases {
        let expected = if text.is_empty() { refused.to_owned() } else { format!("{refused}: {text}") };
        let answer = format!("HTTP/1.1 503 Busy\r\n{answer}");
        for piece in 1..=answer.len() {
            assert_eq!(reason(&answer, piece), Some(expected.clone()), "{answer:?} by {piece}");
        }
    }
    assert_eq!(reason("HTTP/1.1 503 Busy\r\nContent-Length: 3\r\n\r\nwh", 1), None, "not complete");
    assert_eq!(reason("HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwhy\r\n", 1), None);
}

#[test]
fn conn_10_a_body_is_read_in_part_only() {
    let large = head("HTTP/1.1 503 x\r\nContent-Length: 9000000000000000000\r\n\r\n");
    let mut body = Body::new(&large);
    let mut count = 0;
    while !body.is_complete() {
        body.push(&[b'x'; 1000]);
        count += 1;
    }
    assert!(count <= 5, "{count}");
    assert_eq!(body.text().len(), 1024, "what an error shows");
    // A chunk's first line that never ends.
    let mut body = Body::new(&head("HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    let mut count = 0;
    while !body.is_complete() {
        body.push(b"0");
        count += 1;
    }
    assert_eq!(count, 64 * 1024);
}

/// Answers with what may follow them: 101 with the first frame in its segment, 4xx with chunked and
/// without a body.
const ANSWERS: [&str; 4] = [
    "HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n0e\r\nUnauthorized\r\n\r\n00\r\n\r\n",
    "HTTP/1.1 421 Misdirected\r\nX-QuestDB-Role: REPLICA\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0b\r\nNot Found\r\n\r\n00\r\n\r\n",
];

#[test]
fn conn_12_every_split_of_an_answer_means_the_same() {
    let with_frame = switching(&[]) + "\u{2}\u{3}abc\r\n\r\n";
    for answer in ANSWERS.into_iter().chain([with_frame.as_str()]) {
        let whole = read_all(answer.as_bytes(), usize::MAX).unwrap();
        for piece in 1..answer.len() {
            assert_eq!(read_all(answer.as_bytes(), piece).as_ref(), Some(&whole), "{answer:?} by {piece}");
        }
        for split in 0..answer.len() {
            let mut reader = HeadReader::new();
            let (before, behind) = answer.as_bytes().split_at(split);
            reader.push(before);
            let parsed = reader.parse().unwrap().or_else(|| {
                reader.push(behind);
                reader.parse().unwrap()
            });
            assert_eq!(parsed, Some(head(answer)), "{answer:?} split at {split}");
        }
    }
    let (outcome, behind) = read_all(with_frame.as_bytes(), 1).unwrap();
    assert_eq!(outcome, Ok(Upgrade::default()));
    assert_eq!(behind, b"\x02\x03abc\r\n\r\n", "what follows the 101 is kept");
}

#[test]
fn conn_03_what_is_no_http_answer_fails_without_waiting_for_more() {
    for (answer, reason) in [
        ("SSH-2.0-OpenSSH\r\n", "the answer is not HTTP/1.1"),
        ("HTTP/2", "the answer is not HTTP/1.1"),
        ("\r\n\r\n", "the answer is not HTTP/1.1"),
        ("\u{15}\u{3}\u{1}", "the server speaks TLS: use wss"),
        ("HTTP/1.1 abc\r\n\r\n", "malformed"),
        ("HTTP/1.1 200 OK\nA: b\n\r\nX\r\n\r\n", "malformed"),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed"),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", "malformed"),
    ] {
        for piece in [1, 100] {
            let found = super::tests::reason(answer, piece).expect("complete");
            assert!(found.contains(reason), "{answer:?}: {found}");
        }
    }
}

#[test]
fn conn_10_a_head_has_at_most_64_kib() {
    let exactly = |count: usize| {
        let start = switching(&[]);
        let start = start.trim_end();
        format!("{start}\r\nX: {}\r\n\r\n", "x".repeat(count - start.len() - 9))
    };
    let fits = exactly(64 * 1024);
    assert_eq!(fits.len(), 64 * 1024);
    assert!(read_all(fits.as_bytes(), 1000).unwrap().0.is_ok());
    let over = read_all(exactly(64 * 1024 + 1).as_bytes(), 1000).unwrap().0.unwrap_err();
    assert!(over.contains("larger than 65536 bytes"), "{over}");

    let mut reader = HeadReader::new();
    reader.push(b"HTTP/1.1 101 x\r\n");
    let mut count = 0;
    while reader.parse().is_ok() {
        reader.push(b"X: y\r\n");
        count += 1;
    }
    assert!(count < 11_000, "{count}");
}

#[test]
fn too_many_headers_are_an_error() {
    let many = format!("HTTP/1.1 101 x\r\n{}\r\n", "X: y\r\n".repeat(300));
    let found = reason(&many, 100).unwrap();
    assert!(found.contains("malformed"), "{found}");
}

proptest! {
    #[test]
    fn sec_04_garbage_never_panics_and_means_the_same_in_any_pieces(
        cut: u8,
        start in prop::sample::select(vec![
            "HTTP/1.1 101 x\r\n", "HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.", "",
        ]),
        data in prop::collection::vec(
            prop::sample::select(b"\r\r\n\n:; ,\"=0aXf1\0\x80".to_vec()), 0..200),
    ) {
        fuzz_upgrade(&[&[cut][..], start.as_bytes(), &data].concat());
    }
}
