//! Object stores: `s3://bucket/key`, and what servers have at `https://`.
//!
//! The store's library signs, retries and encrypts; here it is told where and as whom to ask, and what it says becomes one line.
//! Invariant: no secret is shown, neither of the environment nor of a URL.

mod alone;
mod asker;
mod connection;
mod fault;
mod folders;
mod keys;
mod patient;
mod text;
mod url;
mod variables;

pub use connection::{Connection, Got, PATIENCE, SENDING_PATIENCE, location};
pub use fault::Fault;
pub use keys::key_of;
pub use text::{MOST_NAME, MOST_PATH, cut, escaped, is_name, printable, turns, unescaped};
pub use url::{At, ObjectUrl, UrlError};
