//! What several tests read from.

use visapult_volume::{Box3, FieldInfo, Grid, ScalarType, StepSpan};

use crate::level::HELD;
use crate::{ReadRequest, Source, SourceError, SourceInfo};

/// Samples that tell where they are.
pub(crate) struct Ramp(pub(crate) SourceInfo);

pub(crate) fn value([x, y, z]: [usize; 3]) -> f32 {
    (x + 100 * y + 10_000 * z) as f32
}

impl Source for Ramp {
    fn info(&self) -> &SourceInfo {
        &self.0
    }

    fn steps(&self) -> StepSpan {
        StepSpan { first: 0, last: 0 }
    }

    fn is_as_stored(&self, _field: usize, level: usize) -> bool {
        level == 2
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.0, self.steps(), out.len())?;
        assert!(out.len() <= 2 * HELD, "{} samples at once", out.len());
        let Box3 { lo, .. } = request.bounds;
        let [nx, ny, _] = request.bounds.size();
        for (i, out) in out.iter_mut().enumerate() {
            *out = value([lo[0] + i % nx, lo[1] + i / nx % ny, lo[2] + i / (nx * ny)]) + 0.25 * request.level as f32;
        }
        Ok(())
    }
}

pub(crate) fn ramp(size: [usize; 3]) -> Box<dyn Source> {
    let field =
        FieldInfo { name: "f".to_owned(), unit: String::new(), scalar_type: ScalarType::F32, declared_range: None };
    Box::new(Ramp(SourceInfo {
        name: "ramp".to_owned(),
        format: String::new(),
        levels: vec![Grid { spacing: [1.0, 2.0, 4.0], ..Grid::of_size(size) }],
        fields: vec![field],
        times: Vec::new(),
        time_unit: String::new(),
        calendar: String::new(),
        along: Default::default(),
        live: false,
    }))
}
