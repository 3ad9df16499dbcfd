//! What a user holds.

use super::cancel::CancelHandle;
use super::counters::QueryCounters;
use super::executed::Executed;
use super::info::ServerInfo;
use super::session::{NotConnected, Session};
use super::settings::Settings;
use super::statement::Query;
use crate::config::{Config, ConfigValue, QueryConfig};
use crate::dial::setup;
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::time::SystemClock;
use std::sync::Arc;

/// Runs queries, one at a time, over one connection that it replaces when need be.
///
/// ```no_run
/// use qwp::QueryClient;
///
/// let mut client = QueryClient::from_conf("ws::addr=localhost:9000;")?;
/// let mut cursor = client.query("SELECT symbol, price FROM trades WHERE price > $1").bind(2615.0).run()?;
/// while let Some(batch) = cursor.next_batch()? {
///     let symbol = batch.column("symbol")?.as_symbol()?;
///     let price = batch.column("price")?.as_f64()?;
///     for row in 0..batch.row_count() {
///         println!("{:?} {:?}", symbol.get(row), price.get(row)); // Option: None is NULL
///     }
/// }
/// # Ok::<(), qwp::Error>(())
/// ```
///
/// A row that a sender was told is stored need not be visible to a query yet: the server applies it
/// shortly after.
///
/// It has no thread of its own, but for the moment that a half-read result takes to be given up. Use
/// one client per thread.
#[derive(Debug)]
pub struct QueryClient {
    session: Session,
}

/// Puts together a query client: a connect string, keys by name, or both; a key set by a call wins.
#[derive(Debug, Default)]
#[must_use = "nothing happens before it is built"]
pub struct QueryClientBuilder {
    config: Config,
    lazy: bool,
}

impl QueryClient {
    /// Connects as a connect string says.
    ///
    /// Blocks for one walk over the endpoints, at most `connect_timeout`, `auth_timeout_ms` and
    /// `server_info_timeout_ms` for each (QRY-01).
    ///
    /// # Errors
    ///
    /// `Config`: the string. `Transport`, `Auth`, `RoleMismatch`, `ProtocolVersion`: no endpoint could
    /// be used; the error says for each what happened.
    pub fn from_conf(conf: &str) -> Result<QueryClient> {
        QueryClient::builder().conf(conf)?.build()
    }

    /// Connects as the environment variable `QDB_CLIENT_CONF` says.
    ///
    /// # Errors
    ///
    /// As [`QueryClient::from_conf`]; `Config` if the variable is unset, empty or not UTF-8.
    pub fn from_env() -> Result<QueryClient> {
        QueryClientBuilder { config: Config::from_env()?, lazy: false }.build()
    }

    /// Starts a builder, for settings that come one by one, and for a client that connects later.
    pub fn builder() -> QueryClientBuilder {
        QueryClientBuilder::default()
    }

    /// A client in that world, not connected yet.
    pub(crate) fn with_env(config: &QueryConfig, env: &Env) -> Result<QueryClient> {
        Ok(QueryClient { session: Session::new(Settings::new(config), env)? })
    }

    /// Connects now, unless the connection is there.
    ///
    /// Blocks and fails as [`QueryClient::from_conf`].
    pub(crate) fn connect(&mut self) -> Result<()> {
        let never = CancelHandle::new(self.session.wake().clone());
        match self.session.ready(&never) {
            Ok(()) => Ok(()),
            Err(NotConnected::Nobody(failure)) => Err(failure.error),
            Err(NotConnected::Cancelled) => {
                Err(Error::new(ErrorKind::Cancelled, "connecting was interrupted"))
            }
        }
    }

    /// Starts a query; nothing is sent before it is run. `sql` may have placeholders `$1`, `$2` and so
    /// on, and is a single statement of at most 1 MiB.
    pub fn query(&mut self, sql: &str) -> Query<'_> {
        Query::new(&mut self.session, sql)
    }

    /// Runs a statement for its effect (DDL, INSERT, UPDATE) and waits for its end. For binds and
    /// options, see [`Query::execute`].
    ///
    /// Blocks until the statement has ended, however long that takes.
    ///
    /// # Errors
    ///
    /// As [`Query::execute`]: `InvalidCall` if it returns rows, and see [`Error::in_doubt`] when the
    /// connection was lost.
    pub fn execute(&mut self, sql: &str) -> Result<Executed> {
        self.query(sql).execute()
    }

    /// The server of the connection; `None` if there is none at the moment.
    pub fn server_info(&self) -> Option<&ServerInfo> {
        self.session.info().map(|info| &**info)
    }

    /// What the client has done so far, readable from any thread, also while a query runs.
    pub fn counters(&self) -> QueryCounters {
        self.session.counters().clone()
    }
}

impl QueryClientBuilder {
    /// Takes a connect string; at most one.
    ///
    /// # Errors
    ///
    /// `Config`, with the position in the string.
    pub fn conf(mut self, conf: &str) -> Result<QueryClientBuilder> {
        self.config.load(conf)?;
        Ok(self)
    }

    /// Sets a key by its name, as [`Config::set`].
    ///
    /// # Errors
    ///
    /// `Config` for an unknown key, or a duration for a key that is none.
    pub fn set(mut self, key: &str, value: impl Into<ConfigValue>) -> Result<QueryClientBuilder> {
        self.config.set(key, value)?;
        Ok(self)
    }

    /// Takes a whole configuration in the place of what was set so far.
    pub fn config(mut self, config: Config) -> QueryClientBuilder {
        self.config = config;
        self
    }

    /// Connects when the first query is run, not when the client is built (QRY-02).
    pub fn lazy(mut self) -> QueryClientBuilder {
        self.lazy = true;
        self
    }

    /// Builds the client, and connects unless it is [`lazy`](QueryClientBuilder::lazy).
    ///
    /// Blocks and fails as [`QueryClient::from_conf`].
    pub fn build(self) -> Result<QueryClient> {
        let config = self.config.query()?;
        let connector = setup::connector(&config.common, Arc::new(SystemClock))?;
        let mut client = QueryClient::with_env(&config, &Env::system(connector))?;
        if !self.lazy {
            client.connect()?;
        }
        Ok(client)
    }
}
