//! Publishing and copying for Python: the compiled part of the package `visapult`, whose stubs are its documentation.

mod array;
mod coordinates;
mod copying;
mod declaration;
mod failure;
mod part;
mod publisher;
mod sharing;

/// The compiled part of the package.
#[pyo3::pymodule]
mod _visapult {
    #[pymodule_export]
    use crate::copying::{CopyProgress, CopyResult, copy};
    #[pymodule_export]
    use crate::failure::{ArrayError, CallError, CopyError, Error, LinkError};
    #[pymodule_export]
    use crate::publisher::{Publisher, Statistics};
    #[pymodule_export]
    use crate::sharing::Share;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
