//! Small servers for the tests of this folder.

use super::{Attempt, Direction, Incoming, Link, LinkError, Waited, Wake};
use crate::config::Endpoint;
use crate::time::{Clock, Deadline, SystemClock};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use tungstenite::handshake::derive_accept_key;

/// Longer than any machine needs, so that only a lost event takes it.
pub(super) const LONG: Duration = Duration::from_secs(30);

pub(super) fn within(duration: Duration) -> Deadline {
    Deadline::after(SystemClock.now(), duration)
}

/// An address that swallows packets: a listener whose backlog is full.
pub(super) struct BlackHole {
    listener: std::os::fd::OwnedFd,
    /// Kept open.
    filling: Vec<TcpStream>,
}

impl BlackHole {
    pub(super) fn new() -> BlackHole {
        use rustix::net::{AddressFamily, SocketType};
        let listener = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let mut hole = BlackHole { listener, filling: Vec::new() };
        let wake = Wake::new().unwrap();
        for _ in 0..16 {
            let limit = within(Duration::from_millis(30));
            match super::tcp::connect(&SystemClock, &[hole.address()], &wake, limit) {
                Ok(stream) => hole.filling.push(stream),
                Err(_) => return hole,
            }
        }
        panic!("the backlog does not fill up");
    }

    pub(super) fn address(&self) -> SocketAddr {
        rustix::net::getsockname(&self.listener).unwrap().try_into().unwrap()
    }
}

/// A server that plays a script for one connection. Its calls are bounded by [`LONG`].
pub(super) struct Server {
    pub(super) address: SocketAddr,
    thread: JoinHandle<()>,
}

impl Server {
    pub(super) fn new(script: impl FnOnce(TcpStream) + Send + 'static) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream.set_write_timeout(Some(LONG)).unwrap();
            stream.set_nodelay(true).unwrap();
            script(stream);
        });
        Server { address, thread }
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint { host: self.address.ip().to_string(), port: self.address.port() }
    }

    /// Waits for the end of the script, and fails if it did.
    pub(super) fn join(self) {
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Reads the head of a request, byte by byte, and nothing behind it.
pub(super) fn read_request(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        bytes.extend(byte);
    }
    String::from_utf8(bytes).unwrap()
}

/// The 101 for a request, with more headers, each ended by CRLF.
pub(super) fn switching(request: &str, more: &str) -> Vec<u8> {
    let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    let accept = derive_accept_key(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\nX-QWP-Version: 1\r\n{more}\r\n"
    )
    .into_bytes()
}

/// Reads a request and answers it with a 101.
pub(super) fn upgrade(stream: &mut (impl Read + Write)) {
    let request = read_request(stream);
    stream.write_all(&switching(&request, "")).unwrap();
}

/// Waits until the client closes; with bytes that it did not read that is a reset.
pub(super) fn expect_closed(stream: &mut impl Read) {
    match stream.read(&mut [0]) {
        Ok(count) => assert_eq!(count, 0, "the client closes"),
        Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset),
    }
}

/// A frame of a server.
pub(super) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        n if n < 126 => bytes.push(n as u8),
        n if n <= 0xffff => {
            bytes.push(126);
            bytes.extend((n as u16).to_be_bytes());
        }
        n => {
            bytes.push(127);
            bytes.extend((n as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// Reads one frame of a client: its first byte and its payload, unmasked.
pub(super) fn read_frame(stream: &mut impl Read) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    stream.read_exact(&mut head).unwrap();
    assert!(head[1] & 0x80 != 0, "a client masks");
    let mut wide = [0; 8];
    let length = match head[1] & 0x7f {
        126 => {
            stream.read_exact(&mut wide[6..]).unwrap();
            u64::from_be_bytes(wide) as usize
        }
        127 => {
            stream.read_exact(&mut wide).unwrap();
            u64::from_be_bytes(wide) as usize
        }
        short => usize::from(short),
    };
    let mut key = [0; 4];
    stream.read_exact(&mut key).unwrap();
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).unwrap();
    payload.iter_mut().enumerate().for_each(|(i, byte)| *byte ^= key[i % 4]);
    (head[0], payload)
}

/// What comes next, message or failure, within [`LONG`].
pub(super) fn next(link: &mut dyn Link, wake: &Wake) -> Result<Incoming, LinkError> {
    let end = within(LONG);
    loop {
        if let Some(incoming) = link.recv()? {
            return Ok(incoming);
        }
        assert_eq!(link.wait(false, wake, end)?, Waited::Ready);
    }
}

/// Sends all of a message while it takes what comes.
pub(super) fn send_all(link: &mut dyn Link, wake: &Wake, message: &[u8]) -> Vec<Incoming> {
    let (mut taken, mut received, mut complete) = (0, Vec::new(), false);
    let end = within(LONG);
    loop {
        complete = complete || link.send(message, &mut taken).unwrap();
        if complete && link.flush().unwrap() {
            return received;
        }
        while let Some(incoming) = link.recv().unwrap() {
            received.push(incoming);
        }
        assert_eq!(link.wait(true, wake, end).unwrap(), Waited::Ready);
    }
}

/// Bytes that differ from their neighbours.
pub(super) fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// An ingest attempt with long limits.
pub(super) fn attempt<'a>(endpoint: &'a Endpoint, wake: &'a Wake) -> Attempt<'a> {
    Attempt {
        endpoint,
        direction: Direction::Ingress,
        authorization: None,
        client_id: "rust/test",
        durable_ack: false,
        accept_encoding: None,
        max_batch_rows: None,
        connect_timeout: LONG,
        auth_timeout: LONG,
        wake,
    }
}

/// Counts how often it is asked: each turn of a loop that waits asks at least once.
#[derive(Debug, Default)]
pub(super) struct CountingClock(pub(super) AtomicUsize);

impl Clock for CountingClock {
    fn now(&self) -> Instant {
        self.0.fetch_add(1, Ordering::Relaxed);
        SystemClock.now()
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall()
    }

    fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration);
    }
}
