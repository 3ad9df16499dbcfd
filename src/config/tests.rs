//! One file a question: do all keys arrive, what goes together, what is shown, which roots are taken.

mod display;
mod registry;
mod surfaces;
mod tls;
mod together;

use super::ingest::AutoFlush;
use super::pool::PoolRange;
use super::secret::Credential;
use super::*;
use std::time::Duration;

/// The reason why a side refuses a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Ingest,
    Query,
    Pool,
}

const VIEWS: [View; 3] = [View::Ingest, View::Query, View::Pool];

/// Builds one view of a connect string.
fn build(view: View, text: &str) -> Result<()> {
    let config = Config::parse(text)?;
    match view {
        View::Ingest => config.ingest().map(drop),
        View::Query => config.query().map(drop),
        View::Pool => config.pool().map(drop),
    }
}

/// The text of the error of a view that refuses the string.
fn refused(view: View, text: &str) -> String {
    match build(view, text) {
        Ok(()) => panic!("{view:?} took {text}"),
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Config, "{text}");
            e.to_string()
        }
    }
}

fn ingest(text: &str) -> IngestConfig {
    Config::parse(text).and_then(|c| c.ingest()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn query(text: &str) -> QueryConfig {
    Config::parse(text).and_then(|c| c.query()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn pool(text: &str) -> PoolConfig {
    Config::parse(text).and_then(|c| c.pool()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The view of a sender whatever this version supports.
fn ingest_in_full(text: &str) -> Result<IngestConfig> {
    let config = Config::parse(text)?;
    IngestConfig::new(&Values::read(&config, &[Side::Common, Side::Ingest])?)
}

#[test]
fn sec_04_a_fuzzer_s_connect_strings_give_settings_or_errors() {
    for text in [
        "",
        "ws::addr=h;zone=a;;;;b;",
        "wss::addr=h:1,[::1];user=;",
        "ws::addr=h;tls_roots=/dev/zero",
        "ws::addr=h;auto_flush_bytes=9223372036854775807t",
        "ws::addr=h;init_buf_size=9223372036854775807;max_buf_size=9223372036854775807;",
    ] {
        fuzz_config(text.as_bytes());
    }
    fuzz_config(&[0xff, b':', b':']);
}

proptest::proptest! {
    #[test]
    fn sec_04_any_text_behind_a_schema_is_taken_or_refused(text in "wss?::(addr=h;)?[a-z_0-9;=:,\\[\\]]{0,60}") {
        fuzz_config(text.as_bytes());
    }
}
