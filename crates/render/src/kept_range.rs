//! Ranges that codes divide.

use visapult_volume::ValueRange;

use crate::CodeBits;

/// Share of the width that is shown by which values beyond it are told apart, too, on either side.
const BESIDE: f64 = 0.5;

/// Those values of the data that a transfer function of the range `shown` tells apart, and such beside them; all where it has none.
///
/// Values are mixed before they are looked up: were those beyond the range held at its ends, all that shows near these would move. A range of one value,
/// on either side of which all look alike, says nothing of how far they are to be told apart.
pub(crate) fn told_apart(data: Option<ValueRange>, shown: Option<[f32; 2]>) -> ValueRange {
    let data = data.unwrap_or(ValueRange { lo: 0.0, hi: 0.0 });
    let with_those_beside = |[lo, hi]: [f32; 2]| {
        data.overlap(ValueRange { lo, hi })?;
        let [lo, hi] = [lo, hi].map(f64::from);
        let beside = BESIDE * (hi - lo);
        data.overlap(ValueRange { lo: (lo - beside) as f32, hi: (hi + beside) as f32 })
    };
    shown.and_then(with_those_beside).unwrap_or(data)
}

/// How much of the values bricks keep, in widths of the range that is shown.
struct Keeping {
    /// Bricks leave out what is far from the range where the data are more: it would have too few codes.
    most: f64,
    /// What they keep at least on either side of it, and what they keep there when they leave something out.
    beside: [f64; 2],
}

impl Keeping {
    const FEW_CODES: Self = Self { most: 16.0, beside: [0.0, 0.5] };
    /// So many codes that cells at whose corners values lie well beyond the range still show it where it is. More would be told apart by codes, but not by the half
    /// floats that pages hold large levels as.
    const MANY_CODES: Self = Self { most: 32.0, beside: [2.0, 8.0] };

    fn of(bits: CodeBits) -> &'static Self {
        if bits.is_wide() { &Self::MANY_CODES } else { &Self::FEW_CODES }
    }
}

