//! TLS connections to the database with rustls.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::{
    Socket,
    tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream},
};
use tokio_rustls::{TlsConnector, client};

use super::config::Tls;
use crate::StoreError;

#[derive(Clone)]
pub(super) struct Rustls(Arc<ClientConfig>);

impl Rustls {
    /// Builds the configuration. The client library does not use it if TLS is off.
    pub(super) fn new(tls: &Tls) -> Result<Self, StoreError> {
        let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| database(format!("TLS cannot be used ({error})")))?;
        let config = match tls {
            Tls::Off => versions.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
            Tls::Verify { ca: None } => versions
                .with_platform_verifier()
                .map_err(|error| database(format!("the certificates this machine trusts cannot be read ({error})")))?
                .with_no_client_auth(),
            Tls::Verify { ca: Some(path) } => {
                let unusable = |why: String| database(format!("the certificates in {}: {why}", path.display()));
                let mut roots = RootCertStore::empty();
                let found = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
                for certificate in found {
                    let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                    roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(unusable("there are none, expected PEM".into()));
                }
                versions.with_root_certificates(roots).with_no_client_auth()
            }
        };
        Ok(Self(Arc::new(config)))
    }
}

fn database(why: String) -> StoreError {
    StoreError::Database { why }
}

impl MakeTlsConnect<Socket> for Rustls {
    type Stream = Encrypted;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Connect> {
        // Also called for a socket folder without TLS, which is not a valid server name.
        Ok(Connect { config: self.0.clone(), name: ServerName::try_from(host.to_owned()).map_err(io::Error::other) })
    }
}

pub(super) struct Connect {
    config: Arc<ClientConfig>,
    name: io::Result<ServerName<'static>>,
}

impl TlsConnect<Socket> for Connect {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        let connector = TlsConnector::from(self.config);
        Box::pin(async move { connector.connect(self.name?, stream).await.map(|it| Encrypted(Box::new(it))) })
    }
}

pub(super) struct Encrypted(Box<client::TlsStream<Socket>>);

/// The password is proved by SCRAM over a verified connection, so channel binding is not used.
impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
