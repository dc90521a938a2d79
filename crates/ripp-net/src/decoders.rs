//! What comes from outside, given arbitrary bytes: what the fuzz targets run, and the tests replay.
//!
//! Errors are fine; a panic is not, nor is a value that does not survive being written and read again.

use std::path::Path;

use visapult_ripp::wire::Frame;

use crate::control::{FrameReader, whole};
use crate::perf::Request;
use crate::policy::parse;
use crate::session::Ack;
use crate::token::Token;
use crate::url::RippUrl;

/// A decoder with its name.
pub type Decoder = (&'static str, fn(&[u8]));

/// All of them: the names are those of the fuzz targets and their corpora.
pub const ALL: [Decoder; 5] = [
    ("ripp_stream", stream),
    ("ripp_url", url),
    ("ripp_token", token),
    ("ripp_policy", policy),
    ("ripp_request", request),
];

/// What a stream brings, after a byte that says in which portions.
///
/// # Panics
/// If the two readers of streams differ, or an acknowledgement is written otherwise than it was read.
pub fn stream(bytes: &[u8]) {
    let Some((&portion, stream)) = bytes.split_first() else { return };
    let mut reader = FrameReader::default();
    let (mut one_by_one, mut is_too_long) = (Vec::new(), false);
    for arrived in stream.chunks(usize::from(portion) + 1) {
        reader.push(arrived);
        loop {
            match reader.next() {
                Ok(Some(message)) => one_by_one.push(message),
                Ok(None) => break,
                Err(_) => {
                    is_too_long = true;
                    break;
                }
            }
        }
    }
    let at_once = whole(stream);
    assert_eq!(at_once.is_err(), is_too_long);
    for frame in &one_by_one {
        if let Some(ack) = Ack::from_bytes(frame) {
            assert_eq!(ack.to_bytes()[..], frame[..]);
        }
        let _ = Frame::read(frame);
    }
    if let Ok((frames, _)) = at_once {
        assert_eq!(frames, one_by_one);
    }
}

/// A URL as somebody has copied it.
///
/// # Panics
/// If a URL that was read is written otherwise.
pub fn url(bytes: &[u8]) {
    let Some(url) = text(bytes).and_then(|text| text.parse::<RippUrl>().ok()) else { return };
    assert_eq!(url.to_string().parse::<RippUrl>().ok().map(|again| again.to_string()), Some(url.to_string()));
}

/// A token as a dialler shows it.
///
/// # Panics
/// If a token that was read is written otherwise.
pub fn token(bytes: &[u8]) {
    let Some(token) = text(bytes).and_then(|text| Token::parse(text).ok()) else { return };
    assert!(Token::parse(&token.encoded()).is_ok_and(|again| again.matches(token.as_bytes())));
}

/// A file of rules for paths.
pub fn policy(bytes: &[u8]) {
    if let Some(text) = text(bytes) {
        let _ = parse(Path::new("paths.toml"), text);
    }
}

/// What a dialler asks a measuring listener for.
///
/// # Panics
/// If a request that was read is written otherwise.
pub fn request(bytes: &[u8]) {
    let Some(request) = text(bytes).and_then(Request::from_text) else { return };
    assert_eq!(Request::from_text(&request.to_text()), Some(request));
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
