//! Answers as bytes, little endian: ranges, counts, bricks, and what runs of PEs show.
//!
//! Invariant: nothing is allocated for more than the bytes that are there can hold.

use half::f16;
use half::slice::HalfFloatSliceExt;
use visapult_render::{
    EncodedBrick, FacePart, FaceTile, Form, Patch, Picked, Prediction, RayPart, SegmentKeyframe, SegmentTile, SlabTile,
    TileRect,
};
use visapult_volume::ValueRange;

use super::parts::Part;
use crate::statistics::{Counts, HISTOGRAM_BINS};

/// Pixels of exact images as they are; of slabs, of which many lie behind one another and are rounded to codes anyway, in half of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Half,
}

impl Precision {
    fn pixel_bytes(self) -> usize {
        match self {
            Self::Single => 16,
            Self::Half => 8,
        }
    }
}

/// Reads what was written; every method gives `None` where the bytes end too soon.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    fn u16s<const N: usize>(&mut self) -> Option<[u16; N]> {
        let mut out = [0; N];
        for n in &mut out {
            *n = self.u16()?;
        }
        Some(out)
    }

    /// As many items as the next number says.
    fn items<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        // Ends with the bytes, and sets no memory aside before.
        (0..count).map(|_| item(self)).collect()
    }

    /// A range, or that there is none.
    pub(crate) fn range(&mut self) -> Option<Option<ValueRange>> {
        let (lo, hi) = (self.f32()?, self.f32()?);
        Some((lo <= hi).then_some(ValueRange { lo, hi }))
    }

    /// Least and largest distance, or that there are none.
    pub(crate) fn depths(&mut self) -> Option<Option<[f64; 2]>> {
        let depths = [self.f64()?, self.f64()?];
        Some((depths[0] <= depths[1]).then_some(depths))
    }

    /// Parts of a ray that a page points along.
    pub(crate) fn ray_parts(&mut self) -> Option<Vec<RayPart>> {
        self.items(Self::ray_part)
    }

    fn ray_part(&mut self) -> Option<RayPart> {
        let (first, through, adds) = (self.u64()?, self.f32()?, self.f32()?);
        let (place, value) = ([self.f64()?, self.f64()?, self.f64()?], self.f32()?);
        let picked = Picked { place, value: Some(value).filter(|value| value.is_finite()) };
        Some(RayPart { first, through, most: (adds > 0.0).then_some((adds, picked)) })
    }

    pub(crate) fn numbers(&mut self) -> Option<Vec<u64>> {
        self.items(Self::u64)
    }

    pub(crate) fn counts(&mut self) -> Option<Counts> {
        let (bins, within) = (self.numbers()?, self.range()?);
        (bins.len() == HISTOGRAM_BINS).then_some(())?;
        Some(Counts { bins, within, finite: self.u64()?, missing: self.u64()? })
    }

    /// Bricks by PE.
    pub(crate) fn bricks(&mut self) -> Option<Vec<Vec<EncodedBrick>>> {
        self.items(|reader| reader.items(Self::brick))
    }

    fn brick(&mut self) -> Option<EncodedBrick> {
        let (lo, [sx, sy, sz, part, predictor], range) = (self.u16s()?, self.array()?, [self.f32()?, self.f32()?]);
        let (size, length) = ([sx, sy, sz], self.u32()? as usize);
        Some(EncodedBrick { lo, size, part, range, predictor, payload: self.take(length)?.to_vec() })
    }

    pub(crate) fn slabs(&mut self) -> Option<Part<SlabTile>> {
        self.part(Self::tile)
    }

    pub(crate) fn image(&mut self) -> Option<Part<Patch>> {
        self.part(|reader| reader.patch(Precision::Single))
    }

    /// Parts of faces of scalar slabs.
    pub(crate) fn face_parts(&mut self) -> Option<Vec<FacePart>> {
        self.items(Self::face_part)
    }

    fn face_part(&mut self) -> Option<FacePart> {
        let ([face, is_whole], lo, size, length) = (self.u16s()?, self.u16s()?, self.u16s()?, self.u32()? as usize);
        let tile = FaceTile { face, lo, size, payload: self.take(length)?.to_vec() };
        Some(FacePart { tile, is_whole: is_whole != 0 })
    }

    /// The share of the samples that a process has, and what `forms` of them would be worth.
    pub(crate) fn predictions(&mut self, forms: &[Form]) -> Option<(f64, Vec<Prediction>)> {
        let share = self.f64()?;
        let prediction = |form: &Form| {
            let (bytes, seen) = (self.u64()?, self.f64()?);
            Some(Prediction { form: *form, bytes, seen, psnr_db: self.items(Self::f64)? })
        };
        Some((share, forms.iter().map(prediction).collect::<Option<_>>()?))
    }

    /// Tiles of segments, and the samples taken.
    pub(crate) fn segments(&mut self) -> Option<(Vec<SegmentTile>, u64)> {
        let samples = self.u64()?;
        Some((self.items(Self::segment_tile)?, samples))
    }

    fn segment_tile(&mut self) -> Option<SegmentTile> {
        let (lo, size, knots, length) = (self.u16s()?, self.u16s()?, self.u32()?, self.u32()? as usize);
        Some(SegmentTile { lo, size, knots, payload: self.take(length)?.to_vec() })
    }

    fn part<T>(&mut self, item: impl FnMut(&mut Self) -> Option<T>) -> Option<Part<T>> {
        Some(Part { samples: self.u64()?, missing: self.numbers()?, made: self.items(item)? })
    }

    fn tile(&mut self) -> Option<SlabTile> {
        let ([slab], lo, size, length) = (self.u16s()?, self.u16s()?, self.u16s()?, self.u32()? as usize);
        Some(SlabTile { slab, lo, size, payload: self.take(length)?.to_vec() })
    }

    /// Patches by run.
    pub(crate) fn patches(&mut self, precision: Precision) -> Option<Vec<Vec<Patch>>> {
        self.items(|reader| reader.items(|reader| reader.patch(precision)))
    }

    fn patch(&mut self, precision: Precision) -> Option<Patch> {
        let (tile, slab) = (self.u32()?, self.u16()?);
        let [x, y, width, height] = self.u16s()?.map(usize::from);
        let pixels = width * height;
        let bytes = self.take(pixels * precision.pixel_bytes())?;
        let mut rgba = vec![[0.0; 4]; pixels];
        let numbers = rgba.as_flattened_mut();
        match precision {
            Precision::Single => {
                numbers.iter_mut().zip(bytes.as_chunks().0).for_each(|(n, bytes)| *n = f32::from_le_bytes(*bytes));
            }
            Precision::Half => {
                let halves: Vec<f16> = bytes.as_chunks().0.iter().map(|bytes| f16::from_le_bytes(*bytes)).collect();
                halves.convert_to_f32_slice(numbers);
            }
        }
        Some(Patch { tile, slab, rect: TileRect { x, y, width, height }, rgba })
    }
}

