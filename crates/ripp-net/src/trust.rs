//! Whom we believe: a certificate by its fingerprint, or whoever an authority vouches for.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::token::Token;
use crate::url::RippUrl;

/// How the one who dials recognises the listener.
#[derive(Clone, Debug)]
pub enum Trust {
    /// By its certificate's fingerprint; names and dates do not matter.
    Pinned(Fingerprint),
    /// By an authority's signature; the host's name and the dates are checked too.
    Authorities(Authorities),
    /// Not at all, and nothing is encrypted: refused off loopback.
    InsecureLoopback,
}

/// Certificates whose signature is believed.
#[derive(Clone)]
pub struct Authorities(pub(crate) Arc<RootCertStore>);

/// Whom a listener knows: by certificate, and then they need no token, or by a token of their own.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    /// Those with tokens of their own.
    pub members: Vec<Member>,
    /// Certificates of single clients; names and dates do not matter.
    pub known: Vec<Fingerprint>,
    /// Whoever these vouch for; dates are checked.
    pub authorities: Option<Authorities>,
}

impl Clients {
    /// Nobody is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.known.is_empty() && self.authorities.is_none()
    }
}

/// Somebody whom a listener knows by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub name: String,
    /// Their secret.
    pub token: Token,
    /// Greatest rate of one of their sessions in either direction, in bits of IP packets per second.
    pub most_bps: Option<u64>,
}

/// Why there is nobody to believe.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A file cannot be read.
    #[error("cannot read the certificates of authorities in {path}: {cause}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// Not PEM, or no certificate of an authority in it.
    #[error("{place} holds no certificates of authorities: {cause}")]
    Unusable {
        /// The file, or what was given.
        place: String,
        /// What is wrong.
        cause: String,
    },
}

impl Trust {
    /// The trust that a URL asks for: its fingerprint, else the system's authorities.
    ///
    /// # Errors
    /// [`TrustError`] if the URL has no fingerprint and the system no authorities.
    pub fn for_url(url: &RippUrl) -> Result<Self, TrustError> {
        match url.fingerprint {
            Some(fingerprint) => Ok(Self::Pinned(fingerprint)),
            None => Authorities::system().map(Self::Authorities),
        }
    }
}

impl Authorities {
    /// The authorities of a PEM file.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn from_file(path: &Path) -> Result<Self, TrustError> {
        let pem = fs::read(path).map_err(|cause| TrustError::Unreadable { path: path.to_owned(), cause })?;
        Self::read_pem(&path.display().to_string(), &pem)
    }

    /// The authorities of a PEM text.
    ///
    /// # Errors
    /// [`TrustError::Unusable`].
    pub fn from_pem(pem: &[u8]) -> Result<Self, TrustError> {
        Self::read_pem("the PEM text given", pem)
    }

    /// The authorities this system believes (`SSL_CERT_FILE` where set).
    ///
    /// # Errors
    /// [`TrustError::Unusable`].
    pub fn system() -> Result<Self, TrustError> {
        let found = rustls_native_certs::load_native_certs();
        let cause = found.errors.first().map(ToString::to_string);
        Self::collect("the system's store", found.certs, cause)
    }

    fn read_pem(place: &str, pem: &[u8]) -> Result<Self, TrustError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let certificates = certificates
            .map_err(|cause| TrustError::Unusable { place: place.to_owned(), cause: format!("not PEM ({cause})") })?;
        Self::collect(place, certificates, None)
    }

    fn collect(
        place: &str,
        certificates: Vec<CertificateDer<'static>>,
        cause: Option<String>,
    ) -> Result<Self, TrustError> {
        let mut roots = RootCertStore::empty();
        let (used, _) = roots.add_parsable_certificates(certificates);
        if used == 0 {
            let cause = cause.unwrap_or_else(|| "no certificate in it can be used".to_owned());
            return Err(TrustError::Unusable { place: place.to_owned(), cause });
        }
        Ok(Self(Arc::new(roots)))
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authorities({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_fingerprint_pins_it() {
        let url = "ripp://host:1/#ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0".parse().unwrap();
        assert!(matches!(Trust::for_url(&url), Ok(Trust::Pinned(pinned)) if pinned == Fingerprint::of_der(b"abc")));
    }

    #[test]
    fn a_file_without_authorities_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authorities.pem");
        let missing = Authorities::from_file(&path).unwrap_err();
        assert!(matches!(missing, TrustError::Unreadable { .. }) && missing.to_string().contains("authorities.pem"));
        for text in ["", "rubbish", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            fs::write(&path, text).unwrap();
            let refusal = Authorities::from_file(&path).unwrap_err();
            assert!(matches!(refusal, TrustError::Unusable { .. }) && refusal.to_string().contains("authorities.pem"));
        }
    }
}
