//! What a source holds, in words and as JSON.

use std::fmt;

use serde::Serialize;
use visapult_publish::along::told_along;
use visapult_publish::messages::AlongAxis;
use visapult_volume::{FieldInfo, ScalarType, StepSpan, ValueRange};
use visapult_volume_io::{Choice, Vector, vectors_of};

use crate::config::BackEndConfig;
use crate::dates::date_words;
use crate::device::Device;
use crate::error::PipelineError;
use crate::flow::Watch;
use crate::opening::open_alike;
use crate::survey::survey;
use crate::wire::GridShape;

/// Lines of shapes and fields to choose from, and fields of one shape.
const MOST_LISTED: usize = 100;
const MOST_OF_A_SHAPE: usize = 40;

/// What `visapult info` tells.
#[derive(Debug, Serialize)]
pub struct SourceReport {
    /// File or simulation.
    pub name: String,
    /// Format in a few words.
    pub format: String,
    /// Grids of the levels stored, finest first.
    pub levels: Vec<GridShape>,
    /// Edge lengths of the finest grid's box, in its unit.
    pub edges: [f64; 3],
    /// Where samples lie along x, y, z, as the source has it; none where the grid says as much, or it is not known.
    pub along: [Option<AlongAxis>; 3],
    /// Fields.
    pub fields: Vec<FieldReport>,
    /// Magnitudes of vectors, which can be shown like fields.
    pub magnitudes: Vec<MagnitudeReport>,
    /// Oldest and newest readable step.
    pub steps: [u64; 2],
    /// Time of each step, or none.
    pub times: Vec<f64>,
    /// Time of the step that was looked at, of what runs and tells those of steps one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Unit of `times`.
    pub time_unit: String,
    /// Calendar in which that counts, as netCDF calls it; empty where none is told.
    pub calendar: String,
    /// Whether steps keep coming.
    pub live: bool,
}

/// What `visapult info` tells of a source that holds fields of several shapes.
#[derive(Debug, Serialize)]
pub struct ChoiceReport<'a> {
    /// What is to be chosen from.
    #[serde(flatten)]
    pub choice: &'a Choice,
    /// One of them, as it is opened.
    pub example: String,
}

impl<'a> ChoiceReport<'a> {
    /// Of what a source gives to choose from.
    #[must_use]
    pub fn of(choice: &'a Choice) -> Self {
        Self { choice, example: choice.example() }
    }
}

impl fmt::Display for ChoiceReport<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choice { source, shapes, .. } = self.choice;
        let count = self.choice.count();
        writeln!(out, "{source}: {count} fields of {} shapes, of which those of one are shown together", shapes.len())?;
        let mut left = MOST_LISTED;
        for alike in shapes {
            if left < 2 {
                break;
            }
            writeln!(out, "{alike}:")?;
            left -= 1;
            // Shapes that come later are not crowded out.
            let most = alike.fields.len().min(left).min(MOST_OF_A_SHAPE);
            for field in &alike.fields[..most] {
                writeln!(out, "  {}", field.replace('\n', " "))?;
            }
            left -= most;
            let more = alike.fields.len() - most;
            if more > 0 {
                writeln!(out, "  and {more} more (--json lists all)")?;
            }
        }
        write!(out, "name one: visapult info {}", self.example)
    }
}

/// What `visapult info` tells of a field.
#[derive(Debug, Serialize)]
pub struct FieldReport {
    /// Name as the source gives it.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// How the source stores the values.
    pub scalar_type: String,
    /// Range declared for all steps, or that of the values looked at.
    pub range: Option<[f32; 2]>,
    /// Values among those looked at that are missing.
    pub missing: u64,
    /// Values among those looked at that are infinite, or beyond what single precision holds: they are shown as missing.
    pub infinite: u64,
    /// Values that single precision tells apart within the range, at most, where they are few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_apart: Option<u32>,
    /// Why pictures do not hold the values, where they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfit: Option<&'static str>,
    /// First and last of the steps that were looked at.
    pub steps: [u64; 2],
    /// What was looked at of them: a stored level, 0 being the finest.
    pub level: usize,
    /// The share of that level's values, up to 1.
    pub share: f64,
}

