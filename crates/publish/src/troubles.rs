//! What has been said of why nothing comes about between the two ends: each reason once.

use std::collections::BTreeSet;

/// Reasons that are told at most.
const MOST_TROUBLES: usize = 16;

/// What has been said of why nothing comes about between a publisher and a back end.
#[derive(Default)]
pub struct Troubles(BTreeSet<String>);

impl Troubles {
    /// Whether it has not been said before; of very many that differ only the first are said.
    pub fn is_new(&mut self, trouble: &str) -> bool {
        self.0.len() < MOST_TROUBLES && self.0.insert(trouble.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once_and_not_very_many_are() {
        let mut troubles = Troubles::default();
        assert!(troubles.is_new("nobody listens") && troubles.is_new("a wrong token"));
        assert!(!troubles.is_new("nobody listens"));
        let told = (0..1000).filter(|number| troubles.is_new(&number.to_string())).count();
        assert_eq!(told, MOST_TROUBLES - 2);
    }
}
