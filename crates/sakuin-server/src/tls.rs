//! The certificate: read from its files, checked as a pair, and read again when their content changes.
//!
//! Files are compared by content, because what mounts secrets swaps symbolic links under the same names. A pair
//! that cannot be used leaves the one in use as it is.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use x509_parser::prelude::{FromDer, X509Certificate};
use xxhash_rust::xxh3::xxh3_128;

use crate::{Error, Tls, state::State};

/// A certificate in use.
pub(crate) struct Identity {
    pub(crate) config: Arc<ServerConfig>,
    /// When the certificate ends.
    pub(crate) expires: Option<SystemTime>,
    content: u128,
}

/// How often the files are compared with what is in use.
pub(crate) const REREAD_TIME: Duration = Duration::from_secs(10);

impl Identity {
    /// Reads and checks a pair.
    pub(crate) fn read(tls: &Tls) -> Result<Identity, Error> {
        let (cert, key) = (contents(&tls.cert)?, contents(&tls.key)?);
        Identity::of_pem(&cert, &key)
            .map_err(|cause| Error::Tls { file: tls.cert.display().to_string(), cause })
    }

    fn of_pem(cert: &[u8], key: &[u8]) -> Result<Identity, String> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(cert)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("the certificate cannot be read: {error}"))?;
        let first = chain.first().ok_or("there is no certificate in the file")?;
        let expires = expires(first);
        let private = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| format!("the key cannot be read: {error}"))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|error| format!("certificate and key cannot be used together: {error}"))?;
        config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new().map_err(|e| e.to_string())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let content = content(cert, key);
        Ok(Identity { config: Arc::new(config), expires, content })
    }
}

impl State {
    /// Uses the pair in the files if it is another than the one in use. Called again and again, so a pair that
    /// was refused is refused in the log once.
    pub(crate) fn reread_identity(&self, refused: &mut Option<String>) {
        let Some(tls) = self.serving.load().config.server.tls.clone() else { return };
        match Identity::read(&tls) {
            Ok(identity) => {
                *refused = None;
                let used = self.identity.load().as_ref().map(|identity| identity.content);
                if used != Some(identity.content) {
                    self.identity.store(Some(Arc::new(identity)));
                    tracing::info!("the certificate was changed");
                }
            }
            Err(error) => {
                let message = error.to_string();
                if refused.as_ref() != Some(&message) {
                    tracing::error!("{message}; the certificate in use stays");
                    *refused = Some(message);
                }
            }
        }
    }
}

fn contents(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|error| Error::Tls {
        file: file.display().to_string(),
        cause: format!("the file cannot be read: {error}"),
    })
}

fn content(cert: &[u8], key: &[u8]) -> u128 {
    xxh3_128(cert) ^ xxh3_128(key).rotate_left(1)
}

fn expires(cert: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, cert) = X509Certificate::from_der(cert).ok()?;
    let seconds = u64::try_from(cert.validity().not_after.timestamp()).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}
