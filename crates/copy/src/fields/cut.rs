//! Which samples of a source a part takes, and reading them, a bounded piece of the source at a time.

use visapult_volume::{Box3, Grid, StepIndex};
use visapult_volume_io::{ReadRequest, Source, SourceError, box_of};

use super::part::FieldPart;

/// Samples of the source that are read at once: 64 MiB of values.
pub(super) const MOST_SAMPLES: usize = 1 << 24;
/// Steps of a part: the time of each is told.
const MOST_STEPS: u64 = 1 << 20;

/// Samples of the one level of a source at a stride, in some steps.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// The first sample along x, y, z, and from one to the next.
    first: [usize; 3],
    stride: [usize; 3],
    /// Samples that there are then.
    pub(super) size: [usize; 3],
    /// The steps of the source.
    pub(super) steps: Vec<StepIndex>,
    /// The source has a step axis.
    pub(super) has_steps: bool,
    /// The grid of what is cut out.
    pub(super) grid: Grid,
}

impl Cut {
    pub(super) fn of(source: &dyn Source, part: &FieldPart) -> Result<Self, String> {
        let info = source.info();
        let grid = info.grid();
        let mut cut = Self {
            first: [0; 3],
            stride: [1; 3],
            size: grid.size,
            steps: steps(source, part)?,
            has_steps: source.steps().last > source.steps().first || !info.times.is_empty(),
            grid: grid.clone(),
        };
        let bounds = part.bounds.map_or(Ok(grid.bounds()), |samples| box_of(samples, grid.size));
        let bounds = bounds.map_err(|why| format!("the box {why}"))?;
        for axis in 0..3 {
            let (first, end) = (bounds.lo[axis], bounds.hi[axis]);
            // One says z first.
            let stride = usize::try_from(part.stride[2 - axis]).ok().filter(|&stride| stride > 0);
            let stride = stride.ok_or("a stride is 1 or more")?.min(grid.size[axis]);
            (cut.first[axis], cut.stride[axis]) = (first, stride);
            cut.size[axis] = (end - first).div_ceil(stride);
            cut.grid.origin[axis] += grid.spacing[axis] * first as f64;
            cut.grid.spacing[axis] *= stride as f64;
        }
        cut.grid.size = cut.size;
        Ok(cut)
    }

    /// One in so many samples of a grid.
    #[cfg(test)]
    pub(super) fn with(size: [usize; 3], stride: usize, steps: Vec<StepIndex>) -> Self {
        let grid = Grid::of_size(size);
        Self { first: [0; 3], stride: [stride; 3], size, steps, has_steps: true, grid }
    }

    /// First and end of the samples of the level along z, y, x.
    pub(super) fn bounds_zyx(&self) -> [[usize; 2]; 3] {
        let span = self.span(&Box3::of_size(self.size));
        [2, 1, 0].map(|axis| [span.lo[axis], span.hi[axis]])
    }

    /// Of what is along an axis of the level, that of the samples that are taken.
    pub(super) fn along(&self, axis: usize, values: &[f64]) -> Vec<f64> {
        values.iter().skip(self.first[axis]).step_by(self.stride[axis]).take(self.size[axis]).copied().collect()
    }

    /// Samples of the source from which those of `bounds` come.
    pub(super) fn samples(&self, bounds: &Box3) -> usize {
        self.span(bounds).size().into_iter().fold(1, usize::saturating_mul)
    }

    /// The samples of the level between the first and the last of `bounds`.
    fn span(&self, bounds: &Box3) -> Box3 {
        Box3 {
            lo: std::array::from_fn(|axis| self.first[axis] + bounds.lo[axis] * self.stride[axis]),
            hi: std::array::from_fn(|axis| self.first[axis] + (bounds.hi[axis] - 1) * self.stride[axis] + 1),
        }
    }

    /// Reads the samples of `bounds`, a box of what is cut out, into `out`.
    pub(super) fn read(
        &self,
        source: &dyn Source,
        field: usize,
        step: StepIndex,
        bounds: &Box3,
        out: &mut [f32],
    ) -> Result<(), SourceError> {
        let [nx, ny, nz] = bounds.size();
        let samples = self.samples(bounds);
        // Planes between those that are wanted are left out where that spares something.
        let is_sparse = self.stride[2] > 1 && self.stride[2] >= source.grain(field, 0)[2];
        let split = |axis: usize, at: usize| {
            let (mut before, mut behind) = (*bounds, *bounds);
            (before.hi[axis], behind.lo[axis]) = (at, at);
            (before, behind)
        };
        let halves = match (nz > 1, ny > 1) {
            (true, _) if is_sparse => Some(split(2, bounds.lo[2] + 1)),
            (true, _) if samples > MOST_SAMPLES => Some(split(2, bounds.lo[2] + nz / 2)),
            (false, true) if samples > MOST_SAMPLES => Some(split(1, bounds.lo[1] + ny / 2)),
            _ => None,
        };
        if let Some((before, behind)) = halves {
            let (first, second) = out.split_at_mut(before.volume());
            self.read(source, field, step, &before, first)?;
            return self.read(source, field, step, &behind, second);
        }
        let span = self.span(bounds);
        let request = ReadRequest { field, step, level: 0, bounds: span };
        if self.stride == [1; 3] {
            return source.read(&request, out);
        }
        let mut level = vec![0.0; span.volume()];
        source.read(&request, &mut level)?;
        let [wide, high, _] = span.size();
        for (row, out) in out.chunks_exact_mut(nx).enumerate() {
            let (y, z) = (row % ny * self.stride[1], row / ny * self.stride[2]);
            let from = &level[(z * high + y) * wide..][..wide];
            out.iter_mut().zip(from.iter().step_by(self.stride[0])).for_each(|(out, value)| *out = *value);
        }
        Ok(())
    }
}

fn steps(source: &dyn Source, part: &FieldPart) -> Result<Vec<StepIndex>, String> {
    let there = source.steps();
    let (first, end, every) = match part.steps {
        None => (there.first, there.last + 1, 1),
        Some(steps) => (steps.first, steps.end.unwrap_or(there.last + 1), steps.every),
    };
    if first < there.first || first >= end || end > there.last + 1 || every == 0 {
        return Err(format!("it has steps {} to {}, not all of those asked for", there.first, there.last));
    }
    let count = (end - first).div_ceil(every);
    if count > MOST_STEPS {
        return Err(format!("{count} steps are too many: {MOST_STEPS} may be asked for"));
    }
    Ok((0..count).map(|number| first + number * every).collect())
}
