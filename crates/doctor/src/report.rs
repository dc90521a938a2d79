//! What is told: the verdict first, then what was found, the dearest first, then what was not seen.

use std::fmt;

use serde::Serialize;

use crate::finding::{Finding, Findings, Unseen};
use crate::path::Path;
use crate::text::rate;

/// Where the book explains a finding.
const PAGE: &str = "docs/src/doctor.md";

/// What came of examining a host, and perhaps a path.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// In one sentence.
    pub verdict: String,
    /// The rate that everything was judged at.
    pub asked_bps: u64,
    /// The interface that was looked at.
    pub interface: Option<String>,
    /// Figures of the path, one to a line.
    pub path: Vec<String>,
    /// What was found, the dearest first.
    pub findings: Vec<Finding>,
    /// What could not be seen.
    pub unseen: Vec<Unseen>,
    /// The path that was asked for, where it could not be looked along: all else is of this machine alone.
    pub no_path: Option<Unseen>,
    /// How many things are fine.
    pub fine: usize,
}

impl Report {
    /// Puts together what was found at the rate of `asked_bps`.
    #[must_use]
    pub fn new(asked_bps: u64, interface: Option<&str>, path: Option<&Path>, findings: Findings) -> Self {
        let Findings { mut found, unseen, no_path, fine } = findings;
        found.sort_by_key(|finding| finding.limit_bps.unwrap_or(u64::MAX));
        let verdict = verdict(asked_bps, &found, &unseen, fine);
        let verdict = match (path, &no_path) {
            (Some(path), _) => format!("{} {verdict}", path.summary()),
            (None, Some(Unseen { what, why })) => {
                format!(
                    "Of {what} nothing is known, for it could not be looked along: {why}. Of this machine alone: {verdict}"
                )
            }
            (None, None) => verdict,
        };
        let path = path.map(Path::lines).unwrap_or_default();
        let interface = interface.map(str::to_owned);
        Self { verdict, asked_bps, interface, path, findings: found, unseen, no_path, fine }
    }

    /// Commands that mend what was found, each once.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        for finding in &self.findings {
            let changes = finding.changes.iter().map(crate::Change::command);
            for command in changes.chain(finding.by_hand.iter().map(|command| format!("# by hand: {command}"))) {
                if !commands.contains(&command) {
                    commands.push(command);
                }
            }
        }
        commands
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        for (told, finding) in json["findings"].as_array_mut().into_iter().flatten().zip(&self.findings) {
            told["page"] = page(finding).into();
            told["commands"] = finding.changes.iter().map(crate::Change::command).collect();
        }
        json.to_string()
    }
}

fn page(finding: &Finding) -> String {
    format!("{PAGE}#{}", finding.id)
}

fn verdict(asked_bps: u64, found: &[Finding], unseen: &[Unseen], fine: usize) -> String {
    let not_seen = if unseen.is_empty() { String::new() } else { format!(", {} could not be seen", unseen.len()) };
    let asked = rate(asked_bps as f64);
    let Some(worst) = found.first() else {
        return format!("Nothing was found that holds {asked} back: {fine} things are fine{not_seen}.");
    };
    let Some(limit) = worst.limit_bps.filter(|limit| *limit < asked_bps) else {
        return format!(
            "Nothing was found that holds {asked} back now; {} costs in another way (below){not_seen}.",
            worst.what
        );
    };
    let cannot_be_mended = found.iter().filter(|finding| finding.changes.is_empty() && finding.by_hand.is_empty());
    let could = cannot_be_mended.filter_map(|finding| finding.limit_bps).min().unwrap_or(asked_bps).min(asked_bps);
    if could <= limit {
        return format!(
            "About {} of {asked} can be had here: {} holds it back{not_seen}.",
            rate(limit as f64),
            worst.what
        );
    }
    format!(
        "About {} could be had here; {} holds it back to {}{not_seen}.",
        rate(could as f64),
        worst.what,
        rate(limit as f64)
    )
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.verdict)?;
        let interface = self.interface.as_deref().map(|name| format!(", for packets over {name}")).unwrap_or_default();
        writeln!(out, "Judged at {}{interface}; another rate: --rate.", rate(self.asked_bps as f64))?;
        if !self.path.is_empty() {
            writeln!(out, "\nThe path:")?;
        }
        self.path.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        for finding in &self.findings {
            write!(out, "\n{finding}")?;
        }
        if !self.unseen.is_empty() {
            writeln!(out, "\nNot seen (which does not mean that it is fine):")?;
        }
        self.unseen.iter().try_for_each(|unseen| writeln!(out, "  {}: {}", unseen.what, unseen.why))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Commands that are told here; all are told by --fix.
        const MOST: usize = 3;
        let limit = self.limit_bps.map(|bps| format!(" ({})", rate(bps as f64))).unwrap_or_default();
        writeln!(out, "{}{limit}: {}", self.id, self.seen)?;
        writeln!(out, "  cost    {}", self.cost)?;
        if !self.better.is_empty() {
            writeln!(out, "  better  {}", self.better)?;
        }
        for (at, change) in self.changes.iter().take(MOST).enumerate() {
            writeln!(out, "  {}  {}", if at == 0 { "mend  " } else { "      " }, change.command())?;
        }
        if self.changes.len() > MOST {
            writeln!(out, "          and {} more (--fix)", self.changes.len() - MOST)?;
        }
        self.by_hand.iter().try_for_each(|command| writeln!(out, "  by hand {command}"))?;
        writeln!(out, "  more    {}", page(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &'static str, limit: Option<f64>, mended: bool) -> Finding {
        let finding = Finding::new(id, id, "seen");
        let finding = if mended { finding.by_hand("x") } else { finding };
        limit.into_iter().fold(finding, Finding::limit)
    }

    fn report(found: Vec<Finding>) -> Report {
        Report::new(1_000_000_000, None, None, Findings { found, ..Findings::default() })
    }

    #[test]
    fn the_verdict_names_what_costs_most_and_what_could_be_had() {
        let told =
            report(vec![finding("b", None, true), finding("a", Some(2e8), true), finding("c", Some(5e8), false)]);
        assert_eq!(told.verdict, "About 500 Mbit/s could be had here; a holds it back to 200 Mbit/s.");
        assert_eq!(told.findings.iter().map(|one| one.id).collect::<Vec<_>>(), ["a", "c", "b"]);
        assert_eq!(
            report(vec![finding("c", Some(5e8), false)]).verdict,
            "About 500 Mbit/s of 1 Gbit/s can be had here: c holds it back."
        );
        assert!(report(vec![finding("b", None, true)]).verdict.contains("b costs in another way"));
        assert_eq!(report(Vec::new()).verdict, "Nothing was found that holds 1 Gbit/s back: 0 things are fine.");
    }

    #[test]
    fn a_path_that_could_not_be_looked_along_is_said_first() {
        let url = "ripp://192.0.2.1:4000/".parse().unwrap();
        let no_path = crate::NoPath { is_reached: true, why: "nothing was heard for 10 s".to_owned() };
        let mut findings = Findings::default();
        crate::judge_no_path(&no_path, &url, &mut findings);
        let mut host = Findings { fine: 7, ..Findings::default() };
        host.merge(findings);
        let told = Report::new(1_000_000_000, None, None, host);
        let verdict = "Of the path to 192.0.2.1:4000 nothing is known, for it could not be looked along: the other end does not measure with us: \
                       nothing was heard for 10 s. Of this machine alone: Nothing was found that holds 1 Gbit/s back: 7 things are fine.";
        assert_eq!(told.verdict, verdict);
        assert!(told.no_path.is_some());
    }
}