/// What it tells of a vector.
#[derive(Debug, Serialize)]
pub struct MagnitudeReport {
    /// Of its magnitude, as of a field.
    pub name: String,
    /// Names of the fields that it is made of.
    pub components: Vec<String>,
}

impl MagnitudeReport {
    fn all(fields: &[FieldInfo]) -> Vec<Self> {
        let names = |vector: &Vector| vector.components.iter().map(|&field| fields[field].name.clone()).collect();
        let told = |vector: Vector| Self { components: names(&vector), name: vector.magnitude };
        vectors_of(fields).into_iter().map(told).collect()
    }
}

impl SourceReport {
    /// Opens `source`, and looks through the steps of every field for its range; of what is large, and of what runs or comes over a flow, through the
    /// first, of what is very large through a coarser level or a part.
    ///
    /// # Errors
    /// [`PipelineError`] if it cannot be opened, or a field cannot be read.
    pub fn of(source: &str) -> Result<Self, PipelineError> {
        let config = BackEndConfig { source: source.to_owned(), pes: 1, threads: 0, device: Device::Cpu, crew: None };
        let opened = open_alike(Watch::All, &config)?;
        let source = opened.source;
        let info = source.info();
        let steps = source.steps();
        let is_at_rest = opened.handle.is_none() && !info.live;
        let wanted = if is_at_rest { steps } else { StepSpan { last: steps.first, ..steps } };
        let fields = (0..info.fields.len()).map(|field| {
            let known = &info.fields[field];
            let seen = survey(source.as_ref(), field, wanted)?;
            let range = known.declared_range.or(seen.range);
            Ok(FieldReport {
                name: known.name.clone(),
                unit: known.unit.clone(),
                scalar_type: known.scalar_type.to_string(),
                range: range.map(|ValueRange { lo, hi }| [lo, hi]),
                missing: seen.missing,
                infinite: seen.infinite,
                unfit: range.and_then(|range| range.unfit()),
                told_apart: range.and_then(|range| told_apart(known.scalar_type, range)),
                steps: [seen.steps.first, seen.steps.last],
                level: seen.level,
                share: seen.share,
            })
        });
        let fields = fields.collect::<Result<_, PipelineError>>()?;
        Ok(Self {
            name: info.name.clone(),
            format: info.format.clone(),
            levels: info.levels.iter().map(GridShape::from).collect(),
            edges: info.grid().edges(),
            along: told_along(info.grid(), &info.along),
            fields,
            magnitudes: MagnitudeReport::all(&info.fields),
            steps: [steps.first, steps.last],
            times: info.times.clone(),
            // It came with the step.
            time: source.time_of(wanted.first).filter(|time| info.times.is_empty() && time.is_finite()),
            time_unit: info.time_unit.clone(),
            calendar: info.calendar.clone(),
            live: info.live,
        })
    }
}

