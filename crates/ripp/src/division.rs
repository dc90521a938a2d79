//! How those that share a rate divide it: by weight, and what one makes no use of the others have.
//!
//! Knows no clock and nobody who shares: it is told what each did with what it had, and what each would have.

/// Share of what it may that one has to make use of, to be taken for one that would make use of more.
const HUNGRY: f64 = 0.8;
/// What one that is not is left beyond what it made use of, that it may grow.
const ROOM: f64 = 1.25;

/// What one would make use of that has made use of so much of what it may, in bits per second; it is left `least_bps` to begin with.
#[must_use]
pub fn demand(used_bps: f64, may_bps: f64, least_bps: f64) -> f64 {
    if used_bps >= HUNGRY * may_bps { f64::INFINITY } else { (ROOM * used_bps).max(least_bps) }
}

/// Divides all of `total` among those with these weights and demands; who demands less than that has it, and the others divide the rest.
#[must_use]
pub fn divide(total: f64, wants: &[(u32, f64)]) -> Vec<f64> {
    let mut shares = vec![0.0; wants.len()];
    let mut open: Vec<usize> = (0..wants.len()).collect();
    let mut left = total;
    loop {
        let weights: f64 = open.iter().map(|&at| f64::from(wants[at].0)).sum();
        let share = |at: usize| left * f64::from(wants[at].0) / weights.max(1.0);
        let modest: Vec<usize> = open.iter().copied().filter(|&at| wants[at].1 < share(at)).collect();
        // If all are, nobody is there to have the rest, and each may do more than it would.
        if modest.is_empty() || modest.len() == open.len() {
            open.iter().for_each(|&at| shares[at] = share(at));
            return shares;
        }
        for &at in &modest {
            shares[at] = wants[at].1;
        }
        left -= modest.iter().map(|&at| wants[at].1).sum::<f64>();
        open.retain(|at| !modest.contains(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_makes_no_use_of_the_others_have_by_weight() {
        let all = f64::INFINITY;
        assert_eq!(divide(12.0, &[(1, all), (1, all), (2, all)]), [3.0, 3.0, 6.0]);
        assert_eq!(divide(12.0, &[(1, 1.0), (1, all), (1, all)]), [1.0, 5.5, 5.5]);
        // One that is modest only because another is.
        assert_eq!(divide(12.0, &[(1, 1.0), (1, 4.5), (1, all)]), [1.0, 4.5, 6.5]);
        assert_eq!(divide(12.0, &[(1, 1.0), (1, 2.0)]), [6.0, 6.0]);
        assert_eq!(divide(12.0, &[]), Vec::<f64>::new());
    }

    #[test]
    fn who_uses_most_of_what_it_may_would_use_more_and_others_are_left_room() {
        assert_eq!(demand(8.0, 10.0, 1.0), f64::INFINITY);
        assert_eq!(demand(4.0, 10.0, 1.0), 5.0);
        assert_eq!(demand(0.0, 10.0, 1.0), 1.0);
    }
}
