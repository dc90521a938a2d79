//! Chooses among proxies by what each would be worth: one rule, for pages and for `render --proxy auto`.

use rayon::ThreadPool;
use visapult_render::{
    Camera, CodeBits, Form, Prediction, Predictor, Pyramid, SegmentKey, Subject, TransferFunction, finest_brick_level,
    slab_counts,
};

use crate::step_store::LoadedStep;

/// Proxies that are worse by this much count as equally good: then the smaller one is better.
pub(crate) const ALIKE_DB: f64 = 0.5;
/// What is better than this looks exact, whatever the figures are.
pub(crate) const ENOUGH_DB: f64 = 45.0;
/// Where scalar slabs or segments are predicted to be as good as this from all sides asked for, pages need no slabs of colour.
pub(crate) const COLOUR_BELOW_DB: f64 = 45.0;
/// Slabs of colour show one transfer function, and an edit of it needs others. They must be better than others by so much,
const COLOUR_COST_DB: f64 = 3.0;
/// and how much better than this they are does not count.
const ENOUGH_OF_COLOUR_DB: f64 = 40.0;
/// Slabs of colour that are looked at.
const COLOUR_SLABS: [u16; 3] = [64, 128, 192];
/// Those that are made where nothing is predicted.
pub(crate) const COLOUR: Form = Form::Slabs { slabs: COLOUR_SLABS[0] };
/// Segments that are looked at.
pub(crate) const SEGMENTS: Form = Form::Segments { segments: SegmentKey::SEGMENTS };

/// A proxy, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worth {
    pub(crate) form: Form,
    /// On the wire.
    pub(crate) bytes: u64,
    /// PSNR over the foreground; `None` where that is not known.
    pub(crate) psnr_db: Option<f64>,
}

impl Worth {
    /// The PSNR that counts when proxies are compared. Where it is not known, finer bricks are better than coarser ones, and than all else.
    pub(crate) fn counted_db(&self) -> f64 {
        match (self.form, self.psnr_db) {
            (Form::Slabs { .. }, Some(psnr_db)) => psnr_db.min(ENOUGH_OF_COLOUR_DB) - COLOUR_COST_DB,
            (_, Some(psnr_db)) => psnr_db.min(ENOUGH_DB),
            (Form::Bricks { level, bits: CodeBits::EIGHT }, None) => -f64::from(level),
            (_, None) => f64::NEG_INFINITY,
        }
    }
}

/// The best of those within `budget`; of those alike, the smallest.
pub(crate) fn best(worths: &[Worth], budget: u64) -> Option<&Worth> {
    let fitting = || worths.iter().filter(|worth| worth.bytes <= budget);
    let highest = fitting().map(Worth::counted_db).fold(f64::NEG_INFINITY, f64::max);
    fitting().filter(|worth| worth.counted_db() >= highest - ALIKE_DB).min_by_key(|worth| worth.bytes)
}

/// What each proxy of a step that can be made would be worth to those who look from `views` at pictures of shape `aspect`, where it is
/// made for `key`. Slabs of colour take longest, and are looked at only where no scalar slabs or segments are as good as `colour_below_db`.
///
/// Not to be called on a thread of `pool`.
pub(crate) fn predicted(
    step: &LoadedStep,
    key: Camera,
    aspect: f64,
    transfer_function: &TransferFunction,
    views: &[Camera],
    colour_below_db: f64,
    pool: &ThreadPool,
) -> Vec<Prediction> {
    let subject = Subject { volume: &step.volume, pyramids: &step.pyramids, transfer_function, key, aspect };
    let predictor = pool.install(|| Predictor::new(subject, views));
    let predict = |forms: &[Form]| match &step.crew {
        Some(crew) => crew.predictions(&predictor, &subject, views, forms, pool),
        None => pool.install(|| predictor.predict(forms)),
    };
    let levels = step.pyramids.first().map_or(1, Pyramid::level_count);
    let finest = finest_brick_level(step.volume.grid().size);
    let mut forms: Vec<Form> = (finest..levels).map(|level| Form::Bricks { level, bits: CodeBits::EIGHT }).collect();
    forms.extend(CodeBits::COARSE.map(|bits| Form::Bricks { level: finest, bits }));
    forms.extend(slab_counts(&step.volume, key).map(|slabs| Form::ScalarSlabs { slabs }));
    forms.push(SEGMENTS);
    let mut predictions = predict(&forms);
    let suffices = |prediction: &Prediction| {
        matches!(prediction.form, Form::ScalarSlabs { .. } | Form::Segments { .. })
            && !prediction.psnr_db.is_empty()
            && prediction.psnr_db.iter().all(|db| *db >= colour_below_db)
    };
    if !predictions.iter().any(suffices) {
        predictions.extend(predict(&COLOUR_SLABS.map(|slabs| Form::Slabs { slabs })));
    }
    predictions
}

