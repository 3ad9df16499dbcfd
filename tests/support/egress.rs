//! The reading side of a connection: requests, batches, credit, CANCEL (wire.md 8.1, 8.6, 8.7).

use std::io;

use super::batch::{Batch, Dictionary};
use super::cursor::Cursor;
use super::http::Request;
use super::input::{CANCELLED, LIMIT_EXCEEDED, malformed, refusal};
use super::request::{self, Query};
use super::script::{ResultColumn, Step};
use super::session::{Flow, Session};
use super::sql::{self, Outcome};
use super::value::{Type, Value};
use super::ws::{self, Fault, Frame};

const ROWS_MAX: usize = 16_384;

/// What the server knows about a connection that reads.
#[derive(Default)]
pub struct Reader {
    dictionary: Dictionary,
    /// A CACHE_RESET that goes out before the next result.
    reset_due: bool,
    rows_max: usize,
    informed: bool,
    running: Option<Running>,
}

/// The request that has no terminator yet.
pub struct Running {
    id: i64,
    /// What may still be sent; `None` is without limit.
    credit: Option<i64>,
    cancelled: bool,
    batches: u64,
    rows: u64,
}

impl Reader {
    /// Takes the wishes of an upgrade.
    pub fn negotiate(&mut self, request: &Request) {
        let wanted = request.header("X-QWP-Max-Batch-Rows").and_then(|v| v.parse().ok()).unwrap_or(0);
        self.rows_max = if wanted == 0 { ROWS_MAX } else { ROWS_MAX.min(wanted) };
    }

    pub fn running(&self) -> Option<i64> {
        self.running.as_ref().map(|r| r.id)
    }

    fn begin(&mut self, query: &Query) -> &mut Running {
        let credit = (query.credit > 0).then_some(query.credit);
        self.running.insert(Running { id: query.id, credit, cancelled: false, batches: 0, rows: 0 })
    }

    /// The message of the next batch: as many of the rows as fit; `None` if not even one does.
    fn encode(
        &mut self,
        schema: &[(String, Type)],
        columns: Vec<Vec<Value>>,
        rows: usize,
        send_bytes: usize,
    ) -> Option<(Vec<u8>, usize)> {
        let known = self.dictionary.len();
        let running = self.running.as_mut().expect("a request is running");
        let mut columns = columns;
        let mut rows = rows;
        loop {
            let batch = Batch { id: running.id, sequence: running.batches, schema, columns: &columns, rows };
            let message = batch.encode(&mut self.dictionary);
            if message.len() <= send_bytes {
                running.batches += 1;
                running.rows += u64::try_from(rows).expect("counts fit");
                if let Some(credit) = &mut running.credit {
                    *credit -= i64::try_from(message.len()).expect("a message is small");
                }
                return Some((message, rows));
            }
            self.dictionary.truncate(known);
            if rows <= 1 {
                return None;
            }
            rows /= 2;
            columns.iter_mut().for_each(|c| c.truncate(rows));
        }
    }
}

impl Session {
    /// Serves a connection that reads, to its end.
    pub fn serve_reader(&mut self) -> io::Result<()> {
        if !self.reader.informed {
            self.server_info()?;
        }
        while let Some(frame) = self.wire.receive()? {
            if self.reader_frame(frame)? == Flow::Over {
                return Ok(());
            }
        }
        Ok(())
    }

    pub fn server_info(&mut self) -> io::Result<()> {
        self.reader.informed = true;
        self.binary(&request::server_info(&self.config))
    }

    /// A script waits for a request here.
    pub fn await_request(&mut self) -> io::Result<Flow> {
        loop {
            let frame = match self.wire.receive()? {
                Some(Frame::Binary(payload)) if payload.first() == Some(&request::QUERY_REQUEST) => {
                    self.took(&payload);
                    if let Some(query) = self.parsed(&payload[1..])? {
                        self.reader.begin(&query);
                        return Ok(Flow::On);
                    }
                    continue;
                }
                Some(frame) => frame,
                None => return Ok(Flow::Over),
            };
            if self.reader_frame(frame)? == Flow::Over {
                return Ok(Flow::Over);
            }
        }
    }

