use super::*;

/// Values of the patches of a level, as a function of the level and the cell.
type Cells<'a> = &'a (dyn Fn(usize, [usize; 3]) -> f32 + Sync);

/// A hierarchy whose levels have these patches, each level finer by `ratio`.
fn levels<'a>(size: [usize; 3], ratio: usize, patches: &'a [Vec<Box3>]) -> Vec<Level<'a>> {
    let of_level = |(number, patches): (usize, &'a Vec<Box3>)| Level {
        size: size.map(|edge| edge * ratio.pow(number as u32)),
        ratio: [ratio; 3],
        patches,
    };
    patches.iter().enumerate().map(of_level).collect()
}

/// The samples of a box of the last level.
fn composed(levels: &[Level<'_>], bounds: &Box3, cells: Cells<'_>) -> Vec<f32> {
    let mut out = vec![-1.0; bounds.volume()];
    let read = |part: &Part, out: &mut [f32]| {
        assert!(levels[part.level].patches[part.patch].contains(&part.bounds));
        out.iter_mut().zip(each(&part.bounds)).for_each(|(out, at)| *out = cells(part.level, at));
        Ok(())
    };
    compose(levels, bounds, &mut out, read).unwrap();
    out
}

fn each(bounds: &Box3) -> impl Iterator<Item = [usize; 3]> + use<> {
    bounds.bricks([1; 3]).map(|cell| cell.lo)
}

/// A linear field at the centre of a cell that is `edge` long; sums of powers of two where ratios are.
fn linear(at: [usize; 3], edge: f32) -> f32 {
    let [x, y, z] = at.map(|i| (i as f32 + 0.5) * edge);
    1.0 + 2.0 * x - 3.0 * y + 0.5 * z
}

/// Five boxes around one another, of which no plane parts any from the others: 6 x 6 cells, `deep` of them along z, from `lo` on.
fn pinwheel(lo: [usize; 3], deep: usize) -> Vec<Box3> {
    let arms = [([0, 0], [4, 2]), ([4, 0], [6, 4]), ([2, 4], [6, 6]), ([0, 2], [2, 6]), ([2, 2], [4, 4])];
    let place = |[x, y]: [usize; 2], z: usize| [lo[0] + x, lo[1] + y, lo[2] + z];
    arms.iter().map(|(first, end)| Box3::new(place(*first, 0), place(*end, deep))).collect()
}

#[test]
fn a_linear_field_is_reproduced_across_levels_and_constant_beyond_the_outermost_centres() {
    let patches = [
        vec![Box3::of_size([8, 8, 8])],
        vec![Box3::new([4, 6, 2], [12, 12, 10]), Box3::new([12, 4, 2], [14, 10, 10])],
        vec![Box3::new([14, 16, 10], [20, 22, 14])],
    ];
    let levels = levels([8; 3], 2, &patches);
    let value = |level: usize, at| linear(at, [4.0, 2.0, 1.0][level]);
    let whole = Box3::of_size([32; 3]);
    let all = composed(&levels, &whole, &value);
    // Values of the coarsest level stand at 2, 6, ... 30, so that those of the middle one are right from 3 to 29.
    let is_inside = |at: &[usize; 3]| at.iter().all(|i| (3..29).contains(i));
    for (at, got) in each(&whole).zip(&all).filter(|(at, _)| is_inside(at)) {
        assert_eq!(*got, linear(at, 1.0), "at {at:?}");
    }
    assert_eq!((all[0], all[all.len() - 1]), (value(0, [0; 3]), value(0, [7; 3])));
}

#[test]
fn ratios_that_are_no_power_of_two_and_differ_along_the_axes_do_as_well() {
    let coarse = [Box3::of_size([5, 4, 3])];
    let fine = [Box3::new([3, 4, 1], [9, 12, 2])];
    let levels = [
        Level { size: [5, 4, 3], ratio: [1; 3], patches: &coarse },
        Level { size: [15, 16, 3], ratio: [3, 4, 1], patches: &fine },
    ];
    let value = |level: usize, [x, y, z]: [usize; 3]| {
        let (x, y) = if level == 0 { (3.0 * x as f32 + 1.0, 4.0 * y as f32 + 1.5) } else { (x as f32, y as f32) };
        x - 2.0 * y + 10.0 * z as f32
    };
    let inside = Box3::new([1, 2, 0], [14, 14, 3]);
    for (at, got) in each(&inside).zip(composed(&levels, &inside, &value)) {
        assert!((got - value(1, at)).abs() < 1e-4, "{got} at {at:?}, not {}", value(1, at));
    }
}

#[test]
fn the_same_cells_give_the_same_bits_however_they_are_cut_into_patches() {
    let coarse = vec![Box3::of_size([6, 6, 4])];
    let hull = Box3::new([2, 4, 2], [8, 10, 5]);
    let wild = |level: usize, at: [usize; 3]| ((at[0] * 7 + at[1] * 13 + at[2] * 29 + level * 5) % 31) as f32 / 7.0;
    let rows: Vec<_> = hull.bricks([6, 1, 1]).collect();
    let cells: Vec<_> = hull.bricks([1; 3]).collect();
    let overlapping = vec![Box3::new([2, 4, 2], [7, 10, 5]), Box3::new([3, 4, 2], [8, 10, 5])];
    let cuts =
        [vec![hull], pinwheel(hull.lo, 3), pinwheel(hull.lo, 3).into_iter().rev().collect(), rows, cells, overlapping];
    let whole = Box3::of_size([24, 24, 16]);
    let finest = vec![Box3::new([10, 12, 6], [14, 17, 9])];
    let pictures = cuts.map(|cut| {
        assert_eq!(each(&hull).filter(|at| cut.iter().any(|patch| holds(patch, *at))).count(), hull.volume());
        let patches = [coarse.clone(), cut, finest.clone()];
        composed(&levels([6, 6, 4], 2, &patches), &whole, &wild)
    });
    assert!(pictures.iter().all(|picture| *picture == pictures[0]));
    assert!(pictures[0].iter().all(|value| value.is_finite()));
}

fn holds(patch: &Box3, at: [usize; 3]) -> bool {
    patch.contains(&Box3::new(at, at.map(|i| i + 1)))
}

#[test]
fn any_box_is_the_same_part_of_the_whole() {
    let patches = [
        vec![Box3::of_size([5, 6, 4]), Box3::new([5, 0, 0], [7, 6, 4])],
        pinwheel([3, 6, 3], 6),
        vec![Box3::new([9, 18, 9], [20, 30, 20])],
    ];
    let levels = levels([7, 6, 4], 3, &patches);
    let wild = |level: usize, at: [usize; 3]| ((at[0] * 7 + at[1] * 13 + at[2] * 29 + level * 5) % 31) as f32 / 7.0;
    let whole = Box3::of_size([63, 54, 36]);
    let all = composed(&levels, &whole, &wild);
    let boxes = [
        [[0; 3], [1; 3]],
        [[62, 53, 35], [63, 54, 36]],
        [[8, 17, 8], [21, 31, 22]],
        [[0, 20, 5], [63, 21, 6]],
        [[4, 5, 6], [5, 50, 30]],
    ];
    for [lo, hi] in boxes {
        let bounds = Box3::new(lo, hi);
        let part = each(&bounds).map(|[x, y, z]| all[(z * 54 + y) * 63 + x]);
        assert!(composed(&levels, &bounds, &wild).into_iter().eq(part), "{bounds}");
    }
    assert!(composed(&levels, &Box3::new([4, 4, 4], [4, 9, 9]), &wild).is_empty());
}

#[test]
fn cells_that_no_level_has_are_missing_and_leave_the_others_alone() {
    // The middle of three cells is not there.
    let patches = [vec![Box3::new([0, 0, 0], [1, 1, 1]), Box3::new([2, 0, 0], [3, 1, 1])], vec![]];
    let levels = levels([3, 1, 1], 2, &patches);
    let value = |_: usize, at: [usize; 3]| 10.0 + at[0] as f32;
    let row = composed(&levels, &Box3::new([0; 3], [6, 1, 1]), &value);
    assert!(row[2].is_nan() && row[3].is_nan());
    assert_eq!([row[0], row[1], row[4], row[5]], [10.0, 10.0, 12.0, 12.0]);
    // A patch fills it.
    let patches = [patches[0].clone(), vec![Box3::new([2, 0, 0], [4, 2, 2])]];
    let levels = self::levels([3, 1, 1], 2, &patches);
    let row = composed(&levels, &Box3::new([0; 3], [6, 1, 1]), &value);
    assert_eq!(row, [10.0, 10.0, 12.0, 13.0, 12.0, 12.0]);
}

#[test]
fn what_is_infinite_stays_where_it_is() {
    let patches = [vec![Box3::of_size([3, 1, 1])], vec![]];
    let value = |_: usize, at: [usize; 3]| [1.0, f32::INFINITY, 2.0][at[0]];
    let row = composed(&levels([3, 1, 1], 2, &patches), &Box3::new([0; 3], [6, 1, 1]), &value);
    assert_eq!(row, [1.0, 1.0, f32::INFINITY, f32::INFINITY, 2.0, 2.0]);
}

#[test]
fn of_patches_that_overlap_the_later_one_counts() {
    let patches = [vec![Box3::of_size([600, 600, 2]), Box3::new([1, 0, 0], [3, 1, 1])]];
    let levels = levels([600, 600, 2], 2, &patches);
    let mut out = vec![0.0; 720_000];
    let read = |part: &Part, out: &mut [f32]| {
        assert!(out.len() <= PIECE_VALUES, "{} values at once", out.len());
        out.fill(part.patch as f32);
        Ok(())
    };
    compose(&levels, &Box3::of_size([600, 600, 2]), &mut out, read).unwrap();
    assert_eq!(out[..4], [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(out.iter().sum::<f32>(), 2.0);
}

#[test]
fn what_cannot_be_read_is_told() {
    let patches = [vec![Box3::of_size([2; 3])], vec![]];
    let refuse = |_: &Part, _: &mut [f32]| Err(SourceError::unsupported("it"));
    assert!(compose(&levels([2; 3], 2, &patches), &Box3::of_size([4; 3]), &mut [0.0; 64], refuse).is_err());
}
