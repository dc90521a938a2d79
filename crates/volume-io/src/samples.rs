//! A box of samples as people write it: along z, y and x, as NumPy indexes them (`0:256,:,128:`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use visapult_volume::Box3;

/// Samples along an axis, from the first on, before the end; none is the end of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// The first.
    pub first: u64,
    /// After the last.
    pub end: Option<u64>,
}

impl Samples {
    /// First and end of them on an axis of so many samples; none if it does not have all of them, or they are none.
    fn on_axis(self, samples: usize) -> Option<(usize, usize)> {
        let end = self.end.unwrap_or(samples as u64);
        (self.first < end && end <= samples as u64).then_some((self.first as usize, end as usize))
    }
}

/// `A:B`, either of which may be missing; a number alone is that one.
impl FromStr for Samples {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((first, end)) = text.split_once(':') else {
            let first = count_of(text)?;
            return Ok(Self { first, end: first.checked_add(1) });
        };
        let first = if first.trim().is_empty() { 0 } else { count_of(first)? };
        let end = if end.trim().is_empty() { None } else { Some(count_of(end)?) };
        if end.is_some_and(|end| end <= first) {
            return Err(format!("{text:?} holds none"));
        }
        Ok(Self { first, end })
    }
}

/// As it is read.
impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { first: 0, end: None } => write!(f, ":"),
            Self { first, end: None } => write!(f, "{first}:"),
            Self { first, end: Some(end) } if first.checked_add(1) == Some(end) => write!(f, "{first}"),
            Self { first, end: Some(end) } => write!(f, "{first}:{end}"),
        }
    }
}

/// A number from 0 on.
///
/// # Errors
/// If it is none.
pub fn count_of(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no number from 0 on"))
}

/// What is written for z, y and x, with commas between.
///
/// # Errors
/// What is wrong with `one` of them, or that there are not three.
pub fn zyx<T>(text: &str, one: impl Fn(&str) -> Result<T, String>) -> Result<[T; 3], String> {
    let all = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
    all.try_into().map_err(|_| "expected three, for z, y and x".to_owned())
}

/// Samples along z, y and x, as in `0:256,:,128:`.
///
/// # Errors
/// What is wrong with them.
pub fn samples_zyx(text: &str) -> Result<[Samples; 3], String> {
    zyx(text, str::parse)
}

/// The box of samples along z, y and x in a grid of such a size (along x, y, z).
///
/// # Errors
/// Names those that are not all there.
pub fn box_of(samples: [Samples; 3], size: [usize; 3]) -> Result<Box3, String> {
    let mut bounds = Box3::of_size(size);
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let (samples, there) = (samples[2 - axis], size[axis]);
        let Some((first, end)) = samples.on_axis(there) else {
            return Err(format!("{samples} is not in the {there} samples along {name}"));
        };
        (bounds.lo[axis], bounds.hi[axis]) = (first, end);
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_read_as_numpy_writes_them() {
        let samples = |first, end| Samples { first, end };
        assert_eq!(samples_zyx("0:256,:,128:"), Ok([samples(0, Some(256)), samples(0, None), samples(128, None)]));
        assert_eq!(samples_zyx("7, :9 ,1:2"), Ok([samples(7, Some(8)), samples(0, Some(9)), samples(1, Some(2))]));
        for wrong in ["", "1:2", "1:2,3:4", "2:1,:,:", "2:2,:,:", "-1:2,:,:", "-1,:,:", "a,b,c", ":,:,:,:", "1:2:3,:,:"]
        {
            assert!(samples_zyx(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["0:256,:,128:", "7,0:9,1"] {
            assert_eq!(samples_zyx(text).unwrap().map(|samples| samples.to_string()).join(","), text);
        }
    }

    #[test]
    fn a_box_is_within_the_grid_and_holds_something() {
        let bounds = |text| box_of(samples_zyx(text).unwrap(), [40, 30, 20]);
        assert_eq!(bounds("2:5,:,39"), Ok(Box3::new([39, 0, 2], [40, 30, 5])));
        for (text, problem) in [
            ("0:21,:,:", "0:21 is not in the 20 samples along z"),
            (":,30:,:", "30: is not in the 30 samples along y"),
            (":,:,40", "40 is not in the 40 samples along x"),
        ] {
            assert_eq!(bounds(text), Err(problem.to_owned()));
        }
        let last = Samples { first: u64::MAX, end: None };
        assert!(box_of([last; 3], [1; 3]).is_err());
    }
}
