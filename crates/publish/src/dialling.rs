//! What both ends go by where one dials the other: what a listener serves, what a session is for, and whom a URL lets one believe.

use std::time::Duration;

use visapult_ripp_net::{RippUrl, Service, Trust};

use crate::error::FlowError;

/// Fields, step by step.
pub const FIELDS: Service = Service {
    name: "fields",
    printed_by: "visapult serve or a simulation",
    taken_by: "visapult view and visapult backend",
};
/// A place for those that publish fields.
pub const BACK_END: Service = Service {
    name: "back-end",
    printed_by: "visapult backend",
    taken_by: "simulations that publish (what they compute is on its page)",
};
/// What the session of a publisher that dials is for, as its request says.
pub const PUBLISH: &str = "visapult-publish";
/// From one attempt to reach the other end to the next.
pub const DIAL_AGAIN: Duration = Duration::from_secs(2);

/// Whom to believe behind `url`: one that names nobody is of a listener on loopback without protection.
///
/// # Errors
/// If it cannot be believed.
pub fn trust_of(url: &RippUrl) -> Result<Trust, FlowError> {
    if url.fingerprint.is_none() && url.token.is_none() {
        return Ok(Trust::InsecureLoopback);
    }
    Trust::for_url(url).map_err(|cause| FlowError::Usage(cause.to_string()))
}

/// A name as it may stand in a URL.
pub fn url_name(name: &str) -> String {
    name.chars().map(|sign| if sign.is_ascii_alphanumeric() || "-_.".contains(sign) { sign } else { '-' }).collect()
}
