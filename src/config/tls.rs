//! The TLS keys (CONF-13).

#[cfg(not(feature = "tls"))]
#[path = "tls/disabled.rs"]
mod pem;
#[cfg(feature = "tls")]
#[path = "tls/enabled.rs"]
mod pem;

use super::Schema;
use super::common::refused;
use super::keys::Key;
use super::values::Values;
use super::words::{TlsCa, TlsVerify};
use crate::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TLS: bool = cfg!(feature = "tls");
const OS_ROOTS: bool = cfg!(feature = "os-roots");
const INSECURE_TLS: bool = cfg!(feature = "insecure-tls");

/// No bundle of roots comes near it; a device or a log file named by mistake is refused.
const MAX_ROOTS_BYTES: u64 = 16 << 20;

/// Whether and how connections are encrypted.
#[derive(Debug, Clone)]
pub(crate) struct TlsConfig {
    /// Schema `wss`.
    pub(crate) enabled: bool,
    pub(crate) verify: TlsVerify,
    pub(crate) roots: TlsRoots,
}

/// Where the roots come from that a server's certificate has to lead to.
#[derive(Debug, Clone)]
pub(crate) enum TlsRoots {
    Webpki,
    Os,
    WebpkiAndOs,
    /// Read from a file when the configuration was checked, so that a client that was built can connect.
    Pem {
        path: PathBuf,
        /// DER, at least one; each was parsed as a root.
        certificates: Arc<[Vec<u8>]>,
    },
}

impl TlsConfig {
    pub(super) fn new(values: &Values) -> Result<TlsConfig> {
        check_keys(values)?;
        let verify: TlsVerify = values.word(Key::TlsVerify);
        if values.schema == Schema::Wss && !TLS {
            return Err(needs_feature("schema wss", "tls"));
        }
        if verify == TlsVerify::UnsafeOff && !INSECURE_TLS {
            return Err(needs_feature("tls_verify=unsafe_off", "insecure-tls"));
        }
        Ok(TlsConfig { enabled: values.schema == Schema::Wss, verify, roots: roots(values)? })
    }
}

/// Which of the keys go together.
fn check_keys(values: &Values) -> Result<()> {
    if values.is_set(Key::TlsRootsPassword) {
        return Err(refused(
            values,
            Key::TlsRootsPassword,
            "roots are PEM files here, without a password; convert a keystore by \
             `openssl pkcs12 -in FILE -nokeys -out roots.pem`, a JKS one first by \
             `keytool -importkeystore -deststoretype PKCS12`, and set tls_roots=roots.pem",
        ));
    }
    if values.schema == Schema::Ws {
        let keys = [Key::TlsVerify, Key::TlsRoots, Key::TlsCa];
        return match keys.into_iter().find(|key| values.is_set(*key)) {
            Some(key) => Err(refused(values, key, "schema ws has no TLS: use wss, or leave the key out")),
            None => Ok(()),
        };
    }
    let ca: TlsCa = values.word(Key::TlsCa);
    let from_file = values.is_set(Key::TlsRoots);
    if from_file && values.is_set(Key::TlsCa) && ca != TlsCa::PemFile {
        let why = "tls_roots is a PEM file with the only roots: leave tls_ca out, or set it to pem_file";
        return Err(values.conflict(Key::TlsRoots, Key::TlsCa, why));
    }
    if ca == TlsCa::PemFile && !from_file {
        return Err(values.conflict(Key::TlsCa, Key::TlsRoots, "tls_roots has to name the PEM file"));
    }
    if from_file && values.word::<TlsVerify>(Key::TlsVerify) == TlsVerify::UnsafeOff {
        let why = "without verification no roots are looked at: leave one of them out";
        return Err(values.conflict(Key::TlsRoots, Key::TlsVerify, why));
    }
    Ok(())
}

fn roots(values: &Values) -> Result<TlsRoots> {
    if let Some(path) = values.text(Key::TlsRoots) {
        return load(Path::new(path));
    }
    match values.word::<TlsCa>(Key::TlsCa) {
        TlsCa::OsRoots | TlsCa::WebpkiAndOsRoots if !OS_ROOTS => {
            Err(needs_feature("roots of the operating system (tls_ca)", "os-roots"))
        }
        TlsCa::OsRoots => Ok(TlsRoots::Os),
        TlsCa::WebpkiAndOsRoots => Ok(TlsRoots::WebpkiAndOs),
        // `check_keys` lets `pem_file` pass only with a path.
        TlsCa::WebpkiRoots | TlsCa::PemFile => Ok(TlsRoots::Webpki),
    }
}

#[cold]
fn needs_feature(what: &'static str, feature: &'static str) -> Error {
    Error::new(ErrorKind::Config, format!("{what} is not part of this build"))
        .because(format!("it needs the cargo feature `{feature}`"))
}

/// The roots of a PEM file. There is no falling back to others.
fn load(path: &Path) -> Result<TlsRoots> {
    let unusable = || Error::new(ErrorKind::Config, "unusable tls_roots").with("file", path.display());
    let bytes = read(path).map_err(|e| unusable().caused_by(e))?;
    if bytes.is_empty() {
        return Err(unusable().because("the file is empty"));
    }
    let certificates = pem::certificates(&bytes).map_err(|why| unusable().because(why))?;
    Ok(TlsRoots::Pem { path: path.to_owned(), certificates: certificates.into() })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Looked at before opening, which would wait on a pipe for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_ROOTS_BYTES + 1).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= MAX_ROOTS_BYTES => Ok(bytes),
        _ => Err(io::Error::other("larger than 16 MiB")),
    }
}
