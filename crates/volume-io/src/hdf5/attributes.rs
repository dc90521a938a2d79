//! What attributes say about a dataset: spacing, origin, units, times, missing values.

use hdf5_metno::types::{FixedAscii, FixedUnicode, TypeDescriptor, VarLenAscii, VarLenUnicode};
use hdf5_metno::{Dataset, Location};
use visapult_volume::Centering;
use visapult_volume::Grid;

use super::find::Shape;
use super::order;
use super::scales::{MOST_AXES, Scales, scales};
use super::wrf;
use crate::axes::{self, Axes};
use crate::roles::Role;
use crate::shape;

/// Longest attribute or axis that is read, in values.
pub(super) const MAX_VALUES: usize = 1 << 20;
/// Longest text that is read, in bytes.
const MAX_TEXT: usize = 1024;

/// Reads what is known of a dataset's axes; attributes win over dimension scales.
pub(super) fn axes(dataset: &Dataset, shape: &Shape, known: &mut Scales) -> Result<Axes, String> {
    let mut axes = Axes::of_size(shape.size);
    let attached = scales(dataset).unwrap_or_default();
    let scale = |role| attached.get(shape.place(role)?)?.as_ref();
    let told = std::array::from_fn(|axis| {
        let (scale, count) = (scale(Role::Space(axis))?, shape.size[axis]);
        known.coordinates(scale, count).or_else(|| wrf::along(scale, count, known))
    });
    let trial = axes.place(&told);
    let steps = usize::try_from(shape.steps).unwrap_or(usize::MAX);
    if let Some(scale) = scale(Role::Step) {
        let own = known.coordinates(scale, steps).map(|found| (found, text(scale, "calendar").unwrap_or_default()));
        if let Some((found, calendar)) = own.or_else(|| wrf::times(scale, steps, known)) {
            (axes.times, axes.time_unit) = (found.coordinates.values, found.coordinates.unit);
            axes.calendar = calendar;
        }
    }
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
    if let Some(told) = text(dataset, "centering").and_then(|told| Centering::named(&told)) {
        (axes.grid.centering, axes.tells_centering) = (told, true);
    }
    axes.settle(&trial);
    if let Some(times) = values(dataset, "times") {
        if times.len() as u64 != shape.steps {
            return Err(format!("its attribute 'times' has {} values for {} steps", times.len(), shape.steps));
        }
        axes.times = times.into();
        axes.time_unit.clear();
        axes.calendar.clear();
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
    let dtype = attribute.dtype().ok()?;
    let numeric = match dtype.to_descriptor() {
        Ok(kind) => matches!(kind, TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_) | TypeDescriptor::Float(_)),
        // Such as C's `long double`.
        Err(_) => dtype.conv_to::<f64>().is_some(),
    };
    (numeric && attribute.size() <= MAX_VALUES).then(|| attribute.read_raw::<f64>().ok())?
}

/// The text of an attribute that has one.
pub(super) fn text(location: &Location, name: &str) -> Option<String> {
    let [text] = texts(location, name)?.try_into().ok()?;
    Some(text)
}

/// The texts of an attribute that has no more than a dataset has axes.
pub(super) fn texts(location: &Location, name: &str) -> Option<Vec<String>> {
    let attribute = location.attr(name).ok().filter(|attribute| attribute.size() <= MOST_AXES)?;
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
