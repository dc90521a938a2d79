//! Where levels and their boxes lie: one grid for each level over what the coarsest covers.

use visapult_volume::{Box3, Centering, Grid, GridError};

use super::level::StoredLevel;

/// How far from a whole number the ratio of two spacings may be that are stored as 32-bit floats.
const TOLERANCE: f64 = 1e-4;
/// Cells of a level in one of the next coarser.
const MAX_RATIO: f64 = 1024.0;
/// Largest place of a cell, as VTK counts them.
const MAX_PLACE: u64 = i32::MAX as u64;

/// A level and its place.
pub(super) struct Level {
    pub(super) grid: Grid,
    /// Cells along each axis in one of the next coarser level; 1 in the coarsest.
    pub(super) ratio: [usize; 3],
    /// Cells of the grid, of all steps.
    pub(super) patches: Vec<Box3>,
    /// Cells in all patches before each, and in all.
    pub(super) before: Vec<u64>,
}

/// The levels of a file, coarsest first. `origin`: of cell 0 of each.
pub(super) fn placed(origin: [f64; 3], stored: &[StoredLevel]) -> Result<Vec<Level>, String> {
    let coarsest = stored.first().ok_or("it has no levels")?;
    let (mut first, mut end) = hull(coarsest)?;
    let mut levels = Vec::new();
    for (number, level) in stored.iter().enumerate() {
        let ratio = if number == 0 { [1; 3] } else { ratio(number, &stored[number - 1], level)? };
        let refined = |places: [i64; 3]| -> Option<[i64; 3]> {
            let mut fine = places;
            for axis in 0..3 {
                fine[axis] = places[axis].checked_mul(ratio[axis] as i64)?;
            }
            Some(fine)
        };
        (first, end) = refined(first)
            .zip(refined(end))
            .ok_or_else(|| format!("its level {number} is too fine to be addressed: write it with fewer levels"))?;
        levels.push(Level::of(number, origin, level, ratio, first, end)?);
    }
    Ok(levels)
}

impl Level {
    fn of(
        number: usize,
        origin: [f64; 3],
        level: &StoredLevel,
        ratio: [usize; 3],
        first: [i64; 3],
        end: [i64; 3],
    ) -> Result<Self, String> {
        let grid = Grid {
            size: std::array::from_fn(|axis| (end[axis] - first[axis]) as usize),
            spacing: level.spacing,
            origin: std::array::from_fn(|axis| origin[axis] + (first[axis] as f64 + 0.5) * level.spacing[axis]),
            unit: String::new(),
            centering: Centering::Cell,
        };
        grid.validate().map_err(|e| match e {
            GridError::TooLarge(_) => format!("its level {number}: {e}; write it with fewer levels"),
            _ => format!("its level {number}: {e}; write it again"),
        })?;
        let place = |(index, row): (usize, &[i64; 6])| {
            let cells = cells(number, index, row)?;
            let inside = (0..3).all(|axis| first[axis] <= cells.0[axis] && cells.1[axis] <= end[axis]);
            let relative = |places: [i64; 3]| std::array::from_fn(|axis| (places[axis] - first[axis]) as usize);
            inside.then(|| Box3 { lo: relative(cells.0), hi: relative(cells.1) }).ok_or_else(|| {
                format!(
                    "box {index} of its level {number} ({row:?}) reaches beyond what level 0 covers: write it again"
                )
            })
        };
        let patches: Vec<Box3> = level.boxes.iter().enumerate().map(place).collect::<Result<_, _>>()?;
        let mut before = vec![0_u64];
        for patch in &patches {
            let cells = before[before.len() - 1].checked_add(patch.volume() as u64);
            before.push(
                cells.ok_or_else(|| format!("the boxes of its level {number} have more cells than can be counted"))?,
            );
        }
        Ok(Self { grid, ratio, patches, before })
    }
}

/// First cell of all boxes of a level, and the first behind them.
fn hull(level: &StoredLevel) -> Result<([i64; 3], [i64; 3]), String> {
    let mut hull = ([i64::MAX; 3], [i64::MIN; 3]);
    for (index, row) in level.boxes.iter().enumerate() {
        let (first, end) = cells(0, index, row)?;
        for axis in 0..3 {
            hull.0[axis] = hull.0[axis].min(first[axis]);
            hull.1[axis] = hull.1[axis].max(end[axis]);
        }
    }
    if level.boxes.is_empty() {
        Err("its level 0 has no boxes: there is nothing to be seen".to_owned())
    } else {
        Ok(hull)
    }
}

