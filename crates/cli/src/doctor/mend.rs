//! `visapult doctor --apply` and `--undo`: what is found is mended when asked for, and put back exactly.

use std::fs;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use visapult_doctor::{Change, Journal, Report, Roots};

use crate::arguments::DoctorOptions;
use crate::say::{say, tell};

const FILE: &str = "visapult/doctor.json";

/// Makes the changes that mend what was found: how many failed, unless nothing is another way now.
pub(super) fn apply(options: &DoctorOptions, report: &Report) -> Result<Option<usize>> {
    let changes: Vec<&Change> = report.findings.iter().flat_map(|finding| &finding.changes).collect();
    let rest = report.findings.iter().filter(|finding| finding.changes.is_empty()).count();
    if changes.is_empty() {
        say(&format!("Nothing that is found can be mended by a command{}.", if rest > 0 { "; see above" } else { "" }));
        return Ok(None);
    }
    if !options.yes && !is_wanted(&changes)? {
        say("Nothing was changed.");
        return Ok(None);
    }
    let mut journal = Journal::open(&state_file()?, Roots::at(&options.root))?;
    let mut failed = 0;
    for change in &changes {
        match journal.make(change) {
            Ok(true) => say(&format!("done: {}", change.command())),
            Ok(false) => say(&format!("so already: {}", change.command())),
            Err(cause) => {
                failed += 1;
                tell(&cause.to_string());
            }
        }
    }
    if failed == changes.len() {
        say("Nothing was changed.");
        return Ok(None);
    }
    say(&format!(
        "Until the machine is restarted; visapult doctor --undo puts back what was there before ({} changes).",
        journal.len()
    ));
    Ok(Some(failed))
}

/// Puts back what was changed.
pub(super) fn undo(options: &DoctorOptions) -> Result<()> {
    let mut journal = Journal::open(&state_file()?, Roots::at(&options.root))?;
    if journal.is_empty() {
        say("Nothing was changed since this machine was started.");
        return Ok(());
    }
    Ok(journal.undo(|back| say(&format!("put back: {}", back.command())))?)
}

fn is_wanted(changes: &[&Change]) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("nobody can be asked here whether to change the settings: add --yes");
    }
    say("\nThese commands change settings of this machine:");
    changes.iter().for_each(|change| say(&format!("  {}", change.command())));
    print!("Run them? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Of the machine for root, who alone may change it; of the user else.
fn state_file() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()) {
        return Ok(PathBuf::from(folder).join(FILE));
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root {
        return Ok(PathBuf::from("/var/lib").join(FILE));
    }
    let home =
        std::env::var_os("HOME").context("neither XDG_STATE_HOME nor HOME says where changes can be remembered")?;
    Ok(PathBuf::from(home).join(".local/state").join(FILE))
}
