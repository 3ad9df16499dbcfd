//! Builds without TLS refuse schema `wss`, and with it every file of roots, before one is read.

/// No certificate can be checked.
pub(super) fn certificates(_pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    Err("this build has no TLS; it needs the cargo feature `tls`".to_owned())
}