/// First cell of a box, and the first behind it.
fn cells(number: usize, index: usize, row: &[i64; 6]) -> Result<([i64; 3], [i64; 3]), String> {
    let [i0, i1, j0, j1, k0, k1] = *row;
    let (first, last) = ([i0, j0, k0], [i1, j1, k1]);
    if row.iter().any(|place| place.unsigned_abs() > MAX_PLACE) || (0..3).any(|axis| first[axis] > last[axis]) {
        return Err(format!(
            "box {index} of its level {number} ({row:?}: i, i, j, j, k, k) holds no cell, or cells too far away to be \
             counted: write it with one or more along every axis, also of a flat grid"
        ));
    }
    Ok((first, last.map(|last| last + 1)))
}

/// Cells along each axis in one of the coarser level.
fn ratio(number: usize, coarse: &StoredLevel, fine: &StoredLevel) -> Result<[usize; 3], String> {
    let exact: [f64; 3] = std::array::from_fn(|axis| coarse.spacing[axis] / fine.spacing[axis]);
    let is_whole =
        |ratio: f64| (1.0..=MAX_RATIO).contains(&ratio.round()) && (ratio / ratio.round() - 1.0).abs() <= TOLERANCE;
    if exact.iter().all(|ratio| is_whole(*ratio)) {
        return Ok(exact.map(|ratio| ratio.round() as usize));
    }
    Err(format!(
        "the spacings of its levels {} and {number} ({:?} and {:?}) have the ratios {exact:?}: whole numbers are needed",
        number - 1,
        coarse.spacing,
        fine.spacing
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(edge: f64, boxes: &[[i64; 6]]) -> StoredLevel {
        StoredLevel { spacing: [edge; 3], boxes: boxes.to_vec(), arrays: Vec::new(), left_out: Vec::new() }
    }

    fn refused(levels: &[StoredLevel]) -> String {
        placed([0.0; 3], levels).err().unwrap()
    }

    #[test]
    fn levels_lie_over_what_the_coarsest_covers() {
        let coarse = level(0.5, &[[-2, 1, 3, 4, 0, 0], [2, 2, 3, 3, 1, 1]]);
        let fine = level(0.1, &[[-10, -1, 15, 19, 0, 4]]);
        let levels = placed([100.0, 0.0, 0.0], &[coarse, fine]).unwrap();
        assert_eq!((levels[0].grid.size, levels[1].grid.size), ([5, 2, 2], [25, 10, 10]));
        assert_eq!((levels[0].grid.origin, levels[1].ratio), ([99.25, 1.75, 0.25], [5; 3]));
        assert!((levels[1].grid.origin[0] - 99.05).abs() < 1e-12);
        assert_eq!(levels[0].patches, [Box3::new([0, 0, 0], [4, 2, 1]), Box3::new([4, 0, 1], [5, 1, 2])]);
        assert_eq!(
            (levels[1].patches[0], levels[0].before.as_slice()),
            (Box3::new([0; 3], [10, 5, 5]), &[0, 8, 9][..])
        );
    }

    #[test]
    fn spacings_of_32_bits_have_whole_ratios_and_others_are_refused() {
        let coarse = || level(f64::from(0.3_f32), &[[0, 3, 0, 3, 0, 3]]);
        assert_eq!(placed([0.0; 3], &[coarse(), level(f64::from(0.1_f32), &[])]).unwrap()[1].ratio, [3; 3]);
        for spacing in [0.2, 0.4, 0.0, -0.3, f64::MIN_POSITIVE] {
            let problem = refused(&[coarse(), level(spacing, &[])]);
            assert!(problem.contains("levels 0 and 1") && problem.contains("whole numbers"), "{problem}");
        }
    }

    #[test]
    fn boxes_that_cannot_be_are_named() {
        let whole = || level(1.0, &[[0, 7, 0, 7, 0, 7]]);
        let flat = refused(&[level(1.0, &[[0, 7, 0, 7, 0, -1]])]);
        assert!(flat.contains("box 0 of its level 0 ([0, 7, 0, 7, 0, -1]"), "{flat}");
        let outside = refused(&[whole(), level(0.5, &[[0, 1, 0, 1, 0, 1], [8, 16, 0, 1, 0, 1]])]);
        assert!(outside.contains("box 1 of its level 1") && outside.contains("beyond"), "{outside}");
        assert!(refused(&[level(1.0, &[])]).contains("no boxes"));
        assert!(refused(&[level(1.0, &[[0, 1 << 21, 0, 0, 0, 0]])]).contains("too large"));
        assert!(refused(&[level(1.0, &[[i64::MIN, 0, 0, 0, 0, 0]])]).contains("holds no cell"));
        let deep: Vec<_> = (0..30).map(|n| level(1.0 / 1024_f64.powi(n), &[[0, 7, 0, 7, 0, 7]])).collect();
        assert!(refused(&deep).contains("fewer levels"));
    }
}
