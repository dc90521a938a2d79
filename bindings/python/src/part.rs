//! A part of fields, as the Python half of the package says it.

use pyo3::prelude::*;
use visapult_copy::{FieldPart, Samples, Steps};

use crate::failure::CallError;

/// What `_parts.py` makes of arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Part {
    fields: Vec<String>,
    bounds: Option<[(u64, Option<u64>); 3]>,
    stride: [u64; 3],
    level: u32,
    /// First, end, every so many.
    steps: Option<(u64, Option<u64>, u64)>,
    error: Option<String>,
}

impl Part {
    pub(crate) fn of_fields(self, is_dry: bool) -> PyResult<FieldPart> {
        let Self { fields, bounds, stride, level, steps, error } = self;
        let rounding = error.map(|error| error.parse().map_err(|why| CallError::new_err(format!("error: {why}"))));
        Ok(FieldPart {
            fields,
            bounds: bounds.map(|bounds| bounds.map(|(first, end)| Samples { first, end })),
            stride,
            level,
            steps: steps.map(|(first, end, every)| Steps { first, end, every }),
            rounding: rounding.transpose()?.unwrap_or_default(),
            is_dry,
        })
    }
}
