//! What is raised: one tree of exceptions.

use std::io;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOverflowError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use visapult_publish::FlowError;
use visapult_ripp_net::{ControlError, SessionError};

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

/// An argument of whatever type is wanted. A number that is too large for it, and text that is none, are raised as what makes no sense.
pub(crate) fn given<'a, 'py, T: FromPyObject<'a, 'py>>(object: &'a Bound<'py, PyAny>) -> PyResult<T> {
    object.extract().map_err(|cause: T::Error| {
        let (cause, py): (PyErr, _) = (cause.into(), object.py());
        // What is wrong with a part of it is the cause of what is raised of it all.
        let chain = || std::iter::successors(Some(cause.clone_ref(py)), |cause| cause.cause(py));
        if let Some(cause) = chain().find(|cause| cause.is_instance_of::<PyOverflowError>(py)) {
            return CallError::new_err(format!("a number is out of bounds: {}", cause.value(py)));
        }
        if let Some(cause) = chain().find(|cause| cause.is_instance_of::<PyUnicodeEncodeError>(py)) {
            return CallError::new_err(format!("a text is none that can be shown: {}", cause.value(py)));
        }
        cause
    })
}

/// The exception for what the publisher says.
pub(crate) fn raised(cause: &FlowError) -> PyErr {
    match cause {
        FlowError::Session(cause) => link_error(cause),
        FlowError::Nobody(_) => LinkError::new_err(cause.to_string()),
        _ => CallError::new_err(cause.to_string()),
    }
}

/// The exception for an address that cannot be had. In a notebook, that is often one that the same cell has taken before.
pub(crate) fn link_error(cause: &SessionError) -> PyErr {
    let is_taken = match cause {
        SessionError::Control(ControlError::Bind { cause, .. }) => cause.kind() == io::ErrorKind::AddrInUse,
        _ => false,
    };
    let more = if is_taken { "; in a notebook, close the publisher or share that an earlier cell opened" } else { "" };
    LinkError::new_err(format!("{cause}{more}"))
}
