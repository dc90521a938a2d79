//! Chooses a proxy: the one that comes closest to the exact image among those that fit a budget of bytes.
//!
//! Each is made and drawn into a small probe image, as the configured camera sees it; the error there stands for that of
//! the whole image.

use serde::Serialize;
use visapult_render::{Image, Pyramid, Quality};

use super::proxy::{Made, Maker};
use super::proxy_name;
use crate::config::RenderProxy;
use crate::error::PipelineError;

/// Rows of the probe image.
const PROBE_ROWS: usize = 128;
/// Proxies this much farther from the exact image count as equally close: then the smaller one is better.
const ALIKE_DB: f64 = 0.5;

/// Why a proxy was chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// In a sentence.
    pub reason: String,
    /// All that were looked at, the smallest first.
    pub candidates: Vec<Candidate>,
}

/// A proxy that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// What it is.
    pub proxy: String,
    /// Its bytes on the wire.
    pub wire_bytes: u64,
    /// Whether it is within the budget; what is not is not drawn.
    pub fits: bool,
    /// PSNR of the probe image over its foreground; none where it was not drawn, or nothing shows.
    pub psnr_db: Option<f64>,
}

/// Makes the best proxy of at most `budget` bytes.
///
/// # Errors
/// [`PipelineError::Option`] if none fits.
pub(super) fn choose(maker: &Maker<'_>, key_deg: [f64; 2], budget: u64) -> Result<Made, PipelineError> {
    let [width, height] = maker.config.size;
    let rows = PROBE_ROWS.min(height);
    let size = [(width * rows).div_ceil(height.max(1)).max(1), rows];
    let truth = maker.exact(size, maker.config.sample_step / 2.0).image;
    let mut candidates = Vec::new();
    let mut fitting: Vec<(f64, Made)> = Vec::new();
    for proxy in proxies(maker, key_deg) {
        let made = maker.make(proxy)?;
        let fits = made.wire_bytes <= budget;
        let closeness = fits.then(|| closeness_db(&maker.draw(&made, size).image, &truth));
        let psnr_db = closeness.filter(|closeness| closeness.is_finite());
        candidates.push(Candidate { proxy: described(proxy), wire_bytes: made.wire_bytes, fits, psnr_db });
        fitting.extend(closeness.map(|closeness| (closeness, made)));
        // What is not alike to the closest so far is not held decoded.
        let closest = closest_of(&fitting);
        fitting.retain(|(closeness, _)| *closeness >= closest - ALIKE_DB);
    }
    candidates.sort_by_key(|candidate| candidate.wire_bytes);
    let closest = closest_of(&fitting);
    let Some((closeness, made)) = fitting.into_iter().min_by_key(|(_, made)| made.wire_bytes) else {
        let smallest = candidates.first().map_or(0, |candidate| candidate.wire_bytes);
        let reason = format!("no proxy fits a budget of {budget} bytes: the smallest takes {smallest}");
        return Err(PipelineError::Option(reason));
    };
    let reason = format!(
        "{}: {closeness:.1} dB at {:.2} MB; the closest of those within {:.2} MB comes to {closest:.1} dB, and within {ALIKE_DB} dB of it this \
         one is the smallest",
        described(made.proxy),
        made.wire_bytes as f64 / 1e6,
        budget as f64 / 1e6,
    );
    Ok(Made { choice: Some(Choice { reason, candidates }), ..made })
}

fn closest_of(made: &[(f64, Made)]) -> f64 {
    made.iter().map(|(closeness, _)| *closeness).fold(f64::NEG_INFINITY, f64::max)
}

/// All that are looked at; several processes make no scalar slabs and segments.
fn proxies(maker: &Maker<'_>, key_deg: [f64; 2]) -> Vec<RenderProxy> {
    let levels = maker.step.pyramids.first().map_or(1, Pyramid::level_count);
    let mut proxies: Vec<RenderProxy> = (0..levels).map(|level| RenderProxy::Bricks { level }).collect();
    proxies.extend([32, 64, 128].map(|slabs| RenderProxy::Slabs { key_deg, slabs }));
    if maker.step.crew.is_none() {
        let fitted = maker.fitted(key_deg).slabs;
        let scalar = |slabs| RenderProxy::ScalarSlabs { key_deg, slabs: Some(slabs) };
        proxies.extend([scalar(fitted), scalar((fitted / 2).max(1))]);
        proxies.extend([32, 64].map(|segments| RenderProxy::Segments { key_deg, segments }));
    }
    proxies
}

/// PSNR over the foreground; nothing can be closer than where there is none.
fn closeness_db(image: &Image, truth: &Image) -> f64 {
    let quality = Quality::of(image, truth).map_or(f64::NEG_INFINITY, |quality| quality.foreground_psnr_db);
    if quality.is_nan() { f64::INFINITY } else { quality }
}

fn described(proxy: RenderProxy) -> String {
    match proxy {
        RenderProxy::Bricks { level } => format!("bricks of level {level}"),
        RenderProxy::Slabs { slabs, .. } | RenderProxy::ScalarSlabs { slabs: Some(slabs), .. } => {
            format!("{slabs} {}", proxy_name(proxy))
        }
        RenderProxy::Segments { segments, .. } => format!("at most {segments} segments a ray"),
        _ => proxy_name(proxy).to_owned(),
    }
}
