//! What can go wrong between a source and a session.

use std::sync::Arc;

use thiserror::Error;
use visapult_publish::FlowError;
use visapult_render::VolumeError;
use visapult_volume::{DecompositionError, StepIndex};
use visapult_volume_io::{Choice, SourceError};

/// Why a step, an image or a back end cannot be had. Cheap to clone: one failure is told to every session that waits.
#[derive(Clone, Debug, Error)]
pub enum PipelineError {
    /// The source cannot be opened or read.
    #[error("{0}")]
    Source(Arc<SourceError>),
    /// The grid does not fit so many PEs.
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    /// The blocks do not make a volume.
    #[error(transparent)]
    Volume(Arc<VolumeError>),
    /// A flow cannot be published or received.
    #[error("{0}")]
    Flow(Arc<FlowError>),
    /// A step does not fit in memory.
    #[error(
        "{source_name} needs {needed} for a step, this machine has {free} free{each}: \
         choose a coarser level (?level={level}), a part (?box=Z,Y,X), a smaller dataset, or processes on more machines; `visapult render --memory` passes through files of \
         any size",
        each = if *processes > 1 { format!(" for each of {processes} processes") } else { String::new() }
    )]
    TooLarge {
        /// The source.
        source_name: String,
        /// Memory that a step takes.
        needed: String,
        /// Memory that can still be had.
        free: String,
        /// Processes of the back end that share the machine.
        processes: usize,
        /// The finest level that would fit.
        level: String,
    },
    /// A field that the source does not have.
    #[error("{source_name} has no field {wanted}: it has {available}, and log10(NAME) of each")]
    NoField {
        /// The source.
        source_name: String,
        /// What was asked for.
        wanted: String,
        /// What there is.
        available: String,
    },
    /// Processes of the back end have not given their parts of a step.
    #[error(
        "step {step} is not whole: process {processes} of the back end has not given its part; try again, with fewer processes if it stays away"
    )]
    PartMissing {
        /// The step.
        step: StepIndex,
        /// Their ranks.
        processes: String,
    },
    /// An option that does not fit the source.
    #[error("{0}")]
    Option(String),
    /// The rendering threads cannot be started.
    #[error(
        "cannot start the rendering threads: {cause}: give the program more memory, or more threads (ulimit -v, ulimit -u)"
    )]
    Threads {
        /// The system's reason.
        cause: String,
    },
}

impl PipelineError {
    pub(crate) fn source(cause: SourceError) -> Self {
        Self::Source(Arc::new(cause))
    }

    /// What is to be chosen from, where the source holds fields of several shapes.
    pub fn choice(&self) -> Option<&Choice> {
        let Self::Source(cause) = self else { return None };
        if let SourceError::Choice(choice) = &**cause { Some(choice) } else { None }
    }

    /// A step of a simulation has come without the field.
    pub(crate) fn is_without_field(&self) -> bool {
        matches!(self, Self::Source(cause) if matches!(**cause, SourceError::WithoutField { .. }))
    }

    pub(crate) fn flow(cause: FlowError) -> Self {
        Self::Flow(Arc::new(cause))
    }
}

impl From<FlowError> for PipelineError {
    fn from(cause: FlowError) -> Self {
        Self::flow(cause)
    }
}

impl From<VolumeError> for PipelineError {
    fn from(cause: VolumeError) -> Self {
        Self::Volume(Arc::new(cause))
    }
}
