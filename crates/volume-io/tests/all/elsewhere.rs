//! HDF5 datasets whose values are in other files, or said to be in themselves.

use std::fs;
use std::path::Path;

use hdf5_metno::File;
use visapult_volume::Box3;
use visapult_volume_io::{ReadRequest, Source, open};

const SIZE: usize = 2;

type Making<'a> = &'a dyn Fn(&File);

/// A file with a dataset `u` that is put together of these datasets, each of which has all of it.
fn put_together(path: &Path, of: &[(&str, &str)]) {
    let file = File::create(path).unwrap();
    let all = [SIZE; 3];
    let mut dataset = file.new_dataset::<f32>().shape(all);
    for (source, inside) in of {
        dataset = dataset.virtual_map(source, inside, all, .., all, ..);
    }
    dataset.create("u").unwrap();
}

fn plain(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let values: Vec<f32> = (0..8_u8).map(f32::from).collect();
    File::create(path).unwrap().new_dataset::<f32>().shape([SIZE; 3]).create("u").unwrap().write_raw(&values).unwrap();
}

fn values(source: &dyn Source) -> Vec<f32> {
    let bounds = Box3::of_size([SIZE; 3]);
    let mut out = vec![0.0; bounds.volume()];
    source.read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut out).unwrap();
    out
}

fn problem(path: &Path) -> String {
    open(&path.display().to_string()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn what_is_put_together_of_itself_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    put_together(&at("own.h5"), &[("own.h5", "/u")]);
    put_together(&at("same.h5"), &[(".", "u")]);
    put_together(&at("one.h5"), &[("other.h5", "u")]);
    put_together(&at("other.h5"), &[("absent.h5", "u"), ("one.h5", "/u")]);
    put_together(&at("%b.h5"), &[("%%b.h5", "/u")]);
    for name in ["own.h5", "same.h5", "one.h5", "other.h5", "%b.h5"] {
        let problem = problem(&at(name));
        assert!(problem.contains("put together of itself") && problem.lines().count() == 1, "{name}: {problem}");
    }
}

#[test]
fn a_long_chain_is_refused_and_a_short_one_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let at = |number: usize| dir.path().join(format!("{number}.h5"));
    plain(&at(0));
    for number in 1..20 {
        // Twice, as by files that share their parts: each is walked once.
        put_together(&at(number), &[(&format!("{}.h5", number - 1), "/u"), (&format!("{}.h5", number - 1), "u")]);
    }
    let source = open(&at(10).display().to_string()).unwrap();
    assert_eq!(values(source.as_ref()), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert!(source.outside().is_empty() && !source.info().format.contains("outside"));
    assert!(problem(&at(19)).contains("more than 16 deep"));
}

#[test]
fn how_deep_a_dataset_leads_counts_however_the_file_is_walked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.h5");
    let file = File::create(&path).unwrap();
    let all = [SIZE; 3];
    file.new_dataset::<f32>().shape(all).create("d00").unwrap().write_raw(&[1.0_f32; 8]).unwrap();
    for number in 1..40 {
        let (own, before) = (format!("d{number:02}"), format!("d{:02}", number - 1));
        file.new_dataset::<f32>().shape(all).virtual_map(".", &before, all, .., all, ..).create(own.as_str()).unwrap();
    }
    drop(file);
    let source = open(&path.display().to_string()).unwrap();
    let names: Vec<_> = source.info().fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!((names.len(), names[16]), (17, "d16"));
    assert_eq!(values(source.as_ref()), [1.0; 8]);
    assert!(problem(&dir.path().join("run.h5:/d17")).contains("more than 16 deep"));
}

#[test]
fn a_part_that_is_no_hdf5_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "no such file").unwrap();
    put_together(&dir.path().join("run.h5"), &[("notes.txt", "/u")]);
    assert!(problem(&dir.path().join("run.h5:/u")).contains("notes.txt, no HDF5 file"));
}

#[test]
fn a_part_that_is_a_pipe_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.h5");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    put_together(&dir.path().join("run.h5"), &[("pipe.h5", "/u")]);
    assert!(problem(&dir.path().join("run.h5:/u")).contains("pipe.h5, no file"));
}

#[test]
fn files_outside_the_folder_of_a_source_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let [run, secret] = ["run/run.h5", "secret.h5"].map(|name| root.join(name));
    let outside = secret.display().to_string();
    plain(&secret);
    plain(&root.join("run/parts/part.h5"));
    let raw = root.join("raw");
    fs::write(&raw, [0; 32]).unwrap();
    let made: [(&str, Making<'_>); 4] = [
        ("secret.h5", &|file| file.link_external(&outside, "u", "u").unwrap()),
        ("secret.h5", &|file| file.link_external("../secret.h5", "u", "u").unwrap()),
        ("raw", &|file| {
            let dataset = file.new_dataset::<f32>().shape([SIZE; 3]).external(&raw.display().to_string(), 0, 32);
            dataset.create("u").unwrap();
        }),
        ("", &|file| file.link_external("parts/part.h5", "u", "u").unwrap()),
    ];
    let check = |name: &str| {
        let source = open(&run.display().to_string()).unwrap();
        let expected: Vec<_> = (!name.is_empty()).then(|| root.join(name)).into_iter().collect();
        assert_eq!(source.outside(), expected);
        let told =
            expected.iter().all(|file| source.info().format.contains(&format!("values are in {}", file.display())));
        assert!(told, "{}", source.info().format);
        assert_eq!(open(&format!("{}?level=0", run.display())).unwrap().outside(), expected);
    };
    for (name, make) in made {
        make(&File::create(&run).unwrap());
        check(name);
    }
    for (name, part) in [("secret.h5", outside.as_str()), ("secret.h5", "../secret.h5"), ("", "parts/part.h5")] {
        put_together(&run, &[(part, "/u")]);
        check(name);
    }
}

#[test]
fn a_sidecar_tells_of_a_file_outside_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir(root.join("run")).unwrap();
    for at in ["raw", "run/raw"] {
        fs::write(root.join(at), [0; 8]).unwrap();
    }
    for (file, is_outside) in [("raw", false), ("../raw", true)] {
        let sidecar = root.join("run/run.json");
        fs::write(&sidecar, format!(r#"{{"file": "{file}", "size": [2, 2, 2], "type": "u8"}}"#)).unwrap();
        let source = open(&sidecar.display().to_string()).unwrap();
        assert_eq!(!source.outside().is_empty(), is_outside);
        assert_eq!(source.info().format.contains("outside its folder"), is_outside, "{}", source.info().format);
    }
}
