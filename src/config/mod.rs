//! One connect string (CONF).
//!
//! `keys` is the registry that everything else reads. `parse` splits a string into settings, `values`
//! reads those of one side, and `common`, `ingest`, `query` and `pool` make typed views of them, each
//! of which looks at its own keys and the common ones only (CONF-04).

mod common;
mod docs;
mod endpoints;
mod hints;
mod ingest;
mod keys;
mod parse;
#[allow(dead_code, reason = "for the pool")]
mod pool;
mod query;
mod secret;
mod setting;
mod tls;
mod value;
mod values;
mod words;

pub use setting::ConfigValue;
pub use words::{Compression, ConnectMode, Durability, RejectionPolicy, Target, TlsCa, TlsVerify};

pub(crate) use common::CommonConfig;
pub(crate) use endpoints::Endpoint;
pub(crate) use ingest::{ConnectStart, IngestConfig, RejectionConfig};
pub(crate) use keys::Key;
pub(crate) use pool::PoolConfig;
pub(crate) use query::{FailoverConfig, QueryConfig};
pub(crate) use tls::TlsRoots;

use crate::error::{Error, ErrorKind, Result};
use keys::Side;
use setting::Setting;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use values::Values;

/// The environment variable that [`Config::from_env`] reads.
const VARIABLE: &str = "QDB_CLIENT_CONF";

/// The settings of a client: a connect string, and what was set beside it.
///
/// One string configures senders, queries and the pool; each looks at its own keys and the common ones,
/// and accepts the others whatever their values. What a value means is therefore checked where it is
/// used, when a client is built; [`parse`](Config::parse) and [`set`](Config::set) check the form and
/// that the keys exist. [`Config::reference`] lists the keys.
///
/// `Debug` and `Display` show everything but secrets, which they replace by `***`.
///
/// ```
/// use qwp::Config;
/// use std::time::Duration;
///
/// let mut config = Config::parse("ws::addr=db-a:9000,db-b:9000;token=secret;")?;
/// config.set("auth_timeout_ms", Duration::from_secs(5))?;
/// assert_eq!(config.to_string(), "ws::addr=db-a:9000,db-b:9000;token=***;auth_timeout_ms=5000;");
///
/// let e = Config::parse("ws::addr=db-a;auth_timeout=5000;").unwrap_err();
/// assert_eq!(
///     e.to_string(),
///     "unknown key: key auth_timeout, at byte 14: did you mean auth_timeout_ms?"
/// );
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Config {
    /// `None` until a string or a builder gives one; counts as `Ws` then.
    schema: Option<Schema>,
    /// Those of the string in its order, then those of the builder. A key comes once, but for `addr`
    /// in a string.
    settings: Vec<Setting>,
    /// Whether a string was read.
    loaded: bool,
}

/// The schema of a connect string: whether connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Schema {
    /// Plain TCP.
    #[default]
    Ws,
    /// TLS.
    Wss,
}

impl Config {
    /// Reads a connect string, `schema::key=value;key=value;` with schema `ws` or `wss`.
    ///
    /// A `;` inside a value is written `;;`.
    ///
    /// # Errors
    ///
    /// `Config`, with the position in bytes, for a string that breaks this form, an unknown key or a
    /// key that comes twice.
    pub fn parse(text: &str) -> Result<Config> {
        let mut config = Config::default();
        config.load(text)?;
        Ok(config)
    }

    /// Reads the connect string of the environment variable `QDB_CLIENT_CONF`.
    ///
    /// # Errors
    ///
    /// As [`parse`](Config::parse), and `Config` if the variable is unset, empty or not UTF-8.
    pub fn from_env() -> Result<Config> {
        Config::from_variable(std::env::var_os(VARIABLE))
    }

    fn from_variable(value: Option<OsString>) -> Result<Config> {
        let refused = |what| Error::new(ErrorKind::Config, what).with("variable", VARIABLE);
        let value = value.filter(|value| !value.is_empty());
        let Some(value) = value else {
            return Err(refused("unset or empty environment variable")
                .because("it has to hold a connect string, as in ws::addr=host:port;"));
        };
        let text = value.into_string();
        Config::parse(&text.map_err(|_| refused("environment variable is not UTF-8"))?)
    }

    /// Sets a key, by its name or alias; wins over the string, and over an earlier call.
    ///
    /// Takes text as a connect string would hold it (a `;` is not doubled here), numbers, `bool`,
    /// `Duration` for the keys in milliseconds, and the enums of the keys that are words.
    ///
    /// # Errors
    ///
    /// `Config` for an unknown key, or a duration for a key that is none. The value itself is checked
    /// when a client that reads the key is built.
    pub fn set(&mut self, key: &str, value: impl Into<ConfigValue>) -> Result<&mut Config> {
        let Some((found, written)) = Key::find(key) else {
            return Err(parse::unknown(&crate::error::printable(key)).because(hints::advice(key)));
        };
        let value = value.into();
        if value.is_duration() && !found.spec().kind.is_duration() {
            return Err(Error::new(ErrorKind::Config, "a key that is not a duration").with("key", written));
        }
        self.replace(Setting { key: found, written, text: value.into_text() });
        Ok(self)
    }

