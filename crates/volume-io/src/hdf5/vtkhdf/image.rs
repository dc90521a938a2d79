//! VTKHDF files of the types `ImageData` and `RectilinearGrid`: arrays that belong to the points or to the cells of one grid.
//!
//! Layout: VTKHDF File Format, "ImageData", "Temporal ImageData" and "RectilinearGrid" (docs.vtk.org). The arrays are datasets as in any other HDF5 file;
//! the group tells where they are.

use hdf5_metno::Group;
use visapult_volume::Centering;

use super::components;
use super::contents::{Contents, ROOT, three};
use super::level::{listed, names};
use super::steps;
use crate::axes::Axes;
use crate::coordinates::{Coordinates, Found as Along};
use crate::hdf5::attributes;
use crate::hdf5::find::{self, Found, Shape};
use crate::shape;

/// What `Type` says of a file whose points are the same distance apart.
pub(super) const EVEN: &str = "ImageData";
/// What it says of one whose points have coordinates along each axis.
pub(super) const RECTILINEAR: &str = "RectilinearGrid";
/// What arrays are in, by what they belong to.
pub(super) const GROUPS: [&str; 2] = ["PointData", "CellData"];
/// Datasets of coordinates along x, y, z.
const COORDINATES: [&str; 3] = ["XCoordinates", "YCoordinates", "ZCoordinates"];
/// How far a direction may be off an axis.
const TOLERANCE: f64 = 1e-6;

/// Where the points are, and when.
struct Image {
    /// First and last point along x, y, z.
    extent: [[i64; 2]; 3],
    points: Points,
    /// `None` where the file has no steps.
    times: Option<Vec<f64>>,
}

enum Points {
    Even {
        /// Of point 0, which need not be one of them.
        origin: [f64; 3],
        spacing: [f64; 3],
        /// Whether each axis runs backwards; `None` where they lie between those of space.
        is_backwards: Option<[bool; 3]>,
    },
    /// Coordinates along x, y, z.
    At([Vec<f64>; 3]),
}

/// The arrays that `meant` names below the root and that are fields, and where they are: `meant` is a group or an array in it, or nothing for what there is.
pub(super) fn fields(contents: &Contents<'_>, meant: &str) -> Result<(Vec<Found>, Axes), String> {
    contents.check_version()?;
    let image = Image::of(contents)?;
    let (group, array) = meant.split_once('/').unwrap_or((meant, ""));
    let mut left_out = Vec::new();
    let mut chosen: Option<(&str, Vec<Found>)> = None;
    for of in GROUPS.into_iter().filter(|of| group.is_empty() || *of == group) {
        if chosen.is_some() {
            if !names(contents, of)?.is_empty() {
                left_out.push(format!("{of} (add ':/{ROOT}/{of}' to the file's name)"));
            }
            continue;
        }
        let mut found = Vec::new();
        for name in names(contents, of)?.into_iter().filter(|name| array.is_empty() || name == array) {
            match image.fields(contents, of, &name) {
                Ok(fields) => found.extend(fields),
                Err(problem) => left_out.push(format!("{name} ({problem})")),
            }
        }
        chosen = (!found.is_empty()).then_some((of, found));
    }
    let there = if left_out.is_empty() {
        "it has no arrays".to_owned()
    } else {
        format!("there are {}", listed(left_out.clone()))
    };
    let (of, found) = chosen.ok_or_else(|| {
        let [nx, ny, nz] = image.size("PointData");
        format!("nothing in '{ROOT}/{meant}' is a number for each of its {nx} x {ny} x {nz} points, or for each cell between them: {there}")
    })?;
    let mut axes = image.axes(of);
    if !left_out.is_empty() {
        axes.remarks.push(format!("not read: {}", listed(left_out)));
    }
    Ok((found, Axes::of_all(&[(of.to_owned(), axes)])?))
}

