//! Folders of a server of WebDAV, made before something is put into them.
//!
//! What is put where there is no folder is refused, by many servers before they have read it: it would be sent twice, and such a server takes what is left of it
//! on the connection for requests.

use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use object_store::path::Path;
use url::Url;

/// Makes folders of a server.
#[derive(Debug)]
pub(crate) struct Folders {
    client: HttpClient,
    base: Url,
}

impl Folders {
    /// Of the server of `base`; nothing is asked yet.
    pub(crate) fn of(base: &str, client: HttpClient) -> Result<Self, String> {
        let base = Url::parse(base).map_err(|_| "is no URL that can be asked for".to_owned())?;
        Ok(Self { client, base })
    }

    /// Asks for a folder whose own is there. Whether there is one now is told by what is put into it: it may have been there, or the server makes folders by itself.
    pub(crate) async fn make(&self, folder: &Path) {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            // Without the slash some servers take it for a file.
            segments.extend(folder.parts()).push("");
        }
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        let (Ok(method), Ok(uri)) = ("MKCOL".try_into(), url.as_str().parse()) else { return };
        (*request.method_mut(), *request.uri_mut()) = (method, uri);
        if let Ok(answer) = self.client.execute(request).await {
            // The connection serves again once all of it is read.
            let _ = answer.into_body().bytes().await;
        }
    }
}
