//! Named colour maps, perceptually uniform where they are sequential.

/// A named colour map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMap {
    /// Purple, green, yellow (van der Walt & Smith 2015).
    Viridis,
    /// Blue, gray, yellow; the same for colour-blind eyes (Nuñez, Anderton & Renslow 2018).
    Cividis,
    /// Black, red, yellow (van der Walt & Smith 2015).
    Inferno,
    /// Black to white.
    Gray,
    /// Blue, white, orange-red: for values of two signs, bright at both ends so that it reads on dark ground.
    Diverging,
}

impl ColorMap {
    /// All of them, in the order to offer them.
    pub const ALL: [Self; 5] = [Self::Viridis, Self::Cividis, Self::Inferno, Self::Gray, Self::Diverging];

    /// The name to show and to type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viridis => "viridis",
            Self::Cividis => "cividis",
            Self::Inferno => "inferno",
            Self::Gray => "gray",
            Self::Diverging => "diverging",
        }
    }

    /// The map of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|map| map.name() == name)
    }

    /// Equally spaced display colours, linear in between.
    pub fn points(self) -> &'static [[f32; 3]] {
        match self {
            Self::Viridis => &VIRIDIS,
            Self::Cividis => &CIVIDIS,
            Self::Inferno => &INFERNO,
            Self::Gray => &GRAY,
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

const GRAY: [[f32; 3]; 2] = [[0.0; 3], [1.0; 3]];

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

const CIVIDIS: [[f32; 3]; 17] = [
    [0.0000, 0.1351, 0.3048],
    [0.0000, 0.1788, 0.4148],
    [0.1034, 0.2204, 0.4358],
    [0.1951, 0.2644, 0.4259],
    [0.2637, 0.3078, 0.4228],
    [0.3242, 0.3513, 0.4263],
    [0.3808, 0.3952, 0.4357],
    [0.4352, 0.4398, 0.4511],
    [0.4887, 0.4853, 0.4710],
    [0.5478, 0.5319, 0.4717],
    [0.6091, 0.5798, 0.4636],
    [0.6720, 0.6293, 0.4480],
    [0.7365, 0.6806, 0.4240],
    [0.8027, 0.7340, 0.3902],
    [0.8707, 0.7896, 0.3433],
    [0.9411, 0.8475, 0.2758],
    [0.9957, 0.9093, 0.2178],
];

const INFERNO: [[f32; 3]; 17] = [
    [0.0015, 0.0005, 0.0139],
    [0.0423, 0.0281, 0.1411],
    [0.1293, 0.0473, 0.2908],
    [0.2383, 0.0366, 0.3964],
    [0.3415, 0.0623, 0.4294],
    [0.4412, 0.0993, 0.4316],
    [0.5409, 0.1347, 0.4151],
    [0.6401, 0.1714, 0.3811],
    [0.7357, 0.2159, 0.3302],
    [0.8224, 0.2752, 0.2661],
    [0.8943, 0.3534, 0.1936],
    [0.9470, 0.4492, 0.1153],
    [0.9784, 0.5579, 0.0349],
    [0.9879, 0.6753, 0.0653],
    [0.9746, 0.7977, 0.2063],
    [0.9476, 0.9174, 0.4107],
    [0.9884, 0.9984, 0.6449],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_maps() {
        for map in ColorMap::ALL {
            assert_eq!(ColorMap::from_name(map.name()), Some(map));
        }
        assert_eq!(ColorMap::from_name("rainbow"), None);
    }

    #[test]
    fn colours_between_points_are_linear_and_ends_hold() {
        assert_eq!(ColorMap::Gray.color(0.25), [0.25; 3]);
        assert_eq!(ColorMap::Viridis.color(1.0), VIRIDIS[16]);
        assert_eq!(ColorMap::Viridis.color(-2.0), VIRIDIS[0]);
    }
}
