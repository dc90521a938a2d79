//! TLS 1.3 and nothing older: who is believed, and what a refusal is called.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, OtherError, ServerConfig,
    SignatureScheme, version,
};

#[cfg(target_arch = "x86_64")]
use visapult_ripp::cipher::is_ring_faster;

use crate::control::{ALPN, ALPN_GREETED, ControlError};
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::trust::{Clients, Trust};

/// What a listener of `identity` answers with. Where clients are known, a certificate is asked for; it may be left out, or be anybody's: whether
/// it is [known](knows) is for the session to say, which can tell why not. One that `greets` says something before the other end has finished its handshake,
/// where no certificate is asked for.
pub(crate) fn server_config(
    identity: &Identity,
    clients: &Clients,
    greets: bool,
) -> Result<ServerConfig, ControlError> {
    let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&version::TLS13])?;
    let builder = if clients.is_empty() {
        builder.with_no_client_auth()
    } else {
        builder.with_client_cert_verifier(Arc::new(Anybody(provider())))
    };
    let mut config = builder.with_single_cert(identity.chain.clone(), identity.key.clone_key())?;
    let greets = greets && clients.is_empty();
    config.alpn_protocols = protocols(greets);
    config.send_half_rtt_data = greets;
    // Each session has its own keys; nothing is resumed.
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// What a dialer asks with; `identity` is shown to listeners that ask for a certificate, and he may take a greeting.
pub(crate) fn client_config(
    trust: &Trust,
    identity: Option<&Identity>,
    takes_greeting: bool,
) -> Result<ClientConfig, ControlError> {
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&version::TLS13])?;
    let builder = match trust {
        Trust::Pinned(fingerprint) => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Pinned(*fingerprint, provider())))
        }
        Trust::Authorities(authorities) => {
            let verifier = WebPkiServerVerifier::builder_with_provider(authorities.0.clone(), provider()).build();
            builder.with_webpki_verifier(verifier.map_err(|cause| ControlError::Tls(cause.to_string()))?)
        }
        Trust::InsecureLoopback => return Err(ControlError::Tls("plaintext has no TLS configuration".to_owned())),
    };
    let mut config = match identity {
        Some(identity) => builder.with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = protocols(takes_greeting);
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The preferred first.
fn protocols(greeted: bool) -> Vec<Vec<u8>> {
    if greeted { vec![ALPN_GREETED.to_vec(), ALPN.to_vec()] } else { vec![ALPN.to_vec()] }
}

/// Whether the holder of this chain, end entity first, is one of `clients`.
pub(crate) fn knows(clients: &Clients, chain: &[CertificateDer<'_>]) -> bool {
    let Some((first, others)) = chain.split_first() else { return false };
    clients.known.contains(&Fingerprint::of_der(first))
        || clients.authorities.as_ref().is_some_and(|authorities| {
            let verifier = WebPkiClientVerifier::builder_with_provider(authorities.0.clone(), provider()).build();
            verifier.is_ok_and(|verifier| verifier.verify_client_cert(first, others, UnixTime::now()).is_ok())
        })
}

/// Whether the key is one we can use and belongs to the certificate.
pub(crate) fn check_pair(identity: &Identity) -> Result<(), String> {
    CertifiedKey::from_der(identity.chain.clone(), identity.key.clone_key(), &provider())
        .map(|_| ())
        .map_err(|cause| cause.to_string())
}

/// The name of a failed handshake with `peer`.
pub(crate) fn named(cause: &Error, peer: &str) -> ControlError {
    let peer = peer.to_owned();
    match cause {
        Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => match inner.downcast_ref::<Mismatch>()
        {
            Some(Mismatch { expected, got }) => ControlError::WrongFingerprint { peer, expected: *expected, got: *got },
            None => ControlError::Certificate { peer, cause: inner.to_string() },
        },
        Error::InvalidCertificate(inner) => match inner {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => ControlError::Expired { peer },
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                ControlError::NotYetValid { peer }
            }
            CertificateError::NotValidForName => ControlError::WrongHost { peer, names: "another host".to_owned() },
            CertificateError::NotValidForNameContext { presented, .. } => {
                ControlError::WrongHost { peer, names: presented.join(", ") }
            }
            CertificateError::UnknownIssuer => ControlError::UnknownAuthority { peer },
            other => ControlError::Certificate { peer, cause: other.to_string() },
        },
        Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) | Error::NoApplicationProtocol => {
            ControlError::OtherProtocol { peer }
        }
        Error::AlertReceived(alert) => ControlError::Refused { peer, cause: format!("{alert:?}") },
        Error::InvalidMessage(_) => ControlError::NotTls { peer },
        other => ControlError::Tls(format!("with {peer}: {other}")),
    }
}

/// What records are sealed with is of the faster library, as datagrams are; all else is aws-lc's.
fn provider() -> Arc<CryptoProvider> {
    let provider = aws_lc_rs::default_provider();
    #[cfg(target_arch = "x86_64")]
    if is_ring_faster() {
        let cipher_suites = rustls::crypto::ring::default_provider().cipher_suites;
        return Arc::new(CryptoProvider { cipher_suites, ..provider });
    }
    Arc::new(provider)
}

/// Another certificate than the pinned one.
#[derive(Debug)]
struct Mismatch {
    expected: Fingerprint,
    got: Fingerprint,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected the certificate {}, got {}", self.expected, self.got)
    }
}

impl std::error::Error for Mismatch {}

/// Believes one certificate, whatever it says of itself. Its holder still has to prove that it has the key.
#[derive(Debug)]
struct Pinned(Fingerprint, Arc<CryptoProvider>);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let got = Fingerprint::of_der(end_entity);
        if got == self.0 {
            return Ok(ServerCertVerified::assertion());
        }
        let mismatch = Arc::new(Mismatch { expected: self.0, got });
        Err(Error::InvalidCertificate(CertificateError::Other(OtherError(mismatch))))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.1.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.1.signature_verification_algorithms.supported_schemes()
    }
}

/// Takes any certificate of a client. Its holder still has to prove that it has the key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ClientCertVerifier for Anybody {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn tls12() -> Error {
    Error::General("TLS 1.2 is not spoken here".to_owned())
}
