//! The fixed-size headers of NIfTI-1 (348 bytes) and NIfTI-2 (540 bytes).
//!
//! Offsets are those of nifti1.h and nifti2.h (NIfTI Data Format Working Group).

use visapult_volume::{Centering, Grid, Reversed, ScalarType};

use super::orientation::{self, Orientation};
use crate::scalar::{ByteOrder, Encoding};

/// Bytes that hold either header.
pub(super) const LONGEST: usize = 540;

/// Steps for which times are listed; a longer series has none.
const MAX_TIMES: u64 = 1 << 20;

/// Part of a distance by which pixdim and the sform may differ and mean the same.
const ROUNDING: f64 = 1e-4;

/// What a header says.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) version: u8,
    pub(super) size: [usize; 3],
    pub(super) steps: u64,
    pub(super) encoding: Encoding,
    /// Byte of the first value.
    pub(super) offset: u64,
    pub(super) name: String,
    spacing: [f64; 3],
    /// pixdim says other distances than the sform, which counts.
    is_respaced: bool,
    step_time: f64,
    first_time: f64,
    units: u8,
    pub(super) orientation: Orientation,
    /// Where the first sample of the file is, if that is known and the axes run along those of space.
    origin: Option<[f64; 3]>,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let first: [u8; 4] = bytes.first_chunk().copied().ok_or("it is too short for a NIfTI header")?;
        let (version, order) = match (u32::from_le_bytes(first), u32::from_be_bytes(first)) {
            (348, _) => (1, ByteOrder::Little),
            (_, 348) => (1, ByteOrder::Big),
            (540, _) => (2, ByteOrder::Little),
            (_, 540) => (2, ByteOrder::Big),
            (other, _) => {
                return Err(format!("its first number is {other}, not 348 or 540 (NIfTI-1, -2): it is not NIfTI"));
            }
        };
        let length = if version == 1 { 348 } else { 540 };
        let bytes = bytes
            .get(..length)
            .ok_or_else(|| format!("it ends inside its header of {length} bytes: it is truncated; copy it again"))?;
        let view = View { bytes, order };
        if version == 1 { Self::of_version_1(view) } else { Self::of_version_2(view) }
    }

    fn of_version_1(view: View<'_>) -> Result<Self, String> {
        check_magic(&view.bytes[344..348])?;
        Self::from_parts(Parts {
            version: 1,
            dim: std::array::from_fn(|i| i64::from(view.i16(40 + 2 * i))),
            datatype: view.i16(70),
            pixdim: std::array::from_fn(|i| view.f32(76 + 4 * i)),
            offset: view.f32(108),
            slope: view.f32(112),
            intercept: view.f32(116),
            units: view.bytes[123],
            first_time: view.f32(136),
            qform: (view.i16(252) > 0).then(|| Quaternion {
                bcd: std::array::from_fn(|i| view.f32(256 + 4 * i)),
                offset: std::array::from_fn(|i| view.f32(268 + 4 * i)),
            }),
            sform: (view.i16(254) > 0)
                .then(|| std::array::from_fn(|row| std::array::from_fn(|i| view.f32(280 + 16 * row + 4 * i)))),
            name: view.text(328, 16),
            order: view.order,
        })
    }

    fn of_version_2(view: View<'_>) -> Result<Self, String> {
        check_magic(&view.bytes[4..8])?;
        Self::from_parts(Parts {
            version: 2,
            dim: std::array::from_fn(|i| view.i64(16 + 8 * i)),
            datatype: view.i16(12),
            pixdim: std::array::from_fn(|i| view.f64(104 + 8 * i)),
            offset: view.i64(168) as f64,
            slope: view.f64(176),
            intercept: view.f64(184),
            units: view.bytes[if view.order == ByteOrder::Little { 500 } else { 503 }],
            first_time: view.f64(216),
            qform: (view.i32(344) > 0).then(|| Quaternion {
                bcd: std::array::from_fn(|i| view.f64(352 + 8 * i)),
                offset: std::array::from_fn(|i| view.f64(376 + 8 * i)),
            }),
            sform: (view.i32(348) > 0)
                .then(|| std::array::from_fn(|row| std::array::from_fn(|i| view.f64(400 + 32 * row + 8 * i)))),
            name: view.text(508, 16),
            order: view.order,
        })
    }

    fn from_parts(parts: Parts) -> Result<Self, String> {
        let (size, steps) = extent(&parts.dim)?;
        let header_end = if parts.version == 1 { 348.0 } else { 540.0 };
        if !(header_end..9e15).contains(&parts.offset) {
            return Err(format!("its values begin at byte {}, inside its header: it is damaged", parts.offset));
        }
        // A slope of zero means: values are as stored.
        let scaled = parts.slope != 0.0 && parts.slope.is_finite() && parts.intercept.is_finite();
        let (slope, intercept) = if scaled { (parts.slope, parts.intercept) } else { (1.0, 0.0) };
        let scalar = scalar_of(parts.datatype)?;
        let told: [f64; 3] = std::array::from_fn(|axis| {
            let distance = parts.pixdim[axis + 1].abs();
            if distance > 0.0 { distance } else { 1.0 }
        });
        let affine = parts.sform.or_else(|| parts.qform.map(|q| q.affine(&parts.pixdim)));
        let orientation = affine.as_ref().and_then(Orientation::of);
        // Where the sform says the positions, it says the distances, too: pixdim is what the qform is made of.
        let columns = parts.sform.filter(|_| orientation.is_some()).map(|rows| orientation::column_lengths(&rows));
        let spacing = columns.filter(|columns| differ(columns, &told)).unwrap_or(told);
        let is_placed = orientation.is_some_and(|orientation| !orientation.is_tilted);
        Ok(Self {
            version: parts.version,
            size,
            steps,
            encoding: Encoding { slope, intercept, ..Encoding::plain(scalar, parts.order) },
            offset: parts.offset as u64,
            name: parts.name,
            spacing,
            is_respaced: spacing != told,
            step_time: parts.pixdim[4],
            first_time: parts.first_time,
            units: parts.units,
            orientation: orientation.unwrap_or(Orientation::FILE),
            origin: affine.filter(|_| is_placed).map(|rows| rows.map(|row| row[3])),
        })
    }

    /// The grid, and which of its axes run backwards in the file.
    pub(super) fn grid(&self) -> (Grid, Reversed) {
        let unit = match self.units & 7 {
            1 => "m",
            2 => "mm",
            3 => "um",
            _ => "",
        };
        let mut grid = Grid {
            size: self.orientation.of_space(self.size),
            spacing: self.orientation.signed(self.spacing),
            origin: self.origin.unwrap_or_default(),
            unit: unit.to_owned(),
            centering: Centering::Point,
        };
        let reversed = Reversed::of(&mut grid);
        if self.origin.is_none() {
            grid.origin = [0.0; 3];
        }
        (grid, reversed)
    }

    /// What is told of its axes, beside what runs backwards.
    pub(super) fn remarks(&self) -> Vec<String> {
        let respaced = self.is_respaced.then(|| "spacing is that of the sform, which pixdim contradicts".to_owned());
        self.orientation.remarks().into_iter().chain(respaced).collect()
    }

    pub(super) fn times(&self) -> Vec<f64> {
        let known = self.step_time > 0.0 && self.step_time.is_finite() && !self.time_unit().is_empty();
        if self.steps < 2 || self.steps > MAX_TIMES || !known {
            return Vec::new();
        }
        let first = if self.first_time.is_finite() { self.first_time } else { 0.0 };
        (0..self.steps).map(|step| first + step as f64 * self.step_time).collect()
    }

    pub(super) fn time_unit(&self) -> &'static str {
        match (self.steps > 1, self.units & 0x38) {
            (true, 8) => "s",
            (true, 16) => "ms",
            (true, 24) => "us",
            _ => "",
        }
    }
}

