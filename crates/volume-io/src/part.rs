//! A source as if it held a box of its samples alone.

use visapult_volume::coordinates::part_of_grid;
use visapult_volume::{Box3, StepSpan};

use crate::axes::HOW_TO_SPACE;
use crate::coordinates::Along;
use crate::options::with_option;
use crate::samples::{box_of, samples_zyx};
use crate::{ReadRequest, Source, SourceError, SourceInfo, Together};

/// The samples along z, y and x of the finest level of `source` that `text` says, where they lie; its name says which. Other levels are left out.
///
/// # Errors
/// [`SourceError::Option`] says what is not in it, and what is.
pub(crate) fn part_of(source: Box<dyn Source>, text: &str) -> Result<Box<dyn Source>, SourceError> {
    let mut info = source.info().clone();
    let [nx, ny, nz] = info.grid().size;
    let found = samples_zyx(text).and_then(|samples| Ok((samples, box_of(samples, [nx, ny, nz])?)));
    let (samples, bounds) = found.map_err(|why| {
        let there =
            format!("{nz}, {ny} and {nx} samples along z, y and x, and ?box=0:{nz},0:{ny},0:{nx} is all of them");
        let problem = format!("box={text} is not in it ({why}): it has {there}");
        SourceError::Option { url: info.name.clone(), problem }
    })?;
    let part = part_of_grid(info.grid(), &info.along, &bounds);
    let is_uneven = |along: &Along| matches!(along, Along::Told(told) if told.is_uneven());
    let no_more = (!part.along.iter().any(is_uneven)).then(|| HOW_TO_SPACE.to_owned());
    for remark in part.void_remarks.into_iter().chain(no_more) {
        info.format = info.format.replace(&format!("; {remark}"), "");
    }
    for remark in part.remarks {
        info.format += &format!("; {remark}");
    }
    (info.levels, info.along) = (vec![part.grid], part.along);
    info.name = with_option(&info.name, &format!("box={}", samples.map(|samples| samples.to_string()).join(",")));
    Ok(Box::new(PartOf { source, info, bounds }))
}

struct PartOf {
    source: Box<dyn Source>,
    info: SourceInfo,
    /// The samples of the source's finest level.
    bounds: Box3,
}

impl Source for PartOf {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.source.steps()
    }

    fn behind(&self) -> Option<&dyn Source> {
        Some(self.source.as_ref())
    }

    /// Its grains need not begin where the part does: a box of whole ones touches at most one more along an axis.
    fn grain(&self, field: usize, level: usize) -> [usize; 3] {
        self.source.grain(field, level)
    }

    fn together(&self, field: usize, level: usize) -> Together {
        let (stored, grain) = (self.source.together(field, level), self.source.grain(field, level));
        let decoded = (0..3).map(|axis| decoded_for_each(grain[axis], self.bounds.lo[axis], self.bounds.hi[axis]));
        let samples = decoded.fold(stored.samples, |samples, times| samples / times);
        // What is decoded by itself has no bound that could be shared.
        Together { samples: if stored.steps == 1 { stored.samples } else { samples }, ..stored }
    }

    fn samples_read(&self) -> usize {
        let whole = self.source.info().grid().sample_count() as u128;
        let read = self.source.samples_read() as u128 * self.bounds.volume() as u128;
        usize::try_from(read.div_ceil(whole)).unwrap_or(usize::MAX)
    }

    fn is_as_stored(&self, field: usize, level: usize) -> bool {
        self.source.is_as_stored(field, level)
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps(), out.len())?;
        let moved = |at: [usize; 3]| std::array::from_fn(|axis| at[axis] + self.bounds.lo[axis]);
        let bounds = Box3::new(moved(request.bounds.lo), moved(request.bounds.hi));
        self.source.read(&ReadRequest { bounds, ..*request }, out)
    }
}

