//! Behind the fields of a source, the magnitude of each vector that has its components among them.

use rayon::prelude::*;
use visapult_volume::{FieldInfo, SharedValues, StepSpan};

use crate::level::{HELD, place};
use crate::source::{ReadRequest, Scale, Source, SourceError, SourceInfo, Together};
use crate::tiles::pieces;
use crate::vectors::{Vector, vectors_of};

/// Values that one thread makes at a time.
const AT_A_TIME: usize = 1 << 16;

/// The source with its [vectors](vectors_of)' magnitudes behind its own fields; missing where a component is.
pub(crate) fn with_magnitudes(source: Box<dyn Source>) -> Box<dyn Source> {
    let vectors = vectors_of(&source.info().fields);
    if vectors.is_empty() {
        return source;
    }
    let mut info = source.info().clone();
    info.fields.extend(vectors.iter().map(|vector| {
        let component = &source.info().fields[vector.components[0]];
        FieldInfo { name: vector.magnitude.clone(), declared_range: None, ..component.clone() }
    }));
    Box::new(WithMagnitudes { source, info, vectors })
}

struct WithMagnitudes {
    source: Box<dyn Source>,
    info: SourceInfo,
    vectors: Vec<Vector>,
}

impl WithMagnitudes {
    /// The fields of the source that are read for a field.
    fn read_for(&self, field: usize) -> Vec<usize> {
        let made = field.checked_sub(self.source.info().fields.len()).and_then(|made| self.vectors.get(made));
        made.map_or_else(|| vec![field], |vector| vector.components.clone())
    }

    fn is_own(&self, field: usize) -> bool {
        field < self.source.info().fields.len()
    }

    /// The magnitudes in a box of few samples.
    fn lengths(&self, request: &ReadRequest) -> Result<Vec<f32>, SourceError> {
        let mut lengths = vec![0.0; request.bounds.volume()];
        let mut component = lengths.clone();
        for field in self.read_for(request.field) {
            self.source.read(&ReadRequest { field, ..*request }, &mut component)?;
            let pairs = lengths.par_chunks_mut(AT_A_TIME).zip(component.par_chunks(AT_A_TIME));
            pairs.for_each(|(lengths, values)| {
                lengths.iter_mut().zip(values).for_each(|(so_far, value)| *so_far = length(*so_far, *value));
            });
        }
        Ok(lengths)
    }
}

impl Source for WithMagnitudes {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.source.steps()
    }

    fn behind(&self) -> Option<&dyn Source> {
        Some(self.source.as_ref())
    }

    fn grain(&self, field: usize, level: usize) -> [usize; 3] {
        let grains = self.read_for(field).into_iter().map(|field| self.source.grain(field, level));
        grains.fold([1; 3], |all, grain| std::array::from_fn(|axis| all[axis].max(grain[axis])))
    }

    fn together(&self, field: usize, level: usize) -> Together {
        let all = self.read_for(field);
        let each = all.iter().map(|field| self.source.together(*field, level));
        let least = |one: Together, other: Together| Together {
            steps: one.steps.max(other.steps),
            samples: one.samples.min(other.samples),
        };
        let together = each.fold(Together::ALONE, least);
        // They share what is kept of decoded chunks.
        if together.steps > 1 { Together { samples: together.samples / all.len(), ..together } } else { together }
    }

    fn samples_read(&self) -> usize {
        self.source.samples_read()
    }

    fn is_as_stored(&self, field: usize, level: usize) -> bool {
        self.is_own(field) && self.source.is_as_stored(field, level)
    }

    fn is_static(&self, field: usize) -> bool {
        self.read_for(field).into_iter().all(|field| self.source.is_static(field))
    }

    fn scale(&self, field: usize) -> Scale {
        if self.is_own(field) { self.source.scale(field) } else { Scale::Linear }
    }

    fn shared(&self, request: &ReadRequest) -> Result<Option<SharedValues>, SourceError> {
        if self.is_own(request.field) {
            return self.source.shared(request);
        }
        // What is asked of a simulation has come by then: all of it is asked for, whether the first has come or not.
        let asked = self.read_for(request.field).into_iter().map(|field| ReadRequest { field, ..*request });
        let outcomes: Vec<_> = asked.map(|request| self.source.shared(&request)).collect();
        outcomes.into_iter().try_for_each(|outcome| outcome.map(|_| ()))?;
        Ok(None)
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        if self.is_own(request.field) {
            return self.source.read(request, out);
        }
        request.check(&self.info, self.steps(), out.len())?;
        let grain = self.grain(request.field, request.level);
        for bounds in pieces(&request.bounds, grain, HELD) {
            place(&self.lengths(&ReadRequest { bounds, ..*request })?, &bounds, out, &request.bounds);
        }
        Ok(())
    }
}

