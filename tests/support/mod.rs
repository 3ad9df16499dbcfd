//! A strict stand-in for a QuestDB server, on loopback, its tables in memory.
//!
//! It speaks both services of wire.md by code of its own: nothing here comes from `src`. Without
//! a script it does what a real 9.4.4 server was seen to do; a [`Script`] makes one connection
//! misbehave, step by step. Tests look at [`State`], or wait for it with [`Server::wait_until`].
//!
//! Data flow: `session` (one thread a connection) reads frames by `ws`, after `http` has judged
//! the upgrade; `ingress` takes messages apart by `message` and `column` and stages rows in
//! `tables`; `egress` parses requests, lets `sql` answer them and encodes by `batch`.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test file that includes this uses a part of it"
)]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

pub mod batch;
pub mod civil;
pub mod column;
pub mod convert;
pub mod cursor;
pub mod egress;
pub mod expr;
pub mod http;
pub mod ingress;
pub mod input;
pub mod lexer;
pub mod message;
pub mod request;
pub mod script;
pub mod session;
pub mod sql;
pub mod tables;
pub mod value;
pub mod wide;
pub mod ws;

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http::{Endpoint, Request};
use input::Refusal;
use tables::Catalog;

#[allow(unused_imports, reason = "each test file that includes this uses a part of it")]
pub use self::{
    script::{Script, Step},
    tables::Row,
    value::{Type, Value},
};

/// What the server has under its own limits (wire.md 5.3, 8.8).
#[derive(Clone, Debug)]
pub struct Limits {
    pub tables: usize,
    pub rows_per_block: usize,
    pub columns_per_block: usize,
    pub uncommitted_rows: usize,
    /// Whether writing may create tables and columns.
    pub new_columns: bool,
    /// Soft limit of the dictionary of results, looked at when a request arrives.
    pub result_symbols: usize,
}

/// When durable acks go out (wire.md 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Not offered, as by an open-source server.
    Off,
    /// With whatever the client sends next.
    Prompt,
    /// In answer to a PING only.
    OnPing,
    /// Confirmed at the upgrade, never sent.
    Held,
}

impl Durability {
    fn offered(self) -> bool {
        self != Durability::Off
    }
}

/// What `X-QWP-Max-Batch-Size` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announced {
    /// The cap in force.
    Cap,
    /// The header is absent.
    Nothing,
    /// This text.
    Text(String),
}

/// Settings; they may change while the server runs, for connections to come.
#[derive(Clone, Debug)]
pub struct Config {
    /// Largest message; the receive buffer is 14 bytes larger.
    pub cap: usize,
    pub announced: Announced,
    pub version: String,
    pub durability: Durability,
    /// `Basic ...` or `Bearer ...`, exactly as it has to come.
    pub authorization: Option<String>,
    pub write_role: String,
    pub read_role: String,
    pub zone: Option<String>,
    pub cluster_id: String,
    pub node_id: String,
    pub epoch: u64,
    pub capabilities: u32,
    pub read_only: bool,
    pub limits: Limits,
    /// Largest result message before compression.
    pub send_bytes: usize,
    /// Clock of the rows "at now", in microseconds; `None` is the machine's.
    pub clock_micros: Option<i64>,
    /// Whether messages that came together with the one that starts or resumes a result stay unread
    /// until the client sends more: a server may do so (wire.md 8.6), the default does not.
    pub leaves_unread: bool,
    /// Whether the bytes of frames are kept.
    pub keep_frames: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            cap: 2_097_138,
            announced: Announced::Cap,
            version: "1".into(),
            durability: Durability::Off,
            authorization: None,
            write_role: "STANDALONE".into(),
            read_role: "STANDALONE".into(),
            zone: None,
            cluster_id: "questdb".into(),
            node_id: String::new(),
            epoch: 0,
            capabilities: 0x02,
            read_only: false,
            limits: Limits {
                tables: 10_000,
                rows_per_block: 1_000_000,
                columns_per_block: 2_048,
                uncommitted_rows: 1_000_000,
                new_columns: true,
                result_symbols: 100_000,
            },
            send_bytes: 2_097_152,
            clock_micros: None,
            leaves_unread: false,
            keep_frames: true,
        }
    }
}