/// Members of either header, in the widest types.
struct Parts {
    version: u8,
    dim: [i64; 8],
    datatype: i16,
    pixdim: [f64; 8],
    offset: f64,
    slope: f64,
    intercept: f64,
    units: u8,
    first_time: f64,
    qform: Option<Quaternion>,
    sform: Option<[[f64; 4]; 3]>,
    name: String,
    order: ByteOrder,
}

/// Whether distances are others by more than rounding.
fn differ(distances: &[f64; 3], told: &[f64; 3]) -> bool {
    distances.iter().zip(told).any(|(distance, told)| (distance - told).abs() > ROUNDING * distance)
}

fn check_magic(magic: &[u8]) -> Result<(), String> {
    match magic {
        [b'n', b'+', b'1' | b'2', 0] => Ok(()),
        [b'n', b'i', b'1' | b'2', 0] => {
            Err("its values are in a second file (.img): convert the pair to one .nii file".to_owned())
        }
        _ => Err("it has no NIfTI mark (n+1 or n+2) in its header: convert it to .nii".to_owned()),
    }
}

fn extent(dim: &[i64; 8]) -> Result<([usize; 3], u64), String> {
    if !(3..=7).contains(&dim[0]) {
        return Err(format!("it has {} axes: 3 are needed, or 4 with time", dim[0]));
    }
    let used = &dim[1..=dim[0] as usize];
    if used.iter().any(|&n| n < 1) {
        return Err(format!("its axes have {used:?} samples: every axis needs at least one"));
    }
    if used.iter().skip(4).any(|&n| n > 1) {
        return Err(format!("its axes have {used:?} samples: vectors are not read; save one component"));
    }
    let size = [used[0], used[1], used[2]].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    Ok((size, used.get(3).map_or(1, |&n| n.unsigned_abs())))
}

