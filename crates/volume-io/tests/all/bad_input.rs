//! What cannot be opened is refused in one line that says what, where and what to do.

use std::path::{Path, PathBuf};

use serde_json::json;
use visapult_volume::{Box3, ValueRange};
use visapult_volume_io::{ReadRequest, open};

fn testdata(source: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(source).display().to_string()
}

/// Opens, and reads a corner of what opens: some damage shows only there.
fn refusal(url: &str) -> String {
    let error = match open(url) {
        Err(error) => error,
        Ok(source) => {
            let bounds = Box3::of_size(source.info().grid().size.map(|edge| edge.min(8)));
            let request = ReadRequest { field: 0, step: source.steps().last, level: 0, bounds };
            match source.read(&request, &mut vec![0.0; bounds.volume()]) {
                Err(error) => error,
                Ok(()) => panic!("{url} opens and reads: {:?}", source.info()),
            }
        }
    };
    let message = error.to_string();
    assert!(!message.contains('\n') && message.len() < 1000, "{message:?}");
    message
}

fn assert_refused(url: &str, parts: &[&str]) {
    let message = refusal(url);
    for part in parts {
        assert!(message.contains(part), "wanted {part:?} for {url}: {message}");
    }
}

/// A file called `name` with `bytes`, in a folder that lives as long as the test.
fn file(dir: &Path, name: &str, bytes: &[u8]) -> String {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[test]
fn names_of_no_known_format_are_told_what_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let [picture, volume] = ["picture.png", "volume.npy"].map(|name| file(dir.path(), name, b"\x89PNG"));
    for url in [picture, String::new(), format!("{volume}:/inside")] {
        assert_refused(&url, &["no reader for", "demo:wave"]);
    }
    assert_refused("http://example.org/a.npy", &["not encrypted"]);
    assert_refused("https://example.org/a.npy", &["of object stores Zarr alone", "copy"]);
}

#[test]
fn paths_into_containers_that_are_written_otherwise_are_told_how() {
    for (url, meant) in [
        ("run/nc.H5:T", "run/nc.H5:/T?"),
        ("nc.nc:a/T", "nc.nc:/a/T?"),
        ("nc.h5/a/T", "nc.h5:/a/T?"),
        ("v3.zarr:/a/rho", "v3.zarr/a/rho?"),
        ("v3.zarr:rho", "v3.zarr/rho?"),
    ] {
        assert_refused(url, &[&format!("no reader for {url}: did you mean {meant}")]);
    }
    for url in ["nc.h5x:T", "nc.vtk:T", "nc.h5:", "v.npy:/T"] {
        assert_refused(url, &["cannot read ", "No such file"]);
    }
}

#[test]
fn missing_files_are_named() {
    for name in ["a.npy", "a.json", "a.nii", "a.nii.gz", "a.h5", "a.h5:/x", "a.zarr"] {
        let file = name.split(':').next().unwrap();
        assert_refused(&testdata(&format!("missing/{name}")), &["cannot read ", file, "No such file"]);
    }
}

#[test]
fn what_is_called_nearly_as_a_missing_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "density.h5", b"");
    file(dir.path(), "wrfout_d01", b"");
    for (written, meant) in
        [("densty.h5", "density.h5"), ("densty.h5:/rho", "density.h5"), ("wrfout_d02", "wrfout_d01")]
    {
        let meant = format!("No such file or directory; did you mean {}?", dir.path().join(meant).display());
        assert_refused(&dir.path().join(written).display().to_string(), &[&meant]);
    }
    let refused = refusal(&dir.path().join("pressure.h5").display().to_string());
    assert!(refused.ends_with("No such file or directory"), "{refused}");
}

#[test]
fn hdf5_is_known_by_what_it_begins_with_and_its_paths_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let name = dir.path().join("wrfout_d01_2005-08-28_00:00:00");
    std::fs::copy(testdata("hdf5/single.h5"), &name).unwrap();
    let whole = open(&name.display().to_string()).unwrap();
    let field = format!("{}:/deep/down/density", name.display());
    assert_eq!(open(&field).unwrap().info().fields, whole.info().fields);
}

