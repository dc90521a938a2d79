//! What of the sources is meant.

use serde::{Deserialize, Serialize};

/// Some bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first.
    pub start: u64,
    /// After the last; none is the end of the file.
    pub end: Option<u64>,
}

/// Which things of a tree are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patterns {
    /// Files that match one of these; all if there is none.
    #[serde(default)]
    pub include: Vec<String>,
    /// But neither files nor folders that match one of these.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// And what links in folders lead to, in place of the links.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow: bool,
}
