//! Prints how much closer to the exact image a proxy is with all its tiles than without some: a line of JSON for each.
//!
//! `tile_loss NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS`: samples and their distances along x, y and z, little-endian `f32` values with x fastest, the
//! transfer function, and how many choices of lost tiles. A lost tile leaves a hole, or what coarse bricks say stands in for it: the same tile,
//! made of them as a viewer could; of a brick, also from the other ones of its box. `bench/proxies/tile_loss.py` runs this.

mod inputs;

use std::collections::BTreeSet;
use std::error::Error;

use serde_json::json;
use visapult_render::{
    Camera, CodeBits, EncodedBrick, FaceTile, Image, KeyView, LevelCoding, Pyramid, Quality, ScalarKeyframe,
    ScalarStack, SegmentKey, SegmentKeyframe, SegmentStack, SegmentTile, SlabCaster, SlabKeyframe, SlabStack, SlabTile,
    TransferFunction, Volume, encode_level, fitted_key, make_scalar_slabs, make_segments, render_exact, visible_depths,
    volume_of_bricks,
};
use visapult_volume::coarsened_size;

const SIZE: usize = 256;
const LOSSES: [f64; 3] = [0.01, 0.05, 0.2];
/// Levels of the bricks that stand in, if any do.
const COARSE: [u32; 2] = [1, 2];
/// Turn of the view away from the key view.
const TURNED_DEG: f64 = 16.0;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [grid, field, function, runs] = &arguments[..] else {
        return Err("usage: tile_loss NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS".into());
    };
    let volume = inputs::volume(grid, field)?;
    let function = inputs::transfer_function(function)?;
    let key = Camera::default();
    let camera = Camera { azimuth_deg: key.azimuth_deg + TURNED_DEG, ..key };
    let truth = render_exact(&volume, &camera, &function, SIZE, SIZE, 0.5).image;
    let coarse = COARSE.into_iter().map(|level| Coarse::of(&volume, level)).collect::<Outcome<Vec<_>>>()?;
    let scene = Scene { volume, coarse, function, key, camera, truth, runs: runs.parse()? };
    scene.bricks()?;
    scene.slabs()?;
    scene.faces()?;
    scene.segments()
}

/// What is shown, and the exact image of it.
struct Scene {
    volume: Volume,
    /// Of [`COARSE`] levels.
    coarse: Vec<Coarse>,
    function: TransferFunction,
    key: Camera,
    camera: Camera,
    truth: Image,
    runs: u64,
}

