//! Images and slabs that several processes make together: each casts runs of PEs, one puts the runs behind one another.
//!
//! A run is some PEs that follow one another from front to back; what one process makes of it is cast over all rays, and holds only the
//! rectangles in which anything is visible.
//! Invariant: runs composited in their order give the picture of all PEs at once, but for the end of rays that are opaque already.

use rayon::prelude::*;
use visapult_volume::Decomposition;

use crate::cpu::{Caster, TileRect, front_to_back};
use crate::{Camera, Image, TransferFunction, Volume};

/// Edge of the rectangles that a part of an image is cut into, in pixels.
const PATCH_EDGE: usize = 64;

/// Associated RGBA in a rectangle of an image or of a tile of a layer, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Tile of the layer, row by row; 0 in an image.
    pub tile: u32,
    /// Slab; 0 in an image.
    pub slab: u16,
    /// Where it lies in the tile, or in the image.
    pub rect: TileRect,
    /// Its pixels.
    pub rgba: Vec<[f32; 4]>,
}

impl Patch {
    /// What is visible of the pixels of `rect`, which has `rgba`; `None` where nothing is.
    pub(crate) fn trimmed(tile: usize, slab: usize, rect: &TileRect, rgba: &[[f32; 4]]) -> Option<Self> {
        let row = |y: usize| &rgba[y * rect.width..][..rect.width];
        let is_seen = |pixel: &[f32; 4]| pixel[3] > 0.0;
        let top = (0..rect.height).find(|&y| row(y).iter().any(is_seen))?;
        let bottom = (top..rect.height).rfind(|&y| row(y).iter().any(is_seen)).unwrap_or(top);
        let rows = || (top..=bottom).map(row);
        let left = rows().filter_map(|row| row.iter().position(is_seen)).min()?;
        let right = rows().filter_map(|row| row.iter().rposition(is_seen)).max()?;
        Some(Self {
            tile: tile as u32,
            slab: slab as u16,
            rect: TileRect { x: rect.x + left, y: rect.y + top, width: right + 1 - left, height: bottom + 1 - top },
            rgba: rows().flat_map(|row| &row[left..=right]).copied().collect(),
        })
    }

    /// Whether it has as many pixels as it says, all inside an image or tile of `width` x `height`.
    pub fn fits(&self, width: usize, height: usize) -> bool {
        let TileRect { x, y, width: w, height: h } = self.rect;
        let inside = |lo: usize, size: usize, end: usize| size > 0 && lo.checked_add(size).is_some_and(|hi| hi <= end);
        inside(x, w, width) && inside(y, h, height) && w * h == self.rgba.len()
    }
}

/// The PEs from front to back as `camera` sees them, cut where `owner` of a PE changes: owners and their runs.
pub fn runs(volume: &Volume, camera: &Camera, owner: impl Fn(usize) -> usize) -> Vec<(usize, Vec<usize>)> {
    let mut runs: Vec<(usize, Vec<usize>)> = Vec::new();
    for pe in front_to_back(volume, &camera.view(1, 1)) {
        match runs.last_mut() {
            Some((last, run)) if *last == owner(pe) => run.push(pe),
            _ => runs.push((owner(pe), vec![pe])),
        }
    }
    runs
}

/// Whether these are numbers of PEs, each at most once.
pub fn is_run(run: &[usize], decomposition: &Decomposition) -> bool {
    let pes: usize = decomposition.counts().iter().product();
    let mut seen = vec![false; pes];
    run.iter().all(|&pe| pe < pes && !std::mem::replace(&mut seen[pe], true))
}

/// What [`render_exact`](crate::render_exact) would show of each run alone, and the samples taken.
pub fn render_runs(
    volume: &Volume,
    camera: &Camera,
    transfer_function: &TransferFunction,
    size: [usize; 2],
    sample_step: f64,
    runs: &[Vec<usize>],
) -> (Vec<Vec<Patch>>, u64) {
    let caster = Caster::new(volume, transfer_function, sample_step);
    let view = camera.view(size[0], size[1]);
    let made: Vec<_> = runs.iter().map(|run| caster.render_run(&view, run)).collect();
    let samples = made.iter().map(|rendering| rendering.samples).sum();
    (made.iter().map(|rendering| patches_of(&rendering.image)).collect(), samples)
}

