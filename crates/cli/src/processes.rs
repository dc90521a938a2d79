//! The processes that `mpiexec` has started together with this one.

use std::env;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use visapult_pipeline::{Comm, Crew};
use visapult_trace::Recording;

use crate::arguments::SplitOptions;
use crate::output_file::{Output, check_writable};
use crate::stop::once_asked;

/// The processes of this run. When it is dropped, the run ends for all of them.
pub(crate) struct Processes {
    /// PEs of all of them.
    pub(crate) pes: usize,
    /// None where this one is alone.
    pub(crate) crew: Option<Arc<Crew>>,
}

impl Processes {
    /// Meets the others. Where the user says no number of PEs there are `default` of them, or as many more as every process gets the same.
    pub(crate) fn meet(split: &SplitOptions, default: usize) -> Result<Self> {
        let comm = Comm::world()?;
        let pes = split.pes.map_or_else(|| default.next_multiple_of(comm.size()), usize::from);
        let asked = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let crew = Crew::of(comm, pes, asked)?;
        Ok(Self { pes: crew.as_deref().map_or(pes, Crew::pes), crew })
    }

    /// Records events to `file`; every process but the first to one of its own, with its number before the ending.
    pub(crate) fn record(&self, file: Option<&Path>, source: &str, name: &str) -> Result<Option<Recording>> {
        let Some(file) = file else { return Ok(None) };
        let rank = self.crew.as_deref().map_or(0, Crew::rank);
        if rank == 0 {
            return record(file, source, name).map(Some);
        }
        let ending = file.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
        record(&file.with_extension(format!("{rank}{ending}")), source, &format!("{name}-{rank}")).map(Some)
    }

    /// The crew, where another process has the page; from here on a signal makes this process leave it.
    pub(crate) fn crew_of_another(&self) -> Result<Option<&Arc<Crew>>> {
        let Some(crew) = self.crew.as_ref().filter(|crew| !crew.is_head()) else { return Ok(None) };
        let leaving = Arc::clone(crew);
        once_asked(move || {
            let leaving = Arc::clone(&leaving);
            std::thread::spawn(move || leaving.end());
        })?;
        Ok(Some(crew))
    }
}

/// Records events of this process, which is called `name` and reads `source`, to `file`.
pub(crate) fn record(file: &Path, source: &str, name: &str) -> Result<Recording> {
    check_writable(file, &[source], Output::Trace)?;
    Ok(Recording::to_file(file, name)?)
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.crew.iter().for_each(|crew| crew.end());
    }
}