    /// The keys with their defaults and meanings, as tables in Markdown.
    pub fn reference() -> String {
        docs::table()
    }

    /// How a sender made from this comes to its first connection, after all keys that decide it: if
    /// `initial_connect_retry` is not set, any `reconnect_*` key that is makes it
    /// [`ConnectMode::Sync`].
    ///
    /// # Errors
    ///
    /// `Config` if a key of senders has a value that it does not take.
    pub fn connect_mode(&self) -> Result<ConnectMode> {
        Ok(self.connect_start()?.mode)
    }

    /// As [`set`](Config::set), for builders, which know the key and its type.
    pub(crate) fn put(&mut self, key: Key, value: impl Into<ConfigValue>) {
        let text = value.into().into_text();
        self.replace(Setting { key, written: key.spec().name, text });
    }

    /// Adds the settings of a connect string. What was set by calls before or after wins over it.
    pub(crate) fn load(&mut self, text: &str) -> Result<()> {
        if self.loaded {
            let e = Error::new(ErrorKind::Config, "a second connect string");
            return Err(e.because("put all keys into one, or set the others one by one"));
        }
        let (schema, mut settings) = parse::connect_string(text)?;
        settings.retain(|new| !self.settings.iter().any(|set| set.key == new.key));
        settings.append(&mut self.settings);
        self.settings = settings;
        self.schema = self.schema.or(Some(schema));
        self.loaded = true;
        Ok(())
    }

    /// The checked settings of a sender.
    pub(crate) fn ingest(&self) -> Result<IngestConfig> {
        let values = self.values(&[Side::Common, Side::Ingest])?;
        let config = IngestConfig::new(&values)?;
        warn_of(&config.decisions(&values));
        Ok(config)
    }

    /// The checked settings of a query client.
    pub(crate) fn query(&self) -> Result<QueryConfig> {
        QueryConfig::new(&self.values(&[Side::Common, Side::Query])?)
    }

    /// The checked settings of the facade: those of both sides, and its own.
    #[allow(dead_code, reason = "for the pool")]
    pub(crate) fn pool(&self) -> Result<PoolConfig> {
        let values = self.values(&[Side::Common, Side::Ingest, Side::Query, Side::Pool])?;
        let config = PoolConfig::new(&values)?;
        warn_of(&config.ingest.decisions(&values));
        Ok(config)
    }

    fn values(&self, sides: &[Side]) -> Result<Values> {
        let values = Values::read(self, sides)?;
        values.refuse_unsupported()?;
        Ok(values)
    }

    fn connect_start(&self) -> Result<ConnectStart> {
        Ok(ConnectStart::new(&Values::read(self, &[Side::Ingest])?))
    }

    fn replace(&mut self, new: Setting) {
        self.settings.retain(|setting| setting.key != new.key);
        self.settings.push(new);
    }
}

impl FromStr for Config {
    type Err = Error;

    /// As [`Config::parse`].
    fn from_str(text: &str) -> Result<Config> {
        Config::parse(text)
    }
}

impl fmt::Display for Config {
    /// A connect string with `***` in the place of each secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.schema.unwrap_or_default() {
            Schema::Ws => "ws::",
            Schema::Wss => "wss::",
        })?;
        self.settings.iter().try_for_each(|setting| write!(f, "{setting:?};"))
    }
}

impl fmt::Debug for Config {
    /// As `Display`, with the mode of the initial connect that follows from it (INIT-02).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Config(\"{self}\"")?;
        match self.connect_start() {
            Ok(ConnectStart { mode, promoted_by: Some(key) }) => {
                write!(f, ", initial connect {mode} because of {key})")
            }
            Ok(ConnectStart { mode, promoted_by: None }) => write!(f, ", initial connect {mode})"),
            Err(_) => f.write_str(")"),
        }
    }
}

/// Once a build.
fn warn_of(decisions: &[String]) {
    decisions.iter().for_each(|decision| log::warn!("{decision}"));
}

/// The body of the fuzz target for connect strings (SEC-04): any text gives settings or an error.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(config) = Config::parse(text) else { return };
    // A fuzzer must not choose which files are read.
    if config.settings.iter().any(|setting| setting.key == Key::TlsRoots) {
        return;
    }
    let _ = (config.ingest(), config.query(), config.pool());
    let again = Config::parse(&config.to_string());
    debug_assert!(again.is_ok(), "what is shown is a connect string: {config}");
}

#[cfg(test)]
mod tests;
