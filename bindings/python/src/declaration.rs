//! What a rank publishes, as a Python program declares it.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use visapult_publish::words::check_calendar;
use visapult_publish::{
    Box3, Centering, Delivery, FieldInfo, Grid, Parameter, ParameterKind, PublisherOptions, ScalarType, StepIndex,
    ValueRange,
};

use crate::failure::{CallError, given as argument};

/// A box, from its first sample to the one after its last.
pub(crate) type Bounds = [[i64; 3]; 2];

/// Where the samples are.
pub(crate) struct Samples {
    pub(crate) size: [i64; 3],
    pub(crate) spacing: [f64; 3],
    pub(crate) origin: [f64; 3],
    pub(crate) unit: String,
    pub(crate) centering: String,
}

impl Samples {
    pub(crate) fn grid(self) -> PyResult<Grid> {
        let Self { size, spacing, origin, unit, centering } = self;
        let centering = Centering::named(&centering)
            .ok_or_else(|| CallError::new_err(format!("centering {centering:?} is neither \"point\" nor \"cell\"")))?;
        let size = counts(size, "size")?;
        let grid = Grid { size, spacing, origin, unit, centering };
        grid.validate().map_err(|cause| CallError::new_err(cause.to_string()))?;
        Ok(grid)
    }
}

/// What is declared of a running simulation; the publisher checks the rest.
pub(crate) fn options(
    name: String,
    grid: Grid,
    fields: Vec<FieldInfo>,
    block: Option<Bounds>,
    (rank, ranks): (i64, i64),
    time_unit: String,
) -> PyResult<PublisherOptions> {
    let one_of = |number: i64| {
        let wrong =
            |_| CallError::new_err(format!("rank {rank} of {ranks}: ranks count from 0 to one below their number"));
        u32::try_from(number).map_err(wrong)
    };
    let block = match block {
        Some([lo, hi]) => Box3::new(counts(lo, "block")?, counts(hi, "block")?),
        None => grid.bounds(),
    };
    let (rank, ranks) = (one_of(rank)?, one_of(ranks)?);
    Ok(PublisherOptions { rank, ranks, block, time_unit, ..PublisherOptions::of_simulation(name, grid, fields) })
}

/// Which steps back ends get, by name.
pub(crate) fn delivery_named(name: &str) -> PyResult<Delivery> {
    match name {
        "newest" => Ok(Delivery::Newest),
        "every" => Ok(Delivery::Every),
        "every from first" => Ok(Delivery::EveryFromFirst),
        other => Err(CallError::new_err(format!(
            "delivery {other:?} is none of \"newest\", \"every\" and \"every from first\""
        ))),
    }
}

/// The calendar of times; of none that is told the standard one.
pub(crate) fn calendar_named(name: Option<String>) -> PyResult<String> {
    let name = name.unwrap_or_default();
    check_calendar(&name).map_err(CallError::new_err)?;
    Ok(name)
}

fn counts(numbers: [i64; 3], what: &str) -> PyResult<[usize; 3]> {
    let wrong = |_| CallError::new_err(format!("{what} {numbers:?} is negative: it counts samples along x, y, z"));
    let [x, y, z] = numbers.map(usize::try_from);
    Ok([x.map_err(wrong)?, y.map_err(wrong)?, z.map_err(wrong)?])
}

/// Samples along x, y and z.
pub(crate) fn size(given: &Bound<'_, PyAny>) -> PyResult<[i64; 3]> {
    given.extract().map_err(|_| not_of_three(given, "size", "whole numbers"))
}

/// Distances along x, y and z.
pub(crate) fn spacing(given: &Bound<'_, PyAny>) -> PyResult<[f64; 3]> {
    given.extract().map_err(|_| not_of_three(given, "spacing", "numbers"))
}

/// Where the first sample is.
pub(crate) fn origin(given: &Bound<'_, PyAny>) -> PyResult<[f64; 3]> {
    given.extract().map_err(|_| not_of_three(given, "origin", "numbers"))
}

/// A box, or none for the whole grid.
pub(crate) fn block(given: &Bound<'_, PyAny>) -> PyResult<Option<Bounds>> {
    given.extract().map_err(|_| {
        CallError::new_err(format!("block {given} is no box: pass ((x0, y0, z0), (x1, y1, z1)) in whole numbers"))
    })
}

