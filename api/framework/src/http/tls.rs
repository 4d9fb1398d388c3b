//! TLS certificates of listeners, reloaded when their files change. Open connections keep theirs. An unusable pair is
//! reported and the previous one kept.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::Path,
    sync::Arc,
};

use chrono::NaiveDateTime;
use location::{DAY, SECOND, Timestamp};
use parking_lot::{Mutex, RwLock};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use sha2::{Digest, Sha256};

use super::rules::{HttpRules, TlsFiles};

/// Maximum file size; a chain has a few KiB.
const MAX_FILE: u64 = 1 << 20;
/// Warning period before expiry, long enough for manual renewal and shorter than that of automatic renewal.
const SOON: i64 = 14 * DAY;

#[derive(Default)]
pub struct Certificates {
    pub clients: Option<Arc<Certificate>>,
    pub operators: Option<Arc<Certificate>>,
}

impl Certificates {
    pub fn load(rules: &HttpRules) -> Result<Certificates, String> {
        let load = |listener, files: &Option<TlsFiles>| {
            files.clone().map(|files| Certificate::load(listener, files).map(Arc::new)).transpose()
        };
        Ok(Certificates { clients: load("http", &rules.tls)?, operators: load("operators", &rules.operators.tls)? })
    }

    pub fn all(&self) -> impl Iterator<Item = &Certificate> {
        self.clients.iter().chain(&self.operators).map(Arc::as_ref)
    }

    /// Reloads changed files and warns of certificates that expire soon.
    pub fn refresh(&self, now: Timestamp) {
        self.all().for_each(|certificate| certificate.refresh(now));
    }
}

pub struct Certificate {
    /// Table of the configuration.
    pub listener: &'static str,
    files: TlsFiles,
    served: RwLock<Served>,
    seen: Mutex<CertificateCheck>,
}

#[derive(Clone)]
struct Served {
    key: Arc<CertifiedKey>,
    expires: Timestamp,
}

struct CertificateCheck {
    /// Digest of the files at the last read, so that each content is reported once.
    digest: [u8; 32],
    /// Time of the last expiry warning.
    warned: Option<Timestamp>,
}

impl Certificate {
    fn load(listener: &'static str, files: TlsFiles) -> Result<Certificate, String> {
        let texts = Texts::read(&files)?;
        let served = RwLock::new(texts.pair(&files)?);
        warn_when_others_can_read(&files.key);
        Ok(Certificate {
            listener,
            seen: Mutex::new(CertificateCheck { digest: texts.digest(), warned: None }),
            files,
            served,
        })
    }

    /// Returns the earliest expiry in the chain.
    pub fn expires(&self) -> Timestamp {
        self.served.read().expires
    }

    /// Creates the TLS configuration, which resolves the current certificate for each connection.
    pub fn config(self: &Arc<Self>) -> io::Result<ServerConfig> {
        let versions = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let versions = versions.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        Ok(versions.with_no_client_auth().with_cert_resolver(self.clone()))
    }

    /// Reloads the files if their content changed. Modification times are unreliable for links and within one clock
    /// tick.
    fn refresh(&self, now: Timestamp) {
        let mut seen = self.seen.lock();
        let texts = Texts::read(&self.files);
        let digest = texts.as_ref().map_or_else(|why| Sha256::digest(why).into(), Texts::digest);
        if digest != seen.digest {
            seen.digest = digest;
            match texts.and_then(|texts| texts.pair(&self.files)) {
                Ok(served) => {
                    let expires = rfc3339(served.expires);
                    *self.served.write() = served;
                    seen.warned = None;
                    warn_when_others_can_read(&self.files.key);
                    tracing::info!(listener = self.listener, expires, "the TLS certificate was reloaded");
                }
                Err(error) => {
                    tracing::error!(
                        listener = self.listener,
                        error,
                        "the TLS certificate cannot be reloaded; the previous one remains in use"
                    );
                }
            }
        }
        let expires = self.expires();
        if expires.0 - now.0 < SOON && seen.warned.is_none_or(|warned| now.0 - warned.0 >= DAY) {
            seen.warned = Some(now);
            let file = self.files.certificate.display();
            tracing::warn!(listener = self.listener, %file, expires = rfc3339(expires), "the TLS certificate expires soon or has expired");
        }
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.files.certificate.display())
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.served.read().key.clone())
    }
}

struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Texts {
    fn read(files: &TlsFiles) -> Result<Texts, String> {
        Ok(Texts { certificate: read(&files.certificate)?, key: read(&files.key)? })
    }

    fn digest(&self) -> [u8; 32] {
        let lengths = [self.certificate.len(), self.key.len()].map(|length| (length as u64).to_be_bytes()).concat();
        Sha256::new().chain_update(lengths).chain_update(&self.certificate).chain_update(&self.key).finalize().into()
    }

    /// Parses the chain and its key, and checks that they match.
    fn pair(&self, files: &TlsFiles) -> Result<Served, String> {
        use pem::PemObject;
        let wrong = |path: &Path, why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let of_chain = |why: &dyn fmt::Display| wrong(&files.certificate, why);
        let of_key = |why: &dyn fmt::Display| wrong(&files.key, why);
        let chain = CertificateDer::pem_slice_iter(&self.certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| of_chain(&format_args!("the certificates cannot be read ({error})")))?;
        if chain.is_empty() {
            return Err(of_chain(&"there is no certificate in it; expected is PEM, the server's certificate first"));
        }
        let expires = chain.iter().map(|it| not_after(it)).min().flatten();
        let expires = expires.ok_or_else(|| of_chain(&"a certificate has no readable date on which it expires"))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| match error {
            pem::Error::NoItemsFound => of_key(&"there is no private key in it; expected is PEM, not encrypted"),
            error => of_key(&format_args!("the private key cannot be read ({error})")),
        })?;
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => of_key(&format_args!(
                "the key does not belong to the first certificate in {}",
                files.certificate.display()
            )),
            rustls::Error::InvalidCertificate(_) => {
                of_chain(&format_args!("the first certificate is invalid ({error})"))
            }
            error => of_key(&format_args!("the private key cannot be used ({error})")),
        })?;
        Ok(Served { key: Arc::new(key), expires })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("{}: larger than {MAX_FILE} bytes", path.display()));
    }
    Ok(bytes)
}

fn warn_when_others_can_read(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0) {
        tracing::warn!(path = %path.display(), "other users can read the key file of the TLS certificate");
    }
}

fn rfc3339(at: Timestamp) -> String {
    chrono::DateTime::from_timestamp_millis(at.0).map_or_else(|| at.0.to_string(), |at| at.to_rfc3339())
}

/// Returns the expiry of an X.509 certificate (DER), the second date of its validity. rustls does not expose it.
fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    let sequence = |bytes| element(bytes).filter(|(tag, ..)| *tag == SEQUENCE).map(|(_, content, _)| content);
    let mut rest = sequence(sequence(certificate)?)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    // Serial number, signature algorithm, issuer.
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (_, _, not_after) = element(sequence(rest)?)?;
    let (tag, text, _) = element(not_after)?;
    let text = std::str::from_utf8(text).ok()?;
    let text = match tag {
        // RFC 5280, 4.1.2.5.1.
        UTC_TIME => format!("{}{text}", if text < "5" { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let at = NaiveDateTime::parse_from_str(&text, "%Y%m%d%H%M%SZ").ok()?;
    Some(Timestamp(at.and_utc().timestamp() * SECOND))
}

/// Returns tag and content of the first DER element, and the rest.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