fn scalar_of(datatype: i16) -> Result<ScalarType, String> {
    Ok(match datatype {
        2 => ScalarType::U8,
        256 => ScalarType::I8,
        512 => ScalarType::U16,
        4 => ScalarType::I16,
        768 => ScalarType::U32,
        8 => ScalarType::I32,
        1280 => ScalarType::U64,
        1024 => ScalarType::I64,
        16 => ScalarType::F32,
        64 => ScalarType::F64,
        32 | 1792 | 2048 => return Err("its values are complex numbers: save one part of them".to_owned()),
        128 | 2304 => return Err("its values are colours: save one channel of them".to_owned()),
        other => return Err(format!("its values have data type {other}: integers to 64 bits and floats are read")),
    })
}

/// Rotation and offset, "method 2" of nifti1.h.
struct Quaternion {
    bcd: [f64; 3],
    offset: [f64; 3],
}

impl Quaternion {
    fn affine(&self, pixdim: &[f64; 8]) -> [[f64; 4]; 3] {
        let [b, c, d] = self.bcd;
        let a = (1.0 - (b * b + c * c + d * d)).max(0.0).sqrt();
        let rotation = [
            [a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
            [2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)],
            [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ];
        let mirrored = if pixdim[0] < 0.0 { -1.0 } else { 1.0 };
        let scale = [pixdim[1].abs(), pixdim[2].abs(), mirrored * pixdim[3].abs()];
        std::array::from_fn(|row| {
            let turned = rotation[row];
            [turned[0] * scale[0], turned[1] * scale[1], turned[2] * scale[2], self.offset[row]]
        })
    }
}

/// Numbers at offsets of a header that is known to be long enough.
struct View<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl View<'_> {
    fn at<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut number = [0; N];
        number.copy_from_slice(&self.bytes[offset..offset + N]);
        if self.order == ByteOrder::Big {
            number.reverse();
        }
        number
    }

    fn i16(&self, offset: usize) -> i16 {
        i16::from_le_bytes(self.at(offset))
    }

    fn i32(&self, offset: usize) -> i32 {
        i32::from_le_bytes(self.at(offset))
    }

    fn i64(&self, offset: usize) -> i64 {
        i64::from_le_bytes(self.at(offset))
    }

    fn f32(&self, offset: usize) -> f64 {
        f64::from(f32::from_le_bytes(self.at(offset)))
    }

    fn f64(&self, offset: usize) -> f64 {
        f64::from_le_bytes(self.at(offset))
    }

    fn text(&self, offset: usize, length: usize) -> String {
        let bytes = &self.bytes[offset..offset + length];
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(length);
        String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
    }
}
