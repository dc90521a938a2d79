//! What every source offers, and how it fails.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use visapult_volume::{Box3, FieldInfo, Grid, SharedValues, StepIndex, StepSpan};

use crate::choice::{Choice, Refusal};
use crate::coordinates::Along;

/// What is known of a source once it is open.
#[derive(Clone, Debug)]
pub struct SourceInfo {
    /// Name to show: the file's or the simulation's.
    pub name: String,
    /// Format in a few words, such as `HDF5, chunked, deflate`.
    pub format: String,
    /// Grids of the levels the source stores, finest first; most store one.
    pub levels: Vec<Grid>,
    /// Fields on those grids; at least one.
    pub fields: Vec<FieldInfo>,
    /// Time of each step in `time_unit`; empty where the source has no times.
    pub times: Vec<f64>,
    /// Unit of `times`; empty where none is known.
    pub time_unit: String,
    /// Calendar in which that counts, as netCDF calls it; empty where none is told.
    pub calendar: String,
    /// Where samples of the finest level lie along x, y, z. What a file has of its own it has for its only level.
    pub along: [Along; 3],
    /// Whether new steps appear while the source is open.
    pub live: bool,
}

impl SourceInfo {
    /// The finest grid.
    pub fn grid(&self) -> &Grid {
        &self.levels[0]
    }
}

/// Which values to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// Index into [`SourceInfo::fields`].
    pub field: usize,
    /// Step to read.
    pub step: StepIndex,
    /// Index into [`SourceInfo::levels`].
    pub level: usize,
    /// Samples of that level's grid.
    pub bounds: Box3,
}

/// What the values of a field tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A quantity.
    Linear,
    /// The common logarithm of one: a value is no less for being 0.
    Logarithmic,
}

/// Steps of a field that are decoded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    /// How many, with any of them.
    pub steps: u64,
    /// Samples, in boxes of whole [grains](Source::grain), of which all these steps are kept once they are decoded.
    pub samples: usize,
}

impl Together {
    /// Each step is decoded by itself.
    pub const ALONE: Self = Self { steps: 1, samples: usize::MAX };
}

/// A field that lives somewhere else: a file, a simulation.
pub trait Source: Send + Sync {
    /// Grid, fields and times.
    fn info(&self) -> &SourceInfo;

    /// The steps that can be read now.
    fn steps(&self) -> StepSpan;

    /// The source whose values this one hands out otherwise, if it does: of what is the same for both it is asked.
    fn behind(&self) -> Option<&dyn Source> {
        None
    }

    /// Waits until a step after `step` can be read or `limit` has passed, and tells the newest; at once for files.
    fn wait_beyond(&self, step: StepIndex, limit: Duration) -> StepIndex {
        self.behind().map_or_else(|| self.steps().last, |source| source.wait_beyond(step, limit))
    }

    /// Time of `step` in the source's time unit, where it is known.
    fn time_of(&self, step: StepIndex) -> Option<f64> {
        let told = || self.info().times.get(usize::try_from(step).ok()?).copied();
        self.behind().map_or_else(told, |source| source.time_of(step))
    }

    /// Samples of a level of a field along each axis that are decoded together: fewer of them are not read faster.
    ///
    /// # Panics
    /// If there is no such field or level.
    fn grain(&self, field: usize, level: usize) -> [usize; 3] {
        let _ = (field, level);
        [1; 3]
    }

    /// Steps of a level of a field that are decoded together.
    ///
    /// # Panics
    /// If there is no such field or level.
    fn together(&self, field: usize, level: usize) -> Together {
        let _ = (field, level);
        Together::ALONE
    }

    /// Samples that are read for all of a step of the finest level.
    fn samples_read(&self) -> usize {
        self.info().grid().sample_count()
    }

    /// Whether values come over a network when they are read, and so not at once.
    fn is_far(&self) -> bool {
        self.behind().is_some_and(Source::is_far)
    }

    /// Whether the values of a level of a field are the numbers that are stored: none is scaled, and none stands for what is missing.
    ///
    /// # Panics
    /// If there is no such field or level.
    fn is_as_stored(&self, field: usize, level: usize) -> bool {
        let _ = (field, level);
        false
    }

    /// Whether a field has no steps, and so is the same at all that there are.
    ///
    /// # Panics
    /// If there is no such field.
    fn is_static(&self, field: usize) -> bool {
        self.behind().is_some_and(|source| source.is_static(field))
    }

    /// Files and folders that values come from although they lie neither beside the one that was named nor below its folder; of a Zarr store, all that links in
    /// it lead to.
    fn outside(&self) -> Vec<PathBuf> {
        self.behind().map_or_else(Vec::new, Source::outside)
    }

    /// What the values of a field tell.
    ///
    /// # Panics
    /// If there is no such field.
    fn scale(&self, field: usize) -> Scale {
        self.behind().map_or(Scale::Linear, |source| source.scale(field))
    }

