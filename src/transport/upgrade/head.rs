//! The head of an HTTP answer, out of any pieces.

/// Most bytes of a head, its empty line included (CONN-10).
pub(super) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Most headers of a head.
const MAX_HEADERS: usize = 256;
/// What ends a head.
const END: &[u8] = b"\r\n\r\n";

/// A parsed head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Names as sent, values trimmed.
    headers: Vec<(String, String)>,
}

impl Head {
    /// Every value of a header, in order.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_that_name = self.headers.iter().filter(move |(found, _)| found.eq_ignore_ascii_case(name));
        of_that_name.map(|(_, value)| value.as_str())
    }

    /// The value of a header that may come once: nothing if it comes with two that differ.
    pub(crate) fn only(&self, name: &str) -> Option<&str> {
        let mut values = self.all(name);
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }

    /// As [`Head::only`], without one that is empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.only(name).filter(|value| !value.is_empty()).map(str::to_owned)
    }
}

/// Collects bytes until the head is complete.
#[derive(Debug, Default)]
pub(crate) struct HeadReader {
    bytes: Vec<u8>,
    /// The head does not end within these: each byte is looked at once, however it arrives.
    scanned: usize,
    /// Where the head ends, once it is complete.
    end: usize,
}

impl HeadReader {
    pub(crate) fn new() -> HeadReader {
        HeadReader::default()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The head, once it is complete; or why this is none.
    pub(crate) fn parse(&mut self) -> Result<Option<Head>, String> {
        check_start(&self.bytes)?;
        let unseen = self.bytes.get(self.scanned..).unwrap_or_default();
        let found = unseen.windows(END.len()).position(|window| window == END);
        let end = found.map(|at| self.scanned + at + END.len());
        if end.unwrap_or(self.bytes.len()) > MAX_HEAD_BYTES {
            return Err(format!("the head of the HTTP answer is larger than {MAX_HEAD_BYTES} bytes"));
        }
        let Some(end) = end else {
            self.scanned = (self.bytes.len() + 1).saturating_sub(END.len()).max(self.scanned);
            return Ok(None);
        };
        self.end = end;
        parse_complete(self.bytes.get(..end).unwrap_or_default()).map(Some)
    }

    /// What came behind the head: the first bytes of the WebSocket stream, or of a body.
    pub(crate) fn into_rest(mut self) -> Vec<u8> {
        self.bytes.drain(..self.end.min(self.bytes.len()));
        self.bytes
    }
}

/// Fails as soon as it is clear that no HTTP/1.1 answer is coming, without waiting for its end.
fn check_start(bytes: &[u8]) -> Result<(), String> {
    const START: &[u8] = b"HTTP/1.";
    if bytes.iter().zip(START).all(|(found, expected)| found == expected) {
        return Ok(());
    }
    // A TLS alert or handshake record.
    if let [0x15 | 0x16, ..] = bytes {
        return Err("the server speaks TLS: use wss".to_owned());
    }
    Err("the answer is not HTTP/1.1".to_owned())
}

fn parse_complete(bytes: &[u8]) -> Result<Head, String> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(count)) if count == bytes.len() => {}
        Ok(_) => return Err("the head of the HTTP answer is malformed".to_owned()),
        Err(e) => return Err(format!("the head of the HTTP answer is malformed: {e}")),
    }
    let headers = response.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value);
        (header.name.to_owned(), value.trim().to_owned())
    });
    Ok(Head { status: response.code.unwrap_or_default(), headers: headers.collect() })
}