impl Image {
    fn of(contents: &Contents<'_>) -> Result<Self, String> {
        let is_rectilinear = attributes::text(contents.root, "Type").is_some_and(|kind| kind == RECTILINEAR);
        let (extent, points) = if is_rectilinear { coordinates(contents)? } else { even(contents)? };
        Ok(Self { extent, points, times: steps::times(contents)? })
    }

    /// Samples of the arrays of a group: there is one layer of cells where there is one of points.
    fn size(&self, of: &str) -> [usize; 3] {
        self.extent.map(|[first, last]| {
            let apart = usize::try_from(last - first).unwrap_or(usize::MAX);
            if of == "CellData" { apart.max(1) } else { apart.saturating_add(1) }
        })
    }

    /// An array of one number for each point or cell, or the components of one of several, or else what it is.
    fn fields(&self, contents: &Contents<'_>, of: &str, name: &str) -> Result<Vec<Found>, String> {
        let path = format!("{of}/{name}");
        let dataset = contents.dataset(&path)?.ok_or("no array")?;
        find::check_numeric(&dataset)?;
        let size @ [nx, ny, nz] = self.size(of);
        let steps = self.times.as_ref().map(Vec::len);
        let wanted: Vec<usize> = steps.into_iter().chain([nz, ny, nx]).collect();
        let dims = dataset.shape();
        let channels = match dims.strip_prefix(wanted.as_slice()) {
            Some(&[]) => None,
            Some(&[across]) => Some(components::of(across).ok_or_else(|| format!("{across} components"))?),
            _ => return Err(format!("of shape {dims:?}, not {wanted:?}")),
        };
        shape::steps_and_size(&wanted.iter().map(|n| *n as u64).collect::<Vec<_>>())?;
        // Steps of an array may be shared or exchanged.
        let offsets = contents.whole_numbers(&format!("Steps/{of}Offsets/{name}"), 1)?;
        if offsets.is_some_and(|offsets| !offsets.iter().copied().eq(0..wanted[0] as i64)) {
            return Err("its steps are not one after the other".to_owned());
        }
        let shape = Shape::in_order(size, steps.map(|steps| steps as u64));
        let path = format!("{ROOT}/{path}");
        let Some(channels) = channels else {
            return Ok(vec![Found { name: name.to_owned(), path, dataset, shape, channel: 0 }]);
        };
        let shape = shape.with_channels(channels);
        let component = |channel| Found {
            name: components::name_of(name, channel, channels),
            path: path.clone(),
            dataset: dataset.clone(),
            shape: shape.clone(),
            channel,
        };
        Ok((0..channels).map(component).collect())
    }

    /// Where the samples of the arrays of a group are.
    fn axes(&self, of: &str) -> Axes {
        let mut axes = Axes::of_size(self.size(of));
        let is_of_cells = of == "CellData";
        axes.grid.centering = if is_of_cells { Centering::Cell } else { Centering::Point };
        match &self.points {
            Points::Even { origin, spacing, is_backwards: Some(is_backwards) } => {
                for (axis, is_backwards) in is_backwards.iter().enumerate() {
                    let [first, last] = self.extent[axis];
                    let spacing = if *is_backwards { -spacing[axis] } else { spacing[axis] };
                    let centre = if is_of_cells && last > first { 0.5 } else { 0.0 };
                    axes.grid.spacing[axis] = spacing;
                    axes.grid.origin[axis] = origin[axis] + spacing * (first as f64 + centre);
                }
            }
            Points::Even { spacing, is_backwards: None, .. } => {
                axes.grid.spacing = *spacing;
                axes.remarks.push("axes are turned (Direction): each is shown as it is stored, from 0 on".to_owned());
            }
            Points::At(points) => {
                let samples =
                    points.each_ref().map(|points| if is_of_cells { centres(points) } else { points.clone() });
                let told = |axis: usize| {
                    let (name, values) = (COORDINATES[axis].to_owned(), samples[axis].as_slice().into());
                    Along::new(Coordinates { name, unit: String::new(), values, are_downwards: None })
                };
                axes.place(&[0, 1, 2].map(|axis| Some(told(axis))));
                // One sample alone is as wide as its cell.
                for (axis, points) in points.iter().enumerate().filter(|(axis, _)| samples[*axis].len() == 1) {
                    axes.grid.origin[axis] = samples[axis][0];
                    if let [first, last] = points[..] {
                        axes.grid.spacing[axis] = (last - first).abs();
                    }
                }
            }
        }
        axes.times = self.times.as_deref().unwrap_or_default().into();
        axes
    }
}

