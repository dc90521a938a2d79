//! Values of cells, which lie box after box in one array for each level.

use std::sync::Arc;

use visapult_volume::{Box3, FieldInfo};

use super::contents::{Contents, ROOT};
use super::domain::Level;
use super::level::{Array, StoredLevel, no_field};
use super::steps::{LevelSteps, Steps};
use crate::SourceError;
use crate::amr::Part;
use crate::hdf5::attributes;
use crate::hdf5::dataset::Stored;
use crate::hdf5::find::Found;
use crate::hdf5::home::{Home, Homes};

/// Values that are read at once though not all of them are wanted: 256 KiB of `f32`.
const NEAR_VALUES: usize = 1 << 16;

/// A field of cell values.
pub(super) struct Field {
    pub(super) info: FieldInfo,
    /// Of each level, coarsest first; none of one that never has a patch.
    levels: Vec<Option<Line>>,
}

/// The values of one level.
struct Line {
    stored: Stored,
    /// Which of the numbers for each cell.
    channel: u64,
    home: Arc<Home>,
    /// Where those of each step begin.
    first: Vec<u64>,
}

/// The fields of a file, as its coarsest level lists them.
pub(super) fn fields(
    contents: &Contents<'_>,
    stored: &[StoredLevel],
    steps: &Steps,
    levels: &[Level],
    homes: &mut Homes,
) -> Result<Vec<Field>, SourceError> {
    let shown = homes.opened().place.display();
    let arrays = stored.first().map_or(&[][..], |level| &level.arrays);
    if arrays.is_empty() {
        return Err(SourceError::format(shown, no_field(contents, stored)));
    }
    let field = |array: &Array| {
        let mut of_level = Vec::new();
        for (number, level) in levels.iter().enumerate() {
            let array = find(array, number, &stored[number]).map_err(|e| SourceError::format(&shown, e))?;
            let line = array.map(|array| Line::of(array, number, level, &steps.levels[number], homes)).transpose()?;
            of_level.push(line);
        }
        let scalar_type = of_level.iter().flatten().next().map(|line| line.stored.encoding().scalar);
        let info = FieldInfo {
            name: array.field(),
            unit: attributes::text(&array.dataset, "units").unwrap_or_default(),
            scalar_type: scalar_type.unwrap_or(visapult_volume::ScalarType::F32),
            declared_range: None,
        };
        Ok(Field { info, levels: of_level })
    };
    arrays.iter().map(field).collect()
}

/// The array of a field in a level, which has one if it has boxes.
fn find<'a>(of_field: &Array, number: usize, level: &'a StoredLevel) -> Result<Option<&'a Array>, String> {
    let name = of_field.field();
    let array = level.arrays.iter().find(|array| array.field() == name);
    if array.is_none() && !level.boxes.is_empty() {
        return Err(format!("level 0 has cell values '{name}', level {number} has not: write it for all levels"));
    }
    Ok(array.filter(|_| !level.boxes.is_empty()))
}

impl Line {
    fn of(
        array: &Array,
        number: usize,
        level: &Level,
        steps: &LevelSteps,
        homes: &mut Homes,
    ) -> Result<Self, SourceError> {
        let path = format!("{ROOT}/Level{number}/CellData/{}", array.name);
        let home = homes.of(&array.dataset)?;
        let first = steps.first.get(&array.name).cloned().unwrap_or_default();
        check(array, level, steps, &first).map_err(|problem| {
            SourceError::format(home.place.display(), format!("dataset '{path}' {problem}: write it again"))
        })?;
        let (dataset, shape) = (array.dataset.clone(), array.shape());
        let found = Found { name: array.name.clone(), path, dataset, shape, channel: array.channel };
        Ok(Self { stored: Stored::new(&home, &found)?, channel: found.channel, home, first })
    }

    /// Reads `bounds`, cells of `patch`, whose values begin at `first`.
    fn read(&self, first: u64, patch: &Box3, bounds: &Box3, out: &mut [f32]) -> Result<(), SourceError> {
        let [nx, ny, _] = patch.size();
        let [width, height, depth] = bounds.size();
        let place = |at: [usize; 3]| {
            let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| at[axis] - patch.lo[axis]);
            (z * ny + y) * nx + x
        };
        let (begin, end) = (place(bounds.lo), place(bounds.hi.map(|hi| hi - 1)) + 1);
        let span = |begin: usize, end: usize| {
            let [begin, end] = [begin, end].map(|at| first as usize + at);
            Box3::new([begin, 0, 0], [end, 1, 1])
        };
        let wanted = out.len();
        if end - begin == wanted {
            return self.stored.read(0, self.channel, &span(begin, end), out);
        }
        let near = NEAR_VALUES.max(2 * wanted).max(2 * self.stored.grain()[0]);
        if end - begin <= near {
            let mut values = vec![0.0; end - begin];
            self.stored.read(0, self.channel, &span(begin, end), &mut values)?;
            for (row, out) in out.chunks_exact_mut(width).enumerate() {
                let at = (row / height * ny + row % height) * nx;
                out.copy_from_slice(&values[at..at + width]);
            }
            return Ok(());
        }
        let axis = if depth > 1 { 2 } else { 1 };
        let layer = wanted / bounds.size()[axis];
        out.chunks_exact_mut(layer).enumerate().try_for_each(|(index, out)| {
            let mut bounds = *bounds;
            bounds.lo[axis] += index;
            bounds.hi[axis] = bounds.lo[axis] + 1;
            self.read(first, patch, &bounds, out)
        })
    }
}

