//! A publisher in the hands of a Python program.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, process, thread};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use visapult_publish::{
    FieldInfo, FlowError, Meeting, Parameter, ParameterKind, Pause, PublisherOptions, PublisherStatistics, Reversed,
    StepIndex,
};

use crate::array::Array;
use crate::coordinates::{Told, coordinates};
use crate::declaration::{
    Bounds, Samples, block, calendar_named, delivery_named, fields, options, origin, parameters, size, spacing, step,
};
use crate::failure::{CallError, given, raised};

/// How long a program that waits for back ends does before it sees whether it is interrupted.
const WAIT_SLICE: Duration = Duration::from_millis(100);
/// How long who waits lets go of the publisher between two sleeps.
const BREATH: Duration = Duration::from_millis(1);

/// One rank of a simulation that publishes; a context manager that closes itself.
///
/// Declares what is published, and begins to.
///
/// ``size`` is that of the whole grid, samples ``(nx, ny, nz)``, ``spacing`` and ``origin`` are in ``unit``. ``fields`` maps names to units,
/// or lists fields. ``block`` is the half-open box ``((x0, y0, z0), (x1, y1, z1))`` of the grid that this rank owns, without ghost layers; the
/// whole grid if left out. The blocks of all ``ranks`` tile the grid.
///
/// ``coordinates`` says where samples of the whole grid lie along "x", "y" or "z", in place of ``spacing`` and ``origin`` there: an array with a
/// number for each, in ``unit``, a one-dimensional array of xarray, or ``Coordinates``. An axis along which they fall is turned for those who look.
/// Times in a ``time_unit`` like "hours since 2001-01-01" are dates of the ``calendar``, "standard" if none is told.
///
/// ``parameters`` are what viewers may change: all ranks declare the same ones, and call ``steer`` before every step.
///
/// ``delivery`` says which steps back ends get. "newest": what cannot be sent in time is skipped, and the program never waits. "every": ending
/// a step waits until it is under way to all back ends that are attached, and ``close`` until all has arrived; where none is attached nothing waits,
/// and one that dies is not waited for. "every from first": the first step waits for a back end, too.
///
/// ``url`` is that of a back end that waits for the simulation: it is dialled now, or when it is there, and again when it comes back.
/// ``listen`` is the address and port to wait for back ends on ("0.0.0.0:0" takes any port), ``host`` what they call this machine. With
/// neither, or a blank ``url``, the environment variable ``VISAPULT_URL`` names the back end; where it is not set publishing is off,
/// and every call returns at once.
///
/// Raises CallError if the declaration does not fit together, LinkError if the address cannot be had.
#[pyclass(module = "visapult", frozen)]
pub(crate) struct Publisher {
    name: String,
    fields: Vec<FieldInfo>,
    /// As declared; those of the publisher have the values of now.
    parameters: Vec<Parameter>,
    /// Values per axis of the rank's block, `[nx, ny, nz]`.
    size: [usize; 3],
    reversed: Reversed,
    url: Option<String>,
    /// The process that opened it, where anything is published: its threads are in no other.
    process: Option<u32>,
    /// Locked by threads that have let go of Python only: whoever holds it never waits for Python. In a process that was forked nobody may let go of it.
    state: Mutex<State>,
}

struct State {
    ground: Ground,
    /// It is being closed, or is: nothing more is published.
    is_over: bool,
    /// The next step, where publishing is off.
    next: StepIndex,
    spent: Duration,
}

/// What calls come down to.
enum Ground {
    On(Box<visapult_publish::Publisher>),
    /// Nobody wants to see anything.
    Off,
    Closed(PublisherStatistics),
}

/// What a publisher has done so far; all 0 where publishing is off.
#[pyclass(module = "visapult", frozen, get_all)]
pub(crate) struct Statistics {
    /// Steps ended.
    steps: u64,
    /// Steps handed to the transport, counted once for every back end: the last of them may not have arrived.
    sent: u64,
    /// Steps that a back end asked for too late to get them, those from before it came left out.
    missed: u64,
    /// Back ends attached now.
    attached: usize,
    /// Seconds that the program has spent in calls that publish.
    seconds: f64,
}

