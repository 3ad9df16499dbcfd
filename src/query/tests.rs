//! The query client in the simulated world: real client, dial and decoder, scripted servers.

mod cancel;
mod ends;
mod failover;
mod handlers;
mod reading;
mod requests;

use super::*;
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::sim::{Act, Answer, Knock, PeerAction, SimPeer, World};
use crate::transport::Upgrade;
use crate::wire::egress::testing::*;
use crate::wire::request::Request;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

const QUERY_FLAGS: u32 = 0x02;
const QUERY_TIMEOUT: u32 = 0x08;

/// What a server heard, without the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Heard {
    Query { id: i64, sql: String, credit: u64, binds: usize, reset_dict: bool, timeout_ms: Option<u64> },
    Cancel(i64),
    Credit(i64, u64),
    Ping,
    Close,
}

type Log = Arc<Mutex<Vec<Heard>>>;

/// What a server does about what it hears.
type Script = Box<dyn FnMut(&Heard) -> Vec<PeerAction> + Send>;

/// A query server: SERVER_INFO, then its script.
struct Server {
    info: Option<Vec<u8>>,
    log: Log,
    script: Script,
}

impl Server {
    fn hear(&mut self, heard: Heard) -> Vec<PeerAction> {
        self.log.lock().push(heard.clone());
        (self.script)(&heard)
    }
}

impl SimPeer for Server {
    fn on_connect(&mut self, _: Instant) -> Vec<PeerAction> {
        self.info.iter().map(|info| Act::Message(info.clone()).now()).collect()
    }

    fn on_message(&mut self, message: &[u8], _: Instant) -> Vec<PeerAction> {
        let mut binds = Vec::new();
        let heard = match Request::decode(message, &mut binds).expect("a request") {
            Request::Query(query) => Heard::Query {
                id: query.request_id,
                sql: query.sql.to_owned(),
                credit: query.initial_credit,
                binds: query.binds.len(),
                reset_dict: query.options.reset_dict,
                timeout_ms: query.options.timeout_ms,
            },
            Request::Cancel { request_id } => Heard::Cancel(request_id),
            Request::Credit { request_id, additional_bytes } => Heard::Credit(request_id, additional_bytes),
        };
        self.hear(heard)
    }

    fn on_ping(&mut self, _: Instant) -> Vec<PeerAction> {
        let mut actions = self.hear(Heard::Ping);
        actions.push(Act::Pong.now());
        actions
    }

    fn on_close(&mut self, _: u16, _: Instant) -> Vec<PeerAction> {
        self.hear(Heard::Close);
        vec![Act::Close { code: Some(1000), reason: String::new() }.now(), Act::End.now()]
    }
}

/// A world with query servers in it.
struct Stage {
    world: World,
    log: Log,
}

impl Stage {
    fn new() -> Stage {
        Stage { world: World::new(11), log: Log::default() }
    }

    /// Puts a server at `name:9000`; `script` makes a new script for each connection.
    fn server<S>(&self, name: &str, script: impl FnMut(usize) -> S + Send + 'static)
    where
        S: FnMut(&Heard) -> Vec<PeerAction> + Send + 'static,
    {
        self.server_as(name, server_info(0, QUERY_FLAGS, name, None), script);
    }

    /// As [`Stage::server`], with a SERVER_INFO of its own.
    fn server_as<S>(&self, name: &str, info: Vec<u8>, mut script: impl FnMut(usize) -> S + Send + 'static)
    where
        S: FnMut(&Heard) -> Vec<PeerAction> + Send + 'static,
    {
        let log = self.log.clone();
        self.host(name, move |knock| {
            let (info, log) = (Some(info.clone()), log.clone());
            let script: Script = Box::new(script(knock.nth));
            Answer::Accept(Upgrade::default(), Box::new(Server { info, log, script }))
        });
    }

    fn host(&self, name: &str, answer: impl FnMut(&Knock) -> Answer + Send + 'static) {
        self.world.net.host(&format!("{name}:9000"), answer);
    }

    /// A client, not connected yet, with more keys.
    fn client(&self, addr: &str, keys: &str) -> QueryClient {
        let config = Config::parse(&format!("ws::addr={addr};{keys}")).expect("a connect string");
        QueryClient::with_env(&config.query().expect("a query configuration"), &self.world.env())
            .expect("a client")
    }

    fn heard(&self) -> Vec<Heard> {
        self.log.lock().clone()
    }

    fn queries(&self) -> usize {
        self.heard().iter().filter(|heard| matches!(heard, Heard::Query { .. })).count()
    }

    fn elapsed(&self) -> Duration {
        self.world.clock.elapsed()
    }

    fn visited(&self) -> Vec<String> {
        let visited = self.world.net.visited();
        visited.into_iter().map(|host| host.trim_end_matches(":9000").to_owned()).collect()
    }
}

fn send(messages: &[Vec<u8>]) -> Vec<PeerAction> {
    messages.iter().map(|message| Act::Message(message.clone()).now()).collect()
}

/// Answers every query by what `answer` makes of its id, and nothing else.
fn answers(
    mut answer: impl FnMut(i64) -> Vec<PeerAction> + Send + 'static,
) -> impl FnMut(&Heard) -> Vec<PeerAction> + Send + 'static {
    move |heard| match heard {
        Heard::Query { id, .. } => answer(*id),
        _ => Vec::new(),
    }
}

/// A result of the rows 1, 2, 3 in two batches.
fn one_two_three(id: i64) -> Vec<PeerAction> {
    send(&[long_batch(id, 0, &[1, 2]), long_batch(id, 1, &[3]), result_end(id, 1, 3)])
}

/// Values of the column `x`.
fn longs_of(batch: &Batch) -> Vec<i64> {
    batch.column("x").expect("x").as_i64().expect("LONG").values().collect()
}

/// Reads to the end, or to the error.
fn drain(cursor: &mut Cursor<'_>) -> (Vec<i64>, Option<Error>) {
    let mut rows = Vec::new();
    loop {
        match cursor.next_batch() {
            Ok(Some(batch)) => rows.extend(longs_of(&batch)),
            Ok(None) => return (rows, None),
            Err(error) => return (rows, Some(error)),
        }
    }
}

fn run(client: &mut QueryClient, sql: &str) -> (Vec<i64>, Option<Error>) {
    match client.query(sql).run() {
        Ok(mut cursor) => drain(&mut cursor),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn kind(error: Option<Error>) -> Option<ErrorKind> {
    error.map(|error| error.kind())
}
