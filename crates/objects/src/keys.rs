//! Keys that are no paths: the library gives up a whole listing for one of them, so they are renamed in what the store answers.
//!
//! What is renamed begins with a sign that stands for nothing in Unicode, and holds the key as a URL would.

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use object_store::path::Path;
use quick_xml::escape::unescape;

use crate::patient::Patient;
use crate::text::{escaped, unescaped};

/// Before a key that was renamed.
const RENAMED: char = '\u{f8ff}';
/// Bytes of a listing of a thousand keys at most.
const MOST_LISTING: usize = 16 << 20;

/// Connects to a store, and renames keys in what it lists.
#[derive(Debug)]
pub(crate) struct Renaming;

impl HttpConnector for Renaming {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = HttpClient::new(Patient(ReqwestConnector::default().connect(options)?));
        Ok(HttpClient::new(Renamed(client)))
    }
}

#[derive(Debug)]
struct Renamed(HttpClient);

#[async_trait]
impl HttpService for Renamed {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_listing = request.uri().query().is_some_and(|query| query.split('&').any(|part| part == "list-type=2"));
        let mut response = self.0.execute(request).await?;
        // rclone's server tells of a part as of all, but for where it lies.
        if response.status() == 200
            && response.headers().contains_key("content-range")
            && let Ok(partial) = 206.try_into()
        {
            *response.status_mut() = partial;
        }
        if !is_listing || !response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        // It is asked for again.
        let body = body.bytes().await.map_err(|cause| HttpError::new(HttpErrorKind::Interrupted, cause))?;
        let wrong = |why: &str| HttpError::new(HttpErrorKind::Decode, std::io::Error::other(why.to_owned()));
        if body.len() > MOST_LISTING {
            return Err(wrong("a listing is too long"));
        }
        let text = std::str::from_utf8(&body).map_err(|_| wrong("a listing is no text"))?;
        Ok(HttpResponse::from_parts(parts, renamed(text).into()))
    }
}

/// A listing in which keys are paths.
fn renamed(listing: &str) -> String {
    const OPEN: &str = "<Key>";
    const CLOSE: &str = "</Key>";
    let mut text = String::with_capacity(listing.len());
    let mut rest = listing;
    while let Some((before, behind)) = rest.split_once(OPEN) {
        let Some((written, after)) = behind.split_once(CLOSE) else { break };
        text += before;
        text += OPEN;
        match unescape(written) {
            Ok(key) if !is_path(&key) => {
                text.push(RENAMED);
                text += &escaped(key.as_bytes()).replace('/', "%2F");
            }
            _ => text += written,
        }
        text += CLOSE;
        rest = after;
    }
    text + rest
}

fn is_path(key: &str) -> bool {
    !key.is_empty() && !key.starts_with(RENAMED) && Path::parse(key).is_ok_and(|path| path.as_ref() == key)
}

/// The key that a listing holds, and whether it is a path.
#[must_use]
pub fn key_of(listed: &Path) -> (String, bool) {
    let renamed = listed.as_ref().strip_prefix(RENAMED).and_then(unescaped).and_then(|key| String::from_utf8(key).ok());
    renamed.map_or_else(|| (listed.to_string(), true), |key| (key, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_paths_are_found_again() {
        for (written, key, is_path) in [
            ("a/b c.h5", "a/b c.h5", true),
            ("a&amp;b", "a&b", true),
            ("a//b", "a//b", false),
            ("/a", "/a", false),
            ("a/", "a/", false),
            ("../a", "../a", false),
            ("a/./b", "a/./b", false),
            ("a&#10;b", "a\nb", false),
            ("é/ü", "é/ü", true),
            ("\u{f8ff}x", "\u{f8ff}x", false),
        ] {
            let listing = renamed(&format!("<r><Key>{written}</Key><Size>1</Size><Key>z</Key></r>"));
            assert!(listing.ends_with("</Key><Size>1</Size><Key>z</Key></r>"), "{listing}");
            let between = listing.strip_prefix("<r><Key>").unwrap().split("</Key>").next().unwrap();
            let listed = Path::parse(unescape(between).unwrap()).unwrap();
            assert_eq!(key_of(&listed), (key.to_owned(), is_path), "{written}");
        }
        assert_eq!(renamed("<Key>a//b"), "<Key>a//b");
    }
}
