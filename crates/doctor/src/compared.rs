//! What has become of each finding since it was found.

use std::fmt;

use crate::finding::Finding;
use crate::report::Report;
use crate::text::rate;

/// Two reports of one host: before something was changed, and after.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// What was found first.
    pub before: &'a Report,
    /// What is found now.
    pub after: &'a Report,
}

impl fmt::Display for Compared<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (&self.before.findings, &self.after.findings);
        writeln!(out, "Before, and now:")?;
        for was in before {
            let now = after.iter().find(|now| is_of_one(was, now));
            writeln!(out, "  {}: {}", was.id, fate(was, now))?;
            writeln!(out, "    before  {}", seen(was))?;
            match now {
                Some(now) => writeln!(out, "    now     {}", seen(now))?,
                None => writeln!(out, "    now     nothing that matters at {}", rate(self.after.asked_bps as f64))?,
            }
        }
        for new in after.iter().filter(|new| !before.iter().any(|was| is_of_one(was, new))) {
            writeln!(out, "  {}: was not found before\n    now     {}", new.id, seen(new))?;
        }
        writeln!(out, "{}", self.after.verdict)
    }
}

fn is_of_one(one: &Finding, other: &Finding) -> bool {
    (one.id, &one.what) == (other.id, &other.what)
}

fn fate(was: &Finding, now: Option<&Finding>) -> &'static str {
    match now {
        None => "mended",
        Some(now) if (&now.seen, now.limit_bps) == (&was.seen, was.limit_bps) => "as it was",
        Some(_) => "changed",
    }
}

fn seen(finding: &Finding) -> String {
    let limit = finding.limit_bps.map(|bps| format!(" ({})", rate(bps as f64))).unwrap_or_default();
    format!("{}{limit}", finding.seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Findings;

    fn report(found: Vec<Finding>) -> Report {
        Report::new(1_000_000_000, None, None, Findings { found, ..Findings::default() })
    }

    #[test]
    fn each_finding_is_told_as_it_was_and_as_it_is() {
        let found = |id, seen| Finding::new(id, id, seen).limit(2e8);
        let before = report(vec![found("ring", "64 of 4096"), found("mtu", "1280"), found("tcp", "reno")]);
        let after = report(vec![found("ring", "512 of 4096"), found("mtu", "1280"), found("new", "x")]);
        let told = Compared { before: &before, after: &after }.to_string();
        let expected = [
            "Before, and now:",
            "  ring: changed",
            "    before  64 of 4096 (200 Mbit/s)",
            "    now     512 of 4096 (200 Mbit/s)",
            "  mtu: as it was",
            "    before  1280 (200 Mbit/s)",
            "    now     1280 (200 Mbit/s)",
            "  tcp: mended",
            "    before  reno (200 Mbit/s)",
            "    now     nothing that matters at 1 Gbit/s",
            "  new: was not found before",
            "    now     x (200 Mbit/s)",
            &after.verdict,
        ];
        assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    }
}