#[pymethods]
impl Statistics {
    fn __repr__(&self) -> String {
        let Self { steps, sent, missed, attached, seconds } = self;
        format!("Statistics(steps={steps}, sent={sent}, missed={missed}, attached={attached}, seconds={seconds:.6})")
    }
}

#[pymethods]
impl Publisher {
    #[new]
    #[pyo3(signature = (*, name, size, fields, spacing=[1.0; 3], origin=[0.0; 3], unit=String::new(), centering="point".to_owned(), coordinates=Told::default(),
        time_unit="s".to_owned(), calendar=None, block=None, rank=0, ranks=1, parameters=Vec::new(), delivery="newest", url=None, listen=None, host=None))]
    #[pyo3(
        text_signature = "(*, name, size, fields, spacing=(1.0, 1.0, 1.0), origin=(0.0, 0.0, 0.0), unit='', centering='point', \
        coordinates=None, time_unit='s', calendar=None, block=None, rank=0, ranks=1, parameters=(), delivery='newest', url=None, listen=None, host=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "all have names in Python")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] name: String,
        #[pyo3(from_py_with = size)] size: [i64; 3],
        #[pyo3(from_py_with = fields)] fields: Vec<FieldInfo>,
        #[pyo3(from_py_with = spacing)] spacing: [f64; 3],
        #[pyo3(from_py_with = origin)] origin: [f64; 3],
        #[pyo3(from_py_with = given)] unit: String,
        #[pyo3(from_py_with = given)] centering: String,
        #[pyo3(from_py_with = coordinates)] coordinates: Told,
        #[pyo3(from_py_with = given)] time_unit: String,
        #[pyo3(from_py_with = given)] calendar: Option<String>,
        #[pyo3(from_py_with = block)] block: Option<Bounds>,
        #[pyo3(from_py_with = given)] rank: i64,
        #[pyo3(from_py_with = given)] ranks: i64,
        #[pyo3(from_py_with = parameters)] parameters: Vec<Parameter>,
        #[pyo3(from_py_with = given)] delivery: &str,
        #[pyo3(from_py_with = given)] url: Option<&str>,
        #[pyo3(from_py_with = given)] listen: Option<&str>,
        #[pyo3(from_py_with = given)] host: Option<&str>,
    ) -> PyResult<Self> {
        let grid = Samples { size, spacing, origin, unit, centering }.grid()?;
        let declared = PublisherOptions {
            parameters: parameters.clone(),
            delivery: delivery_named(delivery)?,
            calendar: calendar_named(calendar)?,
            ..options(name.clone(), grid, fields.clone(), block, (rank, ranks), time_unit)?
        };
        let declared = declared.with_coordinates(&coordinates).map_err(|cause| raised(&cause))?;
        let (size, reversed) = (declared.block.size(), declared.reversed);
        let open = || -> Result<_, FlowError> {
            match Meeting::find(url, listen, host)? {
                Some(meeting) => visapult_publish::Publisher::open(&meeting, declared).map(Some),
                // What makes no sense is told though nobody looks.
                None => visapult_publish::Publisher::check(declared).map(|()| None),
            }
        };
        let publisher = py.detach(open).map_err(|cause| raised(&cause))?;
        let url = publisher.as_ref().and_then(|publisher| Some(publisher.url()?.to_string()));
        let process = publisher.is_some().then(process::id);
        let ground = publisher.map_or(Ground::Off, |publisher| Ground::On(Box::new(publisher)));
        let state = Mutex::new(State { ground, is_over: false, next: 0, spent: Duration::ZERO });
        Ok(Self { name, fields, parameters, size, reversed, url, process, state })
    }

    /// What a back end has to dial; it holds a secret that admits to this publisher. None where we dial or publishing is off.
    #[getter]
    fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Whether anything is published: a back end is named or waited for, and the publisher is not closed.
    #[getter]
    fn is_on(&self, py: Python<'_>) -> bool {
        !self.is_elsewhere() && py.detach(|| matches!(self.lock().ground, Ground::On(_)))
    }

    /// The values of the parameters by their names, as declared or as ``steer`` has taken them over; whole numbers are ``int``.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.here()?;
        let values: Vec<Option<f64>> = py.detach(|| {
            let state = self.lock();
            (0..self.parameters.len()).map(|number| state.parameter(number)).collect()
        });
        let named = PyDict::new(py);
        for (parameter, now) in self.parameters.iter().zip(values) {
            let value = now.unwrap_or(parameter.value);
            match parameter.kind {
                ParameterKind::Number => named.set_item(&parameter.name, value)?,
                ParameterKind::Integer => named.set_item(&parameter.name, value as i64)?,
            }
        }
        Ok(named)
    }

    /// Takes over what viewers have asked for since the last step; False once the simulation shall end.
    ///
    /// A program that declares parameters calls it before every step, on every rank: what is asked for takes effect before the same step
    /// on all. Waits while viewers have paused the simulation, until it is resumed or the program is given
    /// a signal that asks it to end or warns it (SIGTERM, SIGUSR1 and the like) and has a handler for it: then all ranks go on.
    fn steer(&self, py: Python<'_>) -> PyResult<bool> {
        self.here()?;
        loop {
            let steering = py.detach(|| self.lock().steer()).map_err(|cause| raised(&cause))?;
            let pause = match steering {
                Ok(goes_on) => return Ok(goes_on),
                Err(pause) => pause,
            };
            py.detach(|| pause.wait());
            // Who is paused may still be interrupted.
            py.check_signals()?;
        }
    }

    /// Publishes one step: ``time`` in ``time_unit`` (NaN where unknown), and an array for every field. Returns the number of the step.
    ///
    /// Arrays are this rank's block, shape ``(nz, ny, nx)``, of any real type in any order in memory; they are copied once, as float32, and may
    /// be changed afterwards. Never waits for a viewer. Nothing is published if it raises: ArrayError, or CallError for a field
    /// that is missing or unknown.
    #[pyo3(signature = (time, /, **fields))]
    fn publish(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] time: f64,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<StepIndex> {
        let arrays = self.arrays(fields, py)?;
        let publish = |state: &mut State| {
            let step = state.begin(time, None)?;
            for (field, array) in &arrays {
                state.put(*field, Some(array))?;
            }
            state.hand_over()?;
            Ok(step)
        };
        let step = self.timed(py, publish)?;
        self.wait_until_taken(py)?;
        Ok(step)
    }

    /// Begins the next step, or ``step``, for ranks that do not take part in every step. Returns its number.
    ///
    /// A step that was begun and not ended, because something was raised meanwhile, is left out, and has had its number.
    #[pyo3(signature = (time, *, step=None))]
    fn begin(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] time: f64,
        #[pyo3(from_py_with = step)] step: Option<StepIndex>,
    ) -> PyResult<StepIndex> {
        self.timed(py, |state| state.begin(time, step))
    }

    /// Copies the values of a field of the step that has begun, as ``publish`` does.
    #[pyo3(signature = (field, array, /))]
    fn put(&self, py: Python<'_>, #[pyo3(from_py_with = given)] field: &str, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let field = self.field(field)?;
        let looked_at = || self.looked_at(field, array);
        // The call itself says if it is closed.
        let array = self.is_on(py).then(looked_at).transpose()?;
        self.timed(py, |state| state.put(field, array.as_ref()))
    }

    /// Ends the step: whoever wants it is sent it while the program goes on.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.timed(py, State::hand_over)?;
        self.wait_until_taken(py)
    }

    /// What has been done so far.
    fn statistics(&self, py: Python<'_>) -> PyResult<Statistics> {
        self.here()?;
        Ok(py.detach(|| {
            let state = self.lock();
            let PublisherStatistics { steps, sent, missed, attached } = match &state.ground {
                Ground::On(publisher) => publisher.statistics(),
                Ground::Off => PublisherStatistics::default(),
                Ground::Closed(last) => *last,
            };
            Statistics { steps, sent, missed, attached, seconds: state.spent.as_secs_f64() }
        }))
    }

    /// Ends publishing; a second time does nothing. Waits until all has arrived where every step is to, else two seconds at most for the last one.
    /// Ctrl-C ends the wait, and the publisher.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_elsewhere() {
            return Ok(());
        }
        py.detach(|| self.lock().is_over = true);
        let waited = self.wait_until_arrived(py);
        py.detach(|| self.lock().close());
        waited
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (kind, error, trace, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (kind, error, trace);
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        if self.is_elsewhere() {
            return format!("<visapult.Publisher {:?}, of another process>", self.name);
        }
        let state = py.detach(|| match self.lock().ground {
            Ground::On(_) => "on",
            Ground::Off => "off",
            Ground::Closed(_) => "closed",
        });
        format!("<visapult.Publisher {:?}, {state}>", self.name)
    }
}

