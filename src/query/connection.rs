//! One connection of a query client: what is sent and received between two waits.
//!
//! Nothing here decides what an answer means for a query; that is `cursor.rs`.

use super::info::ServerInfo;
use super::lost::Lost;
use crate::config::Target;
use crate::error::Phase;
use crate::health::Role;
use crate::time::{Clock, Deadline};
use crate::transport::{ConnectFailure, FailureClass, Incoming, Link, LinkError, Waited, Wake};
use crate::wire::egress::{self, Decoder, Event, event};
use crate::wire::request::Request;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Silence after which a PING makes the server read on (wire.md 8.6).
const NUDGE_AFTER: Duration = Duration::from_secs(1);

/// How often a connection that can no longer be written to is read before it is given up.
const LAST_LOOKS: u32 = 8;

/// Close code of an orderly end.
const CLOSE_NORMAL: u16 = 1000;

/// Reads the first message of a connection and applies the target filter: what a round admits
/// (QRY-01, ROLE-02).
pub(super) fn greet(
    link: &mut dyn Link,
    target: Target,
    wake: &Wake,
    clock: &dyn Clock,
    timeout: Duration,
) -> Result<egress::ServerInfo, ConnectFailure> {
    let message = first_message(link, wake, clock, timeout)?;
    let info = match event::read(&message) {
        Ok(Event::ServerInfo(info)) => info,
        Ok(_) => return Err(no_info("the first message is no SERVER_INFO".into())),
        Err(e) => return Err(no_info(e.to_string())),
    };
    link.recycle(message);
    let role = Role::from_wire(info.role);
    if role.fits(target) {
        return Ok(info);
    }
    Err(ConnectFailure {
        phase: Phase::Role,
        class: FailureClass::Role { role: role.to_string() },
        reason: format!("the node is {role}"),
        zone: info.zone_id,
    })
}

fn first_message(
    link: &mut dyn Link,
    wake: &Wake,
    clock: &dyn Clock,
    timeout: Duration,
) -> Result<Vec<u8>, ConnectFailure> {
    let deadline = Deadline::after(clock.now(), timeout);
    let broken = |e: LinkError| no_info(Lost::Link(e).reason());
    loop {
        match link.recv().map_err(broken)? {
            Some(Incoming::Message(message)) => return Ok(message),
            Some(Incoming::Close { code, reason }) => {
                return Err(no_info(Lost::Closed { code, reason }.reason()));
            }
            Some(Incoming::Pong) | None => {}
        }
        let waited = match deadline.passed(clock.now()) {
            true => Waited::TimedOut,
            false => link.wait(false, wake, deadline).map_err(broken)?,
        };
        match waited {
            Waited::Ready => {}
            Waited::TimedOut => {
                let ms = timeout.as_millis();
                return Err(no_info(format!("no SERVER_INFO within server_info_timeout_ms={ms}")));
            }
            Waited::Woken => {
                let class = FailureClass::Interrupted;
                return Err(ConnectFailure { class, ..no_info("interrupted".into()) });
            }
        }
    }
}

fn no_info(reason: String) -> ConnectFailure {
    ConnectFailure { phase: Phase::ServerInfo, class: FailureClass::Transport, reason, zone: None }
}

/// How a wait for a message ended.
#[derive(Debug)]
pub(super) enum Received {
    Message(Vec<u8>),
    /// The wake-up fired.
    Woken,
    /// The deadline passed.
    TimedOut,
}

/// What a message of a given-up result was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skimmed {
    More,
    /// The terminator of a result that came whole.
    Ended,
    /// The terminator of one that did not.
    Failed,
}

/// An established connection.
#[derive(Debug)]
pub(super) struct Connection {
    link: Box<dyn Link>,
    clock: Arc<dyn Clock>,
    /// Index in the list of endpoints.
    endpoint: usize,
    info: Arc<ServerInfo>,
    /// Rows of a batch that is full.
    full_rows: usize,
    pub(super) decoder: Decoder,
    /// What is to be sent, in order. Bounded: one request, and one CREDIT for each batch that the
    /// credit granted so far lets come.
    outbox: VecDeque<Vec<u8>>,
    /// Bytes of the first of them that the link has taken.
    taken: usize,
    /// Where in the outbox the request is; `None` once the link has all of it.
    request_at: Option<usize>,
    /// A PING was not answered yet.
    pinged: bool,
    last_id: i64,
    /// Sending failed; what the server said before that is still read.
    broken: Option<LinkError>,
}

