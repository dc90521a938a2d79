//! Bare numbers in a file, described by a JSON sidecar beside it.

use std::fs::File;
use std::path::Path;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use visapult_volume::{Centering, FieldInfo, Grid, Reversed, ScalarType};

use crate::flat::{FlatArray, FlatSource, Layout};
use crate::place::Place;
use crate::scalar::{ByteOrder, Encoding};
use crate::witness::Witness;
use crate::{SourceError, SourceInfo, outside, shape};

/// Longest sidecar that is read: one time per step fits for 100 000 steps.
const MAX_SIDECAR: u64 = 4 << 20;

/// The sidecar's members, as written in `docs/src/formats.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sidecar {
    file: String,
    #[serde(deserialize_with = "size")]
    size: [usize; 3],
    #[serde(rename = "type", deserialize_with = "scalar_type")]
    scalar: ScalarType,
    #[serde(default)]
    byte_order: Order,
    #[serde(default)]
    header_bytes: u64,
    #[serde(default = "one")]
    steps: u64,
    #[serde(default)]
    times: Vec<f64>,
    #[serde(default)]
    time_unit: String,
    #[serde(default = "unit_spacing")]
    spacing: [f64; 3],
    #[serde(default)]
    origin: [f64; 3],
    #[serde(default)]
    unit: String,
    #[serde(default)]
    centering: CellOrPoint,
    field: Option<String>,
    #[serde(default)]
    value_unit: String,
    fill: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Little,
    Big,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CellOrPoint {
    #[default]
    Point,
    Cell,
}

fn scalar_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ScalarType, D::Error> {
    let name = String::deserialize(deserializer)?;
    ScalarType::of_name(&name).ok_or_else(|| {
        let known = ScalarType::ALL.map(|known| known.to_string()).join(", ");
        D::Error::custom(format!("type {name:?} is none of {known}"))
    })
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[usize; 3], D::Error> {
    let size = Vec::deserialize(deserializer)?;
    <[usize; 3]>::try_from(size).map_err(|size| {
        D::Error::custom(format!(
            "size has {} numbers, not those of samples along x, y, z alone: steps are a member of their own",
            size.len()
        ))
    })
}

fn one() -> u64 {
    1
}

fn unit_spacing() -> [f64; 3] {
    [1.0; 3]
}

/// Opens the raw file that the sidecar at `path` describes.
pub(crate) fn open(place: &Place) -> Result<FlatSource<File>, SourceError> {
    let wrong = |problem: String| SourceError::format(place.display(), problem);
    let text = shape::read_small(place, MAX_SIDECAR)?;
    let sidecar: Sidecar = serde_json::from_slice(&text)
        .map_err(|e| wrong(format!("it does not describe a raw file: {e}; see the page on formats")))?;
    sidecar.check().map_err(wrong)?;
    let grid = sidecar.grid();
    grid.validate().map_err(|e| wrong(e.to_string()))?;
    let layout = Layout::x_fastest(sidecar.size, sidecar.steps)
        .ok_or_else(|| wrong(format!("size {:?} in {} steps is too large to address", sidecar.size, sidecar.steps)))?;

    let raw = place.beside(&sidecar.file);
    let (file, length) = raw.open().map_err(|e| match e {
        SourceError::Io { path, cause } => wrong(format!("its file {path} cannot be read ({cause}): correct file")),
        other => other,
    })?;
    let witness = Witness::fixed(&raw, &file)?;
    let encoding = sidecar.encoding();
    let shown = raw.display();
    let array = FlatArray::new(shown.clone(), file, length, sidecar.header_bytes, encoding, layout)?;
    let beyond = length - array.end();
    if beyond > 0 {
        let problem = format!(
            "it has {beyond} bytes more than {} describes: correct size, type, steps or header_bytes",
            place.display()
        );
        return Err(SourceError::format(shown, problem));
    }
    let real = if place.is_confined() { None } else { raw.shown().canonicalize().ok() };
    let outside = outside::of(place.shown(), &real);
    Ok(FlatSource::new(sidecar.info(place.shown(), grid), array, Reversed::default(), witness).outside(outside))
}

impl Sidecar {
    fn check(&self) -> Result<(), String> {
        if self.steps == 0 {
            return Err("steps is 0: a file holds at least one step".to_owned());
        }
        if !self.times.is_empty() && self.times.len() as u64 != self.steps {
            return Err(format!("times has {} values, steps is {}: give one per step", self.times.len(), self.steps));
        }
        Ok(())
    }

    fn grid(&self) -> Grid {
        let centering = match self.centering {
            CellOrPoint::Point => Centering::Point,
            CellOrPoint::Cell => Centering::Cell,
        };
        Grid { size: self.size, spacing: self.spacing, origin: self.origin, unit: self.unit.clone(), centering }
    }

    fn encoding(&self) -> Encoding {
        let order = match self.byte_order {
            Order::Little => ByteOrder::Little,
            Order::Big => ByteOrder::Big,
        };
        Encoding { fills: self.fill.into_iter().collect(), ..Encoding::plain(self.scalar, order) }
    }

    fn info(self, path: &Path, grid: Grid) -> SourceInfo {
        let name = self.field.unwrap_or_else(|| shape::file_stem(path));
        SourceInfo {
            name: shape::file_name(path),
            format: "raw with JSON sidecar".to_owned(),
            levels: vec![grid],
            fields: vec![FieldInfo { name, unit: self.value_unit, scalar_type: self.scalar, declared_range: None }],
            times: self.times,
            time_unit: self.time_unit,
            calendar: String::new(),
            along: Default::default(),
            live: false,
        }
    }
}
