//! Images and slabs that several processes make together: each casts runs of PEs, one puts the runs behind one another.
//!
//! A run is some PEs that follow one another from front to back; what one process makes of it is cast over all rays, and holds only the
//! rectangles in which anything is visible.
//! Invariant: runs composited in their order give the picture of all PEs at once, but for the end of rays that are opaque already.

use rayon::prelude::*;
use visapult_volume::Decomposition;

use crate::cpu::{Caster, TileRect, front_to_back};
use crate::slabs::TilePlace;
use crate::{Camera, Image, TransferFunction, Volume};

/// Edge of the rectangles that a part of an image is cut into, in pixels.
const PATCH_EDGE: usize = 64;

/// Associated RGBA in a rectangle of an image or of a tile of a layer, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Tile of the layer, or place in the image, row by row.
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

    /// Whether it has as many pixels as it says, all inside `outer`.
    pub(crate) fn lies_in(&self, outer: &TileRect) -> bool {
        let TileRect { x, y, width, height } = self.rect;
        let inside = |lo: usize, size: usize, first: usize, count: usize| {
            size > 0 && lo >= first && lo.checked_add(size).is_some_and(|hi| hi <= first + count)
        };
        inside(x, width, outer.x, outer.width)
            && inside(y, height, outer.y, outer.height)
            && width * height == self.rgba.len()
    }

    /// Puts it behind the pixels of `outer`, in which it lies.
    fn composite_behind(&self, pixels: &mut [[f32; 4]], outer: &TileRect) {
        for (y, row) in self.rgba.chunks(self.rect.width).enumerate() {
            let start = (self.rect.y + y - outer.y) * outer.width + self.rect.x - outer.x;
            for (front, back) in pixels[start..start + row.len()].iter_mut().zip(row) {
                let through = 1.0 - front[3];
                front.iter_mut().zip(back).for_each(|(f, b)| *f += through * b);
            }
        }
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
    let caster = Caster::new(volume, camera, transfer_function, sample_step);
    let view = camera.view(size[0], size[1]);
    let made: Vec<_> = runs.iter().map(|run| caster.render_run(&view, run)).collect();
    let samples = made.iter().map(|rendering| rendering.samples).sum();
    (made.iter().map(|rendering| patches_of(&rendering.image)).collect(), samples)
}

/// The rectangles that an image is cut into, row by row.
fn places_of(size: [usize; 2]) -> Vec<TileRect> {
    TilePlace::squares(size, PATCH_EDGE).iter().map(TilePlace::rect).collect()
}

fn patches_of(image: &Image) -> Vec<Patch> {
    let patch = |(number, place): (usize, TileRect)| {
        let row = |row: usize| &image.rgba[(place.y + row) * image.width + place.x..][..place.width];
        let rgba: Vec<[f32; 4]> = (0..place.height).flat_map(row).copied().collect();
        Patch::trimmed(number, 0, &place, &rgba)
    };
    places_of([image.width, image.height]).into_par_iter().enumerate().filter_map(patch).collect()
}

/// Puts the patches of runs, the first in front, behind one another, place by place; those that do not fit their place are left out.
pub fn composite_places(size: [usize; 2], runs: &[Vec<Patch>]) -> Vec<Patch> {
    let places = places_of(size);
    let mut patches: Vec<Vec<&Patch>> = vec![Vec::new(); places.len()];
    for patch in runs.iter().flatten() {
        if places.get(patch.tile as usize).is_some_and(|place| patch.lies_in(place)) {
            patches[patch.tile as usize].push(patch);
        }
    }
    let composite = |(number, place): (usize, &TileRect)| match patches[number][..] {
        [] => None,
        [only] => Some(only.clone()),
        _ => {
            let mut rgba = vec![[0.0; 4]; place.width * place.height];
            patches[number].iter().for_each(|patch| patch.composite_behind(&mut rgba, place));
            Patch::trimmed(number, 0, place, &rgba)
        }
    };
    places.par_iter().enumerate().filter_map(composite).collect()
}

/// The image of patches that do not overlap; those that do not fit it are left out.
pub fn image_of_patches([width, height]: [usize; 2], patches: &[Patch]) -> Image {
    let mut image = Image::transparent(width, height);
    let whole = TileRect { x: 0, y: 0, width, height };
    for patch in patches.iter().filter(|patch| patch.lies_in(&whole)) {
        patch.composite_behind(&mut image.rgba, &whole);
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
                let quality = Quality::of(&image_of_patches(PIXELS, &composite_places(PIXELS, &made)), &truth).unwrap();
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
    fn patches_lie_behind_those_of_earlier_runs_and_in_their_own_places() {
        let patch = |tile, x, rgba: [f32; 4]| Patch {
            tile,
            slab: 0,
            rect: TileRect { x, y: 1, width: 1, height: 1 },
            rgba: vec![rgba],
        };
        let front = vec![patch(0, 3, [0.5, 0.0, 0.0, 0.5]), patch(1, 70, [1.0; 4])];
        let back = vec![patch(0, 3, [0.0, 1.0, 0.0, 1.0]), patch(0, 70, [0.5; 4]), patch(9, 3, [0.5; 4])];
        let made = composite_places([100, 20], &[front, back]);
        assert_eq!(made, [patch(0, 3, [0.5, 0.5, 0.0, 1.0]), patch(1, 70, [1.0; 4])]);
        let image = image_of_patches([100, 20], &made);
        assert_eq!((image.rgba[103], image.rgba[170]), ([0.5, 0.5, 0.0, 1.0], [1.0; 4]));
        assert_eq!(image.rgba.iter().filter(|pixel| pixel[3] > 0.0).count(), 2);
    }

    #[test]
    fn patches_hold_what_is_visible_and_nothing_beside_it() {
        let mut rgba = vec![[0.0; 4]; 20];
        (rgba[6], rgba[12]) = ([0.5; 4], [0.25; 4]);
        let patch = Patch::trimmed(3, 2, &TileRect { x: 10, y: 20, width: 5, height: 4 }, &rgba).unwrap();
        assert_eq!(patch.rect, TileRect { x: 11, y: 21, width: 2, height: 2 });
        assert_eq!(patch.rgba, [[0.5; 4], [0.0; 4], [0.0; 4], [0.25; 4]]);
        let within = |width, height| TileRect { x: 9, y: 21, width, height };
        assert!(patch.lies_in(&within(4, 2)) && !patch.lies_in(&within(3, 2)) && !patch.lies_in(&within(4, 1)));
        assert!(!patch.lies_in(&TileRect { x: 12, ..within(4, 2) }));
        let beyond = Patch { rect: TileRect { x: usize::MAX, ..patch.rect }, ..patch };
        assert!(!beyond.lies_in(&TileRect { x: 0, y: 0, width: usize::MAX, height: 99 }));
    }
}
