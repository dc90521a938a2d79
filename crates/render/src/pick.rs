//! The value at a place of a picture: where most of what shows along its ray comes from.

use serde::{Deserialize, Serialize};
use visapult_volume::{Block, Centering};

use crate::cpu::table::Table;
use crate::interpolation::interpolate;
use crate::{Camera, TransferFunction, View, Volume};

/// Share of light below which nothing further along a ray is seen.
const LEAST_LIGHT: f32 = 1.0 / 1024.0;

/// What was found in a field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picked {
    /// Sample coordinates of the grid along x, y, z: 0 is the first sample.
    pub place: [f64; 3],
    /// The value there, mixed from the samples around; none where one of them is missing.
    pub value: Option<f32>,
}

impl Picked {
    /// What the picture of shape `aspect`, width over height, that `camera` sees shows most of at a place `at`, in shares of its width and height from the upper left
    /// corner; `None` where it shows nothing, or not all of the volume is here.
    ///
    /// Of the samples of an exact image along the ray it is the one that adds most to the colour.
    pub fn of_ray(
        volume: &Volume,
        camera: &Camera,
        transfer_function: &TransferFunction,
        aspect: f64,
        at: [f64; 2],
    ) -> Option<Self> {
        let range = transfer_function.resolved_range(volume.range())?;
        let placement = volume.placement(camera.stretch);
        let table = Table::new(transfer_function, range, placement.step);
        let square = camera.view(1, 1);
        let view = View { half_width: square.half_height * aspect, ..square };
        let direction = view.direction(at[0], at[1]);
        let (enter, leave) = view.shown(placement.edges).passed(view.eye, direction)?;
        let (mut through, mut most, mut found) = (1.0_f32, 0.0, None);
        for k in 0_u64.. {
            let t = enter + (k as f64 + 0.5) * placement.step;
            if t >= leave || through < LEAST_LIGHT {
                break;
            }
            let sample = |a: usize| (view.eye[a] + t * direction[a]) * placement.scale[a] + placement.offset[a];
            let picked = Self::at(volume, [0, 1, 2].map(sample))?;
            let alpha = picked.value.map_or(0.0, |value| table.entry(value)[3]);
            if through * alpha > most {
                (most, found) = (through * alpha, Some(picked));
            }
            through *= 1.0 - alpha;
        }
        found
    }

    /// The value at a place of the grid's box, held beyond the outermost samples; `None` where no block here has it.
    pub fn at(volume: &Volume, place: [f64; 3]) -> Option<Self> {
        let bounds = volume.grid().bounds();
        let last = bounds.hi.map(|end| (end - 1) as f64);
        // Cells reach beyond their middles, and one sample fills the box.
        let beyond = |a: usize| f64::from(u8::from(volume.grid().centering == Centering::Cell || last[a] == 0.0)) / 2.0;
        let place: [f64; 3] = std::array::from_fn(|a| place[a].clamp(-beyond(a), last[a] + beyond(a)));
        let held: [f64; 3] = std::array::from_fn(|a| place[a].clamp(0.0, last[a]));
        let owns =
            |block: &&Block| (0..3).all(|a| (block.owned.lo[a]..block.owned.hi[a]).contains(&(held[a] as usize)));
        let block = volume.blocks().iter().find(owns)?;
        let value = interpolate(block, &bounds, held);
        Some(Self { place, value: value.is_finite().then_some(value) })
    }
}

#[cfg(test)]
mod tests {
    use visapult_volume::Grid;

    use super::*;
    use crate::testing::scenes::{split, values_of};

    const SIZE: [usize; 3] = [21, 21, 21];

    fn solid() -> TransferFunction {
        TransferFunction { range: Some([-100.0, 100.0]), points: vec![[0.0, 1.0, 1.0, 1.0, 1.0]] }
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
            let picked = Picked::of_ray(&volume, &front, &solid(), 2.0, [0.5, 0.5]).unwrap();
            assert!((0..3).all(|a| (picked.place[a] - [10.0, 10.0, 19.5][a]).abs() < 1e-6), "{picked:?}");
            assert!((picked.value.unwrap() - 95_000.0).abs() < 1.0);
            // To the right and below, in a picture twice as wide as high.
            let aside = Picked::of_ray(&volume, &front, &solid(), 2.0, [0.55, 0.6]).unwrap();
            assert!((aside.place[0] - 10.0 - (10.0 - aside.place[1])).abs() < 1e-6 && aside.place[0] > 11.0);
            // What is cut away is passed.
            let crop = [[0.0, 1.0], [0.0, 1.0], [0.0, 0.25]];
            let cut = Picked::of_ray(&volume, &Camera { crop, ..front }, &solid(), 2.0, [0.5, 0.5]).unwrap();
            assert!((cut.place[2] - 4.5).abs() < 1e-6);
            assert_eq!(Picked::of_ray(&volume, &front, &solid(), 2.0, [0.01, 0.5]), None);
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
        let depth = |faint| Picked::of_ray(&volume, &front, &shown(faint), 1.0, [0.5, 0.5]).unwrap().place[2];
        assert!((depth(0.001) - 10.0).abs() < 1.0 && (depth(0.9) - 16.0).abs() < 1.0);
        let nothing = TransferFunction { range: Some([0.0, 2.0]), points: vec![[0.0; 5]] };
        assert_eq!(Picked::of_ray(&volume, &front, &nothing, 1.0, [0.5, 0.5]), None);
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
}
