//! VTKHDF files: of the type `OverlappingAMR`, cell values on levels of boxes, as one grid for each level; and `ImageData` and `RectilinearGrid`, one grid
//! (`image`). Others, whose arrays lie on no grid, are refused.
//!
//! Layout: VTKHDF File Format, "Overlapping AMR" and "Temporal OverlappingAMR" (docs.vtk.org). Values between levels are made by [`crate::amr`].

mod components;
mod contents;
mod domain;
mod image;
mod level;
mod steps;
mod values;

use std::path::PathBuf;
use std::sync::Arc;

use hdf5_metno::{File, Group};
use visapult_volume::StepSpan;

use super::attributes;
use super::find::{self, Found, Reach};
use super::home::{Home, Homes};
use crate::axes::{Axes, remarked};
use crate::coordinates::cut;
use crate::{ReadRequest, Source, SourceError, SourceInfo, amr, outside, shape};
use contents::{Contents, ROOT};
use domain::Level;
use level::StoredLevel;
use steps::{LevelSteps, Steps};
use values::Field;

/// What `Type` says of refined cells.
const TYPE: &str = "OverlappingAMR";

/// An open file of adaptively refined cells.
pub(super) struct Overlapping {
    info: SourceInfo,
    /// Coarsest first, other than in `info`.
    levels: Vec<Level>,
    steps: Vec<LevelSteps>,
    span: StepSpan,
    fields: Vec<Field>,
    outside: Vec<PathBuf>,
}

/// The group of a file, by what is in it.
pub(super) enum Root {
    /// Adaptively refined cells.
    Overlapping(Group),
    /// One grid, of which what is named below the group is meant.
    Image(Group, String),
    /// What is not read: its `Type`.
    Other(String),
}

/// The group that `inside` names, or something in it, or that the file holds if it names nothing.
pub(super) fn root(file: &File, inside: Option<&str>, reach: &Reach) -> Option<Root> {
    let inside = inside.unwrap_or_default().trim_matches('/');
    let (first, below) = inside.split_once('/').unwrap_or((inside, ""));
    let is_meant = first.is_empty() || first == ROOT;
    if !is_meant || (reach.is_file_alone() && find::check_way(file, ROOT).is_err()) {
        return None;
    }
    let group = file.group(ROOT).ok()?;
    let is_of_image = below.is_empty() || image::GROUPS.contains(&below.split('/').next().unwrap_or_default());
    match attributes::text(&group, "Type")?.as_str() {
        TYPE if below.is_empty() => Some(Root::Overlapping(group)),
        image::EVEN | image::RECTILINEAR if is_of_image => Some(Root::Image(group, below.to_owned())),
        TYPE | image::EVEN | image::RECTILINEAR => None,
        other => Some(Root::Other(other.to_owned())),
    }
}

/// Why what `Type` names so is not read.
pub(super) fn unread(kind: &str) -> String {
    let kind = cut(kind);
    let (what, way) = match kind.as_str() {
        "UnstructuredGrid" | "PolyData" | "StructuredGrid" | "HyperTreeGrid" => {
            ("meshes are not read", "resample it to an image (ParaView: Resample To Image)")
        }
        "MultiBlockDataSet" | "PartitionedDataSetCollection" => (
            "files of several grids are not read",
            "save one of them, or resample all to an image (ParaView: Resample To Image)",
        ),
        _ => ("that is not read", "save it as ImageData, RectilinearGrid or OverlappingAMR"),
    };
    format!("it is a VTKHDF {kind}: {what}; {way}")
}

/// The fields of an image that `meant` names below `root`, a group of `file` of so many bytes, and where they are.
pub(super) fn image_fields(
    file: &File,
    root: &Group,
    meant: &str,
    reach: &Reach,
    length: u64,
) -> Result<(Vec<Found>, Axes), String> {
    image::fields(&Contents { file, root, reach, length }, meant)
}

/// What a file of one grid is called.
pub(super) fn kind_of_image(root: &Group) -> &'static str {
    let is_rectilinear = attributes::text(root, "Type").is_some_and(|kind| kind == image::RECTILINEAR);
    if is_rectilinear { "VTKHDF, rectilinear grid" } else { "VTKHDF, image" }
}

impl Overlapping {
    /// Opens `root`, a group of `file`, which lies at `home`.
    pub(super) fn open(file: &File, root: &Group, home: Arc<Home>, reach: &Reach) -> Result<Self, SourceError> {
        let place = home.place.clone();
        let wrong = |problem: String| SourceError::format(place.display(), problem);
        let contents = Contents { file, root, reach, length: home.length };
        contents.check_version().map_err(wrong)?;
        let origin = contents.origin().map_err(wrong)?;
        let stored = StoredLevel::all(&contents).map_err(wrong)?;
        let steps = Steps::of(&contents, &stored).map_err(wrong)?;
        let levels = domain::placed(origin, &stored).map_err(wrong)?;
        let fields = values::fields(&contents, &stored, &steps, &levels, &mut Homes::new(file, home))?;
        let patches = steps.patches();
        let outside = reach.outside(&place);
        let remarks: Vec<_> = level::remarks(&stored).into_iter().chain(outside::remark(&outside)).collect();
        let info = SourceInfo {
            name: shape::file_name(place.shown()),
            format: remarked(described(levels.len(), &patches), &remarks),
            levels: levels.iter().rev().map(|level| level.grid.clone()).collect(),
            fields: fields.iter().map(|field| field.info.clone()).collect(),
            times: steps.times,
            time_unit: String::new(),
            calendar: String::new(),
            along: Default::default(),
            live: false,
        };
        let span = StepSpan { first: 0, last: patches.len().saturating_sub(1) as u64 };
        Ok(Self { info, levels, steps: steps.levels, span, fields, outside })
    }

    /// The level that sources count from the finest one.
    fn level(&self, from_finest: usize) -> usize {
        self.levels.len() - 1 - from_finest
    }
}

/// The format of so many levels, and of these numbers of patches in each step: VTK calls them blocks.
fn described(levels: usize, patches: &[usize]) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (least, most) = (patches.iter().min().copied().unwrap_or(0), patches.iter().max().copied().unwrap_or(0));
    let least = if least < most { format!("{least} to ") } else { String::new() };
    format!("VTKHDF, overlapping AMR, {}, {least}{}", counted(levels, "level"), counted(most, "block"))
}

impl Source for Overlapping {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.span
    }

    fn outside(&self) -> Vec<PathBuf> {
        self.outside.clone()
    }

    /// Samples in one cell of the coarser level are made from the same few values; and what is compressed together is decoded together.
    fn grain(&self, field: usize, level: usize) -> [usize; 3] {
        let level = self.level(level);
        let edge = (self.fields[field].grain(level) as f64).cbrt() as usize;
        self.levels[level].ratio.map(|ratio| ratio.max(edge))
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.span, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        let step = request.step as usize;
        let up_to = self.level(request.level);
        let levels: Vec<_> = self.levels[..=up_to]
            .iter()
            .zip(&self.steps)
            .map(|(level, steps)| {
                let patches = &level.patches[steps.boxes[step].clone()];
                amr::Level { size: level.grid.size, ratio: level.ratio, patches }
            })
            .collect();
        let field = &self.fields[request.field];
        amr::compose(&levels, &request.bounds, out, |part, out| field.read(&self.levels, &self.steps, step, part, out))
    }
}