/// Writes what [`Reader`] reads.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    fn put(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.extend_from_slice(bytes.as_ref());
    }

    fn count(&mut self, count: usize) {
        self.put((count as u32).to_le_bytes());
    }

    fn u16s(&mut self, numbers: impl IntoIterator<Item = u16>) {
        numbers.into_iter().for_each(|n| self.put(n.to_le_bytes()));
    }

    pub(crate) fn range(&mut self, range: Option<ValueRange>) {
        let ValueRange { lo, hi } = range.unwrap_or(ValueRange { lo: f32::NAN, hi: f32::NAN });
        self.put(lo.to_le_bytes());
        self.put(hi.to_le_bytes());
    }

    pub(crate) fn depths(&mut self, depths: Option<[f64; 2]>) {
        depths.unwrap_or([f64::NAN; 2]).iter().for_each(|depth| self.put(depth.to_le_bytes()));
    }

    pub(crate) fn ray_parts(&mut self, parts: &[RayPart]) {
        let nothing = (0.0, Picked { place: [0.0; 3], value: None });
        self.count(parts.len());
        for RayPart { first, through, most } in parts {
            let (adds, Picked { place, value }) = most.unwrap_or(nothing);
            self.put(first.to_le_bytes());
            [*through, adds].iter().for_each(|share| self.put(share.to_le_bytes()));
            place.iter().for_each(|coordinate| self.put(coordinate.to_le_bytes()));
            self.put(value.unwrap_or(f32::NAN).to_le_bytes());
        }
    }

    pub(crate) fn slabs(&mut self, part: &Part<SlabTile>) {
        self.part(part, |out, tile| {
            out.u16s([tile.slab].into_iter().chain(tile.lo).chain(tile.size));
            out.count(tile.payload.len());
            out.put(&tile.payload);
        });
    }

    pub(crate) fn predictions(&mut self, share: f64, predictions: &[Prediction]) {
        self.put(share.to_le_bytes());
        for Prediction { bytes, seen, psnr_db, .. } in predictions {
            self.put(bytes.to_le_bytes());
            self.put(seen.to_le_bytes());
            self.count(psnr_db.len());
            psnr_db.iter().for_each(|db| self.put(db.to_le_bytes()));
        }
    }

    pub(crate) fn face_parts(&mut self, parts: &[FacePart]) {
        self.count(parts.len());
        for FacePart { tile, is_whole } in parts {
            self.u16s([tile.face, u16::from(*is_whole)].into_iter().chain(tile.lo).chain(tile.size));
            self.count(tile.payload.len());
            self.put(&tile.payload);
        }
    }

    pub(crate) fn segments(&mut self, keyframe: &SegmentKeyframe) {
        self.put(keyframe.samples.to_le_bytes());
        self.count(keyframe.tiles.len());
        for tile in &keyframe.tiles {
            self.u16s(tile.lo.into_iter().chain(tile.size));
            self.count(tile.knots as usize);
            self.count(tile.payload.len());
            self.put(&tile.payload);
        }
    }

    pub(crate) fn image(&mut self, part: &Part<Patch>) {
        self.part(part, |out, patch| out.patch(patch, Precision::Single));
    }

    fn part<T>(&mut self, part: &Part<T>, item: impl Fn(&mut Self, &T)) {
        self.put(part.samples.to_le_bytes());
        self.numbers(&part.missing);
        self.count(part.made.len());
        part.made.iter().for_each(|made| item(self, made));
    }

    pub(crate) fn numbers(&mut self, numbers: &[u64]) {
        self.count(numbers.len());
        numbers.iter().for_each(|n| self.put(n.to_le_bytes()));
    }

    pub(crate) fn counts(&mut self, counts: &Counts) {
        self.numbers(&counts.bins);
        self.range(counts.within);
        self.put(counts.finite.to_le_bytes());
        self.put(counts.missing.to_le_bytes());
    }

    pub(crate) fn bricks(&mut self, of_pe: &[Vec<EncodedBrick>]) {
        self.count(of_pe.len());
        for bricks in of_pe {
            self.count(bricks.len());
            for brick in bricks {
                self.u16s(brick.lo);
                self.put(brick.size);
                self.put([brick.part, brick.predictor]);
                brick.range.iter().for_each(|end| self.put(end.to_le_bytes()));
                self.count(brick.payload.len());
                self.put(&brick.payload);
            }
        }
    }

    pub(crate) fn patches(&mut self, of_run: &[Vec<Patch>], precision: Precision) {
        self.count(of_run.len());
        for patches in of_run {
            self.count(patches.len());
            patches.iter().for_each(|patch| self.patch(patch, precision));
        }
    }

    fn patch(&mut self, patch: &Patch, precision: Precision) {
        let TileRect { x, y, width, height } = patch.rect;
        self.count(patch.tile as usize);
        self.u16s([patch.slab].into_iter().chain([x, y, width, height].map(|n| n as u16)));
        let numbers = patch.rgba.as_flattened();
        match precision {
            Precision::Single => self.0.extend(numbers.iter().flat_map(|n| n.to_le_bytes())),
            Precision::Half => {
                let mut halves = vec![f16::ZERO; numbers.len()];
                halves.convert_from_f32_slice(numbers);
                self.0.extend(halves.iter().flat_map(|n| n.to_le_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use visapult_render::{Camera, SegmentKey, TransferFunction, Volume, make_segments};
    use visapult_volume::Grid;

    use visapult_render::CodeBits;

    use super::*;

    fn patches() -> Vec<Vec<Patch>> {
        let rect = TileRect { x: 3, y: 9, width: 2, height: 1 };
        vec![vec![], vec![Patch { tile: 70_000, slab: 5, rect, rgba: vec![[0.5, 0.25, 0.0, 1.0], [0.0; 4]] }]]
    }

    fn bricks() -> Vec<Vec<EncodedBrick>> {
        let brick = EncodedBrick {
            lo: [1, 2, 3],
            size: [4, 5, 6],
            part: 3,
            range: [-1.0, 7.5],
            predictor: 2,
            payload: vec![1, 2, 3],
        };
        vec![vec![brick.clone(), EncodedBrick { payload: Vec::new(), ..brick }], vec![]]
    }

    fn slabs() -> Part<SlabTile> {
        let tile = SlabTile { slab: 7, lo: [63, 127], size: [66, 3], payload: vec![1, 2, 3] };
        Part { made: vec![tile.clone(), SlabTile { slab: 8, ..tile }], samples: 1 << 40, missing: vec![2] }
    }

    fn face_parts() -> Vec<FacePart> {
        let tile = FaceTile { face: 128, lo: [64, 0], size: [64, 30], payload: vec![7; 9] };
        vec![FacePart { tile: tile.clone(), is_whole: true }, FacePart { tile, is_whole: false }]
    }

    fn ray_parts() -> Vec<RayPart> {
        let picked = Picked { place: [1.5, 2.0, -0.25], value: Some(7.0) };
        let part = RayPart { first: 1 << 40, through: 0.25, most: Some((0.5, picked)) };
        let missing = RayPart::alone(Picked { value: None, ..picked });
        vec![part, RayPart { most: None, ..part }, missing]
    }

    fn prediction() -> Prediction {
        Prediction {
            form: Form::Bricks { level: 2, bits: CodeBits::COARSE[1] },
            bytes: 1 << 33,
            psnr_db: vec![40.5, 39.0],
            seen: 0.5,
        }
    }

    fn segments() -> SegmentKeyframe {
        let volume = Volume::whole(Grid::of_size([6; 3]), (0..216).map(|i| i as f32).collect()).unwrap();
        let key = SegmentKey { camera: Camera::default(), width: 70, height: 20, segments: 8 };
        let function = TransferFunction { range: None, points: vec![[0.0; 5], [1.0; 5]] };
        make_segments(&volume, &key, &function, ValueRange { lo: 0.0, hi: 215.0 })
    }

    fn image() -> Part<Patch> {
        Part { made: patches().concat(), samples: 3, missing: vec![] }
    }

    #[test]
    fn answers_survive_the_way() {
        let mut writer = Writer::default();
        writer.image(&image());
        writer.slabs(&slabs());
        writer.segments(&segments());
        writer.face_parts(&face_parts());
        writer.predictions(0.25, &[prediction()]);
        writer.range(Some(ValueRange { lo: -1.0, hi: 2.0 }));
        writer.range(None);
        writer.depths(Some([1.0, 1.5]));
        writer.depths(None);
        writer.ray_parts(&ray_parts());
        writer.numbers(&[1, u64::MAX]);
        writer.bricks(&bricks());
        writer.patches(&patches(), Precision::Single);
        writer.patches(&patches(), Precision::Half);
        let mut reader = Reader(&writer.0);
        assert_eq!(reader.image(), Some(image()));
        assert_eq!(reader.slabs(), Some(slabs()));
        assert_eq!(reader.segments(), Some((segments().tiles, segments().samples)));
        assert_eq!(reader.face_parts(), Some(face_parts()));
        assert_eq!(reader.predictions(&[prediction().form]), Some((0.25, vec![prediction()])));
        assert_eq!(reader.range(), Some(Some(ValueRange { lo: -1.0, hi: 2.0 })));
        assert_eq!(reader.range(), Some(None));
        assert_eq!((reader.depths(), reader.depths()), (Some(Some([1.0, 1.5])), Some(None)));
        assert_eq!(reader.ray_parts(), Some(ray_parts()));
        assert_eq!(reader.numbers(), Some(vec![1, u64::MAX]));
        assert_eq!(reader.bricks(), Some(bricks()));
        assert_eq!(reader.patches(Precision::Single), Some(patches()));
        assert_eq!(reader.patches(Precision::Half), Some(patches()));
        assert!(reader.0.is_empty());
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_none_or_no_larger_than_its_bytes() {
        let mut writer = Writer::default();
        writer.patches(&patches(), Precision::Single);
        for length in 0..writer.0.len() {
            assert_eq!(Reader(&writer.0[..length]).patches(Precision::Single), None);
        }
        assert_eq!(Reader(&[0xff; 64]).bricks(), None);
        assert_eq!(Reader(&[0xff; 64]).patches(Precision::Half), None);
        assert_eq!(Reader(&[0xff; 64]).numbers(), None);
        assert_eq!(Reader(&[0xff; 64]).slabs(), None);
        assert_eq!(Reader(&[0xff; 64]).segments(), None);
        assert_eq!(Reader(&[0xff; 64]).face_parts(), None);
        assert_eq!(Reader(&[0xff; 64]).ray_parts(), None);
        assert_eq!(Reader(&[0xff; 64]).predictions(&[prediction().form]), None);
    }
}
