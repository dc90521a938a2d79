//! What Zarr attributes say: numbers, texts, the grid of an array.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use visapult_volume::{Centering, Grid};

use super::store::Store;

/// Attributes of an array or group.
pub(super) type Attributes = Map<String, Value>;

/// The attributes of the group at `store`; `None` where it is an array of version 3.
pub(super) fn of_group(store: &Store) -> Result<Option<Attributes>, String> {
    let parsed = |name: &str| -> Result<Option<Attributes>, String> {
        let Some(text) = store.document(name).map_err(|e| e.to_string())? else { return Ok(None) };
        let parsed = serde_json::from_slice(&text).map_err(|e| format!("its {name} is not a JSON object: {e}"))?;
        Ok(Some(parsed))
    };
    match parsed("zarr.json")? {
        Some(document) if document.get("node_type") == Some(&Value::from("array")) => Ok(None),
        Some(mut document) => match document.remove("attributes") {
            Some(Value::Object(attributes)) => Ok(Some(attributes)),
            _ => Ok(Some(Map::new())),
        },
        None => Ok(Some(parsed(".zattrs")?.unwrap_or_default())),
    }
}

pub(super) fn text(attributes: &Attributes, name: &str) -> Option<String> {
    attributes.get(name)?.as_str().map(str::to_owned)
}

/// The numbers that an attribute lists, or the one that it is.
pub(super) fn numbers(attributes: &Attributes, name: &str) -> Vec<f64> {
    match attributes.get(name) {
        Some(Value::Array(list)) => list.iter().filter_map(written).collect(),
        Some(value) => written(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Whether the numbers of an attribute are written as whole ones.
pub(super) fn are_whole(attributes: &Attributes, name: &str) -> bool {
    let is_whole = |value: &Value| value.is_i64() || value.is_u64();
    attributes.get(name).is_some_and(|value| value.as_array().map_or(is_whole(value), |list| list.iter().all(is_whole)))
}

/// A number as JSON has it, or as xarray writes those of floats: their bytes, the least first, in base 64.
fn written(value: &Value) -> Option<f64> {
    let Some(text) = value.as_str() else { return value.as_f64() };
    let bytes = STANDARD.decode(text).ok()?;
    match *bytes.as_slice() {
        [a, b, c, d] => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
        _ => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
    }
}

pub(super) fn list(attributes: &Attributes, name: &str) -> Option<Vec<f64>> {
    attributes.get(name)?.as_array()?.iter().map(Value::as_f64).collect()
}

/// Puts `spacing` and `origin` of an array, each `[x, y, z]`, and their `spacing_unit` into its grid.
pub(super) fn place(attributes: &Attributes, grid: &mut Grid) {
    if let Some(Ok(spacing)) = list(attributes, "spacing").map(<[f64; 3]>::try_from) {
        grid.spacing = spacing;
    }
    if let Some(Ok(origin)) = list(attributes, "origin").map(<[f64; 3]>::try_from) {
        grid.origin = origin;
    }
    if let Some(unit) = text(attributes, "spacing_unit") {
        grid.unit = unit;
    }
}

/// Where values sit in their cells, if that is told.
pub(super) fn centering(attributes: &Attributes) -> Option<Centering> {
    Centering::named(&text(attributes, "centering")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_json_has_them_and_as_xarray_writes_floats() {
        for (json, wanted) in [
            ("-5", &[-5.0][..]),
            ("[1, 2.5]", &[1.0, 2.5]),
            (r#""AAAAAACHw8A=""#, &[-9998.0]),
            (r#""AACAPw==""#, &[1.0]),
            (r#""none""#, &[]),
            (r#""not a number""#, &[]),
        ] {
            let attributes = Map::from_iter([("_FillValue".to_owned(), serde_json::from_str(json).unwrap())]);
            assert_eq!(numbers(&attributes, "_FillValue"), wanted, "{json}");
        }
    }
}