impl Config {
    fn role(&self, endpoint: Endpoint) -> &str {
        match endpoint {
            Endpoint::Write => &self.write_role,
            Endpoint::Read => &self.read_role,
        }
    }

    fn announced_cap(&self) -> Option<String> {
        match &self.announced {
            Announced::Cap => Some(self.cap.to_string()),
            Announced::Nothing => None,
            Announced::Text(text) => Some(text.clone()),
        }
    }

    fn now_micros(&self) -> i64 {
        self.clock_micros.unwrap_or_else(clock)
    }
}

/// [`Config::authorization`] that expects this user and password.
pub fn basic(user: &str, password: &str) -> Option<String> {
    Some(format!("Basic {}", http::base64(format!("{user}:{password}").as_bytes())))
}

/// [`Config::authorization`] that expects this token.
pub fn bearer(token: &str) -> Option<String> {
    Some(format!("Bearer {token}"))
}

#[expect(clippy::disallowed_methods, reason = "the server's clock is not the client's")]
fn clock() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_micros()).unwrap_or(0)
}

/// One connection as the server saw it, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    pub requests: Vec<Request>,
    pub endpoint: Option<Endpoint>,
    /// Payloads of binary messages.
    pub frames: Vec<Vec<u8>>,
    /// How many there were, kept or not.
    pub frame_count: usize,
    pub pings: Vec<Vec<u8>>,
    pub closes: Vec<Vec<u8>>,
    pub faults: Vec<ws::Fault>,
    /// Bytes that came in one segment with the request and were lost.
    pub early_bytes: usize,
    /// What was refused, by sequence (ingress) or request id (egress).
    pub refusals: Vec<(i64, Refusal)>,
    /// Highest sequence in an OK.
    pub acked: Option<i64>,
    pub closed: bool,
}

/// Everything that tests look at.
#[derive(Default)]
pub struct State {
    pub config: Config,
    pub catalog: Catalog,
    pub connections: Vec<Connection>,
    scripts: Scripts,
    released: HashSet<String>,
    sockets: HashMap<usize, TcpStream>,
    stopping: bool,
}

#[derive(Default)]
struct Scripts {
    any: VecDeque<Script>,
    write: VecDeque<Script>,
    read: VecDeque<Script>,
    always: Option<Script>,
}

impl State {
    pub fn rows(&self, table: &str) -> Vec<Row> {
        self.catalog.rows(table)
    }

    pub fn row_count(&self, table: &str) -> usize {
        self.catalog.get(table).map_or(0, |t| t.rows)
    }

    /// Connections that have not ended.
    pub fn open(&self) -> usize {
        self.connections.iter().filter(|c| !c.closed).count()
    }

    /// Binary messages of all connections together.
    pub fn frame_count(&self) -> usize {
        self.connections.iter().map(|c| c.frame_count).sum()
    }
}

/// What the threads share.
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes everybody who waits for it.
    fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let out = change(&mut self.lock());
        self.changed.notify_all();
        out
    }

    /// Waits until a gate is open, or the server stops.
    fn hold(&self, gate: &str) {
        let state = self.lock();
        let closed = |s: &mut State| !s.stopping && !s.released.contains(gate);
        drop(self.changed.wait_while(state, closed).unwrap_or_else(PoisonError::into_inner));
    }

    fn hold_until_stopped(&self) {
        drop(self.changed.wait_while(self.lock(), |s| !s.stopping).unwrap_or_else(PoisonError::into_inner));
    }
}

