//! The step that a program is putting together, and memory for the next ones.

use std::sync::Arc;

use visapult_ripp_net::units::bytes_for_people;
use visapult_volume::StepIndex;

use crate::error::FlowError;
use crate::messages::check_step;

/// Steps whose memory is kept to be used again.
const SPARE_STEPS: usize = 4;

/// A step that has been put.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) step: StepIndex,
    pub(crate) time: f64,
    /// By field; none where it was not put.
    pub(crate) fields: Vec<Option<Arc<Vec<f32>>>>,
}

/// Makes steps of as many fields, each of as many values, one at a time.
#[derive(Debug)]
pub(crate) struct Building {
    fields: usize,
    values: usize,
    begun: Option<Published>,
    spare: Vec<Arc<Vec<f32>>>,
}

impl Building {
    pub(crate) const fn new(fields: usize, values: usize) -> Self {
        Self { fields, values, begun: None, spare: Vec::new() }
    }

    /// Lets go of the step that has begun, if one has.
    pub(crate) fn abandon(&mut self) -> Option<StepIndex> {
        let begun = self.begun.take()?;
        self.take_back(&begun, None);
        Some(begun.step)
    }

    /// Begins a step; none has begun.
    pub(crate) fn begin(&mut self, step: StepIndex, time: f64) -> Result<(), FlowError> {
        check_step(step).map_err(FlowError::Usage)?;
        self.begun = Some(Published { step, time, fields: vec![None; self.fields] });
        Ok(())
    }

    /// Puts a field of the step that has begun, as [`Publisher::put`](crate::Publisher::put) does.
    pub(crate) fn put<E>(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut [f32]) -> Result<(), E>,
    ) -> Result<Result<(), E>, FlowError> {
        let (fields, values) = (self.fields, self.values);
        let Some(begun) = &mut self.begun else {
            return Err(FlowError::Usage("no step has begun: begin one before putting values".to_owned()));
        };
        if field >= fields {
            return Err(FlowError::Usage(format!("there is no field {field}: {fields} are declared")));
        }
        let free = self.spare.iter().position(|memory| Arc::strong_count(memory) == 1);
        let memory = free.map(|place| self.spare.swap_remove(place));
        let mut memory = memory.map_or_else(|| field_of(values, 0.0), Ok)?;
        #[expect(clippy::expect_used, reason = "just found to be nobody else's")]
        let outcome = write(Arc::get_mut(&mut memory).expect("ours alone"));
        if outcome.is_ok() {
            begun.fields[field] = Some(memory);
        }
        Ok(outcome)
    }

    pub(crate) fn end(&mut self) -> Result<Published, FlowError> {
        let begun = self.begun.take();
        begun.ok_or_else(|| FlowError::Usage("no step has begun: begin one before ending it".to_owned()))
    }

    /// Gives the fields that were not put the values of step `last`, or NaN.
    pub(crate) fn keep_last(&self, step: &mut Published, last: Option<&Published>) -> Result<(), FlowError> {
        for (field, values) in step.fields.iter_mut().enumerate().filter(|(_, values)| values.is_none()) {
            let before = last.and_then(|last| last.fields[field].clone());
            *values = Some(before.map_or_else(|| field_of(self.values, f32::NAN), Ok)?);
        }
        Ok(())
    }

    /// Takes back the memory of a step that is no longer the latest, but for what `newer` has kept of it.
    pub(crate) fn take_back(&mut self, old: &Published, newer: Option<&Published>) {
        let kept = |values: &Arc<Vec<f32>>| {
            newer.is_some_and(|newer| newer.fields.iter().flatten().any(|kept| Arc::ptr_eq(kept, values)))
        };
        self.spare.extend(old.fields.iter().flatten().filter(|values| !kept(values)).cloned());
        let excess = self.spare.len().saturating_sub(SPARE_STEPS * self.fields);
        self.spare.drain(..excess);
    }
}

/// A field of so many values; where there is no room for them the program goes on without.
fn field_of(values: usize, fill: f32) -> Result<Arc<Vec<f32>>, FlowError> {
    let mut field = Vec::new();
    let bytes = (values as u64).saturating_mul(size_of::<f32>() as u64);
    field.try_reserve_exact(values).map_err(|_| FlowError::Memory(bytes_for_people(bytes)))?;
    field.resize(values, fill);
    Ok(Arc::new(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_memory_can_be_had_for_are_an_error_of_the_call() {
        let mut building = Building::new(1, 1 << 50);
        building.begin(0, 0.0).unwrap();
        let refused = building.put(0, |_| Ok::<(), ()>(())).unwrap_err().to_string();
        assert!(refused.contains("4504 TB"), "{refused}");
        let mut step = building.end().unwrap();
        assert!(building.keep_last(&mut step, None).is_err());
        building.begin(1, 0.0).unwrap();
    }

    #[test]
    fn a_step_that_is_let_go_of_gives_its_memory_back_and_nothing_to_the_next() {
        let mut building = Building::new(2, 1);
        building.begin(0, 0.0).unwrap();
        let write = |out: &mut [f32]| -> Result<(), ()> {
            out.fill(5.0);
            Ok(())
        };
        building.put(1, write).unwrap().unwrap();
        assert_eq!((building.abandon(), building.abandon()), (Some(0), None));
        assert_eq!(building.spare.len(), 1);
        building.begin(1, 0.1).unwrap();
        let step = building.end().unwrap();
        assert_eq!((step.step, step.time, step.fields), (1, 0.1, vec![None, None]));
    }

    #[test]
    fn a_step_whose_number_no_page_can_tell_from_the_next_is_refused() {
        let mut building = Building::new(1, 1);
        let refused = building.begin(1 << 53, 0.0).unwrap_err().to_string();
        assert!(refused.contains("step 9007199254740992 is numbered beyond"), "{refused}");
        building.begin((1 << 53) - 1, 0.0).unwrap();
    }
}
