//! `visapult serve`: publishes a source to back ends elsewhere.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use visapult_pipeline::flow::{self, Meeting, Publisher, own_host};
use visapult_ripp_net::Options;
use visapult_trace::Recording;

use crate::arguments::ServeOptions;

const LOOK: Duration = Duration::from_millis(100);

/// Set when the user wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(options: &ServeOptions) -> Result<()> {
    let _recording = options.trace.as_ref().map(|file| Recording::to_file(file, "serve")).transpose()?;
    ctrlc::set_handler(|| {
        // Asked twice, it does not wait.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    if let Some(limit) = options.limit {
        thread::spawn(move || {
            let until = Instant::now() + limit;
            while Instant::now() < until {
                thread::sleep(LOOK);
            }
            STOP.store(true, Ordering::Relaxed);
        });
    }
    let source = visapult_pipeline::open_to_publish(&options.source)?;
    let session = Options { rate: options.rate, ..Options::default() };
    let host = options.host.clone().unwrap_or_else(|| own_host(options.bind));
    let meeting = Meeting::Here { at: options.bind, host };
    flow::serve(source.as_ref(), session, &STOP, |declared| {
        let publisher = Publisher::open(&meeting, declared)?;
        if let Some(url) = publisher.url() {
            println!("{url}");
            // A reader that is gone does not want to know.
            let _ = std::io::stdout().flush();
        }
        Ok(publisher)
    })?;
    Ok(())
}