#[test]
fn folders_in_place_of_files_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.npy", "a.json", "a.nii", "a.nii.gz", "a.h5"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
        assert_refused(&dir.path().join(name).display().to_string(), &[name, "it is a folder"]);
    }
    assert_refused(&dir.path().display().to_string(), &["no Zarr metadata", "name the folder"]);
}

#[test]
fn files_in_place_of_zarr_folders_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let url = file(dir.path(), "a.zarr", b"hello");
    assert_refused(&url, &["no Zarr metadata"]);
}

#[test]
fn empty_and_foreign_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (name, part) in [
        ("a.npy", "mark of a NumPy file"),
        ("a.json", "does not describe a raw file"),
        ("a.nii", "NIfTI"),
        ("a.nii.gz", "NIfTI"),
        ("a.h5", "no HDF5 signature"),
    ] {
        assert_refused(&file(dir.path(), name, b""), &[name, part]);
        assert_refused(&file(dir.path(), name, &[0x55; 4096]), &[name, part]);
    }
}

#[test]
fn truncated_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for source in ["npy/f32_le.npy", "nifti/f32.nii", "nifti/f32.nii.gz", "hdf5/single.h5"] {
        let bytes = std::fs::read(testdata(source)).unwrap();
        let name = source.split('/').nth(1).unwrap();
        for kept in [bytes.len() - 5, bytes.len() / 2, 100, 3] {
            assert_refused(&file(dir.path(), name, &bytes[..kept]), &[name]);
        }
    }
}

#[test]
fn compressed_files_that_are_damaged_are_to_be_copied_again() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(testdata("nifti/f32.nii.gz")).unwrap();
    assert_refused(&file(dir.path(), "short.nii.gz", &bytes[..bytes.len() - 20]), &["short.nii.gz", "copy it again"]);
    let mut damaged = bytes.clone();
    let at = bytes.len() - 4;
    damaged[at] ^= 0xff;
    assert_refused(&file(dir.path(), "damaged.nii.gz", &damaged), &["damaged.nii.gz", "copy it again"]);
}

#[test]
fn headers_that_claim_too_much_allocate_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut nifti = std::fs::read(testdata("nifti/u8.nii")).unwrap();
    nifti[42..48].copy_from_slice(&[0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f]);
    assert_refused(&file(dir.path(), "huge.nii", &nifti), &["huge.nii", "35181150962015 bytes", "truncated"]);
    let sidecar = json!({"file": "x.raw", "size": [1 << 20, 1 << 20, 1 << 19], "type": "f64"}).to_string();
    file(dir.path(), "x.raw", &[0; 8]);
    assert_refused(&file(dir.path(), "huge.json", sidecar.as_bytes()), &["x.raw", "the file has 8"]);
    let zarr = dir.path().join("huge.zarr");
    std::fs::create_dir(&zarr).unwrap();
    let array = |shape: u64, chunk: u64| {
        json!({"zarr_format": 2, "shape": [shape, shape, shape], "chunks": [chunk, chunk, chunk], "dtype": "<f8",
               "compressor": null, "fill_value": 0, "order": "C", "filters": null})
        .to_string()
    };
    file(&zarr, ".zarray", array(1 << 19, 1 << 18).as_bytes());
    assert_refused(&zarr.display().to_string(), &["larger than 1 GiB", "smaller chunks"]);
    file(&zarr, ".zarray", array(1 << 40, 16).as_bytes());
    assert_refused(&zarr.display().to_string(), &["too large to address"]);
}

#[test]
fn sidecars_that_make_no_sense_are_refused_with_the_member() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "x.raw", &[0; 24]);
    let good = json!({"file": "x.raw", "size": [2, 3, 4], "type": "u8"});
    for (member, value, parts) in [
        ("size", json!([2, 3]), &["sidecar.json", "size has 2 numbers"][..]),
        ("size", json!([2, 3, 0]), &["is empty"]),
        ("size", json!([2, 3, -1]), &["-1"]),
        ("size", json!([2, 3, 3]), &["x.raw", "6 bytes more", "sidecar.json"]),
        ("size", json!([2, 3, 5]), &["x.raw", "truncated"]),
        ("type", json!("complex"), &["complex", "f32"]),
        ("byte_order", json!("middle"), &["middle"]),
        ("steps", json!(0), &["steps is 0"]),
        ("times", json!([1, 2]), &["times has 2 values"]),
        ("spacing", json!([1, 0, 1]), &["spacing"]),
        ("file", json!("gone.raw"), &["sidecar.json", "gone.raw cannot be read", "correct file"]),
        ("file", json!("."), &["it is a folder"]),
        ("colour", json!("red"), &["colour"]),
        ("header_bytes", json!(u64::MAX), &["x.raw"]),
        ("steps", json!(u64::MAX), &["too large"]),
    ] {
        let mut sidecar = good.clone();
        sidecar[member] = value;
        assert_refused(&file(dir.path(), "sidecar.json", sidecar.to_string().as_bytes()), parts);
    }
}

