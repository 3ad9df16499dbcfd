//! Why a handshake failed, for people (CONN-09, T02).

use rustls::{CertificateError, Error, InvalidMessage};
use std::io;

/// One line: what is wrong, and what was checked.
#[cold]
pub(super) fn handshake(error: &io::Error, host: &str, roots: &str) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match tls {
        Some(Error::InvalidCertificate(reason)) => certificate(reason, host, roots),
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "the server does not speak TLS: use ws if it has none".to_owned()
        }
        Some(other) => other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server ended the connection during the handshake".to_owned()
        }
        None => error.to_string(),
    }
}

fn certificate(reason: &CertificateError, host: &str, roots: &str) -> String {
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of {host} has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of {host} is not valid yet, by the clock of this machine")
        }
        CertificateError::UnknownIssuer => {
            format!("unknown issuer: the certificate of {host} leads to none of {roots}")
        }
        CertificateError::NotValidForName => format!("name mismatch: the certificate is not for {host}"),
        CertificateError::NotValidForNameContext { presented, .. } => {
            format!("name mismatch: the certificate is for {}, not for {host}", names(presented))
        }
        other => format!("the certificate of {host} was refused: {other} (checked by {roots})"),
    }
}

/// The names of a certificate; a server may present any number. rustls has them as `DnsName("a.b")`.
fn names(presented: &[String]) -> String {
    const SHOWN: usize = 5;
    if presented.is_empty() {
        return "no name".to_owned();
    }
    let inner = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
        inner.unwrap_or(name).trim_matches('"').to_owned()
    };
    let mut text = presented.iter().take(SHOWN).map(inner).collect::<Vec<_>>().join(", ");
    if presented.len() > SHOWN {
        text.push_str(" and others");
    }
    crate::error::printable(&text)
}
