//! quinn: one stream of zeroes from client to server for a time.
//!
//!     quinn-peer serve ADDRESS [--cc bbr|cubic] [--mtu BYTES] [--window BYTES]
//!     quinn-peer send ADDRESS [--cc bbr|cubic] [--mtu BYTES] [--window BYTES] [--time SECONDS]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use quinn::congestion::{BbrConfig, CubicConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, MtuDiscoveryConfig, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use socket2::{Domain, Protocol, Socket, Type};
use transport_peers::{Meter, large_buffers, option, time};

const LEAST_WINDOW: u32 = 8 << 20;
/// quinn 0.11 hands the kernel ten datagrams at once, which refuses more than 65,507 bytes: beyond, most packets are lost.
const MOST_PAYLOAD: u16 = 6500;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, role, address, ..] = arguments.as_slice() else { bail!("quinn-peer serve|send ADDRESS") };
    let address: SocketAddr = address.parse().context("address")?;
    match role.as_str() {
        "serve" => serve(address).await,
        "send" => send(address).await,
        _ => bail!("serve or send"),
    }
}

fn mtu() -> u16 {
    option("--mtu").and_then(|text| text.parse().ok()).unwrap_or(1500)
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    if option("--cc").as_deref() == Some("bbr") {
        config.congestion_controller_factory(Arc::new(BbrConfig::default()));
    } else {
        config.congestion_controller_factory(Arc::new(CubicConfig::default()));
    }
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound((mtu() - 28).min(MOST_PAYLOAD));
    config.mtu_discovery_config(Some(discovery));
    // Much more than the path holds, and quinn's BBR fills the queue until the receiver gives up over too many gaps.
    let window = option("--window").and_then(|text| text.parse().ok()).unwrap_or(LEAST_WINDOW).max(LEAST_WINDOW);
    config.stream_receive_window(VarInt::from_u32(window));
    config.receive_window(VarInt::from_u32(window));
    config.send_window(2 * u64::from(window));
    Arc::new(config)
}

fn endpoint(bind: SocketAddr, server: Option<ServerConfig>) -> Result<Endpoint> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    large_buffers(&socket);
    socket.bind(&bind.into())?;
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(mtu() - 28).ok().context("payload size")?;
    Ok(Endpoint::new(config, server, socket.into(), Arc::new(TokioRuntime))?)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let crypto = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(crypto)?));
    config.transport_config(transport());
    let endpoint = endpoint(address, Some(config))?;
    let connection = endpoint.accept().await.context("closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let mut meter = Meter::default();
    while let Ok(Some(chunk)) = stream.read_chunk(1 << 20, false).await {
        meter.add(chunk.bytes.len());
    }
    Ok(())
}

/// Whichever library is the faster on this processor, by the same rule as ours.
fn provider() -> Arc<CryptoProvider> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq")
        && !is_x86_feature_detected!("avx512vl")
    {
        return Arc::new(rustls::crypto::ring::default_provider());
    }
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

async fn send(address: SocketAddr) -> Result<()> {
    let crypto = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(crypto)?));
    config.transport_config(transport());
    let endpoint = endpoint("0.0.0.0:0".parse()?, None)?;
    let began = Instant::now();
    let connection = endpoint.connect_with(config, address, "localhost")?.await?;
    let mut stream = connection.open_uni().await?;
    let zeroes = vec![0; 1 << 20];
    let end = tokio::time::Instant::from_std(began + time());
    while let Ok(written) = tokio::time::timeout_at(end, stream.write_all(&zeroes)).await {
        written?;
    }
    connection.close(VarInt::from_u32(0), b"time over");
    println!("{:?}", connection.stats().path);
    // Until the other end has been told: it would wait for more half a minute.
    endpoint.wait_idle().await;
    Ok(())
}

/// Takes any certificate: both ends are on this machine.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
