//! About how many bytes proxies would take: from a few of their bricks or tiles, encoded.

use rayon::prelude::*;

use super::models::{FaceModel, LayerModel, Model};
use super::{Form, Subject};
use crate::scalar_slabs::FaceTile;
use crate::slabs::{LayerCoder, SlabTile, TILE_EDGE, TilePlace};
use crate::{CodeBits, bricks};

/// Bricks of a level that are encoded.
const BRICKS: usize = 24;
/// Tiles of a keyframe that are encoded.
const TILES: usize = 64;
/// Steps from one place to the next, as a part of all: multiples of the golden ratio are spread most evenly.
const SPREAD: f64 = 0.618_034;

/// About the bytes on the wire of `form`, whose rays `model` casts.
pub(super) fn of(subject: &Subject<'_>, form: Form, model: &Model<'_>) -> u64 {
    match (model, form) {
        (Model::Layers(model), _) => (layers(model) as f64 / subject.share()) as u64,
        (Model::Faces(model), _) => (faces(model) as f64 / subject.share()) as u64,
        (_, Form::Bricks { level }) => of_bricks(subject, level),
        (_, Form::Slabs { .. } | Form::ScalarSlabs { .. } | Form::Segments { .. }) => 0,
    }
}

fn of_bricks(subject: &Subject<'_>, level: u32) -> u64 {
    let blocks = subject.volume.blocks();
    let most = BRICKS.div_ceil(blocks.len().max(1));
    let bytes = blocks.iter().zip(subject.pyramids);
    let bytes = bytes.map(|(block, pyramid)| bricks::sampled_bytes(block, pyramid, level, CodeBits::Eight, most));
    (bytes.sum::<usize>() as f64 / subject.share()) as u64
}

fn layers(model: &LayerModel<'_>) -> u64 {
    let geometry = &model.layers.geometry;
    sampled(usize::from(geometry.slabs), &geometry.tile_places(), |slab, place| {
        let colors: Vec<[f32; 4]> = texels(place).map(|at| model.texel(slab, at)).collect();
        LayerCoder::default().tile(slab, place, &colors).map_or(0, |tile: SlabTile| tile.wire_bytes())
    })
}

fn faces(model: &FaceModel<'_>) -> u64 {
    let geometry = &model.faces.geometry;
    let places = TilePlace::squares([geometry.width, geometry.height].map(usize::from), TILE_EDGE);
    sampled(geometry.face_count(), &places, |face, place| {
        let mut part = 0;
        let values: Vec<f32> = texels(place).map(|at| model.texel(face, at, &mut part)).collect();
        model.quantiser.tile(face, place, &values).map_or(0, |tile: FaceTile| tile.wire_bytes())
    })
}

/// Texels of a place, row by row.
fn texels(place: &TilePlace) -> impl Iterator<Item = [usize; 2]> {
    let ([x, y], [width, height]) = (place.lo, place.size);
    (0..height).flat_map(move |row| (0..width).map(move |column| [x + column, y + row]))
}

/// The sum over all tiles, from some of them.
fn sampled(layers: usize, places: &[TilePlace], bytes: impl Fn(usize, &TilePlace) -> usize + Sync) -> u64 {
    let tiles = layers * places.len();
    let taken = tiles.min(TILES);
    let at = |i: usize| {
        let layer = (2 * i + 1) * layers / (2 * taken);
        let place = ((i as f64 * SPREAD).fract() * places.len() as f64) as usize;
        bytes(layer, &places[place])
    };
    let sum: usize = (0..taken).into_par_iter().with_max_len(1).map(at).sum();
    (sum as f64 * tiles as f64 / taken.max(1) as f64) as u64
}
