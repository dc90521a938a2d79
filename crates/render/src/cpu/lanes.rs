//! What the kernel asks of a vector unit: sixteen lanes of `f32`, and the two memory patterns of ray casting.
//!
//! The kernel is written once over [`Lanes`] and compiled once for each instruction set; the widest one that the
//! processor has is chosen at run time.

/// Samples that a ray takes in one go, so that loads of one overlap arithmetic of another.
pub(crate) const STRIDE: usize = 4;

/// Rays that are marched together: a packet of 4 x 4 neighbouring pixels.
pub(crate) const LANES: usize = 16;

/// Entries of a [`Table`]: each below [`Table::LEN`].
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Indices([u32; LANES]);

impl Indices {
    /// Held at the table's last entry.
    #[inline(always)]
    pub(crate) fn new(entries: [u32; LANES]) -> Self {
        let mut held = entries;
        held.iter_mut().for_each(|entry| *entry = (*entry).min(Table::LEN as u32 - 1));
        Self(held)
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> &[u32; LANES] {
        &self.0
    }
}

/// Stored values of a block, addressed by the first sample of an interpolation cell.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    /// Values, x fastest; every row has at least two samples.
    values: &'a [f32],
    /// Samples along each axis.
    size: [usize; 3],
}

impl<'a> Cells<'a> {
    /// `None` unless `values` holds `size` samples, at least two a row, within reach of 32-bit sample numbers, on axes
    /// short enough for `f32` to count.
    pub(crate) fn new(values: &'a [f32], size: [usize; 3]) -> Option<Self> {
        let countable = size.iter().all(|n| (1..1 << 24).contains(n));
        let addressable = values.len() <= i32::MAX as usize && size[0] >= 2 && countable;
        (addressable && size.iter().product::<usize>() == values.len()).then_some(Self { values, size })
    }

    pub(crate) fn values(&self) -> &'a [f32] {
        self.values
    }

    /// Distance in memory to the next sample along y and z; 0 along axes that have only one.
    pub(crate) fn strides(&self) -> [usize; 2] {
        let [nx, ny, nz] = self.size;
        [if ny > 1 { nx } else { 0 }, if nz > 1 { nx * ny } else { 0 }]
    }

    /// Largest coordinate along each axis.
    pub(crate) fn last_sample(&self) -> [f32; 3] {
        self.size.map(|n| (n - 1) as f32)
    }

    /// First sample of the last interpolation cell along each axis.
    pub(crate) fn last_cell(&self) -> [f32; 3] {
        self.size.map(|n| (n.max(2) - 2) as f32)
    }
}

/// Sixteen lanes of one instruction set. A value of the type is the proof that the processor has it.
pub(crate) trait Lanes: Copy {
    /// Sixteen `f32`.
    type F: Copy;
    /// Sixteen associated RGBA colours.
    type Colors: Copy;

    fn load(self, values: &[f32; LANES]) -> Self::F;
    fn store(self, values: Self::F) -> [f32; LANES];
    fn splat(self, value: f32) -> Self::F;
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`.
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `b` where `a` or `b` is NaN.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// `b` where `a` or `b` is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// Whether `a < b` and `x < y` in any one lane.
    fn any_less(self, a: Self::F, b: Self::F, x: Self::F, y: Self::F) -> bool;

    /// Trilinear interpolation at positions in sample coordinates; held at the outermost samples beyond them.
    fn interpolate<const N: usize>(self, cells: Cells<'_>, positions: [[Self::F; 3]; N]) -> [Self::F; N];

    fn load_colors(self, colors: &[[f32; 4]; LANES]) -> Self::Colors;
    fn store_colors(self, colors: Self::Colors) -> [[f32; 4]; LANES];
    /// The entries of `value`; entry 0, which is transparent, where not `x < limit`.
    fn entries(self, table: &Table, value: Self::F, x: Self::F, limit: Self::F) -> Indices;
    /// Puts entries behind `front`: `front += (1 - alpha of front) * entry`.
    fn composite(self, front: Self::Colors, table: &Table, entries: &Indices) -> Self::Colors;
    /// The opacities.
    fn alphas(self, colors: Self::Colors) -> Self::F;
}

use super::table::Table;
