//! Which boxes and values belong to which step.

use std::collections::HashMap;
use std::ops::Range;

use super::contents::{Contents, ROOT};
use super::level::StoredLevel;
use crate::hdf5::attributes;

/// Steps that are read.
const MAX_STEPS: u64 = 1 << 20;

/// What belongs to each step.
pub(super) struct Steps {
    /// Empty where the file has no steps.
    pub(super) times: Vec<f64>,
    /// Of each level, coarsest first.
    pub(super) levels: Vec<LevelSteps>,
}

/// What of a level belongs to each step.
pub(super) struct LevelSteps {
    /// Which boxes.
    pub(super) boxes: Vec<Range<usize>>,
    /// Where the values of an array begin; all at 0 where the file has no steps.
    pub(super) first: HashMap<String, Vec<u64>>,
}

/// The time of each step; none where the file has no steps.
pub(super) fn times(contents: &Contents<'_>) -> Result<Option<Vec<f64>>, String> {
    let Some(group) = contents.group("Steps")? else { return Ok(None) };
    let count = attributes::number(&group, "NSteps").unwrap_or(-1.0);
    if !(1.0..=MAX_STEPS as f64).contains(&count) || count.fract() != 0.0 {
        return Err(format!("its group '{ROOT}/Steps' has the NSteps {count}: 1 to {MAX_STEPS} are possible"));
    }
    let times = contents.numbers("Steps/Values")?.unwrap_or_default();
    if times.len() as f64 != count {
        return Err(format!(
            "its dataset '{ROOT}/Steps/Values' has {} times for {count} steps: write it again",
            times.len()
        ));
    }
    Ok(Some(times))
}

impl Steps {
    /// Of a file of these levels.
    pub(super) fn of(contents: &Contents<'_>, levels: &[StoredLevel]) -> Result<Self, String> {
        let Some(times) = times(contents)? else {
            let of_level = |level: &StoredLevel| LevelSteps {
                boxes: vec![Range { start: 0, end: level.boxes.len() }],
                first: level.arrays.iter().map(|array| (array.name.clone(), vec![0])).collect(),
            };
            return Ok(Self { times: Vec::new(), levels: levels.iter().map(of_level).collect() });
        };
        let of_level = |(number, level)| LevelSteps::of(contents, number, level, times.len());
        let levels = levels.iter().enumerate().map(of_level).collect::<Result<_, _>>()?;
        Ok(Self { times, levels })
    }

    /// Boxes of all levels in each step.
    pub(super) fn patches(&self) -> Vec<usize> {
        let steps = self.levels.first().map_or(0, |level| level.boxes.len());
        (0..steps).map(|step| self.levels.iter().map(|level| level.boxes[step].len()).sum()).collect()
    }
}

impl LevelSteps {
    fn of(contents: &Contents<'_>, number: usize, level: &StoredLevel, steps: usize) -> Result<Self, String> {
        let group = format!("Steps/Level{number}");
        let first_box = numbers(contents, &group, "AMRBoxOffsets", "", steps)?;
        let boxes_of_step = numbers(contents, &group, "NumberOfAMRBoxes", "", steps)?;
        let boxes = first_box.iter().zip(&boxes_of_step).map(|(&first, &count)| {
            let end = first.checked_add(count).filter(|end| *end <= level.boxes.len() as u64);
            end.map(|end| first as usize..end as usize).ok_or_else(|| {
                let there = level.boxes.len();
                format!("'{ROOT}/{group}' names {count} boxes from box {first} on, level {number} has {there}: write it again")
            })
        });
        let boxes = boxes.collect::<Result<_, _>>()?;
        let mut first = HashMap::new();
        for array in &level.arrays {
            first.insert(array.name.clone(), numbers(contents, &group, "CellDataOffsets", &array.name, steps)?);
        }
        Ok(Self { boxes, first })
    }
}

/// One number for each step, at a name that version 2.2 of the format wrote in the singular.
fn numbers(contents: &Contents<'_>, group: &str, name: &str, below: &str, steps: usize) -> Result<Vec<u64>, String> {
    let singular = name.strip_suffix("es").filter(|name| name.ends_with("Box")).or_else(|| name.strip_suffix('s'));
    for name in [Some(name), singular].into_iter().flatten() {
        let path = format!("{group}/{name}/{below}");
        let path = path.trim_end_matches('/');
        let Some(numbers) = contents.whole_numbers(path, 1)? else { continue };
        let numbers: Option<Vec<u64>> = numbers.into_iter().map(|number| u64::try_from(number).ok()).collect();
        return numbers.filter(|numbers| numbers.len() == steps).ok_or_else(|| {
            format!("its dataset '{ROOT}/{path}' does not have {steps} numbers, none of them negative: write it again")
        });
    }
    let missing = format!("{ROOT}/{group}/{name}/{below}");
    Err(format!("it has {steps} steps, but no '{}': write it again", missing.trim_end_matches('/')))
}
