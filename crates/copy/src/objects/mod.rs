//! Object stores as ends of a copy: `s3://bucket/prefix`, and `https://`, of which one file is read and servers of WebDAV are written: keys become a tree.

mod store;
mod store_destination;
mod tree;
mod upload;

pub(crate) use self::store::{Store, Told, Wanted};
pub(crate) use self::store_destination::StoreDestination;
pub(crate) use self::tree::{Keys, Step};
pub(crate) use self::upload::{RangeBuffer, Upload};
