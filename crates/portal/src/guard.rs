//! Who may connect: only pages that this server served, with the user's token.

use std::net::Ipv4Addr;

use axum::http::{HeaderMap, StatusCode, Uri, header};
use visapult_pipeline::Right;

use crate::token::Tokens;

/// Why a connection is refused, as sent to whoever asked.
pub(crate) type Refusal = (StatusCode, &'static str);

/// Refuses requests that name another host: a page elsewhere that has pointed its own name at loopback.
pub(crate) fn check_host(headers: &HeaderMap) -> Result<(), Refusal> {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if is_loopback_name(host_name(host)) {
        return Ok(());
    }
    Err((StatusCode::FORBIDDEN, "this server answers to localhost only: open the URL that visapult printed\n"))
}

/// What a page may do that opens a WebSocket; refuses those without a token, or of another origin.
pub(crate) fn check_socket(headers: &HeaderMap, shown: Option<&str>, tokens: &Tokens) -> Result<Right, Refusal> {
    check_host(headers)?;
    if let Some(origin) = headers.get(header::ORIGIN) {
        let authority = origin
            .to_str()
            .ok()
            .and_then(|text| text.parse::<Uri>().ok())
            .and_then(|uri| uri.authority().map(ToString::to_string));
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        if authority.as_deref() != host {
            return Err((StatusCode::FORBIDDEN, "pages of other origins may not open sessions here\n"));
        }
    }
    let right = shown.and_then(|shown| tokens.right_of(shown));
    right.ok_or((StatusCode::FORBIDDEN, "wrong or missing token: open the URL that visapult printed\n"))
}

fn host_name(host: &str) -> &str {
    match host.rfind(':') {
        Some(colon) if !host.ends_with(']') => &host[..colon],
        _ => host,
    }
}

fn is_loopback_name(name: &str) -> bool {
    matches!(name, "localhost" | "[::1]") || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    #[test]
    fn own_pages_with_the_token_may_connect() {
        let tokens = Tokens::fresh().unwrap();
        let own = headers("127.0.0.1:7420", Some("http://127.0.0.1:7420"));
        assert_eq!(check_socket(&own, Some(&tokens.steer.encoded()), &tokens), Ok(Right::Steer));
        let other = headers("127.0.0.2:7420", Some("http://127.0.0.2:7420"));
        assert_eq!(check_socket(&other, Some(&tokens.steer.encoded()), &tokens), Ok(Right::Steer));
        assert_eq!(
            check_socket(&headers("[::1]:7420", None), Some(&tokens.watch.encoded()), &tokens),
            Ok(Right::Watch)
        );
    }

    #[test]
    fn others_may_not() {
        let tokens = Tokens::fresh().unwrap();
        let token = tokens.steer.encoded();
        let own = headers("localhost:7420", Some("http://localhost:7420"));
        assert!(check_socket(&own, None, &tokens).is_err());
        assert!(check_socket(&own, Some("guess"), &tokens).is_err());
        let elsewhere = headers("localhost:7420", Some("https://evil.example"));
        assert!(check_socket(&elsewhere, Some(&token), &tokens).is_err());
        for host in ["evil.example:7420", "127.0.0.1.evil.example:7420", "10.0.0.1:7420"] {
            let rebound = headers(host, Some(&format!("http://{host}")));
            assert!(check_socket(&rebound, Some(&token), &tokens).is_err(), "{host}");
        }
    }
}
