//! Prints what combining the parts of several PEs costs, and whether they make one picture: a line of JSON for each.
//!
//! `combining NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS`: samples and their distances along x, y and z, little-endian `f32` values with x fastest, the
//! transfer function, and how often each is done. Every PE is cast by itself, as a process of its own would do, all on one thread: seconds are those
//! of a processor, whichever process it works for. `bench/proxies/combining.py` runs this.

mod inputs;

use std::error::Error;

use serde_json::{Value, json};
use visapult_render::{
    Camera, Image, KeyView, Patch, Quality, SlabCaster, SlabKeyframe, SlabStack, SlabTile, TransferFunction, Volume,
    composite_places, composite_slabs, image_of_patches, make_slabs, owners_by_place, render_exact, render_runs, runs,
    visible_depths,
};
use visapult_volume::{Block, Decomposition};

const SIZE: usize = 512;
const PES: [usize; 5] = [1, 2, 8, 27, 64];
/// Boxes of PEs start at multiples of this many samples.
const ALIGNMENT: usize = 4;
/// Turn of the view in which slabs are compared.
const TURNED_DEG: f64 = 16.0;
/// Of pictures that are equal, in place of infinity.
const EQUAL_DB: f64 = 150.0;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [grid, field, function, runs] = &arguments[..] else {
        return Err("usage: combining NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS".into());
    };
    let whole = inputs::volume(grid, field)?;
    let function = inputs::transfer_function(function)?;
    let camera = Camera::default();
    let key = KeyView { slabs: 128, ..KeyView::new(camera) };
    let alone = render_exact(&whole, &camera, &function, SIZE, SIZE, 1.0).image;
    let slabs_alone = turned(&make_slabs(&whole, &key, &function, 1.0))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for pes in PES {
        let volume = split(&whole, pes)?;
        let parts = Parts { volume: &volume, camera, key, function: &function };
        for _ in 0..runs.parse::<usize>()? {
            let (image, told) = pool.install(|| parts.exact());
            println!("{}", with_quality("exact", pes, told, &image, &alone)?);
            let (keyframe, told) = pool.install(|| parts.slabs())?;
            println!("{}", with_quality("slabs", pes, told, &turned(&keyframe)?, &slabs_alone)?);
        }
    }
    Ok(())
}

/// What each PE would make in a process of its own.
struct Parts<'a> {
    volume: &'a Volume,
    camera: Camera,
    key: KeyView,
    function: &'a TransferFunction,
}

/// Processor seconds of casting, combining and compressing what was combined, and the bytes that PEs send each other.
type Told = (f64, f64, f64, usize);

impl Parts<'_> {
    fn exact(&self) -> (Image, Told) {
        let of_pe: Vec<Vec<usize>> = runs(self.volume, &self.camera, |pe| pe).into_iter().map(|(_, run)| run).collect();
        let size = [SIZE; 2];
        let began = thread_seconds();
        let (patches, _) = render_runs(self.volume, &self.camera, self.function, size, 1.0, &of_pe);
        let cast = thread_seconds();
        let image = image_of_patches(size, &composite_places(size, &patches));
        (image, (cast - began, thread_seconds() - cast, 0.0, 16 * pixels(&patches)))
    }

    /// Places where one PE shows alone are its own; the others are put together. How much of that is compressing tells what it takes to put
    /// together the one part that all PEs make as one.
    fn slabs(&self) -> Outcome<(SlabKeyframe, Told)> {
        let depths = visible_depths(self.volume, &self.key, self.function).ok_or("nothing to see")?;
        let caster = SlabCaster::new(self.volume, &self.key, self.function, 1.0, depths);
        let owners = owners_by_place(self.volume, &self.key, |pe| pe);
        let places = |is_meant: &dyn Fn(&[usize]) -> bool| -> Vec<usize> {
            (0..owners.len()).filter(|place| is_meant(&owners[*place])).collect()
        };
        let (order, shared) = (runs(self.volume, &self.camera, |pe| pe), places(&|owners| owners.len() > 1));
        let began = thread_seconds();
        let (mut patches, mut tiles) = (Vec::new(), Vec::<SlabTile>::new());
        for (pe, run) in &order {
            patches.push(caster.patches(run, &places(&|owners| owners.len() > 1 && owners.contains(pe))).0);
            tiles.extend(caster.tiles(run, &places(&|owners| owners == [*pe])).0);
        }
        let cast = thread_seconds();
        tiles.extend(composite_slabs(self.volume, &self.key, &patches));
        let combined = thread_seconds();
        let all: Vec<usize> = order.into_iter().flat_map(|(_, run)| run).collect();
        let as_one = [caster.patches(&all, &shared).0];
        let compressing = thread_seconds();
        composite_slabs(self.volume, &self.key, &as_one);
        let compressed = thread_seconds() - compressing;
        let seconds = (cast - began, combined - cast - compressed, compressed);
        let keyframe = SlabKeyframe::of_tiles(self.volume, &self.key, Some(depths), tiles, 0);
        Ok((keyframe, (seconds.0, seconds.1, seconds.2, 8 * pixels(&patches))))
    }
}

fn pixels(patches: &[Vec<Patch>]) -> usize {
    patches.iter().flatten().map(|patch| patch.rgba.len()).sum()
}

fn turned(keyframe: &SlabKeyframe) -> Outcome<Image> {
    let azimuth_deg = keyframe.camera.azimuth_deg + TURNED_DEG;
    let camera = Camera { azimuth_deg, ..keyframe.camera };
    Ok(SlabStack::from_keyframe(keyframe)?.render(&camera, SIZE, SIZE))
}

fn with_quality(kind: &str, pes: usize, told: Told, image: &Image, alone: &Image) -> Outcome<Value> {
    let psnr_db = Quality::of(image, alone)?.foreground_psnr_db.min(EQUAL_DB);
    let (cast_s, combine_s, compress_s, bytes) = told;
    Ok(json!({
        "kind": kind, "pes": pes, "cast_s": cast_s, "combine_s": combine_s, "compress_s": compress_s, "bytes": bytes, "psnr_db": psnr_db,
    }))
}

/// The same values in the boxes of `pes` PEs.
fn split(whole: &Volume, pes: usize) -> Outcome<Volume> {
    let (grid, source) = (whole.grid(), &whole.blocks()[0]);
    let split = Decomposition::new(grid.size, pes, ALIGNMENT)?;
    let block = |owned| {
        let stored = Block::stored_for(&owned, &grid.bounds());
        let rows = (stored.lo[2]..stored.hi[2]).flat_map(|z| (stored.lo[1]..stored.hi[1]).map(move |y| (y, z)));
        let row = |(y, z)| &source.values[source.index_of([stored.lo[0], y, z])..][..stored.size()[0]];
        Block { owned, stored, values: rows.flat_map(row).copied().collect::<Vec<_>>().into() }
    };
    let blocks = split.boxes().into_iter().map(block).collect();
    Ok(Volume::new(grid.clone(), split, blocks)?)
}

/// Time that the calling thread has had of a processor; NaN where the system does not tell. The first number of `schedstat`, in nanoseconds.
fn thread_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split_whitespace().next().and_then(|first| first.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns * 1e-9)
}