impl Connection {
    pub(super) fn new(
        link: Box<dyn Link>,
        clock: Arc<dyn Clock>,
        endpoint: usize,
        info: Arc<ServerInfo>,
        full_rows: usize,
    ) -> Connection {
        Connection {
            link,
            clock,
            endpoint,
            info,
            full_rows,
            decoder: Decoder::default(),
            outbox: VecDeque::new(),
            taken: 0,
            request_at: None,
            pinged: false,
            last_id: 0,
            broken: None,
        }
    }

    pub(super) fn endpoint(&self) -> usize {
        self.endpoint
    }

    pub(super) fn info(&self) -> &Arc<ServerInfo> {
        &self.info
    }

    /// The id of the next request. Ids count from 1 on each connection: 0 and -1 have a meaning.
    pub(super) fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Whether the server is still there, as far as one can tell without waiting (QRY-10). The server
    /// ends idle connections, and nobody reads in between.
    pub(super) fn is_alive(&mut self, wake: &Wake) -> bool {
        // A server has little to say between two requests.
        const LOOKS: usize = 64;
        let now = Deadline::at(self.clock.now());
        let mut idle = false;
        for _ in 0..LOOKS {
            match self.link.recv() {
                // The first time a link may answer from what it saw when it was read last.
                Ok(None) if !std::mem::replace(&mut idle, true) => {}
                Ok(None) => match self.link.wait(false, wake, now) {
                    Ok(Waited::TimedOut) => return self.broken.is_none(),
                    Ok(Waited::Ready | Waited::Woken) => {}
                    Err(_) => return false,
                },
                Ok(Some(Incoming::Pong)) => self.pinged = false,
                Ok(Some(Incoming::Message(message))) => {
                    let Ok(Event::CacheReset { dictionary }) = event::read(&message) else { return false };
                    if dictionary {
                        self.decoder.reset_dictionary();
                    }
                }
                Ok(Some(Incoming::Close { .. })) | Err(_) => return false,
            }
        }
        false
    }

    /// Begins a request. It leaves as soon as the link takes it.
    pub(super) fn request(&mut self, message: Vec<u8>) {
        self.decoder.begin();
        self.request_at = Some(self.outbox.len());
        self.outbox.push_back(message);
        self.send();
    }

    /// Whether all of the request was handed to the network. Before that the server cannot have it.
    pub(super) fn request_left(&self) -> bool {
        self.request_at.is_none()
    }

    /// Takes the request back if nothing of it was sent. Returns whether it did.
    pub(super) fn take_back(&mut self) -> bool {
        match self.request_at {
            Some(at) if at > 0 || self.taken == 0 => {
                self.outbox.remove(at);
                self.request_at = None;
                true
            }
            _ => false,
        }
    }

    /// Queues a control message, and sends what the link takes now.
    pub(super) fn control(&mut self, request: &Request<'_>) {
        self.outbox.push_back(request.encode());
        self.send();
    }

