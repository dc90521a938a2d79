//! What is in the group of a VTKHDF file, by path.
//!
//! Invariant: nothing is read of which the file, compressed as far as can be, is too short to hold what it claims to be.

use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, File, Group, LocationType};

use crate::hdf5::find::{self, Reach};
use crate::hdf5::{attributes, one_line};

/// The group of what belongs to VTK.
pub(super) const ROOT: &str = "VTKHDF";
/// Numbers in one array of boxes or of steps.
const MOST_NUMBERS: usize = 6 << 20;
/// Deflate makes nothing shorter than by this.
const MOST_SHRUNK: u64 = 1032;

/// The group, and how far links in it may lead.
pub(super) struct Contents<'a> {
    pub(super) file: &'a File,
    pub(super) root: &'a Group,
    pub(super) reach: &'a Reach,
    /// Bytes of the file.
    pub(super) length: u64,
}

impl Contents<'_> {
    /// Holds the version of the format against what is known.
    pub(super) fn check_version(&self) -> Result<(), String> {
        let version = attributes::values(self.root, "Version").unwrap_or_default();
        if version.first().is_some_and(|major| [1.0, 2.0].contains(major)) {
            return Ok(());
        }
        Err(format!("its group '{ROOT}' has the Version {version:?}: 1.x and 2.x are known; write it as one of those"))
    }

    /// Where cell 0 of every level begins.
    pub(super) fn origin(&self) -> Result<[f64; 3], String> {
        let missing = || format!("its group '{ROOT}' has no attribute Origin of three numbers: write it again");
        three(self.root, "Origin").ok_or_else(missing)
    }

    /// The group at a path in the root, if there is one.
    pub(super) fn group(&self, path: &str) -> Result<Option<Group>, String> {
        self.check_way(path)?;
        if !matches!(self.root.loc_type_by_name(path), Ok(LocationType::Group)) {
            return Ok(None);
        }
        self.root.group(path).map(Some).map_err(|e| format!("group '{ROOT}/{path}': {}", one_line(&e)))
    }

    /// The dataset at a path in the root, if there is one.
    pub(super) fn dataset(&self, path: &str) -> Result<Option<Dataset>, String> {
        self.check_way(path)?;
        if !matches!(self.root.loc_type_by_name(path), Ok(LocationType::Dataset)) {
            return Ok(None);
        }
        let wrong = |problem: String| format!("dataset '{ROOT}/{path}': {problem}");
        let dataset = self.root.dataset(path).map_err(|e| wrong(one_line(&e)))?;
        self.reach.check(&dataset).map_err(wrong)?;
        Ok(Some(dataset))
    }

    /// The numbers of the dataset at a path in the root, `columns` in a row; none if it is not there.
    pub(super) fn whole_numbers(&self, path: &str, columns: usize) -> Result<Option<Vec<i64>>, String> {
        let Some(dataset) = self.dataset(path)? else { return Ok(None) };
        let wrong = |problem: String| format!("dataset '{ROOT}/{path}' {problem}");
        let shape = dataset.shape();
        let fits = match *shape.as_slice() {
            [_] => columns == 1,
            [_, across] => columns == across,
            _ => false,
        };
        let kind = dataset.dtype().and_then(|dtype| dtype.to_descriptor());
        if !fits || !matches!(kind, Ok(TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_))) {
            let needed = format!("whole numbers are needed, {columns} in a row: write it again");
            let kind = kind.map_or_else(|_| "an unknown type".to_owned(), |kind| kind.to_string());
            return Err(wrong(format!("has the shape {shape:?} of {kind}; {needed}")));
        }
        self.check_length(&dataset).map_err(wrong)?;
        dataset.read_raw::<i64>().map(Some).map_err(|e| wrong(format!("cannot be read: {}", one_line(&e))))
    }

    /// The numbers of the dataset at a path in the root; none if it is not there.
    pub(super) fn numbers(&self, path: &str) -> Result<Option<Vec<f64>>, String> {
        let Some(dataset) = self.dataset(path)? else { return Ok(None) };
        let wrong = |problem: String| format!("dataset '{ROOT}/{path}' {problem}");
        find::check_numeric(&dataset).map_err(wrong)?;
        self.check_length(&dataset).map_err(wrong)?;
        dataset.read_raw::<f64>().map(Some).map_err(|e| wrong(format!("cannot be read: {}", one_line(&e))))
    }

    fn check_length(&self, dataset: &Dataset) -> Result<(), String> {
        let numbers = dataset.shape().iter().fold(1, |n: usize, &edge| n.saturating_mul(edge));
        let in_other_files = !find::is_in_file(dataset);
        if numbers <= MOST_NUMBERS && (in_other_files || numbers as u64 / MOST_SHRUNK <= self.length) {
            return Ok(());
        }
        Err(format!(
            "claims {numbers} numbers, which are too many or not there: the file is damaged, or too finely cut"
        ))
    }

    fn check_way(&self, path: &str) -> Result<(), String> {
        if self.reach.is_file_alone() { find::check_way(self.file, &format!("{ROOT}/{path}")) } else { Ok(()) }
    }
}

/// An attribute of three numbers that are finite.
pub(super) fn three(group: &Group, name: &str) -> Option<[f64; 3]> {
    let numbers: [f64; 3] = attributes::values(group, name)?.try_into().ok()?;
    numbers.iter().all(|number| number.is_finite()).then_some(numbers)
}
