//! A look at what a server has, on a connection of its own.
//!
//! Some servers send a body behind their answer to HEAD, where HTTP has none. On a connection that is used again it would be taken for the next answer.

use async_trait::async_trait;
use chrono::DateTime;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientOptions, HeaderValue};

use crate::patient::Patient;

/// When a file was written.
const MODIFIED: &str = "last-modified";

/// Connects to a server, and asks HEAD on connections that end with the answer.
#[derive(Debug)]
pub(crate) struct Alone(pub(crate) HttpClient);

impl HttpConnector for Alone {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(HeadAlone(HttpClient::new(Patient(self.0.clone())))))
    }
}

#[derive(Debug)]
struct HeadAlone(HttpClient);

#[async_trait]
impl HttpService for HeadAlone {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if request.method() == "HEAD" {
            request.headers_mut().insert("connection", HeaderValue::from_static("close"));
        }
        let mut answer = self.0.execute(request).await?;
        // The library would give up for a time that it cannot read, and does without one.
        let is_time = |told: &HeaderValue| told.to_str().is_ok_and(|told| DateTime::parse_from_rfc2822(told).is_ok());
        if answer.headers().get(MODIFIED).is_some_and(|told| !is_time(told)) {
            answer.headers_mut().remove(MODIFIED);
        }
        Ok(answer)
    }
}
