//! What another computer says, before anybody reads it.

/// Of what another computer says the beginning, fit for a terminal and a log.
pub(crate) fn printable(said: &str) -> String {
    const MOST: usize = 500;
    said.chars().take(MOST).map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}
