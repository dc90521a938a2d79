//! Every reader is held to files that the format's own tools wrote: `testdata/make_fixtures.py`.

use std::path::PathBuf;

use serde::Deserialize;
use visapult_volume::{Box3, Centering, ScalarType};
use visapult_volume_io::{ReadRequest, Source, open};

/// One entry of `fixtures.json`: what a reader must find.
#[derive(Debug, Deserialize)]
struct Fixture {
    source: String,
    #[serde(rename = "type")]
    kind: String,
    levels: Vec<Level>,
    unit: String,
    fields: Vec<Field>,
    steps: u64,
    times: Vec<f64>,
    time_unit: String,
    missing: bool,
    slope: f64,
    intercept: f64,
    #[serde(default)]
    first_field: i64,
    /// Part of what is told of the format.
    #[serde(default)]
    remark: String,
}

#[derive(Debug, Deserialize)]
struct Level {
    size: [usize; 3],
    spacing: [f64; 3],
    origin: [f64; 3],
}

#[derive(Debug, Deserialize, PartialEq)]
struct Field {
    name: String,
    unit: String,
}

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn fixtures(format: &str) -> Vec<Fixture> {
    let text = std::fs::read_to_string(testdata().join("fixtures.json")).unwrap();
    let all: Vec<Fixture> = serde_json::from_str(&text).unwrap();
    all.into_iter().filter(|fixture| fixture.source.starts_with(format)).collect()
}

impl Fixture {
    fn open(&self) -> Box<dyn Source> {
        open(&format!("{}/{}", testdata().display(), self.source)).unwrap_or_else(|e| panic!("{}: {e}", self.source))
    }

    /// The formula of `make_fixtures.py`.
    fn value(&self, field: usize, step: u64, level: usize, at: [usize; 3]) -> f32 {
        let [x, y, z] = at.map(|i| (i << level) as i64);
        let field = field as i64 + self.first_field;
        let u = (x + 13 * y + 29 * z + 7 * x * z + 53 * step as i64 + 31 * field) % 251;
        if self.missing && u % 10 == 3 {
            return f32::NAN;
        }
        let stored = match self.kind.as_str() {
            "u8" => u as f64,
            "u16" => (u * 200) as f64,
            "u32" => (u * 10_000_000) as f64,
            "u64" => (u * 1_000_000_000_000_000) as f64,
            "i8" => (u - 125) as f64,
            "i16" => ((u - 125) * 200) as f64,
            "i32" => ((u - 125) * 10_000_000) as f64,
            "i64" => ((u - 125) * 1_000_000_000_000_000) as f64,
            _ => (u - 125) as f64 * 0.5,
        };
        (stored * self.slope + self.intercept) as f32
    }

    fn scalar_type(&self) -> ScalarType {
        use ScalarType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let all = [U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64];
        all.into_iter().find(|scalar| scalar.to_string() == self.kind).unwrap()
    }

    fn check(&self) {
        let source = self.open();
        self.check_info(source.as_ref());
        for (index, level) in self.levels.iter().enumerate() {
            for bounds in boxes(level.size) {
                for step in 0..self.steps {
                    for field in 0..self.fields.len() {
                        self.check_box(source.as_ref(), ReadRequest { field, step, level: index, bounds });
                    }
                }
            }
        }
    }

    fn check_info(&self, source: &dyn Source) {
        let info = source.info();
        let name = &self.source;
        assert_eq!(info.levels.len(), self.levels.len(), "{name}: levels");
        for (grid, level) in info.levels.iter().zip(&self.levels) {
            assert_eq!(grid.size, level.size, "{name}: size");
            assert!(near(&grid.spacing, &level.spacing), "{name}: spacing {:?}, not {:?}", grid.spacing, level.spacing);
            assert!(near(&grid.origin, &level.origin), "{name}: origin {:?}, not {:?}", grid.origin, level.origin);
            assert_eq!(grid.unit, self.unit, "{name}: unit of length");
        }
        let fields: Vec<_> = info.fields.iter().map(|f| Field { name: f.name.clone(), unit: f.unit.clone() }).collect();
        assert_eq!(fields, self.fields, "{name}: fields");
        assert!(info.fields.iter().all(|f| f.scalar_type == self.scalar_type()), "{name}: {:?}", info.fields);
        assert_eq!((source.steps().first, source.steps().last + 1), (0, self.steps), "{name}: steps");
        assert!(near(&info.times, &self.times), "{name}: times {:?}, not {:?}", info.times, self.times);
        assert_eq!(info.time_unit, self.time_unit, "{name}: unit of time");
        assert!(info.format.contains(&self.remark), "{name}: {}", info.format);
        assert_eq!(info.format.contains(';'), !self.remark.is_empty(), "{name}: {}", info.format);
        assert!(!info.live && !info.name.is_empty() && !info.format.is_empty(), "{name}: {info:?}");
    }

