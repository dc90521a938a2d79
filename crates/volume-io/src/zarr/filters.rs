//! Filters of arrays that the Zarr library does not know, and that change nothing when chunks are decoded; and compressors that it knows by another name.

use serde_json::{Map, Value, json};

/// Filters that round values before they are stored, and leave them so when they are read.
const ROUNDING: [&str; 2] = ["bitround", "quantize"];

/// An array's document without what changes nothing when it is decoded; `None` where nothing of that is in it.
pub(super) fn without_rounding(document: &[u8]) -> Option<Value> {
    let before: Value = serde_json::from_slice(document).ok()?;
    let mut after = before.clone();
    let lists = ["filters", "codecs"].map(|name| after.get(name).is_some_and(Value::is_array).then_some(name));
    for name in lists.into_iter().flatten() {
        let list = after.get_mut(name)?.as_array_mut()?;
        list.retain(|filter| !only_rounds(filter));
        list.iter_mut().for_each(rename);
        if name == "filters" && list.is_empty() {
            after[name] = Value::Null;
        }
    }
    (after != before).then_some(after)
}

fn only_rounds(filter: &Value) -> bool {
    let Some(name) = name_of(filter) else { return false };
    let settings = filter.get("configuration").unwrap_or(filter);
    // Quantized values may be stored in another type.
    let is_of_one_type = settings.get("astype").is_none_or(|stored| Some(stored) == settings.get("dtype"));
    ROUNDING.contains(&name) && is_of_one_type
}

fn name_of(filter: &Value) -> Option<&str> {
    let name = filter.get("id").or_else(|| filter.get("name"))?.as_str()?;
    Some(name.strip_prefix("numcodecs.").unwrap_or(name))
}

/// Has compressors of numcodecs in version 3 called as the library calls them, with what numcodecs takes for granted.
fn rename(filter: &mut Value) {
    let settings = filter.get("configuration").and_then(Value::as_object).cloned().unwrap_or_default();
    let told = |name: &str, usual: Value| settings.get(name).filter(|told| !told.is_null()).cloned().unwrap_or(usual);
    let (name, settings): (&str, Value) = match filter.get("name").and_then(Value::as_str) {
        Some("numcodecs.zlib") => ("numcodecs.zlib", json!({ "level": told("level", json!(1)) })),
        Some("numcodecs.gzip") => ("gzip", json!({ "level": told("level", json!(1)) })),
        Some("numcodecs.zstd") => {
            ("zstd", json!({ "level": told("level", json!(0)), "checksum": told("checksum", json!(false)) }))
        }
        _ => return,
    };
    let renamed = [("name", json!(name)), ("configuration", settings)].map(|(name, value)| (name.to_owned(), value));
    *filter = Value::Object(Map::from_iter(renamed));
}

/// What to do where the library says that it does not know how an array is stored.
pub(super) fn advice(problem: &str) -> &'static str {
    if problem.contains("not supported") || problem.contains("unsupported") {
        ": write it with zstd, gzip or blosc, and without other filters"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(document: &Value) -> Option<Value> {
        without_rounding(document.to_string().as_bytes())
    }

    #[test]
    fn what_only_rounds_is_left_out_and_all_else_stays() {
        let [round, quantize] =
            [json!({ "id": "bitround", "keepbits": 8 }), json!({ "id": "quantize", "dtype": "<f4", "astype": "<f4" })];
        let (cast, delta) =
            (json!({ "id": "quantize", "dtype": "<f8", "astype": "<f4" }), json!({ "id": "delta", "dtype": "<f4" }));
        assert_eq!(left(&json!({ "filters": [round, quantize] })), Some(json!({ "filters": null })));
        assert_eq!(left(&json!({ "filters": [round, delta] })), Some(json!({ "filters": [delta] })));
        assert_eq!(left(&json!({ "filters": [cast, delta] })), None);
        assert_eq!(left(&json!({ "filters": null })), None);
        let bytes = json!({ "name": "bytes", "configuration": { "endian": "little" } });
        let three = json!({ "codecs": [{ "name": "numcodecs.bitround", "configuration": { "keepbits": 8 } }, bytes, { "name": "numcodecs.zstd" }] });
        let zstd = json!({ "name": "zstd", "configuration": { "level": 0, "checksum": false } });
        assert_eq!(left(&three), Some(json!({ "codecs": [bytes, zstd] })));
    }
}
