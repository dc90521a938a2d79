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
