//! Which datasets of a file are fields.

use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, File, Group, LocationType};

use super::attributes;
use crate::shape;

/// Groups inside groups that are searched.
const MAX_DEPTH: usize = 16;
/// Objects that are looked at before a name is asked for.
const MAX_OBJECTS: usize = 20_000;
/// Names listed in a message.
const MAX_LISTED: usize = 8;

/// Steps and samples of a dataset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) steps: u64,
    pub(super) size: [usize; 3],
    /// Whether the dataset has an axis of steps.
    pub(super) has_step_axis: bool,
}

impl Shape {
    fn of(dataset: &Dataset) -> Result<Self, String> {
        let dims: Vec<u64> = dataset.shape().into_iter().map(|n| n as u64).collect();
        let (steps, size) = shape::steps_and_size(&dims)?;
        Ok(Self { steps, size, has_step_axis: dims.len() == 4 })
    }
}

/// A dataset that is a field.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) dataset: Dataset,
    pub(super) shape: Shape,
}

/// The dataset at `inside`, or all of one shape in the group there.
pub(super) fn datasets(file: &File, inside: Option<&str>) -> Result<Vec<Found>, String> {
    let wanted = inside.unwrap_or("/").trim_matches('/');
    if wanted.is_empty() {
        return fields_of(file, "");
    }
    match file.loc_type_by_name(wanted) {
        Ok(LocationType::Dataset) => {
            let dataset = file.dataset(wanted).map_err(|e| format!("dataset '{wanted}': {}", super::one_line(&e)))?;
            let refuse = |problem| format!("dataset '{wanted}' is no field: {problem}");
            check_numeric(&dataset).map_err(refuse)?;
            let shape = Shape::of(&dataset).map_err(refuse)?;
            Ok(vec![Found { name: last_part(wanted), path: wanted.to_owned(), dataset, shape }])
        }
        Ok(LocationType::Group) => {
            let group = file.group(wanted).map_err(|e| format!("group '{wanted}': {}", super::one_line(&e)))?;
            fields_of(&group, wanted)
        }
        _ => {
            let there: Vec<_> = candidates(file, "").map(|found| found.iter().map(describe).collect())?;
            Err(format!("there is no dataset '{wanted}' in it; {}", listed(&there)))
        }
    }
}

fn fields_of(group: &Group, path: &str) -> Result<Vec<Found>, String> {
    let mut found = candidates(group, path)?;
    let Some(first) = found.first() else {
        return Err("it has no dataset of numbers with 3 axes, or 4 with steps: name another file or group".to_owned());
    };
    if found.iter().any(|other| other.shape != first.shape) {
        let names: Vec<_> = found.iter().map(describe).collect();
        return Err(format!(
            "its datasets differ in shape: add ':/' and one of their names to the file's; {}",
            listed(&names)
        ));
    }
    let names: Vec<String> = found.iter().map(|field| last_part(&field.path)).collect();
    let unique = (1..names.len()).all(|i| !names[..i].contains(&names[i]));
    for (field, name) in found.iter_mut().zip(names) {
        field.name = if unique { name } else { field.path.clone() };
    }
    Ok(found)
}

fn candidates(group: &Group, path: &str) -> Result<Vec<Found>, String> {
    let mut search = Search { seen: 0, found: Vec::new() };
    search.group(group, path, 0)?;
    Ok(search.found)
}

struct Search {
    seen: usize,
    found: Vec<Found>,
}

impl Search {
    fn group(&mut self, group: &Group, path: &str, depth: usize) -> Result<(), String> {
        let names = group.member_names().map_err(|e| format!("group '/{path}': {}", super::one_line(&e)))?;
        for name in names {
            self.seen += 1;
            if self.seen > MAX_OBJECTS || depth > MAX_DEPTH {
                return Err("it holds too many objects to choose from: add ':/' and a dataset's name".to_owned());
            }
            let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            // Links that lead nowhere are passed over.
            match group.loc_type_by_name(&name) {
                Ok(LocationType::Group) => {
                    if let Ok(inner) = group.group(&name) {
                        self.group(&inner, &path, depth + 1)?;
                    }
                }
                Ok(LocationType::Dataset) => {
                    if let Ok(dataset) = group.dataset(&name) {
                        self.dataset(dataset, path);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn dataset(&mut self, dataset: Dataset, path: String) {
        if check_numeric(&dataset).is_err() || attributes::is_scale(&dataset) {
            return;
        }
        if let Ok(shape) = Shape::of(&dataset) {
            self.found.push(Found { name: String::new(), path, dataset, shape });
        }
    }
}

fn check_numeric(dataset: &Dataset) -> Result<(), String> {
    let kind = dataset.dtype().and_then(|dtype| dtype.to_descriptor());
    match kind {
        Ok(TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_)) => Ok(()),
        Ok(TypeDescriptor::Float(_) | TypeDescriptor::Boolean) => Ok(()),
        Ok(TypeDescriptor::Compound(_)) => {
            Err("its values are compounds, such as complex numbers: save one part".to_owned())
        }
        Ok(other) => Err(format!("its values are {other}, not numbers")),
        Err(e) => Err(format!("its type is not understood: {}", super::one_line(&e))),
    }
}

fn last_part(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

fn describe(found: &Found) -> String {
    let [nx, ny, nz] = found.shape.size;
    format!("{} ({nx} x {ny} x {nz}, {} steps)", found.path, found.shape.steps)
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "it holds no field".to_owned(),
        _ if names.len() > MAX_LISTED => format!("there are {}, ...", names[..MAX_LISTED].join(", ")),
        _ => format!("there are {}", names.join(", ")),
    }
}