    /// The values of a box where they lie, if they are kept in memory in just this order: what only looks at them need not copy them.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn shared(&self, request: &ReadRequest) -> Result<Option<SharedValues>, SourceError> {
        let _ = request;
        Ok(None)
    }

    /// Reads a box into `out`, `[z, y, x]` with x fastest; fill values and what is missing become NaN.
    ///
    /// # Errors
    /// [`SourceError`] if the values cannot be had; `out` is then unspecified.
    ///
    /// # Panics
    /// If `out` does not hold exactly `request.bounds.volume()` values.
    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError>;
}

/// Why a source could not be opened or read. The message says what, where, and what to do.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The operating system refused.
    #[error("cannot read {path}: {cause}")]
    Io {
        /// File concerned.
        path: String,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// The bytes are not what the format requires.
    #[error("{path} is not usable: {problem}")]
    Format {
        /// File concerned.
        path: String,
        /// What is wrong, where in the file, what to do.
        problem: String,
    },
    /// The file is another one than that which was opened, or was written to.
    #[error("{path} has changed since it was opened ({change}): open it again")]
    Changed {
        /// File concerned.
        path: String,
        /// In which way.
        change: String,
    },
    /// It holds fields of several shapes, and none of them was named.
    #[error("{source} is not usable as it is: {0}", source = .0.source)]
    Choice(Box<Choice>),
    /// No format fits the name.
    #[error(
        "no reader for {url}: expected .npy, .json (raw + sidecar), .nii, .nii.gz, file.h5:/dataset, .vtkhdf, a .zarr folder (here, at https:// or s3://), demo:wave, or the \
         ripp:// URL of what is published elsewhere"
    )]
    Unsupported {
        /// What was asked for.
        url: String,
    },
    /// What is nearly a URL of a flow, which is received and not read. It is not quoted, for there may be a token in it.
    #[error(
        "this is no file, and no RIPP URL either: that begins with ripp://, as in ripp://TOKEN@host:port/name#FINGERPRINT, with no blank before it"
    )]
    NoFlow,
    /// The name is written as those of another format are.
    #[error("no reader for {url}: did you mean {meant}?")]
    Misspelt {
        /// What was asked for.
        url: String,
        /// As it would be written.
        meant: String,
    },
    /// The URL's options do not make sense.
    #[error("{url}: {problem}")]
    Option {
        /// What was asked for.
        url: String,
        /// Which option, what it accepts.
        problem: String,
    },
    /// The request names what the source does not have.
    #[error("{name} cannot be read as asked: {problem}")]
    Request {
        /// The source's name.
        name: String,
        /// What is asked for and what there is.
        problem: String,
    },
    /// The step is not there (any more).
    #[error("step {step} is not available: steps {} to {} are", available.first, available.last)]
    StepGone {
        /// Step asked for.
        step: StepIndex,
        /// What can be read.
        available: StepSpan,
    },
    /// The step of a simulation has come, and the field not with it.
    #[error("step {step} was received without {field}: nobody looked at that then")]
    WithoutField {
        /// Step asked for.
        step: StepIndex,
        /// The field's name.
        field: String,
    },
}

impl SourceError {
    /// No format fits `url`.
    pub fn unsupported(url: &str) -> Self {
        Self::Unsupported { url: url.to_owned() }
    }

    /// The operating system refused to open or read `path`.
    pub fn io(path: impl ToString, cause: std::io::Error) -> Self {
        // Where a reader has words of its own for it, those are told.
        if cause.kind() == std::io::ErrorKind::UnexpectedEof && cause.get_ref().is_none() {
            return Self::format(path, "it ends before its values do: it is truncated; copy it again");
        }
        Self::Io { path: path.to_string(), cause }
    }

    /// The fields of `path` cannot be had.
    pub(crate) fn refused(path: impl ToString, refusal: Refusal) -> Self {
        match refusal {
            Refusal::Problem(problem) => Self::format(path, problem),
            Refusal::Choice(choice) => Self::Choice(Box::new(choice.held_by(path.to_string()))),
        }
    }

    /// The bytes of `path` are not what the format requires.
    pub fn format(path: impl ToString, problem: impl Into<String>) -> Self {
        Self::Format { path: path.to_string(), problem: problem.into() }
    }
}

impl ReadRequest {
    /// Holds the request against what a source has.
    ///
    /// # Errors
    /// [`SourceError::Request`] or [`SourceError::StepGone`] says what is not there.
    ///
    /// # Panics
    /// If `out_len` is not the number of samples in `bounds`.
    pub(crate) fn check(&self, info: &SourceInfo, steps: StepSpan, out_len: usize) -> Result<(), SourceError> {
        assert_eq!(out_len, self.bounds.volume(), "the buffer must hold the box {}", self.bounds);
        let refuse = |problem| Err(SourceError::Request { name: info.name.clone(), problem });
        if self.field >= info.fields.len() {
            return refuse(format!("there is no field {}, there are {}", self.field, info.fields.len()));
        }
        let Some(grid) = info.levels.get(self.level) else {
            return refuse(format!("there is no level {}, there are {}", self.level, info.levels.len()));
        };
        if !grid.bounds().contains(&self.bounds) {
            return refuse(format!("box {} does not lie inside the grid {}", self.bounds, grid.bounds()));
        }
        if self.step < steps.first || self.step > steps.last {
            return Err(SourceError::StepGone { step: self.step, available: steps });
        }
        Ok(())
    }
}
