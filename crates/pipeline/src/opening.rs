//! Opens what is to be shown: what this machine can read by itself, or a flow that somebody publishes.

use std::sync::Arc;

use visapult_volume_io::{Source, SourceError, names_level, names_options, open_most};

use crate::config::BackEndConfig;
use crate::crew::{self, Crew};
use crate::error::PipelineError;
use crate::flow::{FlowHandle, FlowOptions, FlowSource, Watch};
use crate::memory::{self, ShownCoarser};

/// A source as it is shown.
pub(crate) struct Opened {
    pub(crate) source: Box<dyn Source>,
    /// What can be asked of the simulation, where it is one.
    pub(crate) handle: Option<FlowHandle>,
    /// At which level it is shown, where that is not the finest there is.
    pub(crate) coarser: Option<ShownCoarser>,
    /// What it has besides that is not shown, as a line.
    pub(crate) others: Option<String>,
}

impl Opened {
    /// What this machine reads by itself.
    pub(crate) fn local(source: Box<dyn Source>) -> Self {
        Self { source, handle: None, coarser: None, others: None }
    }

    /// What somebody publishes: its steps are asked for only while somebody looks.
    pub(crate) fn flow(mut flow: FlowSource) -> Self {
        let handle = flow.handle();
        flow.look_away();
        Self { source: Box::new(flow), handle: Some(handle), coarser: None, others: None }
    }
}

/// What this machine can read by itself.
///
/// # Errors
/// [`PipelineError`] says what could not be opened, and what to do.
pub fn open_local(source: &str) -> Result<Box<dyn Source>, PipelineError> {
    Ok(open_chosen(source)?.source)
}

/// The same, and what was chosen from.
fn open_chosen(source: &str) -> Result<Opened, PipelineError> {
    let (opened, chosen_from) = open_most(source).map_err(PipelineError::source)?;
    let others = chosen_from.as_ref().and_then(|choice| choice.others());
    if let Some(choice) = chosen_from {
        let shown = choice.most().map_or_else(String::new, ToString::to_string);
        let (source, shapes) = (&choice.source, choice.shapes.len());
        tracing::warn!(
            "{source} holds fields of {shapes} shapes: those of {shown} are shown (visapult info lists all)"
        );
    }
    Ok(Opened { others, ..Opened::local(opened) })
}

/// What this machine can read by itself and hold a step of: at the finest level that fits in memory. All of it lies in the folder of what is named, for it is
/// given to others.
///
/// # Errors
/// [`PipelineError`] says what could not be opened or does not fit, and what to do.
pub fn open_to_publish(source: &str) -> Result<Box<dyn Source>, PipelineError> {
    let name = source;
    if is_flow(name) {
        let why = "serve publishes files and demos; what listens elsewhere is shown with view";
        return Err(PipelineError::Option(why.to_owned()));
    }
    let source = open_local_fitting(name)?.source;
    if let Some(file) = source.outside().first() {
        let problem = format!(
            "values of it are in {}, outside its folder: what is published lies beside the file that is named, or below its folder",
            file.display()
        );
        return Err(PipelineError::source(SourceError::Format { path: name.to_owned(), problem }));
    }
    memory::check(source.info(), source.info().grid().sample_count(), 1)?;
    Ok(source)
}

/// Lends a hand to the head of `crew`, with the source that it opens, too.
///
/// # Errors
/// If the source cannot be opened, or is a simulation that would run once in every process, or the head is gone.
pub fn lend_to(crew: &Arc<Crew>, config: &BackEndConfig) -> Result<(), PipelineError> {
    crew::lend(crew, config, || open_fitting(Watch::First, config).map(|opened| opened.source))
}

/// A flow that somebody publishes, or what this machine can read by itself, at the finest level that fits in memory. Processes that share the
/// work show the finest there is: each would choose by itself.
pub(crate) fn open_fitting(watch: Watch, config: &BackEndConfig) -> Result<Opened, PipelineError> {
    if !is_flow(&config.source) && config.crew.is_none() {
        return open_local_fitting(&config.source);
    }
    open_whole(watch, config)
}

fn open_local_fitting(source: &str) -> Result<Opened, PipelineError> {
    let opened = open_chosen(source)?;
    if names_level(source) {
        return Ok(opened);
    }
    let (source, coarser) = memory::fitting_level(opened.source)?;
    coarser.iter().for_each(|coarser| tracing::warn!("{coarser}"));
    Ok(Opened { source, coarser, ..opened })
}

/// Whether it is what somebody publishes.
pub(crate) fn is_flow(source: &str) -> bool {
    source.starts_with("ripp://")
}

/// A flow that somebody publishes, or what this machine can read by itself, with all levels that it stores.
pub(crate) fn open_whole(watch: Watch, config: &BackEndConfig) -> Result<Opened, PipelineError> {
    open_by(open_chosen, watch, config)
}

/// The same, but of fields of several shapes none.
pub(crate) fn open_alike(watch: Watch, config: &BackEndConfig) -> Result<Opened, PipelineError> {
    let open = |source: &str| visapult_volume_io::open(source).map(Opened::local).map_err(PipelineError::source);
    open_by(open, watch, config)
}

fn open_by(
    open_local: impl Fn(&str) -> Result<Opened, PipelineError>,
    watch: Watch,
    config: &BackEndConfig,
) -> Result<Opened, PipelineError> {
    if !is_flow(&config.source) {
        let opened = open_local(&config.source)?;
        if config.crew.is_some() && opened.source.info().live {
            return Err(PipelineError::Option(format!(
                "{} would run once in every process: serve it, and give the processes the URL",
                config.source
            )));
        }
        return Ok(opened);
    }
    if names_options(&config.source) {
        let why = "levels, spacing and boxes are chosen where a source is: visapult serve 'FILE?spacing=even', and there the URL for here";
        return Err(PipelineError::Option(why.to_owned()));
    }
    let options = FlowOptions { pes: config.pes, watch, crew: config.crew.clone(), ..FlowOptions::default() };
    FlowSource::dial(&config.source, options).map(Opened::flow).map_err(PipelineError::flow)
}
