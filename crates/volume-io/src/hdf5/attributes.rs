//! What attributes and dimension scales say about a dataset: spacing, origin, units, times, missing values.

use hdf5_metno::types::{FixedAscii, FixedUnicode, TypeDescriptor, VarLenArray, VarLenAscii, VarLenUnicode};
use hdf5_metno::{Attribute, Dataset, Location, ObjectReference1, ReferencedObject};
use visapult_volume::Grid;

use super::find::{Shape, is_in_file};
use crate::axes::Axes;
use crate::coordinates::{self, Coordinates};
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
    if let Some(times) = values(dataset, "times") {
        if times.len() as u64 != shape.steps {
            return Err(format!("its attribute 'times' has {} values for {} steps", times.len(), shape.steps));
        }
        axes.times = times;
    }
    if let Some(unit) = text(dataset, "time_unit") {
        axes.time_unit = unit;
    }
    if shape.has_step_axis && axes.times.is_empty() && !names_axes(dataset) {
        let [nx, ny, nz] = shape.size.map(|n| n as u64);
        axes.remarks.extend(shape::doubt(&[shape.steps, nz, ny, nx]));
    }
    axes.remarks.extend(order_doubt(dataset, shape));
    Ok(axes)
}

/// What to say where the names of scales contradict the order in which axes are taken.
fn order_doubt(dataset: &Dataset, shape: &Shape) -> Option<String> {
    let names: Vec<_> = scales(dataset)?.iter().map(|scale| scale.as_ref().map(name_of)).collect();
    let last = dataset.ndim().checked_sub(1).filter(|last| names.len() == last + 1)?;
    let is_step = |place: usize| shape.has_step_axis && place == 0;
    let is_other = |(place, name): (usize, &Option<String>)| {
        let Some(name) = name else { return false };
        if coordinates::names_steps(name) {
            return !is_step(place);
        }
        coordinates::names_space(name).is_some_and(|axis| is_step(place) || axis != last - place)
    };
    names.iter().enumerate().any(is_other).then(|| {
        let named: Vec<_> = names.iter().map(|name| coordinates::cut(name.as_deref().unwrap_or("?"))).collect();
        let axis = |place: usize| ["x", "y", "z"].get(last - place).copied().unwrap_or("steps");
        let taken: Vec<_> = (0..=last).map(|place| if is_step(place) { "steps" } else { axis(place) }).collect();
        format!(
            "axes {} are taken as {}, whatever they are called: store them in that order",
            named.join(", "),
            taken.join(", ")
        )
    })
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

/// The first text of an attribute.
pub(super) fn text(location: &Location, name: &str) -> Option<String> {
    let attribute = location.attr(name).ok()?;
    if attribute.size() != 1 {
        return None;
    }
    let bytes = text_bytes(&attribute)?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_end_matches('\0').trim().chars().filter(|c| !c.is_control()).collect())
}

fn text_bytes(attribute: &Attribute) -> Option<Vec<u8>> {
    match attribute.dtype().ok()?.to_descriptor().ok()? {
        TypeDescriptor::FixedAscii(n) if n <= MAX_TEXT => {
            Some(attribute.read_raw::<FixedAscii<MAX_TEXT>>().ok()?.first()?.as_bytes().to_vec())
        }
        TypeDescriptor::FixedUnicode(n) if n <= MAX_TEXT => {
            Some(attribute.read_raw::<FixedUnicode<MAX_TEXT>>().ok()?.first()?.as_bytes().to_vec())
        }
        TypeDescriptor::VarLenAscii => {
            Some(attribute.read_raw::<VarLenAscii>().ok()?.first()?.as_bytes().iter().take(MAX_TEXT).copied().collect())
        }
        TypeDescriptor::VarLenUnicode => Some(
            attribute.read_raw::<VarLenUnicode>().ok()?.first()?.as_bytes().iter().take(MAX_TEXT).copied().collect(),
        ),
        _ => None,
    }
}

/// Whether the first axis of a dataset is time by its scale.
pub(super) fn begins_with_time(dataset: &Dataset) -> bool {
    let scales = scales(dataset).unwrap_or_default();
    let Some(Some(scale)) = scales.first() else { return false };
    let unit = text(scale, "units").unwrap_or_default();
    coordinates::names_steps(&name_of(scale)) || coordinates::is_since_a_date(&unit)
}

fn from_scales(dataset: &Dataset, shape: &Shape) -> Axes {
    let mut axes = Axes::of_size(shape.size);
    let scales = scales(dataset).unwrap_or_default();
    let first_of_space = usize::from(shape.has_step_axis);
    // Datasets list z, y, x in the end; steps of images have no z.
    let of_axis = |axis: usize| {
        let place = dataset.ndim().checked_sub(1 + axis).filter(|place| *place >= first_of_space)?;
        coordinates(scales.get(place)?.as_ref()?, shape.size[axis])
    };
    axes.remarks = coordinates::place(std::array::from_fn(of_axis), &mut axes.grid);
    if let (true, Some(Some(scale))) = (shape.has_step_axis, scales.first())
        && let Some(times) = coordinates(scale, usize::try_from(shape.steps).unwrap_or(usize::MAX))
    {
        (axes.times, axes.time_unit) = (times.values, times.unit);
    }
    axes
}

/// The first scale attached to each axis (HDF5 Dimension Scale Specification, attribute `DIMENSION_LIST`).
fn scales(dataset: &Dataset) -> Option<Vec<Option<Dataset>>> {
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
    let (slope, intercept) = (number(scale, "scale_factor").unwrap_or(1.0), number(scale, "add_offset").unwrap_or(0.0));
    values.iter_mut().for_each(|value| *value = *value * slope + intercept);
    Some(Coordinates { name: name_of(scale), unit: text(scale, "units").unwrap_or_default(), values })
}

fn name_of(scale: &Dataset) -> String {
    scale.name().rsplit('/').next().unwrap_or_default().to_owned()
}
