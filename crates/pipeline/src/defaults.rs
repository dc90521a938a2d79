//! What a viewer of a step starts with: a range of values, and a transfer function over it.

use visapult_render::TransferFunction;
use visapult_volume::ValueRange;
use visapult_volume_io::Scale;

use crate::background::starting_function;
use crate::outliers::without_outliers;
use crate::statistics::Counts;

/// The range where no value is finite.
pub(crate) const NOTHING: ValueRange = ValueRange { lo: 0.0, hi: 1.0 };

/// What a viewer starts with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Defaults {
    /// What transfer functions are over that name no range: all that is known of the values.
    pub(crate) data_range: Option<ValueRange>,
    /// The same without outliers.
    pub(crate) range: Option<ValueRange>,
    pub(crate) scale: Scale,
    /// Over that range.
    pub(crate) transfer_function: TransferFunction,
}

impl Defaults {
    /// Those of a step of a file with values over all of `extent`, with the counts over its range. They depend on the step alone, whatever else
    /// has been looked at. `count` counts over a range.
    pub(crate) fn of_file<E>(
        scale: Scale,
        declared: Option<ValueRange>,
        extent: Option<ValueRange>,
        mut count: impl FnMut(ValueRange) -> Result<Counts, E>,
    ) -> Result<(Self, Counts), E> {
        let (range, counts) = match (declared, extent) {
            (None, Some(extent)) => without_outliers(extent, count)?,
            (declared, _) => {
                let range = declared.unwrap_or(NOTHING);
                (range, count(range)?)
            }
        };
        let data_range = declared.or(extent);
        let transfer_function = starting_function(range, scale, &counts.bins);
        Ok((Self { data_range, range: data_range.and(Some(range)), scale, transfer_function }, counts))
    }

    /// Those of a step of a simulation with values over all of `known` so far, with the counts over that. What is rare in one step may be what
    /// the next ones are about.
    pub(crate) fn of_simulation<E>(
        scale: Scale,
        known: Option<ValueRange>,
        mut count: impl FnMut(ValueRange) -> Result<Counts, E>,
    ) -> Result<(Self, Counts), E> {
        let counts = count(known.unwrap_or(NOTHING))?;
        Ok((Self { data_range: known, range: known, scale, transfer_function: over_all(known, scale) }, counts))
    }
}

/// The transfer function over all values, whatever most of them are.
pub(crate) fn over_all(values: Option<ValueRange>, scale: Scale) -> TransferFunction {
    plain(values.unwrap_or(NOTHING), scale)
}

/// On a logarithmic scale neither 0 nor the sign means anything.
pub(crate) fn plain(range: ValueRange, scale: Scale) -> TransferFunction {
    match scale {
        Scale::Linear => TransferFunction::default_for(range),
        Scale::Logarithmic => TransferFunction::ramp(range),
    }
}
