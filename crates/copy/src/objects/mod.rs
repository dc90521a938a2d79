//! Object stores as ends of a copy: `s3://bucket/prefix`, and one file of `https://`: keys become a tree.

mod shelf;
mod store;
mod tree;

pub(crate) use self::shelf::{MOST_PARTS, RangeBuffer, Shelf, Upload};
pub(crate) use self::store::{Store, Told, Wanted};
pub(crate) use self::tree::{Keys, Step};
