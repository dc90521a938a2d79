//! Where samples lie along an axis, as it is told to others: in few numbers.

use visapult_volume::{Along, Coordinates, Grid};

use crate::messages::{AlongAxis, MOST_ALONG};
use crate::words::cut;

/// Of x, y, z; `None` of what tells nothing beyond the grid, and of coordinates that turn back.
pub fn told_along(grid: &Grid, along: &[Along; 3]) -> [Option<AlongAxis>; 3] {
    std::array::from_fn(|axis| {
        let along = &along[axis];
        let is_plain = |told: &AlongAxis| !told.is_vertical && is_axis(&told.name, axis) && along.is_as(grid, axis);
        told(along).filter(|told| !is_plain(told))
    })
}

/// Whether a name says no more than which axis it is of: `x`, `XCoordinates`.
fn is_axis(name: &str, axis: usize) -> bool {
    name.chars().next().is_some_and(|first| first.eq_ignore_ascii_case(&['x', 'y', 'z'][axis]))
}

fn told(along: &Along) -> Option<AlongAxis> {
    let Along::Told(Coordinates { name, unit, values, are_downwards }) = along else { return None };
    let told = AlongAxis {
        name: cut(name),
        // The number one is none (Climate and Forecast conventions, 3.1).
        unit: if unit == "1" { String::new() } else { cut(unit) },
        values: resampled(values, values.len().min(MOST_ALONG)),
        is_vertical: are_downwards.is_some(),
    };
    told.check().is_ok().then_some(told)
}

/// What was told of an axis of so many samples.
pub fn along_of(told: Option<&AlongAxis>, samples: usize) -> Along {
    let Some(AlongAxis { name, unit, values, is_vertical }) = told else { return Along::Grid };
    // They were put upright where they were told.
    let are_downwards = (*is_vertical && values.len() > 1).then(|| values.last() < values.first());
    let values = resampled(values, samples).into();
    Along::Told(Coordinates { name: name.clone(), unit: unit.clone(), values, are_downwards })
}

/// `values` at `count` equal distances from the first to the last, linear between them.
fn resampled(values: &[f64], count: usize) -> Vec<f64> {
    if values.len() == count {
        return values.to_vec();
    }
    let last = values.len() - 1;
    let at = |number: usize| {
        let place = number as f64 * last as f64 / (count - 1).max(1) as f64;
        let before = (place as usize).min(last);
        let after = (before + 1).min(last);
        values[before] + (place - before as f64) * (values[after] - values[before])
    };
    (0..count).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(values: &[f64]) -> Along {
        let (name, unit) = ("plev".to_owned(), "hPa".to_owned());
        Along::Told(Coordinates { name, unit, values: values.into(), are_downwards: Some(true) })
    }

    fn values(told: Option<AlongAxis>) -> Option<Vec<f64>> {
        told.map(|told| told.values)
    }

    #[test]
    fn few_coordinates_are_told_as_they_are_and_many_at_equal_distances() {
        assert_eq!(values(told(&along(&[1000.0, 500.0, 10.0]))), Some(vec![1000.0, 500.0, 10.0]));
        assert_eq!(values(told(&along(&[7.0]))), Some(vec![7.0]));
        let squares: Vec<f64> = (0..1000).map(|i| f64::from(i * i)).collect();
        let told = told(&along(&squares)).unwrap();
        assert_eq!((told.values.len(), told.values[0], told.values[MOST_ALONG - 1]), (MOST_ALONG, 0.0, 998_001.0));
        let Along::Told(again) = along_of(Some(&told), 1000) else { panic!("nothing was told") };
        assert!(again.values.iter().zip(&squares).all(|(one, other)| (one - other).abs() < 10.0));
    }

    #[test]
    fn what_tells_which_way_is_up_tells_it_elsewhere_too() {
        let pressures = along(&[1000.0, 500.0]);
        assert_eq!(along_of(told(&pressures).as_ref(), 2), pressures);
        // Of one nobody can tell.
        let Along::Told(one) = along_of(told(&along(&[500.0])).as_ref(), 1) else { panic!("nothing was told") };
        assert_eq!(one.are_downwards, None);
    }

    #[test]
    fn what_turns_back_or_is_not_known_is_not_told() {
        for turning in [&[1.0, 3.0, 2.0][..], &[1.0, 1.0], &[0.0, f64::INFINITY]] {
            assert_eq!(told(&along(turning)), None, "{turning:?}");
        }
        assert_eq!([told(&Along::Grid), told(&Along::Unknown)], [None, None]);
        assert_eq!(along_of(None, 5), Along::Grid);
    }
}
