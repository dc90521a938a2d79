//! `visapult copy`: files and folders, to or from a share.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Seek};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use visapult_copy::{
    Alike, CopyError, Delete, Endpoint, Event, ManifestWriter, Pace, Patterns, Progress, Report, Wish, copy, size,
};

use crate::arguments::CopyOptions;
use crate::causes::Causes;
use crate::inside::lies_in;
use crate::output_file::{Output, check_writable, folder_of, is_output, write_whole};
use crate::say::{say, say_in_place, tell, with_causes};
use crate::stop::{self, INTERRUPTED};

/// It ended before all was there.
const FAILED: u8 = 1;
/// The command line does not fit.
const WRONG_LINE: u8 = 2;
/// Some things were not copied; all others are there.
const SOME_FAILED: u8 = 3;

/// Why a copy ended before all was there, and what the program returns then.
struct Ended {
    why: String,
    code: u8,
}

impl<E: Into<anyhow::Error>> From<E> for Ended {
    fn from(cause: E) -> Self {
        let cause = cause.into();
        let code = match cause.downcast_ref() {
            Some(CopyError::Stopped) => INTERRUPTED,
            Some(CopyError::Source(_) | CopyError::Misfit(_)) => WRONG_LINE,
            _ => FAILED,
        };
        Self { why: with_causes(&cause), code }
    }
}

fn misfit(why: String) -> Ended {
    Ended { why, code: WRONG_LINE }
}

/// Copies, and returns the exit code; why it ended before all was there is told, as an event, too, where those are wanted.
pub(crate) fn run(options: &CopyOptions) -> ExitCode {
    let code = copied(options).unwrap_or_else(|Ended { why, code }| {
        if options.json {
            say(&json!({ "event": "error", "why": why, "exit_code": code }).to_string());
        }
        tell(&why);
        code
    });
    ExitCode::from(code)
}

fn copied(options: &CopyOptions) -> Result<u8, Ended> {
    let stop = stop::when_asked(None)?;
    options.places.iter().try_for_each(Endpoint::check_here).map_err(CopyError::Source)?;
    let (destination, sources) = match options.places.split_last() {
        Some((destination, sources)) if !sources.is_empty() => (destination, sources),
        _ => return Err(misfit("the place to copy to is missing; the folder that you are in is `.`".to_owned())),
    };
    for (option, patterns) in [("--include", &options.include), ("--exclude", &options.exclude)] {
        if patterns.iter().any(String::is_empty) {
            return Err(misfit(format!("{option} is empty: give it a pattern, such as '*.h5', or leave it out")));
        }
    }
    if let Some(path) = &options.manifest {
        if options.json && is_output(path) {
            return Err(misfit("--json has standard output: name a file for the manifest".to_owned()));
        }
        let is_in = |place: &Endpoint| matches!(place, Endpoint::Here(folder) if lies_in(path, folder));
        let path = path.display();
        if options.delete && is_in(destination) {
            let why = "which the sources do not have: name it elsewhere";
            return Err(misfit(format!("--delete would delete the manifest {path}, {why}")));
        }
        if sources.iter().any(is_in) {
            return Err(misfit(format!(
                "the manifest {path} lies in what is copied, as it is written: name it elsewhere"
            )));
        }
    }
    let manifest = options.manifest.clone().map(Manifest::create).transpose()?;
    let wanted = visapult_copy::CopyOptions {
        only: Patterns {
            include: options.include.clone(),
            exclude: options.exclude.clone(),
            follow: options.follow_links,
        },
        span: options.range,
        part: options.part.part(options.dry_run),
        wish: Wish {
            dry_run: options.dry_run,
            anew: options.no_resume,
            hashes: manifest.is_some(),
            alike: if options.checksum { Alike::All } else { Alike::SizeAndTime },
            delete: if options.delete { Delete::InFolders } else { Delete::Nothing },
            unsynced: options.no_sync,
            ..Wish::default()
        },
        unmatched: options.delete_unmatched,
        session: options.path.session(true),
        detach: options.detach,
        weight: options.weight,
        retry: options.retry.into(),
        ..visapult_copy::CopyOptions::new(sources.to_vec(), destination.clone())
    };
    let mut shown = Shown {
        json: options.json,
        dry_run: options.dry_run,
        is_detached: false,
        terminal: std::io::stderr().is_terminal(),
        manifest,
        pace: Pace::default(),
        causes: Causes::default(),
    };
    let outcome = copy(&wanted, stop, &mut |event| shown.show(event));
    shown.clear();
    shown.causes.rest().iter().for_each(|line| shown.beside(line));
    let report = outcome?;
    if shown.is_detached {
        return Ok(0);
    }
    if let Some(manifest) = shown.manifest {
        manifest.finish()?;
    }
    say(&if options.json {
        finished(&report).to_string()
    } else if options.dry_run {
        report.tally.foreseen()
    } else {
        report.to_string()
    });
    Ok(if report.tally.failed > 0 { SOME_FAILED } else { 0 })
}

