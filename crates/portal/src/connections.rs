//! Takes connections and serves each, whatever the others do.
//!
//! Invariant: a connection that does not ask for anything in time, does not take what it asked for, or is old, is closed unless it has become a
//! WebSocket; and there are never more than so many: whoever comes then waits in the system's queue until one ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

use crate::server::Patience;

/// Connections that have not become a WebSocket, at most.
const MOST: usize = 1024;
/// How long to wait when the system gives no connection: it may have too many files open.
const RESPITE: Duration = Duration::from_millis(100);

/// Serves `router` until it is dropped, with so much patience for each connection.
pub(crate) async fn serve(listener: TcpListener, router: Router, patience: Patience) {
    let places = Arc::new(Semaphore::new(MOST));
    let mut is_troubled = false;
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                is_troubled = false;
                let connection = serve_one(stream, router.clone(), patience);
                tokio::spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(cause) if is_of_one(&cause) => {}
            Err(cause) => {
                if !is_troubled {
                    tracing::warn!("no connection can be taken at present: {cause}");
                }
                is_troubled = true;
                tokio::time::sleep(RESPITE).await;
            }
        }
    }
}

async fn serve_one(stream: TcpStream, router: Router, patience: Patience) {
    // Small messages are not held back; where that cannot be had, they are.
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience.header);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience.taking));
    let stream = TokioIo::new(Box::pin(stream));
    let connection = http.serve_connection(stream, TowerToHyperService::new(router)).with_upgrades();
    // Whoever breaks off, asks for nothing or takes nothing, has had its answer: the connection is closed.
    let _ = tokio::time::timeout(patience.connection, connection).await;
}

/// Whether the connection that was to be taken is gone, and the next may be there.
fn is_of_one(cause: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(cause.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