/// Between two waits: whoever else wants to know something of the publisher has its turn, and the program may be interrupted.
fn breathe(py: Python<'_>) -> PyResult<()> {
    py.detach(|| thread::sleep(BREATH));
    py.check_signals()
}

impl Publisher {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process was forked from the one that opened it.
    fn is_elsewhere(&self) -> bool {
        self.process.is_some_and(|opened_in| opened_in != process::id())
    }

    fn here(&self) -> PyResult<()> {
        if self.is_elsewhere() {
            let said = "the publisher was opened in another process, of which this one is a fork: open one in the process that publishes";
            return Err(CallError::new_err(said));
        }
        Ok(())
    }

    /// Who waits at the end may be interrupted.
    fn wait_until_arrived(&self, py: Python<'_>) -> PyResult<()> {
        while !py.detach(|| self.lock().is_settled()) {
            breathe(py)?;
        }
        Ok(())
    }

    /// Who waits for a back end may be interrupted; the step is handed over by then.
    fn wait_until_taken(&self, py: Python<'_>) -> PyResult<()> {
        while !self.timed(py, State::is_taken)? {
            breathe(py)?;
        }
        Ok(())
    }

    /// Calls the publisher without holding Python, and counts the time.
    fn timed<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut State) -> Result<R, FlowError> + Send,
    ) -> PyResult<R> {
        self.here()?;
        let called = py.detach(|| {
            let mut state = self.lock();
            let began = Instant::now();
            let outcome = call(&mut state);
            state.spent += began.elapsed();
            outcome
        });
        called.map_err(|cause| raised(&cause))
    }

    fn field(&self, name: &str) -> PyResult<usize> {
        let found = self.fields.iter().position(|field| field.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self.fields.iter().map(|field| field.name.as_str()).collect();
            CallError::new_err(format!("there is no field {name:?}: declared are {}", names.join(", ")))
        })
    }

    /// An array of this rank's block, in the order of the grid.
    fn looked_at(&self, field: usize, array: &Bound<'_, PyAny>) -> PyResult<Array> {
        Ok(Array::new(array, &self.fields[field].name, self.size)?.turned(self.reversed))
    }

    /// An array for every field, each looked at before any is published.
    fn arrays(&self, named: Option<&Bound<'_, PyDict>>, py: Python<'_>) -> PyResult<Vec<(usize, Array)>> {
        let none = PyDict::new(py);
        let named = named.unwrap_or(&none);
        for name in named.keys() {
            self.field(given(&name)?)?;
        }
        self.here()?;
        if !self.is_on(py) {
            // The call itself says if it is closed.
            return Ok(Vec::new());
        }
        let array = |(number, field): (usize, &FieldInfo)| {
            let array = named.get_item(&field.name)?.ok_or_else(|| {
                let name = &field.name;
                CallError::new_err(format!(
                    "field {name} is missing: pass every field, or put some with begin, put and end"
                ))
            })?;
            Ok((number, self.looked_at(number, &array)?))
        };
        self.fields.iter().enumerate().map(array).collect()
    }
}

