//! What a level is in the file: the size of its cells, its boxes, its arrays.

use hdf5_metno::{Dataset, LinkType};

use super::components;
use super::contents::{Contents, ROOT, three};
use crate::hdf5::find::{self, Shape};

/// Levels that are read.
const MAX_LEVELS: usize = 32;
/// Names of arrays that are repeated in a message.
const MAX_LISTED: usize = 8;
/// Characters of each.
const MAX_REPEATED: usize = 60;
/// Marks cells that a finer level covers, or that another process has: it is no field.
const GHOSTS: &str = "vtkGhostType";

/// A level as it is stored.
pub(super) struct StoredLevel {
    /// Edges of a cell.
    pub(super) spacing: [f64; 3],
    /// First and last cell along each axis (i, i, j, j, k, k), of all steps.
    pub(super) boxes: Vec<[i64; 6]>,
    /// Arrays of one number for each cell.
    pub(super) arrays: Vec<Array>,
    /// Names of the others, and what they are.
    pub(super) left_out: Vec<String>,
}

/// Values of cells, box after box: one for each cell, or one of several.
pub(super) struct Array {
    pub(super) name: String,
    pub(super) dataset: Dataset,
    /// Cells.
    pub(super) length: usize,
    /// Which of the values of each cell.
    pub(super) channel: u64,
    /// Values of each cell, where they have an axis of their own.
    channels: Option<u64>,
}

impl Array {
    /// What it is called as a field.
    pub(super) fn field(&self) -> String {
        self.channels.map_or_else(|| self.name.clone(), |all| components::name_of(&self.name, self.channel, all))
    }

    pub(super) fn shape(&self) -> Shape {
        let line = Shape::line(self.length);
        if let Some(channels) = self.channels { line.with_channels(channels) } else { line }
    }
}

impl StoredLevel {
    /// All levels, coarsest first.
    pub(super) fn all(contents: &Contents<'_>) -> Result<Vec<Self>, String> {
        let mut levels = Vec::new();
        while let Some(level) = Self::of(contents, levels.len())? {
            levels.push(level);
            if levels.len() > MAX_LEVELS {
                return Err(format!("it has more than {MAX_LEVELS} levels: that is taken for damage"));
            }
        }
        if levels.is_empty() { Err(format!("it has no group '{ROOT}/Level0': write it again")) } else { Ok(levels) }
    }

    fn of(contents: &Contents<'_>, number: usize) -> Result<Option<Self>, String> {
        let path = format!("Level{number}");
        let Some(group) = contents.group(&path)? else { return Ok(None) };
        let Some(spacing) = three(&group, "Spacing") else {
            return Err(format!("its group '{ROOT}/{path}' has no attribute Spacing of three numbers: write it again"));
        };
        let Some(rows) = contents.whole_numbers(&format!("{path}/AMRBox"), 6)? else {
            return Err(format!("its group '{ROOT}/{path}' has no dataset AMRBox: write it again"));
        };
        let boxes = rows.as_chunks::<6>().0.to_vec();
        let mut level = Self { spacing, boxes, arrays: Vec::new(), left_out: Vec::new() };
        level.find_arrays(contents, &format!("{path}/CellData"))?;
        Ok(Some(level))
    }

    fn find_arrays(&mut self, contents: &Contents<'_>, path: &str) -> Result<(), String> {
        for name in names(contents, path)? {
            let Ok(Some(dataset)) = contents.dataset(&format!("{path}/{name}")) else { continue };
            let shape = dataset.shape();
            match (find::check_numeric(&dataset), shape.as_slice()) {
                (Ok(()), &[length]) => {
                    self.arrays.push(Array { name, dataset, length, channel: 0, channels: None });
                }
                (Ok(()), &[length, across]) => match components::of(across) {
                    Some(channels) => self.arrays.extend((0..channels).map(|channel| {
                        let (name, dataset) = (name.clone(), dataset.clone());
                        Array { name, dataset, length, channel, channels: Some(channels) }
                    })),
                    None => self.left_out.push(format!("{name} ({across} components)")),
                },
                (Ok(()), _) => self.left_out.push(format!("{name} ({} axes)", shape.len())),
                (Err(problem), _) => self.left_out.push(format!("{name} ({problem})")),
            }
        }
        Ok(())
    }
}

/// Names of the arrays of a group, if it is there.
pub(super) fn names(contents: &Contents<'_>, path: &str) -> Result<Vec<String>, String> {
    let Some(group) = contents.group(path)? else { return Ok(Vec::new()) };
    let links = find::links(&group).map_err(|problem| format!("group '{ROOT}/{path}': {problem}"))?;
    let within =
        links.into_iter().filter(|(_, link)| !contents.reach.is_file_alone() || link.link_type == LinkType::Hard);
    Ok(within.map(|(name, _)| name).filter(|name| name != GHOSTS).collect())
}

/// What is told of what is not read.
pub(super) fn remarks(levels: &[StoredLevel]) -> Vec<String> {
    let left_out: Vec<_> = levels.iter().flat_map(|level| &level.left_out).cloned().collect();
    if left_out.is_empty() { Vec::new() } else { vec![format!("not read: {}", listed(left_out))] }
}

/// Why there is no field.
pub(super) fn no_field(contents: &Contents<'_>, levels: &[StoredLevel]) -> String {
    let left_out: Vec<_> = levels.iter().flat_map(|level| &level.left_out).cloned().collect();
    if !left_out.is_empty() {
        let problem = "its cell values are not one number for each cell: save what is to be seen as arrays of its own";
        return format!("{problem}; there are {}", listed(left_out));
    }
    match names(contents, "Level0/PointData") {
        Ok(names) if !names.is_empty() => {
            let problem =
                "its PointData belong to points, and cells are needed: make it those (Point Data to Cell Data)";
            format!("{problem}; there are {}", listed(names))
        }
        _ => format!("it has no values of cells: there is nothing in '{ROOT}/Level0/CellData'"),
    }
}

/// Some of these names, each once.
pub(super) fn listed(mut names: Vec<String>) -> String {
    for name in &mut names {
        *name = name.chars().filter(|c| !c.is_control()).take(MAX_REPEATED).collect();
    }
    names.sort();
    names.dedup();
    let more = if names.len() > MAX_LISTED { ", ..." } else { "" };
    names.truncate(MAX_LISTED);
    names.join(", ") + more
}
