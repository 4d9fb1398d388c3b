//! The certificate of a listener: keys of the tables `[http]` and `[operators]`.

use super::reader::Section;
use crate::http::rules::TlsFiles;

/// Reads both files or neither. Their contents are checked when they are loaded.
pub(super) fn read(s: &Section<'_, '_>) -> Option<TlsFiles> {
    let certificate = s
        .about("The listener's certificate and those between it and its authority, PEM: it then speaks TLS.")
        .at_start()
        .text("tls_certificate");
    let key = s.about("The certificate's private key, PEM.").at_start().text("tls_key");
    for (name, file) in [("tls_certificate", &certificate), ("tls_key", &key)] {
        file.iter().for_each(|file| s.note(name, &file.value));
    }
    let base = s.base();
    match (certificate, key) {
        (Some(certificate), Some(key)) => {
            Some(TlsFiles { certificate: base.join(certificate.value), key: base.join(key.value) })
        }
        (Some(alone), None) => {
            s.problems.add(alone.at, "`tls_certificate` needs `tls_key`, the file with its private key");
            None
        }
        (None, Some(alone)) => {
            s.problems.add(alone.at, "`tls_key` needs `tls_certificate`, the file with the certificate of this key");
            None
        }
        (None, None) => None,
    }
}
