//! What both directions read.

use super::endpoints::Endpoint;
use super::keys::Key;
use super::secret::{Credential, Secret, is_printable_ascii, is_valid_token};
use super::tls::TlsConfig;
use super::value::invalid;
use super::values::Values;
use crate::error::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

/// The keys of both sides.
#[derive(Debug, Clone)]
pub(crate) struct CommonConfig {
    /// At least one.
    pub(crate) endpoints: Arc<[Endpoint]>,
    pub(crate) credential: Credential,
    pub(crate) tls: TlsConfig,
    /// Bounds TLS handshake and upgrade together (CONN-01).
    pub(crate) auth_timeout: Duration,
    /// Bounds name look-up and TCP connect together (CONN-01).
    pub(crate) connect_timeout: Duration,
    /// Printable ASCII.
    pub(crate) client_id: String,
}

impl CommonConfig {
    pub(super) fn new(values: &Values) -> Result<CommonConfig> {
        if values.endpoints.is_empty() {
            let e = Error::new(ErrorKind::Config, "no endpoint").with("key", "addr");
            return Err(e.because("wanted addr=host:port;"));
        }
        let credential = credential(values)?;
        Ok(CommonConfig {
            endpoints: values.endpoints.as_slice().into(),
            credential,
            tls: TlsConfig::new(values)?,
            auth_timeout: values.millis(Key::AuthTimeoutMs),
            connect_timeout: values.millis(Key::ConnectTimeout),
            client_id: client_id(values)?,
        })
    }
}

fn credential(values: &Values) -> Result<Credential> {
    let basic = match (values.text(Key::Username), values.text(Key::Password)) {
        (Some(username), Some(password)) => Some((username, password)),
        (None, None) => None,
        _ => return Err(values.conflict(Key::Username, Key::Password, "both or neither are needed")),
    };
    match (basic, values.text(Key::Token)) {
        (None, None) => Ok(Credential::None),
        (Some(_), Some(_)) => Err(values.conflict(
            Key::Username,
            Key::Token,
            "one credential is enough: user and password, or a token",
        )),
        (Some((username, _)), None) if username.contains(':') => {
            Err(refused(values, Key::Username, "HTTP Basic cannot carry a `:` in the user's name"))
        }
        (Some((username, password)), None) => {
            Ok(Credential::Basic { username: username.to_owned(), password: Secret::new(password) })
        }
        (None, Some(token)) if !is_valid_token(token) => {
            Err(refused(values, Key::Token, "a token is printable ASCII and not blank"))
        }
        (None, Some(token)) => Ok(Credential::Bearer(Secret::new(token))),
    }
}

fn client_id(values: &Values) -> Result<String> {
    let text = values.text(Key::ClientId).unwrap_or(Key::ClientId.spec().default);
    if !is_printable_ascii(text) {
        return Err(refused(values, Key::ClientId, "a header holds printable ASCII only"));
    }
    Ok(text.to_owned())
}

/// The error of a value that is in range but cannot be.
#[cold]
pub(super) fn refused(values: &Values, key: Key, why: &'static str) -> Error {
    let spec = key.spec();
    invalid(spec, values.written(key).unwrap_or(spec.name), values.text_of(key), why)
}
