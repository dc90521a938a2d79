//! What the other end says for people to read, as it is told here: in lines of bounded length, and no more of them than anybody reads.

use visapult_objects::{cut, printable};

use crate::report::{Event, counted};
use crate::words::MOST_WHY;

/// Notices that are told in one attempt; those beyond are counted.
const MOST: u64 = 500;

/// A line of what the other end has written.
pub(crate) fn line(text: &str) -> String {
    printable(cut(text, MOST_WHY).as_bytes())
}

/// Notices of the other end.
#[derive(Debug, Default)]
pub(crate) struct Notices(u64);

impl Notices {
    /// Tells one, unless there were too many.
    pub(crate) fn pass_on(&mut self, text: &str, watch: &mut dyn FnMut(Event)) {
        self.0 += 1;
        if self.0 <= MOST {
            watch(Event::Notice(line(text)));
        }
    }

    /// Tells how many were not told.
    pub(crate) fn finish(&self, watch: &mut dyn FnMut(Event)) {
        if self.0 > MOST {
            watch(Event::Notice(format!("and {} of the other end", counted(self.0 - MOST, "more notice"))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_long_notices_is_a_bounded_number_of_lines() {
        let (mut told, mut notices) = (Vec::new(), Notices::default());
        let mut watch = |event| {
            if let Event::Notice(text) = event {
                told.push(text)
            }
        };
        for _ in 0..MOST + 7 {
            notices.pass_on(&format!("\u{1b}[2J{}", "N".repeat(30_000)), &mut watch);
        }
        notices.finish(&mut watch);
        assert_eq!(told.len() as u64, MOST + 1);
        assert!(told.iter().all(|line| line.len() <= MOST_WHY + 4 && !line.contains('\u{1b}')));
        assert_eq!(told.last().map(String::as_str), Some("and 7 more notices of the other end"));
        let mut few = Vec::new();
        let mut notices = Notices::default();
        notices.pass_on("one", &mut |event| few.push(event));
        notices.finish(&mut |event| few.push(event));
        assert_eq!(few, [Event::Notice("one".to_owned())]);
    }
}
