//! TLS by rustls with the ring provider, which is named explicitly: what else a program installs as
//! its default does not matter (T01).

#[cfg(not(feature = "tls"))]
mod disabled;
#[cfg(feature = "tls")]
mod enabled;

#[cfg(not(feature = "tls"))]
pub(crate) use disabled::TlsSetup;
#[cfg(not(feature = "tls"))]
pub(super) use disabled::TlsStream;
#[cfg(feature = "tls")]
pub(crate) use enabled::TlsSetup;
#[cfg(feature = "tls")]
pub(super) use enabled::TlsStream;

use std::fmt;
use std::path::PathBuf;

/// How a client checks the servers that it talks to.
#[derive(Debug, Clone)]
pub(crate) struct TlsOptions {
    pub(crate) roots: Roots,
    /// Whether to check at all; not doing so needs the feature `insecure-tls`.
    pub(crate) verify: bool,
}

/// What a server's certificate has to lead to.
#[derive(Debug, Clone)]
pub(crate) enum Roots {
    /// Mozilla's list, as the crate `webpki-roots` has it.
    Webpki,
    /// The operating system's; needs the feature `os-roots`.
    Os,
    /// Both; needs the feature `os-roots`.
    WebpkiAndOs,
    /// Those of a PEM file and no others: where it is, and its certificates in DER.
    PemFile(PathBuf, Vec<Vec<u8>>),
}

impl fmt::Display for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Roots::Webpki => f.write_str("the built-in webpki roots"),
            Roots::Os => f.write_str("the operating system's roots"),
            Roots::WebpkiAndOs => f.write_str("the built-in webpki roots and the operating system's"),
            Roots::PemFile(path, _) => write!(f, "the roots of {}", path.display()),
        }
    }
}