impl fmt::Display for SourceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.format)?;
        for (level, grid) in self.levels.iter().enumerate() {
            let [nx, ny, nz] = grid.size;
            let [dx, dy, dz] = grid.spacing;
            let [x, y, z] = grid.origin;
            let unit = unit_suffix(&grid.unit);
            writeln!(f, "  level {level}  {nx} x {ny} x {nz} {} samples", grid.centering)?;
            let [dx, dy, dz, x, y, z] = [dx, dy, dz, x, y, z].map(short);
            writeln!(f, "           spacing {dx} x {dy} x {dz}{unit}, origin ({x}, {y}, {z}){unit}")?;
        }
        let [ex, ey, ez] = self.edges.map(short);
        writeln!(f, "  box      {ex} x {ey} x {ez}{}", unit_suffix(&self.levels[0].unit))?;
        for (axis, along) in ["x", "y", "z"].into_iter().zip(&self.along) {
            let Some(AlongAxis { name, unit, values, .. }) = along else { continue };
            let [first, last] = [values[0], values[values.len() - 1]].map(short);
            writeln!(f, "  along {axis}  {name} {first} to {last}{}", unit_suffix(unit))?;
        }
        for field in &self.fields {
            write!(f, "  field    {} ({}), ", field.name, field.scalar_type)?;
            match field.range {
                Some([lo, hi]) => write!(f, "{} to {}{}", readable(lo), readable(hi), unit_suffix(&field.unit))?,
                None => write!(f, "no finite value")?,
            }
            if field.missing > 0 {
                write!(f, ", {} missing", counted(field.missing))?;
            }
            if field.infinite > 0 {
                write!(f, ", {} infinite in single precision (shown as missing)", counted(field.infinite))?;
            }
            if let Some(unfit) = field.unfit {
                write!(f, ", {unfit}")?;
            } else if let Some(count) = field.told_apart {
                write!(f, ", {}", flattened(count))?;
            }
            writeln!(f, "{}", field.looked_at(self.steps))?;
        }
        for MagnitudeReport { name, components } in &self.magnitudes {
            writeln!(f, "  made     {name}, the magnitude of {}", components.join(", "))?;
        }
        let [first, last] = self.steps;
        let live = if self.live { ", more coming" } else { "" };
        write!(f, "  steps    {first} to {last}{live}")?;
        let date = |time: &f64| date_words(*time, &self.time_unit, &self.calendar);
        let of_calendar = if self.calendar.is_empty() { String::new() } else { format!(" ({})", self.calendar) };
        if let (Some(from), Some(to)) = (self.times.first(), self.times.last()) {
            write!(f, ", times {} to {}{}", whole(*from), whole(*to), unit_suffix(&self.time_unit))?;
            match (date(from), date(to)) {
                (Some(from), Some(to)) => write!(f, ": {from} to {to}")?,
                _ => write!(f, "{of_calendar}")?,
            }
        }
        if let Some(time) = &self.time {
            let told = date(time).map_or_else(|| of_calendar, |date| format!(": {date}"));
            write!(f, ", step {first} at {}{}{told}", whole(*time), unit_suffix(&self.time_unit))?;
        }
        if let Some((step, time)) = first_out_of_order(&self.times) {
            write!(f, "; out of order: step {step} has time {time} (steps are shown as they are stored)")?;
        }
        Ok(())
    }
}

impl FieldReport {
    /// What was looked at, where that is not all of the source's `steps`.
    fn looked_at(&self, steps: [u64; 2]) -> String {
        let step = (self.steps != steps).then(|| format!("step {}", self.steps[0]));
        let part = match (self.level, self.share) {
            (0, 1.0) => None,
            (level, 1.0) => Some(format!("level {level}")),
            (level, share) => Some(format!("{} % of level {level}", short(share * 100.0))),
        };
        let words: Vec<String> = step.into_iter().chain(part).collect();
        if words.is_empty() { String::new() } else { format!(" (looked at: {})", words.join(", ")) }
    }
}

/// How many values single precision tells apart in a range, at most, if it is so few that one sees it: of more exact ones that are stored, and of those
/// that are mixed from them. Of what is one value here, it may have been more where values are rounded when they are read.
pub(crate) fn told_apart(stored: ScalarType, range: ValueRange) -> Option<u32> {
    const FEW: f64 = 256.0;
    /// Single precision has all whole numbers below.
    const WHOLE_TO: f32 = 16_777_216.0;
    let largest = range.lo.abs().max(range.hi.abs());
    let may_be_rounded = match stored {
        ScalarType::F64 => true,
        ScalarType::I64 | ScalarType::U64 | ScalarType::I32 | ScalarType::U32 => largest >= WHOLE_TO,
        _ => false,
    };
    let apart = f64::from(largest) - f64::from(largest.next_down());
    let count = ((f64::from(range.hi) - f64::from(range.lo)) / apart).round() + 1.0;
    let is_told = largest > 0.0 && if range.lo == range.hi { may_be_rounded } else { count < FEW };
    is_told.then_some(count as u32)
}

