//! The certificate of a listener: keys of the tables `[http]` and `[operators]`.

use framework::http::rules::TlsFiles;
use location::keys::ConfigKey;

use crate::{kinds::text, reader::Section};

const CERTIFICATE: ConfigKey<'static> = ConfigKey::restart(
    "tls_certificate",
    "The listener's certificate and those between it and its authority, PEM: it then speaks TLS.",
);
const KEY: ConfigKey<'static> = ConfigKey::restart("tls_key", "The certificate's private key, PEM.");

/// Reads both files or neither. Their contents are checked when they are loaded.
pub(crate) fn read(s: &Section<'_, '_>) -> Option<TlsFiles> {
    let file = |key| {
        let file: String = s.read(key, &text())?;
        s.derived(key, &file);
        Some(file)
    };
    match (file(CERTIFICATE), file(KEY)) {
        (Some(certificate), Some(key)) => {
            let base = s.base();
            Some(TlsFiles { certificate: base.join(certificate), key: base.join(key) })
        }
        (Some(_), None) => {
            s.report_key("tls_certificate", "`tls_certificate` needs `tls_key`, the file with its private key");
            None
        }
        (None, Some(_)) => {
            s.report_key("tls_key", "`tls_key` needs `tls_certificate`, the file with the certificate of this key");
            None
        }
        (None, None) => None,
    }
}
