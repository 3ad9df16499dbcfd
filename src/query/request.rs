//! A query as it is sent, to as many connections as it takes.

use super::info::ServerInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::egress::event::{CAPABILITY_QUERY_FLAGS, CAPABILITY_QUERY_TIMEOUT};
use crate::wire::request::{Bind, Query, QueryOptions, Request};
use std::time::Duration;

/// Placeholders at most (LIM-18).
const MAX_BINDS: usize = 1024;
/// Bytes of SQL at most (LIM-18).
const MAX_SQL_BYTES: usize = 1 << 20;
/// Bytes of a request at most: 95 % of what a server takes by default, as it announces no cap (LIM-18).
const MAX_REQUEST_BYTES: usize = 1_992_294;

/// SQL, binds and options: the same for every connection that the query is sent to (QFO-08).
#[derive(Debug)]
pub(super) struct Prepared {
    sql: String,
    binds: Vec<Bind<'static>>,
    initial_credit: u64,
    options: QueryOptions,
}

impl Prepared {
    /// Checks what a server does not, or would close the connection for (LIM-18).
    pub(super) fn new(
        sql: String,
        binds: Vec<Bind<'static>>,
        initial_credit: u64,
        reset_dict: bool,
        server_timeout: Option<Duration>,
    ) -> Result<Prepared> {
        check_limit("too much SQL", sql.len(), MAX_SQL_BYTES)?;
        check_limit("too many binds", binds.len(), MAX_BINDS)?;
        let timeout_ms = server_timeout.map(|timeout| {
            let ms = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
            ms.unsigned_abs().max(1)
        });
        let options = QueryOptions { reset_dict, timeout_ms };
        let prepared = Prepared { sql, binds, initial_credit, options };
        if prepared.query(0).max_len() > MAX_REQUEST_BYTES {
            check_limit("request too large", prepared.query(0).encode().len(), MAX_REQUEST_BYTES)?;
        }
        Ok(prepared)
    }

    pub(super) fn sql(&self) -> &str {
        &self.sql
    }

    /// Whether the server waits for credit at times.
    pub(super) fn has_credit(&self) -> bool {
        self.initial_credit > 0
    }

    /// The message for one connection.
    ///
    /// Fails if the server would ignore what was asked for (QRY-11).
    pub(super) fn message(&self, id: i64, server: &ServerInfo) -> Result<Vec<u8>> {
        let QueryOptions { reset_dict, timeout_ms } = self.options;
        let flags = CAPABILITY_QUERY_FLAGS;
        for (wanted, needed, what) in [
            (timeout_ms.is_some(), flags | CAPABILITY_QUERY_TIMEOUT, "query_timeout_ms"),
            (reset_dict, flags, "reset_dict"),
        ] {
            if wanted && server.capabilities & needed != needed {
                return Err(Error::new(ErrorKind::InvalidCall, "the server does not support an option")
                    .with("endpoint", &server.endpoint)
                    .with("option", what)
                    .because("it would be ignored; leave it out, or connect to a newer server"));
            }
        }
        Ok(self.query(id).encode())
    }

    fn query(&self, id: i64) -> Request<'_> {
        Request::Query(Query {
            request_id: id,
            sql: &self.sql,
            initial_credit: self.initial_credit,
            binds: &self.binds,
            options: self.options,
        })
    }
}

fn check_limit(what: &'static str, size: usize, limit: usize) -> Result<()> {
    if size <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::TooLarge, what).with("size", size).with("limit", limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::Role;
    use std::borrow::Cow;

    fn prepare(sql: String, binds: Vec<Bind<'static>>) -> Result<Prepared> {
        Prepared::new(sql, binds, 8 << 20, false, None)
    }

    fn server(capabilities: u32) -> ServerInfo {
        ServerInfo {
            endpoint: "db:9000".into(),
            role: Role::Standalone,
            epoch: 0,
            capabilities,
            clock_ns: 0,
            cluster_id: String::new(),
            node_id: String::new(),
            zone: None,
        }
    }

    #[test]
    fn lim_18_binds_and_sql_up_to_the_limit_and_no_further() {
        for (binds, fits) in [(0, true), (1024, true), (1025, false)] {
            let prepared = prepare("x".into(), vec![Bind::Long(Some(1)); binds]);
            assert_eq!(prepared.map_err(|e| e.kind()).err(), (!fits).then_some(ErrorKind::TooLarge));
        }
        for (bytes, fits) in [(1 << 20, true), ((1 << 20) + 1, false)] {
            let prepared = prepare("x".repeat(bytes), Vec::new());
            assert_eq!(prepared.map_err(|e| e.kind()).err(), (!fits).then_some(ErrorKind::TooLarge));
        }
    }

    #[test]
    fn lim_18_a_request_up_to_1992294_bytes_and_no_further() {
        let text = |bytes: usize| vec![Bind::Varchar(Some(Cow::from("y".repeat(bytes))))];
        let around =
            prepare("x".into(), text(0)).expect("small").message(1, &server(0)).expect("small").len();
        let largest = prepare("x".into(), text(MAX_REQUEST_BYTES - around)).expect("exactly the limit");
        assert_eq!(largest.message(1, &server(0)).expect("fits").len(), MAX_REQUEST_BYTES);
        let error = prepare("x".into(), text(MAX_REQUEST_BYTES - around + 1)).expect_err("one more");
        assert_eq!(error.to_string(), "request too large: size 1992295, limit 1992294");
    }

    #[test]
    fn qry_11_flags_are_sent_only_to_a_server_that_announces_them() {
        let ms = Some(Duration::from_millis(1000));
        for (reset, timeout, capabilities, sent) in [
            (false, None, 0x00, true),
            (true, None, 0x00, false),
            (true, None, 0x08, false),
            (true, None, 0x02, true),
            (false, ms, 0x02, false),
            (false, ms, 0x08, false),
            (false, ms, 0x0a, true),
            (true, ms, 0x0a, true),
        ] {
            let prepared = Prepared::new("SELECT 1".into(), Vec::new(), 0, reset, timeout).expect("small");
            let message = prepared.message(1, &server(capabilities));
            assert_eq!(message.is_ok(), sent, "reset {reset}, {timeout:?}, {capabilities:#x}");
            if let Err(e) = message {
                assert_eq!(e.kind(), ErrorKind::InvalidCall);
            }
        }
    }
}
