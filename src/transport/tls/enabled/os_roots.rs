//! The operating system's roots.

use crate::error::{Error, ErrorKind, Result};
use rustls::pki_types::CertificateDer;

/// Reads them; this can take a while. Some may be broken: only none at all is an error.
pub(super) fn load() -> Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    match found.errors.into_iter().next() {
        Some(e) if found.certs.is_empty() => {
            Err(Error::new(ErrorKind::Config, "the operating system's roots cannot be read").caused_by(e))
        }
        _ => Ok(found.certs),
    }
}
