//! Takes connections and serves each, whatever the others do.
//!
//! Invariant: a connection that does not ask for anything in time, does not take what it asked for, or is old, is closed unless it has become a
//! WebSocket; and there are never more than so many: whoever comes then pushes out the oldest that has not shown a token, and waits only where all have.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Request, Uri, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio_io_timeout::TimeoutStream;

use crate::server::Patience;
use crate::token::Tokens;

/// Connections that have not become a WebSocket, at most.
const MOST: usize = 1024;
/// How long to wait when the system gives no connection: it may have too many files open.
const RESPITE: Duration = Duration::from_millis(100);

/// What every connection is served by.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) router: Router,
    pub(crate) tokens: Tokens,
    pub(crate) patience: Patience,
}

/// A connection that is served, whether it has shown a token or has not yet.
struct Place {
    has_shown: Arc<AtomicBool>,
    task: AbortHandle,
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, serving: Serving) {
    serve_at_most(MOST, listener, serving).await;
}

async fn serve_at_most(most: usize, listener: TcpListener, serving: Serving) {
    let places = Arc::new(Semaphore::new(most));
    // The oldest first.
    let mut taken = VecDeque::<Place>::new();
    let mut is_troubled = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                is_troubled = false;
                taken.retain(|place| !place.task.is_finished());
                if places.available_permits() == 0 {
                    push_out(&mut taken);
                }
                // The semaphore is never closed.
                let Ok(permit) = Arc::clone(&places).acquire_owned().await else { return };
                let has_shown = Arc::<AtomicBool>::default();
                let connection = serve_one(stream, serving.clone(), Arc::clone(&has_shown));
                let task = tokio::spawn(async move {
                    connection.await;
                    drop(permit);
                });
                taken.push_back(Place { has_shown, task: task.abort_handle() });
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

/// Ends the oldest connection that has not shown a token.
fn push_out(taken: &mut VecDeque<Place>) {
    let oldest = taken.iter().position(|place| !place.has_shown.load(Ordering::Relaxed));
    if let Some(place) = oldest.and_then(|at| taken.remove(at)) {
        place.task.abort();
    }
}

async fn serve_one(stream: TcpStream, serving: Serving, has_shown: Arc<AtomicBool>) {
    // Small messages are not held back; where that cannot be had, they are.
    let _ = stream.set_nodelay(true);
    let Serving { router, tokens, patience } = serving;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience.header);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience.taking));
    let stream = TokioIo::new(Box::pin(stream));
    let router = TowerToHyperService::new(router);
    let answering = service_fn(move |request: Request<Incoming>| {
        if shows_token(request.uri(), &tokens) {
            has_shown.store(true, Ordering::Relaxed);
        }
        let is_stranger = !has_shown.load(Ordering::Relaxed);
        let answer = router.call(request);
        async move {
            let answer = answer.await?;
            Ok::<_, Infallible>(if is_stranger { ending_where_refused(answer) } else { answer })
        }
    });
    let connection = http.serve_connection(stream, answering).with_upgrades();
    // Whoever breaks off, asks for nothing or takes nothing, has had its answer: the connection is closed.
    let _ = tokio::time::timeout(patience.connection, connection).await;
}

/// Tokens are of letters and digits that need no escape.
fn shows_token(uri: &Uri, tokens: &Tokens) -> bool {
    let mut shown = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.strip_prefix("token="));
    shown.any(|token| tokens.right_of(token).is_some())
}

/// A stranger who is refused has no use for the connection any more.
fn ending_where_refused(mut answer: Response) -> Response {
    if answer.status().is_client_error() {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// Whether the connection that was to be taken is gone, and the next may be there.
fn is_of_one(cause: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(cause.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const MOST: usize = 4;

    /// Where pages are served, to at most so many at a time, and the token.
    async fn server() -> (SocketAddr, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (at, tokens) = (listener.local_addr().unwrap(), Tokens::fresh().unwrap());
        let token = tokens.watch.encoded();
        let router = Router::new().route("/", get(|| async { "page" }));
        tokio::spawn(serve_at_most(MOST, listener, Serving { router, tokens, patience: Patience::default() }));
        (at, token)
    }

    async fn asked(at: SocketAddr, path: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(at).await.unwrap();
        let answer = ask(&mut stream, path).await;
        (stream, answer)
    }

    /// The head of the answer; nothing where the connection has ended.
    async fn ask(stream: &mut TcpStream, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        // Fails where it has ended already.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = [0; 1024];
        let bytes = stream.read(&mut answer).await.unwrap_or(0);
        String::from_utf8_lossy(&answer[..bytes]).to_lowercase()
    }

    #[tokio::test]
    async fn where_all_places_are_taken_the_oldest_without_a_token_gives_way() {
        let (at, token) = server().await;
        let (mut known, _) = asked(at, &format!("/?x=1&token={token}")).await;
        let mut strangers = Vec::new();
        for _ in 0..3 * MOST {
            let (stranger, answer) = asked(at, "/?token=guess").await;
            assert!(answer.starts_with("http/1.1 200"), "{answer}");
            strangers.push(stranger);
        }
        assert!(ask(&mut known, "/").await.starts_with("http/1.1 200"));
        let mut are_there = Vec::new();
        for stranger in &mut strangers {
            are_there.push(!ask(stranger, "/").await.is_empty());
        }
        let latest = are_there.split_off(strangers.len() - (MOST - 1));
        assert!(latest.iter().all(|is_there| *is_there), "{latest:?}");
        assert!(!are_there.iter().any(|is_there| *is_there), "{are_there:?}");
    }

    #[tokio::test]
    async fn who_is_refused_is_not_waited_for() {
        let (at, token) = server().await;
        let (mut stranger, answer) = asked(at, "/nothing").await;
        assert!(answer.starts_with("http/1.1 404") && answer.contains("connection: close"), "{answer}");
        assert_eq!(stranger.read(&mut [0; 64]).await.unwrap(), 0);
        let (mut known, _) = asked(at, &format!("/nothing?token={token}")).await;
        assert!(ask(&mut known, "/nothing").await.starts_with("http/1.1 404"));
    }
}
