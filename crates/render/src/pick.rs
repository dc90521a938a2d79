//! The value at a place of a picture: where most of what shows along its ray comes from.

use serde::{Deserialize, Serialize};
use visapult_volume::{Block, Box3, Centering, Grid};

use crate::cpu::table::Table;
use crate::interpolation::{cell, interpolate};
use crate::{Camera, TransferFunction, View, Volume};

/// What was found in a field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picked {
    /// Sample coordinates of the grid along x, y, z: 0 is the first sample.
    pub place: [f64; 3],
    /// The value there, mixed from the samples around; none where one of them is missing.
    pub value: Option<f32>,
}

/// What blocks show along a ray where it passes them one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayPart {
    /// Number of its first sample along the ray.
    pub first: u64,
    /// Share of the light from behind that comes through.
    pub through: f32,
    /// The sample that adds most to the colour, and the share that it adds where nothing lies before this part.
    pub most: Option<(f32, Picked)>,
}

impl RayPart {
    /// Of a ray of which nothing else shows.
    pub fn alone(picked: Picked) -> Self {
        Self { first: 0, through: 0.0, most: Some((1.0, picked)) }
    }

    fn of_sample(number: u64, picked: Picked, alpha: f32) -> Self {
        Self { first: number, through: 1.0 - alpha, most: (alpha > 0.0).then_some((alpha, picked)) }
    }

    /// Both, `behind` being farther away.
    fn before(self, behind: Self) -> Self {
        let seen = behind.most.map(|(share, picked)| (self.through * share, picked));
        let more = seen.filter(|(adds, _)| *adds > self.most.map_or(0.0, |(most, _)| most));
        Self { through: self.through * behind.through, most: more.or(self.most), ..self }
    }
}

/// What the blocks that are here show along a ray of the picture of shape `aspect`, width over height, that `camera` sees: through a place `at`, in shares of its
/// width and height from the upper left corner. Samples are those of an exact image.
pub fn ray_parts(
    volume: &Volume,
    camera: &Camera,
    transfer_function: &TransferFunction,
    aspect: f64,
    at: [f64; 2],
) -> Vec<RayPart> {
    let Some(range) = transfer_function.resolved_range(volume.range()) else { return Vec::new() };
    let placement = volume.placement(camera.stretch);
    let table = Table::new(transfer_function, range, placement.step);
    let square = camera.view(1, 1);
    let view = View { half_width: square.half_height * aspect, ..square };
    let direction = view.direction(at[0], at[1]);
    let Some((enter, leave)) = view.shown(placement.edges).passed(view.eye, direction) else { return Vec::new() };
    let (mut parts, mut is_within) = (Vec::<RayPart>::new(), false);
    for first in 0_u64.. {
        let t = enter + (first as f64 + 0.5) * placement.step;
        if t >= leave {
            break;
        }
        let sample = |a: usize| (view.eye[a] + t * direction[a]) * placement.scale[a] + placement.offset[a];
        let picked = Picked::at(volume, [0, 1, 2].map(sample));
        if let Some(picked) = picked {
            let alpha = picked.value.map_or(0.0, |value| table.entry(value)[3]);
            let sample = RayPart::of_sample(first, picked, alpha);
            match parts.last_mut().filter(|_| is_within) {
                Some(part) => *part = part.before(sample),
                None => parts.push(sample),
            }
        }
        is_within = picked.is_some();
    }
    parts
}

impl Picked {
    /// What all parts of a ray together show most of: the sample that adds most to the colour; `None` where they show nothing.
    pub fn of_parts(mut parts: Vec<RayPart>) -> Option<Self> {
        parts.sort_by_key(|part| part.first);
        let ray = parts.into_iter().reduce(RayPart::before)?;
        ray.most.map(|(_, picked)| picked)
    }

    /// The value at a place of the grid's box, held beyond the outermost samples; `None` where no block here has it.
    pub fn at(volume: &Volume, place: [f64; 3]) -> Option<Self> {
        let (place, held) = within(volume.grid(), place);
        let owns =
            |block: &&Block| (0..3).all(|a| (block.owned.lo[a]..block.owned.hi[a]).contains(&(held[a] as usize)));
        let block = volume.blocks().iter().find(owns)?;
        Some(Self::mixed(volume.grid(), block, place, held))
    }

    /// The value at a place of the box of `grid`, of which only the samples [around](samples_around) it are had: `values`, x fastest.
    ///
    /// # Panics
    /// If these are too few.
    pub fn of_samples(grid: &Grid, values: Vec<f32>, place: [f64; 3]) -> Self {
        let stored = samples_around(grid, place);
        let (place, held) = within(grid, place);
        Self::mixed(grid, &Block { owned: stored, stored, values: values.into() }, place, held)
    }

