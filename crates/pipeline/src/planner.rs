//! Decides what a session is sent, from what its link has been measured to carry and what each proxy is predicted to be worth.
//!
//! Owns no clock and no session. The rule: all bricks give full quality from every angle and through every transfer function, so
//! they are sent where the link carries them within the goal, and where the user asks for them and the picture is at rest. Else that is sent which comes closest to the exact image, turned by
//! [`GOAL`], among what fits. A keyframe for each of many steps costs more than it shows (`docs/src/proxies.md`): there,
//! bricks of half the resolution are preferred. Before anything is predicted, bricks are sent.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use visapult_render::{CodeBits, Form, Prediction};
use visapult_ripp_net::units::{bytes_for_people, prefixed};

use crate::choice::{COLOUR, ENOUGH_DB, SEGMENTS, Worth, best, described};
use crate::wire::{Plan, ProxyChoice, ProxyKind};

/// Turns of the view from a keyframe, in degrees, that quality is predicted for.
pub(crate) const TURNS_DEG: [f64; 4] = [0.0, 16.0, 30.0, 45.0];
/// That of the turns at which proxies are compared: what a viewer should be able to turn by himself.
const GOAL: usize = 2;
/// Time in which a picture at rest should be complete.
const REST_GOAL: Duration = Duration::from_secs(3);
/// Time a step of a running simulation may take to send, at the least.
const SHORTEST_STEP_GOAL: Duration = Duration::from_millis(100);
/// Finest level a page is asked to hold, in samples: 512^3 half floats are 256 MiB of its memory.
const MOST_SAMPLES_IN_PAGE: usize = 512 * 512 * 512;
/// And along an axis: textures of three dimensions are no longer than this in most browsers.
const MOST_ALONG_PAGE: usize = 2048;
/// Coarsest level of bricks that is sent rather than a keyframe for each of many steps.
const FINE_ENOUGH: u32 = 1;
/// Throughput assumed before anything has been measured, in bytes per second.
const UNMEASURED_BYTES_PER_S: f64 = 12.5e6;
/// How much better, in dB, another keyframe must be than the one that is being sent to take its place: links are never steady.
const CHANGE_DB: f64 = 1.5;
/// How much larger than the budget, as a factor, the one that is being sent may have become.
const CHANGE_BYTES: f64 = 1.2;

/// What is known when a plan is made.
#[derive(Clone, Debug)]
pub(crate) struct Situation {
    /// Measured throughput, in bytes per second; none before the first acknowledgement.
    pub throughput_bytes_per_s: Option<f64>,
    /// Samples of each level along its axes, finest first.
    pub level_sizes: Vec<[usize; 3]>,
    /// Bytes of 8-bit bricks of each level of the current step, where that was sent.
    pub level_bytes: Vec<Option<u64>>,
    /// Bytes per sample of encoded 8-bit bricks, measured on the last levels sent.
    pub bytes_per_sample: f64,
    /// What each proxy is predicted to be worth, turned by [`TURNS_DEG`]; empty where that is not known.
    pub predictions: Arc<[Prediction]>,
    /// Whether the bytes of bricks, too, are those that were predicted: they change more from step to step than quality does.
    pub predicts_bytes: bool,
    /// The keyframe of this field that was sent last.
    pub sent: Option<Form>,
    /// The bytes of such a one, where one was sent for what is looked at.
    pub sent_bytes: Option<u64>,
    /// Time between steps where they are followed or played.
    pub step_interval: Option<Duration>,
    /// What the user asks for.
    pub choice: ProxyChoice,
}

/// A plan, and what is made for it.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// What the page is told.
    pub plan: Plan,
    /// What the page turns by itself.
    pub form: Form,
    /// Whether predictions make a difference.
    pub wants_predictions: bool,
}

impl Situation {
    /// Bytes of bricks at `level`, at 8 bits per sample: as they were, else as predicted, else as many per sample as the last ones.
    pub(crate) fn level_bytes(&self, level: u32) -> u64 {
        let predicted = || self.predicts_bytes.then(|| Some(self.corrected(self.predicted(level)?.bytes))).flatten();
        let samples = || self.level_sizes[level as usize].iter().map(|&n| n as f64).product::<f64>();
        let guess = || (samples() * self.bytes_per_sample) as u64;
        self.measured_bytes(level).or_else(predicted).unwrap_or_else(guess)
    }

    fn measured_bytes(&self, level: u32) -> Option<u64> {
        self.level_bytes.get(level as usize).copied().flatten()
    }

    fn predicted(&self, level: u32) -> Option<&Prediction> {
        self.prediction(Form::Bricks { level, bits: CodeBits::EIGHT })
    }

    /// Bytes that were predicted of bricks, corrected by the finest level that can be compared.
    fn corrected(&self, bytes: u64) -> u64 {
        let correction = (0..=self.coarsest()).find_map(|level| {
            let (measured, predicted) = (self.measured_bytes(level)?, self.predicted(level)?.bytes);
            Some(measured as f64 / predicted.max(1) as f64)
        });
        (bytes as f64 * correction.unwrap_or(1.0)) as u64
    }

