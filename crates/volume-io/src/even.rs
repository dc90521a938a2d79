//! A source of which samples lie unevenly along an axis, on a grid on which they do not: each value is shown where its coordinate says.
//!
//! Between two samples values are linear in the coordinate; where either is missing they are, too.

use std::sync::Arc;

use rayon::prelude::*;
use visapult_volume::coordinates::{cut, shown_evenly};
use visapult_volume::{Box3, Coordinates, StepSpan};

use crate::axes::HOW_TO_SPACE;
use crate::level::{HELD, place};
use crate::options::with_option;
use crate::tiles::pieces;
use crate::{Along, ReadRequest, Source, SourceError, SourceInfo, Together};

/// How many times as many samples an axis may get, where one, two and three have uneven ones.
const MOST_TIMES: [usize; 3] = [4, 3, 2];
/// Part of a distance by which samples may differ and lie at one place.
const ROUNDING: f64 = 1e-4;
/// Values that one thread makes at least.
const AT_A_TIME: usize = 1 << 14;

/// `source` with its samples equally far apart along every axis along which its coordinates are not; its name says so.
///
/// # Errors
/// [`SourceError::Option`] if there is no such axis.
pub(crate) fn evenly_spaced(source: Box<dyn Source>) -> Result<Box<dyn Source>, SourceError> {
    let mut info = source.info().clone();
    let uneven: [Option<Coordinates>; 3] = std::array::from_fn(|axis| uneven(&info.along[axis]));
    let count = uneven.iter().flatten().count();
    if count == 0 {
        let problem = "spacing=even is for coordinates that grow unevenly: it has none";
        return Err(SourceError::Option { url: info.name, problem: problem.to_owned() });
    }
    let (mut axes, mut made) = ([const { None }; 3], String::new());
    info.levels.truncate(1);
    for (axis, told) in uneven.iter().enumerate() {
        let Some(told) = told else { continue };
        let even = Even::of(&told.values, MOST_TIMES[count - 1]);
        made += &even.put_into(&mut info, axis, told);
        axes[axis] = Some(even.between);
    }
    // Before what else is remarked: over flows the last of it may be left out.
    info.format.insert_str(info.format.find("; ").unwrap_or(info.format.len()), &made);
    info.name = with_option(&info.name, "spacing=even");
    info.grid().validate().map_err(|e| SourceError::format(&info.name, e.to_string()))?;
    Ok(Box::new(EvenlySpaced { source, info, axes }))
}

/// Coordinates that grow or fall, by distances that are not the same.
fn uneven(along: &Along) -> Option<Coordinates> {
    let Along::Told(told) = along else { return None };
    told.is_uneven().then(|| told.clone())
}

/// Where a value is made from: between the sample of that number and the next one, and how far towards that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Between {
    sample: usize,
    share: f32,
}

/// Samples that are equally far apart between the first and the last of others.
struct Even {
    between: Vec<Between>,
    values: Arc<[f64]>,
    /// Whether the least distance of the others is less than theirs.
    is_coarser: bool,
}

impl Even {
    /// As many as tell all of the others apart, and at most so many times as many.
    fn of(uneven: &[f64], most_times: usize) -> Self {
        let intervals = uneven.len() - 1;
        let (first, last) = (uneven[0], uneven[intervals]);
        let least = uneven.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
        // Distances are rounded.
        let wanted = ((last - first).abs() / least - ROUNDING).ceil();
        let made = (wanted as usize).clamp(intervals, intervals * most_times);
        let at = |i: usize| if i == made { last } else { first + (last - first) * (i as f64 / made as f64) };
        let values: Arc<[f64]> = (0..=made).map(at).collect();
        let between = values.iter().map(|value| Between::of(*value, uneven)).collect();
        Self { between, values, is_coarser: wanted > made as f64 }
    }

    /// What `info` says of an axis, of these samples in place of those that were `told`; gives the remark on them.
    fn put_into(&self, info: &mut SourceInfo, axis: usize, told: &Coordinates) -> String {
        let grid = &mut info.levels[0];
        let (before, now) = (grid.size[axis], self.values.len());
        grid.size[axis] = now;
        grid.spacing[axis] *= (before - 1) as f64 / (now - 1) as f64;
        let named = cut(&told.name);
        let lost = if self.is_coarser { ", farther than the nearest of them were" } else { "" };
        for remark in [&shown_evenly(&told.name), HOW_TO_SPACE] {
            info.format = info.format.replace(&format!("; {remark}"), "");
        }
        info.along[axis] = Along::Told(Coordinates { values: Arc::clone(&self.values), ..told.clone() });
        format!("; {before} uneven samples along {named} made {now}, equally far apart{lost}")
    }
}

