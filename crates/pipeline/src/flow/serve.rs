//! Publishes any source: a file step by step as it is asked for, a running simulation as it goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use visapult_publish::along::told_along;
use visapult_publish::words::{cut, remarks_that_fit};
use visapult_publish::{Delivery, FlowError, Publisher, PublisherOptions, Reversed};
use visapult_volume::StepIndex;
use visapult_volume_io::{HOW_TO_SPACE, ReadRequest, Source, SourceError};

use crate::error::PipelineError;

const POLL: Duration = Duration::from_millis(100);

/// What is declared of a source that one process publishes whole.
pub(super) fn options_of(source: &dyn Source, session: visapult_ripp_net::Options) -> PublisherOptions {
    let info = source.info();
    let grid = info.grid().clone();
    // Who receives it cannot ask for that.
    let format = info.format.replace(&format!("; {HOW_TO_SPACE}"), "");
    PublisherOptions {
        name: info.name.clone(),
        format: remarks_that_fit(&format, "and more where it is served"),
        rank: 0,
        ranks: 1,
        block: grid.bounds(),
        grid,
        fields: info.fields.clone(),
        live: info.live,
        steps: (!info.live).then(|| source.steps()),
        times: info.times.clone(),
        time_unit: cut(&info.time_unit),
        calendar: cut(&info.calendar),
        along: told_along(info.grid(), &info.along),
        reversed: Reversed::default(),
        parameters: Vec::new(),
        delivery: Delivery::Newest,
        session,
    }
}

/// Publishes `source` until `stop` is set: `start` makes the publisher.
///
/// # Errors
/// If it cannot be published. A step that cannot be read is told to who watches, and does not end it.
pub fn serve(
    source: &dyn Source,
    session: visapult_ripp_net::Options,
    stop: &AtomicBool,
    start: impl FnOnce(PublisherOptions) -> Result<Publisher, FlowError>,
) -> Result<(), PipelineError> {
    let mut publisher = start(options_of(source, session)).map_err(PipelineError::flow)?;
    let mut last = None;
    while !stop.load(Ordering::Relaxed) {
        let step = if source.info().live { next_live(source, last) } else { None };
        let wanted = match step {
            Some(step) => Some((step, (0..source.info().fields.len()).collect())),
            None if source.info().live => None,
            None => publisher.next_wanted(POLL).map(|wanted| (wanted.step, wanted.fields)),
        };
        let Some((step, fields)) = wanted else { continue };
        last = Some(step);
        if source.info().live && publisher.statistics().attached == 0 {
            // Whoever comes next wants to see what is, not what was.
            publisher.forget();
            continue;
        }
        if let Err(cause) = publish_step(source, &mut publisher, step, &fields) {
            tracing::warn!("step {step} is not published: {cause}");
            publisher.refuse(step, &cause.to_string());
        }
    }
    Ok(())
}

fn next_live(source: &dyn Source, last: Option<StepIndex>) -> Option<StepIndex> {
    let newest = match last {
        Some(last) => source.wait_beyond(last, POLL),
        None => source.steps().last,
    };
    (Some(newest) != last).then_some(newest)
}

fn publish_step(
    source: &dyn Source,
    publisher: &mut Publisher,
    step: StepIndex,
    fields: &[usize],
) -> Result<(), PipelineError> {
    let time = source.time_of(step).unwrap_or(f64::NAN);
    publisher.begin_at(step, time).map_err(PipelineError::flow)?;
    let bounds = source.info().grid().bounds();
    let mut problem = None;
    for &field in fields {
        let request = ReadRequest { field, step, level: 0, bounds };
        let outcome: Result<(), SourceError> =
            publisher.put(field, |values| source.read(&request, values)).map_err(PipelineError::flow)?;
        problem = problem.or(outcome.err());
    }
    // What could be read is published all the same.
    publisher.end().map_err(PipelineError::flow)?;
    problem.map_or(Ok(()), |cause| Err(PipelineError::source(cause)))
}
