//! How a sender is made.

use super::autoflush::AutoFlush;
use super::buffer::{Buffer, Sizes};
use super::delivery::Rules;
use super::interner::{Bounds, Interner};
use super::io_loop::{Parts, Thread};
use super::rejections::Policies;
use super::sender::{Sender, Settings};
use super::shared::Shared;
use super::table::NameRules;
use crate::config::{Config, ConfigValue, ConnectMode, IngestConfig, Key};
use crate::dial::{Connected, Dialer, setup};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::health::Backoff;
use crate::store::{self, Appender, Cursor, Epochs, Ledger, Storage, SymbolLog};
use crate::time::{Deadline, SystemClock};
use crate::transport::Wake;
use std::sync::Arc;
use std::time::Duration;

/// Makes a [`Sender`]: a connect string, and calls for what is set beside it. A call wins over the
/// string, whichever comes first.
///
/// ```no_run
/// use qwp::{ConnectMode, Sender};
/// use std::time::Duration;
///
/// let sender = Sender::builder()
///     .conf("ws::addr=db-a:9000,db-b:9000;auto_flush_rows=5000;")?
///     .initial_connect(ConnectMode::Async)
///     .set("close_flush_timeout_millis", Duration::from_secs(10))?
///     .build()?;
/// # drop(sender);
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct SenderBuilder {
    config: Config,
}

impl Sender {
    /// A sender from a connect string; [`Config::reference`](crate::Config::reference) lists its keys.
    ///
    /// Blocks as [`SenderBuilder::build`].
    ///
    /// # Errors
    ///
    /// As [`SenderBuilder::build`].
    pub fn from_conf(conf: &str) -> Result<Sender> {
        Sender::builder().conf(conf)?.build()
    }

    /// A sender from the connect string in the environment variable `QDB_CLIENT_CONF`.
    ///
    /// # Errors
    ///
    /// `Config` if the variable is unset, empty or not UTF-8; else as [`SenderBuilder::build`].
    pub fn from_env() -> Result<Sender> {
        SenderBuilder { config: Config::from_env()? }.build()
    }

    /// Starts with nothing set.
    pub fn builder() -> SenderBuilder {
        SenderBuilder::default()
    }
}

impl From<Config> for SenderBuilder {
    fn from(config: Config) -> SenderBuilder {
        SenderBuilder { config }
    }
}

impl SenderBuilder {
    /// Reads a connect string.
    ///
    /// # Errors
    ///
    /// `Config` for a string that breaks the form, and for a second one.
    pub fn conf(mut self, conf: &str) -> Result<SenderBuilder> {
        self.config.load(conf)?;
        Ok(self)
    }

    /// Sets a key of the connect string.
    ///
    /// # Errors
    ///
    /// As [`Config::set`](crate::Config::set).
    pub fn set(mut self, key: &str, value: impl Into<ConfigValue>) -> Result<SenderBuilder> {
        self.config.set(key, value)?;
        Ok(self)
    }

    /// What [`build`](SenderBuilder::build) does while no server can be reached
    /// (`initial_connect_retry`).
    pub fn initial_connect(mut self, mode: ConnectMode) -> SenderBuilder {
        self.config.put(Key::InitialConnectRetry, mode);
        self
    }

    /// Makes the sender.
    ///
    /// With [`ConnectMode::Off`] it connects in one round over the endpoints, which blocks for at most
    /// `connect_timeout + auth_timeout_ms` for each. With [`ConnectMode::Sync`] it tries round after
    /// round for `reconnect_max_duration_millis`. With [`ConnectMode::Async`] it does not block: the
    /// sender connects in the background, and rows wait in the store (INIT-01).
    ///
    /// # Errors
    ///
    /// `Config` for settings that do not work. `StoreLocked` if another sender owns the slot in `sf_dir`,
    /// `Store` if that cannot be opened. For the first two modes what the last round came to:
    /// `Transport`, `Auth`, `RoleMismatch` or `ProtocolVersion`, with a failure for each endpoint.
    pub fn build(self) -> Result<Sender> {
        let config = self.config.ingest()?;
        let env = Env::system(setup::connector(&config.common, Arc::new(SystemClock))?);
        open(&config, &env)
    }
}

/// Makes a sender in this environment.
pub(crate) fn open(config: &IngestConfig, env: &Env) -> Result<Sender> {
    let Ends { appender, cursor, ledger, log, symbols, storage } = store(config, env)?;
    let started = start(config, env, (cursor, ledger, symbols));
    let (shared, io) = match started {
        Ok(started) => started,
        Err(error) => {
            // What a slot holds stays there; the next try finds it unlocked.
            drop(appender);
            let closed = storage.map_or(Ok(()), |storage| storage.close(CLOSE_LIMIT));
            closed.unwrap_or_else(|e| log::warn!("{e}"));
            return Err(error);
        }
    };
    let recovered = storage.as_ref().map_or(0, Storage::recovered);
    shared.tally.frames_recovered.add(recovered);
    let mut rng = env.rng();
    let rules = NameRules { max_bytes: config.max_name_len, allow_timestamp: config.allow_timestamp_column };
    let interner = Interner::resume(log, rng.u64(..), Bounds::SERVER);
    let sizes = Sizes { first_bytes: config.init_buf_size, max_bytes: config.max_buf_size };
    let buffer = Buffer::new(interner, rules, sizes, rng.u64(..));
    let settings = Settings {
        append_deadline: config.store.append_deadline,
        close_timeout: config.close_flush_timeout,
        transaction: config.transaction,
    };
    let auto_flush = auto_flush(config);
    let clock = Arc::clone(&env.clock);
    Ok(Sender::new(buffer, appender, auto_flush, shared, clock, settings, Some(io)).in_slot(storage))
}

