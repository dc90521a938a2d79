//! As whom a server of `https://` is asked: what the environment says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use object_store::{HeaderMap, HeaderValue};

const HOST: &str = "VISAPULT_HTTPS_HOST";
const USER: &str = "VISAPULT_HTTPS_USER";
const PASSWORD: &str = "VISAPULT_HTTPS_PASSWORD";
const TOKEN: &str = "VISAPULT_HTTPS_TOKEN";

/// As whom something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Somebody whom the environment names, or the URL itself.
    Somebody,
    /// A store, as nobody.
    NobodyOfStore,
    /// A server of `https://`, as nobody.
    NobodyOfWeb,
}

impl Asker {
    /// What to do where it is denied to them.
    pub(crate) const fn when_denied(self) -> &'static str {
        match self {
            Self::Somebody => "denied: whoever has these credentials, or this URL, may not do that",
            Self::NobodyOfStore => {
                "denied, and there are no credentials in the environment: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profiles are not read)"
            }
            Self::NobodyOfWeb => {
                "denied, and the environment has no credentials for this host: set VISAPULT_HTTPS_HOST to it, and VISAPULT_HTTPS_USER and VISAPULT_HTTPS_PASSWORD, or VISAPULT_HTTPS_TOKEN"
            }
        }
    }
}

/// What every request to the server of `url` tells of who asks; nothing if the environment names nobody, or another server: none is told the
/// secrets of another.
///
/// # Errors
/// Which variable makes no sense. No value is told: it may be a secret.
pub(crate) fn of_web(url: &str) -> Result<Option<HeaderMap>, String> {
    let said = |name: &str| match std::env::var(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(format!("{name} is no text")),
    };
    let told = headers(said(USER)?, said(PASSWORD)?, said(TOKEN)?)?;
    match said(HOST)? {
        _ if told.is_none() => Ok(None),
        None => Err(format!("{HOST} has to say for which server {USER} or {TOKEN} is: it alone is told")),
        Some(host) => Ok(told.filter(|_| host.eq_ignore_ascii_case(host_of(url)))),
    }
}

/// With its port, where the URL names one.
fn host_of(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    behind.split(['/', '?']).next().unwrap_or_default()
}

fn headers(user: Option<String>, password: Option<String>, token: Option<String>) -> Result<Option<HeaderMap>, String> {
    let told = match (user, password, token) {
        (None, None, None) => return Ok(None),
        (None, None, Some(token)) => format!("Bearer {token}"),
        (Some(user), password, None) if !user.contains(':') => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.unwrap_or_default())))
        }
        (Some(_), _, None) => return Err(format!("{USER} holds a colon, which no user's name does")),
        (None, Some(_), None) => return Err(format!("{PASSWORD} is there without {USER}")),
        (.., Some(_)) => return Err(format!("{TOKEN} is there beside {USER} or {PASSWORD}: one of them has to go")),
    };
    let mut value = HeaderValue::from_str(&told).map_err(|_| format!("{TOKEN} holds a sign that no server takes"))?;
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert("authorization", value);
    Ok(Some(headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_host_and_port() {
        for url in ["https://h.org:8443/a", "https://h.org:8443", "https://h.org:8443?a=/b"] {
            assert_eq!(host_of(url), "h.org:8443");
        }
    }

    #[test]
    fn a_user_or_a_token_is_told_and_nothing_by_halves() {
        let told = |user: &str, password: &str, token: &str| {
            let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            headers(some(user), some(password), some(token)).map(|headers| {
                headers.map(|headers| headers["authorization"].to_str().unwrap().to_owned()).unwrap_or_default()
            })
        };
        assert_eq!(told("", "", ""), Ok(String::new()));
        // RFC 7617, section 2.
        assert_eq!(told("Aladdin", "open sesame", ""), Ok("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned()));
        assert_eq!(told("", "", "abc"), Ok("Bearer abc".to_owned()));
        for (user, password, token) in [("", "p", ""), ("u", "p", "t"), ("u:v", "p", ""), ("", "", "a\nb")] {
            let why = told(user, password, token).unwrap_err();
            assert!(why.starts_with("VISAPULT_HTTPS_") && !why.contains("a\nb"), "{why}");
        }
    }
}
