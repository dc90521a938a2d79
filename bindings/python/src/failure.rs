//! What is raised: one tree of exceptions.

use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};
use visapult_pipeline::flow::FlowError;

create_exception!(visapult, Error, PyException, "What this package raises.");
create_exception!(visapult, CallError, Error, "A call that makes no sense.");
create_exception!(visapult, ArrayError, Error, "An array of the wrong shape or type.");
create_exception!(
    visapult,
    LinkError,
    Error,
    "An address that cannot be listened on, or a URL that cannot be believed."
);

create_exception!(visapult, CopyError, Error, "Why a copy ended before it was done.");

/// The exception for what the publisher says.
pub(crate) fn raised(cause: &FlowError) -> PyErr {
    match cause {
        FlowError::Session(_) | FlowError::Nobody(_) => LinkError::new_err(cause.to_string()),
        _ => CallError::new_err(cause.to_string()),
    }
}