fn finished(report: &Report) -> Value {
    let seconds = report.elapsed.as_secs_f64();
    json!({ "event": "finished", "seconds": seconds, "bytes_sent": report.arrived, "tally": report.tally })
}

/// What is shown while it goes on.
struct Shown {
    json: bool,
    dry_run: bool,
    /// Another goes on with it.
    is_detached: bool,
    terminal: bool,
    manifest: Option<Manifest>,
    pace: Pace,
    causes: Causes,
}

impl Shown {
    fn show(&mut self, event: Event) {
        match event {
            Event::Hash { path, hash } => {
                if let Some(manifest) = &mut self.manifest {
                    manifest.add(&path, &hash);
                }
            }
            Event::Anew => self.manifest.iter_mut().for_each(Manifest::begin_anew),
            Event::Progress(progress) => self.progress(&progress),
            Event::Failed { path, why } => self.not_copied("failed", path, ": ", &why),
            Event::LeftOut { path, why } => self.not_copied("left-out", path, " left out: ", &why),
            Event::Detached(number) if self.json => {
                self.is_detached = true;
                say(&json!({ "event": "detached", "number": number }).to_string());
            }
            Event::Detached(number) => {
                self.is_detached = true;
                say(&format!("the share goes on alone with copy {number}; ask it with visapult fetches"));
            }
            Event::Deleted(path) if self.json => say(&json!({ "event": "deleted", "path": path }).to_string()),
            Event::Deleted(path) if self.dry_run => say(&format!("would delete {path}")),
            Event::Differs { path, how, bytes } if self.json => {
                say(&json!({ "event": "differs", "path": path, "why": how, "bytes": bytes }).to_string());
            }
            Event::Differs { path, bytes: Some(bytes), .. } => say(&format!("would copy {path}, {}", size(bytes))),
            Event::Differs { path, .. } => say(&format!("would make {path}")),
            Event::Deleted(_) | Event::Listed(_) => {}
            Event::Notice(text) if self.json => say(&json!({ "event": "notice", "why": text }).to_string()),
            Event::Notice(text) => self.beside(&text),
        }
    }

    fn not_copied(&mut self, kind: &str, path: String, what: &str, why: &str) {
        if self.json {
            return say(&told(kind, &path, why));
        }
        if let Some(line) = self.causes.note(Instant::now(), path, format!("{what}{why}")) {
            self.beside(&line);
        }
    }

    fn beside(&self, line: &str) {
        self.clear();
        tell(line);
    }

    fn progress(&mut self, progress: &Progress) {
        self.causes.due(Instant::now()).iter().for_each(|line| self.beside(line));
        let headway = self.pace.note(Instant::now(), progress);
        if self.json {
            say(&json!({
                "event": "progress", "seconds": progress.elapsed.as_secs_f64(), "bytes_sent": progress.arrived, "bits_per_second": headway.bps,
                "files_per_second": headway.files_per_s, "seconds_left": headway.left_s(),
                "limited_by": progress.limit, "all_listed": progress.is_listed, "tally": progress.tally,
            })
            .to_string());
        } else if self.terminal {
            say_in_place(&headway.to_string());
        }
    }

    fn clear(&self) {
        if self.terminal && !self.json {
            say_in_place("");
        }
    }
}

fn told(kind: &str, path: &str, why: &str) -> String {
    json!({ "event": kind, "path": path, "why": why }).to_string()
}

/// A file of hashes as `b3sum` writes it. They are gathered in a file without a name until the copy has ended.
struct Manifest {
    path: PathBuf,
    out: ManifestWriter<BufWriter<File>>,
    fault: Option<io::Error>,
}

impl Manifest {
    fn create(path: PathBuf) -> Result<Self> {
        check_writable(&path, &[""; 0], Output::Manifest)?;
        let out = gathering(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path, out, fault: None })
    }

    /// All that was added comes again.
    fn begin_anew(&mut self) {
        match gathering(&self.path) {
            Ok(out) => self.out = out,
            Err(cause) => self.fault = Some(cause),
        }
    }

    fn add(&mut self, path: &[u8], hash: &str) {
        let outcome = self.out.add(path, hash);
        self.fault = self.fault.take().or(outcome.err());
    }

    fn finish(self) -> Result<()> {
        let Self { path, out, fault } = self;
        let gathered = fault.map_or_else(|| out.finish(), Err).and_then(|out| Ok(out.into_inner()?));
        let mut gathered = gathered.with_context(|| format!("cannot write {}", path.display()))?;
        write_whole(&path, |out| {
            gathered.rewind()?;
            io::copy(&mut gathered, out).map(drop)
        })
    }
}

/// A file that is gone with the program, beside `path` if that may be.
fn gathering(path: &Path) -> io::Result<ManifestWriter<BufWriter<File>>> {
    let file = tempfile::tempfile_in(folder_of(path)).or_else(|_| tempfile::tempfile())?;
    Ok(ManifestWriter::new(BufWriter::new(file)))
}