/// In double precision, where no square of single precision is too large or too small.
fn length(one: f32, other: f32) -> f32 {
    let (one, other) = (f64::from(one), f64::from(other));
    (one * one + other * other).sqrt() as f32
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use visapult_volume::{Box3, Grid, ScalarType, ValueRange};

    use super::*;

    /// Fields Bx, rho, By, Bz of which field k holds `VALUES[k]` along x, and says what differs by k.
    struct Magnetic(SourceInfo);

    const SIZE: [usize; 3] = [4, 2, 1];
    const VALUES: [[f32; 4]; 4] =
        [[3.0, 1e30, f32::NAN, -1e-30], [7.0; 4], [-4.0, 0.0, f32::INFINITY, 1e-30], [12.0, 0.0, 0.0, 0.0]];

    fn magnetic() -> Magnetic {
        let named = |name: &str| FieldInfo {
            name: name.to_owned(),
            unit: "T".to_owned(),
            scalar_type: ScalarType::F64,
            declared_range: Some(ValueRange { lo: 0.0, hi: 1.0 }),
        };
        Magnetic(SourceInfo {
            name: "magnetic".to_owned(),
            format: String::new(),
            levels: vec![Grid::of_size(SIZE)],
            fields: ["Bx", "rho", "By", "Bz"].map(named).to_vec(),
            times: Vec::new(),
            time_unit: String::new(),
            calendar: String::new(),
            along: Default::default(),
            live: false,
        })
    }

    impl Source for Magnetic {
        fn info(&self) -> &SourceInfo {
            &self.0
        }

        fn steps(&self) -> StepSpan {
            StepSpan { first: 3, last: 5 }
        }

        fn grain(&self, field: usize, _level: usize) -> [usize; 3] {
            [field + 1, 1, 1]
        }

        fn together(&self, field: usize, _level: usize) -> Together {
            Together { steps: field as u64 + 1, samples: 300 + field }
        }

        fn is_as_stored(&self, _field: usize, _level: usize) -> bool {
            true
        }

        fn is_static(&self, field: usize) -> bool {
            field != 2
        }

        fn shared(&self, request: &ReadRequest) -> Result<Option<SharedValues>, SourceError> {
            let mut out = vec![0.0_f32; request.bounds.volume()];
            self.read(request, &mut out)?;
            Ok(Some(Arc::new(out)))
        }

        fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
            request.check(&self.0, self.steps(), out.len())?;
            let nx = request.bounds.size()[0];
            out.iter_mut().enumerate().for_each(|(i, out)| *out = VALUES[request.field][request.bounds.lo[0] + i % nx]);
            Ok(())
        }
    }

    fn request(field: usize) -> ReadRequest {
        ReadRequest { field, step: 4, level: 0, bounds: Box3::of_size(SIZE) }
    }

    #[test]
    fn behind_its_fields_a_source_has_the_magnitudes_of_its_vectors() {
        let source = with_magnitudes(Box::new(magnetic()));
        let names: Vec<&str> = source.info().fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["Bx", "rho", "By", "Bz", "|B|"]);
        let made = &source.info().fields[4];
        assert_eq!((made.unit.as_str(), made.declared_range), ("T", None));
        let mut out = vec![0.0; Box3::of_size(SIZE).volume()];
        source.read(&request(4), &mut out).unwrap();
        for row in out.chunks_exact(4) {
            assert_eq!((row[0], row[1], row[2].is_nan()), (13.0, 1e30, true));
            assert!((row[3] / 2e-60_f64.sqrt() as f32 - 1.0).abs() < 1e-6, "{}", row[3]);
        }
        source.read(&request(1), &mut out).unwrap();
        assert_eq!(out, [7.0; 8]);
        assert!(source.read(&request(5), &mut out).is_err());
    }

    #[test]
    fn of_a_magnitude_is_true_what_is_of_all_its_components() {
        let source = with_magnitudes(Box::new(magnetic()));
        assert_eq!([source.grain(2, 0), source.grain(4, 0)], [[3, 1, 1], [4, 1, 1]]);
        assert_eq!(source.together(4, 0), Together { steps: 4, samples: 100 });
        assert_eq!([0, 4].map(|field| source.is_as_stored(field, 0)), [true, false]);
        assert_eq!([1, 2, 4].map(|field| source.is_static(field)), [true, false, false]);
        assert_eq!([0, 4].map(|field| source.shared(&request(field)).unwrap().is_some()), [true, false]);
    }

    #[test]
    fn all_components_are_asked_for_where_the_first_has_not_come() {
        struct Absent(SourceInfo, Arc<Mutex<Vec<usize>>>);
        impl Source for Absent {
            fn info(&self) -> &SourceInfo {
                &self.0
            }

            fn steps(&self) -> StepSpan {
                StepSpan { first: 0, last: 9 }
            }

            fn shared(&self, request: &ReadRequest) -> Result<Option<SharedValues>, SourceError> {
                self.1.lock().unwrap().push(request.field);
                Err(SourceError::WithoutField { step: request.step, field: self.0.fields[request.field].name.clone() })
            }

            fn read(&self, request: &ReadRequest, _out: &mut [f32]) -> Result<(), SourceError> {
                self.shared(request).map(|_| ())
            }
        }
        let asked = Arc::default();
        let made = WithMagnitudes {
            vectors: vectors_of(&magnetic().0.fields),
            info: with_magnitudes(Box::new(magnetic())).info().clone(),
            source: Box::new(Absent(magnetic().0, Arc::clone(&asked))),
        };
        let cause = made.shared(&request(4)).err().unwrap().to_string();
        assert!(cause.contains("without Bx"), "{cause}");
        assert_eq!(*asked.lock().unwrap(), [0, 2, 3]);
    }
}
