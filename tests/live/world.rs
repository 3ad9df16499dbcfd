//! The server, tables of a test, and waiting for rows.

use qwp::{ErrorKind, QueryClient, Sender};
use std::io::Write;
use std::time::{Duration, Instant};

/// Names the server: `host:port`.
pub const SERVER: &str = "QWP_TEST_SERVER";

/// Names a server with Basic authentication: `host:port:user:password`.
pub const SERVER_WITH_AUTH: &str = "QWP_TEST_SERVER_AUTH";

/// How long anything may take. Nothing is expected to come near.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The server that a variable names.
pub fn server(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// Prints a line, whether the test fails or not: test harnesses swallow what `println` prints.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "live: {line}");
}

/// A server and the tables of one test, dropped with it.
#[derive(Debug)]
pub struct World {
    addr: String,
    /// How the names of this test's tables begin. No other test's begin so.
    prefix: String,
}

impl World {
    pub fn new() -> World {
        let addr = server(SERVER).unwrap_or_else(|| panic!("{SERVER} names no server"));
        // No underscore, which LIKE takes for any character.
        let prefix = format!("qwplive{:08x}x", fastrand::u32(..));
        World { addr, prefix }
    }

    pub fn addr(&self) -> &str {
        &self.addr
    }

    /// The name of a table of this test.
    pub fn table(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn sender(&self, keys: &str) -> Sender {
        Sender::from_conf(&format!("ws::addr={};{keys}", self.addr)).unwrap()
    }

    pub fn client(&self, keys: &str) -> QueryClient {
        QueryClient::from_conf(&format!("ws::addr={};{keys}", self.addr)).unwrap()
    }

    fn drop_tables(&self) -> qwp::Result<()> {
        let mut client = QueryClient::from_conf(&format!("ws::addr={};", self.addr))?;
        let sql = "select table_name from tables() where table_name like $1";
        let made = client.query(sql).bind(format!("{}%", self.prefix)).fetch_all()?;
        for row in made.rows() {
            let name: &str = row.get("table_name")?;
            if client.execute(&format!("drop table if exists {}", quoted(name))).is_err() {
                client.execute(&format!("drop view if exists {}", quoted(name)))?;
            }
        }
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Err(error) = self.drop_tables() {
            say(&format!("tables {}* may be left behind: {error}", self.prefix));
        }
    }
}

/// A name as SQL has it.
pub fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

#[expect(clippy::disallowed_methods, reason = "how long things really take")]
pub fn now() -> Instant {
    Instant::now()
}

/// Waits until `done` has something to tell, looking again and again; `what` is for the failure.
pub fn wait_for<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    const PAUSE: Duration = Duration::from_millis(10);
    let began = now();
    loop {
        if let Some(told) = done() {
            return told;
        }
        assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::park_timeout(PAUSE);
    }
}

/// How many rows of a table can be seen; none of one that is not there.
pub fn count(client: &mut QueryClient, table: &str) -> u64 {
    match client.query(&format!("select count() n from {}", quoted(table))).fetch_all() {
        Ok(result) => u64::try_from(result.rows().next().unwrap().get::<i64>("n").unwrap()).unwrap(),
        Err(error) if error.kind() == ErrorKind::Query => {
            assert!(error.to_string().contains("does not exist"), "{error}");
            0
        }
        Err(error) => panic!("{error}"),
    }
}

/// Waits until exactly `rows` rows of a table can be seen, which an acknowledgement does not promise
/// (H14). More than that is a failure at once.
pub fn wait_rows(client: &mut QueryClient, table: &str, rows: u64) {
    wait_for(&format!("{rows} rows in {table}"), || {
        let seen = count(client, table);
        assert!(seen <= rows, "{seen} rows in {table}, not {rows}");
        (seen == rows).then_some(())
    });
}

/// A number that a query gives in its only cell.
pub fn number(client: &mut QueryClient, sql: &str) -> i64 {
    let result = client.query(sql).fetch_all().unwrap_or_else(|error| panic!("{sql}: {error}"));
    result.rows().next().unwrap().get_at(0).unwrap()
}

/// Flushes and waits for the acknowledgement of everything.
pub fn deliver(sender: &mut Sender) {
    sender.drain(PATIENCE).unwrap();
}
