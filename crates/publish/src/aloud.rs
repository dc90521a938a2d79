//! What whoever started a program that publishes is told.

use std::io::{self, Write};

use tracing::subscriber::NoSubscriber;

/// Says `line`. A program in C, Fortran or Python has set up nothing that would write this down: there it goes to the standard error.
pub(crate) fn say(line: &str) {
    if tracing::dispatcher::get_default(|log| log.is::<NoSubscriber>()) {
        // Where nothing can be written nobody reads it.
        let _ = writeln!(io::stderr(), "visapult: {line}");
    } else {
        tracing::warn!("{line}");
    }
}
