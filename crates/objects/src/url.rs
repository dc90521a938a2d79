//! Where something is in an object store, as a person writes it.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;

use crate::text::{MOST_PATH, escaped, is_name, printable, unescaped};

const BUCKET: &str = "s3://";
const WEB: [&str; 2] = ["https://", "http://"];
/// Bytes of a URL at most.
const MOST_URL: usize = 8192;

/// Why something is nowhere. Never says what stood there.
#[derive(Clone, Copy, Debug)]
pub struct UrlError(&'static str);

impl fmt::Display for UrlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl Error for UrlError {}

/// Something in an object store: `s3://bucket/key`, or `https://host/path`.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectUrl {
    /// Where it is.
    pub at: At,
    /// It was written as a folder, with a `/` in the end.
    pub is_folder: bool,
    /// It was written as what is in a folder, with `/.` in the end.
    pub is_content: bool,
}

/// A place in a store.
#[derive(Clone, PartialEq, Eq)]
pub enum At {
    /// A key, or what all keys begin with that are meant; empty for the whole bucket.
    Bucket {
        /// Its name.
        bucket: String,
        /// Without a `/` in the end.
        key: String,
    },
    /// What a server has.
    Web {
        /// As it is asked for: without a `/` in the end.
        url: String,
        /// It is not encrypted.
        is_plain: bool,
    },
}

impl ObjectUrl {
    /// None if `text` is no such URL at all, but something else.
    ///
    /// # Errors
    /// If it is one that leads nowhere.
    #[must_use]
    pub fn parse(text: &str) -> Option<Result<Self, UrlError>> {
        if let Some(rest) = text.strip_prefix(BUCKET) {
            return Some(bucket(rest).map_err(UrlError));
        }
        let scheme = WEB.into_iter().find(|scheme| text.starts_with(scheme))?;
        Some(web(text, scheme).map_err(UrlError))
    }

    /// What it is called; none for a whole bucket's content, and where a URL has no name.
    #[must_use]
    pub fn name(&self) -> Option<Vec<u8>> {
        let name = match &self.at {
            _ if self.is_content => return None,
            At::Bucket { bucket, key } => {
                key.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(bucket).into()
            }
            At::Web { url, .. } => {
                let (_, behind) = url.split('?').next()?.split_once("://")?;
                unescaped(behind.split_once('/')?.1.rsplit('/').next()?)?
            }
        };
        is_name(&name).then_some(name)
    }

    /// What holds it, and the key that it has there: of a server, the path. None if that is no path of text.
    #[must_use]
    pub fn apart(&self) -> Option<(Self, String)> {
        let (url, is_plain) = match &self.at {
            At::Bucket { key, .. } => return Some((self.clone(), key.clone())),
            At::Web { url, is_plain } => (url, *is_plain),
        };
        let (place, query) = url.find('?').map_or((url.as_str(), ""), |at| url.split_at(at));
        let (scheme, rest) = place.split_once("://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let key = String::from_utf8(unescaped(path)?).ok()?;
        let is_path = key.is_empty() || key.split('/').all(|part| is_name(part.as_bytes()));
        let at = At::Web { url: format!("{scheme}://{authority}{query}"), is_plain };
        is_path.then(|| (Self { at, ..self.clone() }, key))
    }

    /// What it is in; none for a whole bucket, and for what a server has at its root.
    #[must_use]
    pub fn above(&self) -> Option<Self> {
        let at = match &self.at {
            At::Bucket { key, .. } if key.is_empty() => return None,
            At::Bucket { bucket, key } => {
                let key = key.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
                At::Bucket { bucket: bucket.clone(), key }
            }
            At::Web { url, is_plain } => {
                let (place, query) = url.find('?').map_or((url.as_str(), ""), |at| url.split_at(at));
                let (above, _) = place.rsplit_once('/').filter(|(above, _)| !above.ends_with(['/', ':']))?;
                At::Web { url: format!("{above}{query}"), is_plain: *is_plain }
            }
        };
        Some(Self { at, is_folder: false, is_content: false })
    }

    /// What is at `path` below it.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        let at = match &self.at {
            At::Bucket { bucket, key } if key.is_empty() => At::Bucket { bucket: bucket.clone(), key: path.to_owned() },
            At::Bucket { bucket, key } => At::Bucket { bucket: bucket.clone(), key: format!("{key}/{path}") },
            At::Web { url, is_plain } => {
                let (place, query) = url.find('?').map_or((url.as_str(), ""), |at| url.split_at(at));
                At::Web { url: format!("{place}/{}{query}", escaped(path.as_bytes())), is_plain: *is_plain }
            }
        };
        Self { at, is_folder: false, is_content: false }
    }
}

/// As it may be shown: without what follows a `?`, which may be a secret.
impl fmt::Display for ObjectUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match &self.at {
            At::Bucket { bucket, key } if key.is_empty() => format!("{BUCKET}{bucket}"),
            At::Bucket { bucket, key } => format!("{BUCKET}{bucket}/{key}"),
            At::Web { url, .. } => url.split('?').next().unwrap_or_default().to_owned(),
        };
        out.write_str(&printable(shown.as_bytes()))
    }
}

impl fmt::Debug for ObjectUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ObjectUrl({self})")
    }
}