fn patches_of(image: &Image) -> Vec<Patch> {
    let columns = image.width.div_ceil(PATCH_EDGE);
    let places = (0..columns * image.height.div_ceil(PATCH_EDGE)).into_par_iter();
    let patch = |place: usize| {
        let (x, y) = (place % columns * PATCH_EDGE, place / columns * PATCH_EDGE);
        let (width, height) = (PATCH_EDGE.min(image.width - x), PATCH_EDGE.min(image.height - y));
        let row = |row: usize| &image.rgba[(y + row) * image.width + x..][..width];
        let rgba: Vec<[f32; 4]> = (0..height).flat_map(row).copied().collect();
        Patch::trimmed(0, 0, &TileRect { x, y, width, height }, &rgba)
    };
    places.filter_map(patch).collect()
}

/// Puts runs, the first in front, behind one another; patches that do not fit the image are left out.
pub fn composite_runs<'a>([width, height]: [usize; 2], runs: impl IntoIterator<Item = &'a Vec<Patch>>) -> Image {
    let mut image = Image::transparent(width, height);
    for run in runs {
        for patch in run.iter().filter(|patch| patch.fits(width, height)) {
            for (y, row) in patch.rgba.chunks(patch.rect.width).enumerate() {
                let start = (patch.rect.y + y) * width + patch.rect.x;
                image.rgba[start..start + row.len()].iter_mut().zip(row).for_each(|(front, back)| {
                    let through = 1.0 - front[3];
                    front.iter_mut().zip(back).for_each(|(f, b)| *f += through * b);
                });
            }
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use visapult_volume::Grid;

    use super::*;
    use crate::testing::{Random, blocks_of};
    use crate::{
        KeyView, Quality, SlabCaster, SlabKeyframe, SlabStack, composite_slabs, make_slabs, owners_by_place,
        render_exact, visible_depths,
    };

    const SIZE: [usize; 3] = [44, 40, 36];
    const PIXELS: [usize; 2] = [150, 90];

    fn values() -> Vec<f32> {
        let at = |i: usize| [i % SIZE[0], i / SIZE[0] % SIZE[1], i / (SIZE[0] * SIZE[1])].map(|n| n as f32);
        (0..SIZE.iter().product()).map(|i| at(i).map(|n| (n * 0.31).sin()).iter().product()).collect()
    }

    fn split(pes: usize) -> Decomposition {
        Decomposition::new(SIZE, pes, 4).unwrap()
    }

    fn whole() -> Volume {
        Volume::new(Grid::of_size(SIZE), split(1), blocks_of(&values(), SIZE, 1, 4)).unwrap()
    }

    /// The parts of `owners` processes with consecutive PEs, and whose each PE is.
    fn parts(pes: usize, owners: usize) -> (Vec<Volume>, impl Fn(usize) -> usize) {
        let blocks = blocks_of(&values(), SIZE, pes, 4);
        let cut = move |owner: usize| (owner * pes).div_ceil(owners);
        let part = |owner| {
            let own = blocks[cut(owner)..cut(owner + 1)].to_vec();
            Volume::part(Grid::of_size(SIZE), split(pes), cut(owner), own).unwrap()
        };
        let owner_of = move |pe| (0..owners).find(|&owner| pe < cut(owner + 1)).unwrap();
        ((0..owners).map(part).collect(), owner_of)
    }

    fn transfer_function() -> TransferFunction {
        let points = vec![[0.0, 0.1, 0.3, 0.9, 0.3], [0.5, 0.9, 0.9, 0.9, 0.0], [1.0, 0.9, 0.3, 0.1, 0.6]];
        TransferFunction { range: Some([-1.0, 1.0]), points }
    }

    fn cameras() -> impl Iterator<Item = Camera> {
        let mut random = Random::new(8);
        (0..6).map(move |i| Camera {
            azimuth_deg: f64::from(random.unit()) * 360.0,
            elevation_deg: f64::from(random.unit()) * 160.0 - 80.0,
            // The last ones look from inside.
            distance: if i < 4 { 2.5 } else { 0.2 },
            ..Camera::default()
        })
    }

    /// What every owner makes of its runs, in the order of all runs.
    fn together<T>(
        runs: &[(usize, Vec<usize>)],
        parts: &[Volume],
        mut make: impl FnMut(&Volume, &[Vec<usize>]) -> Vec<T>,
    ) -> Vec<T> {
        let mut made: Vec<_> = (0..parts.len())
            .map(|owner| {
                let own: Vec<Vec<usize>> = runs.iter().filter(|run| run.0 == owner).map(|run| run.1.clone()).collect();
                make(&parts[owner], &own).into_iter()
            })
            .collect();
        runs.iter().filter_map(|(owner, _)| made[*owner].next()).collect()
    }

    #[test]
    fn runs_of_several_processes_make_the_exact_image() {
        for (pes, owners) in [(2, 2), (7, 2), (6, 3), (12, 4)] {
            let (parts, owner) = parts(pes, owners);
            for camera in cameras() {
                let function = transfer_function();
                let truth = render_exact(&whole(), &camera, &function, PIXELS[0], PIXELS[1], 1.0).image;
                let runs = runs(&parts[0], &camera, &owner);
                let made =
                    together(&runs, &parts, |part, own| render_runs(part, &camera, &function, PIXELS, 1.0, own).0);
                let quality = Quality::of(&composite_runs(PIXELS, &made), &truth).unwrap();
                assert!(quality.psnr_db >= 60.0, "{pes} PEs of {owners}, {camera:?}: {quality:?}");
            }
        }
    }

    #[test]
    fn several_processes_make_the_slabs() {
        for (pes, owners) in [(7, 2), (6, 3)] {
            let (parts, owner) = parts(pes, owners);
            for camera in cameras().take(4) {
                let key = KeyView { width: 150, height: 90, slabs: 24, ..KeyView::new(camera) };
                let function = transfer_function();
                let truth = make_slabs(&whole(), &key, &function, 1.0);
                let depths = parts.iter().filter_map(|part| visible_depths(part, &key, &function));
                let depths = depths.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
                let casters: Vec<_> =
                    parts.iter().map(|part| SlabCaster::new(part, &key, &function, 1.0, depths.unwrap())).collect();
                let runs = runs(&parts[0], &camera, &owner);
                let mut tiles = Vec::new();
                for (place, owners) in owners_by_place(&parts[0], &key, &owner).into_iter().enumerate() {
                    let of_run = |(owner, run): &(usize, Vec<usize>)| casters[*owner].patches(run, &[place]).0;
                    if let [only] = owners[..] {
                        let others = runs.iter().filter(|(owner, _)| *owner != only);
                        assert_eq!(others.flat_map(of_run).next(), None, "{only} is not alone");
                        let all: Vec<usize> = runs.iter().flat_map(|(_, run)| run.clone()).collect();
                        tiles.extend(casters[only].tiles(&all, &[place]).0);
                    } else {
                        tiles.extend(composite_slabs(&parts[0], &key, &runs.iter().map(of_run).collect::<Vec<_>>()));
                    }
                }
                tiles.reverse();
                let made = SlabKeyframe::of_tiles(&parts[0], &key, depths, tiles, truth.samples);
                assert_eq!(made.geometry, truth.geometry);
                let drawn =
                    |keyframe| SlabStack::from_keyframe(keyframe).unwrap().render(&camera, PIXELS[0], PIXELS[1]);
                let quality = Quality::of(&drawn(&made), &drawn(&truth)).unwrap();
                assert!(quality.psnr_db >= 60.0, "{pes} PEs of {owners}, {camera:?}: {quality:?}");
            }
        }
    }

    #[test]
    fn tiles_come_in_the_order_of_their_places_and_those_that_lie_nowhere_not_at_all() {
        let key = KeyView { width: 150, height: 90, slabs: 24, ..KeyView::new(Camera::default()) };
        let whole = whole();
        let made = make_slabs(&whole, &key, &transfer_function(), 1.0);
        let depths = visible_depths(&whole, &key, &transfer_function());
        let mut tiles: Vec<_> = made.tiles.iter().cloned().rev().collect();
        tiles.push(crate::SlabTile { slab: 24, ..tiles[0].clone() });
        tiles.push(crate::SlabTile { lo: [1, 0], ..tiles[0].clone() });
        assert_eq!(SlabKeyframe::of_tiles(&whole, &key, depths, tiles, made.samples), made);
    }

    #[test]
    fn patches_hold_what_is_visible_and_nothing_beside_it() {
        let mut rgba = vec![[0.0; 4]; 20];
        (rgba[6], rgba[12]) = ([0.5; 4], [0.25; 4]);
        let patch = Patch::trimmed(3, 2, &TileRect { x: 10, y: 20, width: 5, height: 4 }, &rgba).unwrap();
        assert_eq!(patch.rect, TileRect { x: 11, y: 21, width: 2, height: 2 });
        assert_eq!(patch.rgba, [[0.5; 4], [0.0; 4], [0.0; 4], [0.25; 4]]);
        assert!(patch.fits(13, 23) && !patch.fits(12, 23));
        let beyond = Patch { rect: TileRect { x: usize::MAX, ..patch.rect }, ..patch };
        assert!(!beyond.fits(usize::MAX, 23));
    }
}
