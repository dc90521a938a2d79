//! Steering: parameters that a simulation declares, and what may be asked of it between steps.

use serde::{Deserialize, Serialize};
use visapult_volume::StepIndex;

use crate::words::{MOST_NAME, check_name, check_unit};

/// Most parameters of a simulation.
pub(crate) const MOST_PARAMETERS: usize = 64;

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterKind {
    /// Any number.
    Number,
    /// Whole numbers.
    Integer,
}

/// A parameter that viewers may change while the simulation runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its unit; empty where it has none.
    pub unit: String,
    /// What values it takes.
    pub kind: ParameterKind,
    /// Least value.
    pub least: f64,
    /// Greatest value.
    pub most: f64,
    /// Value now.
    pub value: f64,
}

/// What a viewer asks of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Give a parameter a value.
    Set {
        /// Which.
        name: String,
        /// The value.
        value: f64,
    },
    /// Stop before the next step, and wait.
    Pause,
    /// Go on.
    Resume,
    /// Do one step, then wait again.
    Step,
    /// End in order.
    Stop,
}

/// An action, and the step before which it shall take effect on all ranks. Each rank answers with the step it has not begun, and does not begin
/// it before it is told which step it is to be: the greatest of all answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steer {
    /// Which back end asks, the same number on all ranks; other builds know it by this name.
    #[serde(default, rename = "desk")]
    pub coordinator: u64,
    /// Which of its actions.
    pub sequence: u64,
    /// The step that it is meant to take effect before.
    pub at: StepIndex,
    /// What it asks for.
    #[serde(flatten)]
    pub action: Action,
}

/// The step before which an action takes effect; none if it does not, because a rank will not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Which action.
    pub sequence: u64,
    /// The step.
    pub at: Option<StepIndex>,
}

/// One action in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Who asked.
    pub who: String,
    /// When, in seconds since 1970.
    pub unix_s: f64,
    /// What.
    #[serde(flatten)]
    pub action: Action,
    /// The step before which it took effect; none while that is not known.
    pub at: Option<StepIndex>,
    /// Why it did not, or not as asked.
    pub problem: Option<String>,
}

impl Action {
    /// Whether it can be done with these parameters.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check(&self, parameters: &[Parameter]) -> Result<(), String> {
        let Self::Set { name, value } = self else { return Ok(()) };
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == *name) else {
            let shown: String = name.chars().take(MOST_NAME).collect();
            return Err(format!("the simulation has no parameter {shown}"));
        };
        parameter.check_value(*value)
    }
}

impl Parameter {
    /// Holds the parameter against its own bounds.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub fn check(&self) -> Result<(), String> {
        check_name("a parameter", &self.name)?;
        check_unit(&format!("parameter {}", self.name), &self.unit)?;
        if !(self.least.is_finite() && self.most.is_finite() && self.least <= self.most) {
            return Err(format!("parameter {} has no range: {} to {}", self.name, brief(self.least), brief(self.most)));
        }
        if self.kind == ParameterKind::Integer && (self.least.fract() != 0.0 || self.most.fract() != 0.0) {
            return Err(format!(
                "{} takes whole numbers, and its range is {} to {}: it is to begin and end with one",
                self.name,
                brief(self.least),
                brief(self.most)
            ));
        }
        self.check_value(self.value)
    }

    fn check_value(&self, value: f64) -> Result<(), String> {
        if !(self.least..=self.most).contains(&value) {
            let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
            let [least, most, value] = [self.least, self.most, value].map(brief);
            return Err(format!("{} takes {least} to {most}{unit}, not {value}", self.name));
        }
        if self.kind == ParameterKind::Integer && value.fract() != 0.0 {
            return Err(format!("{} takes whole numbers, not {}", self.name, brief(value)));
        }
        Ok(())
    }
}

/// A value as people write it: with a power of ten where it would be all digits.
fn brief(value: f64) -> String {
    let has_few_digits = value == 0.0 || !value.is_finite() || (1e-5..1e15).contains(&value.abs());
    if has_few_digits { value.to_string() } else { format!("{value:e}") }
}

/// A parameter that has been changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which.
    pub name: String,
    /// Its value from here on.
    pub value: f64,
}

/// What viewers ask of the simulation before its next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steering {
    /// Parameters that change.
    pub changes: Vec<Change>,
    /// It shall end in order.
    pub stop: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn parameters() -> Vec<Parameter> {
        let parameter = |name: &str, kind, value| Parameter {
            name: name.to_owned(),
            unit: "Pa".to_owned(),
            kind,
            least: 0.0,
            most: 10.0,
            value,
        };
        vec![parameter("strength", ParameterKind::Number, 1.0), parameter("sources", ParameterKind::Integer, 3.0)]
    }

    pub(crate) fn set(name: &str, value: f64) -> Action {
        Action::Set { name: name.to_owned(), value }
    }

    #[test]
    fn what_is_asked_of_a_rank_is_written_as_other_builds_read_it() {
        let steer = Steer { coordinator: 7, sequence: 1, at: 5, action: Action::Pause };
        let written = r#"{"desk":7,"sequence":1,"at":5,"action":"pause"}"#;
        assert_eq!(serde_json::to_string(&steer).unwrap(), written);
        assert_eq!(serde_json::from_str::<Steer>(written).unwrap(), steer);
    }

    #[test]
    fn a_value_is_read_as_it_was_asked_for_to_the_last_bit() {
        // A fast reader of numbers misses these by one bit.
        for value in [31.245270191439438, 121.48791951161945, 93.31137037688033, 51.248178375505404] {
            let written = serde_json::to_string(&set("strength", value)).unwrap();
            assert_eq!(serde_json::from_str::<Action>(&written).unwrap(), set("strength", value));
        }
    }

    #[test]
    fn values_out_of_range_of_the_wrong_type_or_of_nothing_are_refused_with_the_reason() {
        let refused = |action: Action| action.check(&parameters()).unwrap_err();
        assert_eq!(refused(set("strength", 11.0)), "strength takes 0 to 10 Pa, not 11");
        assert_eq!(refused(set("strength", f64::NAN)), "strength takes 0 to 10 Pa, not NaN");
        assert_eq!(refused(set("strength", 1e300)), "strength takes 0 to 10 Pa, not 1e300");
        assert_eq!(refused(set("strength", -2.5e-7)), "strength takes 0 to 10 Pa, not -2.5e-7");
        assert_eq!(refused(set("sources", 2.5)), "sources takes whole numbers, not 2.5");
        assert_eq!(refused(set("colour", 2.5)), "the simulation has no parameter colour");
        assert_eq!(set("sources", 2.0).check(&parameters()), Ok(()));
    }

    #[test]
    fn a_range_of_whole_numbers_begins_and_ends_with_one() {
        let [_, sources] = <[Parameter; 2]>::try_from(parameters()).unwrap();
        assert_eq!(sources.check(), Ok(()));
        for (least, most) in [(0.5, 10.0), (0.0, 9.5)] {
            let said = Parameter { least, most, ..sources.clone() }.check().unwrap_err();
            assert!(said.starts_with("sources takes whole numbers, and its range is"), "{said}");
        }
    }
}
