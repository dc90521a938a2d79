//! What shapes and paths mean, the same for every format.

use std::io::Read;
use std::path::Path;

use crate::SourceError;
use crate::coordinates::cut;
use crate::place::Place;
use crate::roles::Role;

/// Refuses an array that has too few axes, or one along which is nothing.
pub(crate) fn check(shape: &[u64]) -> Result<(), String> {
    if shape.len() < 3 {
        return Err(format!("{}; reshape it", wrong_axes(shape)));
    }
    check_holds_values(shape)
}

fn check_holds_values(shape: &[u64]) -> Result<(), String> {
    if shape.contains(&0) {
        return Err(format!("its shape {shape:?} holds no value: every axis needs at least one"));
    }
    Ok(())
}

/// Steps and `[nx, ny, nz]` of an array of shape `(nz, ny, nx)` or `(steps, nz, ny, nx)`.
pub(crate) fn steps_and_size(shape: &[u64]) -> Result<(u64, [usize; 3]), String> {
    let (steps, nz, ny, nx) = match *shape {
        [nz, ny, nx] => (1, nz, ny, nx),
        [steps, nz, ny, nx] => (steps, nz, ny, nx),
        _ => return Err(format!("{}; reshape it", wrong_axes(shape))),
    };
    check_holds_values(shape)?;
    let size = [nx, ny, nz].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    Ok((steps, size))
}

/// What is said of an array with too few axes, or too many.
pub(crate) fn wrong_axes(shape: &[u64]) -> String {
    let (count, axes) = (shape.len(), if shape.len() == 1 { "axis" } else { "axes" });
    format!("its shape {shape:?} has {count} {axes}: 3 are needed (z, y, x), or 4 (step, z, y, x)")
}

/// What is said of an array with more axes than can be shown, of which something is told of some.
pub(crate) fn too_many_axes(shape: &[u64], names: &[String], told: &[Option<Role>]) -> String {
    let spare = shape.iter().zip(names).zip(told).find(|((length, _), told)| **length > 1 && told.is_none());
    match spare {
        Some(((length, name), _)) if told.iter().any(Option::is_some) => format!(
            "it has {length} members along {}, of which one cannot be chosen yet: save each as an array of its own",
            cut(name)
        ),
        _ => format!("{}; save one part of it", wrong_axes(shape)),
    }
}

/// What is remarked of an array whose axes nothing names, where the last of four may be none of space.
pub(crate) fn doubt(shape: &[u64]) -> Option<String> {
    let [steps, nz, ny, nx] = *shape else { return None };
    let other = ny.min(nz);
    let (is_thin, is_short) = (nx <= 4 && nx < other, nx < other / 4 && nx < steps / 8);
    (is_thin || is_short).then(|| {
        format!(
            "axes are taken as steps, z, y, x: if the last one is components, save each of the {nx} as an array of its own, if it is steps, store it first"
        )
    })
}

/// Last part of a path, to show.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Last part of a path without its ending: the name of a field that has no other.
pub(crate) fn file_stem(path: &Path) -> String {
    let name = file_name(path);
    name.split_once('.').filter(|(stem, _)| !stem.is_empty()).map_or(name.clone(), |(stem, _)| stem.to_owned())
}

/// The content of a file that is small by its nature.
pub(crate) fn read_small(place: &Place, limit: u64) -> Result<Vec<u8>, SourceError> {
    let (file, length) = place.open()?;
    if length > limit {
        let problem = format!("it has {length} bytes, at most {limit} are expected of it: name the right file");
        return Err(SourceError::format(place.display(), problem));
    }
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).map_err(|cause| SourceError::io(place.display(), cause))?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_axis_that_may_be_components_or_steps_is_in_doubt() {
        for shape in [[64, 64, 64, 3], [2, 64, 64, 1], [30, 40, 50, 4], [64, 128, 128, 7], [300, 40, 50, 9]] {
            let told = doubt(&shape).unwrap_or_else(|| panic!("{shape:?}"));
            assert!(told.contains(&format!("each of the {}", shape[3])), "{told}");
        }
        for shape in
            [&[12, 64, 64, 64][..], &[9, 5, 7, 11], &[2, 3, 3, 3], &[20, 4, 4, 4], &[10, 64, 64, 8], &[64, 64, 3]]
        {
            assert_eq!(doubt(shape), None, "{shape:?}");
        }
    }
}