/// First and last point, and where they are, of a file whose points are the same distance apart.
fn even(contents: &Contents<'_>) -> Result<([[i64; 2]; 3], Points), String> {
    let root = contents.root;
    let numbers: [f64; 6] = whole(root, "WholeExtent").ok_or_else(|| missing("WholeExtent", "six whole numbers"))?;
    let extent = [0, 2, 4].map(|at| [numbers[at] as i64, numbers[at + 1] as i64]);
    if extent.iter().any(|[first, last]| last < first) {
        return Err(format!("its WholeExtent {numbers:?} has no points: write it again"));
    }
    let direction = attributes::values(root, "Direction").unwrap_or_default();
    let points = Points::Even {
        origin: contents.origin()?,
        spacing: three(root, "Spacing").ok_or_else(|| missing("Spacing", "three numbers"))?,
        is_backwards: if direction.is_empty() { Some([false; 3]) } else { backwards(&direction) },
    };
    Ok((extent, points))
}

/// The same of one whose points have coordinates, of which there is one for each along each axis.
fn coordinates(contents: &Contents<'_>) -> Result<([[i64; 2]; 3], Points), String> {
    let size: [f64; 3] =
        whole(contents.root, "Dimensions").ok_or_else(|| missing("Dimensions", "three whole numbers"))?;
    let mut points = <[Vec<f64>; 3]>::default();
    for ((name, count), points) in COORDINATES.into_iter().zip(size).zip(&mut points) {
        *points = contents.numbers(name)?.unwrap_or_default();
        if count < 1.0 || points.len() as f64 != count {
            let there = points.len();
            return Err(format!(
                "its dataset '{ROOT}/{name}' has {there} coordinates, its Dimensions say {count}: grids that change from step to step are not read; else \
                 write it again"
            ));
        }
        if points.iter().any(|point| !point.is_finite()) {
            return Err(format!("its dataset '{ROOT}/{name}' holds what is no number: write it again"));
        }
    }
    Ok((size.map(|count| [0, count as i64 - 1]), Points::At(points)))
}

/// An attribute of so many whole numbers.
fn whole<const N: usize>(root: &Group, name: &str) -> Option<[f64; N]> {
    let numbers: [f64; N] = attributes::values(root, name)?.try_into().ok()?;
    numbers.iter().all(|number| number.fract() == 0.0 && number.abs() < 1e15).then_some(numbers)
}

fn missing(name: &str, what: &str) -> String {
    format!("its group '{ROOT}' has no attribute {name} of {what}: write it again")
}

/// The centres of the cells between points; of one point alone that is where the cell is.
fn centres(points: &[f64]) -> Vec<f64> {
    if points.len() == 1 {
        points.to_vec()
    } else {
        points.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect()
    }
}

/// Whether each axis runs backwards, by a matrix whose columns are the directions of x, y, z.
fn backwards(direction: &[f64]) -> Option<[bool; 3]> {
    let rows = direction.as_chunks::<3>().0;
    let is_along = |axis: usize| (0..3).all(|row| (rows[row][axis].abs() - f64::from(row == axis)).abs() < TOLERANCE);
    (direction.len() == 9 && (0..3).all(is_along)).then(|| std::array::from_fn(|axis| rows[axis][axis] < 0.0))
}
