//! One connection, from accept to end: served like a real server, or by a script.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use super::egress::Reader;
use super::http::{self, Endpoint, Request, Then, Verdict};
use super::ingress::{self, Ingest, Rules};
use super::input::{Refusal, refusal};
use super::request;
use super::script::{Script, Step};
use super::ws::{self, Fault, Frame, Wire};
use super::{Announced, Config, Connection, Durability, Scripts, Shared};

/// Whether a connection goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    On,
    /// The upgrade was refused, and another request may come.
    Again,
    Over,
}

/// A connection's thread.
pub struct Session {
    pub(super) shared: Arc<Shared>,
    pub id: usize,
    pub wire: Wire,
    pub config: Config,
    pub reader: Reader,
    endpoint: Option<Endpoint>,
    request: Option<Request>,
    ingest: Ingest,
    /// Messages that a script has read and not stored.
    queue: Vec<Vec<u8>>,
    cut: Option<usize>,
    corked: Option<Vec<u8>>,
}

/// Serves a connection to its end.
pub(crate) fn run(shared: &Arc<Shared>, id: usize, stream: TcpStream) {
    let _registered = Registered { shared, id };
    let config = shared.lock().config.clone();
    let mut session = Session {
        shared: shared.clone(),
        id,
        wire: Wire::new(stream),
        config,
        reader: Reader::default(),
        endpoint: None,
        request: None,
        ingest: Ingest::default(),
        queue: Vec::new(),
        cut: None,
        corked: None,
    };
    // An error of the socket is the client's way to go.
    drop(session.converse());
    shared.update(|s| s.sockets.remove(&id));
}

/// Takes a connection off the books, also when its thread panics.
struct Registered<'a> {
    shared: &'a Shared,
    id: usize,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.shared.update(|s| {
            s.sockets.remove(&self.id);
            s.connections[self.id].closed = true;
        });
    }
}

impl Session {
    /// Changes the record of this connection.
    pub fn note(&self, change: impl FnOnce(&mut Connection)) {
        self.shared.update(|s| change(&mut s.connections[self.id]));
    }

    pub fn refused(&self, id: i64, why: &Refusal) {
        self.note(|c| c.refusals.push((id, why.clone())));
    }

    pub fn took(&self, payload: &[u8]) {
        let kept = if self.config.keep_frames { Some(payload.to_vec()) } else { None };
        self.note(|c| {
            c.frame_count += 1;
            c.frames.extend(kept);
        });
    }

    fn converse(&mut self) -> io::Result<()> {
        let script = self.shared.update(|s| {
            let Scripts { any, write, read, always } = &mut s.scripts;
            let free = write.is_empty() && read.is_empty();
            any.pop_front().or_else(|| if free { always.clone() } else { None })
        });
        if let Some(script) = script {
            return self.play(script);
        }
        loop {
            let Some(request) = self.head()? else { return Ok(()) };
            let script = self.shared.update(|s| match request.endpoint() {
                Some(Endpoint::Write) => s.scripts.write.pop_front(),
                Some(Endpoint::Read) => s.scripts.read.pop_front(),
                None => None,
            });
            if let Some(script) = script {
                self.request = Some(request);
                return self.play(script);
            }
            match self.answer(&request)? {
                Flow::On => return self.serve(),
                Flow::Again => {}
                Flow::Over => return self.end(),
            }
        }
    }

    fn head(&mut self) -> io::Result<Option<Request>> {
        if let Some(request) = self.request.take() {
            return Ok(Some(request));
        }
        let Some(head) = self.wire.head()? else { return Ok(None) };
        let request = Request::parse(&head);
        self.note(|c| c.requests.push(request.clone()));
        Ok(Some(request))
    }

    /// Answers an upgrade as the settings say.
    fn answer(&mut self, request: &Request) -> io::Result<Flow> {
        match http::judge(request, &self.config) {
            Verdict::Accept(endpoint, head) => {
                let early = self.wire.lose_unread();
                self.wire.limit(self.config.cap + 14);
                self.endpoint = Some(endpoint);
                self.note(|c| {
                    c.endpoint = Some(endpoint);
                    c.early_bytes = early;
                });
                if endpoint == Endpoint::Write && !request.wants_durable() {
                    self.config.durability = Durability::Off;
                }
                if endpoint == Endpoint::Read {
                    self.reader.negotiate(request);
                }
                self.send(&head)?;
                Ok(Flow::On)
            }
            Verdict::Refuse(answer, then) => {
                self.send(&answer)?;
                Ok(if then == Then::Close { Flow::Over } else { Flow::Again })
            }
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        match self.endpoint {
            Some(Endpoint::Read) => self.serve_reader(),
            Some(Endpoint::Write) => self.serve_writer(),
            None => match self.head()? {
                Some(request) if self.answer(&request)? == Flow::On => self.serve(),
                _ => self.end(),
            },
        }
    }

    /// Sends, unless a script wants it cut.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(corked) = &mut self.corked {
            corked.extend(bytes);
            return Ok(());
        }
        let Some(count) = self.cut.take() else { return self.wire.send(bytes) };
        self.wire.send(&bytes[..count.min(bytes.len())])?;
        self.end()?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    pub fn binary(&mut self, payload: &[u8]) -> io::Result<()> {
        self.send(&ws::frame(0x02, payload))
    }

