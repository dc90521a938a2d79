//! Which axis of a file runs along which of space, and which way: x to the right, y to the front, z up (nifti1.h, "3D image orientation").

use crate::roles::Role;

/// Part of an axis's length that it may lie off the one of space along which it runs.
const TOLERANCE: f64 = 1e-3;
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// How the axes of a file lie in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Orientation {
    /// The axis of the file that runs along each of x, y, z.
    axes: [usize; 3],
    /// Which of x, y, z it runs backwards.
    is_backwards: [bool; 3],
    /// They lie between those of space.
    pub(super) is_tilted: bool,
}

impl Orientation {
    /// As they are stored.
    pub(super) const FILE: Self = Self { axes: [0, 1, 2], is_backwards: [false; 3], is_tilted: false };

    /// That of the map from samples to coordinates, by its rows: the nearest, where axes are tilted. `None` where it makes no sense.
    pub(super) fn of(rows: &[[f64; 4]; 3]) -> Option<Self> {
        let lengths = column_lengths(rows);
        let along = |axis: usize, space: usize| rows[space][axis] / lengths[axis];
        let fit = |axes: &[usize; 3]| (0..3).map(|space| along(axes[space], space).abs()).sum::<f64>();
        if !ORDERS.iter().map(fit).chain(rows.map(|row| row[3])).all(f64::is_finite) {
            return None;
        }
        let axes = ORDERS.into_iter().max_by(|one, other| fit(one).total_cmp(&fit(other)))?;
        let is_off = |space: usize| {
            (0..3).filter(|other| *other != space).any(|other| along(axes[space], other).abs() > TOLERANCE)
        };
        Some(Self {
            axes,
            is_backwards: std::array::from_fn(|space| along(axes[space], space) < 0.0),
            is_tilted: (0..3).any(is_off),
        })
    }

    /// What is told of each axis of the file, as of x, y, z.
    pub(super) fn of_space<T: Copy>(&self, told: [T; 3]) -> [T; 3] {
        self.axes.map(|axis| told[axis])
    }

    /// Distances along x, y, z, negative where the file runs backwards.
    pub(super) fn signed(&self, spacing: [f64; 3]) -> [f64; 3] {
        let spacing = self.of_space(spacing);
        std::array::from_fn(|space| if self.is_backwards[space] { -spacing[space] } else { spacing[space] })
    }

    /// What the axes of the file are, slowest first.
    pub(super) fn roles(&self) -> [Role; 4] {
        let mut roles = [Role::Step; 4];
        self.axes.iter().enumerate().for_each(|(space, axis)| roles[3 - axis] = Role::Space(space));
        roles
    }

    /// What is told of it, beside what runs backwards.
    pub(super) fn remarks(&self) -> Vec<String> {
        let [_, slow, middle, fast] = self.roles().map(Role::name);
        let is_exchanged = self.axes != [0, 1, 2];
        let exchanged = is_exchanged.then(|| format!("axes {fast}, {middle}, {slow} put in order"));
        let tilted =
            self.is_tilted.then(|| "axes are tilted: each is shown along the nearest of x, y, z, from 0 on".to_owned());
        exchanged.into_iter().chain(tilted).collect()
    }
}

/// Distances between samples along the axes of the file, of the map from samples to coordinates.
pub(super) fn column_lengths(rows: &[[f64; 4]; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| rows.iter().map(|row| row[axis] * row[axis]).sum::<f64>().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_axes_are_found() {
        let sagittal = [[0.0, 0.0, -2.0, 90.0], [1.0, 0.0, 0.0, -9.0], [0.0, 1.0, 0.0, 4.0]];
        let found = Orientation::of(&sagittal).unwrap();
        assert_eq!(found, Orientation { axes: [2, 0, 1], is_backwards: [true, false, false], is_tilted: false });
        assert_eq!(found.signed([1.0, 1.5, 2.0]), [-2.0, 1.0, 1.5]);
        assert_eq!(found.roles(), [Role::Step, Role::Space(0), Role::Space(2), Role::Space(1)]);
        assert_eq!(found.remarks(), ["axes y, z, x put in order"]);
        let tilted = [[1.9, 0.1, 0.0, 0.0], [-0.1, 1.9, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]];
        assert_eq!(Orientation::of(&tilted), Some(Orientation { is_tilted: true, ..Orientation::FILE }));
        for useless in [[[0.0; 4]; 3], [[f64::NAN; 4]; 3]] {
            assert_eq!(Orientation::of(&useless), None);
        }
    }
}
