//! The field where key rays meet the planes between slabs.

use crate::Volume;
use crate::camera::{View, dot};
use crate::cpu::rays::{LANES, PACKET_EDGE, RaySetup, Rays};
use crate::cpu::{Lanes, Task, owned_values, run_best};
use crate::key_rays::Planes;
use crate::slabs::{SlabGeometry, TilePlace};
use crate::world_box::WorldBox;

/// Stands for a texel that no ray inside the box is interpolated from.
pub(super) const NEEDLESS: f32 = f32::INFINITY;
/// Stands for a texel whose value another process has.
pub(super) const ELSEWHERE: f32 = f32::NEG_INFINITY;

/// How far outside the box texels are filled, in thicknesses of a slab: a ray turned by 45 degrees meets the two faces of a
/// slab that far from where it enters the box.
const REACH: f64 = 1.5;

/// Samples faces of `volume`, tile by tile.
pub(super) struct FaceSampler<'a> {
    volume: &'a Volume,
    view: View,
    geometry: SlabGeometry,
    /// Whether other processes have blocks, too.
    is_part: bool,
    /// Edges of the box that holds all texels worth a value.
    reached: [f64; 3],
}

/// Edges of the box that holds all texels worth a value.
pub(crate) fn reached(volume: &Volume, view: &View, geometry: &SlabGeometry) -> [f64; 3] {
    let texel = 2.0 * view.half_height / view.height.max(1) as f64 * f64::from(geometry.far);
    let margin = 2.0 * (REACH * geometry.thickness() + texel);
    volume.placement(view.stretch).edges.map(|edge| edge + margin)
}

impl<'a> FaceSampler<'a> {
    pub(super) fn new(volume: &'a Volume, view: View, geometry: SlabGeometry) -> Self {
        let is_part = volume.blocks().len() < volume.decomposition().boxes().len();
        Self { volume, view, geometry, is_part, reached: reached(volume, &view, &geometry) }
    }

    /// Values at all faces of the texels of `place`, `[face, y, x]`; NaN where values are missing, [`ELSEWHERE`] where no block here has them.
    pub(super) fn sample(&self, place: &TilePlace, out: &mut Vec<f32>) {
        let [width, height] = place.size;
        out.clear();
        out.resize(width * height * self.geometry.face_count(), NEEDLESS);
        let setup = RaySetup::new(&self.view, self.volume.frame());
        for y in (0..height).step_by(PACKET_EDGE) {
            for x in (0..width).step_by(PACKET_EDGE) {
                let rays = self.packet(&setup, place, [x, y]);
                let texels = std::array::from_fn(|lane| (y + lane / PACKET_EDGE) * width + x + lane % PACKET_EDGE);
                if self.is_part {
                    for lane in 0..LANES {
                        for face in rays.range.from[lane] as usize..rays.range.to[lane] as usize {
                            out[face * width * height + texels[lane]] = ELSEWHERE;
                        }
                    }
                }
                run_best(Sampling { volume: self.volume, rays: &rays, texels: &texels, face: width * height, out });
            }
        }
    }

    /// The faces, and the box in which texels have values.
    pub(super) fn planes(&self) -> Planes {
        Planes {
            near: f64::from(self.geometry.near),
            spacing: self.geometry.thickness(),
            count: self.geometry.face_count(),
            edges: self.reached,
        }
    }

    /// As [`FaceSampler::sample`], from what was `found` at all faces, whether needed or not.
    pub(super) fn take(&self, place: &TilePlace, found: &[f32], out: &mut Vec<f32>) {
        let [width, height] = place.size;
        out.clear();
        out.resize(found.len(), NEEDLESS);
        let setup = RaySetup::new(&self.view, self.volume.frame());
        for y in (0..height).step_by(PACKET_EDGE) {
            for x in (0..width).step_by(PACKET_EDGE) {
                let rays = self.packet(&setup, place, [x, y]);
                for lane in 0..LANES {
                    for face in rays.range.from[lane] as usize..rays.range.to[lane] as usize {
                        let texel = (face * height + y + lane / PACKET_EDGE) * width + x + lane % PACKET_EDGE;
                        out[texel] = found[texel];
                    }
                }
            }
        }
    }

    /// The rays of a packet, their samples where they meet the faces.
    fn packet(&self, setup: &RaySetup<'_>, place: &TilePlace, [x, y]: [usize; 2]) -> Rays {
        let mut rays = Rays::none();
        let normal = self.geometry.normal.map(f64::from);
        let (near, thickness) = (f64::from(self.geometry.near), self.geometry.thickness());
        for lane in 0..LANES {
            let (column, row) = (x + lane % PACKET_EDGE, y + lane / PACKET_EDGE);
            if column >= place.size[0] || row >= place.size[1] {
                continue;
            }
            let at = [(place.lo[0] + column) as f64 + 0.5, (place.lo[1] + row) as f64 + 0.5];
            let direction = self.view.direction(at[0], at[1]);
            let cosine = dot(direction, normal);
            let Some((t_in, t_out)) = WorldBox::centred(self.reached).passed(self.view.eye, direction) else {
                continue;
            };
            if cosine <= 0.0 || thickness <= 0.0 {
                continue;
            }
            let number = |t: f64| (t * cosine - near) / thickness;
            rays.range.from[lane] = number(t_in).ceil().max(0.0);
            rays.range.to[lane] = (number(t_out).floor() + 1.0).min(self.geometry.face_count() as f64);
            setup.set(&mut rays, lane, direction, near / cosine, thickness / cosine);
        }
        rays
    }
}

/// Samples a packet of rays where it meets the faces.
struct Sampling<'a> {
    volume: &'a Volume,
    rays: &'a Rays,
    /// Of each ray in a face, and how many a face has.
    texels: &'a [usize; LANES],
    face: usize,
    out: &'a mut [f32],
}

impl Task for Sampling<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let bounds = self.volume.grid().bounds();
        for block in self.volume.blocks() {
            let mut range = self.rays.in_box(&block.owned, &bounds);
            let (mut first, mut end) = (f64::INFINITY, 0.0_f64);
            for lane in 0..LANES {
                // The faces that a block has by where a ray enters it, and by where the ray meets them, are rounded apart.
                range.from[lane] = (range.from[lane] - 1.0).max(self.rays.range.from[lane]);
                range.to[lane] = (range.to[lane] + 1.0).min(self.rays.range.to[lane]);
                if range.from[lane] < range.to[lane] {
                    (first, end) = (first.min(range.from[lane]), end.max(range.to[lane]));
                }
            }
            // Saturates where no ray meets the block.
            for face in first as usize..end as usize {
                let number = face as f64;
                let mut at = [[0.0; LANES]; 3];
                for (axis, along) in at.iter_mut().enumerate() {
                    for (lane, at) in along.iter_mut().enumerate() {
                        *at = self.rays.first[axis][lane] + number * self.rays.step[axis][lane];
                    }
                }
                let (values, owned) = owned_values(block, &bounds, &at);
                for lane in 0..LANES {
                    if owned[lane] && range.from[lane] <= number && number < range.to[lane] {
                        self.out[face * self.face + self.texels[lane]] = values[lane];
                    }
                }
            }
        }
    }
}
