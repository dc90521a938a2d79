//! Colour maps of default transfer functions; the page has more of them.

/// A colour map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMap {
    /// Purple, green, yellow (van der Walt & Smith 2015).
    Viridis,
    /// Blue, white, orange-red: for values of two signs, bright at both ends so that it reads on dark ground.
    Diverging,
}

impl ColorMap {
    /// Equally spaced display colours, linear in between.
    pub fn points(self) -> &'static [[f32; 3]] {
        match self {
            Self::Viridis => &VIRIDIS,
            Self::Diverging => &DIVERGING,
        }
    }

    /// The colour at `s` in 0..=1.
    pub fn color(self, s: f32) -> [f32; 3] {
        let points = self.points();
        let place = s.clamp(0.0, 1.0) * (points.len() - 1) as f32;
        let below = (place as usize).min(points.len() - 2);
        let weight = place - below as f32;
        std::array::from_fn(|c| points[below][c] + weight * (points[below + 1][c] - points[below][c]))
    }
}

const DIVERGING: [[f32; 3]; 5] =
    [[0.16, 0.42, 0.93], [0.42, 0.70, 0.98], [0.92, 0.93, 0.95], [0.99, 0.65, 0.40], [0.94, 0.28, 0.18]];

const VIRIDIS: [[f32; 3]; 17] = [
    [0.2670, 0.0049, 0.3294],
    [0.2823, 0.0950, 0.4173],
    [0.2788, 0.1755, 0.4834],
    [0.2590, 0.2515, 0.5247],
    [0.2297, 0.3224, 0.5457],
    [0.1994, 0.3876, 0.5546],
    [0.1727, 0.4488, 0.5579],
    [0.1490, 0.5081, 0.5573],
    [0.1276, 0.5669, 0.5506],
    [0.1206, 0.6258, 0.5335],
    [0.1579, 0.6838, 0.5017],
    [0.2461, 0.7389, 0.4520],
    [0.3692, 0.7889, 0.3829],
    [0.5160, 0.8312, 0.2943],
    [0.6785, 0.8637, 0.1895],
    [0.8456, 0.8873, 0.0997],
    [0.9932, 0.9062, 0.1439],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_between_points_are_linear_and_ends_hold() {
        let [first, second] = [DIVERGING[0], DIVERGING[1]];
        assert_eq!(ColorMap::Diverging.color(0.125), std::array::from_fn(|c| first[c] + 0.5 * (second[c] - first[c])));
        assert_eq!(ColorMap::Viridis.color(1.0), VIRIDIS[16]);
        assert_eq!(ColorMap::Viridis.color(-2.0), VIRIDIS[0]);
    }
}