/// How many samples along an axis are decoded at most for each that is wanted, of whole grains of the part or all of it.
fn decoded_for_each(grain: usize, lo: usize, hi: usize) -> usize {
    let grains = hi.div_ceil(grain) - lo / grain;
    let of_grains = if lo.is_multiple_of(grain) || grains == 1 { 1 } else { 2 };
    grains.saturating_mul(grain).div_ceil(hi - lo).max(of_grains)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use visapult_volume::{Coordinates, Grid};

    use super::*;
    use crate::at_level;
    use crate::even::evenly_spaced;
    use crate::testing::{Ramp, ramp};

    fn read(source: &dyn Source, bounds: Box3) -> Vec<f32> {
        let mut out = vec![0.0; bounds.volume()];
        source.read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut out).unwrap();
        out
    }

    fn all(source: &dyn Source) -> Vec<f32> {
        read(source, source.info().grid().bounds())
    }

    fn told(unit: &str, values: &[f64]) -> Along {
        let (name, unit) = ("depth".to_owned(), unit.to_owned());
        Along::Told(Coordinates { name, unit, values: values.into(), are_downwards: None })
    }

    /// 5 x 3 x 6 samples on the grid that coordinates along z make of them.
    fn column(depths: [f64; 6], format: &str) -> Box<dyn Source> {
        let along = [told("m", &[0.0, 2.0, 4.0, 6.0, 8.0]), told("m", &[0.0, 2.0, 4.0]), told("m", &depths)];
        let mut info = ramp([5, 3, 6]).info().clone();
        info.levels[0].spacing = [2.0, 2.0, (depths[5] - depths[0]) / 5.0];
        info.levels[0].origin[2] = depths[0];
        info.levels[0].unit = "m".to_owned();
        Box::new(Ramp(SourceInfo { along, format: format.to_owned(), ..info }))
    }

    #[test]
    fn a_part_has_the_values_of_the_same_box_of_the_whole_where_they_lie() {
        let whole = ramp([40, 30, 20]);
        let part = part_of(ramp([40, 30, 20]), "2:5,7,10:").unwrap();
        let grid = part.info().grid();
        assert_eq!((part.info().name.as_str(), grid.size), ("ramp?box=2:5,7,10:", [30, 1, 3]));
        assert_eq!((grid.spacing, grid.origin), ([1.0, 2.0, 4.0], [10.0, 14.0, 8.0]));
        assert_eq!(all(part.as_ref()), read(whole.as_ref(), Box3::new([10, 7, 2], [40, 8, 5])));
        let within = Box3::new([3, 0, 1], [9, 1, 3]);
        assert_eq!(read(part.as_ref(), within), read(whole.as_ref(), Box3::new([13, 7, 3], [19, 8, 5])));
        assert_eq!(part.samples_read(), 90);
        assert_eq!(part_of(part, ":,:,5:9").unwrap().info().grid().origin, [15.0, 14.0, 8.0]);
    }

    #[test]
    fn a_level_of_a_part_is_made_of_the_part_and_a_part_of_a_level_is_a_box_of_that() {
        let of_part = at_level(part_of(ramp([40, 30, 20]), "3:,:,1:8").unwrap(), 1).unwrap();
        let grid = of_part.info().grid();
        assert_eq!((grid.size, grid.origin), ([4, 15, 9], [1.5, 1.0, 14.0]));
        assert_eq!(all(of_part.as_ref())[..4], [1.5, 3.5, 5.5, 7.0].map(|x| x + 50.0 + 35_000.0));
        assert_eq!((of_part.info().name.as_str(), of_part.samples_read()), ("ramp?box=3:,:,1:8&level=1", 7 * 30 * 17));

        let coarse = at_level(ramp([40, 30, 20]), 1).unwrap();
        let of_level = part_of(at_level(ramp([40, 30, 20]), 1).unwrap(), "3:,:,1:8").unwrap();
        let grid = of_level.info().grid();
        assert_eq!((grid.size, grid.origin), ([7, 15, 7], [2.5, 1.0, 26.0]));
        assert_eq!(all(of_level.as_ref()), read(coarse.as_ref(), Box3::new([1, 0, 3], [8, 15, 10])));
        assert_eq!(
            (of_level.info().name.as_str(), of_level.samples_read()),
            ("ramp?level=1&box=3:,:,1:8", 8 * 7 * 15 * 7)
        );
    }

    #[test]
    fn a_part_of_a_stored_level_is_read_from_that() {
        let stored = || {
            let mut info = ramp([64, 64, 64]).info().clone();
            info.levels = [64, 32, 16].map(|edge| Grid::of_size([edge; 3])).to_vec();
            Box::new(Ramp(info))
        };
        let part = part_of(at_level(stored(), 2).unwrap(), "0:8,:,4").unwrap();
        assert_eq!((part.info().levels.len(), part.samples_read()), (1, 8 * 16));
        assert!(part.is_as_stored(0, 0) && !part_of(stored(), "0:8,:,4").unwrap().is_as_stored(0, 0));
        assert_eq!(all(part.as_ref())[0], 4.0 + 0.5);
    }

    #[test]
    fn uneven_coordinates_are_those_of_the_part_and_even_ones_are_not_called_uneven() {
        let remarks =
            "; coordinates depth are uneven: shown equally far apart; ?spacing=even shows them where they lie";
        let whole = || column([0.0, 1.0, 2.0, 3.0, 7.0, 15.0], &format!("ramp{remarks}; x is odd"));
        let near = part_of(whole(), "1:4,:,:").unwrap();
        let grid = near.info().grid();
        assert_eq!(
            (grid.spacing, grid.origin, near.info().format.as_str()),
            ([2.0, 2.0, 1.0], [0.0, 0.0, 1.0], "ramp; x is odd")
        );
        let Along::Told(depth) = &near.info().along[2] else { panic!("nothing is told") };
        assert_eq!(depth.values[..], [1.0, 2.0, 3.0]);

        let far = part_of(whole(), "3:,:,2:").unwrap();
        let grid = far.info().grid();
        assert_eq!((grid.spacing, grid.origin), ([2.0, 2.0, 6.0], [4.0, 0.0, 3.0]));
        assert_eq!(far.info().format, format!("ramp{remarks}; x is odd"));
        // As many as tell the nearest of the part apart, and not of the whole.
        let even = evenly_spaced(far).unwrap();
        assert_eq!((even.info().grid().size, even.info().grid().spacing[2]), ([3, 3, 4], 4.0));
        assert_eq!(
            all(even.as_ref()).iter().step_by(9).copied().collect::<Vec<_>>(),
            [30_002.0, 40_002.0, 45_002.0, 50_002.0]
        );
        assert_eq!(even.info().name, "ramp?box=3:,:,2:&spacing=even");
        assert!(evenly_spaced(near).is_err());
    }

    #[test]
    fn a_box_of_samples_that_were_made_even_is_one_of_these() {
        let even = || evenly_spaced(column([0.0, 1.0, 2.0, 3.0, 7.0, 15.0], "ramp")).unwrap();
        let part = part_of(even(), "2:6,:,1:3").unwrap();
        assert_eq!(all(part.as_ref()), read(even().as_ref(), Box3::new([1, 0, 2], [3, 3, 6])));
        assert_eq!((part.info().grid().origin, part.info().grid().spacing), ([2.0, 0.0, 2.0], [2.0, 2.0, 1.0]));
    }

    #[test]
    fn a_grid_that_coordinates_did_not_make_is_moved() {
        let mut info = column([0.0, 1.0, 2.0, 3.0, 7.0, 15.0], "ramp").info().clone();
        info.levels[0].spacing = [0.5; 3];
        let part = part_of(Box::new(Ramp(info)), "4:,1:,:").unwrap();
        assert_eq!((part.info().grid().spacing, part.info().grid().origin), ([0.5; 3], [0.0, 0.5, 2.0]));
    }

    #[test]
    fn a_box_that_is_not_there_is_refused_with_what_there_is() {
        for (text, why) in [
            ("0:21,:,:", "0:21 is not in the 20 samples along z"),
            ("-1:,:,:", "\"-1\" is no number from 0 on"),
            ("3:3,:,:", "\"3:3\" holds none"),
            ("0:3", "expected three, for z, y and x"),
        ] {
            let refused = part_of(ramp([40, 30, 20]), text).err().unwrap().to_string();
            let there = "it has 20, 30 and 40 samples along z, y and x, and ?box=0:20,0:30,0:40 is all of them";
            assert_eq!(refused, format!("ramp: box={text} is not in it ({why}): {there}"));
        }
    }

    #[test]
    fn what_is_decoded_beside_a_part_counts() {
        struct Chunked(SourceInfo);
        impl Source for Chunked {
            fn info(&self) -> &SourceInfo {
                &self.0
            }
            fn steps(&self) -> StepSpan {
                StepSpan { first: 0, last: 7 }
            }
            fn grain(&self, _: usize, _: usize) -> [usize; 3] {
                [16, 16, 16]
            }
            fn together(&self, _: usize, _: usize) -> Together {
                Together { steps: 4, samples: 80_000 }
            }
            fn read(&self, _: &ReadRequest, _: &mut [f32]) -> Result<(), SourceError> {
                unreachable!("no value is wanted")
            }
        }
        let kept = |text| {
            let part = part_of(Box::new(Chunked(ramp([64, 64, 64]).info().clone())), text).unwrap();
            assert_eq!(part.grain(0, 0), [16; 3]);
            part.together(0, 0).samples
        };
        assert_eq!(kept("16:48,:,32:"), 80_000);
        assert_eq!(kept("16:48,:,8:40"), 40_000);
        // Of each chunk one plane is wanted; the last box reaches into three chunks.
        assert_eq!(kept("20,:,:"), 5_000);
        assert_eq!(kept(":,:,15:33"), 80_000 / 3);
        assert_eq!(part_of(ramp([9; 3]), "1:,1:,1:").unwrap().together(0, 0), Together::ALONE);
    }

    #[test]
    fn no_more_is_read_than_the_part() {
        struct Guarded(Arc<Box3>, Box<dyn Source>);
        impl Source for Guarded {
            fn info(&self) -> &SourceInfo {
                self.1.info()
            }
            fn steps(&self) -> StepSpan {
                self.1.steps()
            }
            fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
                assert!(self.0.contains(&request.bounds), "{} was read", request.bounds);
                self.1.read(request, out)
            }
        }
        let of = Arc::new(Box3::new([3, 4, 5], [30, 20, 19]));
        let part = part_of(Box::new(Guarded(of, ramp([40, 30, 20]))), "5:19,4:20,3:30").unwrap();
        all(at_level(part, 2).unwrap().as_ref());
    }
}
