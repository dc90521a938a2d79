//! Ranges that codes divide.

use visapult_volume::ValueRange;

/// Those values of the data that a transfer function of the range `shown` tells apart; all where it has none.
pub(crate) fn told_apart(data: Option<ValueRange>, shown: Option<[f32; 2]>) -> ValueRange {
    let data = data.unwrap_or(ValueRange { lo: 0.0, hi: 0.0 });
    shown.and_then(|[lo, hi]| data.overlap(ValueRange { lo, hi })).unwrap_or(data)
}

/// `range`, widened by less than one of the `steps` that codes cut it into, so that zero is among them where it lies inside.
///
/// Much of a field may be zero, and what a code is off by there adds up along all of a ray.
pub(crate) fn with_zero_on_a_code(range: ValueRange, steps: f64) -> ValueRange {
    let [below, above] = [-f64::from(range.lo), f64::from(range.hi)];
    if below <= 0.0 || above <= 0.0 {
        return range;
    }
    // A step that holds what is below zero in so many steps, and what is above in the others.
    let step_with = |under: f64| (below / under).max(above / (steps - under));
    let under = (below / (below + above) * steps).clamp(1.0, steps - 1.0);
    let under = [under.floor(), under.ceil()].into_iter().min_by(|a, b| step_with(*a).total_cmp(&step_with(*b)));
    let under = under.unwrap_or(1.0);
    let [lo, hi] = [-under, steps - under].map(|share| (share * step_with(under)) as f32);
    if lo.is_finite() && hi.is_finite() { ValueRange { lo, hi } } else { range }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_a_code_and_the_range_hardly_grows() {
        for (lo, hi) in [(-0.3, 0.9), (-1.0, 1.0), (-1e-6, 5.0), (-7e4, 1e-3)] {
            for steps in [254.0, 1022.0, 1023.0, 65534.0] {
                let range = with_zero_on_a_code(ValueRange { lo, hi }, steps);
                let [now, before] = [[range.lo, range.hi], [lo, hi]].map(|range| range.map(f64::from));
                let step = (now[1] - now[0]) / steps;
                let zero = -now[0] / step;
                assert!((zero - zero.round()).abs() < 0.01, "{zero} is no code of {range:?}");
                let least = 1e-6 * (before[1] - before[0]);
                assert!(
                    now[0] <= before[0] + least && now[1] >= before[1] - least,
                    "{range:?} is less than {lo} to {hi}"
                );
                assert!(
                    now[1] - now[0] <= (before[1] - before[0]) * (1.0 + 1.01 / (steps - 1.0)),
                    "{range:?} of {lo} to {hi}"
                );
            }
        }
    }

    #[test]
    fn what_zero_is_no_part_of_stays() {
        for (lo, hi) in [(0.0, 1.0), (-2.0, 0.0), (3.0, 4.0), (-4.0, -3.0), (0.0, 0.0), (f32::MIN, f32::MAX)] {
            let range = ValueRange { lo, hi };
            assert_eq!(with_zero_on_a_code(range, 254.0), range);
        }
    }
}