impl Scene {
    fn bricks(&self) -> Outcome<()> {
        let make = |volume: &Volume| {
            let block = &volume.blocks()[0];
            Ok(encode_level(block, &Pyramid::of(block, 1), LevelCoding::of_all(0, CodeBits::EIGHT)))
        };
        let draw = |Shown { come, instead, coarse }: Shown<'_, EncodedBrick>| {
            let [come, instead] =
                [come, instead].map(|bricks| volume_of_bricks(self.volume.grid(), 0, CodeBits::EIGHT, &bricks));
            let volume = match coarse {
                Some(coarse) => coarse.completed(&come?, &instead?)?,
                None => come?,
            };
            Ok(render_exact(&volume, &self.camera, &self.function, SIZE, SIZE, 1.0).image)
        };
        self.report("bricks", make, |brick| brick.place(0), draw)
    }

    fn slabs(&self) -> Outcome<()> {
        let key = KeyView { slabs: 128, ..KeyView::new(self.key) };
        let depths = visible_depths(&self.volume, &key, &self.function).ok_or("nothing to see")?;
        let make = |volume: &Volume| {
            let caster = SlabCaster::new(volume, &key, &self.function, 1.0, depths);
            Ok(caster.tiles(&[0], &(0..caster.place_count()).collect::<Vec<_>>()).0)
        };
        let draw = |shown: Shown<'_, SlabTile>| {
            let keyframe = SlabKeyframe::of_tiles(&self.volume, &key, Some(depths), shown.tiles(), 0);
            Ok(SlabStack::from_keyframe(&keyframe)?.render(&self.camera, SIZE, SIZE))
        };
        self.report("128 slabs", make, |tile| [tile.slab, tile.lo[0], tile.lo[1]].map(usize::from), draw)
    }

    fn faces(&self) -> Outcome<()> {
        let range = self.volume.range().ok_or("a field without values")?;
        let key = fitted_key(&self.volume, self.key);
        let frame = make_scalar_slabs(&self.volume, &key, range);
        let make = |volume: &Volume| Ok(make_scalar_slabs(volume, &key, range).tiles);
        let draw = |shown: Shown<'_, FaceTile>| {
            let stack = ScalarStack::from_keyframe(&ScalarKeyframe { tiles: shown.tiles(), ..frame.clone() })?;
            Ok(stack.render(&self.camera, &self.function, SIZE, SIZE))
        };
        self.report("scalar slabs", make, |tile| [tile.face, tile.lo[0], tile.lo[1]].map(usize::from), draw)
    }

    fn segments(&self) -> Outcome<()> {
        let key = SegmentKey::new(&self.volume, self.key);
        let range = SegmentKeyframe::values_kept(self.volume.range(), self.function.range);
        let frame = make_segments(&self.volume, &key, &self.function, range);
        let make = |volume: &Volume| Ok(make_segments(volume, &key, &self.function, range).tiles);
        let draw = |shown: Shown<'_, SegmentTile>| {
            let stack = SegmentStack::from_keyframe(&SegmentKeyframe { tiles: shown.tiles(), ..frame.clone() })?;
            Ok(stack.render(&self.camera, SIZE, SIZE, &self.function))
        };
        self.report("64 segments", make, |tile| [0, tile.lo[0], tile.lo[1]].map(usize::from), draw)
    }

    /// No two tiles of a proxy are at the same `place`.
    fn report<T: Clone>(
        &self,
        proxy: &str,
        make: impl Fn(&Volume) -> Outcome<Vec<T>>,
        place: impl Fn(&T) -> [usize; 3],
        draw: impl Fn(Shown<'_, T>) -> Outcome<Image>,
    ) -> Outcome<()> {
        let tiles = make(&self.volume)?;
        let mut stand_ins = vec![(None, Vec::new())];
        for coarse in &self.coarse {
            stand_ins.push((Some(coarse), make(&coarse.magnified)?));
        }
        let tell = |loss: f64, run: u64, shown: Shown<'_, T>| -> Outcome<()> {
            let level = shown.coarse.map(|coarse| coarse.level);
            let psnr_db = Quality::of(&draw(shown)?, &self.truth)?.foreground_psnr_db;
            let told = json!({ "proxy": proxy, "tiles": tiles.len(), "loss": loss, "run": run, "stand_in": level, "psnr_db": psnr_db });
            println!("{told}");
            Ok(())
        };
        tell(0.0, 0, Shown { come: tiles.clone(), instead: Vec::new(), coarse: None })?;
        for (loss, run) in LOSSES.into_iter().flat_map(|loss| (0..self.runs).map(move |run| (loss, run))) {
            let lost: BTreeSet<usize> = lost_of(tiles.len(), loss, run);
            let places: BTreeSet<[usize; 3]> = lost.iter().map(|i| place(&tiles[*i])).collect();
            for (coarse, others) in &stand_ins {
                let come = tiles.iter().enumerate().filter(|(i, _)| !lost.contains(i)).map(|(_, tile)| tile);
                let instead = others.iter().filter(|tile| places.contains(&place(tile)));
                let [come, instead] = [come.cloned().collect(), instead.cloned().collect()];
                tell(loss, run, Shown { come, instead, coarse: *coarse })?;
            }
        }
        Ok(())
    }
}

/// Tiles of a proxy.
struct Shown<'a, T> {
    come: Vec<T>,
    /// In the places of lost ones.
    instead: Vec<T>,
    /// What they are made of.
    coarse: Option<&'a Coarse>,
}

impl<T> Shown<'_, T> {
    fn tiles(mut self) -> Vec<T> {
        self.come.append(&mut self.instead);
        self.come
    }
}

/// As many of `count` tiles as a share of `loss` is, at least one: another choice in every run.
fn lost_of(count: usize, loss: f64, run: u64) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_cached_key(|i| mixed((run << 32) + *i as u64));
    order.into_iter().take((loss * count as f64).ceil() as usize).collect()
}

/// SplitMix64 (Steele, Lea & Flood 2014).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What the bricks of a coarse level say of the volume, which is one block.
struct Coarse {
    level: u32,
    /// Theirs.
    means: Volume,
    /// At the samples of the volume: interpolated, as steep as the field is as far as samples to both sides tell, held beyond the outermost ones.
    /// `stand-in.glsl` does so in the page.
    magnified: Volume,
}