fn not_of_three(given: &Bound<'_, PyAny>, what: &str, numbers: &str) -> PyErr {
    CallError::new_err(format!("{what} {given} is not three {numbers}: one along each of x, y, z"))
}

/// The number of a step, or none for the next.
pub(crate) fn step(given: &Bound<'_, PyAny>) -> PyResult<Option<StepIndex>> {
    given.extract().map_err(|cause: PyErr| {
        if cause.is_instance_of::<PyOverflowError>(given.py()) {
            return CallError::new_err(format!("step {given} is no number of a step: they count from 0"));
        }
        cause
    })
}

/// A `Field` of the package.
#[derive(FromPyObject)]
struct Field<'py> {
    name: String,
    unit: String,
    range: Option<Bound<'py, PyAny>>,
}

/// Names and units, or a list of fields or names.
pub(crate) fn fields(given: &Bound<'_, PyAny>) -> PyResult<Vec<FieldInfo>> {
    let fields: Vec<FieldInfo> = if let Ok(units) = given.cast::<PyMapping>() {
        units.items()?.iter().map(|item| named_field(&item)).collect::<PyResult<_>>()?
    } else if given.is_instance_of::<PyString>() {
        return Err(CallError::new_err("fields is a text: pass {\"name\": \"unit\"} or a list of fields"));
    } else {
        let several = given.try_iter().map_err(|_| {
            CallError::new_err(format!("fields {given} is no list: pass {{\"name\": \"unit\"}} or a list of fields"))
        })?;
        several.map(|field| one_field(&field?)).collect::<PyResult<_>>()?
    };
    for (number, field) in fields.iter().enumerate() {
        if fields[..number].iter().any(|other| other.name == field.name) {
            return Err(CallError::new_err(format!("there are two fields {}: give each its own name", field.name)));
        }
    }
    Ok(fields)
}

/// A name and its unit.
fn named_field(item: &Bound<'_, PyAny>) -> PyResult<FieldInfo> {
    let (name, unit): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
    match (name.extract(), unit.extract()) {
        (Ok(name), Ok(unit)) => Ok(info(name, unit, None)),
        _ => Err(CallError::new_err(format!(
            "fields: {name} of unit {unit} is not a name and a unit, both text: \"\" is no unit, and a list of visapult.Field tells ranges"
        ))),
    }
}

fn one_field(given: &Bound<'_, PyAny>) -> PyResult<FieldInfo> {
    if given.is_instance_of::<PyString>() {
        return Ok(info(argument(given)?, String::new(), None));
    }
    let wrong = |_| CallError::new_err(format!("{given} is no field: pass a name, or visapult.Field(name, unit)"));
    let Field { name, unit, range } = given.extract().map_err(wrong)?;
    let range = range.map(|range| {
        range.extract().map(|[lo, hi]: [f32; 2]| ValueRange { lo, hi }).map_err(|_| {
            CallError::new_err(format!(
                "field {name}: its range {range} is not two numbers, the least and the greatest"
            ))
        })
    });
    let range = range.transpose()?;
    Ok(info(name, unit, range))
}

fn info(name: String, unit: String, declared_range: Option<ValueRange>) -> FieldInfo {
    FieldInfo { name, unit, scalar_type: ScalarType::F32, declared_range }
}

/// A `Parameter` of the package.
#[derive(FromPyObject)]
struct DeclaredParameter {
    name: String,
    value: f64,
    least: f64,
    most: f64,
    unit: String,
    kind: String,
}

/// A list of parameters.
pub(crate) fn parameters(given: &Bound<'_, PyAny>) -> PyResult<Vec<Parameter>> {
    let several = given.try_iter().map_err(|_| {
        CallError::new_err(format!(
            "parameters {given} is no list: pass a list of visapult.Parameter(name, value, least, most)"
        ))
    })?;
    several.map(|parameter| one_parameter(&parameter?)).collect()
}

fn one_parameter(given: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let wrong =
        |_| CallError::new_err(format!("{given} is no parameter: pass visapult.Parameter(name, value, least, most)"));
    let DeclaredParameter { name, value, least, most, unit, kind } = given.extract().map_err(wrong)?;
    let kind = match kind.as_str() {
        "number" => ParameterKind::Number,
        "integer" => ParameterKind::Integer,
        other => return Err(CallError::new_err(format!("kind {other:?} is neither \"number\" nor \"integer\""))),
    };
    Ok(Parameter { name, unit, kind, least, most, value })
}