    fn coarsest(&self) -> u32 {
        self.level_sizes.len() as u32 - 1
    }

    fn goal(&self) -> Duration {
        self.step_interval.map_or(REST_GOAL, |interval| interval.max(SHORTEST_STEP_GOAL))
    }

    fn budget(&self) -> u64 {
        (self.throughput_bytes_per_s.unwrap_or(UNMEASURED_BYTES_PER_S) * self.goal().as_secs_f64()) as u64
    }

    fn finest_level_within(&self, budget: u64) -> u32 {
        let fits = |level: &u32| self.level_bytes(*level) <= budget && self.can_be_held(*level);
        (0..=self.coarsest()).find(fits).unwrap_or(self.coarsest())
    }

    /// The level that bricks are sent up to where nothing else is: at rest, who asked for bricks gets the finest there is, in whatever time it takes.
    fn finest_level(&self, budget: u64) -> u32 {
        let takes_its_time = self.choice == ProxyChoice::Bricks && self.step_interval.is_none();
        self.finest_level_within(if takes_its_time { u64::MAX } else { budget })
    }

    fn can_be_held(&self, level: u32) -> bool {
        let fits = |size: &[usize; 3]| {
            size.iter().all(|n| *n <= MOST_ALONG_PAGE) && size.iter().product::<usize>() <= MOST_SAMPLES_IN_PAGE
        };
        self.level_sizes.get(level as usize).is_some_and(fits)
    }

    /// What proxies are worth at the goal; of what was sent, the bytes are known.
    fn worths(&self) -> Vec<Worth> {
        let worth = |prediction: &Prediction| {
            let form = prediction.form;
            let bytes = match form {
                Form::Bricks { level, .. } if !self.can_be_held(level) => return None,
                Form::Bricks { level, bits: CodeBits::EIGHT } => self.level_bytes(level),
                Form::Bricks { .. } => self.corrected(prediction.bytes),
                _ => self.sent_bytes.filter(|_| self.sent == Some(form)).unwrap_or(prediction.bytes),
            };
            Some(Worth { form, bytes, psnr_db: prediction.psnr_db.get(GOAL).copied() })
        };
        self.predictions.iter().filter_map(worth).collect()
    }

    fn prediction(&self, form: Form) -> Option<&Prediction> {
        self.predictions.iter().find(|prediction| prediction.form == form)
    }
}

/// Chooses proxy, level and precision.
pub(crate) fn plan(situation: &Situation) -> Decision {
    let budget = situation.budget();
    let finest = situation.finest_level(budget);
    let worths = situation.worths();
    let form = form(situation, &worths, budget, finest);
    let proxy = match form {
        Form::Bricks { .. } => ProxyKind::Bricks,
        Form::Slabs { .. } | Form::ScalarSlabs { .. } => ProxyKind::Slabs,
        Form::Segments { .. } => ProxyKind::Segments,
    };
    let keyframe_bytes = keyframe_bytes(situation, &worths, form);
    let level = match form {
        Form::Bricks { level, .. } => level,
        _ => situation.finest_level_within(budget.saturating_sub(keyframe_bytes) / 4).max(1.min(situation.coarsest())),
    };
    let bricks_bytes = situation.level_bytes(level);
    let (bits, bricks_bytes) = match form {
        Form::Bricks { bits, .. } if bits < CodeBits::EIGHT => (bits, bytes_of(&worths, form).unwrap_or(bricks_bytes)),
        _ if situation.step_interval.is_none() && level == 0 && 2 * bricks_bytes <= budget / 3 => {
            (CodeBits::SIXTEEN, 2 * bricks_bytes)
        }
        _ => (CodeBits::EIGHT, bricks_bytes),
    };
    let (bits, bytes) = (bits.bits(), keyframe_bytes + bricks_bytes);
    let reason = reason(situation, &worths, form, bytes);
    let throughput_bps = situation.throughput_bytes_per_s.unwrap_or(0.0) * 8.0;
    let plan = Plan { proxy, level, bits, reason, throughput_bps, bytes };
    Decision { plan, form, wants_predictions: is_open(situation, finest) }
}

/// Whether it is to be found out what proxies are worth.
fn is_open(situation: &Situation, finest: u32) -> bool {
    match situation.choice {
        ProxyChoice::Bricks => false,
        ProxyChoice::Slabs | ProxyChoice::Segments => true,
        ProxyChoice::Auto => finest > if situation.step_interval.is_some() { FINE_ENOUGH } else { 0 },
    }
}

