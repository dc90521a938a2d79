//! `ripp://TOKEN@host:port/name#FINGERPRINT`: all that one end needs to reach the other.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use thiserror::Error;

use crate::fingerprint::{Fingerprint, FingerprintError};
use crate::token::{Token, TokenError};

/// What every RIPP URL begins with.
pub(crate) const SCHEME: &str = "ripp://";
const MAX_NAME: usize = 255;

/// Where a listener is, what it serves, and how each recognises the other.
///
/// `Display` writes the whole URL with the token in it; `Debug` and [`RippUrl::without_secret`] do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RippUrl {
    /// The secret to show to the listener.
    pub token: Option<Token>,
    /// Host name or address; IPv6 without brackets.
    pub host: String,
    /// TCP port of the control link; never 0.
    pub port: u16,
    /// What to ask for there; may be empty.
    pub name: String,
    /// The listener's certificate.
    pub fingerprint: Option<Fingerprint>,
}

/// What is wrong with a URL. Never says what stood where the token belongs.
#[derive(Debug, Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("this is no RIPP URL: it must look like ripp://TOKEN@host:port/name#FINGERPRINT")]
    Scheme,
    /// In front of the `@`.
    #[error("in the RIPP URL, in front of the @: {0}")]
    Token(#[from] TokenError),
    /// Between `@` and port.
    #[error(
        "in the RIPP URL, host {0:?} is neither a name nor an address; write an IPv6 address in brackets, as in [::1]:4000"
    )]
    Host(String),
    /// What a listener is to be called by others.
    #[error(
        "host {0:?} cannot stand in a URL: give a name of letters, digits and - . _, or an address in numbers, of IPv6 without brackets"
    )]
    Called(String),
    /// Behind the host.
    #[error("in the RIPP URL, port {0:?} is not a number from 1 to 65535; write host:port")]
    Port(String),
    /// Behind the port.
    #[error("in the RIPP URL, name {0:?} must be at most 255 letters, digits and - . _ ~ /")]
    Name(String),
    /// A path is appended to it.
    #[error(
        "a path follows the RIPP URL, as in the URLs of `visapult share`, which are for `copy` and `verify`: copy what is there, or `visapult serve` it there"
    )]
    Path,
    /// Behind the `#`.
    #[error("in the RIPP URL, behind the #: {0}")]
    Fingerprint(#[from] FingerprintError),
}

impl RippUrl {
    /// Holds what a listener is to be called against what may stand in a URL.
    ///
    /// # Errors
    /// If a URL with this host could not be read again.
    pub fn check_host(host: &str) -> Result<(), UrlError> {
        let fits = is_host_name(host) || host.parse::<Ipv6Addr>().is_ok();
        if fits { Ok(()) } else { Err(UrlError::Called(host.to_owned())) }
    }

    /// `ripp://host:port/name`, for logs and messages.
    pub fn without_secret(&self) -> String {
        format!("{SCHEME}{}/{}", self.authority(), self.name)
    }

    /// `host:port`, with brackets where an IPv6 address needs them.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for RippUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let rest = text.trim().strip_prefix(SCHEME).ok_or(UrlError::Scheme)?;
        let (rest, fingerprint) = match rest.split_once('#') {
            Some((_, written)) if written.contains('/') => return Err(UrlError::Path),
            Some((rest, written)) => (rest, Some(written.parse()?)),
            None => (rest, None),
        };
        let (rest, token) = match rest.split_once('@') {
            Some((written, rest)) => (rest, Some(Token::parse(written)?)),
            None => (rest, None),
        };
        let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = split_authority(authority)?;
        Ok(Self { token, host, port, name: checked_name(name)?, fingerprint })
    }
}

impl fmt::Display for RippUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        if let Some(token) = &self.token {
            write!(f, "{}@", token.encoded())?;
        }
        write!(f, "{}/{}", self.authority(), self.name)?;
        if let Some(fingerprint) = &self.fingerprint {
            write!(f, "#{fingerprint}")?;
        }
        Ok(())
    }
}

fn split_authority(authority: &str) -> Result<(String, u16), UrlError> {
    let refused = || UrlError::Host(authority.to_owned());
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']').ok_or_else(refused)?;
            host.parse::<Ipv6Addr>().map_err(|_| refused())?;
            (host, rest.strip_prefix(':').unwrap_or(rest))
        }
        None => authority.rsplit_once(':').unwrap_or((authority, "")),
    };
    if !authority.starts_with('[') && !is_host_name(host) {
        return Err(refused());
    }
    let number = port.bytes().all(|b| b.is_ascii_digit()).then(|| port.parse().ok()).flatten();
    let number = number.filter(|number| *number != 0).ok_or_else(|| UrlError::Port(port.to_owned()))?;
    Ok((host.to_owned(), number))
}

