//! The upgrade: what is asked, and what the server answers (wire.md 1.1 to 1.5).

use super::Config;

/// Which of the two services a connection asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Write,
    Read,
}

/// A request head.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
}

/// What follows a request.
pub enum Verdict {
    /// 101, with the bytes of its head.
    Accept(Endpoint, Vec<u8>),
    /// Another answer; the connection stays open for the next request, or not.
    Refuse(Vec<u8>, Then),
}

/// What becomes of the connection after an answer that is no 101.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Close,
    KeepOpen,
}

impl Request {
    pub fn parse(head: &str) -> Request {
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        Request {
            method: words.next().unwrap_or_default().to_owned(),
            target: words.next().unwrap_or_default().to_owned(),
            headers: headers.collect(),
        }
    }

    /// The value of a header, its name compared without case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    pub fn endpoint(&self) -> Option<Endpoint> {
        match self.target.split('?').next().unwrap_or_default() {
            "/write/v4" | "/api/v4/write" => Some(Endpoint::Write),
            "/read/v1" | "/api/v1/read" => Some(Endpoint::Read),
            _ => None,
        }
    }

    /// Whether durable acks were asked for.
    pub fn wants_durable(&self) -> bool {
        self.header("X-QWP-Request-Durable-Ack").is_some_and(|v| v.eq_ignore_ascii_case("true"))
    }
}

/// Decides in the server's order: path, credentials, headers, role.
pub fn judge(request: &Request, config: &Config) -> Verdict {
    let Some(endpoint) = request.endpoint() else {
        return Verdict::Refuse(chunked("404 Not Found", "Not Found"), Then::KeepOpen);
    };
    if config.authorization.is_some() && request.header("Authorization") != config.authorization.as_deref() {
        return Verdict::Refuse(chunked("401 Unauthorized", "Unauthorized"), Then::KeepOpen);
    }
    if let Some(answer) = bad_headers(request) {
        return Verdict::Refuse(answer, Then::Close);
    }
    let role = config.role(endpoint);
    if endpoint == Endpoint::Write && (role == "REPLICA" || role == "PRIMARY_CATCHUP") {
        return Verdict::Refuse(wrong_role(role, config.zone.as_deref()), Then::Close);
    }
    Verdict::Accept(endpoint, accepted(request, endpoint, config))
}

fn bad_headers(request: &Request) -> Option<Vec<u8>> {
    let is = |name: &str, value: &str| request.header(name).is_some_and(|v| v.eq_ignore_ascii_case(value));
    let has_token = |name: &str, token: &str| {
        request.header(name).is_some_and(|v| v.split(',').any(|t| t.trim().eq_ignore_ascii_case(token)))
    };
    if request.header("Origin").is_some() {
        return Some(bad_request("Origin header not allowed on QWP WebSocket"));
    }
    if !is("Upgrade", "websocket") {
        return Some(bad_request("Missing Upgrade header"));
    }
    if !has_token("Connection", "upgrade") {
        return Some(bad_request("Missing Connection header"));
    }
    let Some(key) = request.header("Sec-WebSocket-Key") else {
        return Some(bad_request("Missing Sec-WebSocket-Key header"));
    };
    if key.len() != 24 || !key.ends_with("==") {
        return Some(bad_request("Invalid Sec-WebSocket-Key (must be 24-character base64 key)"));
    }
    if !is("Sec-WebSocket-Version", "13") {
        let head = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                    Sec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n";
        return Some(head.into());
    }
    None
}

fn bad_request(text: &str) -> Vec<u8> {
    plain("400 Bad Request", &[("Content-Type", "text/plain")], text)
}

/// An answer with a length.
pub fn plain(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        out += &format!("{name}: {value}\r\n");
    }
    out += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    out.into_bytes()
}

/// An answer of one chunk, as the server gives 401 and 404.
pub fn chunked(status: &str, body: &str) -> Vec<u8> {
    let body = format!("{body}\r\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nServer: questDB/1.0\r\nDate: Thu, 1 Jan 1970 00:00:00 GMT\r\n\
         Transfer-Encoding: chunked\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    );
    format!("{head}{:02x}\r\n{body}\r\n00\r\n\r\n", body.len()).into_bytes()
}

/// The 421 of a node whose role does not fit.
pub fn wrong_role(role: &str, zone: Option<&str>) -> Vec<u8> {
    let mut headers = vec![("Connection", "close"), ("X-QuestDB-Role", role)];
    headers.extend(zone.map(|z| ("X-QuestDB-Zone", z)));
    plain("421 Misdirected Request", &headers, "")
}

/// The head of the 101.
pub fn accepted(request: &Request, endpoint: Endpoint, config: &Config) -> Vec<u8> {
    let key = request.header("Sec-WebSocket-Key").unwrap_or_default();
    let mut out = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\nX-QWP-Version: {}\r\n",
        accept(key),
        config.version
    );
    if endpoint == Endpoint::Write {
        out += &format!("X-QuestDB-Role: {}\r\n", config.role(endpoint));
        if let Some(cap) = config.announced_cap() {
            out += &format!("X-QWP-Max-Batch-Size: {cap}\r\n");
        }
        if config.durability.offered() && request.wants_durable() {
            out += "X-QWP-Durable-Ack: enabled\r\n";
        }
    }
    (out + "\r\n").into_bytes()
}

/// The answer to a WebSocket key.
pub fn accept(key: &str) -> String {
    base64(&sha1(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes()))
}

/// Base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let n = part.iter().fold(0usize, |n, b| n << 8 | usize::from(*b)) << (8 * (3 - part.len()));
        for place in 0..4 {
            let letter = char::from(LETTERS[n >> (18 - 6 * place) & 63]);
            out.push(if place <= part.len() { letter } else { '=' });
        }
    }
    out
}

fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((8 * u64::try_from(bytes.len()).expect("64 bits")).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words: Vec<u32> =
            block.chunks_exact(4).map(|b| u32::from_be_bytes(b.try_into().expect("four"))).collect();
        for i in 16..80 {
            words.push((words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.iter().enumerate() {
            let (mix, round) = match i / 20 {
                0 => (b & c | !b & d, 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6u32),
            };
            let next =
                a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(round).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (s, n) in state.iter_mut().zip([a, b, c, d, e]) {
            *s = s.wrapping_add(n);
        }
    }
    let mut out = [0; 20];
    for (part, word) in out.chunks_exact_mut(4).zip(state) {
        part.copy_from_slice(&word.to_be_bytes());
    }
    out
}
