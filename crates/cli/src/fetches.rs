//! `visapult fetches`: what a share fetches from others, and how it stands.

use anyhow::{Result, bail};
use serde_json::json;
use visapult_copy::{Endpoint, FetchState, counted, fetches, size};

use crate::arguments::FetchesOptions;
use crate::say::{say, tell};

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
    if states.is_empty() {
        tell("nothing is fetched");
    }
    for state in states {
        say(&if options.json { json!(state).to_string() } else { line(&state, options.stop) });
    }
    Ok(())
}

fn line(state: &FetchState, stopped: Option<u64>) -> String {
    let FetchState { number, from, to, tally, arrived, result, notice } = state;
    let is_stopped = stopped == Some(*number);
    let stands = match (result, notice) {
        (Some(result), _) if is_stopped => format!("{result}: there was nothing to stop, it was over"),
        (Some(result), _) => result.clone(),
        (None, _) if is_stopped => "is being stopped".to_owned(),
        (None, Some(notice)) => format!("under way: {notice}"),
        (None, None) => "under way".to_owned(),
    };
    let to = if to.is_empty() { "." } else { to };
    let files = counted(tally.files, "file");
    format!("{number} {from} to {to}: {files} of {}, {}, {stands}", tally.wanted_files, size(*arrived))
}
