//! A share in the hands of a Python program.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use pyo3::prelude::*;
use pyo3::types::PyString;
use visapult_copy::{Access, CopyError as Ended, ShareOptions};
use visapult_ripp_net::{Identity, Options, Rate, RippUrl, Undisturbed, own_host, user_folder};

use crate::copying::Speed;
use crate::failure::{CallError, LinkError, given, link_error};

/// A folder that others may copy from, and into where that is said; a context manager that closes itself.
///
/// Shares a folder until it is closed; whoever has the URL may copy from it, and into it with ``write``.
///
/// ``policy`` is a file that says who may read and write what; each then has a URL of their own. ``fetch`` names a host, or several, whose shares it
/// may be asked to copy from. ``listen`` is the address and port to wait on ("0.0.0.0:0" takes any port), ``host`` what others call this machine.
///
/// Raises CallError for a folder or a policy that will not do, LinkError if the address cannot be had.
#[pyclass(module = "visapult", frozen)]
pub(crate) struct Share {
    folder: PathBuf,
    /// Of each person where there is a policy, else of nobody in particular.
    urls: BTreeMap<String, String>,
    url: Option<String>,
    stop: Arc<AtomicBool>,
    /// The process that opened it: its threads are in no other.
    process: u32,
    /// Locked by threads that have let go of Python only.
    serving: Mutex<Option<JoinHandle<Result<(), Ended>>>>,
}

#[pymethods]
impl Share {
    #[new]
    #[pyo3(signature = (folder, *, write=false, policy=None, fetch=Vec::new(), rate=None, listen="127.0.0.1:0", host=None))]
    #[pyo3(
        text_signature = "(folder, *, write=False, policy=None, fetch=(), rate=None, listen='127.0.0.1:0', host=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "all have names in Python")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] folder: PathBuf,
        write: bool,
        #[pyo3(from_py_with = given)] policy: Option<PathBuf>,
        #[pyo3(from_py_with = several)] fetch: Vec<String>,
        #[pyo3(from_py_with = given)] rate: Option<Speed>,
        #[pyo3(from_py_with = given)] listen: &str,
        #[pyo3(from_py_with = given)] host: Option<String>,
    ) -> PyResult<Self> {
        let access = match policy {
            Some(_) if write => return Err(CallError::new_err("write: a policy says who may write: leave it out")),
            Some(file) => Access::Policy(file),
            None => Access::Url { write },
        };
        let bind = listen.parse().map_err(|_| {
            CallError::new_err(format!("listen: {listen:?} is no ADDRESS:PORT: write \"0.0.0.0:0\" for any port"))
        })?;
        let checked = host.as_deref().map_or(Ok(()), RippUrl::check_host);
        checked.map_err(|cause| CallError::new_err(cause.to_string()))?;
        let mut session = Options::default();
        if let Some(bps) = rate.map(Speed::bps).transpose()? {
            session.rate = Rate::Fixed(bps);
        }
        let opened = folder.clone();
        let open = move || -> PyResult<_> {
            let _undisturbed = Undisturbed::begin();
            let own = user_folder().and_then(|folder| Ok((Identity::load_or_create(&folder)?, folder)));
            let (identity, secrets) = own.map_err(|cause| LinkError::new_err(cause.to_string()))?;
            let (identity, secrets) = (Some(identity), Some(secrets));
            let options = ShareOptions { folder: opened, access, fetch, bind, identity, secrets, session };
            visapult_copy::Share::open(options).map_err(|cause| match &cause {
                Ended::Session(cause) => link_error(cause),
                _ => CallError::new_err(cause.to_string()),
            })
        };
        let share = py.detach(open)?;
        let host = host.unwrap_or_else(|| own_host(share.local_addr()));
        let (mut urls, mut only) = (BTreeMap::new(), None);
        for (who, url) in share.urls(&host) {
            match who {
                Some(who) => drop(urls.insert(who, url.to_string())),
                None => only = Some(url.to_string()),
            }
        }
        let stop = Arc::new(AtomicBool::new(false));
        let its_stop = Arc::clone(&stop);
        let _undisturbed = Undisturbed::begin();
        let serving = thread::spawn(move || share.serve(&its_stop, &|_| {}));
        Ok(Self { folder, urls, url: only, stop, process: process::id(), serving: Mutex::new(Some(serving)) })
    }

    /// What others need to copy; it holds a secret. None where a policy gives each their own.
    #[getter]
    fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// The URL of each person whom the policy names.
    #[getter]
    fn urls(&self) -> BTreeMap<String, String> {
        self.urls.clone()
    }

    /// Ends it, and what is being copied; a second time does nothing.
    fn close(&self, py: Python<'_>) {
        if self.process != process::id() {
            return;
        }
        self.stop.store(true, Ordering::Relaxed);
        py.detach(|| {
            let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
            // Nobody can be told how it ended.
            let _ = serving.map(JoinHandle::join);
        });
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (kind, error, trace, /))]
    fn __exit__(&self, py: Python<'_>, kind: &Bound<'_, PyAny>, error: &Bound<'_, PyAny>, trace: &Bound<'_, PyAny>) {
        let _ = (kind, error, trace);
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let state = if self.stop.load(Ordering::Relaxed) { "closed" } else { "open" };
        format!("<visapult.Share {}, {state}>", self.folder.display())
    }
}

/// A text, or several.
fn several(texts: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if texts.is_instance_of::<PyString>() {
        return Ok(vec![given(texts)?]);
    }
    texts.try_iter()?.map(|text| given(&text?)).collect()
}

impl Drop for Share {
    /// It ends soon; nobody waits for it.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