    fn check_box(&self, source: &dyn Source, request: ReadRequest) {
        let mut out = vec![12345.0; request.bounds.volume()];
        source.read(&request, &mut out).unwrap_or_else(|e| panic!("{}, {request:?}: {e}", self.source));
        let [nx, ny, _] = request.bounds.size();
        for (i, got) in out.into_iter().enumerate() {
            let sample = [i % nx, i / nx % ny, i / (nx * ny)];
            let at = std::array::from_fn(|axis| request.bounds.lo[axis] + sample[axis]);
            let wanted = self.value(request.field, request.step, request.level, at);
            let same = got == wanted || (got.is_nan() && wanted.is_nan());
            assert!(same, "{}, {request:?} at {at:?}: {got}, not {wanted}", self.source);
        }
    }
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0))
}

/// The whole, an inner box, thin ones along each axis, a corner and nothing.
fn boxes(size: [usize; 3]) -> Vec<Box3> {
    let [nx, ny, nz] = size;
    vec![
        Box3::of_size(size),
        Box3::new([1, 1, 1], [nx - 1, ny - 1, nz - 1]),
        Box3::new([0, ny / 2, 0], [nx, ny / 2 + 1, nz]),
        Box3::new([nx / 2, 0, 0], [nx / 2 + 1, ny, nz]),
        Box3::new([0, 0, nz - 1], [nx, ny, nz]),
        Box3::new([nx - 1, ny - 1, nz - 1], size),
        Box3::new([2, 2, 1], [2, 3, 2]),
    ]
}

fn check_all(format: &str) {
    let fixtures = fixtures(format);
    assert!(!fixtures.is_empty());
    fixtures.iter().for_each(Fixture::check);
}

#[test]
fn numpy_files_read_as_numpy_wrote_them() {
    check_all("npy/");
}

#[test]
fn raw_files_read_as_their_sidecar_says() {
    check_all("raw/");
}

#[test]
fn nifti_files_read_as_nibabel_wrote_them() {
    check_all("nifti/");
}

#[test]
fn hdf5_files_read_as_h5py_wrote_them() {
    check_all("hdf5/");
}

#[test]
fn each_level_of_an_adaptive_grid_is_a_grid_of_cells() {
    for name in ["amr.h5", "amr_packed.vtkhdf", "amr_packed.vtkhdf:/VTKHDF"] {
        let source = open(&format!("{}/hdf5/{name}", testdata().display())).unwrap();
        assert!(source.info().levels.iter().all(|grid| grid.centering == Centering::Cell));
        // What lies between cells is none of the numbers in the file.
        assert!(!source.is_as_stored(0, 0));
    }
}

#[test]
fn zarr_arrays_groups_and_images_read_as_zarr_python_wrote_them() {
    check_all("zarr/");
}

#[test]
fn a_field_without_steps_is_the_same_at_all_steps_of_the_others() {
    let source = open(&format!("{}/hdf5/axes.h5:/static", testdata().display())).unwrap();
    let bounds = source.info().grid().bounds();
    let read = |field: usize, step: u64| {
        let mut out = vec![0.0; bounds.volume()];
        source.read(&ReadRequest { field, step, level: 0, bounds }, &mut out).unwrap();
        out
    };
    let names: Vec<_> = source.info().fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!((names.as_slice(), source.steps().last), (&["mask", "moving"][..], 1));
    assert_eq!((read(0, 0), read(0, 0)), (read(1, 0), read(0, 1)));
    assert_ne!(read(1, 0), read(1, 1));
}
