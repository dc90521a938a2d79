//! What a store says when it will not, in one line that tells what to do.

use std::error::Error;

use object_store::client::{HttpError, HttpErrorKind};

use crate::asker::Asker;
use crate::text::{cut, printable};

/// Letters of what a store says by itself, at most.
const MOST_SAID: usize = 300;

/// Why something did not come of a request.
#[derive(Debug)]
pub enum Fault {
    /// Nobody wants to know any more.
    Stopped,
    /// The object is not what it was.
    Changed,
    /// There is none.
    Missing,
    /// It ended before its end.
    Short,
    /// It is longer than it may be.
    Long,
    /// What was put there is not what is there.
    Differs,
    /// It is of a server that does not tell what there is.
    Unlisted,
    /// What the library says.
    Store(object_store::Error),
}

impl From<object_store::Error> for Fault {
    fn from(cause: object_store::Error) -> Self {
        Self::Store(cause)
    }
}

impl Fault {
    /// There is no such object, and the store has said so.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Store(cause @ object_store::Error::NotFound { .. }) => !cause.to_string().contains("NoSuchBucket"),
            _ => false,
        }
    }

    /// The store will not, whoever asks.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        use object_store::Error::{PermissionDenied, Unauthenticated};
        matches!(self, Self::Store(PermissionDenied { .. } | Unauthenticated { .. }))
    }

    /// A server has said it.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Store(cause) if status(&cause.to_string()).is_some())
    }

    /// The server does not give parts of a file, or not of an empty one.
    #[must_use]
    pub fn is_of_ranges(&self) -> bool {
        match self {
            Self::Store(object_store::Error::NotSupported { .. }) => true,
            Self::Store(cause) => status(&cause.to_string()).is_some_and(|status| status.starts_with("416")),
            _ => false,
        }
    }

    /// As a person is told it; who has no credentials is told of them.
    pub(crate) fn why(&self, asker: Asker) -> String {
        match self {
            Self::Stopped => "stopped".to_owned(),
            Self::Changed => "it has changed since it was listed; copy it again".to_owned(),
            Self::Missing => "there is no such object, and none below it".to_owned(),
            Self::Short => "the store sent less than it said".to_owned(),
            Self::Long => "it is longer than such an object may be".to_owned(),
            Self::Differs => "what was written is not what was sent; copy it again".to_owned(),
            Self::Unlisted => "what is there cannot be listed: servers of https:// tell in no common way".to_owned(),
            Self::Store(cause) => why(cause, asker),
        }
    }
}

fn why(cause: &object_store::Error, asker: Asker) -> String {
    let text = cause.to_string();
    let code = between(&text, "<Code>", "</Code>").unwrap_or_default();
    let status = status(&text).unwrap_or_default();
    match code {
        "NoSuchBucket" => {
            "there is no such bucket; a store that is not Amazon's is named by AWS_ENDPOINT_URL".to_owned()
        }
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "ExpiredToken" => format!(
            "the store does not accept the credentials ({code}): see to AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
        ),
        "RequestTimeTooSkewed" => "the clock of this machine is wrong by more than the store allows".to_owned(),
        "PermanentRedirect" | "AuthorizationHeaderMalformed" | "TemporaryRedirect" => elsewhere(&text),
        "EntityTooLarge" => "it is larger than the store allows".to_owned(),
        "QuotaExceeded" | "InsufficientStorage" => "the quota of the store is used up".to_owned(),
        _ if text.contains("redirect without LOCATION") || status.starts_with("301") => elsewhere(&text),
        _ if status.starts_with("401") || status.starts_with("403") => asker.when_denied().to_owned(),
        "" if status.starts_with("405") || status.starts_with("501") => {
            format!("the server takes no files there ({status}): it has to speak WebDAV, and to let you write")
        }
        "" if status.starts_with("409") => {
            "the folder that it goes into is not there, and the server makes none: make it there".to_owned()
        }
        "" if status.starts_with("413") => "it is larger than the server takes".to_owned(),
        "" if status.starts_with("507") => "the server has no room for it".to_owned(),
        _ if status.starts_with("404") => "there is no such object".to_owned(),
        _ if !status.is_empty() => {
            let said = between(&text, "<Message>", "</Message>").unwrap_or(code);
            let said = if said.is_empty() {
                String::new()
            } else {
                format!(": {}", printable(cut(said, MOST_SAID).as_bytes()))
            };
            format!("the store answers {status}, whatever is tried{said}")
        }
        _ => of_transport(cause),
    }
}

fn elsewhere(text: &str) -> String {
    let region =
        between(text, "<Region>", "</Region>").map(|region| format!(", {}", printable(cut(region, 40).as_bytes())));
    format!("the bucket is in another region{}: set AWS_REGION to it", region.unwrap_or_default())
}

fn of_transport(cause: &object_store::Error) -> String {
    let mut kind = None;
    let mut innermost: &dyn Error = cause;
    while let Some(source) = innermost.source() {
        kind = source.downcast_ref::<HttpError>().map(HttpError::kind).or(kind);
        innermost = source;
    }
    let said = printable(cut(&innermost.to_string(), MOST_SAID).as_bytes());
    match kind {
        _ if said.contains("scheme is not allowed") => "http:// is not encrypted, and for this machine alone: an endpoint is https://, or AWS_ALLOW_HTTP=true is set".to_owned(),
        _ if said.contains("Content-Length Header missing") => "the server does not say how long it is (Content-Length), so that nobody can tell whether all of it has come: fetch it with another program first".to_owned(),
        Some(HttpErrorKind::Timeout) => "the store does not answer in time".to_owned(),
        Some(HttpErrorKind::Connect) => format!("the store cannot be reached: {said}"),
        Some(_) => format!("the connection to the store broke: {said}"),
        None => said,
    }
}

/// The status that a server answered with, such as `403 Forbidden`.
fn status(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once("status code: ")?;
    behind.split(':').next().filter(|status| status.len() <= 40)
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &str) -> String {
        Fault::Store(object_store::Error::Generic { store: "S3", source: source.to_owned().into() })
            .why(Asker::NobodyOfStore)
    }

    #[test]
    fn what_a_store_says_becomes_what_to_do() {
        let answer = |status: &str, inner: &str| {
            told(&format!("Server returned non-2xx status code: {status}: <Error>{inner}</Error>"))
        };
        assert!(answer("404 Not Found", "<Code>NoSuchBucket</Code>").contains("AWS_ENDPOINT_URL"));
        assert!(answer("403 Forbidden", "<Code>SignatureDoesNotMatch</Code>").contains("AWS_SECRET_ACCESS_KEY"));
        assert!(answer("403 Forbidden", "<Code>AccessDenied</Code>").contains("no credentials"));
        let moved = answer("400 Bad Request", "<Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>");
        assert!(moved.contains("eu-west-1") && moved.contains("AWS_REGION"), "{moved}");
        let busy = answer("503 Slow Down", "<Code>SlowDown</Code><Message>Reduce\u{1b} your rate</Message>");
        assert_eq!(busy, "the store answers 503 Slow Down, whatever is tried: Reduce\u{fffd} your rate");
        assert!(answer("405 Method Not Allowed", "").contains("WebDAV"));
        assert!(answer("409 Conflict", "").contains("make it there"));
        assert!(told("Content-Length Header missing from response").contains("does not say how long it is"));
        assert_eq!(told("a b"), "a b");
    }
}
