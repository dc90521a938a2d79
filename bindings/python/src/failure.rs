//! What is raised: one tree of exceptions.

use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};
use visapult_pipeline::flow::FlowError;

create_exception!(
    visapult,
    Error,
    PyException,
    "What this package raises; its message says what, where and what to do."
);
create_exception!(
    visapult,
    CallError,
    Error,
    "A call that makes no sense: a declaration that does not fit together, a call out of turn, a closed publisher."
);
create_exception!(visapult, ArrayError, Error, "An array of the wrong shape, or of a type that is no real number.");
create_exception!(
    visapult,
    LinkError,
    Error,
    "An address that cannot be listened on, or a URL that cannot be believed."
);
create_exception!(
    visapult,
    CopyError,
    Error,
    "Why a copy ended before all was there. What was copied is kept, and the same call goes on from there."
);

/// The exception for what the publisher says.
pub(crate) fn raised(cause: &FlowError) -> PyErr {
    match cause {
        FlowError::Session(_) | FlowError::Nobody(_) => LinkError::new_err(cause.to_string()),
        _ => CallError::new_err(cause.to_string()),
    }
}
