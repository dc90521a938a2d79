//! What the examples that measure proxies read.

use std::error::Error;

use visapult_render::{TransferFunction, Volume};
use visapult_volume::Grid;

/// A volume of little-endian `f32` values with x fastest; `grid` is `NX,NY,NZ,DX,DY,DZ`, samples and their distances.
pub(crate) fn volume(grid: &str, field: &str) -> Result<Volume, Box<dyn Error + Send + Sync>> {
    let numbers = grid.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let (Some(size), Some(spacing), 6) = (numbers.first_chunk::<3>(), numbers.last_chunk(), numbers.len()) else {
        return Err("a grid has six numbers".into());
    };
    let grid = Grid { spacing: *spacing, ..Grid::of_size(size.map(|n| n as usize)) };
    let bytes = std::fs::read(field)?;
    let values = bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    Ok(Volume::whole(grid, values)?)
}

/// A transfer function from its JSON file.
pub(crate) fn transfer_function(path: &str) -> Result<TransferFunction, Box<dyn Error + Send + Sync>> {
    Ok(TransferFunction::from_json(&std::fs::read_to_string(path)?)?)
}