    fn mixed(grid: &Grid, block: &Block, place: [f64; 3], held: [f64; 3]) -> Self {
        let value = interpolate(block, &grid.bounds(), held);
        Self { place, value: value.is_finite().then_some(value) }
    }
}

/// The samples that the value at a place of a grid's box is mixed from.
pub fn samples_around(grid: &Grid, place: [f64; 3]) -> Box3 {
    let (_, held) = within(grid, place);
    let lo: [usize; 3] = std::array::from_fn(|a| cell(held[a], grid.size[a]).0);
    Box3 { lo, hi: std::array::from_fn(|a| (lo[a] + 2).min(grid.size[a])) }
}

/// A place held within the box of a grid, and within its outermost samples.
fn within(grid: &Grid, place: [f64; 3]) -> ([f64; 3], [f64; 3]) {
    let last = grid.size.map(|n| (n - 1) as f64);
    // Cells reach beyond their middles, and one sample fills the box.
    let beyond = |a: usize| f64::from(u8::from(grid.centering == Centering::Cell || last[a] == 0.0)) / 2.0;
    let place: [f64; 3] = std::array::from_fn(|a| place[a].clamp(-beyond(a), last[a] + beyond(a)));
    (place, std::array::from_fn(|a| place[a].clamp(0.0, last[a])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scenes::{split, values_of};

    const SIZE: [usize; 3] = [21, 21, 21];

    fn solid() -> TransferFunction {
        TransferFunction { range: Some([-100.0, 100.0]), points: vec![[0.0, 1.0, 1.0, 1.0, 1.0]] }
    }

    fn of_ray(
        volume: &Volume,
        camera: &Camera,
        transfer_function: &TransferFunction,
        aspect: f64,
        at: [f64; 2],
    ) -> Option<Picked> {
        Picked::of_parts(ray_parts(volume, camera, transfer_function, aspect, at))
    }

    /// Of each sample its place in the middle of the box, in samples: x + 100 y + 10 000 z.
    fn places([x, y, z]: [f32; 3]) -> f32 {
        20.0 * (x + 100.0 * y + 10_000.0 * z)
    }

    #[test]
    fn of_a_solid_box_the_face_before_the_eye_is_picked() {
        let front = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, ..Camera::default() };
        for pes in [1, 8] {
            let volume = split(&values_of(SIZE, places), SIZE, pes);
            let picked = of_ray(&volume, &front, &solid(), 2.0, [0.5, 0.5]).unwrap();
            assert!((0..3).all(|a| (picked.place[a] - [10.0, 10.0, 19.5][a]).abs() < 1e-6), "{picked:?}");
            assert!((picked.value.unwrap() - 95_000.0).abs() < 1.0);
            // To the right and below, in a picture twice as wide as high.
            let aside = of_ray(&volume, &front, &solid(), 2.0, [0.55, 0.6]).unwrap();
            assert!((aside.place[0] - 10.0 - (10.0 - aside.place[1])).abs() < 1e-6 && aside.place[0] > 11.0);
            // What is cut away is passed.
            let crop = [[0.0, 1.0], [0.0, 1.0], [0.0, 0.25]];
            let cut = of_ray(&volume, &Camera { crop, ..front }, &solid(), 2.0, [0.5, 0.5]).unwrap();
            assert!((cut.place[2] - 4.5).abs() < 1e-6);
            assert_eq!(of_ray(&volume, &front, &solid(), 2.0, [0.01, 0.5]), None);
        }
    }

    #[test]
    fn of_several_things_behind_one_another_that_is_picked_which_shows_most() {
        // Two layers along z: the nearer one faint.
        let layers = |[_, _, z]: [f32; 3]| {
            if z > 0.24 && z < 0.36 {
                1.0
            } else if z.abs() < 0.06 {
                2.0
            } else {
                0.0
            }
        };
        let volume = split(&values_of(SIZE, layers), SIZE, 1);
        let front = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, ..Camera::default() };
        let shown = |faint: f32| TransferFunction {
            range: Some([0.0, 2.0]),
            points: vec![
                [0.0, 1.0, 1.0, 1.0, 0.0],
                [0.49, 1.0, 1.0, 1.0, 0.0],
                [0.5, 1.0, 1.0, 1.0, faint],
                [0.9, 1.0, 1.0, 1.0, 0.0],
                [1.0, 1.0, 1.0, 1.0, 0.3],
            ],
        };
        let depth = |faint| of_ray(&volume, &front, &shown(faint), 1.0, [0.5, 0.5]).unwrap().place[2];
        assert!((depth(0.001) - 10.0).abs() < 1.0 && (depth(0.9) - 16.0).abs() < 1.0);
        let nothing = TransferFunction { range: Some([0.0, 2.0]), points: vec![[0.0; 5]] };
        assert_eq!(of_ray(&volume, &front, &nothing, 1.0, [0.5, 0.5]), None);
    }

    #[test]
    fn a_place_has_the_value_between_samples_and_none_beside_missing_ones() {
        let mut values = values_of(SIZE, places);
        values[0] = f32::NAN;
        let volume = Volume::whole(Grid::of_size(SIZE), values).unwrap();
        let at = |place| Picked::at(&volume, place).unwrap();
        assert!((at([12.5, 10.0, 10.0]).value.unwrap() - 2.5).abs() < 1e-3);
        assert_eq!(at([0.5, 0.0, 0.0]).value, None);
        assert_eq!(at([-3.0, 40.0, 20.0]).place, [0.0, 20.0, 20.0]);
        let cells = Grid { centering: Centering::Cell, ..Grid::of_size([21, 21, 1]) };
        let plane = Volume::whole(cells, values_of([21, 21, 1], places)).unwrap();
        let face = Picked::at(&plane, [-0.5, 20.4, 0.3]).unwrap();
        assert_eq!((face.place, face.value), ([-0.5, 20.4, 0.3], Picked::at(&plane, [0.0, 20.0, 0.0]).unwrap().value));
        let split = split(&values_of(SIZE, places), SIZE, 8);
        let part = Volume::part(split.grid().clone(), split.decomposition().clone(), 0, split.blocks()[..1].to_vec());
        assert_eq!(Picked::at(&part.unwrap(), [20.0; 3]), None);
    }

    #[test]
    fn processes_that_have_parts_of_a_ray_pick_what_one_that_has_it_all_does() {
        let shells = |[x, y, z]: [f32; 3]| (30.0 * (x * x + y * y + z * z)).sin();
        let volume = split(&values_of(SIZE, shells), SIZE, 8);
        let part = |pes: std::ops::Range<usize>| {
            let blocks = volume.blocks()[pes.clone()].to_vec();
            Volume::part(volume.grid().clone(), volume.decomposition().clone(), pes.start, blocks).unwrap()
        };
        // Of eight PEs in a cube those of neither process lie together.
        let parts = [part(0..3), part(3..8)];
        let function = TransferFunction {
            range: Some([-1.0, 1.0]),
            points: vec![[0.0; 5], [0.6, 1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.2]],
        };
        let mut seen = 0;
        for at in (0..81).map(|i| [f64::from(i % 9) / 8.0, f64::from(i / 9) / 8.0]) {
            let whole = of_ray(&volume, &Camera::default(), &function, 1.0, at);
            // In whatever order they answer.
            let told = parts.iter().rev().flat_map(|part| ray_parts(part, &Camera::default(), &function, 1.0, at));
            assert_eq!(Picked::of_parts(told.collect()), whole, "{at:?}");
            seen += usize::from(whole.is_some());
        }
        assert!(seen > 20, "{seen}");
        let place = [3.25, 10.0, 17.5];
        let told = parts.iter().filter_map(|part| Picked::at(part, place)).map(RayPart::alone);
        assert_eq!(Picked::of_parts(told.collect()), Picked::at(&volume, place));
    }

    #[test]
    fn the_samples_around_a_place_tell_its_value() {
        for (size, centering) in [
            (SIZE, Centering::Point),
            (SIZE, Centering::Cell),
            ([21, 1, 1], Centering::Point),
            ([2, 21, 1], Centering::Cell),
        ] {
            let grid = Grid { centering, ..Grid::of_size(size) };
            let values = values_of(size, places);
            let volume = Volume::whole(grid.clone(), values.clone()).unwrap();
            for place in [[0.0; 3], [3.7, 11.2, 20.0], [40.0, -3.0, 19.5], [20.0; 3]] {
                let around = samples_around(&grid, place);
                let [lo, hi] = [around.lo, around.hi];
                let index = |x: usize, y: usize, z: usize| (z * size[1] + y) * size[0] + x;
                let rows = (lo[2]..hi[2]).flat_map(|z| (lo[1]..hi[1]).map(move |y| (y, z)));
                let few = rows.flat_map(|(y, z)| &values[index(lo[0], y, z)..index(hi[0] - 1, y, z) + 1]).copied();
                assert!(around.volume() <= 8);
                assert_eq!(Picked::of_samples(&grid, few.collect(), place), Picked::at(&volume, place).unwrap());
            }
        }
    }
}
