//! The HTTP upgrade, without a socket: what is asked, and what the answer means (wire.md 1.2 to 1.5).

mod body;
mod challenge;
mod head;
#[cfg(test)]
mod tests;

pub(super) use body::Body;
pub(super) use head::{Head, HeadReader};

use super::{Attempt, ConnectFailure, Direction, FailureClass, Upgrade};
use crate::error::{Phase, printable};
use data_encoding::BASE64;
use std::fmt::Write;
use tungstenite::handshake::derive_accept_key;

/// The version that this client speaks.
const VERSION: &str = "1";

impl Direction {
    fn target(self) -> &'static str {
        match self {
            Direction::Ingress => "/write/v4",
            Direction::Egress => "/read/v1",
        }
    }
}

/// A `Sec-WebSocket-Key`, fresh per attempt.
pub(super) fn fresh_key() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(BASE64.encode(&bytes))
}

/// The request. Fails with the name of a header whose value cannot stand in a header, so that no
/// value can add one (AUTH-03); never with the value.
pub(super) fn request(attempt: &Attempt<'_>, key: &str) -> Result<Vec<u8>, &'static str> {
    let host = attempt.endpoint.to_string();
    let max_batch_rows = attempt.max_batch_rows.map(|rows| rows.to_string());
    let ingress = attempt.direction == Direction::Ingress;
    let headers = [
        ("Host", Some(host.as_str())),
        ("Connection", Some("Upgrade")),
        ("Upgrade", Some("websocket")),
        ("Sec-WebSocket-Version", Some("13")),
        ("Sec-WebSocket-Key", Some(key)),
        ("Authorization", attempt.authorization),
        ("X-QWP-Max-Version", Some(VERSION)),
        ("X-QWP-Client-Id", Some(attempt.client_id).filter(|id| !id.is_empty())),
        ("X-QWP-Request-Durable-Ack", (ingress && attempt.durable_ack).then_some("true")),
        ("X-QWP-Accept-Encoding", attempt.accept_encoding.filter(|_| !ingress)),
        ("X-QWP-Max-Batch-Rows", max_batch_rows.as_deref().filter(|_| !ingress)),
    ];
    let mut head = format!("GET {} HTTP/1.1\r\n", attempt.direction.target());
    for (name, value) in headers {
        let Some(value) = value else { continue };
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(name);
        }
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    Ok(head.into_bytes())
}

/// What was asked for, as far as the answer is checked against it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) key: &'a str,
    pub(super) direction: Direction,
    pub(super) durable_ack: bool,
}

/// Checks a 101 in the order of wire.md 1.4.
pub(super) fn accept(asked: &Asked<'_>, head: &Head) -> Result<Upgrade, ConnectFailure> {
    check_websocket(asked, head).map_err(|reason| upgrade_failure(FailureClass::Transport, reason))?;
    check_version(head).map_err(|reason| upgrade_failure(FailureClass::Version, reason))?;
    let durable_ack = head.only("X-QWP-Durable-Ack").is_some_and(|v| v.eq_ignore_ascii_case("enabled"));
    if asked.durable_ack && asked.direction == Direction::Ingress && !durable_ack {
        let reason = "the server does not confirm durable acknowledgements".to_owned();
        return Err(ConnectFailure {
            phase: Phase::DurableAck,
            ..upgrade_failure(FailureClass::DurableAck, reason)
        });
    }
    let zstd = encoding(asked, head).map_err(|reason| upgrade_failure(FailureClass::Transport, reason))?;
    Ok(Upgrade {
        max_batch_bytes: head.only("X-QWP-Max-Batch-Size").and_then(|v| v.parse().ok()).filter(|&v| v > 0),
        durable_ack,
        zstd,
        role: head.text("X-QuestDB-Role"),
        zone: head.text("X-QuestDB-Zone"),
    })
}

/// What an answer other than 101 means (wire.md 1.5); `text` is a piece of its body.
pub(super) fn refuse(asked: &Asked<'_>, head: &Head, text: &str) -> ConnectFailure {
    let status = head.status;
    let role = head.text("X-QuestDB-Role");
    let (class, what) = match (status, role) {
        (401, _) => {
            let retryable_challenge = challenge::may_be_retried(head.all("WWW-Authenticate"));
            (
                FailureClass::Auth { status, retryable_challenge },
                "the server refused the credentials".to_owned(),
            )
        }
        (403, _) => (
            FailureClass::Auth { status, retryable_challenge: false },
            "the credentials do not permit this".to_owned(),
        ),
        (421, Some(role)) => {
            let what = format!("the node's role is {}", printable(&role));
            (FailureClass::Role { role }, what)
        }
        (404, _) => (
            FailureClass::Transport,
            format!("no {} there: the server is too old, or this is no QuestDB", asked.direction.target()),
        ),
        (300..=399, _) => (FailureClass::Transport, redirect(head)),
        _ => (FailureClass::Transport, "the server refused the upgrade".to_owned()),
    };
    let mut reason = format!("{what}: HTTP status {status}");
    if !text.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(reason, ": {text}");
    }
    if let Some(after) = head.only("Retry-After") {
        let _ = write!(reason, " (retry after {})", printable(after));
    }
    let phase = if matches!(class, FailureClass::Role { .. }) { Phase::Role } else { Phase::Upgrade };
    ConnectFailure { phase, zone: head.text("X-QuestDB-Zone"), ..upgrade_failure(class, reason) }
}