    /// A scripted answer to the running request.
    pub fn reply(&mut self, step: Step) -> io::Result<()> {
        let running = self.reader.running.as_ref().expect("waited for");
        let (id, batches, rows) = (running.id, running.batches, running.rows);
        let answer = match step {
            Step::Query => return Ok(()),
            Step::Batch(columns, count) => {
                let columns = columns.unwrap_or_else(|| vec![counting(rows, count)]);
                return self.send_batch(columns, count);
            }
            Step::Reply { flags, kind, body } => return self.binary(&request::reply(flags, kind, id, &body)),
            Step::End => request::result_end(id, batches.saturating_sub(1), rows),
            Step::QueryError(status, text) => request::query_error(id, &refusal(status, text)),
            Step::Done(kind, rows) => request::exec_done(id, kind, rows),
            other => panic!("{other:?} has no place in a conversation of queries"),
        };
        self.reader.running = None;
        self.binary(&answer)
    }

    fn send_batch(&mut self, columns: Vec<ResultColumn>, rows: usize) -> io::Result<()> {
        let (schema, values) = columns
            .into_iter()
            .map(|(name, ty, values)| ((name, ty), values))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let message =
            self.reader.encode(&schema, values, rows, usize::MAX).expect("without a limit everything fits");
        self.binary(&message.0)
    }

    /// A request taken apart, or answered with what is wrong with it.
    fn parsed(&mut self, body: &[u8]) -> io::Result<Option<Query>> {
        match Query::parse(body) {
            Ok(query) => Ok(Some(query)),
            Err((id, why)) => {
                self.refused(id, &why);
                self.binary(&request::query_error(id, &why))?;
                Ok(None)
            }
        }
    }

    /// A frame while no statement runs.
    fn reader_frame(&mut self, frame: Frame) -> io::Result<Flow> {
        match frame {
            Frame::Binary(payload) => {
                self.took(&payload);
                match payload.first() {
                    Some(&request::QUERY_REQUEST) => {
                        if let Some(query) = self.parsed(&payload[1..])? {
                            return self.query(&query);
                        }
                    }
                    // For a request that has ended, or never was.
                    Some(&(request::CANCEL | request::CREDIT)) => {}
                    _ => {
                        self.end()?;
                        return Ok(Flow::Over);
                    }
                }
            }
            Frame::Ping(payload) => {
                self.note(|c| c.pings.push(payload.clone()));
                self.send(&ws::frame(0x0a, &payload))?;
            }
            Frame::Pong(_) => {}
            Frame::Close(payload) => {
                self.note(|c| c.closes.push(payload.clone()));
                self.close(1000, "")?;
                self.end()?;
                return Ok(Flow::Over);
            }
            Frame::Fault(fault) => {
                self.note(|c| c.faults.push(fault));
                if let (Fault::TooBig, Some((code, reason))) = (fault, fault.close()) {
                    self.close(code, reason)?;
                }
                self.end()?;
                return Ok(Flow::Over);
            }
        }
        Ok(Flow::On)
    }

    /// Carries out a request up to its terminator.
    fn query(&mut self, query: &Query) -> io::Result<Flow> {
        let limit = self.config.limits.result_symbols;
        let reader = &mut self.reader;
        if !reader.dictionary.is_empty() && (query.reset_dictionary || reader.dictionary.len() >= limit) {
            reader.dictionary.truncate(0);
            reader.reset_due = true;
        }
        self.reader.begin(query);
        let outcome = self.shared.update(|s| sql::run(&query.sql, &query.binds, &mut s.catalog));
        let terminator = match outcome {
            Ok(Outcome::Rows(cursor)) => return self.stream(cursor),
            Ok(Outcome::Done { kind, rows }) => request::exec_done(query.id, kind, rows),
            Err(why) => {
                self.refused(query.id, &why);
                request::query_error(query.id, &why)
            }
        };
        self.terminate(&terminator)
    }

    fn terminate(&mut self, message: &[u8]) -> io::Result<Flow> {
        self.reader.running = None;
        self.binary(message)?;
        Ok(Flow::On)
    }

