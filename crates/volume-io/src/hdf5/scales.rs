//! Dimension scales: the coordinates along the axes of datasets.

use hdf5_metno::types::VarLenArray;
use hdf5_metno::{Dataset, LocationToken, ObjectReference1, ReferencedObject};

use super::attributes::{MAX_VALUES, text};
use super::dataset::encoding_of_coordinates;
use super::find::{identity, is_in_file};
use crate::coordinates::{self, Coordinates, Found, MOST_KEPT};

/// What netCDF calls an axis that has a length and no coordinates.
const NO_COORDINATES: &str = "This is a netCDF dimension but not a netCDF variable";

/// Axes of a dataset of which something is told.
pub(super) const MOST_AXES: usize = 16;

/// The coordinates that were read of a file: each scale once, and its values shared by all datasets that it is attached to.
///
/// Invariant: they are `MOST_KEPT` values at most; beyond these no axis has any.
#[derive(Default)]
pub(super) struct Scales {
    known: Vec<((u64, LocationToken), Option<Found>)>,
    kept: usize,
}

impl Scales {
    /// Those of a scale of so many.
    pub(super) fn coordinates(&mut self, scale: &Dataset, count: usize) -> Option<Found> {
        let is_number = text(scale, "NAME").is_none_or(|name| !name.starts_with(NO_COORDINATES));
        let fits = is_number && is_in_file(scale) && scale.shape() == [count] && (1..=MAX_VALUES).contains(&count);
        if fits { self.known_or(scale, count, || read(scale)) } else { None }
    }

    /// So many that are known of an object, else those that are made of it.
    pub(super) fn known_or(
        &mut self,
        object: &Dataset,
        count: usize,
        make: impl FnOnce() -> Option<Found>,
    ) -> Option<Found> {
        let object = identity(&object.loc_info().ok()?);
        if let Some((_, found)) = self.known.iter().find(|(known, _)| *known == object) {
            return found.clone();
        }
        self.kept = Some(self.kept + count).filter(|kept| *kept <= MOST_KEPT)?;
        let found = make();
        self.known.push((object, found.clone()));
        found
    }
}

fn read(scale: &Dataset) -> Option<Found> {
    let encoding = encoding_of_coordinates(scale)?;
    let values = scale.read_raw::<f64>().ok()?.into_iter().map(|value| encoding.wide_value_of(value)).collect();
    let unit = text(scale, "units").unwrap_or_default();
    let are_downwards = coordinates::are_downwards(&text(scale, "positive").unwrap_or_default(), &unit);
    Some(Found::new(Coordinates { name: name_of(scale), unit, values, are_downwards }))
}

/// The first scale attached to each axis (HDF5 Dimension Scale Specification, attribute `DIMENSION_LIST`).
pub(super) fn scales(dataset: &Dataset) -> Option<Vec<Option<Dataset>>> {
    let list = dataset.attr("DIMENSION_LIST").ok()?;
    if list.size() > MOST_AXES {
        return None;
    }
    let references = list.read_raw::<VarLenArray<ObjectReference1>>().ok()?;
    let scale = |references: &VarLenArray<ObjectReference1>| match dataset.dereference(references.first()?) {
        Ok(ReferencedObject::Dataset(scale)) => Some(scale),
        _ => None,
    };
    Some(references.iter().map(scale).collect())
}

pub(super) fn name_of(scale: &Dataset) -> String {
    scale.name().rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hdf5_metno::File;

    use super::*;

    #[test]
    fn a_scale_is_read_once_and_no_more_are_kept_than_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join("scales.h5")).unwrap();
        let scale = |name: &str| file.new_dataset::<f64>().shape(MAX_VALUES).chunk(MAX_VALUES).create(name).unwrap();
        scale("first");
        let mut known = Scales::default();
        let mut read = |name: &str| known.coordinates(&file.dataset(name).unwrap(), MAX_VALUES);
        let [one, other] = [read("first"), read("first")].map(|found| found.unwrap().coordinates.values);
        assert!(Arc::ptr_eq(&one, &other));
        let kept = (1..20).filter(|number| {
            let name = format!("scale {number}");
            scale(&name);
            read(&name).is_some()
        });
        assert_eq!(kept.count() + 1, MOST_KEPT / MAX_VALUES);
        assert!(read("first").is_some() && read("scale 19").is_none());
    }
}
