//! Builds without the operating system's roots.

use crate::error::{Error, ErrorKind, Result};
use rustls::pki_types::CertificateDer;

/// Refused.
pub(super) fn load() -> Result<Vec<CertificateDer<'static>>> {
    Err(Error::new(ErrorKind::Config, "the operating system's roots cannot be used")
        .with("key", "tls_ca")
        .because("the crate was built without its feature os-roots"))
}
