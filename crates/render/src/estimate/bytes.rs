//! About how many bytes proxies would take: from a few of their bricks or tiles, encoded.

use rayon::prelude::*;

use super::models::{FaceModel, LayerModel, Model, put_behind};
use super::{Form, Subject};
use crate::scalar_slabs::FaceTile;
use crate::slabs::{LayerCoder, SlabTile, TILE_EDGE, TilePlace};
use crate::{CodeBits, LevelCoding, bricks};

/// Boxes of a level whose bricks are encoded.
const BOXES: usize = 12;
/// Tiles of a keyframe that are encoded; of layers, two behind each other count as one.
const TILES: usize = 64;
/// Steps from one place to the next, as a part of all: multiples of the golden ratio are spread most evenly.
const SPREAD: f64 = 0.618_034;

/// About the bytes on the wire of `forms`, whose rays `models` cast.
///
/// Where layers are half as many as others, tiles of those tell of both.
pub(super) fn of(subject: &Subject<'_>, forms: &[Form], models: &[Model<'_>]) -> Vec<u64> {
    let layers_of = |number: usize| match &models[number] {
        Model::Layers(model) => Some(u32::from(model.layers.geometry.slabs)),
        Model::Bricks(_) | Model::Faces(_) | Model::Nothing => None,
    };
    let half_of = |number: usize| {
        let twice = 2 * layers_of(number)?;
        (0..models.len()).find(|other| layers_of(*other) == Some(twice))
    };
    let whole_of = |number: usize| half_of(number).filter(|whole| half_of(*whole).is_none());
    let bytes = |number: usize| match (&models[number], forms[number]) {
        _ if whole_of(number).is_some() => [0; 2],
        (Model::Layers(model), _) => layers(model),
        (Model::Faces(model), _) => [faces(model), 0],
        (_, Form::Bricks { level, bits }) => [of_bricks(subject, level, bits), 0],
        (_, Form::Slabs { .. } | Form::ScalarSlabs { .. } | Form::Segments { .. }) => [0; 2],
    };
    let bytes: Vec<[u64; 2]> = (0..models.len()).into_par_iter().with_max_len(1).map(bytes).collect();
    let of_all = |number: usize| whole_of(number).map_or(bytes[number][0], |whole| bytes[whole][1]);
    (0..models.len()).map(|number| (of_all(number) as f64 / subject.share()) as u64).collect()
}

fn of_bricks(subject: &Subject<'_>, level: u32, bits: CodeBits) -> u64 {
    let blocks = subject.volume.blocks();
    let most = BOXES.div_ceil(blocks.len().max(1));
    let bytes = blocks.iter().zip(subject.pyramids);
    let coding = LevelCoding { level, bits, kept: subject.bricks_keep(bits) };
    let bytes = bytes.map(|(block, pyramid)| bricks::sampled_bytes(block, pyramid, coding, most));
    bytes.sum::<usize>() as u64
}

/// Of all layers, and of half as many: each then is two of these, one behind the other.
fn layers(model: &LayerModel<'_>) -> [u64; 2] {
    let geometry = &model.layers.geometry;
    let slabs = usize::from(geometry.slabs);
    sampled(slabs.div_ceil(2), &geometry.tile_places(), |pair, place| {
        let layer = |slab: usize| texels(place).map(|at| model.texel(slab, at)).collect::<Vec<_>>();
        let bytes = |slab: usize, colors: &[[f32; 4]]| {
            LayerCoder::default().tile(slab, place, colors).map_or(0, |tile: SlabTile| tile.wire_bytes())
        };
        let (mut front, back) = (layer(2 * pair), layer(2 * pair + 1));
        let of_both = bytes(2 * pair, &front) + bytes(2 * pair + 1, &back);
        front.iter_mut().zip(back).for_each(|(front, back)| put_behind(front, back));
        [of_both, bytes(pair, &front)]
    })
}

/// Of all faces.
fn faces(model: &FaceModel<'_>) -> u64 {
    let geometry = &model.faces.geometry;
    let places = TilePlace::squares([geometry.width, geometry.height].map(usize::from), TILE_EDGE);
    let [bytes, _] = sampled(geometry.face_count(), &places, |face, place| {
        let mut part = 0;
        let values: Vec<f32> = texels(place).map(|at| model.texel(face, at, &mut part)).collect();
        [model.quantiser.tile(face, place, &values).map_or(0, |tile: FaceTile| tile.wire_bytes()), 0]
    });
    bytes
}

/// Texels of a place, row by row.
fn texels(place: &TilePlace) -> impl Iterator<Item = [usize; 2]> {
    let ([x, y], [width, height]) = (place.lo, place.size);
    (0..height).flat_map(move |row| (0..width).map(move |column| [x + column, y + row]))
}

/// Two sums over all tiles, from some of them.
fn sampled(layers: usize, places: &[TilePlace], bytes: impl Fn(usize, &TilePlace) -> [usize; 2] + Sync) -> [u64; 2] {
    let tiles = layers * places.len();
    let taken = tiles.min(TILES);
    let at = |i: usize| {
        let layer = (2 * i + 1) * layers / (2 * taken);
        let place = ((i as f64 * SPREAD).fract() * places.len() as f64) as usize;
        bytes(layer, &places[place])
    };
    let added = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let sums = (0..taken).into_par_iter().with_max_len(1).map(at).reduce(|| [0; 2], added);
    sums.map(|sum| (sum as f64 * tiles as f64 / taken.max(1) as f64) as u64)
}