/// What bricks of `data` with codes of so many bits keep apart where a transfer function of the range `shown` is to show them, others being held at its ends; `None`
/// where they keep all.
///
/// It is what is around the range, so that it holds others, too, and stays what it was `before` as long as that does.
pub fn bricks_keep(
    data: Option<ValueRange>,
    shown: Option<[f32; 2]>,
    before: Option<ValueRange>,
    bits: CodeBits,
) -> Option<ValueRange> {
    // A range of one value has no ends that others could be held at.
    let (data, [lo, hi]) = (data?, shown.filter(|[lo, hi]| lo < hi)?.map(f64::from));
    let (width, Keeping { most, beside: [least, beside] }) = (hi - lo, Keeping::of(bits));
    let is_narrow = |within: ValueRange| f64::from(within.hi) - f64::from(within.lo) <= most * width;
    if !width.is_finite() || is_narrow(data) {
        return None;
    }
    let holds = |kept: &ValueRange| {
        let below = lo - least * width >= f64::from(kept.lo) || kept.lo <= data.lo;
        let above = hi + least * width <= f64::from(kept.hi) || kept.hi >= data.hi;
        below && above
    };
    let around = || {
        let unit = width.log2().floor().exp2();
        let [lo, hi] = [lo - beside * width, hi + beside * width];
        let [lo, hi] = [(lo / unit).floor() * unit, (hi / unit).ceil() * unit].map(|end| end as f32);
        data.overlap(ValueRange { lo, hi })
    };
    before.filter(|kept| is_narrow(*kept) && holds(kept)).or_else(around)
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
    fn values_beside_those_that_are_shown_are_told_apart_as_far_as_there_are_any() {
        let range = |lo, hi| ValueRange { lo, hi };
        let of = |lo, hi| told_apart(Some(range(-1.0, 9.0)), Some([lo, hi]));
        assert_eq!(of(1.0, 2.0), range(0.5, 2.5));
        assert_eq!(of(-1.0, 3.0), range(-1.0, 5.0));
        assert_eq!(of(-20.0, 0.0), range(-1.0, 9.0));
        for (lo, hi) in [(-1.0, 9.0), (-1e3, 1e3), (f32::MIN, f32::MAX), (20.0, 21.0), (4.0, 4.0)] {
            assert_eq!(of(lo, hi), range(-1.0, 9.0), "{lo} to {hi}");
        }
        assert_eq!(told_apart(Some(range(-1.0, 9.0)), None), range(-1.0, 9.0));
    }

    fn eight(data: Option<ValueRange>, shown: Option<[f32; 2]>, before: Option<ValueRange>) -> Option<ValueRange> {
        bricks_keep(data, shown, before, CodeBits::EIGHT)
    }

    #[test]
    fn many_codes_keep_far_more_and_not_what_few_kept() {
        let data = Some(ValueRange { lo: -9999.0, hi: 4000.0 });
        let sixteen = |shown, before| bricks_keep(data, Some(shown), before, CodeBits::SIXTEEN);
        assert_eq!(sixteen([0.0, 500.0], None), None);
        let kept = sixteen([0.0, 1.0], None).unwrap();
        assert_eq!([kept.lo, kept.hi], [-8.0, 9.0]);
        assert_eq!(sixteen([3.0, 4.0], Some(kept)), Some(kept));
        for (lo, hi) in [(0.0, 1.9), (-3.0, -2.01), (7.0, 11.0)] {
            let (kept, moved) = (sixteen([lo, hi], None), 5.0 * (hi - lo));
            assert_eq!(sixteen([lo + moved, hi + moved], kept), kept);
        }
        for shown in [[8.0, 9.0], [0.0, 0.1]] {
            assert_ne!(sixteen(shown, Some(kept)), Some(kept));
        }
        assert_eq!(sixteen([0.0, 1.0], eight(data, Some([0.0, 1.0]), None)), Some(kept));
    }

    #[test]
    fn bricks_keep_all_unless_values_go_far_beyond_what_is_shown() {
        let range = |lo, hi| ValueRange { lo, hi };
        assert_eq!(eight(None, Some([0.0, 1.0]), None), None);
        assert_eq!(eight(Some(range(0.0, 9.0)), None, None), None);
        assert_eq!(eight(Some(range(-5.0, 9.0)), Some([0.0, 1.0]), None), None);
        assert_eq!(eight(Some(range(0.0, 1e30)), Some([0.0, 1.0]), None), Some(range(0.0, 2.0)));
        assert_eq!(eight(Some(range(-1e6, 1.0)), Some([0.0, 1.0]), None), Some(range(-1.0, 1.0)));
        assert_eq!(eight(Some(range(f32::MIN, f32::MAX)), Some([0.0, 1.0]), None), Some(range(-1.0, 2.0)));
        // One value has no ends that others could be held at.
        assert_eq!(eight(Some(range(-1e6, 1.0)), Some([0.4, 0.4]), None), None);
        // Beside all values: they are at one end.
        assert_eq!(eight(Some(range(0.0, 9.0)), Some([20.0, 20.1]), None), None);
    }

    #[test]
    fn what_bricks_keep_holds_what_is_shown_and_is_little_more() {
        let data = ValueRange { lo: -9999.0, hi: 4000.0 };
        for (lo, hi) in [(0.0, 100.0), (-3.0, -2.9), (273.15, 291.0), (-9999.0, -9990.0), (3990.0, 4100.0)] {
            let kept = eight(Some(data), Some([lo, hi]), None).unwrap();
            let [from, to] = [lo, hi];
            assert!(kept.lo <= from.max(data.lo) && to.min(data.hi) <= kept.hi, "{kept:?} of {lo} to {hi}");
            assert!(kept.hi - kept.lo <= 4.0 * (to - from), "{kept:?} of {lo} to {hi}");
        }
    }

    #[test]
    fn bricks_keep_what_they_kept_while_it_serves() {
        let data = Some(ValueRange { lo: -9999.0, hi: 100.0 });
        let kept = eight(data, Some([0.0, 90.0]), None);
        for shown in [[-10.0, 95.0], [20.0, 60.0], [0.0, 1e4]] {
            let next = eight(data, Some(shown), kept);
            assert_eq!(next == kept, shown[1] < 1e3, "{shown:?}: {next:?}");
        }
        assert_ne!(eight(data, Some([0.0, 1.0]), kept), kept);
        assert_ne!(eight(data, Some([-500.0, 1.0]), kept), kept);
        assert_eq!(eight(data, Some([-9999.0, 100.0]), kept), None);
    }

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