fn bucket(rest: &str) -> Result<ObjectUrl, &'static str> {
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_bucket = (1..=255).contains(&bucket.len())
        && bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if !is_bucket {
        return Err(
            "s3:// is followed by the name of a bucket; who you are is told by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
        );
    }
    let (path, is_content) = match path.strip_suffix('.') {
        Some(before) if before.is_empty() || before.ends_with('/') => (before, true),
        _ => (path, false),
    };
    let key = path.strip_suffix('/').unwrap_or(path);
    let parts = || key.split('/').all(|part| is_name(part.as_bytes()) && !part.contains(char::is_control));
    if !key.is_empty() && (key.len() > MOST_PATH || !parts()) {
        return Err(
            "the key after the bucket must be a path that a folder can hold: without //, . and .., and names of 255 bytes at most",
        );
    }
    let is_folder = path.ends_with('/') || is_content;
    Ok(ObjectUrl { at: At::Bucket { bucket: bucket.to_owned(), key: key.to_owned() }, is_folder, is_content })
}

fn web(text: &str, scheme: &str) -> Result<ObjectUrl, &'static str> {
    let url = text.split('#').next().unwrap_or_default();
    if url.len() > MOST_URL || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a URL holds letters, digits and signs alone: write %20 for a blank");
    }
    let rest = &url[scheme.len()..];
    let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = (&rest[..path_at], rest[path_at..].split('?').next().unwrap_or_default());
    if authority.contains('@') {
        return Err("no user or password stands in a URL, where everybody on this machine may read it");
    }
    if authority.is_empty() {
        return Err("https:// is followed by a host");
    }
    let is_plain = scheme == WEB[1];
    if is_plain && !is_loopback(authority) && !allows_plain() {
        return Err("http:// is not encrypted, and for this machine alone: write https://, or set AWS_ALLOW_HTTP=true");
    }
    let query = &rest[path_at + path.len()..];
    let url = format!("{scheme}{authority}{}{query}", path.trim_end_matches('/'));
    Ok(ObjectUrl { at: At::Web { url, is_plain }, is_folder: path.ends_with('/'), is_content: false })
}

/// The user has said that what is not encrypted may leave this machine.
pub(crate) fn allows_plain() -> bool {
    std::env::var("AWS_ALLOW_HTTP")
        .is_ok_and(|said| ["1", "true", "on", "yes", "y"].contains(&said.to_lowercase().as_str()))
}

/// `host:port` is this machine.
pub(crate) fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        match ObjectUrl::parse(text).unwrap() {
            Ok(url) => {
                let name = url.name().map(|name| printable(&name)).unwrap_or_default();
                format!("{url} {name} {} {}", url.is_folder, url.is_content)
            }
            Err(cause) => format!("no: {cause}"),
        }
    }

    #[test]
    fn buckets_keys_and_what_is_in_them() {
        assert_eq!(told("s3://b"), "s3://b b false false");
        assert_eq!(told("s3://b/"), "s3://b b false false");
        assert_eq!(told("s3://b/."), "s3://b  true true");
        assert_eq!(told("s3://b/run-12/a b%20.h5"), "s3://b/run-12/a b%20.h5 a b%20.h5 false false");
        assert_eq!(told("s3://b/run/"), "s3://b/run run true false");
        assert_eq!(told("s3://b/run/."), "s3://b/run  true true");
        for wrong in ["s3://", "s3:///a", "s3://b/a//b", "s3://b/../a", "s3://b//a", "s3://b/a\n", "s3://k:s@b/a"] {
            assert!(told(wrong).starts_with("no: "), "{wrong}: {}", told(wrong));
        }
        assert!(ObjectUrl::parse("s3:/b").is_none() && ObjectUrl::parse("ripp://x").is_none());
    }

    #[test]
    fn of_the_web_no_secret_is_shown() {
        assert_eq!(told("https://host:1/a/b%20c.h5?X-Sig=secret#x"), "https://host:1/a/b%20c.h5 b c.h5 false false");
        assert!(!format!("{:?}", ObjectUrl::parse("https://h/a?secret").unwrap().unwrap()).contains("secret"));
        assert_eq!(told("http://127.0.0.1:8/x"), "http://127.0.0.1:8/x x false false");
        assert_eq!(told("http://[::1]:8/x"), "http://[::1]:8/x x false false");
        assert_eq!(told("https://h/a/"), "https://h/a a true false");
        for nameless in ["https://h", "https://h/", "https://h?a/b", "https://h/%2e%2e"] {
            assert_eq!(ObjectUrl::parse(nameless).unwrap().unwrap().name(), None, "{nameless}");
        }
        for wrong in ["https://", "https://u:p@h/a", "https://h/a b", "http://h/a"] {
            let told = told(wrong);
            assert!(told.starts_with("no: ") && !told.contains("u:p"), "{wrong}: {told}");
        }
    }

    #[test]
    fn a_server_and_the_path_on_it() {
        let apart = |text: &str| {
            let (server, key) = ObjectUrl::parse(text).unwrap().unwrap().apart()?;
            let At::Web { url, .. } = server.at else { panic!("{text}") };
            Some((url, key))
        };
        let found = |url: &str, key: &str| Some((url.to_owned(), key.to_owned()));
        assert_eq!(apart("https://h:1/dav/a%20b/?sig=1"), found("https://h:1?sig=1", "dav/a b"));
        assert_eq!(apart("https://h"), found("https://h", ""));
        for no_path in ["https://h/a//b", "https://h/a/%2e%2e/b", "https://h/%ff"] {
            assert_eq!(apart(no_path), None, "{no_path}");
        }
    }

    #[test]
    fn what_is_below_keeps_what_lets_one_in() {
        let below = |text: &str| match ObjectUrl::parse(text).unwrap().unwrap().below("a b/c").at {
            At::Bucket { key, .. } => key,
            At::Web { url, .. } => url,
        };
        assert_eq!(below("s3://b"), "a b/c");
        assert_eq!(below("s3://b/x.zarr/"), "x.zarr/a b/c");
        assert_eq!(below("https://h/x.zarr/?sig=1"), "https://h/x.zarr/a%20b/c?sig=1");
    }
}
