//! `visapult verify`: holds files against the manifest of a copy, against other files of this machine, against a share, of which only hashes travel, or
//! against objects, which are read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use visapult_copy::{
    Alike, CopyError, CopyOptions, Delete, Endpoint, Event, ManifestWriter, NOT_THERE, Verified, Wish, copy, counted,
    is_manifest_of, size, verify,
};

use crate::arguments::VerifyOptions;
use crate::causes::Causes;
use crate::say::{note_lost, output, say, tell};
use crate::stop::{self, INTERRUPTED};

/// How long a connection that is lost is dialled again.
const RETRY: Duration = Duration::from_secs(60);

pub(crate) fn run(options: &VerifyOptions) -> Result<ExitCode> {
    verified(options).or_else(|cause| match cause.downcast_ref() {
        Some(CopyError::Stopped) => {
            tell("stopped: not all of it was looked at");
            Ok(INTERRUPTED.into())
        }
        _ => Err(cause),
    })
}

fn verified(options: &VerifyOptions) -> Result<ExitCode> {
    match (&options.what, &options.with) {
        (Endpoint::Here(folder), None) if folder.is_dir() => anyhow::bail!(
            "{} is a folder: name what it is held against, too, another folder, a share or objects; or name the manifest of a copy first",
            folder.display()
        ),
        (Endpoint::Here(manifest), None) => check(manifest, Path::new(".")),
        (Endpoint::Here(manifest), Some(Endpoint::Here(file))) if is_of(manifest, file) => {
            check(manifest, file.parent().unwrap_or(Path::new("")))
        }
        (Endpoint::Here(path), Some(other @ Endpoint::Here(there))) if path.is_dir() || there.is_file() => {
            Ok(told(&compare_here(path, there, other)?))
        }
        (Endpoint::Here(manifest), Some(Endpoint::Here(folder))) => check(manifest, folder),
        (Endpoint::Here(path), Some(elsewhere)) | (elsewhere, Some(Endpoint::Here(path))) => {
            Ok(told(&compare(path, elsewhere)?))
        }
        (elsewhere, None) => list(elsewhere),
        (_, Some(_)) => anyhow::bail!("one of the two must be on this machine"),
    }
}

/// One file was copied to there, and this is the manifest of that.
fn is_of(manifest: &Path, file: &Path) -> bool {
    manifest.is_file() && file.is_file() && file.file_name().is_some_and(|name| is_manifest_of(manifest, name))
}

fn check(manifest: &Path, folder: &Path) -> Result<ExitCode> {
    let verified = verify(manifest, folder, &mut |path, why| tell(&format!("{path}: {why}")))?;
    if verified.right + verified.wrong == 0 {
        anyhow::bail!("{} lists no file: it is not the manifest of a copy that ended", manifest.display());
    }
    Ok(told(&verified))
}

fn told(verified: &Verified) -> ExitCode {
    let right = counted(verified.right, "file");
    if verified.wrong == 0 {
        say(&format!("verified {right}, {}", size(verified.bytes)));
        return ExitCode::SUCCESS;
    }
    say(&format!("verified {right}, {}; {} WRONG", size(verified.bytes), verified.wrong));
    ExitCode::FAILURE
}

/// Holds two folders, or two files, of this machine against each other.
fn compare_here(path: &Path, there: &Path, other: &Endpoint) -> Result<Verified> {
    let is_folder =
        |path: &Path| fs::metadata(path).map(|found| found.is_dir()).with_context(|| path.display().to_string());
    if is_folder(path)? != is_folder(there)? {
        anyhow::bail!("{} and {}: one is a folder, and the other a file", path.display(), there.display());
    }
    if let Some(copied) = copied_into(path, there).or_else(|| copied_into(there, path)) {
        tell(&format!("{} may be meant: `copy` puts a folder into the one that it goes to", copied.display()));
    }
    compare(path, other)
}

/// Where a folder is that was copied into another, by its own name, if it has no folder of that name itself.
fn copied_into(folder: &Path, other: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?;
    let copied = other.join(name);
    (copied.is_dir() && !folder.join(name).exists()).then_some(copied)
}

/// Holds what is at `path` against what is elsewhere.
fn compare(path: &Path, elsewhere: &Endpoint) -> Result<Verified> {
    let wish = Wish { dry_run: true, alike: Alike::Content, delete: Delete::InFolders, ..Wish::default() };
    let here = fs::metadata(path).with_context(|| path.display().to_string())?;
    let source = elsewhere.clone().content(here.is_dir());
    let missing = match elsewhere {
        Endpoint::Here(there) => format!("is not in {}", there.display()),
        Endpoint::There(_) => "is not in the share".to_owned(),
        Endpoint::Stored(_) => "is not in the store".to_owned(),
    };
    let (mut wrong, mut causes) = (0, Causes::default());
    let report = dry_run(source, path.to_owned(), wish, &mut |event| {
        let (path, why) = match event {
            Event::Differs { path: of, how, .. } if how == NOT_THERE => (of, format!("is not in {}", path.display())),
            Event::Differs { path, how, .. } => (path, how),
            Event::Deleted(path) => (path, missing.clone()),
            Event::Failed { path, why } => {
                wrong += 1;
                return note(&mut causes, path, format!(": {why}"));
            }
            Event::LeftOut { path, why } => return note(&mut causes, path, format!(" not compared: {why}")),
            _ => return,
        };
        wrong += 1;
        tell(&format!("{path}: {why}"));
    });
    causes.rest().iter().for_each(|line| tell(line));
    let report = report?;
    Ok(Verified { right: report.same_files, bytes: report.same_bytes, wrong })
}

/// Tells what is not compared, cause by cause.
fn note(causes: &mut Causes, path: String, why: String) {
    let told = causes.note(Instant::now(), path, why);
    told.iter().for_each(|line| tell(line));
}

/// Prints the hashes of what is elsewhere, as `b3sum --check` and `visapult verify` read them.
fn list(elsewhere: &Endpoint) -> Result<ExitCode> {
    let wish = Wish { dry_run: true, hashes: true, ..Wish::default() };
    let mut out = ManifestWriter::new(output());
    let (mut outcome, mut causes) = (Ok(()), Causes::default());
    let report = dry_run(elsewhere.clone(), PathBuf::from("."), wish, &mut |event| match event {
        Event::Hash { path, hash } if outcome.is_ok() => outcome = out.add(&path, &hash),
        Event::Failed { path, why } => note(&mut causes, path, format!(": {why}")),
        _ => {}
    });
    causes.rest().iter().for_each(|line| tell(line));
    let report = report?;
    note_lost(outcome.and_then(|()| out.finish().map(drop)));
    Ok(if report.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn dry_run(source: Endpoint, to: PathBuf, wish: Wish, watch: &mut dyn FnMut(Event)) -> Result<visapult_copy::Tally> {
    let options = CopyOptions { wish, retry: RETRY, ..CopyOptions::new(vec![source], Endpoint::Here(to)) };
    Ok(copy(&options, stop::when_asked(None)?, watch)?.tally)
}
