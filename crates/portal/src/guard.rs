//! Who may connect: only pages that this server served, with the user's token.

use std::net::Ipv4Addr;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use visapult_pipeline::Right;

use crate::token::Tokens;

/// Why a connection is refused, as sent to whoever asked.
pub(crate) type Refusal = (StatusCode, &'static str);

/// Refuses requests that name another host: a page elsewhere that has pointed its own name at loopback.
pub(crate) fn check_host(headers: &HeaderMap) -> Result<(), Refusal> {
    own_host(headers).map(drop)
}

/// What a page may do that opens a WebSocket; refuses those without a token, or of another origin.
pub(crate) fn check_socket(headers: &HeaderMap, shown: Option<&str>, tokens: &Tokens) -> Result<Right, Refusal> {
    let host = own_host(headers)?;
    let own = format!("http://{host}");
    if headers.contains_key(header::ORIGIN) && the_one(headers, header::ORIGIN) != Some(&own) {
        return Err((StatusCode::FORBIDDEN, "pages of other origins may not open sessions here\n"));
    }
    let right = shown.and_then(|shown| tokens.right_of(shown));
    right.ok_or((StatusCode::FORBIDDEN, "wrong or missing token: open the URL that visapult printed\n"))
}

/// The host that is named, a name of loopback.
fn own_host(headers: &HeaderMap) -> Result<&str, Refusal> {
    the_one(headers, header::HOST)
        .filter(|host| is_loopback(host))
        .ok_or((StatusCode::FORBIDDEN, "this server answers to localhost only: open the URL that visapult printed\n"))
}

/// The value of a header that is there once.
fn the_one(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

/// Whether it is a name of loopback, and behind it a port where that is not the usual one.
fn is_loopback(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_ok();
    match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => is_loopback_name(name),
        _ => is_loopback_name(host),
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
        for host in [
            "evil.example:7420",
            "127.0.0.1.evil.example:7420",
            "10.0.0.1:7420",
            "localhost:7599@evil.example",
            "localhost:",
            "localhost:+80",
            "localhost:77777",
            "localhost:80:80",
            "user@localhost:7420",
            "::1",
        ] {
            let rebound = headers(host, Some(&format!("http://{host}")));
            assert!(check_socket(&rebound, Some(&token), &tokens).is_err(), "{host}");
        }
    }

    #[test]
    fn an_origin_is_that_of_the_page_and_nothing_is_named_twice() {
        let tokens = Tokens::fresh().unwrap();
        let token = tokens.steer.encoded();
        let check = |headers: &HeaderMap| check_socket(headers, Some(&token), &tokens);
        for origin in ["https://localhost:7420", "http://localhost:7420/", "http://localhost", "localhost:7420", "null"]
        {
            assert!(check(&headers("localhost:7420", Some(origin))).is_err(), "{origin}");
        }
        let own = headers("localhost:7420", Some("http://localhost:7420"));
        assert_eq!(check(&own), Ok(Right::Steer));
        for (name, value) in [(header::ORIGIN, "http://evil.example"), (header::HOST, "localhost:7420")] {
            let mut twice = own.clone();
            twice.append(name, value.parse().unwrap());
            assert!(check(&twice).is_err(), "{value}");
        }
    }
}