#[cold]
fn upgrade_failure(class: FailureClass, reason: String) -> ConnectFailure {
    ConnectFailure { phase: Phase::Upgrade, class, reason, zone: None }
}

fn redirect(head: &Head) -> String {
    match head.only("Location") {
        Some(location) => format!("the server redirects to {}, which is not followed", printable(location)),
        None => "the server redirects, which is not followed".to_owned(),
    }
}

fn check_websocket(asked: &Asked<'_>, head: &Head) -> Result<(), String> {
    if !head.only("Upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
        return Err("the answer does not upgrade to websocket".to_owned());
    }
    let mut tokens = head.all("Connection").flat_map(|value| value.split(','));
    if !tokens.any(|token| token.trim().eq_ignore_ascii_case("upgrade")) {
        return Err("the answer does not upgrade the connection".to_owned());
    }
    if head.only("Sec-WebSocket-Accept") != Some(derive_accept_key(asked.key.as_bytes()).as_str()) {
        return Err(
            "Sec-WebSocket-Accept is wrong: something between answered in the server's place".to_owned()
        );
    }
    for name in ["Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"] {
        if head.all(name).next().is_some() {
            return Err(format!("the answer has {name}, which was not asked for"));
        }
    }
    Ok(())
}

fn check_version(head: &Head) -> Result<(), String> {
    match head.only("X-QWP-Version") {
        Some(VERSION) => Ok(()),
        Some(version) => {
            Err(format!("the server speaks QWP version {}, this client {VERSION}", printable(version)))
        }
        None => Err(format!("the server names no QWP version; this client speaks {VERSION}")),
    }
}

/// Whether batches may come compressed (CONN-14).
fn encoding(asked: &Asked<'_>, head: &Head) -> Result<bool, String> {
    if asked.direction == Direction::Ingress {
        return Ok(false);
    }
    let mut zstd = false;
    for value in head.all("X-QWP-Content-Encoding") {
        let token = value.split(';').next().unwrap_or_default().trim();
        if token.eq_ignore_ascii_case("zstd") {
            zstd = true;
        } else if !token.eq_ignore_ascii_case("raw") && !token.eq_ignore_ascii_case("identity") {
            return Err(format!("the server sends batches in the unknown encoding {}", printable(value)));
        }
    }
    Ok(zstd)
}

/// Body of a fuzz target: an answer means the same in any pieces, and nothing panics (CONN-12, SEC-04).
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_upgrade(data: &[u8]) {
    let Some((&cut, bytes)) = data.split_first() else { return };
    let whole = read_all(bytes, usize::MAX);
    let pieces = read_all(bytes, usize::from(cut).max(1));
    assert_eq!(whole, pieces);
}

/// The outcome of an answer that comes in pieces, and what is left behind its head; `None` if it is
/// not complete. For tests and the fuzz target.
#[cfg(any(test, fuzzing))]
fn read_all(bytes: &[u8], piece: usize) -> Option<(Result<Upgrade, String>, Vec<u8>)> {
    let asked = Asked { key: "dGhlIHNhbXBsZSBub25jZQ==", direction: Direction::Egress, durable_ack: false };
    let mut reader = HeadReader::new();
    let mut pieces = bytes.chunks(piece);
    let head = loop {
        match reader.parse() {
            Ok(Some(head)) => break head,
            Ok(None) => reader.push(pieces.next()?),
            Err(reason) => return Some((Err(reason), Vec::new())),
        }
    };
    let mut behind = reader.into_rest();
    if head.status == 101 {
        behind.extend(pieces.flatten());
        return Some((accept(&asked, &head).map_err(|failure| failure.reason), behind));
    }
    let mut body = Body::new(&head);
    body.push(&behind);
    while !body.is_complete() {
        body.push(pieces.next()?);
    }
    Some((Err(refuse(&asked, &head, &body.text()).reason), Vec::new()))
}