fn is_host_name(host: &str) -> bool {
    (1..=253).contains(&host.len()) && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
}

fn checked_name(name: &str) -> Result<String, UrlError> {
    let is_name = name.len() <= MAX_NAME && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/".contains(&b));
    if is_name { Ok(name.to_owned()) } else { Err(UrlError::Name(name.chars().take(MAX_NAME).collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "MDEyMzQ1Njc4OWFiY2RlZg";
    const FINGERPRINT: &str = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";

    #[test]
    fn a_whole_url_is_read_and_written_back() {
        let text = format!("ripp://{TOKEN}@back-end.example.org:4000/sim/run-1#{FINGERPRINT}");
        let url: RippUrl = text.parse().unwrap();
        assert_eq!(url.token.as_ref().unwrap().as_bytes(), b"0123456789abcdef");
        assert_eq!((url.host.as_str(), url.port, url.name.as_str()), ("back-end.example.org", 4000, "sim/run-1"));
        assert_eq!(url.fingerprint.unwrap().to_string(), FINGERPRINT);
        assert_eq!(url.to_string(), text);
    }

    #[test]
    fn token_name_and_fingerprint_may_be_left_out() {
        let url: RippUrl = "ripp://10.0.0.1:9".parse().unwrap();
        assert_eq!((url.token, url.fingerprint, url.name.as_str()), (None, None, ""));
    }

    #[test]
    fn ipv6_hosts_stand_in_brackets() {
        let url: RippUrl = format!("ripp://{TOKEN}@[fe80::1]:4000/x").parse().unwrap();
        assert_eq!(url.host, "fe80::1");
        assert!(url.to_string().ends_with("@[fe80::1]:4000/x"));
        assert!(matches!("ripp://fe80::1:4000/x".parse::<RippUrl>(), Err(UrlError::Host(_))));
        assert!(matches!("ripp://[fe80::1/x".parse::<RippUrl>(), Err(UrlError::Host(_))));
        assert!(matches!("ripp://[host]:1/x".parse::<RippUrl>(), Err(UrlError::Host(_))));
    }

    #[test]
    fn a_host_that_is_taken_stands_in_a_url_that_can_be_read() {
        for (host, fits) in [
            ("login.example.org", true),
            ("10.0.0.1", true),
            ("::1", true),
            ("my_host-2", true),
            ("a b", false),
            ("a b#c", false),
            ("", false),
            ("[::1]", false),
            ("a/b", false),
            ("a@b", false),
            ("a:1", false),
            ("é", false),
        ] {
            let url =
                RippUrl { token: None, host: host.to_owned(), port: 4000, name: "x".to_owned(), fingerprint: None };
            assert_eq!(RippUrl::check_host(host).is_ok(), fits, "{host:?}");
            assert_eq!(url.to_string().parse::<RippUrl>().is_ok_and(|read| read == url), fits, "{host:?}");
        }
        assert!(RippUrl::check_host("a b").unwrap_err().to_string().contains("\"a b\""));
    }

    #[test]
    fn the_part_that_is_wrong_is_named() {
        let refusal = |text: &str| text.parse::<RippUrl>().unwrap_err();
        assert!(matches!(refusal("https://host:1/"), UrlError::Scheme));
        assert!(matches!(refusal(""), UrlError::Scheme));
        assert!(matches!(refusal("ripp://abc@host:1/"), UrlError::Token(_)));
        assert!(matches!(refusal("ripp://:1/"), UrlError::Host(_)));
        assert!(matches!(refusal("ripp://ho st:1/"), UrlError::Host(_)));
        for port in ["", ":", ":0", ":65536", ":+1", ":x"] {
            assert!(matches!(refusal(&format!("ripp://host{port}/")), UrlError::Port(_)), "{port}");
        }
        assert!(matches!(refusal("ripp://host:1/a b"), UrlError::Name(_)));
        assert!(matches!(refusal("ripp://host:1/a#short"), UrlError::Fingerprint(_)));
        assert!(matches!(refusal(&format!("ripp://host:1/a#{FINGERPRINT}/run.h5")), UrlError::Path));
    }

    #[test]
    fn what_is_logged_does_not_show_the_token() {
        let url: RippUrl = format!("ripp://{TOKEN}@host:1/a#{FINGERPRINT}").parse().unwrap();
        assert_eq!(url.without_secret(), "ripp://host:1/a");
        assert!(!format!("{url:?}").contains(TOKEN));
        let wrong = "ripp://SECRET@host:1/".parse::<RippUrl>().unwrap_err();
        assert!(!wrong.to_string().contains("SECRET"));
    }
}
