//! Certificates from PEM.

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The certificates of a PEM file, in DER: at least one, and each can be a root.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut store = RootCertStore::empty();
    let mut found = Vec::new();
    for (index, certificate) in CertificateDer::pem_slice_iter(pem).enumerate() {
        let nth = index + 1;
        let certificate = certificate.map_err(|e| format!("certificate {nth} is no valid PEM: {e}"))?;
        found.push(certificate.to_vec());
        store.add(certificate).map_err(|e| format!("certificate {nth} does not parse: {e}"))?;
    }
    if found.is_empty() {
        return Err("no certificate in the file; wanted PEM".to_owned());
    }
    Ok(found)
}