impl Between {
    fn of(value: f64, uneven: &[f64]) -> Self {
        let falls = uneven[0] > uneven[uneven.len() - 1];
        let behind = uneven.partition_point(|sample| if falls { *sample >= value } else { *sample <= value });
        let sample = behind.clamp(1, uneven.len() - 1) - 1;
        let share = (value - uneven[sample]) / (uneven[sample + 1] - uneven[sample]);
        // What is missing beside a sample does not take it away.
        if share > 1.0 - ROUNDING {
            Self { sample: sample + 1, share: 0.0 }
        } else {
            Self { sample, share: if share > ROUNDING { share as f32 } else { 0.0 } }
        }
    }

    /// The first sample that is not asked.
    fn end(self) -> usize {
        self.sample + if self.share > 0.0 { 2 } else { 1 }
    }
}

struct EvenlySpaced {
    source: Box<dyn Source>,
    info: SourceInfo,
    /// Of each axis that is made even, where each of its samples comes from.
    axes: [Option<Vec<Between>>; 3],
}

impl EvenlySpaced {
    /// The samples of the source that those of a box are made from.
    fn asked(&self, bounds: &Box3) -> Box3 {
        let mut asked = *bounds;
        for (axis, between) in self.axes.iter().enumerate() {
            let Some(between) = between else { continue };
            asked.lo[axis] = between[bounds.lo[axis]].sample;
            asked.hi[axis] = between[bounds.hi[axis] - 1].end();
        }
        asked
    }

    /// Boxes that what is asked for is made in: of each, and of what it is made from, no more is held than has to be.
    fn pieces(&self, request: &ReadRequest) -> Vec<Box3> {
        let mut left = pieces(&request.bounds, self.grain(request.field, request.level), HELD);
        let mut small = Vec::new();
        while let Some(piece) = left.pop() {
            let size = piece.size();
            let is_cut = |axis: &usize| self.axes[*axis].is_some() && size[*axis] > 1;
            // Where coordinates lie close, few samples are made from many.
            match (0..3).rev().find(is_cut).filter(|_| self.asked(&piece).volume() > 2 * HELD) {
                Some(axis) => left.extend(halves(&piece, axis)),
                None => small.push(piece),
            }
        }
        small
    }

    fn made(&self, request: &ReadRequest, bounds: &Box3) -> Result<Vec<f32>, SourceError> {
        let asked = self.asked(bounds);
        let mut values = vec![0.0; asked.volume()];
        self.source.read(&ReadRequest { bounds: asked, ..*request }, &mut values)?;
        let mut size = asked.size();
        for (axis, between) in self.axes.iter().enumerate() {
            let Some(between) = between else { continue };
            values = interpolated(&values, size, axis, &between[bounds.lo[axis]..bounds.hi[axis]]);
            size[axis] = bounds.size()[axis];
        }
        Ok(values)
    }
}

fn halves(whole: &Box3, axis: usize) -> [Box3; 2] {
    let (mut one, mut other) = (*whole, *whole);
    let middle = whole.lo[axis].midpoint(whole.hi[axis]);
    (one.hi[axis], other.lo[axis]) = (middle, middle);
    [one, other]
}

/// What lies `between` samples along one axis of `values`, of which the first is the first that is asked.
fn interpolated(values: &[f32], size: [usize; 3], axis: usize, between: &[Between]) -> Vec<f32> {
    let row: usize = size[..axis].iter().product();
    let rows: usize = size[axis + 1..].iter().product();
    let first = between[0].sample;
    let mut out = vec![0.0; row * between.len() * rows];
    let make = |(number, out): (usize, &mut [f32])| {
        let Between { sample, share } = between[number % between.len()];
        let from = &values[(number / between.len() * size[axis] + sample - first) * row..];
        if share > 0.0 {
            let pairs = from.iter().zip(&from[row..]);
            out.iter_mut().zip(pairs).for_each(|(out, (one, other))| *out = one + (other - one) * share);
        } else {
            out.copy_from_slice(&from[..row]);
        }
    };
    out.par_chunks_mut(row).enumerate().with_min_len((AT_A_TIME / row).max(1)).for_each(make);
    out
}

