//! The samples of a block, in memory of its own or of somebody else's.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Samples that somebody else keeps, too. They do not change.
pub type SharedValues = Arc<dyn AsRef<[f32]> + Send + Sync>;

/// Samples of a box, `[z, y, x]` with x fastest.
#[derive(Clone)]
pub enum Values {
    /// In memory that nobody else has.
    Own(Vec<f32>),
    /// Where they lie.
    Shared(SharedValues),
}

impl Values {
    /// The samples, to be changed: those that somebody else keeps are copied before.
    pub fn to_mut(&mut self) -> &mut [f32] {
        if let Self::Shared(shared) = self {
            let own = shared.as_ref().as_ref().to_vec();
            *self = Self::Own(own);
        }
        match self {
            Self::Own(own) => own,
            Self::Shared(_) => &mut [],
        }
    }

    /// The memory, where nobody else has it.
    pub fn into_own(self) -> Option<Vec<f32>> {
        match self {
            Self::Own(own) => Some(own),
            Self::Shared(_) => None,
        }
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Self::Own(own) => own,
            Self::Shared(shared) => shared.as_ref().as_ref(),
        }
    }
}

impl From<Vec<f32>> for Values {
    fn from(own: Vec<f32>) -> Self {
        Self::Own(own)
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_keeps_is_copied_before_it_is_changed() {
        let kept: Arc<Vec<f32>> = Arc::new(vec![1.0, 2.0]);
        let mut values = Values::Shared(Arc::clone(&kept) as SharedValues);
        assert_eq!(values[..], [1.0, 2.0]);
        values.to_mut()[0] = 3.0;
        assert_eq!((&kept[..], &values[..]), (&[1.0, 2.0][..], &[3.0, 2.0][..]));
        assert_eq!(values.into_own(), Some(vec![3.0, 2.0]));
        assert_eq!(Values::Shared(kept).into_own(), None);
    }
}