impl Coarse {
    fn of(volume: &Volume, level: u32) -> Outcome<Self> {
        let (grid, block) = (volume.grid(), &volume.blocks()[0]);
        let bricks = encode_level(block, &Pyramid::of(block, level + 1), LevelCoding::of_all(level, CodeBits::EIGHT));
        let means = volume_of_bricks(grid, level, CodeBits::EIGHT, &bricks)?;
        let mut values = means.blocks()[0].values.to_vec();
        let mut size = coarsened_size(grid.size, level);
        for axis in 0..3 {
            (values, size) = stretched(&values, size, axis, grid.size[axis], level);
        }
        Ok(Self { level, means, magnified: Volume::whole(grid.clone(), values)? })
    }

    /// The bricks that have `come`, and `instead` of lost samples what those beside them and these bricks say. `stand-in-brick.frag.glsl` does so in the page.
    fn completed(&self, come: &Volume, instead: &Volume) -> Outcome<Volume> {
        let grid = come.grid();
        // How far a mean may be off.
        let range = self.means.range().ok_or("a field without values")?;
        let most_off = 0.5 * (range.hi - range.lo) / CodeBits::EIGHT.steps() as f32;
        let value = |volume: &Volume, [x, y, z]: [usize; 3]| {
            let [nx, ny, _] = volume.grid().size;
            volume.blocks()[0].values[(z * ny + y) * nx + x]
        };
        let beside = |at: [usize; 3], axis: usize, is_behind: bool| {
            let mut beside = at;
            beside[axis] = if is_behind { at[axis] + 1 } else { at[axis].checked_sub(1)? };
            (beside[axis] < grid.size[axis]).then(|| value(come, beside)).filter(|value| value.is_finite())
        };
        let expected = |at: [usize; 3]| {
            let around = (0..6).filter_map(|side| beside(at, side / 2, side % 2 == 1));
            let (sum, count) = around.fold((value(instead, at), 1.0), |(sum, count), value| (sum + value, count + 1.0));
            sum / count
        };
        let stood_in = |at: [usize; 3]| {
            if self.level > 1 {
                return expected(at);
            }
            let corner = |i: usize| std::array::from_fn(|axis| at[axis] / 2 * 2 + (i >> axis & 1));
            let cube = (0..8).map(corner).filter(|at: &[usize; 3]| (0..3).all(|axis| at[axis] < grid.size[axis]));
            let mean = value(&self.means, at.map(|n| n / 2));
            let (due, lost) = cube.fold((0.0, 0.0), |(due, lost), at| {
                let known = value(come, at);
                if known.is_finite() { (due + mean - known, lost) } else { (due + mean - expected(at), lost + 1.0) }
            });
            // Not for what codes do not tell: all of a mean's error would be that of few samples.
            expected(at) + due.signum() * (due.abs() - 8.0 * most_off).max(0.0) / lost
        };
        let [nx, ny, _] = grid.size;
        let at = |i: usize| [i % nx, i / nx % ny, i / (nx * ny)];
        let known = &come.blocks()[0].values;
        let values = (0..known.len()).map(|i| if known[i].is_finite() { known[i] } else { stood_in(at(i)) });
        Ok(Volume::whole(grid.clone(), values.collect())?)
    }
}

/// Values `[z, y, x]`, means over cubes of samples, interpolated along one axis to `count` samples.
fn stretched(values: &[f32], size: [usize; 3], axis: usize, count: usize, level: u32) -> (Vec<f32>, [usize; 3]) {
    let (inner, outer) = (size[..axis].iter().product::<usize>(), size[axis + 1..].iter().product::<usize>());
    let mut out = Vec::with_capacity(inner * count * outer);
    for slice in 0..outer {
        for i in 0..count {
            let last = size[axis] - 1;
            let at = ((i as f32 + 0.5) / (1_u32 << level) as f32 - 0.5).clamp(0.0, last as f32);
            let (low, share) = (at as usize, at.fract());
            // Of second differences, what means and straight lines between them lose.
            let lost = (1.0 - 0.25_f32.powi(level as i32)) / 24.0 + share * (1.0 - share) / 2.0;
            let line = |row: usize| &values[(slice * size[axis] + row.saturating_sub(1).min(last)) * inner..][..inner];
            let [before, from, to, behind] = [low, low + 1, low + 2, low + 3].map(line);
            let value = |k: usize| {
                let bend = |a: f32, b: f32, c: f32| a + c - 2.0 * b;
                let [at_low, at_high] = [bend(before[k], from[k], to[k]), bend(from[k], to[k], behind[k])];
                from[k] + share * (to[k] - from[k]) - lost * (at_low + share * (at_high - at_low))
            };
            out.extend((0..inner).map(value));
        }
    }
    let mut stretched = size;
    stretched[axis] = count;
    (out, stretched)
}