impl State {
    fn begin(&mut self, time: f64, step: Option<StepIndex>) -> Result<StepIndex, FlowError> {
        if time.is_infinite() {
            return Err(FlowError::Usage(format!("time: {time} is no time: give NaN where it is unknown")));
        }
        let own = self.next;
        let publisher = self.publisher()?;
        let least = publisher.as_ref().map_or(own, |publisher| publisher.next());
        if let Some(step) = step.filter(|step| *step < least) {
            return Err(FlowError::Usage(format!("step {step} does not follow: {least} is the least that does")));
        }
        let step = match (publisher, step) {
            (Some(publisher), None) => publisher.begin(time)?,
            (Some(publisher), Some(step)) => publisher.begin_at(step, time)?,
            (None, step) => step.unwrap_or(own),
        };
        self.next = step.saturating_add(1);
        Ok(step)
    }

    fn put(&mut self, field: usize, array: Option<&Array>) -> Result<(), FlowError> {
        let (Some(publisher), Some(array)) = (self.publisher()?, array) else { return Ok(()) };
        let write = |out: &mut [f32]| -> Result<(), FlowError> {
            array.copy_to(out);
            Ok(())
        };
        publisher.put(field, write)?
    }

    fn hand_over(&mut self) -> Result<(), FlowError> {
        self.publisher()?.map_or(Ok(()), visapult_publish::Publisher::hand_over)
    }

