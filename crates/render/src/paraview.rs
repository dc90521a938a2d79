//! Reads the colour maps that ParaView exports as JSON.
//!
//! The file is an array of objects (the first counts) with `RGBPoints`, four numbers a point: scalar, r, g, b; and
//! optionally `Points`, four numbers a point: scalar, opacity, midpoint, sharpness. Colours are interpolated linearly
//! in RGB and opacities linearly between points, whatever colour space, midpoints and sharpness say. Without `Points`
//! opacity is a ramp over the range.

use serde::Deserialize;
use serde_json::Value;

use crate::{TransferFunction, TransferFunctionError};

#[derive(Deserialize)]
struct ColorMapFile {
    #[serde(rename = "RGBPoints")]
    colors: Vec<f64>,
    #[serde(rename = "Points", default)]
    opacities: Vec<f64>,
}

/// The colour map in `text`, or `None` where it is not one of ParaView's.
pub(crate) fn read(text: &str) -> Option<Result<TransferFunction, TransferFunctionError>> {
    let many = serde_json::from_str::<Vec<ColorMapFile>>(text).ok().and_then(|maps| maps.into_iter().next());
    let map = many.or_else(|| serde_json::from_str(text).ok());
    map.map_or_else(
        || has_categories_alone(text).then_some(Err(TransferFunctionError::Categories)),
        |map| Some(convert(&map)),
    )
}

/// Whether the first map colours categories, and no values between them.
fn has_categories_alone(text: &str) -> bool {
    let Ok(file) = serde_json::from_str::<Value>(text) else { return false };
    let map = file.get(0).unwrap_or(&file);
    map.get("IndexedColors").is_some() && map.get("RGBPoints").is_none()
}

fn convert(map: &ColorMapFile) -> Result<TransferFunction, TransferFunctionError> {
    let colors = quads("RGBPoints", &map.colors)?;
    let ends = [colors[0][0], colors[colors.len() - 1][0]];
    let ramp = vec![[ends[0], 0.0, 0.5, 0.0], [ends[1], 1.0, 0.5, 0.0]];
    let opacities = if map.opacities.is_empty() { ramp } else { quads("Points", &map.opacities)? };
    let mut scalars: Vec<f64> = colors.iter().chain(&opacities).map(|point| point[0]).collect();
    scalars.sort_by(f64::total_cmp);
    scalars.dedup();
    let (lo, hi) = (scalars[0], scalars[scalars.len() - 1]);
    let range = [lo as f32, hi as f32];
    if !(range[0].is_finite() && range[1].is_finite()) {
        return Err(TransferFunctionError::Range(range));
    }
    let point = |&scalar: &f64| {
        let s = if hi > lo { (scalar - lo) / (hi - lo) } else { 0.5 };
        let [r, g, b] = [1, 2, 3].map(|channel| interpolate(&colors, scalar, channel));
        [s, r, g, b, interpolate(&opacities, scalar, 1)].map(|v| v as f32)
    };
    Ok(TransferFunction { range: Some(range), points: scalars.iter().map(point).collect() })
}

fn quads(array: &'static str, values: &[f64]) -> Result<Vec<[f64; 4]>, TransferFunctionError> {
    let (quads, rest) = values.as_chunks::<4>();
    if quads.is_empty() || !rest.is_empty() {
        return Err(TransferFunctionError::ParaViewArray { array, count: values.len() });
    }
    if quads.len() > TransferFunction::MAX_POINTS / 2 {
        return Err(TransferFunctionError::PointCount(quads.len()));
    }
    let mut quads = quads.to_vec();
    quads.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Ok(quads)
}

fn interpolate(points: &[[f64; 4]], scalar: f64, channel: usize) -> f64 {
    let after = points.partition_point(|point| point[0] <= scalar);
    let (Some(b), Some(a)) = (points.get(after), after.checked_sub(1).and_then(|i| points.get(i))) else {
        return points[after.min(points.len() - 1)][channel];
    };
    a[channel] + (scalar - a[0]) / (b[0] - a[0]) * (b[channel] - a[channel])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_opacities_meet_on_one_range() {
        let text = r#"[{"Name":"Cool to Warm","ColorSpace":"Diverging","NanColor":[1,1,0],
            "RGBPoints":[-2,0,0,1, 0,0.5,0.5,0.5, 2,1,0,0], "Points":[-2,0,0.5,0, 1,0.75,0.5,0]}]"#;
        let function = TransferFunction::from_json(text).unwrap();
        assert_eq!(function.range, Some([-2.0, 2.0]));
        assert_eq!(function.evaluate(0.0), [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(function.evaluate(0.5), [0.5, 0.5, 0.5, 0.5]);
        assert_eq!(function.evaluate(1.0), [1.0, 0.0, 0.0, 0.75]);
    }

    #[test]
    fn without_opacities_a_ramp_is_assumed() {
        let function = TransferFunction::from_json(r#"[{"RGBPoints":[0,0,0,0, 10,1,1,1]}]"#).unwrap();
        assert_eq!(function.evaluate(0.5), [0.5; 4]);
    }

    #[test]
    fn a_map_of_categories_is_refused_as_that() {
        for text in [r#"[{"Name":"KAAMS","IndexedColors":[1,0,0, 0,1,0]}]"#, r#"{"IndexedColors":[]}"#] {
            let refused = TransferFunction::from_json(text).unwrap_err().to_string();
            assert!(refused.contains("IndexedColors") && refused.contains("no RGBPoints"), "{refused}");
        }
    }

    #[test]
    fn ragged_arrays_are_refused_by_name() {
        let message = |text: &str| TransferFunction::from_json(text).unwrap_err().to_string();
        assert!(message(r#"[{"RGBPoints":[0,0,0]}]"#).contains("RGBPoints has 3"));
        assert!(message(r#"[{"RGBPoints":[0,0,0,0],"Points":[1]}]"#).contains("Points has 1"));
        assert!(message(r#"[{"RGBPoints":[0,0,0,1e300,1e300,0,0,0]}]"#).contains("range"));
        assert!(message("[]").contains("neither"));
    }
}