impl Source for EvenlySpaced {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.source.steps()
    }

    fn behind(&self) -> Option<&dyn Source> {
        Some(self.source.as_ref())
    }

    fn grain(&self, field: usize, level: usize) -> [usize; 3] {
        let (grain, before, now) = (self.source.grain(field, level), self.source.info().grid(), self.info.grid());
        std::array::from_fn(|axis| (grain[axis].saturating_mul(now.size[axis]) / before.size[axis]).max(1))
    }

    fn together(&self, field: usize, level: usize) -> Together {
        let (stored, before) = (self.source.together(field, level), self.source.info().grid().sample_count());
        let times = self.info.grid().sample_count() / before;
        Together { samples: stored.samples.saturating_mul(times), ..stored }
    }

    fn samples_read(&self) -> usize {
        self.source.samples_read()
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps(), out.len())?;
        for piece in self.pieces(request) {
            place(&self.made(request, &piece)?, &piece, out, &request.bounds);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Ramp, ramp};

    fn told(values: &[f64]) -> Along {
        let (name, unit) = ("depth".to_owned(), "m".to_owned());
        Along::Told(Coordinates { name, unit, values: values.into(), are_downwards: None })
    }

    fn column(size: [usize; 3], along: [Along; 3]) -> Result<Box<dyn Source>, SourceError> {
        let info = SourceInfo { along, ..ramp(size).info().clone() };
        evenly_spaced(Box::new(Ramp(info)))
    }

    fn read(source: &dyn Source, bounds: Box3) -> Vec<f32> {
        let mut out = vec![0.0; bounds.volume()];
        source.read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut out).unwrap();
        out
    }

    /// The number of the sample, with a fraction, that is at each of the even ones.
    fn places(uneven: &[f64], most_times: usize) -> Vec<f64> {
        let even = Even::of(uneven, most_times);
        even.between.iter().map(|between| between.sample as f64 + f64::from(between.share)).collect()
    }

    #[test]
    fn samples_are_as_many_as_tell_the_nearest_apart() {
        assert_eq!(places(&[0.0, 1.0, 2.0, 6.0], 4), [0.0, 1.0, 2.0, 2.25, 2.5, 2.75, 3.0]);
        assert_eq!(
            places(&[1000.0, 400.0, 200.0, 0.0], 4),
            [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0, 2.0, 3.0].map(|p: f64| f64::from(p as f32))
        );
        assert!(!Even::of(&[0.0, 1.0, 2.0, 6.0], 4).is_coarser);
        let few = Even::of(&[0.0, 0.1, 100.0], 4);
        assert_eq!((few.between.len(), few.is_coarser), (9, true));
        assert_eq!(few.between[8], Between { sample: 2, share: 0.0 });
    }

    #[test]
    fn a_sample_lies_where_its_coordinate_says_whatever_box_is_read() {
        let [along_y, along_z] = [&[3.0, 2.0, 0.0][..], &[0.0, 1.0, 2.0, 6.0]].map(told);
        let source = column([5, 3, 4], [Along::Unknown, along_y, along_z]).unwrap();
        let grid = source.info().grid();
        assert_eq!((grid.size, grid.spacing), ([5, 4, 7], [1.0, 2.0 * 2.0 / 3.0, 4.0 * 3.0 / 6.0]));
        let due = |[x, y, z]: [usize; 3]| {
            let (y, z) = ([0.0, 1.0, 1.5, 2.0][y], [0.0, 1.0, 2.0, 2.25, 2.5, 2.75, 3.0][z]);
            x as f32 + 100.0 * y + 10_000.0 * z
        };
        for bounds in [
            grid.bounds(),
            Box3::new([1, 2, 3], [2, 3, 4]),
            Box3::new([0, 1, 2], [5, 3, 6]),
            Box3::new([4, 3, 6], [5, 4, 7]),
        ] {
            let read = read(source.as_ref(), bounds);
            for (i, value) in read.iter().enumerate() {
                let [nx, ny, _] = bounds.size();
                let at = [i % nx, i / nx % ny, i / (nx * ny)];
                assert_eq!(*value, due(std::array::from_fn(|axis| bounds.lo[axis] + at[axis])), "{bounds}, sample {i}");
            }
        }
        let Along::Told(depth) = &source.info().along[1] else { panic!("nothing is told") };
        assert_eq!(depth.values[..], [3.0, 2.0, 1.0, 0.0]);
        assert_eq!((source.info().name.as_str(), source.samples_read()), ("ramp?spacing=even", 60));
        assert!(source.info().format.contains("3 uneven samples along depth made 4, equally far apart; 4 uneven"));
    }

    #[test]
    fn places_that_are_rounded_are_hit() {
        assert_eq!(places(&[0.1, 0.2, 0.3, 0.7], 4), [0.0, 1.0, 2.0, 2.25, 2.5, 2.75, 3.0]);
        assert_eq!(
            places(&[0.1, 0.3, 0.5, 1.1], 4),
            [0.0, 1.0, 2.0, 2.0 + f64::from(1.0_f32 / 3.0), 2.0 + f64::from(2.0_f32 / 3.0), 3.0]
        );
        for huge in [&[0.0, 1e307, 1e308, 1.7e308][..], &[-1e16, 0.0, 1.0, 3.0]] {
            let places = places(huge, 4);
            assert!(places.is_sorted() && places[0] == 0.0 && places[places.len() - 1] == 3.0, "{places:?}");
        }
    }

    #[test]
    fn thin_boxes_where_samples_lie_close_are_made_in_little_memory() {
        let mut close: Vec<f64> = (0..100_000).map(|i| f64::from(i) * 1e-6).collect();
        close.push(1000.0);
        let source = column([100_001, 40, 40], [told(&close), Along::Grid, Along::Grid]).unwrap();
        let bounds = Box3::new([0, 0, 0], [2, 40, 40]);
        assert_eq!(read(source.as_ref(), bounds)[2..4], [100.0, 100.0 + 2500.0]);
    }

    #[test]
    fn what_is_said_of_the_samples_stands_before_what_else_is_remarked() {
        let along = [told(&[0.0, 1.0, 3.0]), Along::Grid, Along::Grid];
        let info = ramp([3, 1, 1]).info().clone();
        let info = SourceInfo { along, format: "ramp; the way up is not told; x is odd".to_owned(), ..info };
        assert_eq!(
            evenly_spaced(Box::new(Ramp(info))).unwrap().info().format,
            "ramp; 3 uneven samples along depth made 4, equally far apart; the way up is not told; x is odd"
        );
    }

    #[test]
    fn large_boxes_are_made_in_little_memory_and_x_as_the_others() {
        let uneven: Vec<f64> = (0..400).map(|i| f64::from(i * i)).collect();
        let source = column([400, 150, 200], [told(&uneven), Along::Grid, Along::Grid]).unwrap();
        let bounds = source.info().grid().bounds();
        let read = read(source.as_ref(), bounds);
        let [nx, ..] = bounds.size();
        assert_eq!(nx, 1597);
        for (i, value) in read.iter().enumerate().step_by(777) {
            let x = ((i % nx) as f64 / (nx - 1) as f64).sqrt() * 399.0;
            let due = value_at(x) + (100 * (i / nx % 150) + 10_000 * (i / nx / 150)) as f64;
            assert!((f64::from(*value) - due).abs() < 0.6, "{i}: {value}, {due}");
        }
    }

    /// Linear in the square between whole numbers.
    fn value_at(x: f64) -> f64 {
        let before = x.floor();
        before + (x * x - before * before) / (2.0 * before + 1.0)
    }

    #[test]
    fn what_is_missing_is_missing_between_as_well() {
        let between = [0.0, 0.5, 0.0].map(|share| Between { sample: 0, share });
        let made = interpolated(&[1.0, f32::NAN], [1, 1, 2], 2, &between);
        assert_eq!((made[0], made[1].is_nan(), made[2]), (1.0, true, 1.0));
    }

    #[test]
    fn of_even_coordinates_none_are_made() {
        for along in [Along::Grid, Along::Unknown, told(&[0.0, 1.0, 2.0, 3.0]), told(&[0.0, 2.0, 1.0, 5.0])] {
            let refused = column([5, 3, 4], [Along::Grid, Along::Grid, along]).err().unwrap().to_string();
            assert_eq!(refused, "ramp: spacing=even is for coordinates that grow unevenly: it has none");
        }
    }
}