fn form(situation: &Situation, worths: &[Worth], budget: u64, finest: u32) -> Form {
    let bricks = Form::Bricks { level: finest, bits: CodeBits::EIGHT };
    if !is_open(situation, finest) {
        return bricks;
    }
    let is_eligible = |worth: &&Worth| match (situation.choice, worth.form) {
        (ProxyChoice::Slabs, form) => matches!(form, Form::Slabs { .. } | Form::ScalarSlabs { .. }),
        // Making segments takes about a second of a processor: too much for each of many steps.
        (_, Form::Segments { .. }) => situation.step_interval.is_none(),
        _ => true,
    };
    let worths: Vec<Worth> = worths.iter().filter(is_eligible).copied().collect();
    // What is taken where nothing fits: bricks are there in any case.
    let otherwise = match situation.choice {
        ProxyChoice::Segments => return SEGMENTS,
        ProxyChoice::Slabs => worths.iter().min_by_key(|worth| worth.bytes).map_or(COLOUR, |smallest| smallest.form),
        ProxyChoice::Auto | ProxyChoice::Bricks => bricks,
    };
    let Some(found) = best(&worths, budget) else { return otherwise };
    let sent = worths.iter().find(|worth| situation.sent == Some(worth.form));
    let stays = |sent: &&Worth| {
        sent.counted_db() >= found.counted_db() - CHANGE_DB && sent.bytes as f64 <= CHANGE_BYTES * budget as f64
    };
    sent.filter(stays).unwrap_or(found).form
}

/// Bytes besides those of bricks.
fn keyframe_bytes(situation: &Situation, worths: &[Worth], form: Form) -> u64 {
    if matches!(form, Form::Bricks { .. }) {
        return 0;
    }
    bytes_of(worths, form).or(situation.sent_bytes.filter(|_| situation.sent == Some(form))).unwrap_or(0)
}

fn bytes_of(worths: &[Worth], form: Form) -> Option<u64> {
    worths.iter().find(|worth| worth.form == form).map(|worth| worth.bytes)
}

fn rate_for_people(bytes_per_s: f64) -> String {
    let (number, prefix) = prefixed(bytes_per_s * 8.0);
    format!("{number:.digits$} {prefix}bit/s", digits = usize::from(number < 10.0))
}

fn reason(situation: &Situation, worths: &[Worth], form: Form, bytes: u64) -> String {
    let link = match situation.throughput_bytes_per_s {
        Some(rate) => format!("{} measured", rate_for_people(rate)),
        None => "link not measured yet".to_owned(),
    };
    let quality = situation.prediction(form).and_then(quality_told);
    let quality = quality.map_or_else(String::new, |quality| format!(", {quality}"));
    let what = match (form, situation.choice) {
        (Form::Bricks { level: 0, bits: CodeBits::EIGHT }, ProxyChoice::Auto) => "all bricks fit".to_owned(),
        (Form::Bricks { .. }, ProxyChoice::Bricks)
        | (Form::Segments { .. }, ProxyChoice::Segments)
        | (Form::Slabs { .. } | Form::ScalarSlabs { .. }, ProxyChoice::Slabs) => {
            format!("{}, as chosen{quality}", described(form))
        }
        _ => format!("{} {}{quality}", described(form), why(situation, worths, form)),
    };
    let goal_s = situation.goal().as_secs_f64();
    let late = match situation.throughput_bytes_per_s {
        Some(rate) if bytes > situation.budget() => format!(", which take {:.0} s", bytes as f64 / rate),
        _ => String::new(),
    };
    format!("{what}: {} for a goal of {goal_s:.1} s{late}; {link}", bytes_for_people(bytes))
}

/// What is predicted to be seen, by how far the view turns.
fn quality_told(prediction: &Prediction) -> Option<String> {
    let whole: Vec<String> = prediction.psnr_db.iter().map(|db| format!("{db:.0}")).collect();
    let first = whole.first()?;
    if whole.iter().all(|db| db == first) {
        return Some(format!("{first} dB from all sides"));
    }
    Some(format!("{} dB at {} degrees", whole.join("/"), TURNS_DEG.map(|turn| turn.to_string()).join("/")))
}

/// What speaks for a proxy that was not asked for.
fn why(situation: &Situation, worths: &[Worth], form: Form) -> String {
    let others: Vec<Worth> = worths.iter().filter(|worth| worth.form != form).copied().collect();
    if others.is_empty() {
        return "fit".to_owned();
    }
    match best(&others, situation.budget()) {
        Some(Worth { form, psnr_db: Some(db), .. }) => {
            format!("are best before {} ({db:.0} dB at {:.0} degrees)", described(*form), TURNS_DEG[GOAL])
        }
        Some(_) => "fit".to_owned(),
        None => "alone fit".to_owned(),
    }
}

/// The turn from a keyframe at which quality has fallen by `loss_db` under the best that it has, in degrees; that of the last
/// prediction where it has not, or where nothing is known.
pub(crate) fn turn_that_costs(prediction: &Prediction, loss_db: f64) -> f64 {
    let (curve, most) = (&prediction.psnr_db, TURNS_DEG[TURNS_DEG.len() - 1]);
    let highest = curve.iter().copied().fold(f64::NEG_INFINITY, f64::max).min(ENOUGH_DB);
    let floor = highest - loss_db;
    let place = curve.iter().rposition(|db| *db >= floor);
    let (Some(i), Some(after)) = (place, place.and_then(|i| curve.get(i + 1))) else { return most };
    let share = (curve[i].min(highest) - floor) / (curve[i].min(highest) - after);
    TURNS_DEG[i] + share.clamp(0.0, 1.0) * (TURNS_DEG[i + 1] - TURNS_DEG[i])
}
