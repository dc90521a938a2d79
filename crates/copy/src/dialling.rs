//! Dials a share.

use visapult_ripp_net::{Options, RippUrl, Session, SessionError, Token, Trust};

use crate::error::CopyError;
use crate::request::{Request, SHARE};

/// A name for a copy that no other has.
pub(crate) fn fresh_job() -> Result<String, CopyError> {
    Token::fresh().map(|token| token.encoded()).map_err(|cause| CopyError::Here(cause.to_string()))
}

pub(crate) fn dial(url: &RippUrl, options: &Options, request: &Request) -> Result<Session, CopyError> {
    let session = begin(url, options, request)?;
    session.admitted()?;
    Ok(session)
}

/// The same without waiting to be admitted: what is offered meanwhile is under way a round trip sooner.
pub(crate) fn begin(url: &RippUrl, options: &Options, request: &Request) -> Result<Session, CopyError> {
    let trust = if url.fingerprint.is_none() && url.token.is_none() {
        Trust::InsecureLoopback
    } else {
        Trust::for_url(url).map_err(SessionError::from)?
    };
    let session = Options { service: Some(SHARE), request: request.to_text(), ..options.clone() };
    Ok(Session::begin(url, &trust, None, &session)?)
}
