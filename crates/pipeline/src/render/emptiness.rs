//! Why an image shows nothing, and what to do.

use visapult_render::{Image, TransferFunction};
use visapult_volume::ValueRange;

use crate::config::RenderProxy;
use crate::info::readable;

pub(super) fn is_empty(image: &Image) -> bool {
    image.rgba.iter().all(|pixel| pixel[3] == 0.0)
}

/// What follows *the picture is empty*. `range`: of the field's values; `meets_box`: the camera looks at what is shown of the box.
pub(super) fn why_empty(
    field: &str,
    range: Option<ValueRange>,
    function: &TransferFunction,
    meets_box: bool,
    proxy: RenderProxy,
) -> String {
    let Some(range) = range else {
        return format!(
            ": {field} has no finite value at this step; choose another (visapult info SOURCE tells of them)"
        );
    };
    if !(meets_box && function.shows_any_of(range)) {
        return format!(
            ": from there the transfer function shows no value of {field} (visapult info SOURCE tells its range)"
        );
    }
    let (missed, finer) = ways(proxy);
    format!(
        ", although the transfer function shows some of what {field} ranges over ({} to {}): {missed} may have missed it, or it lies \
         elsewhere; try a smaller --sample-step, a larger --size{finer}, or another view",
        readable(range.lo),
        readable(range.hi)
    )
}

/// What may have missed a value, and what else than a smaller step may find it.
fn ways(proxy: RenderProxy) -> (&'static str, &'static str) {
    match proxy {
        RenderProxy::Exact => ("the samples along the rays", ""),
        RenderProxy::Bricks { .. } => ("the bricks", ", a lower --bricks-level, another --proxy"),
        RenderProxy::Slabs { .. } | RenderProxy::ScalarSlabs { .. } => ("the slabs", ", more --slabs, another --proxy"),
        RenderProxy::Segments { .. } => ("the segments", ", more --segments, another --proxy"),
        RenderProxy::Auto { .. } => ("the proxy", ", a larger --budget, another --proxy"),
    }
}
