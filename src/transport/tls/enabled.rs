//! The set-up of a client and the handshake of a connection.

mod explain;
mod stream;
#[cfg(test)]
mod tests;

#[cfg(feature = "insecure-tls")]
mod insecure;
#[cfg(not(feature = "insecure-tls"))]
#[path = "enabled/insecure_disabled.rs"]
mod insecure;
#[cfg(feature = "os-roots")]
mod os_roots;
#[cfg(not(feature = "os-roots"))]
#[path = "enabled/os_roots_disabled.rs"]
mod os_roots;

pub(in crate::transport) use stream::TlsStream;

use super::{Roots, TlsOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::time::{Clock, Deadline};
use crate::transport::halt::Halt;
use crate::transport::poll::{self, Interest};
use crate::transport::wake::Wake;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::fmt;
use std::net::TcpStream;
use std::sync::Arc;

/// Built once a client; clones share it, and with it the sessions that can be resumed.
#[derive(Clone)]
pub(crate) struct TlsSetup {
    config: Arc<ClientConfig>,
    /// For errors: which roots were used.
    roots: Arc<str>,
}

impl TlsSetup {
    /// Loads the roots.
    ///
    /// # Errors
    ///
    /// `Config` if a root does not parse, if the operating system has none, or if the crate was built
    /// without a feature that is needed.
    pub(crate) fn new(options: &TlsOptions) -> Result<TlsSetup> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::new(ErrorKind::Config, "cannot set TLS up").caused_by(e))?;
        let config = if options.verify {
            builder.with_root_certificates(root_store(&options.roots)?).with_no_client_auth()
        } else {
            insecure::accept_any(builder)?
        };
        Ok(TlsSetup { config: Arc::new(config), roots: options.roots.to_string().into() })
    }

    /// Does the handshake over a non-blocking socket. `host` is the name, or the address, that the
    /// certificate has to be valid for (CONN-09).
    pub(in crate::transport) fn handshake(
        &self,
        clock: &dyn Clock,
        host: &str,
        socket: TcpStream,
        wake: &Wake,
        deadline: Deadline,
    ) -> std::result::Result<TlsStream, Halt> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Halt::Failed(format!("{host} is no name that a certificate can be valid for")))?;
        let tls = ClientConnection::new(Arc::clone(&self.config), name).map_err(Halt::failed)?;
        let mut stream = TlsStream::new(socket, tls);
        let explain = |e| Halt::Failed(explain::handshake(&e, host, &self.roots));
        loop {
            let sent = stream.flush().map_err(explain)?;
            if sent && !stream.is_handshaking() {
                return Ok(stream);
            }
            if deadline.passed(clock.now()) {
                return Err(Halt::TimedOut);
            }
            if stream.advance().map_err(explain)? {
                continue;
            }
            let interest = if sent { Interest::Read } else { Interest::Both };
            Halt::unless_ready(poll::wait(clock, stream.socket(), interest, wake, deadline))?;
        }
    }
}

impl fmt::Debug for TlsSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSetup").field("roots", &self.roots).finish_non_exhaustive()
    }
}

fn root_store(roots: &Roots) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    if matches!(roots, Roots::Webpki | Roots::WebpkiAndOs) {
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if matches!(roots, Roots::Os | Roots::WebpkiAndOs) {
        // A system's store may hold what is none; only a store without any root is useless.
        let (added, _) = store.add_parsable_certificates(os_roots::load()?);
        if added == 0 && matches!(roots, Roots::Os) {
            return Err(Error::new(ErrorKind::Config, "the operating system has no roots to trust")
                .because("use tls_ca=webpki_roots, or name a PEM file by tls_roots"));
        }
    }
    if let Roots::PemFile(path, certificates) = roots {
        for certificate in certificates {
            store.add(CertificateDer::from(certificate.as_slice())).map_err(|e| {
                Error::new(ErrorKind::Config, "a root does not parse")
                    .with("file", path.display())
                    .caused_by(e)
            })?;
        }
    }
    Ok(store)
}
