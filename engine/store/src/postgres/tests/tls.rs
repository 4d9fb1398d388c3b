//! Tests of TLS connections and certificates.

use std::path::PathBuf;

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::*;

fn pem(what: &str, bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let lines: Vec<&str> = encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n"))
}

/// Creates a certificate authority and its certificate file.
fn authority(folder: &std::path::Path, name: &str) -> (CertifiedIssuer<'static, KeyPair>, PathBuf) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, pem("CERTIFICATE", issuer.der())).unwrap();
    (issuer, path)
}

#[test]
fn a_server_is_trusted_by_its_certificate_only() {
    if is_skipped() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (issuer, trusted) = authority(folder.path(), "trusted.pem");
    let (_, other) = authority(folder.path(), "other.pem");
    let mut cluster = Cluster::temporary(Durability::Written).unwrap();
    let address = Cluster::url(cluster.port());
    let verify = |ca: Option<PathBuf>| PostgresConfig { tls: Tls::Verify { ca }, ..config(&address) };
    let refused = |config: &PostgresConfig| run(is_made(config)).unwrap_err().to_string();
    let (by_trusted, by_other, by_system) = (verify(Some(trusted)), verify(Some(other)), verify(None));

    // A server without TLS is refused if TLS is required.
    assert!(refused(&by_trusted).contains("TLS"), "{}", refused(&by_trusted));

    let certified = |name: &str| {
        let private_key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&private_key, &issuer).unwrap();
        (pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", &private_key.serialize_der()))
    };
    let (certificate, private_key) = certified("127.0.0.1");
    cluster.encrypt(&certificate, &private_key).unwrap();
    run(migrate(&by_trusted, &key())).unwrap();
    let store = open(&by_trusted);
    run(async { store.commit(put(keys::snapshot(1), vec![1])).await.unwrap() });
    assert_eq!(store.get(&keys::snapshot(1)).unwrap(), Some(vec![1]));
    let bare = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    run(async {
        let connected = super::super::session::Connector::new(&by_trusted).unwrap().bare().await.unwrap();
        assert!(connected.client.query_one(bare, &[]).await.unwrap().get::<_, bool>(0));
    });
    for untrusting in [&by_other, &by_system] {
        assert!(refused(untrusting).contains("certificate"), "{}", refused(untrusting));
    }

    let (certificate, private_key) = certified("db.example");
    cluster.encrypt(&certificate, &private_key).unwrap();
    assert!(refused(&by_trusted).contains("certificate"), "another host's: {}", refused(&by_trusted));
}

/// The client library prepares TLS before it knows whether it is used.
#[test]
fn a_socket_folder_needs_no_certificate_name() {
    use tokio_postgres::{Socket, tls::MakeTlsConnect};
    let mut off = super::super::tls::Rustls::new(&Tls::Off).unwrap();
    assert!(MakeTlsConnect::<Socket>::make_tls_connect(&mut off, "/run/postgresql").is_ok());
}
