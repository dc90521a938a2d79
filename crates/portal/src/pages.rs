//! The viewer's pages, embedded in the binary.

use std::borrow::Cow;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{Metadata, RustEmbed};

use crate::guard::check_host;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Pages;

/// What decompresses data is WebAssembly, which brings itself along as data. Pages of this machine, such as notebooks, may have the viewer in them: without its
/// token it shows nothing.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ws: wss: data:; \
                      img-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; \
                      frame-ancestors http://localhost:* http://127.0.0.1:*; base-uri 'none'";

/// Serves an embedded file; `/` is the viewer.
pub(crate) async fn serve(headers: HeaderMap, uri: Uri) -> Response {
    if let Err(refusal) = check_host(&headers) {
        return refusal.into_response();
    }
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    match Pages::get(path) {
        Some(page) => {
            let tag = tag(&page.metadata);
            let has_it = headers.get_all(header::IF_NONE_MATCH).iter().any(|known| known == tag.as_str());
            let headers = [
                (header::ETAG, tag),
                (header::CONTENT_TYPE, page.metadata.mimetype().to_owned()),
                (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
                (header::REFERRER_POLICY, "no-referrer".to_owned()),
                (header::CACHE_CONTROL, "no-cache".to_owned()),
            ];
            if has_it {
                return (StatusCode::NOT_MODIFIED, headers).into_response();
            }
            // What is embedded is not copied for each who asks.
            let content = match page.data {
                Cow::Borrowed(content) => Bytes::from_static(content),
                Cow::Owned(content) => content.into(),
            };
            (headers, content).into_response()
        }
        None if path == "index.html" => {
            (StatusCode::NOT_FOUND, "this visapult was built without its pages: build it with `make build`\n")
                .into_response()
        }
        None => (StatusCode::NOT_FOUND, "there is no such page: the viewer is at /\n").into_response(),
    }
}

/// By what a browser asks whether what it has kept is still the same; weak, as it is one for all ways to compress it (RFC 9110, section 8.8.1).
fn tag(page: &Metadata) -> String {
    let hash: String = page.sha256_hash()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{hash}\"")
}
