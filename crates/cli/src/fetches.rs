//! `visapult fetches`: what a share fetches from others, and how it stands.

use anyhow::{Result, bail};
use serde_json::json;
use visapult_copy::{Endpoint, FetchState, counted, fetches, size};

use crate::arguments::FetchesOptions;
use crate::say::say;

pub(crate) fn run(options: &FetchesOptions) -> Result<()> {
    let Endpoint::There(share) = &options.share else {
        bail!("what `visapult share` printed is needed, a ripp:// URL")
    };
    let states = fetches(share, options.stop)?;
    if let Some(number) = options.stop
        && !states.iter().any(|state| state.number == number)
    {
        bail!("there is no copy {number} of yours; visapult fetches without --stop names all");
    }
    for state in states {
        say(&if options.json { json!(state).to_string() } else { line(&state, options.stop) });
    }
    Ok(())
}

fn line(state: &FetchState, stopped: Option<u64>) -> String {
    let FetchState { number, from, to, tally, arrived, result } = state;
    let stands = match result {
        Some(result) => result,
        None if stopped == Some(*number) => "is being stopped",
        None => "under way",
    };
    let to = if to.is_empty() { "." } else { to };
    let files = counted(tally.files, "file");
    format!("{number} {from} to {to}: {files} of {}, {}, {stands}", tally.wanted_files, size(*arrived))
}
