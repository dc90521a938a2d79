//! Where rays are in a box.

/// Nothing is cut away.
pub(crate) const UNCROPPED: [[f64; 2]; 3] = [[0.0, 1.0]; 3];

/// A box with faces perpendicular to the axes, in world units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WorldBox {
    pub(crate) lo: [f64; 3],
    pub(crate) hi: [f64; 3],
}

impl WorldBox {
    /// That of `edges`, around the origin.
    pub(crate) fn centred(edges: [f64; 3]) -> Self {
        Self::cropped(edges, UNCROPPED)
    }

    /// From where to where along each axis, in shares of `edges`, of that around the origin.
    pub(crate) fn cropped(edges: [f64; 3], crop: [[f64; 2]; 3]) -> Self {
        let at = |axis: usize, end: usize| (crop[axis][end] - 0.5) * edges[axis];
        Self { lo: [0, 1, 2].map(|axis| at(axis, 0)), hi: [0, 1, 2].map(|axis| at(axis, 1)) }
    }

    /// Distances along a ray at which it enters and leaves.
    ///
    /// The first is 0 for an eye inside; `None` where the ray misses. Slab method (Kay & Kajiya 1986).
    pub(crate) fn passed(&self, eye: [f64; 3], direction: [f64; 3]) -> Option<(f64, f64)> {
        let (mut t_in, mut t_out) = (0.0_f64, f64::INFINITY);
        for axis in 0..3 {
            let (lo, hi) = (self.lo[axis], self.hi[axis]);
            if direction[axis] == 0.0 {
                if eye[axis] < lo || eye[axis] > hi {
                    return None;
                }
                continue;
            }
            let t0 = (lo - eye[axis]) / direction[axis];
            let t1 = (hi - eye[axis]) / direction[axis];
            t_in = t_in.max(t0.min(t1));
            t_out = t_out.min(t0.max(t1));
        }
        (t_in < t_out && t_out.is_finite()).then_some((t_in, t_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_entered_at_the_eye_when_the_eye_is_inside() {
        let passed = |eye, direction| WorldBox::centred([1.0, 0.5, 1.0]).passed(eye, direction);
        let (t_in, t_out) = passed([0.0; 3], [0.0, 0.0, -1.0]).unwrap();
        assert_eq!((t_in, t_out), (0.0, 0.5));
        assert_eq!(passed([0.0, 0.3, 2.0], [0.0, 0.0, -1.0]), None);
        assert_eq!(passed([0.0, 0.0, 2.0], [0.0, 0.0, 1.0]), None);
    }
}
