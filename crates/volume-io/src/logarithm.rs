//! Behind the fields of a source, the common logarithm of each: for what spans decades.

use rayon::prelude::*;
use visapult_volume::{FieldInfo, SharedValues, StepSpan, ValueRange};

use crate::source::{ReadRequest, Scale, Source, SourceError, SourceInfo, Together};

/// Fields that can be told apart: wherever they are named by number, that has 16 bits.
const MOST_FIELDS: usize = 1 << 16;
/// Values of which one thread takes the logarithms at a time.
const AT_A_TIME: usize = 1 << 16;

/// The source with twice its fields: behind all of its own, in the same order, `log10(NAME)` of each, NaN where a value is not above 0. Where a
/// source has a field of that name itself, its own is found by it. Unchanged where so many cannot be told apart.
pub(crate) fn with_logarithms(source: Box<dyn Source>) -> Box<dyn Source> {
    let own = source.info().fields.len();
    if 2 * own > MOST_FIELDS {
        return source;
    }
    let mut info = source.info().clone();
    info.fields.extend(source.info().fields.iter().map(logarithm_of));
    Box::new(WithLogarithms { source, info, own })
}

/// The name of the field that `name` is the logarithm of, if it is that of one.
pub fn name_within_logarithm(name: &str) -> Option<&str> {
    name.strip_prefix("log10(")?.strip_suffix(')')
}

struct WithLogarithms {
    source: Box<dyn Source>,
    info: SourceInfo,
    /// Fields of the source itself.
    own: usize,
}

fn logarithm_of(field: &FieldInfo) -> FieldInfo {
    let all_above = field.declared_range.filter(|range| range.lo > 0.0);
    let declared_range = all_above.map(|range| ValueRange { lo: range.lo.log10(), hi: range.hi.log10() });
    FieldInfo { name: format!("log10({})", field.name), declared_range, ..field.clone() }
}

impl WithLogarithms {
    /// The field of the source that is read for a field, and on which scale.
    fn within(&self, field: usize) -> (usize, Scale) {
        if field < self.own { (field, Scale::Linear) } else { (field - self.own, Scale::Logarithmic) }
    }
}

impl Source for WithLogarithms {
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
        self.source.grain(self.within(field).0, level)
    }

    fn together(&self, field: usize, level: usize) -> Together {
        self.source.together(self.within(field).0, level)
    }

    fn samples_read(&self) -> usize {
        self.source.samples_read()
    }

    fn is_as_stored(&self, field: usize, level: usize) -> bool {
        field < self.own && self.source.is_as_stored(field, level)
    }

    fn is_static(&self, field: usize) -> bool {
        self.source.is_static(self.within(field).0)
    }

    fn scale(&self, field: usize) -> Scale {
        match self.within(field) {
            (field, Scale::Linear) => self.source.scale(field),
            (_, Scale::Logarithmic) => Scale::Logarithmic,
        }
    }

    fn shared(&self, request: &ReadRequest) -> Result<Option<SharedValues>, SourceError> {
        let (field, scale) = self.within(request.field);
        // What is asked of a simulation has come by then, whatever is made of it.
        let shared = self.source.shared(&ReadRequest { field, ..*request })?;
        Ok(shared.filter(|_| scale == Scale::Linear))
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        let (field, scale) = self.within(request.field);
        self.source.read(&ReadRequest { field, ..*request }, out)?;
        if scale == Scale::Logarithmic {
            out.par_chunks_mut(AT_A_TIME).for_each(|values| values.iter_mut().for_each(|value| *value = log10(*value)));
        }
        Ok(())
    }
}

