//! Chooses a proxy under a budget of bytes by what each is predicted to be worth, and makes that one alone.

use serde::Serialize;
use visapult_render::{Form, Prediction};
use visapult_ripp_net::units::bytes_for_people;

use super::proxy::{Made, Maker, key_camera};
use crate::choice::{ALIKE_DB, Worth, best, described, predicted};
use crate::config::RenderProxy;
use crate::error::PipelineError;

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
    /// Its bytes on the wire: predicted where it was not made.
    pub wire_bytes: u64,
    /// Whether it is within the budget.
    pub fits: bool,
    /// PSNR over the foreground that was predicted for the configured view; none where that shows too little to tell.
    pub psnr_db: Option<f64>,
}

/// Makes the best proxy of at most `budget` bytes: what was predicted to fit and does not is passed over.
///
/// # Errors
/// [`PipelineError::Option`] if none fits.
pub(super) fn choose(maker: &Maker<'_>, key_deg: [f64; 2], budget: u64) -> Result<Made, PipelineError> {
    let (key, views, aspect) = (key_camera(maker.config, key_deg), [maker.config.camera], maker.config.aspect());
    let predictions = predicted(maker.step, key, aspect, maker.transfer_function, &views, f64::INFINITY, maker.pool);
    let worth = |of: &Prediction| Worth { form: of.form, bytes: of.bytes, psnr_db: of.psnr_db.first().copied() };
    let mut worths: Vec<Worth> = predictions.iter().map(worth).collect();
    let mut known: Vec<Form> = Vec::new();
    let (chosen, made) = loop {
        // Bytes are predicted from few: the smallest of all is made however large it seems.
        let smallest = || worths.iter().min_by_key(|worth| worth.bytes).filter(|worth| !known.contains(&worth.form));
        let Some(chosen) = best(&worths, budget).or_else(smallest).copied() else {
            return Err(too_small(budget, &worths));
        };
        let made = maker.make(proxy_of(chosen.form, key_deg))?;
        known.push(chosen.form);
        worths.iter_mut().filter(|worth| worth.form == chosen.form).for_each(|worth| worth.bytes = made.wire_bytes);
        if made.wire_bytes <= budget {
            break (chosen, made);
        }
    };
    let reason = reason(&chosen, made.wire_bytes, budget);
    Ok(Made { choice: Some(Choice { reason, candidates: candidates(worths, budget) }), ..made })
}

fn too_small(budget: u64, worths: &[Worth]) -> PipelineError {
    let smallest = worths.iter().map(|worth| worth.bytes).min().unwrap_or(0);
    PipelineError::Option(format!("no proxy fits a budget of {budget} bytes: the smallest takes {smallest}"))
}

fn reason(chosen: &Worth, bytes: u64, budget: u64) -> String {
    let [bytes, budget] = [bytes, budget].map(bytes_for_people);
    let what = described(chosen.form);
    match chosen.psnr_db {
        Some(db) => format!(
            "{what}: {db:.1} dB predicted, {bytes}; the best of those within {budget}, and of those within {ALIKE_DB} dB of it the smallest"
        ),
        None => format!("{what}: {bytes} of {budget}; too little is seen to predict how well"),
    }
}

fn candidates(mut worths: Vec<Worth>, budget: u64) -> Vec<Candidate> {
    worths.sort_by_key(|worth| worth.bytes);
    let candidate = |worth: Worth| Candidate {
        proxy: described(worth.form),
        wire_bytes: worth.bytes,
        fits: worth.bytes <= budget,
        psnr_db: worth.psnr_db,
    };
    worths.into_iter().map(candidate).collect()
}

fn proxy_of(form: Form, key_deg: [f64; 2]) -> RenderProxy {
    match form {
        Form::Bricks { level, bits } => RenderProxy::Bricks { level, bits },
        Form::Slabs { slabs } => RenderProxy::Slabs { key_deg, slabs },
        Form::ScalarSlabs { slabs } => RenderProxy::ScalarSlabs { key_deg, slabs: Some(slabs) },
        Form::Segments { segments } => RenderProxy::Segments { key_deg, segments },
    }
}
