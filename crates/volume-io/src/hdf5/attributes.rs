//! What attributes and dimension scales say about a dataset: spacing, origin, units, times, missing values.

use hdf5_metno::types::{FixedAscii, FixedUnicode, TypeDescriptor, VarLenArray, VarLenAscii, VarLenUnicode};
use hdf5_metno::{Dataset, Location, ObjectReference1, ReferencedObject};
use visapult_volume::Grid;

use super::dataset::encoding;
use super::find::{Shape, is_in_file};
use super::order;
use crate::axes::{self, Axes};
use crate::coordinates::{self, Along, Coordinates, centering_of};
use crate::roles::Role;
use crate::shape;

/// Longest attribute or axis that is read, in values.
const MAX_VALUES: usize = 1 << 20;
/// What netCDF calls an axis that has a length and no coordinates.
const NO_COORDINATES: &str = "This is a netCDF dimension but not a netCDF variable";
/// Longest text that is read, in bytes.
const MAX_TEXT: usize = 1024;

/// Reads what is known of a dataset's axes; attributes win over dimension scales.
pub(super) fn axes(dataset: &Dataset, shape: &Shape) -> Result<Axes, String> {
    let mut axes = from_scales(dataset, shape);
    if ["element_size_um", "spacing"].iter().any(|name| numbers::<3>(dataset, name).is_some()) {
        axes.grid = Grid::of_size(shape.size);
        axes.remarks.clear();
    }
    if let Some(zyx) = numbers::<3>(dataset, "element_size_um") {
        axes.grid.spacing = [zyx[2], zyx[1], zyx[0]];
        axes.grid.unit = "um".to_owned();
    }
    if let Some(spacing) = numbers::<3>(dataset, "spacing") {
        axes.grid.spacing = spacing;
    }
    if let Some(origin) = numbers::<3>(dataset, "origin") {
        axes.grid.origin = origin;
    }
    if let Some(unit) = text(dataset, "spacing_unit") {
        axes.grid.unit = unit;
    }
    if let Some(told) = text(dataset, "centering").and_then(|told| centering_of(&told)) {
        axes.grid.centering = told;
    }
    if let Some(times) = values(dataset, "times") {
        if times.len() as u64 != shape.steps {
            return Err(format!("its attribute 'times' has {} values for {} steps", times.len(), shape.steps));
        }
        axes.times = times;
    }
    if let Some(unit) = text(dataset, "time_unit") {
        axes.time_unit = unit;
    }
    if shape.has_steps() && axes.times.is_empty() && !names_axes(dataset) {
        let [nx, ny, nz] = shape.size.map(|n| n as u64);
        axes.remarks.extend(shape::doubt(&[shape.steps, nz, ny, nx]));
    }
    axes.remarks.extend(order::remark(dataset, shape.roles()));
    let is_unread = |name: &str| dataset.attr(name).is_ok() && numbers::<3>(dataset, name).is_none();
    axes.remarks.extend(axes::three_numbers(&["element_size_um", "spacing", "origin"], is_unread));
    Ok(axes)
}

fn names_axes(dataset: &Dataset) -> bool {
    dataset.attr("DIMENSION_LABELS").is_ok() || scales(dataset).is_some_and(|scales| scales.iter().any(Option::is_some))
}

/// Whether a dataset is an axis of others.
pub(super) fn is_scale(dataset: &Dataset) -> bool {
    text(dataset, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE")
}

/// The first number of an attribute.
pub(super) fn number(location: &Location, name: &str) -> Option<f64> {
    values(location, name)?.first().copied()
}

fn numbers<const N: usize>(location: &Location, name: &str) -> Option<[f64; N]> {
    values(location, name)?.try_into().ok()
}

/// Whether an attribute's numbers are whole by their type.
pub(super) fn is_whole(location: &Location, name: &str) -> bool {
    let kind = location.attr(name).and_then(|attribute| attribute.dtype()?.to_descriptor());
    matches!(kind, Ok(TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_)))
}

pub(super) fn values(location: &Location, name: &str) -> Option<Vec<f64>> {
    let attribute = location.attr(name).ok()?;
    let kind = attribute.dtype().and_then(|dtype| dtype.to_descriptor()).ok()?;
    let numeric = matches!(kind, TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_) | TypeDescriptor::Float(_));
    (numeric && attribute.size() <= MAX_VALUES).then(|| attribute.read_raw::<f64>().ok())?
}