fn log10(value: f32) -> f32 {
    if value > 0.0 { value.log10() } else { f32::NAN }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use visapult_volume::{Box3, Grid, ScalarType, StepIndex};

    use super::*;

    /// Field k holds 10 to the powers k, k+1, ... along x, but 0 and a negative number in the end. What else it says is nobody's default.
    struct Powers(SourceInfo);

    const SIZE: [usize; 3] = [12, 2, 2];

    fn powers(fields: usize) -> Powers {
        let named = |k: usize| FieldInfo {
            name: format!("p{k}"),
            unit: "Pa".to_owned(),
            scalar_type: ScalarType::F32,
            declared_range: Some(ValueRange { lo: k as f32, hi: 100.0 }),
        };
        Powers(SourceInfo {
            name: "powers".to_owned(),
            format: "made".to_owned(),
            levels: vec![Grid::of_size(SIZE)],
            fields: (0..fields).map(named).collect(),
            times: Vec::new(),
            time_unit: "s".to_owned(),
            calendar: String::new(),
            along: Default::default(),
            live: false,
        })
    }

    fn value(field: usize, x: usize) -> f32 {
        match x {
            10 => 0.0,
            11 => -1.0,
            x => format!("1e{}", (field + x) as i32 - 8).parse().unwrap(),
        }
    }

    impl Source for Powers {
        fn info(&self) -> &SourceInfo {
            &self.0
        }

        fn steps(&self) -> StepSpan {
            StepSpan { first: 3, last: 5 }
        }

        fn wait_beyond(&self, step: StepIndex, _limit: Duration) -> StepIndex {
            step + 7
        }

        fn time_of(&self, step: StepIndex) -> Option<f64> {
            Some(step as f64 * 0.5)
        }

        fn grain(&self, field: usize, level: usize) -> [usize; 3] {
            [level + 2 + 10 * field; 3]
        }

        fn samples_read(&self) -> usize {
            4711
        }

        fn is_far(&self) -> bool {
            true
        }

        fn is_as_stored(&self, _field: usize, level: usize) -> bool {
            level == 1
        }

        fn is_static(&self, field: usize) -> bool {
            field == 1
        }

        fn shared(&self, request: &ReadRequest) -> Result<Option<SharedValues>, SourceError> {
            let mut out = vec![0.0_f32; request.bounds.volume()];
            self.read(request, &mut out)?;
            Ok(Some(std::sync::Arc::new(out)))
        }

        fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
            request.check(&self.0, self.steps(), out.len())?;
            let nx = request.bounds.size()[0];
            let place = |i: usize| request.bounds.lo[0] + i % nx;
            out.iter_mut().enumerate().for_each(|(i, out)| *out = value(request.field, place(i)));
            Ok(())
        }
    }

    fn request(field: usize) -> ReadRequest {
        ReadRequest { field, step: 4, level: 0, bounds: Box3::of_size(SIZE) }
    }

    #[test]
    fn behind_its_fields_a_source_has_their_logarithms() {
        let source = with_logarithms(Box::new(powers(2)));
        let names: Vec<&str> = source.info().fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["p0", "p1", "log10(p0)", "log10(p1)"]);
        let scales: Vec<Scale> = (0..4).map(|field| source.scale(field)).collect();
        assert_eq!(scales, [Scale::Linear, Scale::Linear, Scale::Logarithmic, Scale::Logarithmic]);
        let declared: Vec<_> = source.info().fields.iter().map(|field| field.declared_range).collect();
        // Of a range that begins at 0 nothing is known on that scale.
        assert_eq!(declared[2..], [None, Some(ValueRange { lo: 0.0, hi: 2.0 })]);
        let mut out = vec![0.0; Box3::of_size(SIZE).volume()];
        for own in 0..2 {
            source.read(&request(own), &mut out).unwrap();
            assert!((0..12).all(|x| out[x] == value(own, x)));
            source.read(&request(2 + own), &mut out).unwrap();
            assert!((0..10).all(|x| out[x] == (own + x) as f32 - 8.0), "{out:?}");
            assert!(out[10].is_nan() && out[11].is_nan());
            assert_eq!(ValueRange::of(&out), Some(ValueRange { lo: own as f32 - 8.0, hi: own as f32 + 1.0 }));
        }
        let cause = source.read(&request(4), &mut out).unwrap_err().to_string();
        assert!(cause.contains("there is no field 2, there are 2"), "{cause}");
    }

    #[test]
    fn all_else_is_as_the_source_says() {
        let source = with_logarithms(Box::new(powers(2)));
        assert_eq!(source.steps(), StepSpan { first: 3, last: 5 });
        assert_eq!(source.wait_beyond(4, Duration::ZERO), 11);
        assert_eq!(source.time_of(5), Some(2.5));
        assert_eq!([0, 1, 2, 3].map(|field| source.grain(field, 1)[0]), [3, 13, 3, 13]);
        assert_eq!(source.samples_read(), 4711);
        assert!(source.is_far());
        assert_eq!([0, 1, 2, 3].map(|field| source.is_as_stored(field, 1)), [true, true, false, false]);
        assert!(!source.is_as_stored(0, 0));
        assert_eq!([0, 1, 2, 3].map(|field| source.is_static(field)), [false, true, false, true]);
        let is_shared = |field| source.shared(&request(field)).unwrap().is_some();
        assert_eq!([0, 1, 2, 3].map(is_shared), [true, true, false, false]);
        let info = source.info();
        assert_eq!((info.name.as_str(), info.fields[3].unit.as_str()), ("powers", "Pa"));
    }

    #[test]
    fn more_fields_than_can_be_told_apart_stay_as_they_are() {
        for (own, all) in [(32_768, 65_536), (32_769, 32_769)] {
            assert_eq!(with_logarithms(Box::new(powers(own))).info().fields.len(), all);
        }
    }

    #[test]
    fn every_power_of_ten_is_where_it_belongs() {
        for power in -37..=38 {
            let value: f32 = format!("1e{power}").parse().unwrap();
            assert_eq!(log10(value), power as f32);
        }
        assert!([0.0, -0.0, -1.0, f32::NAN, f32::NEG_INFINITY].into_iter().all(|value| log10(value).is_nan()));
    }

    #[test]
    fn the_name_tells_of_which_it_is() {
        assert_eq!(name_within_logarithm("log10(mass (total))"), Some("mass (total)"));
        assert!(["p", "log10(p", "log(p)"].iter().all(|name| name_within_logarithm(name).is_none()));
    }
}
