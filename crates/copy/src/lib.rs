//! Moves files and folders between machines over RIPP, and into and out of object stores.
//!
//! Two ends of a session: one *gives*, the other *takes*; either may have dialled. The giving end lists its tree, the taking end looks what is
//! there already and says what it wants; small files travel in bundles, large ones in ranges that are written where they belong, in any order.
//! [`Share`] is the end that waits, [`copy()`] the one that dials.
//!
//! Invariant: nothing outside the folder that is shared, or copied into, is touched, whatever the other end says; a file has its name only once
//! every byte of it was read back and found right, and the disk has it.

mod bundle;
mod bytes;
mod conflicts;
mod copying;
#[doc(hidden)]
pub mod decoders;
mod dialling;
mod endpoint;
mod error;
mod fetching;
mod fields;
mod file_id;
mod filter;
mod following;
mod give;
mod hashing;
mod hours;
mod inventory;
mod landing;
mod listing;
mod lock;
mod log;
mod manifest;
mod memory;
mod misspelt;
mod names;
mod notices;
mod objects;
mod opened;
#[cfg(test)]
mod other_builds;
mod pace;
mod partial;
mod people;
mod ranged;
mod ranges;
mod redial;
mod report;
mod request;
mod root;
mod selection;
mod share;
mod source;
mod source_id;
mod spread;
mod stripes;
mod take;
mod walk;
mod weights;
mod wish;
mod words;

pub use copying::{CopyOptions, RETRY, copy};
pub use endpoint::{Endpoint, EndpointError, Remote};
pub use error::CopyError;
pub use fields::{FieldPart, Rounding, Steps};
pub use file_id::FileId;
pub use following::fetches;
pub use inventory::{Item, ItemKind, ListOptions, list};
pub use manifest::{ManifestWriter, Verified, is_manifest_of, verify};
pub use pace::{Headway, Pace};
pub use report::{Event, Limit, NOT_THERE, Progress, Report, Tally, counted, rate, size};
pub use selection::{Patterns, Span};
pub use share::{Access, Audit, Deed, Share, ShareEvent, ShareOptions};
pub use source_id::SourceId;
pub use visapult_objects::{ObjectUrl, escaped, turns};
pub use visapult_volume_io::{Samples, count_of, samples_zyx, zyx};
pub use wish::{Alike, Delete, Part, Wish};
pub use words::FetchState;