    /// Whether the latest step is under way to whoever is to have it.
    fn is_taken(&mut self) -> Result<bool, FlowError> {
        Ok(self.publisher()?.is_none_or(|publisher| publisher.taken_within(WAIT_SLICE)))
    }

    /// Whether the simulation goes on, or where it waits while it is paused.
    fn steer(&mut self) -> Result<Result<bool, Pause>, FlowError> {
        let Some(publisher) = self.publisher()? else { return Ok(Ok(true)) };
        Ok(publisher.steer_now().map(|steering| !steering.stop).ok_or_else(|| publisher.pause()))
    }

    /// None where publishing is off or over.
    fn parameter(&self, number: usize) -> Option<f64> {
        match &self.ground {
            Ground::On(publisher) => publisher.parameter(number),
            Ground::Off | Ground::Closed(_) => None,
        }
    }

    /// None where publishing is off.
    fn publisher(&mut self) -> Result<Option<&mut visapult_publish::Publisher>, FlowError> {
        if self.is_over {
            return Err(FlowError::Usage("the publisher is closed: open another one".to_owned()));
        }
        match &mut self.ground {
            Ground::On(publisher) => Ok(Some(publisher)),
            Ground::Off | Ground::Closed(_) => Ok(None),
        }
    }

    /// Whether there is nothing more to wait for in the end.
    fn is_settled(&self) -> bool {
        match &self.ground {
            Ground::On(publisher) => publisher.settled_within(WAIT_SLICE),
            Ground::Off | Ground::Closed(_) => true,
        }
    }

    /// Whoever is to has waited by now.
    fn close(&mut self) {
        let last = match &self.ground {
            Ground::On(publisher) => PublisherStatistics { attached: 0, ..publisher.statistics() },
            Ground::Off => PublisherStatistics::default(),
            Ground::Closed(last) => *last,
        };
        if let Ground::On(publisher) = mem::replace(&mut self.ground, Ground::Closed(last)) {
            publisher.abandon();
        }
    }
}

impl Drop for Publisher {
    /// Other threads of the program run while it waits. In a process that was forked there is nothing to end, and no thread that could.
    fn drop(&mut self) {
        if self.is_elsewhere() {
            let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            mem::forget(mem::replace(&mut state.ground, Ground::Off));
            return;
        }
        Python::attach(|py| {
            // It may be let go of because of one.
            let under_way = PyErr::take(py);
            if let Err(raised) = self.close(py) {
                let whose = PyString::new(py, &format!("the end of {}", self.__repr__(py)));
                raised.write_unraisable(py, Some(&whose));
            }
            if let Some(under_way) = under_way {
                under_way.restore(py);
            }
        });
    }
}