#[test]
fn hdf5_datasets_that_are_no_fields_are_refused_with_the_reason() {
    for (inside, parts) in [
        (":/nothing/here", &["no dataset 'nothing/here'", "there are a/one, b/other"][..]),
        (":/complex", &["dataset 'complex'", "complex numbers"]),
        (":/text", &["dataset 'text'", "not numbers"]),
        (":/line", &["dataset 'line'", "has 1 axis"]),
        (":/empty", &["dataset 'empty'", "holds no value"]),
        ("", &["differ in shape", "a/one", "b/other", ":/a/one (visapult info lists them)"]),
    ] {
        assert_refused(&format!("{}{inside}", testdata("hdf5/refused.h5")), parts);
    }
}

#[test]
fn fields_on_different_grids_are_refused_with_their_names() {
    assert_refused(&testdata("hdf5/axes.h5:/apart"), &["different grids", "one spacing [0.5", "other spacing", "':/'"]);
}

#[test]
fn files_of_classic_netcdf_are_told_how_to_convert_them() {
    let dir = tempfile::tempdir().unwrap();
    assert_refused(&file(dir.path(), "a.nc", b"CDF\x01\0\0\0\0"), &["classic format", "nccopy -k nc4"]);
}

#[test]
fn zarr_arrays_that_are_no_fields_are_refused_with_the_reason() {
    for (inside, parts) in [
        ("/complex", &["complex", "not real numbers"][..]),
        ("/line", &["has 1 axis"]),
        ("", &["differ in shape", "1 of 2 x 2 x 2 (one)", "other"]),
        ("/gone", &["cannot read", "gone"]),
    ] {
        assert_refused(&format!("{}{inside}", testdata("zarr/refused_types.zarr")), parts);
    }
    assert_refused(&testdata("zarr/refused.zarr"), &["no Zarr metadata"]);
    assert_refused(&testdata("zarr/refused_names.zarr"), &["which of its axes (z, y, t) is which", "name them"]);
}