/// Holds the boxes of a level against the length of an array.
fn check(array: &Array, level: &Level, steps: &LevelSteps, first: &[u64]) -> Result<(), String> {
    let mut furthest = 0;
    for (boxes, first) in steps.boxes.iter().zip(first) {
        let cells = level.before[boxes.end] - level.before[boxes.start];
        furthest = furthest.max(first.saturating_add(cells));
    }
    let is_enough = furthest <= array.length as u64;
    // Values of steps may be left out, or be shared.
    let is_all = furthest == array.length as u64 || steps.boxes.len() > 1;
    if is_enough && is_all {
        return Ok(());
    }
    Err(format!("has {} values for {furthest} cells of its boxes", array.length))
}

impl Field {
    /// Reads a part of a patch of a step.
    pub(super) fn read(
        &self,
        levels: &[Level],
        steps: &[LevelSteps],
        step: usize,
        part: &Part,
        out: &mut [f32],
    ) -> Result<(), SourceError> {
        // Only a level with patches has parts of them.
        let Some(line) = &self.levels[part.level] else { return Ok(()) };
        let (level, boxes) = (&levels[part.level], &steps[part.level].boxes[step]);
        let patch = boxes.start + part.patch;
        let first = line.first[step] + level.before[patch] - level.before[boxes.start];
        line.home.witness(&line.stored).during(|| line.read(first, &level.patches[patch], &part.bounds, out))
    }

    /// Samples of a level that are decoded at once where they lie one after the other.
    pub(super) fn grain(&self, level: usize) -> usize {
        self.levels[level].as_ref().map_or(1, |line| line.stored.grain()[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::find::Shape;
    use crate::place::Place;

    /// A line in which each value tells where it is.
    fn line(folder: &std::path::Path, length: usize, chunk: Option<usize>) -> Line {
        let path = folder.join(format!("{chunk:?}.h5"));
        let values: Vec<f32> = (0..length).map(|i| i as f32).collect();
        let file = hdf5_metno::File::create(&path).unwrap();
        let builder = file.new_dataset_builder();
        let builder = if let Some(chunk) = chunk { builder.chunk(chunk).deflate(1) } else { builder };
        let dataset = builder.with_data(&values).create("u").unwrap();
        file.flush().unwrap();
        let home = Home::open(&Place::anywhere(&path)).unwrap();
        let shape = Shape::line(length);
        let found = Found { name: "u".to_owned(), path: "u".to_owned(), dataset, shape, channel: 0 };
        Line { stored: Stored::new(&home, &found).unwrap(), channel: 0, home: Arc::new(home), first: vec![7] }
    }

    #[test]
    fn any_part_of_a_patch_is_cut_out_of_the_line_that_it_is_stored_in() {
        let dir = tempfile::tempdir().unwrap();
        let patch = Box3::new([5, 2, 1], [405, 302, 4]);
        let part = |lo: [usize; 3], hi: [usize; 3]| Box3::new(lo, hi);
        let parts = [
            patch,
            part([5, 2, 2], [405, 302, 3]),
            part([5, 40, 3], [405, 90, 4]),
            part([9, 300, 3], [200, 301, 4]),
            // Few of many values, of which one by one layers and rows are read.
            part([400, 2, 1], [401, 302, 4]),
            part([5, 2, 3], [6, 302, 4]),
            // More of them at once.
            part([6, 3, 1], [404, 301, 4]),
            part([100, 100, 1], [120, 102, 2]),
        ];
        for chunk in [None, Some(1000)] {
            let line = line(dir.path(), 7 + patch.volume() + 5, chunk);
            for bounds in &parts {
                let mut out = vec![0.0; bounds.volume()];
                line.read(7, &patch, bounds, &mut out).unwrap();
                let place = |[x, y, z]: [usize; 3]| 7 + ((z - 1) * 300 + y - 2) * 400 + x - 5;
                let wanted = bounds.bricks([1; 3]).map(|cell| place(cell.lo) as f32);
                assert!(out.into_iter().eq(wanted), "{bounds}, {chunk:?}");
            }
        }
    }
}
