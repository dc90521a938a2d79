//! HDF5 chunks that reach over the edge of their dataset, with and without filters.

use hdf5_metno::File;
use hdf5_metno::plist::dataset_create::ChunkOpts;
use visapult_volume::Box3;
use visapult_volume_io::{ReadRequest, open};

#[test]
fn chunks_at_the_edge_are_read_whether_filters_were_left_out_there_or_not() {
    const SIZE: [usize; 3] = [9, 10, 11];
    let dir = tempfile::tempdir().unwrap();
    let values: Vec<f32> = (0..SIZE.iter().product::<usize>()).map(|at| at as f32).collect();
    for options in [ChunkOpts::DONT_FILTER_PARTIAL_CHUNKS, ChunkOpts::empty()] {
        let path = dir.path().join(format!("{}.h5", options.bits()));
        let file = File::create(&path).unwrap();
        let dataset =
            file.new_dataset::<f32>().shape([SIZE[2], SIZE[1], SIZE[0]]).chunk([4, 4, 4]).shuffle().deflate(4);
        dataset.chunk_opts(options).create("u").unwrap().write_raw(&values).unwrap();
        file.close().unwrap();
        let source = open(&path.display().to_string()).unwrap();
        let bounds = Box3::of_size(SIZE);
        let mut out = vec![0.0; bounds.volume()];
        source.read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut out).unwrap();
        assert_eq!(out, values, "{options:?}");
    }
}

#[test]
fn chunks_of_several_steps_give_each_step_its_own_values_in_whatever_order_they_are_read() {
    const SIZE: [usize; 3] = [9, 10, 11];
    const STEPS: usize = 7;
    let dir = tempfile::tempdir().unwrap();
    let samples: usize = SIZE.iter().product();
    let values: Vec<f32> = (0..STEPS * samples).map(|at| at as f32).collect();
    // Decoded here, and by the library.
    for is_checked in [false, true] {
        let path = dir.path().join(format!("{is_checked}.h5"));
        write_series(&path, [STEPS, SIZE[2], SIZE[1], SIZE[0]], is_checked, &values);
        let source = open(&path.display().to_string()).unwrap();
        assert_eq!(source.together(0, 0).steps, 3);
        assert!(source.together(0, 0).samples >= samples);
        for (step, bounds) in [
            (6, Box3::of_size(SIZE)),
            (0, Box3::new([3, 4, 5], [9, 5, 10])),
            (1, Box3::of_size(SIZE)),
            (5, Box3::new([0, 0, 8], [9, 10, 11])),
            (0, Box3::of_size(SIZE)),
            (2, Box3::new([8, 9, 10], [9, 10, 11])),
        ] {
            let mut out = vec![0.0; bounds.volume()];
            source.read(&ReadRequest { field: 0, step, level: 0, bounds }, &mut out).unwrap();
            let place = |[x, y, z]: [usize; 3]| ((step as usize * SIZE[2] + z) * SIZE[1] + y) * SIZE[0] + x;
            let wanted = bounds.bricks([1; 3]).map(|sample| place(sample.lo) as f32);
            assert!(out.into_iter().eq(wanted), "step {step}, {bounds}, {is_checked}");
        }
    }
}

/// Chunks of three steps, with checksums or packed. The file is closed with all that was made of it.
fn write_series(path: &std::path::Path, shape: [usize; 4], is_checked: bool, values: &[f32]) {
    let file = File::create(path).unwrap();
    let dataset = file.new_dataset::<f32>().shape(shape).chunk([3, 4, 4, 4]);
    let dataset = if is_checked { dataset.fletcher32() } else { dataset.shuffle().deflate(4) };
    dataset.create("u").unwrap().write_raw(values).unwrap();
}
