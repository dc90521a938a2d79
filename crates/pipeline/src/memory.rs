//! What a step takes in memory, and what this process can still have of it.
//!
//! Invariant: whoever allocates what a source claims has held it against [`free_bytes`], and can still be refused by the system. Processes of one
//! back end that run on one machine count a share each: none takes what another has been promised.

use std::fmt;

use visapult_ripp_net::units::bytes_for_people;
use visapult_volume_io::{Source, SourceInfo, from_level, levels_of, names_level};
pub(crate) use visapult_volume_io::{free_bytes, peak_bytes};

use crate::error::PipelineError;

/// Bytes of samples that are read at most to make a coarser level of them that nobody has asked for: some half a minute of it.
const MOST_READ: u64 = 16_000_000_000;

/// Bytes of a step of so many samples: 32-bit values, and a seventh of that for the coarser levels.
pub(crate) fn step_bytes(samples: usize) -> u64 {
    (samples as u64).saturating_mul(32) / 7
}

/// Holds a step of so many samples against what each of so many `processes` can have: how many bytes it takes, and are free.
///
/// # Errors
/// [`PipelineError::TooLarge`] if it does not fit.
pub(crate) fn check(info: &SourceInfo, samples: usize, processes: usize) -> Result<[u64; 2], PipelineError> {
    let (needed, free) = (step_bytes(samples), free_bytes(processes));
    if needed > free { Err(too_large(info, needed, free, processes)) } else { Ok([needed, free]) }
}

/// Memory for so many values, all 0.
///
/// # Errors
/// [`PipelineError::TooLarge`] if the system does not give it.
pub(crate) fn values(info: &SourceInfo, samples: usize) -> Result<Vec<f32>, PipelineError> {
    let refused = |()| too_large(info, step_bytes(samples), free_bytes(1), 1);
    bytemuck::allocation::try_zeroed_vec(samples).map_err(refused)
}

/// The source at the finest of its levels of which a step fits in memory, and, where that is not the finest, which it is. Where none fits that
/// it stores, a coarser one is made as it is read; unchanged where that would take too long to be done unasked.
///
/// # Errors
/// [`PipelineError::Source`] if the level cannot be had.
pub(crate) fn fitting_level(source: Box<dyn Source>) -> Result<(Box<dyn Source>, Option<ShownCoarser>), PipelineError> {
    let free = free_bytes(1);
    let info = source.info();
    let levels = levels_of(info);
    let fits = levels.iter().position(|grid| step_bytes(grid.sample_count()) <= free);
    let Some(level) = fits.filter(|level| *level > 0) else { return Ok((source, None)) };
    let sizes = [level, 0].map(|level| levels[level].size);
    let needed = step_bytes(levels[0].sample_count());
    let is_stored = level < info.levels.len();
    let read = info.levels.last().map_or(0, |coarsest| coarsest.sample_count() as u64 * 4);
    if !is_stored && read > MOST_READ {
        return Ok((source, None));
    }
    let notice = ShownCoarser { source_name: info.name.clone(), level, is_stored, sizes, needed, free };
    let coarser = from_level(source, level).map_err(PipelineError::source)?;
    Ok((coarser, Some(notice)))
}

/// A source is shown at a coarser level than its finest, which does not fit in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownCoarser {
    source_name: String,
    level: usize,
    /// Otherwise its samples are means.
    is_stored: bool,
    /// Samples of the level that is shown, and of the finest.
    sizes: [[usize; 3]; 2],
    /// Bytes that a step of the finest takes.
    needed: u64,
    /// Bytes that there were.
    free: u64,
}

impl fmt::Display for ShownCoarser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source_name, level, is_stored, .. } = self;
        let means = if *is_stored { "" } else { ", means of the finer samples" };
        let [shown, finest] = self.sizes.map(|size| size.map(|edge| edge.to_string()).join(" x "));
        let [needed, free] = [self.needed, self.free].map(bytes_for_people);
        write!(
            f,
            "{source_name} is shown at level {level} ({shown}{means}): a step of level 0 ({finest}) needs {needed}, this machine has {free} free; \
             ?box=Z,Y,X shows a part of it"
        )
    }
}

fn too_large(info: &SourceInfo, needed: u64, free: u64, processes: usize) -> PipelineError {
    let levels = levels_of(info);
    let fits = levels.iter().position(|grid| step_bytes(grid.sample_count()) <= free);
    // One of a level that was named is counted from there.
    let level = fits.filter(|_| !names_level(&info.name)).map_or_else(|| "N".to_owned(), |level| level.to_string());
    let (source_name, needed, free) = (info.name.clone(), bytes_for_people(needed), bytes_for_people(free));
    PipelineError::TooLarge { source_name, needed, free, processes, level }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_what_to_do() {
        let told = |processes| {
            let (source_name, needed, free) = ("a.h5".to_owned(), "9 GB".to_owned(), "2 GB".to_owned());
            PipelineError::TooLarge { source_name, needed, free, processes, level: "2".to_owned() }.to_string()
        };
        assert!(
            told(1).contains("this machine has 2 GB free: choose a coarser level (?level=2), a part (?box=Z,Y,X),"),
            "{}",
            told(1)
        );
        assert!(told(3).contains("this machine has 2 GB free for each of 3 processes: choose"), "{}", told(3));
    }

    #[test]
    fn a_step_takes_its_values_and_a_seventh_for_coarser_levels() {
        assert_eq!(step_bytes(8000 * 8000 * 8000), 2_340_571_428_571);
        assert_eq!(step_bytes(usize::MAX), u64::MAX / 7);
    }
}
