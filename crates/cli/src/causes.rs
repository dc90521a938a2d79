//! What was not copied, told cause by cause: a thousand files that fail alike are one line.

use std::time::{Duration, Instant};

/// What fails alike within this time is told together; what fails so later, in the end.
const TOGETHER: Duration = Duration::from_secs(1);
/// So many are told line by line; of more, the first names.
const FEW: usize = 3;
/// Causes at most: those beyond are told as they come.
const MOST: usize = 1000;

/// Causes, and what has failed for each.
#[derive(Debug, Default)]
pub(crate) struct Causes(Vec<Cause>);

#[derive(Debug)]
struct Cause {
    /// What has become of it, behind its name.
    why: String,
    since: Instant,
    was_told: bool,
    /// The first of those that are to be told, and all of them.
    names: Vec<String>,
    count: usize,
}

impl Causes {
    /// Something has failed; returns what is to be told of it at once.
    pub(crate) fn note(&mut self, now: Instant, name: String, why: String) -> Option<String> {
        if let Some(cause) = self.0.iter_mut().find(|cause| cause.why == why) {
            cause.add(name);
            return None;
        }
        if self.0.len() >= MOST {
            return Some(format!("{name}{why}"));
        }
        self.0.push(Cause { why, since: now, was_told: false, names: vec![name], count: 1 });
        None
    }

    /// Lines of what has been waited for long enough.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<String> {
        let due = |cause: &&mut Cause| !cause.was_told && now.duration_since(cause.since) >= TOGETHER;
        self.0.iter_mut().filter(due).flat_map(Cause::tell).collect()
    }

    /// Lines of all that was not told.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.0.iter_mut().flat_map(Cause::tell).collect()
    }
}

impl Cause {
    fn add(&mut self, name: String) {
        self.count += 1;
        if self.names.len() < FEW {
            self.names.push(name);
        }
    }

    fn tell(&mut self) -> Vec<String> {
        let why = &self.why;
        let names = std::mem::take(&mut self.names);
        let more = std::mem::take(&mut self.count) - names.len();
        let again = if std::mem::replace(&mut self.was_told, true) { "then " } else { "" };
        if more == 0 {
            return names.into_iter().map(|name| format!("{name}{why}")).collect();
        }
        vec![format!("{again}{} and {more} more{why}", names.join(", "))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_alike_is_one_line_and_few_are_told_each() {
        let (mut causes, began) = (Causes::default(), Instant::now());
        let after = |millis| began + Duration::from_millis(millis);
        for at in 0..2004 {
            let why = if at == 7 { ": is closed" } else { ": permission denied" };
            assert_eq!(causes.note(began, format!("run/{at}"), why.to_owned()), None);
        }
        assert_eq!(causes.due(after(500)), Vec::<String>::new());
        assert_eq!(
            causes.due(after(1000)),
            ["run/0, run/1, run/2 and 2000 more: permission denied", "run/7: is closed"]
        );
        for at in 0..5 {
            causes.note(after(2000), format!("later/{at}"), ": permission denied".to_owned());
        }
        assert_eq!(causes.due(after(9000)), Vec::<String>::new());
        assert_eq!(causes.rest(), ["then later/0, later/1, later/2 and 2 more: permission denied"]);
        assert_eq!(causes.rest(), Vec::<String>::new());
    }
}
