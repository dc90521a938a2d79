//! What tests of this crate share.

pub(crate) mod scenes;

use visapult_volume::{Decomposition, Grid};

pub(crate) use scenes::blocks_of;

use crate::reference::render_reference;
use crate::{Camera, Image, TransferFunction, Volume};

/// A small seeded generator (SplitMix64), so that property tests repeat exactly.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 / (1 << 24) as f32
    }
}

/// A smooth wave in a cube of `edge` samples, `[z, y, x]`.
pub(crate) fn wave(edge: usize) -> Vec<f32> {
    let at = |i: usize| [i % edge, i / edge % edge, i / (edge * edge)].map(|n| n as f32 / (edge - 1) as f32);
    let value = |[x, y, z]: [f32; 3]| {
        let r = ((x - 0.4).powi(2) + (y - 0.55).powi(2) + (z - 0.5).powi(2)).sqrt();
        (14.0 * r).sin() * (-1.5 * r).exp()
    };
    (0..edge.pow(3)).map(|i| value(at(i))).collect()
}

/// The wave as `pes` PEs hold it, all in one process.
pub(crate) fn wave_of(edge: usize, pes: usize) -> Volume {
    let grid = Grid::of_size([edge; 3]);
    let split = Decomposition::new(grid.size, pes, 4).expect("the boxes fit");
    Volume::new(grid, split, blocks_of(&wave(edge), [edge; 3], pes, 4)).expect("the blocks are those of the boxes")
}

/// The wave, the farther half of it missing.
pub(crate) fn half_wave(edge: usize) -> Volume {
    let mut values = wave(edge);
    values.iter_mut().skip(edge.pow(3) / 2).for_each(|value| *value = f32::NAN);
    Volume::whole(Grid::of_size([edge; 3]), values).expect("as many values as the grid has")
}

/// Nothing but missing values.
pub(crate) fn nothing() -> Volume {
    Volume::whole(Grid::of_size([4; 3]), vec![f32::NAN; 64]).expect("as many values as the grid has")
}

/// Shows all of the wave, nothing of it opaque.
pub(crate) fn soft() -> TransferFunction {
    let points = vec![[0.0, 0.1, 0.3, 0.9, 0.1], [0.5, 0.9, 0.9, 0.9, 0.0], [1.0, 0.9, 0.3, 0.1, 0.1]];
    TransferFunction { range: Some([-1.0, 1.0]), points }
}

/// Shows a range of such a `width` of the wave, with an opacity that begins and ends within it.
pub(crate) fn narrow(width: f32) -> TransferFunction {
    let points = vec![[0.0, 1.0, 0.3, 0.1, 0.0], [0.5, 1.0, 0.8, 0.2, 0.6], [1.0, 0.2, 0.4, 1.0, 0.0]];
    TransferFunction { range: Some([0.3 - width / 2.0, 0.3 + width / 2.0]), points }
}

/// Largest and mean relative error of the optical depth of `drawn`, square and in the default view, against that of `volume`.
pub(crate) fn errors_of_depth(drawn: &Image, volume: &Volume) -> [f32; 2] {
    let exact = render_reference(volume, &Camera::default(), &soft(), drawn.width, drawn.height, 0.0625).image;
    let depths = drawn.rgba.iter().zip(&exact.rgba).map(|(a, b)| [a[3], b[3]].map(|alpha| -(1.0 - alpha).ln()));
    let counted = depths.filter(|[_, exact]| (0.5..4.0).contains(exact));
    let errors: Vec<f32> = counted.map(|[drawn, exact]| (drawn / exact - 1.0).abs()).collect();
    assert!(errors.len() > 1000);
    [errors.iter().fold(0.0, |a: f32, b| a.max(*b)), errors.iter().sum::<f32>() / errors.len() as f32]
}
