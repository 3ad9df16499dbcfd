//! What a server answered instead of a result, as an error that shows where (wire.md 8.5, 8.7).

use crate::error::{Error, ErrorKind, printable};

/// The query was cancelled, by this client or on the server.
pub(super) const CANCELLED: u8 = 0x0a;
const INTERNAL: u8 = 0x06;
const QUERY_TIMEOUT: u8 = 0x0e;

/// UTF-16 units of SQL shown on either side of the position.
const CONTEXT: usize = 40;

/// The error for a QUERY_ERROR.
#[cold]
pub(super) fn error(sql: &str, endpoint: &str, status: u8, message: &str) -> Error {
    let kind = match status {
        CANCELLED => ErrorKind::Cancelled,
        QUERY_TIMEOUT => ErrorKind::Timeout,
        _ => ErrorKind::Query,
    };
    let (position, text) = split_position(message);
    let mut error = Error::new(kind, "the server did not complete the query")
        .with("endpoint", endpoint)
        .with("status", status_name(status));
    if let Some(position) = position {
        error = error.with("position", position);
        if let Some(excerpt) = excerpt(sql, position) {
            error = error.with("at", format_args!("`{excerpt}`"));
        }
    }
    let mut why = printable(text);
    if status == INTERNAL && text.contains("unsupported column type") {
        why.push_str("; cast the column in the query to a type that can be sent");
    }
    error.because(why).answered(status, printable(message), position)
}

fn status_name(status: u8) -> String {
    match status {
        0x03 => "schema mismatch".into(),
        0x05 => "parse error".into(),
        INTERNAL => "internal error".into(),
        0x08 => "security error".into(),
        CANCELLED => "cancelled".into(),
        0x0b => "limit exceeded".into(),
        QUERY_TIMEOUT => "query time-out".into(),
        other => format!("{other:#04x}"),
    }
}

/// The position in front of a message, if it tells a usable one, and the rest. It counts UTF-16 units
/// from 0; negative ones mean that it is not known.
fn split_position(message: &str) -> (Option<u32>, &str) {
    let split = message.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match split.map(|(number, rest)| (number.parse::<i32>(), rest.trim_start())) {
        Some((Ok(number), rest)) => (u32::try_from(number).ok(), rest),
        _ => (None, message),
    }
}

/// The SQL around a position, which `>>>` marks; `None` if it lies behind the end.
fn excerpt(sql: &str, position: u32) -> Option<String> {
    let position = position as usize;
    let mut units = 0;
    let (mut before, mut after) = (String::new(), String::new());
    for c in sql.chars() {
        let (from, to) = (position.saturating_sub(CONTEXT), position.saturating_add(CONTEXT));
        match units {
            at if at >= to => break,
            at if at >= position => after.push(c),
            at if at >= from => before.push(c),
            _ => {}
        }
        units += c.len_utf16();
    }
    (units >= position).then(|| format!("{}>>>{}", printable(&before), printable(&after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sql_error_shows_the_text_around_its_position() {
        let e = error("select nocol from t", "db:9000", 0x05, "[7] Invalid column: nocol");
        assert_eq!(
            e.to_string(),
            "the server did not complete the query: endpoint db:9000, status parse error, position 7, \
             at `select >>>nocol from t`: Invalid column: nocol"
        );
        assert_eq!(e.kind(), ErrorKind::Query);
        let status = e.server_status().expect("the answer");
        assert_eq!((status.status, status.position), (0x05, Some(7)));
        assert_eq!(status.message, "[7] Invalid column: nocol");
    }

    #[test]
    fn positions_count_utf_16_units() {
        assert_eq!(
            excerpt("select '\u{1f600}\u{e9}', x", 14).as_deref(),
            Some("select '\u{1f600}\u{e9}', >>>x")
        );
        assert_eq!(excerpt("ab", 2).as_deref(), Some("ab>>>"));
        assert_eq!(excerpt("ab", 3), None);
        let long = "x".repeat(500);
        assert_eq!(excerpt(&long, 250).map(|shown| shown.len()), Some(2 * CONTEXT + 3));
    }

    #[test]
    fn a_message_without_a_usable_position_is_shown_whole() {
        for (message, position, rest) in [
            ("[-1] timeout, query aborted", None, "timeout, query aborted"),
            ("[-105] table does not exist", None, "table does not exist"),
            ("[0] table does not exist", Some(0), "table does not exist"),
            ("bind: truncated LONG", None, "bind: truncated LONG"),
            ("[x] y", None, "[x] y"),
            ("[1", None, "[1"),
        ] {
            assert_eq!(split_position(message), (position, rest));
        }
    }

    #[test]
    fn qry_05_a_column_type_that_does_not_travel_comes_with_the_hint_to_cast() {
        let e = error("select null", "db:9000", 0x06, "QWP egress: unsupported column type NULL");
        assert!(e.to_string().ends_with(
            "unsupported column type NULL; cast the column in the query to a type that can be sent"
        ));
    }

    #[test]
    fn statuses_have_the_kinds_that_callers_act_on() {
        for (status, kind) in [
            (0x03, ErrorKind::Query),
            (0x06, ErrorKind::Query),
            (0x08, ErrorKind::Query),
            (0x0a, ErrorKind::Cancelled),
            (0x0b, ErrorKind::Query),
            (0x0e, ErrorKind::Timeout),
            (0x77, ErrorKind::Query),
        ] {
            let e = error("x", "db:9000", status, "no");
            assert_eq!(e.kind(), kind);
            assert_eq!(e.server_status().expect("the answer").status, status);
        }
        assert!(error("x", "db:9000", 0x77, "no").to_string().contains("status 0x77"));
    }
}
