//! What both ends do alike to begin a session.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use visapult_ripp::memory::Limits;

use super::objects::Arrival;
use super::shared::Shared;
use super::{Options, SessionError, digest};
use crate::control::{ControlSender, KeyExporter};

/// A UDP path that answers later than this, and later than four round trips of the control channel, is taken to be blocked.
pub(super) const UDP_PATIENCE: Duration = Duration::from_millis(1_000);
/// Each message of the handshake comes within this time.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// The secret that all lane keys derive from; random where the control channel has none.
pub(super) fn session_secret(exporter: Option<&KeyExporter>, plain: Option<&str>) -> Result<[u8; 32], SessionError> {
    let mut secret = [0; 32];
    match (exporter, plain) {
        (Some(exporter), _) => exporter.export_key("EXPORTER-ripp-session", b"", &mut secret)?,
        (None, Some(text)) => {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
            secret.copy_from_slice(digest.as_ref());
        }
        (None, None) => return Err(SessionError::protocol(&"the peer", &"no secret for an unencrypted session")),
    }
    Ok(secret)
}

/// A session that has no lanes yet.
pub(super) struct Begun {
    pub(super) shared: Arc<Shared>,
    pub(super) arrivals: Receiver<Option<Arrival>>,
}

/// Begins a session: from here on flows can be opened, and objects offered.
pub(super) fn begin(control: ControlSender, options: &Options, limits: Limits) -> Result<Begun, SessionError> {
    let (arrivals_in, arrivals) = channel();
    let (jobs_in, jobs) = channel();
    let shared = Arc::new(Shared::new(control, arrivals_in, jobs_in, options, limits));
    let digesting = Arc::clone(&shared);
    shared.spawn("ripp-digest".to_owned(), move || digest::run(&digesting, &jobs))?;
    Ok(Begun { shared, arrivals })
}
