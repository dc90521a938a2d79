//! The nouns of the system: boxes, grids and the coordinates that they are made of, fields, steps, calendars, blocks, levels and decompositions.
//!
//! Owns no file, no socket, no thread. Sizes are `[nx, ny, nz]`; memory is `[z, y, x]`, x fastest.

mod block;
mod box3;
mod calendar;
pub mod coordinates;
mod decomposition;
mod field;
mod grid;
mod levels;
mod reversed;
mod single;
mod split;
mod step;
pub mod units;
mod values;

pub use block::Block;
pub use box3::Box3;
pub use calendar::Calendar;
pub use coordinates::{Along, Coordinates};
pub use decomposition::{Decomposition, DecompositionError};
pub use field::{FieldInfo, ScalarType, ValueRange};
pub use grid::{Centering, Grid, GridError};
pub use levels::{coarsen_box, coarsened_size, halve, halve_plane, level_count};
pub use reversed::Reversed;
pub use single::single;
pub use split::{COARSEST_EDGE, fitting_split, split, stored_boxes};
pub use step::{StepIndex, StepSpan};
pub use values::{SharedValues, Values};
