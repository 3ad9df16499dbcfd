//! A TCP proxy that counts connections and cuts them where it is told to.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The flag of a frame that does not commit (wire.md 5.1).
const DEFER_COMMIT: u8 = 0x01;

/// Where a connection ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cut {
    Never,
    /// In the place of the client's `n`-th message, counted from 0.
    BeforeMessage(usize),
    /// In the place of the client's first message that commits rows.
    BeforeCommit,
    /// With the first byte of the server's answer to the client's `n`-th message, which is lost.
    BeforeAnswer(usize),
}

#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    upstream: String,
    /// For the connections to come, in their order; those after them are not cut.
    cuts: Mutex<VecDeque<Cut>>,
    sockets: Mutex<Vec<TcpStream>>,
    connections: AtomicUsize,
    /// Connections are closed as soon as they are accepted.
    down: AtomicBool,
    over: AtomicBool,
}

impl Proxy {
    pub fn new(upstream: &str, cuts: impl IntoIterator<Item = Cut>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            cuts: Mutex::new(cuts.into_iter().collect()),
            sockets: Mutex::default(),
            connections: AtomicUsize::new(0),
            down: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let listening = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || listen(&listener, &shared)
        });
        Proxy { addr, shared, listening: Some(listening) }
    }

    /// `host:port`, for a connect string.
    pub fn addr(&self) -> String {
        self.addr.to_string()
    }

    /// Connections that were made so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Ends every connection.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Ends every connection, and takes none until it is up again.
    pub fn down(&self) {
        self.shared.down.store(true, Ordering::SeqCst);
        self.cut();
    }

    pub fn up(&self) {
        self.shared.down.store(false, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.cut();
        // Ends the wait for the next one.
        drop(TcpStream::connect(self.addr));
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

impl Shared {
    fn cut(&self) {
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else { continue };
        if shared.down.load(Ordering::SeqCst) {
            continue;
        }
        let Ok(server) = TcpStream::connect(&shared.upstream) else { continue };
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let cut = shared.cuts.lock().unwrap().pop_front().unwrap_or(Cut::Never);
        shared.sockets.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
        let line = Line { client, server, mute: Arc::new(AtomicBool::new(false)) };
        let back = line.clone();
        std::thread::spawn(move || back.answers());
        std::thread::spawn(move || line.messages(cut));
    }
}

/// A connection in two halves.
#[derive(Debug)]
struct Line {
    client: TcpStream,
    server: TcpStream,
    /// What the server says next ends the connection, and is lost.
    mute: Arc<AtomicBool>,
}

impl Clone for Line {
    fn clone(&self) -> Line {
        Line {
            client: self.client.try_clone().unwrap(),
            server: self.server.try_clone().unwrap(),
            mute: Arc::clone(&self.mute),
        }
    }
}

impl Line {
    fn answers(mut self) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(bytes @ 1..) = self.server.read(&mut buffer) {
            if self.mute.load(Ordering::SeqCst) || self.client.write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
        self.end();
    }

    fn messages(mut self, cut: Cut) {
        let mut buffer = vec![0; 1 << 16];
        let mut input = Vec::new();
        let mut parser = Parser::default();
        'all: while let Ok(bytes @ 1..) = self.client.read(&mut buffer) {
            input.extend_from_slice(&buffer[..bytes]);
            while let Some((length, message)) = parser.next(&input) {
                if let Some(message) = message {
                    match cut {
                        Cut::BeforeMessage(n) if message.number == n => break 'all,
                        Cut::BeforeCommit if message.commits => break 'all,
                        Cut::BeforeAnswer(n) if message.number == n => {
                            self.mute.store(true, Ordering::SeqCst)
                        }
                        _ => {}
                    }
                }
                if self.server.write_all(&input[..length]).is_err() {
                    break 'all;
                }
                input.drain(..length);
            }
        }
        self.end();
    }

    fn end(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}

/// Cuts what a client sends into the HTTP request and WebSocket frames.
#[derive(Debug, Default)]
struct Parser {
    upgraded: bool,
    messages: usize,
}

/// A message of a client.
#[derive(Debug)]
struct Message {
    number: usize,
    /// It has rows, and is not deferred. Ingress only.
    commits: bool,
}

impl Parser {
    /// Length and meaning of what stands whole at the beginning of `input`.
    fn next(&mut self, input: &[u8]) -> Option<(usize, Option<Message>)> {
        if !self.upgraded {
            let end = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
            self.upgraded = true;
            return Some((end, None));
        }
        let (head, length) = match *input.get(1)? & 0x7f {
            126 => (4, u64::from(u16::from_be_bytes(*input.get(2..)?.first_chunk()?))),
            127 => (10, u64::from_be_bytes(*input.get(2..)?.first_chunk()?)),
            short => (2, u64::from(short)),
        };
        let start = head + 4;
        let end = start + usize::try_from(length).unwrap();
        let payload = input.get(start..end)?;
        if input[0] & 0x0f != 2 {
            return Some((end, None));
        }
        let mask = &input[head..start];
        let byte = |at: usize| payload.get(at).map_or(0, |byte| byte ^ mask[at % 4]);
        let commits = byte(5) & DEFER_COMMIT == 0 && (byte(6), byte(7)) != (0, 0);
        self.messages += 1;
        Some((end, Some(Message { number: self.messages - 1, commits })))
    }
}
