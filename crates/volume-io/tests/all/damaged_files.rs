//! Damaged files must end in a value or an error: no panic, no crash, no hang, no memory beyond a bound.
//!
//! Every fixture is damaged many times with a fixed seed. The cases of a fixture run in a process of their own, because
//! the HDF5 library and codecs are C, with its address space limited by the shell, so that a claim in a header
//! cannot take the machine's memory unnoticed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use visapult_volume::Box3;
use visapult_volume_io::{ReadRequest, open};

/// Tells the child which fixture to damage, and how often: `SOURCE CASES`.
const TASK: &str = "VISAPULT_DAMAGE";
/// Address space of a child, in KiB: the library itself, its threads, and no more than a header may make it ask for.
const MEMORY_KIB: u64 = 3 << 20;
/// A child that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// xorshift64*, so that every run damages the same bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        // Headers are short and at the beginning; half of the damage goes there.
        let reach = if self.below(2) == 0 { bytes.len().min(600) } else { bytes.len() };
        match self.below(8) {
            0 => bytes.truncate(self.below(bytes.len() + 1)),
            1 => {
                let more = self.below(5000);
                bytes.extend((0..more).map(|i| i as u8));
            }
            2 | 3 => {
                let (at, value) = (self.below(reach), [0xff, 0x7f, 0x80, 0x00][self.below(4)]);
                let end = (at + 1 + self.below(8)).min(bytes.len());
                bytes[at.min(end)..end].fill(value);
            }
            _ => {
                for _ in 0..=self.below(6) {
                    let at = self.below(reach);
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
            }
        }
    }
}

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn copy_all(from: &Path, to: &Path) -> Vec<PathBuf> {
    if from.is_file() {
        std::fs::copy(from, to).unwrap();
        return vec![to.to_owned()];
    }
    std::fs::create_dir(to).unwrap();
    let mut entries: Vec<_> = std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    entries.sort();
    entries.into_iter().flat_map(|name| copy_all(&from.join(&name), &to.join(&name))).collect()
}

/// Opens the source and reads from every field and level; whatever it says is fine, if it says it.
fn try_to_use(url: &str) {
    let source = match open(url) {
        Ok(source) => source,
        Err(error) => return assert_one_line(&error.to_string()),
    };
    let info = source.info().clone();
    for level in 0..info.levels.len().min(3) {
        for field in 0..info.fields.len().min(3) {
            let size = info.levels[level].size;
            let small = size.iter().fold(1, |n: usize, &edge| n.saturating_mul(edge)) <= 1 << 20;
            let bounds = Box3::of_size(if small { size } else { size.map(|edge| edge.min(16)) });
            let mut out = vec![0.0; bounds.volume()];
            let request = ReadRequest { field, step: source.steps().last, level, bounds };
            if let Err(error) = source.read(&request, &mut out) {
                assert_one_line(&error.to_string());
            }
        }
    }
}

fn assert_one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n') && message.len() < 2000, "{message:?}");
}

/// The child's part: does nothing unless it is told what to damage.
#[test]
fn damage_what_the_environment_names() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (source, cases) = task.rsplit_once(' ').unwrap();
    let (file, inside) = source.split_once(":/").map_or((source, String::new()), |(f, i)| (f, format!(":/{i}")));
    let original = testdata().join(file);
    for case in 0..cases.parse().unwrap() {
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join(original.file_name().unwrap());
        let mut files = copy_all(&original, &copy);
        if let Ok(raw) = std::fs::read(original.with_extension("raw")) {
            files.push(copy.with_extension("raw"));
            std::fs::write(copy.with_extension("raw"), raw).unwrap();
        }
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (case + 1_u64));
        (0..8).for_each(|_| _ = random.next());
        let victim = &files[random.below(files.len())];
        let mut bytes = std::fs::read(victim).unwrap();
        random.damage(&mut bytes);
        std::fs::write(victim, bytes).unwrap();
        println!("{source}, case {case}");
        try_to_use(&format!("{}{inside}", copy.display()));
    }
}

fn survives(source: &str, cases: u64) {
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\""), this.to_str().unwrap()])
        .args(["--exact", "damaged_files::damage_what_the_environment_names", "--nocapture"])
        .env(TASK, format!("{source} {cases}"))
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Read as it comes: a full pipe would stop the child.
    let mut stdout = child.stdout.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let (finished, wait) = mpsc::channel();
    let errors = std::thread::spawn(move || std::io::read_to_string(&mut stderr).unwrap());
    std::thread::spawn(move || finished.send(std::io::read_to_string(&mut stdout).unwrap()));
    let Ok(output) = wait.recv_timeout(LIMIT) else {
        child.kill().unwrap();
        panic!("{source} hangs");
    };
    let status = child.wait().unwrap();
    let last = output.lines().rfind(|line| line.contains(", case ")).unwrap_or("before the first case").to_owned();
    assert!(status.success(), "{last}: {status}\n{}", errors.join().unwrap());
    assert!(last.ends_with(&format!("case {}", cases - 1)), "{source} ended early, at {last}");
}

#[test]
fn damaged_numpy_files_are_survived() {
    survives("npy/i16_fortran_3.npy", 500);
    survives("npy/f32_le.npy", 300);
    survives("npy/u8_version_3.npy", 300);
}

#[test]
fn damaged_raw_files_are_survived() {
    survives("raw/full.json", 500);
}

#[test]
fn damaged_nifti_files_are_survived() {
    for source in ["nifti/scaled.nii", "nifti/big_endian_version2.nii", "nifti/steps.nii.gz"] {
        survives(source, 400);
    }
}

#[test]
fn damaged_hdf5_files_are_survived() {
    for source in ["hdf5/chunked.h5:/chunked/i16_le", "hdf5/single.h5", "hdf5/netcdf.nc", "hdf5/filters.h5:/checksum"] {
        survives(source, 300);
    }
    survives("hdf5/steps.h5:/flat", 200);
    survives("wrf/wrfout_d01.nc:/T", 300);
}

#[test]
fn damaged_vtkhdf_files_are_survived() {
    for source in
        ["hdf5/amr.h5", "hdf5/amr_packed.vtkhdf", "hdf5/amr_swapped.vtkhdf", "hdf5/image.vtkhdf", "hdf5/image_cells.h5"]
    {
        survives(source, 500);
    }
}

#[test]
fn damaged_openpmd_files_are_survived() {
    for source in ["openpmd/groups.h5", "openpmd/orders.h5", "openpmd/planes.h5", "openpmd/uneven.h5:/a"] {
        survives(source, 400);
    }
}

#[test]
fn damaged_zarr_folders_are_survived() {
    for source in ["zarr/v2_blosc_lz4.zarr", "zarr/v3_zstd.zarr", "zarr/v3_gzip.zarr", "zarr/v3_sharded.zarr"] {
        survives(source, 150);
    }
    survives("zarr/v3_group.zarr", 60);
    survives("zarr/ome_0.4_tczyx.zarr", 60);
    survives("zarr/ome_0.5_zyx.zarr", 100);
}
