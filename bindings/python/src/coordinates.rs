//! Where samples lie along the axes, as a Python program says it.

use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use visapult_publish::{AXES, AxisCoordinates, grow_downwards};

use crate::failure::CallError;

/// Where samples lie along x, y, z; along those of which nothing is said they lie as the grid has them.
pub(crate) type Told = [Option<AxisCoordinates>; 3];

/// A `Coordinates` of the package.
#[derive(FromPyObject)]
struct Given<'py> {
    values: Bound<'py, PyAny>,
    unit: Option<String>,
    name: Option<String>,
    positive: Option<String>,
}

/// Values by the names of axes: arrays, those of xarray with what they say of themselves, or `Coordinates`.
pub(crate) fn coordinates(given: &Bound<'_, PyAny>) -> PyResult<Told> {
    let mut told = Told::default();
    if given.is_none() {
        return Ok(told);
    }
    let axes = given.cast::<PyMapping>().map_err(|_| {
        CallError::new_err(format!(
            "coordinates {given} are not by axis: pass {{\"z\": array}}, with a number for each sample along it"
        ))
    })?;
    for item in axes.items()?.iter() {
        let (axis, values): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let place = axis.extract().ok().and_then(|axis: String| AXES.iter().position(|known| **known == *axis));
        let place = place
            .ok_or_else(|| CallError::new_err(format!("coordinates: there is no axis {axis}: they are x, y and z")))?;
        told[place] = Some(of_axis(AXES[place], &values)?);
    }
    Ok(told)
}

fn of_axis(axis: &str, given: &Bound<'_, PyAny>) -> PyResult<AxisCoordinates> {
    let wrong = |_| {
        CallError::new_err(format!(
            "coordinates along {axis}: pass an array of numbers, one for each sample, or visapult.Coordinates(values, unit, name, positive)"
        ))
    };
    let Given { values, unit, name, positive } =
        described(given)?.map_or_else(|| given.extract(), Ok).map_err(wrong)?;
    if is_complex(&values) {
        return Err(CallError::new_err(format!(
            "coordinates along {axis} are complex numbers: pass those that are meant, as array.real"
        )));
    }
    Ok(AxisCoordinates {
        name: name.unwrap_or_else(|| axis.to_owned()),
        unit,
        values: values.extract().map_err(wrong)?,
        are_downwards: grow_downwards(&positive.unwrap_or_default()).map_err(CallError::new_err)?,
    })
}

/// NumPy makes real numbers of those, of which a part is lost.
fn is_complex(values: &Bound<'_, PyAny>) -> bool {
    let kind = values.getattr("dtype").and_then(|kind| kind.getattr("kind"));
    kind.is_ok_and(|kind| kind.extract::<&str>().is_ok_and(|kind| kind == "c"))
}

/// Numbers, and what xarray knows of them, without what nobody can make use of; `None` of what is a `Coordinates`.
fn described<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Given<'py>>> {
    let is_of_xarray = given.hasattr("attrs")? && given.hasattr("dims")?;
    if !is_of_xarray {
        let is_described = given.hasattr("positive")? && given.hasattr("unit")?;
        let plain = || Given { values: given.clone(), unit: None, name: None, positive: None };
        return Ok((!is_described).then(plain));
    }
    let attributes = given.getattr("attrs")?;
    let said = |name: &str| {
        let said = attributes.call_method1("get", (name,)).ok()?;
        said.cast::<PyString>().ok().map(|text| text.to_string())
    };
    let name = given.getattr_opt("name")?.and_then(|name| name.extract().ok());
    let name = name.filter(|name: &String| !name.trim().is_empty());
    let positive = said("positive").filter(|positive| grow_downwards(positive).is_ok());
    Ok(Some(Given { values: given.getattr("values")?, unit: said("units"), name, positive }))
}
