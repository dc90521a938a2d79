//! Coordinates of samples along an axis.

/// Evenly spaced, growing coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Even {
    pub(crate) first: f64,
    pub(crate) spacing: f64,
}

impl Even {
    /// `None` unless the coordinates grow by the same distance each, to one part in a hundred.
    pub(crate) fn of(coordinates: &[f64]) -> Option<Self> {
        let (&first, &last) = (coordinates.first()?, coordinates.last()?);
        let spacing = (last - first) / (coordinates.len() as f64 - 1.0);
        let even = |pair: &[f64]| (pair[1] - pair[0] - spacing).abs() <= 0.01 * spacing;
        let usable = spacing.is_finite() && spacing > 0.0 && coordinates.windows(2).all(even);
        usable.then_some(Self { first, spacing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_even_growing_coordinates_are_a_grid() {
        assert_eq!(Even::of(&[1.0, 1.5, 2.0]), Some(Even { first: 1.0, spacing: 0.5 }));
        for uneven in [&[1.0, 2.0, 4.0][..], &[3.0, 2.0, 1.0], &[1.0], &[], &[1.0, 1.0], &[0.0, f64::NAN, 2.0]] {
            assert_eq!(Even::of(uneven), None, "{uneven:?}");
        }
    }
}