/// The text of an attribute that has one.
pub(super) fn text(location: &Location, name: &str) -> Option<String> {
    let [text] = texts(location, name)?.try_into().ok()?;
    Some(text)
}

/// The texts of an attribute that has no more than a dataset has axes.
pub(super) fn texts(location: &Location, name: &str) -> Option<Vec<String>> {
    let attribute = location.attr(name).ok().filter(|attribute| attribute.size() <= 4)?;
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT)]);
        text.trim_end_matches('\0').trim().chars().filter(|c| !c.is_control()).collect()
    };
    Some(match attribute.dtype().ok()?.to_descriptor().ok()? {
        TypeDescriptor::FixedAscii(n) if n <= MAX_TEXT => {
            let read = attribute.read_raw::<FixedAscii<MAX_TEXT>>().ok()?;
            read.iter().map(|text| shown(text.as_bytes())).collect()
        }
        TypeDescriptor::FixedUnicode(n) if n <= MAX_TEXT => {
            let read = attribute.read_raw::<FixedUnicode<MAX_TEXT>>().ok()?;
            read.iter().map(|text| shown(text.as_bytes())).collect()
        }
        TypeDescriptor::VarLenAscii => {
            attribute.read_raw::<VarLenAscii>().ok()?.iter().map(|text| shown(text.as_bytes())).collect()
        }
        TypeDescriptor::VarLenUnicode => {
            attribute.read_raw::<VarLenUnicode>().ok()?.iter().map(|text| shown(text.as_bytes())).collect()
        }
        _ => return None,
    })
}

fn from_scales(dataset: &Dataset, shape: &Shape) -> Axes {
    let mut axes = Axes::of_size(shape.size);
    let scales = scales(dataset).unwrap_or_default();
    let scale = |role| scales.get(shape.place(role)?)?.as_ref();
    let of_axis = |axis: usize| coordinates(scale(Role::Space(axis))?, shape.size[axis]);
    let told = std::array::from_fn(of_axis);
    axes.along = Along::of(&told);
    axes.remarks = coordinates::place(told, &mut axes.grid);
    let steps = usize::try_from(shape.steps).unwrap_or(usize::MAX);
    if let Some(scale) = scale(Role::Step)
        && let Some(times) = coordinates(scale, steps)
    {
        (axes.times, axes.time_unit) = (times.values, times.unit);
        axes.calendar = text(scale, "calendar").unwrap_or_default();
    }
    axes
}

/// The first scale attached to each axis (HDF5 Dimension Scale Specification, attribute `DIMENSION_LIST`).
pub(super) fn scales(dataset: &Dataset) -> Option<Vec<Option<Dataset>>> {
    let list = dataset.attr("DIMENSION_LIST").ok()?;
    if list.size() > 4 {
        return None;
    }
    let references = list.read_raw::<VarLenArray<ObjectReference1>>().ok()?;
    let scale = |references: &VarLenArray<ObjectReference1>| match dataset.dereference(references.first()?) {
        Ok(ReferencedObject::Dataset(scale)) => Some(scale),
        _ => None,
    };
    Some(references.iter().map(scale).collect())
}

fn coordinates(scale: &Dataset, count: usize) -> Option<Coordinates> {
    let is_number = text(scale, "NAME").is_none_or(|name| !name.starts_with(NO_COORDINATES));
    let fits = is_number && is_in_file(scale) && scale.shape() == [count] && count <= MAX_VALUES;
    let mut values = fits.then(|| scale.read_raw::<f64>().ok())??;
    let encoding = encoding(scale)?.of_coordinates();
    values.iter_mut().for_each(|value| *value = encoding.wide_value_of(*value));
    let unit = text(scale, "units").unwrap_or_default();
    let are_downwards = coordinates::are_downwards(&text(scale, "positive").unwrap_or_default(), &unit);
    Some(Coordinates { name: name_of(scale), unit, values, are_downwards })
}

pub(super) fn name_of(scale: &Dataset) -> String {
    scale.name().rsplit('/').next().unwrap_or_default().to_owned()
}
