//! Arrays of several numbers for each point or cell: each component is a field.

use std::ops::RangeInclusive;

/// So many are components: 2 and 3 of a vector, 9 of a tensor.
const COUNTS: RangeInclusive<u64> = 2..=9;

/// The components of an array with so many numbers for each sample, if these are some.
pub(super) fn of(numbers: usize) -> Option<u64> {
    u64::try_from(numbers).ok().filter(|numbers| COUNTS.contains(numbers))
}

/// What a component of an array is called, as a field.
pub(super) fn name_of(array: &str, component: u64, components: u64) -> String {
    match (components, ["x", "y", "z"].get(component as usize)) {
        (2 | 3, Some(letter)) => format!("{array}/{letter}"),
        _ => format!("{array}/{component}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_letters_and_tensors_numbers() {
        let names = |components| [0, 1].map(|component| name_of("v", component, components));
        assert_eq!([names(3), names(6)], [["v/x", "v/y"], ["v/0", "v/1"]]);
        assert_eq!([0, 1, 2, 9, 10].map(of), [None, None, Some(2), Some(9), None]);
    }
}