/// How long giving up a slot may take when no sender comes of it.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// A store, by its ends.
struct Ends {
    appender: Appender,
    cursor: Cursor,
    ledger: Arc<Ledger>,
    log: SymbolLog,
    symbols: Epochs,
    storage: Option<Storage>,
}

/// Opens the store, in memory or in its slot.
fn store(config: &IngestConfig, env: &Env) -> Result<Ends> {
    let sizes =
        store::Config { segment_bytes: config.store.segment_bytes, total_bytes: config.store.total_bytes };
    let Some(root) = &config.store.dir else {
        let (appender, cursor, ledger) = store::memory(sizes)?;
        let (log, mirror) = store::symbols();
        return Ok(Ends { appender, cursor, ledger, log, symbols: mirror.into(), storage: None });
    };
    let slot = store::SlotConfig {
        dir: root.join(&config.store.sender_id),
        sizes,
        durability: config.store.durability,
        sync_interval: config.store.sync_interval,
    };
    let site = store::Site {
        disk: Arc::clone(&env.disk),
        clock: Arc::clone(&env.clock),
        keeper: env.keeper.clone(),
    };
    // The events were logged.
    let (opened, _events) = store::open(&slot, &site)?;
    let store::Opened { appender, cursor, ledger, symbols: (log, symbols), storage } = opened;
    Ok(Ends { appender, cursor, ledger, log, symbols, storage: Some(storage) })
}

/// Makes the first connection, if that is to be waited for, and starts the I/O thread.
fn start(
    config: &IngestConfig,
    env: &Env,
    (cursor, ledger, symbols): (Cursor, Arc<Ledger>, Epochs),
) -> Result<(Arc<Shared>, Thread)> {
    let no_descriptor = |e| Error::new(ErrorKind::Store, "cannot make a wake-up").caused_by(e);
    let shared = Arc::new(Shared::new(ledger, &*env.clock).map_err(no_descriptor)?);
    let mut dialer = Dialer::new(Arc::clone(&env.connector), setup::ingress(config));
    let first = connect(config, env, &mut dialer, &shared.wake)?;
    let io = Thread::start(Parts {
        shared: Arc::clone(&shared),
        clock: Arc::clone(&env.clock),
        rng: env.rng(),
        dialer,
        cursor,
        symbols,
        rules: rules(config),
        first,
    });
    let io = io.map_err(|e| Error::new(ErrorKind::Store, "cannot start the I/O thread").caused_by(e))?;
    Ok((shared, io))
}

fn auto_flush(config: &IngestConfig) -> AutoFlush {
    if config.transaction {
        return AutoFlush::OFF;
    }
    let count = |count: Option<u64>| count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let auto_flush = &config.auto_flush;
    AutoFlush::new(count(auto_flush.rows), count(auto_flush.bytes), auto_flush.interval)
}

fn rules(config: &IngestConfig) -> Rules {
    let rejections = &config.rejections;
    Rules {
        policies: Policies::new(rejections),
        rejections_max: u32::try_from(rejections.max_frame_rejections).unwrap_or(u32::MAX),
        poison_window: rejections.escalation_window_set.then_some(rejections.escalation_window),
        backoff_initial: config.reconnect.initial_backoff,
        backoff_max: config.reconnect.max_backoff,
    }
}

/// The initial connect on the caller's thread (INIT-01).
fn connect(config: &IngestConfig, env: &Env, dialer: &mut Dialer, wake: &Wake) -> Result<Option<Connected>> {
    if config.connect.mode == ConnectMode::Async {
        return Ok(None);
    }
    let budget = match config.connect.mode {
        ConnectMode::Sync => config.reconnect.max_duration,
        _ => Duration::ZERO,
    };
    let deadline = Deadline::after(env.clock.now(), budget);
    let mut backoff = Backoff::ingest(config.reconnect.initial_backoff, config.reconnect.max_backoff);
    let mut rng = env.rng();
    loop {
        let failure = match dialer.round(wake, &mut |_| Ok(())) {
            Ok(connected) => return Ok(Some(connected)),
            Err(failure) => failure,
        };
        let is_final = matches!(failure.error.kind(), ErrorKind::Auth | ErrorKind::DurableAckUnsupported);
        let pause = match failure.all_role_rejected {
            true => backoff.role_reject(&mut rng),
            false => backoff.next(&mut rng),
        };
        // No attempt starts past the deadline.
        let left = deadline.remaining(env.clock.now()).unwrap_or(pause);
        if is_final || left <= pause {
            return Err(failure.error);
        }
        log::warn!("{}; next round in {} ms", failure.error, pause.as_millis());
        env.clock.sleep(pause);
    }
}
