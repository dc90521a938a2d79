//! The fast ray caster: packets of sixteen rays, vector units chosen at run time, empty space skipped.

mod caster;
mod cubes;
mod dispatch;
mod lanes;
mod layers;
mod many;
mod march;
mod occupancy;
mod portable;
pub(crate) mod rays;
pub(crate) mod table;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

pub(crate) use caster::{Caster, OPAQUE, front_to_back};
pub(crate) use dispatch::{Task, run_best};
pub(crate) use lanes::Lanes;
pub use layers::TileRect;
pub(crate) use layers::{LayerCaster, LayerPlanes, LayerTile};
pub(crate) use many::owned_values;

#[cfg(test)]
mod tests;
