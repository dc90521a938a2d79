//! Rays as pieces that can be evaluated at any depth, and mixed between four rays.

use rayon::prelude::*;

use super::line::{Knot, cubics};

/// The value over planes from `from` to where the next piece begins: a cubic of `(plane - from) * scale`; NaN where nothing is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) from: f32,
    pub(super) scale: f32,
    pub(super) cubic: [f32; 4],
}

impl Piece {
    fn constant(from: f32, code: f32) -> Self {
        Self { from, scale: 0.0, cubic: [code, 0.0, 0.0, 0.0] }
    }

    #[inline(always)]
    pub(super) fn at(&self, plane: f32) -> f32 {
        let (x, [c0, c1, c2, c3]) = ((plane - self.from) * self.scale, self.cubic);
        ((c3 * x + c2) * x + c1) * x + c0
    }
}

/// The pieces of all rays.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// First piece of each ray, and the end of the last.
    starts: Vec<u32>,
    pieces: Vec<Piece>,
}

impl Pieces {
    pub(super) fn of(rays: &[&[Knot]]) -> Self {
        let of_some = |rays: &[&[Knot]]| {
            let (mut pieces, mut ends) = (Vec::new(), Vec::with_capacity(rays.len()));
            for knots in rays {
                add_pieces(knots, &mut pieces);
                ends.push(pieces.len() as u32);
            }
            (ends, pieces)
        };
        let of_rays: Vec<(Vec<u32>, Vec<Piece>)> = rays.par_chunks(1024).map(of_some).collect();
        let (mut starts, mut all) = (vec![0], Vec::new());
        for (ends, pieces) in of_rays {
            let before = all.len() as u32;
            starts.extend(ends.iter().map(|end| before + end));
            all.extend(pieces);
        }
        Self { starts, pieces: all }
    }

    /// The pieces of ray `ray`; the first reaches from before all planes.
    pub(super) fn ray(&self, ray: usize) -> &[Piece] {
        &self.pieces[self.starts[ray] as usize..self.starts[ray + 1] as usize]
    }

    /// The value at rays and plane `at`, of `width` rays per row: mixed between the rays around, those left out that know none;
    /// `None` where the nearest ray knows none.
    #[inline(always)]
    pub(super) fn mixed(&self, at: [f32; 3], width: usize, cursor: &mut Cursor) -> Option<f32> {
        let cell = [at[0] as usize, at[1] as usize];
        let part = [at[0] - cell[0] as f32, at[1] - cell[1] as f32];
        let right = usize::from(cell[0] + 1 < width);
        cursor.enter(self, cell[1] * width + cell[0], right, width);
        let mut value = |corner| cursor.value(self, corner, at[2]);
        let values = [value(0), value(1), value(2), value(3)];
        let shares = [
            (1.0 - part[0]) * (1.0 - part[1]),
            part[0] * (1.0 - part[1]),
            (1.0 - part[0]) * part[1],
            part[0] * part[1],
        ];
        let sum: f32 = (0..4).map(|i| shares[i] * values[i]).sum();
        if !sum.is_nan() {
            return Some(sum);
        }
        let nearest = usize::from(part[0] >= 0.5) + 2 * usize::from(part[1] >= 0.5);
        if values[nearest].is_nan() {
            return None;
        }
        let known = (0..4).filter(|i| !values[*i].is_nan());
        let (sum, weight) =
            known.fold((0.0, 0.0), |(sum, weight), i| (sum + shares[i] * values[i], weight + shares[i]));
        Some(sum / weight)
    }
}

/// Half a plane before a run and behind it, its first and last value hold; between runs at neighbouring planes values are linear.
fn add_pieces(knots: &[Knot], pieces: &mut Vec<Piece>) {
    let nothing = |from: f32| Piece::constant(from, f32::NAN);
    pieces.push(nothing(f32::NEG_INFINITY));
    for ((i, knot), cubic) in knots.iter().enumerate().zip(cubics(knots)) {
        let (plane, code) = (f32::from(knot.plane), f32::from(knot.code));
        let after_gap = knot.starts_run && (i == 0 || knots[i - 1].plane + 1 < knot.plane);
        if after_gap {
            pieces.push(Piece::constant(plane - 0.5, code));
        }
        match (cubic, knots.get(i + 1)) {
            (Some(cubic), Some(next)) => {
                let scale = 1.0 / (f32::from(next.plane) - plane);
                pieces.push(Piece { from: plane, scale, cubic: cubic.0.map(|c| c as f32) });
            }
            (_, Some(next)) if next.plane == knot.plane + 1 => {
                pieces.push(Piece { from: plane, scale: 1.0, cubic: [code, f32::from(next.code) - code, 0.0, 0.0] });
            }
            _ => pieces.extend([Piece::constant(plane, code), nothing(plane + 0.5)]),
        }
    }
}

/// The four rays around a place, and where in each one reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// First ray of the cell, plus 1; 0 before the first.
    cell: usize,
    /// Per ray: first piece, current piece, end.
    rays: [[u32; 3]; 4],
}

impl Cursor {
    #[inline(always)]
    fn enter(&mut self, pieces: &Pieces, ray: usize, right: usize, width: usize) {
        if self.cell == ray + 1 {
            return;
        }
        self.cell = ray + 1;
        let below = if ray + width + 1 < pieces.starts.len() { width } else { 0 };
        for (corner, [first, now, end]) in self.rays.iter_mut().enumerate() {
            let ray = ray + (corner & 1) * right + (corner >> 1) * below;
            let place = *now - *first;
            [*first, *end] = [pieces.starts[ray], pieces.starts[ray + 1]];
            // Neighbouring rays have their pieces at nearly the same depths.
            *now = (*first + place).min(*end - 1);
        }
    }

    #[inline(always)]
    fn value(&mut self, pieces: &Pieces, corner: usize, plane: f32) -> f32 {
        let [first, now, end] = &mut self.rays[corner];
        let ray = &pieces.pieces[*first as usize..*end as usize];
        let mut at = (*now - *first) as usize;
        while let Some(next) = ray.get(at + 1)
            && next.from <= plane
        {
            at += 1;
        }
        while at > 0 && ray[at].from > plane {
            at -= 1;
        }
        *now = *first + at as u32;
        ray[at].at(plane)
    }
}
