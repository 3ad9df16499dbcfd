//! What one connection is made to do, as data.
//!
//! [`Script::new`] reads the words of the trials, separated by commas: `up, read 3, ok 2, rst`.
//! Steps with content (raw bytes, columns of a result) are added by methods. When the steps are
//! used up, the connection is served as by a real server, unless the last one has ended it.

use super::value::{Type, Value};

/// A column of a scripted result.
pub type ResultColumn = (String, Type, Vec<Value>);

/// One thing that the server does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `up`, `up(cap=100, durable=true, version=2)`: 101 with these headers.
    Up(Vec<(String, String)>),
    /// `http 503`: refuses the upgrade.
    Http(u16),
    /// An answer to the upgrade of any bytes.
    HttpRaw(Vec<u8>),
    /// `role REPLICA`: 421 with that role.
    Role(String),
    /// `info`, `info PRIMARY`: SERVER_INFO.
    Info(Option<String>),
    /// `read 3`: takes so many binary frames, without storing or answering them yet.
    Read(usize),
    /// `store`: stores what was read, without a word: what a lost acknowledgement looks like.
    Store,
    /// `ok 2`: stores what was read up to this sequence, and acknowledges it.
    Ok(i64),
    /// An OK that lists these tables, whatever was stored.
    OkListing(i64, Vec<(String, i64)>),
    /// `nack 9 1` (status in hex): the OK owed for earlier ones, then an error for this one; nothing after it is stored.
    Nack {
        status: u8,
        sequence: i64,
        text: String,
    },
    /// A durable ack of these tables.
    Durable(Vec<(String, i64)>),
    /// One binary message.
    Raw(Vec<u8>),
    /// Bytes outside of any frame.
    Bytes(Vec<u8>),
    /// `cut 5`: of the next thing sent only so many bytes go out, and TCP ends.
    Cut(usize),
    /// `cork`: gathers what follows, up to `uncork` or the end, into one write.
    Cork,
    Uncork,
    /// `hold gate`: waits until the test releases the gate.
    Hold(String),
    /// `silent`: goes on reading, and says nothing, not even PONG.
    Silent,
    /// `deaf`: neither reads nor writes.
    Deaf,
    /// `rst`: resets TCP.
    Rst,
    /// `eof`: ends TCP without a CLOSE.
    Eof,
    /// `close 1000`: a CLOSE of that code, then the end of TCP.
    Close(u16),
    /// `ping`: a PING with four bytes.
    Ping,
    /// `query`: waits for a QUERY_REQUEST. The steps below do so by themselves if none is running.
    Query,
    /// `batch 3`: a result batch; by the word: one LONG column `x`, counting on from 1.
    Batch(Option<Vec<ResultColumn>>, usize),
    /// `end`: RESULT_END.
    End,
    /// `qerr 5`: QUERY_ERROR of that status (hex).
    QueryError(u8, String),
    /// `done 2 10`: EXEC_DONE of that statement kind and row count.
    Done(u8, i64),
    /// `reset 1`: CACHE_RESET with that mask.
    Reset(u8),
    /// A message for the running request: flags, kind, and what follows the request id.
    Reply {
        flags: u8,
        kind: u8,
        body: Vec<u8>,
    },
    /// `serve`, `read*`, `ok` without a number: like a real server from here on.
    Serve,
}

/// The steps of one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub steps: Vec<Step>,
}

impl Script {
    /// Reads words; panics at one it does not know, since that is a mistake in a test.
    pub fn new(words: &str) -> Script {
        Script { steps: split(words).iter().map(|w| step(w)).collect() }
    }

    pub fn then(mut self, step: Step) -> Script {
        self.steps.push(step);
        self
    }

    /// Goes on with more words.
    pub fn and(mut self, words: &str) -> Script {
        self.steps.extend(Script::new(words).steps);
        self
    }

    pub fn raw(self, payload: &[u8]) -> Script {
        self.then(Step::Raw(payload.to_vec()))
    }

    /// A result batch with these columns.
    pub fn batch(self, columns: Vec<ResultColumn>) -> Script {
        let rows = columns.first().map_or(0, |c| c.2.len());
        self.then(Step::Batch(Some(columns), rows))
    }

    pub fn nack(self, status: u8, sequence: i64, text: &str) -> Script {
        self.then(Step::Nack { status, sequence, text: text.to_owned() })
    }
}

/// Splits at commas outside of parentheses.
fn split(words: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut depth = 0;
    for c in words.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        out.last_mut().expect("never empty").push(c);
    }
    out.into_iter().map(|w| w.trim().to_owned()).filter(|w| !w.is_empty()).collect()
}

fn step(text: &str) -> Step {
    if let Some(options) = text.strip_prefix("up(") {
        return Step::Up(options_of(options.trim_end_matches(')')));
    }
    let mut words = text.split_whitespace();
    let word = words.next().expect("not empty");
    let arguments: Vec<&str> = words.collect();
    let number = |i: usize| -> i64 {
        let digits = arguments.get(i).unwrap_or_else(|| panic!("{text}: a number is missing"));
        digits.parse().unwrap_or_else(|_| panic!("{text}: {digits} is no number"))
    };
    let count = |i: usize| usize::try_from(number(i)).unwrap_or_else(|_| panic!("{text}: negative"));
    let status = |i: usize| {
        let digits = arguments.get(i).unwrap_or_else(|| panic!("{text}: a status is missing"));
        u8::from_str_radix(digits.trim_start_matches("0x"), 16)
            .unwrap_or_else(|_| panic!("{text}: no status"))
    };
    let small = |i: usize| u16::try_from(number(i)).unwrap_or_else(|_| panic!("{text}: beyond 16 bits"));
    match word {
        "up" => Step::Up(Vec::new()),
        "http" => Step::Http(small(0)),
        "role" => Step::Role(arguments.join(" ")),
        "info" => Step::Info(arguments.first().map(|r| (*r).to_owned())),
        "read*" | "serve" => Step::Serve,
        "read" => Step::Read(count(0)),
        "store" => Step::Store,
        "ok" if arguments.is_empty() => Step::Serve,
        "ok" => Step::Ok(number(0)),
        "nack" => Step::Nack { status: status(0), sequence: number(1), text: "scripted".into() },
        "cut" => Step::Cut(count(0)),
        "cork" => Step::Cork,
        "uncork" => Step::Uncork,
        "hold" => Step::Hold(arguments.join(" ")),
        "silent" => Step::Silent,
        "deaf" => Step::Deaf,
        "rst" => Step::Rst,
        "eof" => Step::Eof,
        "close" => Step::Close(small(0)),
        "ping" => Step::Ping,
        "query" => Step::Query,
        "batch" => Step::Batch(None, if arguments.is_empty() { 1 } else { count(0) }),
        "end" => Step::End,
        "qerr" => Step::QueryError(status(0), "scripted".into()),
        "done" => Step::Done(u8::try_from(number(0)).expect("a statement kind"), number(1)),
        "reset" => Step::Reset(if arguments.is_empty() { 1 } else { status(0) }),
        _ => panic!("no such word in a script: {text}"),
    }
}

fn options_of(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or_else(|| panic!("up({text}): no value"));
        (key.trim().to_owned(), value.trim().to_owned())
    };
    text.split(',').map(pair).collect()
}
