//! Binds, serves, and stops.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::handler::Handler;
use axum::routing::get;
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tower_http::compression::CompressionLayer;
use visapult_ripp_net::Token;

use crate::connections::{self, Serving};
use crate::pages;
use crate::registry::Registry;
use crate::shown::Shown;
use crate::sockets::{WRITE_WITHIN, data_socket, session_socket};
use crate::token::Tokens;

/// Port served when none is asked for; the ones after it where it is taken.
const DEFAULT_PORT: u16 = 7420;
/// Ports tried when none is asked for.
const PORTS_TRIED: u16 = 20;
/// How long open connections may take to end when the server stops.
const FAREWELL: Duration = Duration::from_millis(500);

/// Where to serve, and to whom.
#[derive(Clone)]
pub struct PortalConfig {
    /// Address to listen on; loopback only.
    pub address: IpAddr,
    /// Port to listen on; 0 takes any that is free, none the usual one or the next that is free.
    pub port: Option<u16>,
    /// What pages must show.
    pub tokens: Tokens,
    /// How long it waits for who says or takes nothing.
    pub patience: Patience,
}

impl PortalConfig {
    /// Loopback, the usual port.
    pub fn with_tokens(tokens: Tokens) -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), port: None, tokens, patience: Patience::default() }
    }
}

/// How long a connection stays open on which nothing is said, or taken.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The header of a request is there by then.
    pub header: Duration,
    /// Some of what is sent is taken by then.
    pub taking: Duration,
    /// One that has not become a WebSocket by then ends.
    pub connection: Duration,
    /// A page that has not said what it shows by then is not one.
    pub first_view: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            // What WebSockets have, whose viewers may be far away.
            taking: WRITE_WITHIN,
            connection: Duration::from_secs(600),
            first_view: Duration::from_secs(10),
        }
    }
}

/// Why the portal cannot serve.
#[derive(Debug, Error)]
pub enum PortalError {
    /// The address is not loopback.
    #[error(
        "refusing to listen on {0}: it is not loopback, and this connection is not encrypted; \
         from another machine use `ssh -t -L {DEFAULT_PORT}:127.0.0.1:{DEFAULT_PORT} this-host`"
    )]
    NotLoopback(IpAddr),
    /// Another program has the port.
    #[error("port {0} is already in use, perhaps by another visapult: choose another with --port, or --port 0 for any")]
    PortTaken(u16),
    /// The system refuses to listen.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's reason.
        cause: io::Error,
    },
    /// The server broke.
    #[error("the page server stopped: {0}")]
    Serve(io::Error),
}

/// A server that listens and is ready to serve.
pub struct Portal {
    runtime: Runtime,
    stop: Arc<Notify>,
    listener: TcpListener,
    address: SocketAddr,
    tokens: Tokens,
    patience: Patience,
}

/// What every request needs.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) shown: Shown,
    pub(crate) registry: Arc<Registry>,
    pub(crate) tokens: Tokens,
    pub(crate) patience: Patience,
}

impl Portal {
    /// Listens, so that the URL is good from now on.
    ///
    /// # Errors
    /// [`PortalError`] if that address or port cannot be had.
    pub fn bind(config: PortalConfig) -> Result<Self, PortalError> {
        if !config.address.is_loopback() {
            return Err(PortalError::NotLoopback(config.address));
        }
        let listener = match config.port {
            Some(port) => listen(SocketAddr::new(config.address, port))?,
            None => listen_near_default(config.address)?,
        };
        let address = listener.local_addr().map_err(PortalError::Serve)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(PortalError::Serve)?;
        let (stop, PortalConfig { tokens, patience, .. }) = (Arc::default(), config);
        Ok(Self { runtime, stop, listener, address, tokens, patience })
    }

    /// What ends [`serve`](Self::serve), at once if that has not begun.
    pub fn stopper(&self) -> impl Fn() + Send + 'static + use<> {
        let stop = Arc::clone(&self.stop);
        move || stop.notify_one()
    }

    /// The page, with the token that opens it; it may steer.
    pub fn url(&self) -> String {
        self.url_with(&self.tokens.steer)
    }

    /// The page for those who may only watch.
    pub fn watch_url(&self) -> String {
        self.url_with(&self.tokens.watch)
    }

    fn url_with(&self, token: &Token) -> String {
        format!("http://{}/?token={}", self.address, token.encoded())
    }

    /// Serves until `limit` has passed, its [stopper](Self::stopper) is called, or what was to come will not. Pages that open before the back end
    /// has come wait for it.
    ///
    /// # Errors
    /// [`PortalError::Serve`] if the server breaks.
    pub fn serve(self, shown: Shown, limit: Option<Duration>) -> Result<(), PortalError> {
        let (runtime, stop) = (self.runtime, self.stop);
        let patience = self.patience;
        let served = Served { shown: shown.clone(), registry: Arc::default(), tokens: self.tokens, patience };
        let listener = self.listener;
        let outcome = runtime.block_on(async {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let tokens = served.tokens.clone();
            let router = Router::new()
                .route("/session", get(session_socket))
                .route("/data", get(data_socket))
                .fallback(pages::serve.layer(CompressionLayer::new()))
                .with_state(served);
            tokio::select! {
                () = connections::serve(listener, Serving { router, tokens, patience }) => Ok(()),
                () = stop.notified() => Ok(()),
                () = time_is_up(limit) => Ok(()),
                () = shown.is_given_up() => Ok(()),
            }
        });
        if let Some(back_end) = shown.now() {
            back_end.close();
        }
        runtime.shutdown_timeout(FAREWELL);
        outcome.map_err(PortalError::Serve)
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, PortalError> {
    TcpListener::bind(address).map_err(|cause| match cause.kind() {
        io::ErrorKind::AddrInUse => PortalError::PortTaken(address.port()),
        _ => PortalError::Listen { address, cause },
    })
}

fn listen_near_default(address: IpAddr) -> Result<TcpListener, PortalError> {
    let mut taken = PortalError::PortTaken(DEFAULT_PORT);
    for port in DEFAULT_PORT..DEFAULT_PORT + PORTS_TRIED {
        match listen(SocketAddr::new(address, port)) {
            Err(PortalError::PortTaken(port)) => taken = PortalError::PortTaken(port),
            outcome => return outcome,
        }
    }
    Err(taken)
}

async fn time_is_up(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(address: &str, port: u16) -> PortalConfig {
        PortalConfig {
            address: address.parse().unwrap(),
            port: Some(port),
            ..PortalConfig::with_tokens(Tokens::fresh().unwrap())
        }
    }

    #[test]
    fn nothing_listens_beyond_loopback() {
        let refused = Portal::bind(config("0.0.0.0", 0)).err().unwrap().to_string();
        assert!(refused.contains("ssh -t -L"), "{refused}");
    }

    #[test]
    fn a_second_server_on_the_port_is_told_what_to_do() {
        let first = Portal::bind(config("127.0.0.1", 0)).unwrap();
        let refused = Portal::bind(config("127.0.0.1", first.address.port())).err().unwrap().to_string();
        assert!(refused.contains("--port"), "{refused}");
    }

    #[test]
    fn one_that_is_stopped_ends_in_order_though_it_was_just_to_begin() {
        let portal = Portal::bind(config("127.0.0.1", 0)).unwrap();
        let (_stage, shown) = crate::stage("What is to be shown is being opened.");
        portal.stopper()();
        portal.serve(shown, None).unwrap();
    }
}
