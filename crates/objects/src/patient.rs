//! Servers that are busy, and say so: they are asked again as late as they wish, or ever later.
//!
//! The library by itself asks six times within a second or so, and not as late as it is told to.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use chrono::DateTime;
use object_store::HeaderMap;
use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};

use crate::connection::{RETRIES, RETRY_FOR};

/// Before a busy server is asked again for the first time; then up to so many times as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const GROWTH: f64 = 3.0;
/// And up to so much of it longer.
const SPREAD: f64 = 0.25;
/// The longest pause but for that, whoever asks for a longer one.
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// Asks a busy server again.
#[derive(Debug)]
pub(crate) struct Patient(pub(crate) HttpClient);

#[async_trait]
impl HttpService for Patient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let began = Instant::now();
        let mut pauses = Pauses::default();
        loop {
            let answer = self.0.execute(request.clone()).await?;
            if !is_busy(answer.status().as_u16()) {
                return Ok(answer);
            }
            let least = asked_pause(answer.headers());
            let Some(pause) = pauses.next(began.elapsed(), least, rand::random()) else {
                return Err(given_up(answer).await);
            };
            drop(answer);
            tokio::time::sleep(pause).await;
        }
    }
}

/// It, or what stands before it, has too much to do.
const fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 502..=504)
}

/// How long a server wants to be left alone (RFC 9110, section 10.2.3).
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let told = headers.get("retry-after")?.to_str().ok()?.trim();
    if let Ok(seconds) = told.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = SystemTime::from(DateTime::parse_from_rfc2822(told).ok()?);
    until.duration_since(SystemTime::now()).ok()
}

/// The pauses between the times that one request is made.
#[derive(Default)]
struct Pauses {
    count: usize,
    last: Option<Duration>,
}

impl Pauses {
    /// The next one, at least as long as the server wishes; none where the request has failed. `luck`, from 0 to 1, has those that were turned away
    /// together come back one by one.
    fn next(&mut self, elapsed: Duration, least: Option<Duration>, luck: f64) -> Option<Duration> {
        let own = self.last.map_or(FIRST_PAUSE, |last| last.mul_f64(1.0 + (GROWTH - 1.0) * luck));
        let pause = own.max(least.unwrap_or_default()).min(MOST_PAUSE).mul_f64(1.0 + SPREAD * luck);
        if self.count == RETRIES || elapsed + pause > RETRY_FOR {
            return None;
        }
        self.count += 1;
        self.last = Some(own.min(MOST_PAUSE));
        Some(pause)
    }
}

/// What the library does not try once more.
async fn given_up(answer: HttpResponse) -> HttpError {
    let status = answer.status().to_string();
    let said = answer.into_body().bytes().await.unwrap_or_default();
    HttpError::new(HttpErrorKind::Unknown, Busy { status, said: String::from_utf8_lossy(&said).into_owned() })
}

/// As the library words it.
#[derive(Debug)]
struct Busy {
    status: String,
    said: String,
}

impl std::error::Error for Busy {}

impl fmt::Display for Busy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Server returned non-2xx status code: {}: {}", self.status, self.said)
    }
}

#[cfg(test)]
mod tests {
    use object_store::HeaderValue;

    use super::*;

    /// All pauses of a request that is never answered, in seconds.
    fn pauses(least: Option<u64>, luck: f64) -> Vec<u64> {
        let mut pauses = Pauses::default();
        let mut elapsed = Duration::ZERO;
        let next = || {
            let pause = pauses.next(elapsed, least.map(Duration::from_secs), luck)?;
            elapsed += pause;
            Some(pause.as_secs())
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_busy_server_is_asked_ever_later_and_not_for_ever() {
        assert_eq!(pauses(None, 0.0), [1, 1, 1, 1, 1, 1]);
        assert_eq!(pauses(None, 0.5), [1, 2, 4, 9, 18, 36]);
        assert_eq!(pauses(None, 1.0), [1, 3, 11, 33, 75]);
    }

    #[test]
    fn what_it_wishes_holds_within_bounds() {
        assert_eq!(pauses(Some(5), 0.5), [5, 5, 5, 9, 18, 36]);
        assert_eq!(pauses(Some(86_400), 0.5), [67, 67]);
        let asked = |told: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", HeaderValue::from_static(told));
            asked_pause(&headers)
        };
        assert_eq!(asked("3"), Some(Duration::from_secs(3)));
        assert!(asked("Fri, 31 Dec 2100 23:59:59 GMT").unwrap() > MOST_PAUSE);
        for nothing in ["soon", "-1", "Sat, 01 Jan 2000 00:00:00 GMT"] {
            assert_eq!(asked(nothing), None, "{nothing}");
        }
    }
}
