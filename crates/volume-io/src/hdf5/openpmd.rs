//! openPMD files: iterations of a simulation as steps, and in each of them meshes as fields. Particles are passed over.
//!
//! Arrays are opened when they are read: of each iteration there is one for every field.
//! Invariant: a bounded number of arrays is looked at when a source is opened, and a bounded number kept open.

mod left_out;
mod mesh;
mod pattern;
mod search;
mod series;
mod survey;
mod units;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_metno::File;
use lru::LruCache;
use visapult_volume::{FieldInfo, Reversed, ScalarType, StepSpan, single};

use super::dataset::Stored;
use super::find::{Found, Shape};
use super::home::Home;
use crate::axes::remarked;
use crate::place::Place;
use crate::reversed::turn;
use crate::{ReadRequest, Source, SourceError, SourceInfo, outside, shape};
use mesh::{Component, Values, component};
use pattern::Pattern;
use series::{Base, Iteration, Opened, Series};
use survey::Survey;

/// Arrays that are kept open.
const MOST_OPEN: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Iterations of one file, or of several.
pub(super) struct OpenPmd {
    info: SourceInfo,
    steps: StepSpan,
    series: Series,
    iterations: Vec<Iteration>,
    fields: Vec<Field>,
    reversed: Reversed,
    /// Files of a series that lie outside its folder.
    outside: Vec<PathBuf>,
    /// By field and step.
    open: Mutex<LruCache<(usize, u64), Arc<Array>>>,
}

/// A field, as the first iteration has it.
struct Field {
    name: String,
    shape: Shape,
    grain: [usize; 3],
    is_as_stored: bool,
}

/// A field in one iteration.
enum Array {
    Stored(Box<Stored>, Arc<Home>),
    Constant(f32, ScalarType),
}

/// Whether a file says that it is one.
pub(super) fn is_told(file: &File) -> bool {
    file.attr("openPMD").is_ok()
}

/// Whether `place` names files by a pattern, and no file by this name.
pub(crate) fn is_pattern(place: &Place) -> bool {
    Pattern::of(&shape::file_name(place.shown())).is_some() && !place.is_file()
}

impl OpenPmd {
    /// Opens what `inside` names in a file: all of it, an iteration, or meshes; `None` where that is something else.
    pub(super) fn of_file(file: &File, home: &Arc<Home>, inside: Option<&str>) -> Result<Option<Self>, SourceError> {
        if !home.place.is_confined() && Base::of(file).is_behind_links(file) {
            return Ok(None);
        }
        let opened = Arc::new(Opened { file: file.clone(), home: Arc::clone(home) });
        Self::open(Series::One(opened), &home.place, inside)
    }

    /// Opens the files that `place` names by a pattern.
    pub(super) fn of_pattern(place: &Place, inside: Option<&str>) -> Result<Self, SourceError> {
        let nothing = || {
            SourceError::format(
                place.display(),
                "its files have no such meshes: visapult info without ':/...' lists those",
            )
        };
        Self::open(Series::of_pattern(place)?, place, inside)?.ok_or_else(nothing)
    }

    fn open(series: Series, place: &Place, inside: Option<&str>) -> Result<Option<Self>, SourceError> {
        let Some(survey) = search::survey(&series, place, inside)? else { return Ok(None) };
        let Survey { iterations, first, mut axes, .. } = survey;
        let wrong = |problem: String| SourceError::format(place.display(), problem);
        let reversed = Reversed::of(&mut axes.grid);
        axes.remarks.extend(reversed.remark());
        let outside = series.outside(place);
        axes.remarks.extend(outside::remark(&outside));
        axes.grid.validate().map_err(|e| wrong(e.to_string()))?;
        let opened = series.open_at(&iterations[0])?;
        let moment = iterations[0].moment(&opened.file).map_err(wrong)?;
        let (mut fields, mut infos, mut layouts) = (Vec::new(), Vec::new(), Vec::new());
        for component in &first {
            let array = Array::of(&opened, component, &moment.path)?;
            infos.push(array.info(component));
            if !layouts.contains(&array.layout_name()) {
                layouts.push(array.layout_name());
            }
            fields.push(array.field(component));
        }
        let info = SourceInfo {
            name: shape::file_name(place.shown()),
            format: remarked(format!("openPMD, HDF5, {}", layouts.join(" and ")), &axes.remarks),
            levels: vec![axes.grid],
            fields: infos,
            times: axes.times.to_vec(),
            time_unit: axes.time_unit,
            calendar: String::new(),
            along: Default::default(),
            live: false,
        };
        let steps = StepSpan { first: 0, last: iterations.len() as u64 - 1 };
        let open = Mutex::new(LruCache::new(MOST_OPEN));
        Ok(Some(Self { info, steps, series, iterations, fields, reversed, outside, open }))
    }