    fn stream(&mut self, mut cursor: Cursor) -> io::Result<Flow> {
        if std::mem::take(&mut self.reader.reset_due) {
            self.binary(&request::cache_reset(1))?;
        }
        let rows_max = self.reader.rows_max;
        loop {
            let rows = rows_max.min(cursor.left());
            let columns = match cursor.peek(rows) {
                Ok(columns) => columns,
                Err(why) => {
                    let id = self.reader.running().unwrap_or(0);
                    return self.terminate(&request::query_error(id, &why));
                }
            };
            let sent = self.reader.encode(&cursor.schema, columns, rows, self.config.send_bytes);
            let Some((message, sent)) = sent else { return self.too_wide(&cursor) };
            cursor.advance(sent);
            if self.config.leaves_unread {
                self.wire.leave_unread();
            }
            self.binary(&message)?;
            let full = sent == rows_max;
            if cursor.left() > 0 || full {
                let (flow, goes_on) = self.await_credit()?;
                if flow == Flow::Over || !goes_on {
                    return Ok(flow);
                }
            }
            if cursor.left() == 0 {
                let running = self.reader.running.take().expect("a request is running");
                self.binary(&request::result_end(
                    running.id,
                    running.batches.saturating_sub(1),
                    running.rows,
                ))?;
                return Ok(Flow::On);
            }
        }
    }

    fn too_wide(&mut self, cursor: &Cursor) -> io::Result<Flow> {
        let id = self.reader.running().unwrap_or(0);
        let (columns, size) = (cursor.schema.len(), self.config.send_bytes);
        let what = format!("[colCount={columns}, bufferSize={size}, rowsBuffered=1]");
        let text = format!("egress: single row exceeds send buffer {what}");
        self.terminate(&request::query_error(id, &refusal(LIMIT_EXCEEDED, text)))
    }

    /// Reads what the client sends until the stream may go on; whether it does.
    fn await_credit(&mut self) -> io::Result<(Flow, bool)> {
        loop {
            match self.reader.running.as_ref().and_then(|r| r.credit) {
                None => return Ok((Flow::On, true)),
                Some(credit) if credit > 0 => return Ok((Flow::On, true)),
                Some(_) => {}
            }
            let Some(frame) = self.wire.receive()? else { return Ok((Flow::Over, false)) };
            let Frame::Binary(payload) = frame else {
                match self.reader_frame(frame)? {
                    Flow::On => continue,
                    flow => return Ok((flow, false)),
                }
            };
            self.took(&payload);
            let body = payload.get(1..).unwrap_or_default();
            match payload.first() {
                Some(&request::QUERY_REQUEST) => self.second_request(body)?,
                Some(&request::CANCEL) => self.cancel(body),
                Some(&request::CREDIT) => {
                    if self.grant(body)? {
                        return Ok((Flow::On, false));
                    }
                }
                _ => {
                    self.end()?;
                    return Ok((Flow::Over, false));
                }
            }
        }
    }

    fn second_request(&mut self, body: &[u8]) -> io::Result<()> {
        let why = malformed("Phase 1 egress supports a single in-flight query per connection");
        if let Some(query) = self.parsed(body)? {
            self.refused(query.id, &why);
            self.binary(&request::query_error(query.id, &why))?;
        }
        Ok(())
    }

    fn cancel(&mut self, body: &[u8]) {
        let running = self.reader.running.as_mut().expect("a request is running");
        if id_of(body) == Some(running.id) {
            running.cancelled = true;
        }
    }

    /// Adds credit; true if the request ended by it, having been cancelled.
    fn grant(&mut self, body: &[u8]) -> io::Result<bool> {
        let running = self.reader.running.as_mut().expect("a request is running");
        if id_of(body) != Some(running.id) {
            return Ok(false);
        }
        let grant = super::input::Input::new(&body[8..]).varint().ok().and_then(|n| i64::try_from(n).ok());
        let Some(grant) = grant.filter(|n| *n > 0) else { return Ok(false) };
        if running.cancelled {
            let answer = request::query_error(running.id, &refusal(CANCELLED, "cancelled by client"));
            self.terminate(&answer)?;
            return Ok(true);
        }
        running.credit = running.credit.map(|c| c.saturating_add(grant));
        Ok(false)
    }
}

fn id_of(body: &[u8]) -> Option<i64> {
    body.first_chunk().map(|id| i64::from_le_bytes(*id))
}

/// So many rows of a column `x`, behind those that were sent.
fn counting(sent: u64, count: usize) -> ResultColumn {
    let first = i64::try_from(sent).expect("few rows") + 1;
    let last = first + i64::try_from(count).expect("few rows");
    ("x".into(), Type::Long, (first..last).map(Value::Long).collect())
}
