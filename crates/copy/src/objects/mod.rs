//! Object stores as ends of a copy: `s3://bucket/prefix`, and one file of `https://`.
//!
//! The store's library signs, retries and encrypts; here its keys become a tree, and what it says becomes one line.
//! Invariant: no secret is shown, neither of the environment nor of a URL.

mod fault;
mod keys;
mod shelf;
mod store;
mod tree;
mod url;

pub(crate) use self::fault::Fault as RequestFault;
pub(crate) use self::shelf::{MOST_PARTS, RangeBuffer, Shelf, Upload};
pub(crate) use self::store::{Store, Told, Wanted};
pub(crate) use self::tree::{Keys, Step};
pub use self::url::ObjectUrl;
