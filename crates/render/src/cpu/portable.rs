//! Sixteen lanes as arrays, for the compiler to vectorise as it can.

use super::dispatch::Task;
use super::lanes::{Cells, Indices, LANES, Lanes};
use super::table::Table;

/// Needs nothing of the processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Portable {
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }
}

#[inline(always)]
fn each<A: Copy, B: Copy, C>(a: [A; LANES], b: [B; LANES], f: impl Fn(A, B) -> C) -> [C; LANES] {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

impl Lanes for Portable {
    type F = [f32; LANES];
    type Colors = [[f32; 4]; LANES];

    #[inline(always)]
    fn load(self, values: &[f32; LANES]) -> Self::F {
        *values
    }

    #[inline(always)]
    fn store(self, values: Self::F) -> [f32; LANES] {
        values
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F {
        [value; LANES]
    }

    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        std::array::from_fn(|lane| a[lane] * b[lane] + c[lane])
    }

    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn any_less(self, a: Self::F, b: Self::F, x: Self::F, y: Self::F) -> bool {
        (0..LANES).any(|lane| a[lane] < b[lane] && x[lane] < y[lane])
    }

    #[inline(always)]
    fn interpolate<const N: usize>(self, cells: Cells<'_>, positions: [[Self::F; 3]; N]) -> [Self::F; N] {
        let [sy, sz] = cells.strides();
        let (last, last_cell) = (cells.last_sample(), cells.last_cell());
        let values = cells.values();
        let lerp = |a: f32, b: f32, f: f32| a + f * (b - a);
        positions.map(|position| {
            std::array::from_fn(|lane| {
                let held: [f32; 3] = std::array::from_fn(|axis| position[axis][lane].max(0.0).min(last[axis]));
                let cell: [usize; 3] = std::array::from_fn(|axis| held[axis].min(last_cell[axis]) as usize);
                let [fx, fy, fz] = std::array::from_fn(|axis| held[axis] - cell[axis] as f32);
                let corner = cell[2] * sz + cell[1] * sy + cell[0];
                let row = |start: usize| lerp(values[start], values[start + 1], fx);
                let plane = |start: usize| lerp(row(start), row(start + sy), fy);
                lerp(plane(corner), plane(corner + sz), fz)
            })
        })
    }

    #[inline(always)]
    fn load_colors(self, colors: &[[f32; 4]; LANES]) -> Self::Colors {
        *colors
    }

    #[inline(always)]
    fn store_colors(self, colors: Self::Colors) -> [[f32; 4]; LANES] {
        colors
    }

    #[inline(always)]
    fn entries(self, table: &Table, value: Self::F, x: Self::F, limit: Self::F) -> Indices {
        let index = |lane: usize| if x[lane] < limit[lane] { table.index(value[lane]) as u32 } else { 0 };
        Indices::new(std::array::from_fn(index))
    }

    #[inline(always)]
    fn composite(self, mut front: Self::Colors, table: &Table, entries: &Indices) -> Self::Colors {
        let table = table.entries();
        for (color, &index) in front.iter_mut().zip(entries.get()) {
            let behind = table[index as usize].0;
            let through = 1.0 - color[3];
            color.iter_mut().zip(behind).for_each(|(c, b)| *c += through * b);
        }
        front
    }

    #[inline(always)]
    fn alphas(self, colors: Self::Colors) -> Self::F {
        colors.map(|[.., alpha]| alpha)
    }
}