    /// Ends TCP in order.
    pub fn end(&mut self) -> io::Result<()> {
        self.uncork()?;
        self.wire.end();
        Ok(())
    }

    fn uncork(&mut self) -> io::Result<()> {
        match self.corked.take() {
            Some(bytes) => self.wire.send(&bytes),
            None => Ok(()),
        }
    }

    // Ingress.

    fn serve_writer(&mut self) -> io::Result<()> {
        for bytes in std::mem::take(&mut self.queue) {
            self.store(&bytes, true)?;
        }
        loop {
            while let Some(frame) = self.wire.buffered() {
                if self.writer_frame(frame)? == Flow::Over {
                    return Ok(());
                }
            }
            self.flush()?;
            if !self.wire.fill()? {
                return Ok(());
            }
        }
    }

    fn writer_frame(&mut self, frame: Frame) -> io::Result<Flow> {
        match frame {
            Frame::Binary(payload) => {
                self.took(&payload);
                self.store(&payload, true)?;
                if self.shared.lock().catalog.crashed {
                    self.flush()?;
                    self.shared.update(super::shut);
                    return Ok(Flow::Over);
                }
            }
            Frame::Ping(payload) => {
                self.note(|c| c.pings.push(payload.clone()));
                self.flush()?;
                self.durable_ack(true)?;
                self.send(&ws::frame(0x0a, &payload))?;
            }
            Frame::Pong(_) => {}
            Frame::Close(payload) => {
                self.note(|c| c.closes.push(payload.clone()));
                self.flush()?;
                let code = ws::echo_code(&payload);
                self.send(&ws::frame(0x08, &code.to_be_bytes()))?;
                self.end()?;
                return Ok(Flow::Over);
            }
            Frame::Fault(fault) => {
                self.fault(fault)?;
                return Ok(Flow::Over);
            }
        }
        Ok(Flow::On)
    }

    fn fault(&mut self, fault: Fault) -> io::Result<()> {
        self.note(|c| c.faults.push(fault));
        self.flush()?;
        if let Some((code, reason)) = fault.close() {
            self.close(code, reason)?;
        }
        self.end()
    }

    pub fn close(&mut self, code: u16, reason: &str) -> io::Result<()> {
        let mut payload = code.to_be_bytes().to_vec();
        payload.extend(reason.as_bytes());
        self.send(&ws::frame(0x08, &payload))
    }

    /// Stores a message; `answer` says whether the client hears of it.
    fn store(&mut self, bytes: &[u8], answer: bool) -> io::Result<()> {
        if answer {
            self.durable_ack(false)?;
        }
        let sequence = self.ingest.taken();
        let (answers, why) = self.shared.update(|s| {
            let config = &s.config;
            let rules = Rules {
                limits: &self.config.limits,
                read_only: self.config.read_only,
                now_micros: config.now_micros(),
            };
            self.ingest.message(bytes, &mut s.catalog, &rules)
        });
        if let Some(why) = &why {
            self.refused(sequence, why);
        }
        if answer || why.is_some() {
            for answer in answers {
                self.respond(&answer)?;
            }
        }
        Ok(())
    }

    fn respond(&mut self, answer: &[u8]) -> io::Result<()> {
        if let [0x00, sequence @ ..] = answer {
            let sequence = sequence.first_chunk().map(|s| i64::from_le_bytes(*s));
            self.note(|c| c.acked = c.acked.max(sequence));
        }
        self.binary(answer)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.ingest.flush() {
            Some(answer) => self.respond(&answer),
            None => Ok(()),
        }
    }

    fn durable_ack(&mut self, ping: bool) -> io::Result<()> {
        match self.ingest.durable_ack(self.config.durability, ping) {
            Some(answer) => self.binary(&answer),
            None => Ok(()),
        }
    }

    // Scripts.

    fn play(&mut self, script: Script) -> io::Result<()> {
        for step in script.steps {
            if self.step(step)? != Flow::On {
                return Ok(());
            }
        }
        self.uncork()?;
        self.serve()
    }