#[test]
fn zarr_metadata_that_is_damaged_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let url = dir.path().display().to_string();
    let document = |text: &str| std::fs::write(dir.path().join("zarr.json"), text).unwrap();
    document("{");
    assert_refused(&url, &["zarr.json is not a JSON object"]);
    document(&"[".repeat(1 << 20));
    assert_refused(&url, &["zarr.json is not a JSON object"]);
    document(&"x".repeat(17 << 20));
    assert_refused(&url, &["at most"]);
    document(r#"{"zarr_format":3,"node_type":"group"}"#);
    assert_refused(&url, &["no array of numbers", "nor anything else"]);
    document(r#"{"zarr_format":3,"node_type":"array"}"#);
    assert_refused(&url, &["cannot be opened"]);
    let image = |dataset: &str| {
        let axes =
            json!([{"name": "z", "type": "space"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]);
        let image = json!({"axes": axes, "datasets": [{"path": dataset}]});
        document(
            &json!({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": [image]}}})
                .to_string(),
        );
    };
    image("0");
    assert_refused(&url, &["array '/0' cannot be opened"]);
    image("../elsewhere");
    assert_refused(&url, &["names a dataset outside"]);
    document(r#"{"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5","plate":{}}}}"#);
    assert_refused(&url, &["a plate of many images", "A/1/0"]);
}

/// What a decoder of the Zarr library is held to: small files may claim to be gigabytes.
#[test]
fn zarr_chunks_that_hold_more_than_they_should_are_decoded_no_further() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.zarr");
    std::fs::create_dir_all(path.join("c/0/0")).unwrap();
    let mut chunk = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut chunk, &vec![0; 1 << 20]).unwrap();
    let chunk = chunk.finish().unwrap();
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let gzip = json!({"name": "gzip", "configuration": {"level": 5}});
    let three = |codecs: serde_json::Value| {
        json!({"zarr_format": 3, "node_type": "array", "shape": [4, 4, 4], "data_type": "float32", "fill_value": 0, "codecs": codecs,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4, 4]}},
            "chunk_key_encoding": {"name": "default"}})
    };
    // One inner chunk, and behind it its place and length.
    let inner =
        json!({"chunk_shape": [4, 4, 4], "codecs": [bytes, gzip], "index_codecs": [bytes], "index_location": "end"});
    let index = [0, chunk.len() as u64].map(u64::to_le_bytes).concat();
    let two = json!({"zarr_format": 2, "shape": [4, 4, 4], "chunks": [4, 4, 4], "dtype": "<f4", "fill_value": 0, "order": "C",
        "filters": null, "compressor": {"id": "gzip", "level": 5}});
    for (document, text, key, content) in [
        ("zarr.json", three(json!([bytes, gzip])), "c/0/0/0", chunk.clone()),
        (
            "zarr.json",
            three(json!([{"name": "sharding_indexed", "configuration": inner}])),
            "c/0/0/0",
            [chunk.clone(), index].concat(),
        ),
        (".zarray", two, "0.0.0", chunk.clone()),
    ] {
        let _ = std::fs::remove_file(path.join("zarr.json"));
        std::fs::write(path.join(document), text.to_string()).unwrap();
        std::fs::write(path.join(key), content).unwrap();
        let source = open(&path.display().to_string()).unwrap();
        let bounds = Box3::of_size([4; 3]);
        let mut out = vec![0.0; bounds.volume()];
        let problem =
            source.read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut out).unwrap_err().to_string();
        assert!(problem.contains("it holds more than the 256 bytes that it should"), "{text}: {problem}");
    }
}

#[test]
fn colours_complex_numbers_and_pairs_of_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let good = std::fs::read(testdata("nifti/u8.nii")).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        file(dir.path(), "a.nii", &changed)
    };
    assert_refused(&with(70, &[32, 0]), &["complex"]);
    assert_refused(&with(70, &[128, 0]), &["colours"]);
    assert_refused(&with(70, &[9, 9]), &["data type 2313"]);
    assert_refused(&with(344, b"ni1\0"), &["second file"]);
    assert_refused(&with(40, &[2, 0]), &["2 axes"]);
    assert_refused(&with(42, &[0, 0]), &["at least one"]);
    assert_refused(&with(108, &f32::NAN.to_le_bytes()), &["inside its header"]);
}

#[test]
fn values_that_are_not_finite_are_handed_out_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN].iter().flat_map(|v| v.to_le_bytes()).collect();
    file(dir.path(), "x.raw", &bytes);
    let sidecar = json!({"file": "x.raw", "size": [4, 1, 1], "type": "f32"}).to_string();
    let source = open(&file(dir.path(), "x.json", sidecar.as_bytes())).unwrap();
    let mut out = [0.0; 4];
    let request = ReadRequest { field: 0, step: 0, level: 0, bounds: Box3::of_size([4, 1, 1]) };
    source.read(&request, &mut out).unwrap();
    assert!(out[0].is_nan() && out[1] == f32::INFINITY && out[2] == f32::NEG_INFINITY);
    assert_eq!(ValueRange::of(&out), None);
}

#[test]
fn what_is_nearly_the_url_of_a_flow_is_said_to_be_that_and_not_quoted() {
    for written in [
        "rip://SECRET@host:1/x#y",
        "ripp:/SECRET@host:1/x",
        "RIPP://SECRET@host:1/x",
        " ripp://SECRET@host:1/x",
        "rrip://host:1",
        "flow://SECRET@host:1/x/y:/z",
    ] {
        let refused = refusal(written);
        assert!(refused.contains("begins with ripp://"), "{refused}");
        assert!(!refused.contains("SECRET") && !refused.contains("host:1"), "{refused}");
    }
}
