//! A look at what a server has, on a connection of its own.
//!
//! Some servers send a body behind their answer to HEAD, where HTTP has none. On a connection that is used again it would be taken for the next answer.

use async_trait::async_trait;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientOptions, HeaderValue};

/// Connects to a server, and asks HEAD on connections that end with the answer.
#[derive(Debug)]
pub(crate) struct Alone(pub(crate) HttpClient);

impl HttpConnector for Alone {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(HeadAlone(self.0.clone())))
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
        self.0.execute(request).await
    }
}