/// What single precision makes of values that share so much, in words to be shown.
pub(crate) fn flattened(count: u32) -> String {
    if count == 1 {
        "all the same in single precision: subtract what they share, if they differ".to_owned()
    } else {
        format!("so alike that single precision tells {count} apart: subtract what they share")
    }
}

/// The first step of which the time is no number, or before that of the step before.
fn first_out_of_order(times: &[f64]) -> Option<(usize, f64)> {
    let is_wrong = |step: &usize| times[*step].is_nan() || (*step > 0 && times[*step] < times[*step - 1]);
    (0..times.len()).find(is_wrong).map(|step| (step, times[step]))
}

/// A number to six significant digits, as people write it.
fn short(value: f64) -> String {
    whole(format!("{value:.5e}").parse().unwrap_or(value))
}

/// A number with all of its digits; small ones with a power of ten.
fn whole(value: f64) -> String {
    if value == 0.0 || value.abs() >= 1e-4 { value.to_string() } else { format!("{value:e}") }
}

fn unit_suffix(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

fn counted(values: u64) -> String {
    format!("{values} value{}", if values == 1 { "" } else { "s" })
}

/// A value with all of its digits, in as many places as one can read.
pub(crate) fn readable(value: f32) -> String {
    let has_few_places = value == 0.0 || (1e-4..1e9).contains(&value.abs());
    if has_few_places { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_single_precision_makes_one_of_many_values_is_told() {
        let of = |stored, lo, hi| told_apart(stored, ValueRange { lo, hi });
        // Neighbours are 1/128 apart there, and 64 there.
        assert_eq!(of(ScalarType::F64, 101_325.0, 101_325.05), Some(7));
        assert_eq!(of(ScalarType::I64, -1e9, -1e9 + 128.0), Some(3));
        assert_eq!(of(ScalarType::F64, 1e9, 1e9), Some(1));
        assert_eq!(of(ScalarType::F64, 101_325.0, 101_330.0), None);
        assert_eq!(of(ScalarType::F64, -1.0, 1.0), None);
        assert_eq!(of(ScalarType::I32, 0.0, 7.0), None);
        assert_eq!(of(ScalarType::I32, 93.0, 93.0), None);
        assert_eq!(of(ScalarType::I32, -2e7, -2e7), Some(1));
        assert_eq!(of(ScalarType::F64, 0.0, 0.0), None);
        assert_eq!(of(ScalarType::U8, 254.0, 255.0), None);
    }

    #[test]
    fn so_few_values_of_single_precision_are_told_that_what_is_mixed_from_them_shows_it() {
        let of = |lo, hi| told_apart(ScalarType::F32, ValueRange { lo, hi });
        assert_eq!(of(1e6, 1e6 + 1.0), Some(17));
        assert_eq!(of(1e3, 1e3 + 1.0), None);
        // It is one value, in the file, too.
        assert_eq!(of(1e6, 1e6), None);
    }

    #[test]
    fn one_value_is_counted_as_one() {
        assert_eq!([counted(1), counted(2)], ["1 value", "2 values"]);
    }

    #[test]
    fn the_first_time_that_is_out_of_order_is_told() {
        assert_eq!(first_out_of_order(&[0.0, 0.0, 1.5]), None);
        assert_eq!(first_out_of_order(&[]), None);
        assert_eq!(first_out_of_order(&[0.0, 2.0, 1.0, 0.5]), Some((2, 1.0)));
        assert!(matches!(first_out_of_order(&[0.0, f64::NAN, 1.0]), Some((1, time)) if time.is_nan()));
    }
}
