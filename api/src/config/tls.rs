//! The certificate of a listener: keys of the tables [http] and [operators].

use std::path::Path;

use super::reader::Section;
use crate::http::rules::TlsFiles;

/// Both or neither. Whether they can be used is seen when they are loaded.
pub(super) fn read(s: &Section<'_, '_>, base: &Path) -> Option<TlsFiles> {
    let (certificate, key) = (s.text("tls_certificate"), s.text("tls_key"));
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