    fn step(&mut self, step: Step) -> io::Result<Flow> {
        match step {
            Step::Up(options) => return self.up(&options),
            Step::Http(_) | Step::HttpRaw(_) | Step::Role(_) => return self.turn_away(step),
            Step::Read(count) => return self.read(count),
            Step::Store => self.store_up_to(i64::MAX)?,
            Step::Ok(sequence) => {
                self.store_up_to(sequence)?;
                if !self.ingest.is_dead() {
                    let answer = self.ingest.acknowledge(sequence);
                    self.respond(&answer)?;
                }
            }
            Step::OkListing(sequence, tables) => self.respond(&ingress::ok(sequence, &tables))?,
            Step::Nack { status, sequence, text } => self.nack(sequence, &refusal(status, text))?,
            Step::Durable(tables) => self.binary(&ingress::durable(&tables))?,
            Step::Raw(payload) => self.binary(&payload)?,
            Step::Bytes(bytes) => self.send(&bytes)?,
            Step::Cut(count) => self.cut = Some(count),
            Step::Cork => self.corked = Some(Vec::new()),
            Step::Uncork => self.uncork()?,
            Step::Hold(gate) => self.shared.hold(&gate),
            Step::Deaf => self.shared.hold_until_stopped(),
            Step::Silent => {
                while let Some(frame) = self.wire.receive()? {
                    self.overheard(&frame);
                }
                return Ok(Flow::Over);
            }
            Step::Rst => {
                self.shared.update(|s| s.sockets.remove(&self.id));
                self.wire.reset();
                return Ok(Flow::Over);
            }
            Step::Eof => {
                self.end()?;
                return Ok(Flow::Over);
            }
            Step::Close(code) => {
                self.close(code, "")?;
                self.end()?;
                return Ok(Flow::Over);
            }
            Step::Ping => self.send(&ws::frame(0x09, b"ping"))?,
            Step::Serve => {
                self.uncork()?;
                self.serve()?;
                return Ok(Flow::Over);
            }
            other => return self.reader_step(other),
        }
        Ok(Flow::On)
    }

    fn up(&mut self, options: &[(String, String)]) -> io::Result<Flow> {
        for (key, value) in options {
            match key.as_str() {
                "cap" => match value.parse() {
                    Ok(cap) => self.config.cap = cap,
                    Err(_) if value == "none" => self.config.announced = Announced::Nothing,
                    Err(_) => self.config.announced = Announced::Text(value.clone()),
                },
                "durable" => {
                    let held = value == "true";
                    self.config.durability = if held { Durability::Held } else { Durability::Off };
                }
                "version" => self.config.version = value.clone(),
                _ => panic!("up({key}={value}): no such option"),
            }
        }
        let Some(request) = self.head()? else { return Ok(Flow::Over) };
        self.answer(&request)
    }

    fn turn_away(&mut self, step: Step) -> io::Result<Flow> {
        if self.head()?.is_none() {
            return Ok(Flow::Over);
        }
        let answer = match step {
            Step::Http(status) => http::plain(&format!("{status} Scripted"), &[], ""),
            Step::Role(role) => http::wrong_role(&role, self.config.zone.as_deref()),
            Step::HttpRaw(bytes) => bytes,
            _ => unreachable!("only called with these"),
        };
        self.send(&answer)?;
        self.end()?;
        Ok(Flow::Over)
    }

    /// Takes binary frames for later; what else comes is answered as usual.
    fn read(&mut self, count: usize) -> io::Result<Flow> {
        let mut left = count;
        while left > 0 {
            match self.wire.receive()? {
                Some(Frame::Binary(payload)) => {
                    self.took(&payload);
                    self.queue.push(payload);
                    left -= 1;
                }
                Some(frame) => {
                    if self.writer_frame(frame)? == Flow::Over {
                        return Ok(Flow::Over);
                    }
                }
                None => return Ok(Flow::Over),
            }
        }
        Ok(Flow::On)
    }

    fn store_up_to(&mut self, sequence: i64) -> io::Result<()> {
        let ready = sequence.saturating_sub(self.ingest.taken()).saturating_add(1);
        let count = usize::try_from(ready).unwrap_or(0).min(self.queue.len());
        for bytes in self.queue.drain(..count).collect::<Vec<_>>() {
            self.store(&bytes, false)?;
        }
        Ok(())
    }

    fn nack(&mut self, sequence: i64, why: &Refusal) -> io::Result<()> {
        self.store_up_to(sequence - 1)?;
        self.refused(sequence, why);
        for answer in self.ingest.refuse(sequence, why) {
            self.respond(&answer)?;
        }
        self.queue.clear();
        Ok(())
    }

    /// Records a frame that gets no answer.
    fn overheard(&self, frame: &Frame) {
        match frame {
            Frame::Binary(payload) => self.took(payload),
            Frame::Ping(payload) => self.note(|c| c.pings.push(payload.clone())),
            Frame::Close(payload) => self.note(|c| c.closes.push(payload.clone())),
            Frame::Fault(fault) => self.note(|c| c.faults.push(*fault)),
            Frame::Pong(_) => {}
        }
    }

    fn reader_step(&mut self, step: Step) -> io::Result<Flow> {
        if let Step::Info(role) = step {
            if let Some(role) = role {
                self.config.read_role = role;
            }
            self.server_info()?;
            return Ok(Flow::On);
        }
        if let Step::Reset(mask) = step {
            self.binary(&request::cache_reset(mask))?;
            return Ok(Flow::On);
        }
        if self.reader.running().is_none() && self.await_request()? == Flow::Over {
            return Ok(Flow::Over);
        }
        self.reply(step)?;
        Ok(Flow::On)
    }
}
