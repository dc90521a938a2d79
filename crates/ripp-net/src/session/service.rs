//! What a program serves at a URL, in words of its own: the transport compares them, and hands them on.

use std::fmt;

/// What is served at a URL, or wanted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// What the programs at both ends call it.
    pub name: &'static str,
    /// What prints its URLs.
    pub printed_by: &'static str,
    /// What takes them.
    pub taken_by: &'static str,
}

/// What is said to who has dialled it for something else.
impl fmt::Display for Service {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "this URL is of {}, for {}", self.printed_by, self.taken_by)
    }
}