    /// A field at a step. Two that want the same both open it: nobody waits for the other.
    fn array(&self, field: usize, step: u64) -> Result<Arc<Array>, SourceError> {
        let known = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(array) = known().get(&(field, step)) {
            return Ok(Arc::clone(array));
        }
        let iteration = &self.iterations[step as usize];
        let opened = self.series.open_at(iteration)?;
        let wrong = |problem: String| {
            let shown = format!("{}:/{}", opened.home.place.display(), self.fields[field].name);
            SourceError::format(shown, format!("iteration {}: {problem}", iteration.number))
        };
        let moment = iteration.moment(&opened.file).map_err(wrong)?;
        let meshes = moment.meshes().ok_or_else(|| wrong("it has no meshes: name another iteration".to_owned()))?;
        let component = component(&meshes, &self.fields[field].name).map_err(wrong)?;
        if component.shape != self.fields[field].shape {
            let (now, first) = (component.shape.size, self.fields[field].shape.size);
            return Err(wrong(format!(
                "its size is {now:?}, that of iteration {} {first:?}: open it alone",
                self.iterations[0].number
            )));
        }
        let array = Arc::new(Array::of(&opened, &component, &moment.path)?);
        known().put((field, step), Arc::clone(&array));
        Ok(array)
    }
}

impl Array {
    /// `path` is that of the group of meshes.
    fn of(opened: &Opened, component: &Component, path: &str) -> Result<Self, SourceError> {
        let factor = component.factor;
        let dataset = match &component.values {
            Values::Array(dataset) => dataset.clone(),
            Values::Constant(value, scalar) => return Ok(Self::Constant(single(value * factor), *scalar)),
        };
        let Component { name, shape, .. } = component;
        let found =
            Found { name: name.clone(), path: format!("{path}/{name}"), dataset, shape: shape.clone(), channel: 0 };
        let stored = Stored::times(&opened.home, &found, factor)?;
        Ok(Self::Stored(Box::new(stored), Arc::clone(&opened.home)))
    }

    fn info(&self, component: &Component) -> FieldInfo {
        let scalar_type = match self {
            Self::Stored(stored, _) => stored.encoding().scalar,
            Self::Constant(_, scalar) => *scalar,
        };
        FieldInfo { name: component.name.clone(), unit: component.unit.clone(), scalar_type, declared_range: None }
    }

    fn field(&self, component: &Component) -> Field {
        let (grain, is_as_stored) = match self {
            Self::Stored(stored, _) => (stored.grain(), stored.encoding().is_plain()),
            Self::Constant(..) => ([1; 3], false),
        };
        Field { name: component.name.clone(), shape: component.shape.clone(), grain, is_as_stored }
    }

    fn layout_name(&self) -> &'static str {
        match self {
            Self::Stored(stored, _) => stored.layout_name(),
            Self::Constant(..) => "constant",
        }
    }
}

impl Source for OpenPmd {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.steps
    }

    fn grain(&self, field: usize, _level: usize) -> [usize; 3] {
        self.fields[field].grain
    }

    fn is_as_stored(&self, field: usize, _level: usize) -> bool {
        self.fields[field].is_as_stored
    }

    fn outside(&self) -> Vec<PathBuf> {
        self.outside.clone()
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        match &*self.array(request.field, request.step)? {
            Array::Constant(value, _) => out.fill(*value),
            Array::Stored(stored, home) => {
                let bounds = self.reversed.in_source(&request.bounds, self.info.grid().size);
                home.witness(stored).during(|| stored.read(0, 0, &bounds, out))?;
                turn(self.reversed, bounds.size(), out);
            }
        }
        Ok(())
    }
}
