//! `visapult ls`: what is in a share, a folder or an object store, before anything is copied.

mod beside;
mod fold;
mod lines;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, bail};
use visapult_copy::{CopyError, Endpoint, EndpointError, ListOptions, list};
use visapult_ripp_net::{Options, SessionError};

use self::beside::Beside;
use self::fold::{Amount, Fold};
use self::lines::Document;
use crate::arguments::LsOptions;
use crate::say::{note_lost, output, say_in_place, tell, with_causes};
use crate::stop::{INTERRUPTED, on_signal};

/// The command line does not fit.
const WRONG_LINE: u8 = 2;

pub(crate) fn run(options: &LsOptions) -> ExitCode {
    match listed(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(cause) => {
            clear();
            tell(&(with_causes(&cause) + hint(&cause)));
            match cause.downcast_ref() {
                Some(CopyError::Source(_) | CopyError::Misfit(_)) => WRONG_LINE.into(),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// What else is to be said of why nothing is listed.
fn hint(cause: &anyhow::Error) -> &'static str {
    match cause.downcast_ref() {
        // It says itself what takes its URL.
        Some(CopyError::Session(SessionError::OtherService { is, .. })) if is.contains("visapult view") => {
            "; visapult info tells what it has"
        }
        _ => "",
    }
}

/// Lists; false where not all of it could be.
fn listed(options: &LsOptions) -> Result<bool> {
    // Nothing is held that would have to be put back.
    on_signal(|| {
        clear();
        tell("stopped: not all of it was listed");
        std::process::exit(INTERRUPTED.into());
    })?;
    check(&options.place)?;
    if options.recursive { list_all(options) } else { list_top(options) }
}

fn clear() {
    if io::stderr().is_terminal() {
        say_in_place("");
    }
}

/// What is in a file is not listed.
fn check(place: &Endpoint) -> Result<()> {
    place.check_here().map_err(|cause| match cause {
        EndpointError::Field { named, file, .. } | EndpointError::Part { named, file, .. } => CopyError::Misfit(
            format!("{named} names something in {file}, and files alone are listed: visapult info {named} tells of it"),
        ),
        cause => CopyError::Source(cause),
    })?;
    Ok(())
}

fn options_of(options: &LsOptions, top_only: bool) -> ListOptions {
    ListOptions { place: options.place.clone(), top_only, session: Options::default() }
}

/// Lists what is in a folder, each folder in it with what is below, as far as that is counted in time.
fn list_top(options: &LsOptions) -> Result<bool> {
    let (mut fold, mut beside) = (Fold::default(), Beside::default());
    let is_whole = !options.within.is_zero() && {
        let enough = in_time(options);
        let outcome = list(&options_of(options, false), enough, &mut |event| {
            if let Some(item) = beside.take(event) {
                fold.add(item);
                beside.progress(fold.seen());
            }
            enough.fetch_or(fold.is_full(), Ordering::Relaxed);
        });
        match outcome {
            Err(CopyError::Stopped) => false,
            outcome => outcome.map(|()| true)?,
        }
    };
    if !is_whole && !fold.is_full() {
        // What was told of what is below may be half of it.
        beside = Beside::default();
        fold.cut();
        let full = AtomicBool::new(false);
        let outcome = list(&options_of(options, true), &full, &mut |event| {
            beside.take(event).into_iter().for_each(|item| fold.add_top(item));
            full.store(fold.is_full(), Ordering::Relaxed);
        });
        outcome.or_else(|cause| if fold.is_full() { Ok(()) } else { Err(cause) })?;
    }
    clear();
    if fold.is_full() {
        bail!("there are too many entries for a table: -R lists them as they come");
    }
    let told =
        if options.json { lines::document(&fold, &beside) } else { lines::table(&fold, &beside, options.within) };
    let mut out = output();
    note_lost(out.write_all(told.as_bytes()).and_then(|()| out.flush()));
    drop(out);
    beside.finish();
    Ok(beside.failed() == 0)
}

/// What is set once it has taken long enough.
fn in_time(options: &LsOptions) -> &'static AtomicBool {
    static ENOUGH: AtomicBool = AtomicBool::new(false);
    let within = *options.within;
    thread::spawn(move || {
        thread::sleep(within);
        ENOUGH.store(true, Ordering::Relaxed);
    });
    &ENOUGH
}

/// Lists all that is below, as it comes.
fn list_all(options: &LsOptions) -> Result<bool> {
    let (stop, mut beside, mut total) = (AtomicBool::new(false), Beside::default(), Amount::default());
    let is_read_here = io::stdout().is_terminal();
    let mut out: Box<dyn Write> = if is_read_here { output() } else { Box::new(BufWriter::new(output())) };
    let (mut document, mut written) = (Document::default(), Ok(()));
    let outcome = list(&options_of(options, false), &stop, &mut |event| {
        let Some(item) = beside.take(event).filter(|_| !stop.load(Ordering::Relaxed)) else { return };
        let Some(line) = (if options.json { document.entry(&item) } else { lines::line(&item) }) else { return };
        total.add(&item.kind);
        written = out.write_all(line.as_bytes());
        // Nobody reads what is still to come.
        stop.store(written.is_err(), Ordering::Relaxed);
        if !is_read_here {
            beside.progress(&total);
        }
    });
    clear();
    if written.is_ok() {
        outcome?;
        let end = if options.json { document.end(&total, &beside) } else { lines::total(&total, true, &beside) };
        written = out.write_all(end.as_bytes()).and_then(|()| out.flush());
    }
    note_lost(written);
    beside.finish();
    Ok(beside.failed() == 0)
}
