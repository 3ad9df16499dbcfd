//! Builds that check every certificate.

use crate::error::{Error, ErrorKind, Result};
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};

/// Refused (CONN-09).
pub(super) fn accept_any(_builder: ConfigBuilder<ClientConfig, WantsVerifier>) -> Result<ClientConfig> {
    Err(Error::new(ErrorKind::Config, "certificates cannot go unchecked")
        .with("key", "tls_verify")
        .because("the crate was built without its feature insecure-tls"))
}
