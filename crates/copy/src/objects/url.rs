//! Where something is in an object store, as a person writes it.

use std::fmt;
use std::net::IpAddr;

use crate::endpoint::EndpointError;
use crate::names::{MOST_PATH, Name, printable};
use crate::words::unescaped;

const BUCKET: &str = "s3://";
const WEB: [&str; 2] = ["https://", "http://"];
/// Bytes of a URL at most.
const MOST_URL: usize = 8192;

/// Something in an object store: `s3://bucket/key`, or `https://host/path`.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectUrl {
    pub(crate) at: At,
    /// It was written as a folder, with a `/` in the end.
    pub(crate) is_folder: bool,
    /// It was written as what is in a folder, with `/.` in the end.
    pub(crate) is_content: bool,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum At {
    /// A key, or what all keys begin with that are meant; empty for the whole bucket.
    Bucket { bucket: String, key: String },
    /// One file, with the URL as it is asked for, and what the file is called.
    Web { url: String, name: Name, is_plain: bool },
}

impl ObjectUrl {
    /// None if `text` is no such URL at all, but something else.
    ///
    /// # Errors
    /// If it is one that leads nowhere.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, EndpointError>> {
        if let Some(rest) = text.strip_prefix(BUCKET) {
            return Some(bucket(rest).map_err(EndpointError::Objects));
        }
        let scheme = WEB.into_iter().find(|scheme| text.starts_with(scheme))?;
        Some(web(text, scheme).map_err(EndpointError::Objects))
    }

    /// What it is called where it is copied to; none for a whole bucket's content.
    pub(crate) fn name(&self) -> Option<Name> {
        match &self.at {
            _ if self.is_content => None,
            At::Bucket { bucket, key } => {
                Name::new(key.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(bucket).as_bytes())
            }
            At::Web { name, .. } => Some(name.clone()),
        }
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
    let parts = || key.split('/').all(|part| Name::new(part.as_bytes()).is_some() && !part.contains(char::is_control));
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
    let last = path.rsplit('/').next().and_then(unescaped).and_then(|last| Name::new(&last));
    let Some(name) = last.filter(|name| !name.is_ours()) else {
        return Err(
            "of https:// one file is copied: the URL has to end with its name, for servers tell in no common way what is in a folder",
        );
    };
    let is_plain = scheme == WEB[1];
    if is_plain && !is_loopback(authority) && !allows_plain() {
        return Err("http:// is not encrypted, and for this machine alone: write https://, or set AWS_ALLOW_HTTP=true");
    }
    Ok(ObjectUrl { at: At::Web { url: url.to_owned(), name, is_plain }, is_folder: false, is_content: false })
}

/// The user has said that what is not encrypted may leave this machine.
pub(super) fn allows_plain() -> bool {
    std::env::var("AWS_ALLOW_HTTP")
        .is_ok_and(|said| ["1", "true", "on", "yes", "y"].contains(&said.to_lowercase().as_str()))
}

/// `host:port` is this machine.
pub(super) fn is_loopback(authority: &str) -> bool {
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
                let name = url.name().map(|name| name.to_string()).unwrap_or_default();
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
    fn of_the_web_one_file_and_no_secret_is_shown() {
        assert_eq!(told("https://host:1/a/b%20c.h5?X-Sig=secret#x"), "https://host:1/a/b%20c.h5 b c.h5 false false");
        assert!(!format!("{:?}", ObjectUrl::parse("https://h/a?secret").unwrap().unwrap()).contains("secret"));
        assert_eq!(told("http://127.0.0.1:8/x"), "http://127.0.0.1:8/x x false false");
        assert_eq!(told("http://[::1]:8/x"), "http://[::1]:8/x x false false");
        for wrong in [
            "https://",
            "https://h",
            "https://h/",
            "https://h/a/",
            "https://u:p@h/a",
            "https://h/a b",
            "http://h/a",
            "https://h/%2e%2e",
        ] {
            let told = told(wrong);
            assert!(told.starts_with("no: ") && !told.contains("u:p"), "{wrong}: {told}");
        }
    }
}
