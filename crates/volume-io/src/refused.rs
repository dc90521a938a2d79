//! What is there and is no field, for a message of bounded length.

/// Things of which a message tells why they are none.
const MAX_LISTED: usize = 4;
/// Characters of a name that are told.
const MAX_NAME: usize = 60;
/// Those of a reason.
const MAX_REASON: usize = 200;

/// Datasets or arrays that are no fields.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    listed: Vec<String>,
    others: usize,
}

impl Refused {
    /// `problem` says what is wrong with `name`, and perhaps behind a colon what to do.
    pub(crate) fn add(&mut self, name: &str, problem: &str) {
        if self.listed.len() == MAX_LISTED {
            self.others += 1;
            return;
        }
        let wrong = problem.split(": ").next().unwrap_or_default();
        self.listed.push(format!("{}: {}", shown(name, MAX_NAME), shown(wrong, MAX_REASON)));
    }

    /// The problem of a place in which nothing `wanted` is: what is there, and why it is not that.
    pub(crate) fn told(&self, wanted: &str) -> String {
        let there = match (self.listed.join("; "), self.others) {
            (listed, _) if listed.is_empty() => ", nor anything else but coordinates".to_owned(),
            (listed, 0) => format!(" ({listed})"),
            (listed, others) => format!(" ({listed}; and {others} more)"),
        };
        format!("it has no {wanted} with 3 axes, or 4 with steps{there}")
    }
}

fn shown(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(most).collect();
    if text.chars().nth(most).is_some() {
        shown += "...";
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_bounded() {
        let mut refused = Refused::default();
        assert_eq!(
            refused.told("array"),
            "it has no array with 3 axes, or 4 with steps, nor anything else but coordinates"
        );
        refused.add("v\n", "its shape [5] has 1 axis: 3 are needed");
        assert_eq!(refused.told("array"), "it has no array with 3 axes, or 4 with steps (v: its shape [5] has 1 axis)");
        for _ in 0..40 {
            refused.add(&"n".repeat(5000), &"p".repeat(5000));
        }
        let told = refused.told("array");
        assert!(told.ends_with("...; and 37 more)") && told.len() < 1200, "{told}");
    }
}