    /// Gives a message's buffer back.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        self.link.recycle(buffer);
    }

    /// Sends what the link takes now. A failure shows once nothing is left to be received.
    fn send(&mut self) {
        if self.broken.is_none()
            && let Err(e) = self.try_send()
        {
            self.broken = Some(e);
        }
    }

    /// Writes what the link has queued. Returns whether nothing is left.
    fn flush(&mut self) -> Result<bool, LinkError> {
        if self.broken.is_none() {
            match self.link.flush() {
                Ok(flushed) => return Ok(flushed),
                Err(e) => self.broken = Some(e),
            }
        }
        Err(self.broken.clone().unwrap_or(LinkError::Ended))
    }

    fn try_send(&mut self) -> Result<(), LinkError> {
        while let Some(message) = self.outbox.front() {
            if !self.link.send(message, &mut self.taken)? {
                break;
            }
            self.outbox.pop_front();
            self.taken = 0;
            self.request_at = self.request_at.and_then(|at| at.checked_sub(1));
        }
        Ok(())
    }

    /// Waits for the next message. With `nudge`, a silence of a second is answered with a PING, one at
    /// a time, which makes a server read what lies unread (wire.md 8.6).
    ///
    /// Blocks until a message has come, `wake` fires or `deadline` passes.
    pub(super) fn receive(&mut self, wake: &Wake, deadline: Deadline, nudge: bool) -> Result<Received, Lost> {
        let mut nudge_at = None;
        let mut last_looks = LAST_LOOKS;
        loop {
            self.send();
            match self.link.recv()? {
                Some(Incoming::Message(message)) => return Ok(Received::Message(message)),
                Some(Incoming::Pong) => {
                    self.pinged = false;
                    nudge_at = None;
                }
                Some(Incoming::Close { code, reason }) => return Err(Lost::Closed { code, reason }),
                None => {}
            }
            let now = self.clock.now();
            let flushed = match self.flush() {
                Ok(flushed) => flushed,
                // What came before the end is still to be read.
                Err(_) if last_looks > 0 => {
                    last_looks -= 1;
                    continue;
                }
                Err(e) => return Err(Lost::Link(e)),
            };
            if deadline.passed(now) {
                return Ok(Received::TimedOut);
            }
            let nudge_at = *nudge_at.get_or_insert(Deadline::after(now, NUDGE_AFTER));
            let nudge_at = if nudge && !self.pinged { nudge_at } else { Deadline::NEVER };
            if nudge_at.passed(now) {
                self.link.ping()?;
                self.pinged = true;
                continue;
            }
            let writable = !flushed || !self.outbox.is_empty();
            if self.link.wait(writable, wake, deadline.min(nudge_at))? == Waited::Woken {
                return Ok(Received::Woken);
            }
        }
    }

    /// Whether the stream ends by itself within `time`: a server that shuts down cancels what runs, and
    /// goes (QFO-01).
    pub(super) fn ends_within(&mut self, wake: &Wake, time: Duration) -> bool {
        let deadline = Deadline::after(self.clock.now(), time);
        loop {
            match self.receive(wake, deadline, false) {
                Ok(Received::Woken) => {}
                Ok(Received::TimedOut) => return false,
                // Behind a terminator nothing may come: the connection is of no use either way.
                Ok(Received::Message(_)) | Err(_) => return true,
            }
        }
    }

    /// Ends the request `id` from our side: CANCEL, then CREDIT 1, without which a server that waits
    /// for credit does not act on it (wire.md 8.7). Then reads on to the terminator. Returns whether the
    /// connection can be used again.
    ///
    /// A server (9.4.4) that cut a batch by its size, not by its count of rows, has read rows ahead. It
    /// does not forget them when the query is cancelled, and they come with the next result. So only a
    /// result of full batches, or one that reached its end, leaves a connection that can be kept.
    ///
    /// Blocks for at most `timeout`.
    pub(super) fn wind_down(&mut self, id: i64, wake: &Wake, timeout: Duration) -> bool {
        if self.take_back() {
            return true;
        }
        self.control(&Request::Cancel { request_id: id });
        self.control(&Request::Credit { request_id: id, additional_bytes: 1 });
        let deadline = Deadline::after(self.clock.now(), timeout);
        loop {
            match self.receive(wake, deadline, true) {
                Ok(Received::Message(message)) => match self.skim(id, &message) {
                    Ok(Skimmed::Ended) => return true,
                    Ok(Skimmed::Failed) => return self.decoder.all_have(self.full_rows),
                    Ok(Skimmed::More) => self.link.recycle(message),
                    Err(_) => return false,
                },
                // The wake-up says that a cancel was asked for, which is what happens here.
                Ok(Received::Woken) => {}
                Ok(Received::TimedOut) | Err(_) => return false,
            }
        }
    }

    /// Reads a message of a result that nobody wants any more; its symbols still count.
    fn skim(&mut self, id: i64, message: &[u8]) -> Result<Skimmed, Lost> {
        let ours = |request_id: i64| request_id == id || request_id == 0 || request_id == -1;
        match event::read(message)? {
            Event::Batch(head) => self.decoder.skim(&head, message)?,
            Event::CacheReset { dictionary } => {
                if dictionary {
                    self.decoder.reset_dictionary();
                }
            }
            Event::End { request_id, .. } | Event::Done { request_id, .. } if ours(request_id) => {
                return Ok(Skimmed::Ended);
            }
            Event::Failed { request_id, .. } if ours(request_id) => return Ok(Skimmed::Failed),
            Event::End { .. } | Event::Done { .. } | Event::Failed { .. } => {}
            Event::ServerInfo(_) => return Err(Lost::Unexpected("a second SERVER_INFO")),
        }
        Ok(Skimmed::More)
    }
}

impl Drop for Connection {
    /// Says goodbye as far as that costs no time.
    fn drop(&mut self) {
        let _ = self.link.close(CLOSE_NORMAL).and_then(|()| self.link.flush());
    }
}
