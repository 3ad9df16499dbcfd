//! The values of `addr` (CONF-06, CONF-12).

use crate::error::{Error, ErrorKind, Result, printable};
use std::fmt;
use std::net::Ipv6Addr;

/// Where servers listen unless the entry says otherwise.
const DEFAULT_PORT: u16 = 9000;
/// How many entries there may be.
const MAX_ENDPOINTS: usize = 1024;

/// One entry of `addr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Without brackets: for name look-up and TLS.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    /// The same text is the same endpoint; names are not looked up to tell.
    fn is_same(&self, other: &Endpoint) -> bool {
        self.port == other.port && self.host.eq_ignore_ascii_case(&other.host)
    }
}

impl fmt::Display for Endpoint {
    /// `host:port`, with brackets around an IPv6 address: for the `Host` header and for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Adds the entries of one value of `addr` to those before it.
pub(super) fn append(endpoints: &mut Vec<Endpoint>, list: &str) -> Result<()> {
    for text in list.split(',') {
        let endpoint = entry(text.trim()).map_err(|why| refused(text.trim(), why))?;
        if endpoints.iter().any(|known| known.is_same(&endpoint)) {
            return Err(refused(text.trim(), "the same endpoint is listed before"));
        }
        if endpoints.len() == MAX_ENDPOINTS {
            return Err(refused(text.trim(), "at most 1024 endpoints"));
        }
        endpoints.push(endpoint);
    }
    Ok(())
}

#[cold]
fn refused(text: &str, why: &'static str) -> Error {
    let e = Error::new(ErrorKind::Config, "invalid endpoint").with("key", "addr");
    // What stands before an `@` may be a password.
    let e = if text.contains('@') { e } else { e.with("entry", format_args!("\"{}\"", printable(text))) };
    e.because(why)
}

fn entry(text: &str) -> std::result::Result<Endpoint, &'static str> {
    if text.is_empty() {
        return Err("empty entry");
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => bracketed(rest)?,
        None => plain(text)?,
    };
    Ok(Endpoint { host: host.to_owned(), port: port.map_or(Ok(DEFAULT_PORT), parse_port)? })
}

/// Host and port of `v6]` or `v6]:port`.
fn bracketed(rest: &str) -> std::result::Result<(&str, Option<&str>), &'static str> {
    let (host, after) = rest.split_once(']').ok_or("no closing ] after the IPv6 address")?;
    let host = host.trim();
    let (address, zone) = host.split_once('%').map_or((host, None), |(address, zone)| (address, Some(zone)));
    if address.parse::<Ipv6Addr>().is_err() || zone.is_some_and(|zone| !is_name(zone)) {
        return Err("brackets hold an IPv6 address, as in [::1]:9000");
    }
    match after.trim() {
        "" => Ok((host, None)),
        after => match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None => Err("only :port may follow the closing ]"),
        },
    }
}

/// Host and port of `host` or `host:port`.
fn plain(text: &str) -> std::result::Result<(&str, Option<&str>), &'static str> {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    if port.is_some_and(|port| port.contains(':')) {
        return Err("more than one `:`; an IPv6 address is written in brackets, as in [::1]:9000");
    }
    let host = host.trim();
    if host.is_empty() {
        return Err("no host before the port");
    }
    if !is_name(host) {
        return Err("a host is letters, digits, `-`, `.` and `_`; write other names in punycode");
    }
    Ok((host, port))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
}

fn parse_port(text: &str) -> std::result::Result<u16, &'static str> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err("a port is 1 to 65535, in digits only"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(values: &[&str]) -> Result<Vec<String>> {
        let mut endpoints = Vec::new();
        values.iter().try_for_each(|list| append(&mut endpoints, list))?;
        Ok(endpoints.iter().map(Endpoint::to_string).collect())
    }

    #[test]
    fn conf_06_conf_12_entries_are_hosts_with_optional_ports() {
        for (text, wanted) in [
            ("h", "h:9000"),
            ("h:1", "h:1"),
            ("h:65535", "h:65535"),
            ("h:0009", "h:9"),
            (" h : 9 ", "h:9"),
            ("10.0.0.1", "10.0.0.1:9000"),
            ("a_b.example-x.com.:80", "a_b.example-x.com.:80"),
            ("[::1]", "[::1]:9000"),
            ("[::1]:8", "[::1]:8"),
            ("[ ::1 ] : 8", "[::1]:8"),
            ("[fe80::1%eth0]:8", "[fe80::1%eth0]:8"),
            ("[::ffff:1.2.3.4]", "[::ffff:1.2.3.4]:9000"),
        ] {
            assert_eq!(parse(&[text]).unwrap(), [wanted], "{text}");
        }
        assert_eq!(parse(&["a:1 , b", "c"]).unwrap(), ["a:1", "b:9000", "c:9000"]);
        let mut endpoints = Vec::new();
        append(&mut endpoints, "[::1]").unwrap();
        assert_eq!(endpoints[0].host, "::1");
    }

    #[test]
    fn conf_06_conf_12_bad_entries_say_why() {
        for (text, why) in [
            ("", "empty entry"),
            ("a,,b", "empty entry"),
            ("a,", "empty entry"),
            ("a, ,b", "empty entry"),
            (":9", "no host"),
            ("h:", "a port is"),
            ("h:0", "a port is"),
            ("h:65536", "a port is"),
            ("h:+9", "a port is"),
            ("h:-9", "a port is"),
            ("h:9x", "a port is"),
            ("h:0x9", "a port is"),
            ("::1", "[::1]:9000"),
            ("fe80::1:9000", "[::1]:9000"),
            ("a:1:2", "[::1]:9000"),
            ("[]", "brackets hold"),
            ("[h]", "brackets hold"),
            ("[1.2.3.4]:9", "brackets hold"),
            ("[::1%]", "brackets hold"),
            ("[::1", "no closing ]"),
            ("[::1]9", "only :port"),
            ("[::1]x:9", "only :port"),
            ("[::1]:", "a port is"),
            ("h/x", "a host is"),
            ("a b", "a host is"),
            ("h;", "a host is"),
            ("b\u{fc}cher.example", "punycode"),
        ] {
            let e = parse(&[text]).unwrap_err().to_string();
            assert!(e.contains(why) && e.contains("addr"), "{text}: {e}");
        }
        let e = parse(&["user:hunter2@h:9000"]).unwrap_err().to_string();
        assert!(!e.contains("hunter2"), "{e}");
    }

    /// CONF-06, CONF-12, trial C07.
    #[test]
    fn conf_06_duplicates_are_found_by_text_without_regard_to_case() {
        for values in [&["a:1,a:1"][..], &["a:1,A:1"], &["a,a:9000"], &["a", "a"], &["[::A],[::a]:9000"]] {
            let e = parse(values).unwrap_err().to_string();
            assert!(e.contains("listed before"), "{values:?}: {e}");
        }
        parse(&["localhost,127.0.0.1,a:1,a:2"]).unwrap();
    }

    #[test]
    fn conf_06_there_are_at_most_1024_entries() {
        let list = |count: usize| (0..count).map(|i| format!("h{i}")).collect::<Vec<_>>().join(",");
        assert_eq!(parse(&[&list(1024)]).unwrap().len(), 1024);
        assert!(parse(&[&list(1025)]).unwrap_err().to_string().contains("at most 1024"));
        assert!(parse(&[&list(1024), "x"]).is_err());
    }
}
