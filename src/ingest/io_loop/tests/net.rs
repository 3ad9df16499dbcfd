//! A network of socket pairs: real descriptors, so that waits are real, and a server that a test
//! scripts message by message.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::error::Phase;
use crate::time::{Clock, Deadline, SystemClock};
use crate::transport::{
    Attempt, ConnectFailure, Connector, FailureClass, Incoming, Link, LinkError, Upgrade, Waited, Wake,
};

/// Longest time that a test waits for anything.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

const MESSAGE: u8 = 0;
const PING: u8 = 1;
const PONG: u8 = 2;
const CLOSE: u8 = 3;

/// What the next attempt comes to.
pub(super) enum Answer {
    /// A connection to a new server.
    Up,
    Refused,
    /// Nothing, until the attempt is interrupted.
    Silence,
    Panic,
}

#[derive(Debug)]
pub(super) struct Net {
    answers: Receiver<Answer>,
    servers: Sender<Server>,
    pub(super) waits: Arc<AtomicUsize>,
}

/// The test's end of the network: what attempts come to, and the servers that came up.
pub(super) struct Town {
    pub(super) answers: Sender<Answer>,
    servers: Receiver<Server>,
    pub(super) waits: Arc<AtomicUsize>,
}

pub(super) fn net() -> (Arc<Net>, Town) {
    let (answer, answers) = bounded(1000);
    let (server, servers) = bounded(1000);
    let waits = Arc::new(AtomicUsize::new(0));
    let town = Town { answers: answer, servers, waits: Arc::clone(&waits) };
    (Arc::new(Net { answers, servers: server, waits }), town)
}

impl Town {
    /// The next attempt comes to a server: waits until it has.
    pub(super) fn server(&self) -> Server {
        self.answers.send(Answer::Up).unwrap();
        self.came_up()
    }

    pub(super) fn came_up(&self) -> Server {
        self.servers.recv_timeout(PATIENCE).expect("a connection")
    }
}

impl Connector for Net {
    fn connect(&self, attempt: &Attempt<'_>) -> Result<Box<dyn Link>, ConnectFailure> {
        let failure = |class, reason: &str| ConnectFailure {
            phase: Phase::Connect,
            class,
            reason: reason.to_owned(),
            zone: None,
        };
        match self.answers.recv_timeout(PATIENCE).expect("an attempt that the test expects") {
            Answer::Up => {
                let (ours, theirs) = UnixStream::pair().unwrap();
                ours.set_nonblocking(true).unwrap();
                theirs.set_read_timeout(Some(PATIENCE)).unwrap();
                let link = SocketLink {
                    stream: ours,
                    upgrade: Upgrade::default(),
                    inbox: Vec::new(),
                    outbox: Vec::new(),
                    waits: Arc::clone(&self.waits),
                };
                self.servers.send(Server { stream: theirs }).unwrap();
                Ok(Box::new(link))
            }
            Answer::Refused => Err(failure(FailureClass::Transport, "refused")),
            Answer::Silence => {
                assert!(attempt.wake.wait(Deadline::after(SystemClock.now(), PATIENCE)).unwrap());
                Err(failure(FailureClass::Interrupted, "interrupted"))
            }
            Answer::Panic => panic!("the connector is broken"),
        }
    }
}

/// What the server read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read1 {
    Message(Vec<u8>),
    Ping,
    Close,
    End,
}

pub(super) struct Server {
    stream: UnixStream,
}

impl Server {
    pub(super) fn read(&mut self) -> Read1 {
        let mut head = [0; 5];
        if self.stream.read_exact(&mut head).is_err() {
            return Read1::End;
        }
        let mut body = vec![0; u32::from_le_bytes(head[1..].try_into().unwrap()) as usize];
        match (head[0], self.stream.read_exact(&mut body)) {
            (MESSAGE, Ok(())) => Read1::Message(body),
            (PING, Ok(())) => Read1::Ping,
            (CLOSE, Ok(())) => Read1::Close,
            _ => Read1::End,
        }
    }

    pub(super) fn message(&mut self) -> Vec<u8> {
        match self.read() {
            Read1::Message(message) => message,
            other => panic!("{other:?} instead of a message"),
        }
    }

    /// Blocks until the client has taken enough of what was said before.
    pub(super) fn say(&mut self, message: &[u8]) {
        self.stream.write_all(&framed(MESSAGE, message)).unwrap();
    }

    pub(super) fn close(&mut self, code: u16) {
        self.stream.write_all(&framed(CLOSE, &code.to_be_bytes())).unwrap();
    }
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend(body);
    bytes
}

#[derive(Debug)]
struct SocketLink {
    stream: UnixStream,
    upgrade: Upgrade,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    waits: Arc<AtomicUsize>,
}

impl SocketLink {
    fn queue(&mut self, kind: u8, body: &[u8]) -> Result<(), LinkError> {
        self.outbox.extend(framed(kind, body));
        Ok(())
    }
}

fn failed(error: io::Error) -> LinkError {
    LinkError::Io(Arc::new(error))
}

impl Link for SocketLink {
    fn upgrade(&self) -> &Upgrade {
        &self.upgrade
    }

    fn send(&mut self, message: &[u8], taken: &mut usize) -> Result<bool, LinkError> {
        const PIECE: usize = 1000;
        if !self.flush()? {
            return Ok(false);
        }
        if *taken == 0 {
            let head = framed(MESSAGE, &[]);
            self.outbox.extend(&head[..1]);
            self.outbox.extend(u32::try_from(message.len()).unwrap().to_le_bytes());
        }
        while *taken < message.len() {
            let piece = &message[*taken..message.len().min(*taken + PIECE)];
            self.outbox.extend(piece);
            *taken += piece.len();
            if !self.flush()? {
                break;
            }
        }
        Ok(*taken == message.len())
    }

    fn ping(&mut self) -> Result<(), LinkError> {
        self.queue(PING, &[])
    }

    fn close(&mut self, code: u16) -> Result<(), LinkError> {
        self.queue(CLOSE, &code.to_be_bytes())
    }

    fn flush(&mut self) -> Result<bool, LinkError> {
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(true)
    }

    fn recv(&mut self) -> Result<Option<Incoming>, LinkError> {
        loop {
            if let Some(head) = self.inbox.first_chunk::<5>() {
                let end = 5 + u32::from_le_bytes(head[1..].try_into().unwrap()) as usize;
                if self.inbox.len() >= end {
                    let (kind, body) = (head[0], self.inbox[5..end].to_vec());
                    self.inbox.drain(..end);
                    return Ok(Some(match kind {
                        PONG => Incoming::Pong,
                        CLOSE => {
                            let code = body.try_into().ok().map(u16::from_be_bytes);
                            Incoming::Close { code, reason: String::new() }
                        }
                        _ => Incoming::Message(body),
                    }));
                }
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(LinkError::Ended),
                Ok(count) => self.inbox.extend(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn recycle(&mut self, _buffer: Vec<u8>) {}

    fn wait(&mut self, writable: bool, wake: &Wake, deadline: Deadline) -> Result<Waited, LinkError> {
        self.waits.fetch_add(1, Ordering::SeqCst);
        let flags = if writable { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = [PollFd::new(&self.stream, flags), PollFd::new(wake, PollFlags::IN)];
        let left = deadline.remaining(SystemClock.now());
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let ready = poll(&mut fds, timeout.as_ref()).map_err(|error| failed(error.into()))?;
        let woken = !fds[1].revents().is_empty();
        Ok(match ready {
            0 => Waited::TimedOut,
            _ if woken && wake.drain() => Waited::Woken,
            _ => Waited::Ready,
        })
    }
}