/// A proxy in words.
pub(crate) fn described(form: Form) -> String {
    match form {
        Form::Bricks { level, bits: CodeBits::EIGHT } => format!("bricks of level {level}"),
        Form::Bricks { level, bits } => format!("bricks of level {level} with {} bits", bits.bits()),
        Form::Slabs { slabs } => format!("{slabs} slabs of colour"),
        Form::ScalarSlabs { slabs } => format!("{slabs} scalar slabs"),
        Form::Segments { segments } => format!("at most {segments} segments a ray"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pool, step};

    fn worth(level: u32, bytes: u64, psnr_db: f64) -> Worth {
        Worth { form: Form::Bricks { level, bits: CodeBits::EIGHT }, bytes, psnr_db: Some(psnr_db) }
    }

    #[test]
    fn the_best_that_fits_is_taken_and_of_those_alike_the_smallest() {
        let worths = [worth(0, 900, 44.0), worth(1, 300, 43.7), worth(2, 100, 31.0), worth(3, 10, 20.0)];
        let level = |budget| best(&worths, budget).map(|worth| worth.form);
        assert_eq!(level(1000), Some(Form::Bricks { level: 1, bits: CodeBits::EIGHT }));
        assert_eq!(level(299), Some(Form::Bricks { level: 2, bits: CodeBits::EIGHT }));
        assert_eq!(level(9), None);
    }

    #[test]
    fn slabs_that_show_one_transfer_function_are_for_what_others_show_badly() {
        const COLOUR: Form = Form::Slabs { slabs: 128 };
        const SCALAR: Form = Form::ScalarSlabs { slabs: 128 };
        let taken = |colour, scalar| {
            let worth = |form, bytes, psnr_db| Worth { form, bytes, psnr_db: Some(psnr_db) };
            best(&[worth(SCALAR, 100, scalar), worth(COLOUR, 300, colour)], 1000).map(|worth| worth.form)
        };
        assert_eq!(taken(35.0, 23.0), Some(COLOUR));
        assert_eq!(taken(32.0, 30.0), Some(SCALAR));
        assert_eq!(taken(60.0, 38.0), Some(SCALAR));
    }

    #[test]
    fn slabs_of_colour_are_not_looked_at_where_segments_are_good_from_all_sides() {
        let (step, pool) = (step(), pool());
        let function = step.default_transfer_function();
        let looked_at = |colour_below_db| {
            // Scalar slabs are no good from their side.
            let views = [Camera::default().turned(85.0)];
            predicted(&step, Camera::default(), 1.0, &function, &views, colour_below_db, &pool)
        };
        let all = looked_at(f64::INFINITY);
        let of = |kind: fn(Form) -> bool| all.iter().filter(move |prediction| kind(prediction.form));
        let best = |kind| of(kind).flat_map(|prediction| &prediction.psnr_db).fold(0.0, |a: f64, b| a.max(*b));
        let is_colour = |form| matches!(form, Form::Slabs { .. });
        let (scalar, segments) = (best(|form| matches!(form, Form::ScalarSlabs { .. })), best(|form| form == SEGMENTS));
        assert!(scalar < segments && of(is_colour).count() > 0, "{all:?}");
        assert!(!looked_at((scalar + segments) / 2.0).iter().any(|prediction| is_colour(prediction.form)));
    }

    #[test]
    fn where_nothing_is_known_of_quality_the_finest_bricks_that_fit_are_taken() {
        let bricks = |level, bytes| Worth { form: Form::Bricks { level, bits: CodeBits::EIGHT }, bytes, psnr_db: None };
        let slabs = Worth { form: Form::ScalarSlabs { slabs: 64 }, bytes: 5, psnr_db: None };
        let worths = [bricks(0, 900), bricks(1, 300), bricks(2, 100), slabs];
        assert_eq!(best(&worths, 500), Some(&bricks(1, 300)));
        assert_eq!(best(&worths, 50), Some(&slabs));
        // What is known goes first.
        let known = worth(2, 100, 20.0);
        assert_eq!(best(&[bricks(0, 300), known], 500), Some(&known));
    }

    #[test]
    fn what_looks_exact_is_not_bettered() {
        assert_eq!(best(&[worth(0, 900, 71.0), worth(1, 300, 51.0)], 1000), Some(&worth(1, 300, 51.0)));
    }
}