/// A running server. Dropping it ends its threads, and panics if one of them did.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// A server with default settings on a free port of loopback.
    pub fn start() -> Server {
        Server::with(|_| {})
    }

    /// A server whose settings were changed before it began to listen.
    pub fn with(change: impl FnOnce(&mut Config)) -> Server {
        let mut state = State::default();
        change(&mut state.config);
        let shared =
            Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), threads: Mutex::default() });
        let mut server = Server { shared, address: SocketAddr::from(([127, 0, 0, 1], 0)), acceptor: None };
        server.restart();
        server
    }

    /// A server whose first connections play these scripts, one each; later ones are served.
    pub fn scripted<const N: usize>(scripts: [&str; N]) -> Server {
        let server = Server::start();
        for script in scripts {
            server.script(Script::new(script));
        }
        server
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `host:port`, as a connect string wants it.
    pub fn addr(&self) -> String {
        self.address.to_string()
    }

    /// The next connection without a script plays this one.
    pub fn script(&self, script: Script) -> &Server {
        self.shared.update(|s| s.scripts.any.push_back(script));
        self
    }

    /// As [`Server::script`], for the next connection at one of the services.
    pub fn script_at(&self, endpoint: Endpoint, script: Script) -> &Server {
        self.shared.update(|s| match endpoint {
            Endpoint::Write => s.scripts.write.push_back(script),
            Endpoint::Read => s.scripts.read.push_back(script),
        });
        self
    }

    /// What connections play for which no script is left; `None`: they are served.
    pub fn always(&self, script: Option<Script>) -> &Server {
        self.shared.update(|s| s.scripts.always = script);
        self
    }

    /// Changes settings for connections to come.
    pub fn configure(&self, change: impl FnOnce(&mut Config)) {
        self.shared.update(|s| change(&mut s.config));
    }

    /// Opens a gate at which scripts `hold`.
    pub fn release(&self, gate: &str) {
        self.shared.update(|s| s.released.insert(gate.to_owned()));
    }

    /// Looks at the state, or changes it, such as by putting a table there.
    pub fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        self.shared.update(look)
    }

    /// Committed rows of a table in the order of commits.
    pub fn rows(&self, table: &str) -> Vec<Row> {
        self.shared.lock().rows(table)
    }

    /// All values of one column, in the order of commits; panics if there is no such column.
    pub fn column(&self, table: &str, column: &str) -> Vec<Value> {
        let state = self.shared.lock();
        let table = state.catalog.get(table).unwrap_or_else(|| panic!("no table {table}"));
        let index = table.column(column).unwrap_or_else(|| panic!("no column {column}"));
        table.columns[index].values.clone()
    }

    /// Payloads of binary messages, by connection.
    pub fn frames(&self) -> Vec<Vec<Vec<u8>>> {
        self.shared.lock().connections.iter().map(|c| c.frames.clone()).collect()
    }

    pub fn connections(&self) -> Vec<Connection> {
        self.shared.lock().connections.clone()
    }

    /// All that was refused so far.
    pub fn refusals(&self) -> Vec<Refusal> {
        let state = self.shared.lock();
        state.connections.iter().flat_map(|c| c.refusals.iter().map(|(_, why)| why.clone())).collect()
    }

    /// Waits until `holds`; false if it still does not after `limit`.
    #[must_use]
    pub fn wait_until(&self, mut holds: impl FnMut(&State) -> bool, limit: Duration) -> bool {
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), limit, |s| !holds(s));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        holds(&state)
    }

    /// Listens again, on the port it had. Tables, settings and records stay.
    pub fn restart(&mut self) {
        self.stop();
        let listener = TcpListener::bind(self.address).expect("a port of loopback");
        self.address = listener.local_addr().expect("bound");
        self.shared.update(|s| s.stopping = false);
        let shared = self.shared.clone();
        self.acceptor = Some(std::thread::spawn(move || accept(&shared, &listener)));
    }

    /// Stops listening and ends all connections with a bare TCP end.
    pub fn stop(&mut self) {
        let Some(acceptor) = self.acceptor.take() else { return };
        self.shared.update(|s| {
            s.stopping = true;
            shut(s);
        });
        // The acceptor waits for a connection; this is the last one it gets.
        drop(TcpStream::connect(self.address));
        let mut threads = vec![acceptor];
        threads.append(&mut self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }

    /// Ends all connections with a bare TCP end; new ones are welcome.
    pub fn cut(&self) {
        self.shared.update(shut);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn shut(state: &mut State) {
    for socket in state.sockets.values() {
        // A socket that has ended by itself is as good.
        drop(socket.shutdown(Shutdown::Both));
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let Ok(other) = stream.try_clone() else { continue };
        let id = shared.update(|s| {
            if s.stopping {
                return None;
            }
            if s.catalog.crashed {
                return Some(None);
            }
            let id = s.connections.len();
            s.connections.push(Connection::default());
            s.sockets.insert(id, other);
            Some(Some(id))
        });
        let Some(id) = id else { return };
        let Some(id) = id else { continue };
        let shared_too = shared.clone();
        let thread = std::thread::spawn(move || session::run(&shared_too, id, stream));
        shared.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }
}
