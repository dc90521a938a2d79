//! `.npy` files as NumPy lays them out, and what is refused.

use std::path::PathBuf;

use visapult_volume::Box3;
use visapult_volume_io::{ReadRequest, Source, open};

fn npy(descr: &str, fortran: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.bytes());
    bytes.extend(values);
    bytes
}

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn read(source: &dyn Source, step: u64, bounds: Box3) -> Vec<f32> {
    let mut out = vec![0.0; bounds.volume()];
    source.read(&ReadRequest { field: 0, step, level: 0, bounds }, &mut out).unwrap();
    out
}

fn value(t: usize, z: usize, y: usize, x: usize) -> i32 {
    (((t * 100 + z) * 100 + y) * 100 + x) as i32
}

#[test]
fn c_and_fortran_order_give_the_same_boxes_of_every_step() {
    let [nt, nz, ny, nx] = [3, 70, 5, 19];
    let mut c_order = Vec::new();
    let mut fortran = Vec::new();
    for (t, z, y, x) in (0..nt * nz * ny * nx).map(|i| (i / (nx * ny * nz), i / (nx * ny) % nz, i / nx % ny, i % nx)) {
        c_order.extend(value(t, z, y, x).to_be_bytes());
    }
    for (x, y, z, t) in (0..nt * nz * ny * nx).map(|i| (i / (nt * nz * ny), i / (nt * nz) % ny, i / nt % nz, i % nt)) {
        fortran.extend(value(t, z, y, x).to_le_bytes());
    }
    let (_c, c_path) = written(&npy(">i4", "False", "(3, 70, 5, 19)", &c_order));
    let (_f, f_path) = written(&npy("<i4", "True", "(3, 70, 5, 19)", &fortran));
    let bounds = Box3::new([2, 1, 3], [19, 4, 69]);
    for path in [c_path, f_path] {
        let source = open(path.to_str().unwrap()).unwrap();
        assert_eq!(source.info().grid().size, [nx, ny, nz]);
        assert_eq!(source.steps().last, 2);
        for step in 0..3 {
            let values = read(source.as_ref(), step, bounds);
            for (i, got) in values.iter().enumerate() {
                let [x, y, z] = [2 + i % 17, 1 + i / 17 % 3, 3 + i / 51];
                assert_eq!(*got, value(step as usize, z, y, x) as f32);
            }
        }
    }
}

#[test]
fn large_boxes_read_in_pieces_are_complete() {
    let n = 128_usize;
    let bytes: Vec<u8> = (0..n * n * n).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let (_dir, path) = written(&npy("<f4", "False", "(128, 128, 128)", &bytes));
    let source = open(path.to_str().unwrap()).unwrap();
    let whole = read(source.as_ref(), 0, Box3::of_size([n; 3]));
    assert!(whole.iter().enumerate().all(|(i, v)| *v == i as f32));
    let bounds = Box3::new([1, 0, 0], [128, 128, 128]);
    let most = read(source.as_ref(), 0, bounds);
    assert!(most.iter().enumerate().all(|(i, v)| *v == (i / 127 * 128 + i % 127 + 1) as f32));
}

#[test]
fn empty_boxes_read_as_nothing() {
    for fortran in ["True", "False"] {
        let (_dir, path) = written(&npy("|u1", fortran, "(2, 2, 2)", &[0; 8]));
        let source = open(path.to_str().unwrap()).unwrap();
        assert!(read(source.as_ref(), 0, Box3::new([1, 1, 1], [1, 2, 2])).is_empty());
    }
}

#[test]
fn a_request_for_what_is_not_there_says_what_is() {
    let (_dir, path) = written(&npy("|u1", "False", "(2, 2, 2)", &[0; 8]));
    let source = open(path.to_str().unwrap()).unwrap();
    let refused =
        |request: ReadRequest| source.read(&request, &mut vec![0.0; request.bounds.volume()]).unwrap_err().to_string();
    let good = ReadRequest { field: 0, step: 0, level: 0, bounds: Box3::of_size([1; 3]) };
    assert!(refused(ReadRequest { field: 1, ..good }).contains("no field 1"));
    assert!(refused(ReadRequest { level: 2, ..good }).contains("no level 2"));
    assert!(refused(ReadRequest { step: 1, ..good }).contains("step 1 is not available"));
    assert!(refused(ReadRequest { bounds: Box3::of_size([3, 1, 1]), ..good }).contains("does not lie inside"));
}

#[test]
fn files_that_cannot_be_used_get_one_line_that_says_why() {
    let truncated = npy("<f4", "False", "(2, 3, 4)", &[0; 95]);
    let mut claims = npy("<f4", "False", "(2, 3, 4)", &[0; 96]);
    claims[6] = 2;
    claims[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    for (bytes, part) in [
        (Vec::new(), "mark of a NumPy file"),
        (b"\x93NUM".to_vec(), "mark of a NumPy file"),
        (b"\x93NUMPY\x01\x00\xff".to_vec(), "truncated"),
        (b"not a numpy file at all".to_vec(), "mark of a NumPy file"),
        (truncated, "truncated"),
        (claims, "claims 4294967295 bytes"),
        (npy("<c8", "False", "(2, 2, 2)", &[0; 64]), "complex"),
        (npy("<U4", "False", "(2, 2, 2)", &[0; 128]), "text"),
        (npy("<f4", "False", "(24,)", &[0; 96]), "has 1 axis"),
        (npy("<f4", "False", "(2, 0, 4)", &[0; 96]), "holds no value"),
        (npy("<f4", "False", "(1048576, 1048576, 1048576)", &[0; 96]), "need 4611686018427388"),
        (npy("<f4", "False", "(9223372036854775807, 9223372036854775807, 4)", &[0; 96]), "too large to address"),
    ] {
        let (_dir, path) = written(&bytes);
        let message = open(path.to_str().unwrap()).err().unwrap().to_string();
        assert!(message.contains(part) && message.contains("a.npy"), "wanted {part:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn folders_and_missing_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("folder.npy");
    std::fs::create_dir(&folder).unwrap();
    assert!(open(folder.to_str().unwrap()).err().unwrap().to_string().contains("it is a folder"));
    let missing = dir.path().join("missing.npy");
    assert!(open(missing.to_str().unwrap()).err().unwrap().to_string().starts_with("cannot read "));
}
