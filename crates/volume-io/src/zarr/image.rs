//! OME-Zarr images: axes, levels, scales and channels (OME-NGFF specification, versions 0.4 and 0.5).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use visapult_volume::{FieldInfo, Grid};

use super::array::Stored;
use super::attributes::Attributes;
use super::{Content, Field, Node};
use crate::coordinates::Along;
use crate::roles::Role;
use crate::shape;

/// Levels that are read.
const MAX_LEVELS: usize = 32;
/// Channels that are read.
const MAX_CHANNELS: u64 = 256;

/// One image, at several resolutions.
#[derive(Debug, Deserialize)]
pub(super) struct Multiscale {
    #[serde(default)]
    name: Option<String>,
    axes: Vec<Axis>,
    datasets: Vec<Dataset>,
    #[serde(default, rename = "coordinateTransformations")]
    transforms: Vec<Transform>,
    #[serde(skip)]
    labels: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Axis {
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    unit: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Dataset {
    path: String,
    #[serde(default, rename = "coordinateTransformations")]
    transforms: Vec<Transform>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", tag = "type")]
enum Transform {
    Scale {
        scale: Vec<f64>,
    },
    Translation {
        translation: Vec<f64>,
    },
    #[serde(other)]
    Other,
}

/// Whether a group is a collection of images as Bio-Formats writes it.
pub(super) fn is_collection(attributes: &Attributes) -> bool {
    has(attributes, "bioformats2raw.layout")
}

/// Whether a group is a plate of wells, each with images.
pub(super) fn is_plate(attributes: &Attributes) -> bool {
    has(attributes, "plate")
}

/// Whether OME's attributes have a member: those of a group, up to version 0.4, or their member `ome`.
fn has(attributes: &Attributes, member: &str) -> bool {
    let of_version_5 = attributes.get("ome").and_then(Value::as_object);
    [Some(attributes), of_version_5].into_iter().flatten().any(|found| found.contains_key(member))
}

impl Multiscale {
    /// The first image that a group's attributes describe, if they describe one.
    pub(super) fn find(attributes: &Attributes) -> Result<Option<Self>, String> {
        let ome = attributes.get("ome").and_then(Value::as_object).unwrap_or(attributes);
        let Some(first) = ome.get("multiscales").and_then(|list| list.get(0)) else { return Ok(None) };
        let mut image = Self::deserialize(first)
            .map_err(|e| format!("its OME metadata is not understood: {e}; versions 0.4 and 0.5 are read"))?;
        let channels = ome.get("omero").and_then(|omero| omero.get("channels")).and_then(Value::as_array);
        let label = |channel: &Value| channel.get("label").and_then(Value::as_str).unwrap_or_default().to_owned();
        image.labels = channels.map(|channels| channels.iter().map(label).collect()).unwrap_or_default();
        Ok(Some(image))
    }

    /// Opens the levels, each at its path below `base`.
    pub(super) fn content(&self, node: &Node<'_>, base: &str) -> Result<Content, String> {
        if self.datasets.is_empty() {
            return Err("its OME metadata lists no dataset".to_owned());
        }
        let roles = self.roles()?;
        let mut grids = Vec::new();
        let mut levels: Vec<Arc<Stored>> = Vec::new();
        let places: Vec<_> = self.datasets.iter().take(MAX_LEVELS).map(|one| format!("{base}{}", one.path)).collect();
        node.store.ready(&places.iter().map(String::as_str).collect::<Vec<_>>()).map_err(|e| e.to_string())?;
        for dataset in self.datasets.iter().take(MAX_LEVELS) {
            let inside = format!("{base}{}", dataset.path);
            if dataset.path.split('/').any(|part| part == "..") {
                return Err(format!("its OME metadata names a dataset outside of it: {}", dataset.path));
            }
            let shown = node.store.join(&inside).shown().display().to_string();
            let in_level = |problem| format!("level '{}': {problem}", dataset.path);
            let stored = Stored::new(shown, node.array(&inside)?, roles.clone()).map_err(in_level)?;
            let extent = |stored: &Stored| (stored.steps(), stored.channels(), stored.scalar());
            if levels.first().is_some_and(|first| extent(first) != extent(&stored)) {
                return Err(format!("level '{}' has other steps, channels or values than the first", dataset.path));
            }
            grids.push(self.grid(&stored, dataset, &roles));
            levels.push(Arc::new(stored));
        }
        let remarks = self.place_in_units(&roles, &mut grids);
        let along = if remarks.is_empty() { Default::default() } else { [const { Along::Unknown }; 3] };
        let (times, time_unit) = self.times(levels[0].steps(), &roles);
        let fields = self.fields(node, &levels)?;
        Ok(Content { kind: "OME-Zarr image", grids, fields, times, time_unit, calendar: String::new(), along, remarks })
    }

    fn roles(&self) -> Result<Vec<Role>, String> {
        let by_name = |axis: &Axis| Role::of_name(&axis.name);
        let is_named_as_space = |axis: &Axis| matches!(by_name(axis), Some(Role::Space(_)));
        let is_space = |axis: &Axis| axis.kind == "space" || (axis.kind.is_empty() && is_named_as_space(axis));
        let are_named = self.axes.iter().filter(|axis| is_space(axis)).all(is_named_as_space);
        let mut space = self.axes.iter().filter(|axis| is_space(axis)).count();
        if !(2..=3).contains(&space) {
            return Err(format!("its OME metadata names {space} axes of space: 3 are needed, or 2"));
        }
        let mut roles = Vec::new();
        for axis in &self.axes {
            let role = match axis.kind.as_str() {
                _ if is_space(axis) => {
                    space -= 1;
                    by_name(axis).filter(|_| are_named).unwrap_or(Role::Space(space))
                }
                "time" => Role::Step,
                "channel" => Role::Channel,
                "" if axis.name == "t" => Role::Step,
                "" if axis.name == "c" => Role::Channel,
                _ => return Err(format!("its OME metadata has an axis '{}' that is not t, c, z, y or x", axis.name)),
            };
            if roles.contains(&role) {
                return Err(format!("its OME metadata has a second axis like '{}'", axis.name));
            }
            roles.push(role);
        }
        Ok(roles)
    }

    /// Scale and shift along the axis of `role`: those of the level, then those of the whole image.
    fn transform(&self, dataset: &Dataset, roles: &[Role], role: Role) -> (f64, f64) {
        let (mut scale, mut shift) = (1.0, 0.0);
        let Some(axis) = roles.iter().position(|r| *r == role) else { return (scale, shift) };
        for transform in dataset.transforms.iter().chain(&self.transforms) {
            match transform {
                Transform::Scale { scale: factors } => {
                    let factor = factors.get(axis).copied().unwrap_or(1.0);
                    scale *= factor;
                    shift *= factor;
                }
                Transform::Translation { translation } => shift += translation.get(axis).copied().unwrap_or(0.0),
                Transform::Other => {}
            }
        }
        (scale, shift)
    }

    fn grid(&self, stored: &Stored, dataset: &Dataset, roles: &[Role]) -> Grid {
        let mut grid = Grid::of_size(stored.size());
        for axis in 0..3 {
            (grid.spacing[axis], grid.origin[axis]) = self.transform(dataset, roles, Role::Space(axis));
        }
        grid
    }

    /// Gives the grids the unit of the axes; where these have different ones, distances cannot be compared, and those of the first level are 1.
    fn place_in_units(&self, roles: &[Role], grids: &mut [Grid]) -> Vec<String> {
        let mut units: Vec<_> = (0..3).map(|axis| self.unit(roles, Role::Space(axis))).collect();
        units.retain(|unit| !unit.is_empty());
        units.dedup();
        if let [] | [_] = units.as_slice() {
            let unit = units.pop().unwrap_or_default();
            grids.iter_mut().for_each(|grid| grid.unit.clone_from(&unit));
            return Vec::new();
        }
        let first = grids[0].spacing;
        for grid in grids {
            grid.spacing = std::array::from_fn(|axis| grid.spacing[axis] / first[axis].abs());
            grid.origin = [0.0; 3];
        }
        vec![format!("scales in different units ({}) not used: spacing 1", units.join(", "))]
    }

    fn times(&self, steps: u64, roles: &[Role]) -> (Vec<f64>, String) {
        let unit = self.unit(roles, Role::Step);
        let (scale, shift) = self.transform(&self.datasets[0], roles, Role::Step);
        let tells_nothing = unit.is_empty() && (scale, shift) == (1.0, 0.0);
        if !(2..=1 << 20).contains(&steps) || tells_nothing {
            return (Vec::new(), String::new());
        }
        ((0..steps).map(|step| shift + step as f64 * scale).collect(), unit)
    }

    /// The axis's unit, by its symbol where that is common.
    fn unit(&self, roles: &[Role], role: Role) -> String {
        let axis = roles.iter().position(|r| *r == role).and_then(|axis| self.axes.get(axis));
        let unit = axis.and_then(|axis| axis.unit.as_deref()).unwrap_or_default();
        match unit {
            "angstrom" => "\u{c5}",
            "nanometer" => "nm",
            "micrometer" => "um",
            "millimeter" => "mm",
            "centimeter" => "cm",
            "meter" => "m",
            "kilometer" => "km",
            "nanosecond" => "ns",
            "microsecond" => "us",
            "millisecond" => "ms",
            "second" => "s",
            "minute" => "min",
            "hour" => "h",
            other => other,
        }
        .to_owned()
    }

    fn fields(&self, node: &Node<'_>, levels: &[Arc<Stored>]) -> Result<Vec<Field>, String> {
        let channels = levels[0].channels();
        if channels > MAX_CHANNELS {
            return Err(format!("it has {channels} channels, at most {MAX_CHANNELS} are read"));
        }
        let image = self.name.clone().unwrap_or_else(|| shape::file_stem(&node.store.shown()));
        let name = |channel: u64| match self.labels.get(channel as usize) {
            Some(label) if !label.is_empty() => label.clone(),
            _ if channels == 1 => image.clone(),
            _ => format!("channel {channel}"),
        };
        let field = |channel| Field {
            info: FieldInfo {
                name: name(channel),
                unit: String::new(),
                scalar_type: levels[0].scalar(),
                declared_range: None,
            },
            levels: levels.to_vec(),
            channel,
        };
        Ok((0..channels).map(field).collect())
    }
}
