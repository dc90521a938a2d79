//! What publishers and back ends tell one another: notes in JSON, and the names of pieces.
//!
//! Everything here comes from another computer: it is held against bounds before it is used.

use serde::{Deserialize, Serialize};
use visapult_ripp_net::{MAX_MESSAGE_BYTES, Mode};
use visapult_volume::{Box3, Centering, FieldInfo, Grid, GridError, ScalarType, StepIndex, ValueRange};

use crate::coordinates::AXES;
use crate::steering::{Commit, MOST_PARAMETERS, Parameter, Steer};
use crate::words::MOST_NAME;

/// Most ranks of one simulation.
const MOST_RANKS: u32 = 4096;
/// Most fields of one flow.
const MOST_FIELDS: usize = 256;
/// Most PEs that a back end may ask pieces for.
pub(crate) const MOST_PES: usize = 4096;
/// Most other processes that a back end may have.
pub(crate) const MOST_DOORS: usize = 1024;
/// Most times that a declaration tells: a note has 64 KiB.
pub(crate) const MOST_TIMES: usize = 2000;
/// A note is a text within a message: what stands around it there takes no more.
const AROUND: usize = 64;
/// Most numbers that tell where samples lie along an axis.
pub const MOST_ALONG: usize = 257;

/// Largest number of a step: pages count in doubles.
const MOST_STEP: StepIndex = (1 << 53) - 1;

/// What a publisher says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromPublisher {
    /// What it publishes.
    Declare(Box<Declaration>),
    /// Its newest step.
    Have {
        /// The step.
        newest: StepIndex,
    },
    /// A step that was wanted and will not come.
    Gone {
        /// The step.
        step: StepIndex,
        /// Its newest.
        newest: StepIndex,
        /// Why, unless it is past.
        why: Option<String>,
    },
    /// It waits to be told before which step something takes effect, or will not have it.
    Ready {
        /// Which.
        sequence: u64,
        /// A step that it has not begun, and does not begin before that.
        at: StepIndex,
        /// Why not.
        why: Option<String>,
    },
    /// What it was asked to do has taken effect before a step, or not at all.
    Steered {
        /// Which.
        sequence: u64,
        /// The step.
        at: StepIndex,
        /// Why not.
        why: Option<String>,
    },
    /// It asks what time it is, at `asked` by its own clock, in nanoseconds.
    Clock {
        /// Given back with the answer.
        asked: i64,
    },
    /// A parameter has a new value that this back end has not asked for.
    Changed {
        /// Its name.
        name: String,
        /// Its value from here on.
        value: f64,
    },
    /// It is paused, and has been given a signal that asks it to end or warns it: it would go on.
    Signal,
    /// Of a later version.
    #[serde(other)]
    Unknown,
}

/// What a back end says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromBackEnd {
    /// How it is split, and how pieces shall travel.
    Subscribe {
        /// PEs at most; as many as fit the grid are taken.
        pes: usize,
        /// What the flow promises.
        mode: Mode,
        /// The first of the PEs that this session is for, and the first after them; none means all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<[usize; 2]>,
        /// Fields of the newest step that are to be offered unasked: it is probably the first that will be wanted. Publishers that do not know
        /// this wait until it is.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        newest: Vec<usize>,
    },
    /// Where a publisher that has dialled is to dial, too: the other processes of the back end, each with pieces of its own. In place of what
    /// was said before.
    Also {
        /// One URL for each.
        urls: Vec<String>,
    },
    /// It would like a step.
    Want(Want),
    /// A viewer asks something of the simulation.
    Steer(Steer),
    /// All ranks are ready for it, or one is not.
    Commit(Commit),
    /// What time it is, in nanoseconds of the back end's clock.
    Clock {
        /// What the question said.
        asked: i64,
        /// When it was heard.
        heard: i64,
        /// When this was said.
        answered: i64,
    },
    /// Of a later version.
    #[serde(other)]
    Unknown,
}

/// A step that a back end would like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// The step.
    pub step: StepIndex,
    /// A newer one will do.
    pub or_newer: bool,
    /// Fields of it.
    pub fields: Vec<usize>,
}

/// What a rank publishes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    /// Name to show.
    pub name: String,
    /// Where it comes from, in a few words.
    pub format: String,
    /// This rank.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// The whole grid.
    pub grid: DeclaredGrid,
    /// Fields on it.
    pub fields: Vec<DeclaredField>,
    /// The box that this rank owns, `[lo, hi]`.
    pub block: [[usize; 3]; 2],
    /// More steps come by themselves.
    pub live: bool,
    /// First and last step there are; of a simulation the newest, twice.
    pub steps: Option<[StepIndex; 2]>,
    /// Times of steps that are known beforehand.
    pub times: Vec<f64>,
    /// Unit of times.
    pub time_unit: String,
    /// Calendar in which that counts, as netCDF calls it; empty where none is told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub calendar: String,
    /// Where samples lie along x, y, z, unless the grid says as much.
    #[serde(default, skip_serializing_if = "is_as_grid")]
    pub along: [Option<AlongAxis>; 3],
    /// Every step is meant to be taken: the publisher waits.
    #[serde(default)]
    pub every: bool,
    /// What viewers may change.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
}

/// A grid, as it is declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclaredGrid {
    size: [usize; 3],
    spacing: [f64; 3],
    origin: [f64; 3],
    unit: String,
    centering: String,
}

/// Where samples lie along an axis, where a grid does not say as much: unevenly, in a unit of its own, or under a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlongAxis {
    /// What the source calls its coordinates.
    pub name: String,
    /// Their unit.
    pub unit: String,
    /// Coordinates at equal distances from the first sample to the last, growing or falling: of all samples, or of [`MOST_ALONG`] places.
    pub values: Vec<f64>,
    /// They tell which way is up, as pressures and depths do.
    #[serde(default)]
    pub is_vertical: bool,
}

fn is_as_grid(along: &[Option<AlongAxis>; 3]) -> bool {
    along.iter().all(Option::is_none)
}

/// A field, as it is declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclaredField {
    name: String,
    unit: String,
    scalar_type: String,
    range: Option<[f32; 2]>,
}

/// The name of a piece.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PieceName {
    /// The field.
    pub field: usize,
    /// The step.
    pub step: StepIndex,
    /// The PE that it is for.
    pub pe: usize,
    /// Time of the step.
    pub time: Option<f64>,
}

impl From<&Grid> for DeclaredGrid {
    fn from(grid: &Grid) -> Self {
        Self {
            size: grid.size,
            spacing: grid.spacing,
            origin: grid.origin,
            unit: grid.unit.clone(),
            centering: grid.centering.name().to_owned(),
        }
    }
}

impl DeclaredGrid {
    fn to_grid(&self) -> Result<Grid, GridError> {
        let grid = Grid {
            size: self.size,
            spacing: self.spacing,
            origin: self.origin,
            unit: self.unit.chars().take(MOST_NAME).collect(),
            centering: Centering::named(&self.centering).unwrap_or(Centering::Point),
        };
        grid.validate()?;
        Ok(grid)
    }
}

impl AlongAxis {
    /// Whether it tells one place for each sample.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check(&self) -> Result<(), String> {
        let Self { name, unit, values, .. } = self;
        if name.len() > MOST_NAME || unit.len() > MOST_NAME || values.is_empty() || values.len() > MOST_ALONG {
            return Err(format!("coordinates along an axis are 1 to {MOST_ALONG} numbers, with a short name and unit"));
        }
        let way = values[values.len() - 1] - values[0];
        let is_on_the_way = |pair: &[f64]| (pair[1] - pair[0]) * way > 0.0;
        if !way.is_finite() || !values.windows(2).all(is_on_the_way) {
            return Err(format!("coordinates {name} neither grow nor fall"));
        }
        Ok(())
    }
}

impl From<&FieldInfo> for DeclaredField {
    fn from(field: &FieldInfo) -> Self {
        Self {
            name: field.name.clone(),
            unit: field.unit.clone(),
            scalar_type: field.scalar_type.to_string(),
            range: field.declared_range.map(|range| [range.lo, range.hi]),
        }
    }
}

impl DeclaredField {
    fn to_info(&self) -> Result<FieldInfo, String> {
        if self.name.len() > MOST_NAME || self.unit.len() > MOST_NAME {
            return Err(format!("a field's name or unit is longer than {MOST_NAME} bytes"));
        }
        let range = self.range.map(|[lo, hi]| ValueRange { lo, hi });
        if range.is_some_and(|range| !(range.lo <= range.hi && range.lo.is_finite() && range.hi.is_finite())) {
            return Err(format!("the range of field {} is empty or not finite", self.name));
        }
        Ok(FieldInfo {
            name: self.name.clone(),
            unit: self.unit.clone(),
            scalar_type: ScalarType::of_name(&self.scalar_type)
                .ok_or_else(|| format!("field {} is of unknown type {}", self.name, self.scalar_type))?,
            declared_range: range,
        })
    }
}

impl Declaration {
    /// The grid, the fields, and the box that the rank owns, once they are known to make sense.
    ///
    /// # Errors
    /// What does not, in words.
    pub fn check(&self) -> Result<(Grid, Vec<FieldInfo>, Box3), String> {
        let grid = self.grid.to_grid().map_err(|cause| cause.to_string())?;
        let block = Box3::new(self.block[0], self.block[1]);
        if self.ranks == 0 || self.ranks > MOST_RANKS || self.rank >= self.ranks {
            return Err(format!("rank {} of {} (at most {MOST_RANKS})", self.rank, self.ranks));
        }
        if self.fields.is_empty() || self.fields.len() > MOST_FIELDS {
            return Err(format!("{} fields: 1 to {MOST_FIELDS} are possible", self.fields.len()));
        }
        if block.is_empty() || !grid.bounds().contains(&block) {
            return Err(format!("block {block} of rank {} does not lie inside the grid {}", self.rank, grid.bounds()));
        }
        if self.ranks > 1 && block == grid.bounds() {
            return Err(format!(
                "one of {} ranks owns the whole grid: declare which part is its own (visapult_declare_box; block in Python)",
                self.ranks
            ));
        }
        let longest = [&self.name, &self.format, &self.time_unit, &self.calendar].into_iter().map(String::len).max();
        if longest > Some(MOST_NAME) || self.times.len() > MOST_TIMES {
            return Err("its name, its format, its unit of time or its list of times is too long".to_owned());
        }
        if self.steps.is_some_and(|[first, last]| first > last) {
            return Err("its steps end before they begin".to_owned());
        }
        self.steps.map_or(Ok(()), |[_, last]| check_step(last))?;
        self.along.iter().flatten().try_for_each(AlongAxis::check)?;
        if self.parameters.len() > MOST_PARAMETERS {
            return Err(format!("{} parameters: {MOST_PARAMETERS} are possible", self.parameters.len()));
        }
        self.parameters.iter().try_for_each(Parameter::check)?;
        for (number, parameter) in self.parameters.iter().enumerate() {
            if self.parameters[..number].iter().any(|other| other.name == parameter.name) {
                return Err(format!("there are two parameters {}: give each a name of its own", parameter.name));
            }
        }
        let fields = self.fields.iter().map(DeclaredField::to_info).collect::<Result<_, _>>()?;
        Ok((grid, fields, block))
    }

    /// Whether back ends can be told of it, as long as it may get while the program runs.
    ///
    /// # Errors
    /// How much shorter it is to be, in words.
    pub(crate) fn check_length(&self) -> Result<(), String> {
        let excess = self.longest().saturating_sub(MAX_MESSAGE_BYTES);
        if excess == 0 {
            return Ok(());
        }
        let of_fields = self.fields.iter().map(|field| field.name.len() + field.unit.len()).sum::<usize>();
        let of_parameters = self.parameters.iter().map(|it| it.name.len() + it.unit.len()).sum::<usize>();
        let words = of_fields + of_parameters;
        let most = words.saturating_sub(excess);
        let also = if of_parameters > 0 { format!(" and {} parameters", self.parameters.len()) } else { String::new() };
        let of_axes = self.longest() - Self { along: Default::default(), ..self.clone() }.longest();
        let (beside, or) = if of_axes > 0 {
            (
                format!(" beside the coordinates along {}, which take {of_axes}", self.axes_told().join(" and ")),
                ", or leave coordinates out",
            )
        } else {
            (String::new(), "")
        };
        Err(format!(
            "names and units of {} fields{also} take {words} bytes, and so many may take {most} in all{beside}: shorten them, or declare fewer{or}",
            self.fields.len()
        ))
    }

    /// The axes along which it says where samples lie.
    fn axes_told(&self) -> Vec<&'static str> {
        AXES.iter().zip(&self.along).filter_map(|(axis, told)| told.as_ref().map(|_| *axis)).collect()
    }

    /// Bytes of the message that tells of it, with the longest numbers in place of those that change.
    fn longest(&self) -> usize {
        let mut longest = Self { steps: Some([MOST_STEP; 2]), ..self.clone() };
        longest.parameters.iter_mut().for_each(|parameter| parameter.value = f64::MIN);
        note(&note(&FromPublisher::Declare(Box::new(longest)))).len() + AROUND
    }

    /// Leaves its times out where there are too many to tell, for they come with the steps, and then where samples lie.
    pub(crate) fn cut_to_fit(mut self) -> Self {
        if self.times.len() > MOST_TIMES || self.longest() > MAX_MESSAGE_BYTES {
            self.times.clear();
        }
        // A program is told that it declares too much.
        if !self.live && self.longest() > MAX_MESSAGE_BYTES {
            self.along = Default::default();
        }
        self
    }
}

/// Whether a step can have this number.
///
/// # Errors
/// Why not, in words.
pub fn check_step(step: StepIndex) -> Result<(), String> {
    if step <= MOST_STEP {
        Ok(())
    } else {
        Err(format!("step {step} is numbered beyond {MOST_STEP}: no page can count so far"))
    }
}

/// A note as text.
pub fn note(message: &impl Serialize) -> String {
    #[expect(clippy::expect_used, reason = "plain data")]
    serde_json::to_string(message).expect("plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declaration() -> Declaration {
        let field = FieldInfo {
            name: "p".to_owned(),
            unit: "Pa".to_owned(),
            scalar_type: ScalarType::F64,
            declared_range: Some(ValueRange { lo: -1.0, hi: 1.0 }),
        };
        Declaration {
            name: "wave".to_owned(),
            format: "simulation".to_owned(),
            rank: 1,
            ranks: 2,
            grid: (&Grid::of_size([8, 4, 2])).into(),
            fields: vec![(&field).into()],
            block: [[4, 0, 0], [8, 4, 2]],
            live: true,
            steps: None,
            times: Vec::new(),
            time_unit: "s".to_owned(),
            calendar: String::new(),
            along: Default::default(),
            every: false,
            parameters: Vec::new(),
        }
    }

    fn levels(values: Vec<f64>) -> AlongAxis {
        AlongAxis { name: "plev".to_owned(), unit: "hPa".to_owned(), values, is_vertical: true }
    }

    #[test]
    fn a_declaration_survives_the_wire() {
        let along = [None, None, Some(levels(vec![1000.0, 850.0]))];
        let sent =
            FromPublisher::Declare(Box::new(Declaration { along, calendar: "noleap".to_owned(), ..declaration() }));
        let read: FromPublisher = serde_json::from_str(&note(&sent)).unwrap();
        assert_eq!(read, sent);
        let (grid, fields, block) = declaration().check().unwrap();
        assert_eq!((grid.size, block), ([8, 4, 2], Box3::new([4, 0, 0], [8, 4, 2])));
        assert_eq!(fields[0].scalar_type, ScalarType::F64);
    }

    #[test]
    fn what_is_declared_is_written_as_other_builds_read_it() {
        let declared = FromPublisher::Declare(Box::new(declaration()));
        let written = concat!(
            r#"{"type":"declare","name":"wave","format":"simulation","rank":1,"ranks":2,"#,
            r#""grid":{"size":[8,4,2],"spacing":[1.0,1.0,1.0],"origin":[0.0,0.0,0.0],"unit":"","centering":"point"},"#,
            r#""fields":[{"name":"p","unit":"Pa","scalar_type":"f64","range":[-1.0,1.0]}],"block":[[4,0,0],[8,4,2]],"#,
            r#""live":true,"steps":null,"times":[],"time_unit":"s","every":false,"parameters":[]}"#,
        );
        assert_eq!(note(&declared), written);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_reason() {
        type Spoil = fn(&mut Declaration);
        let wrong: [(&str, Spoil); 11] = [
            ("rank 2 of 2", |it| it.rank = 2),
            ("fields", |it| it.fields.clear()),
            ("does not lie inside", |it| it.block[1][0] = 9),
            ("one of 2 ranks owns the whole grid", |it| it.block[0][0] = 0),
            ("empty", |it| it.grid.size[2] = 0),
            ("range", |it| it.fields[0].range = Some([2.0, 1.0])),
            ("end before", |it| it.steps = Some([3, 2])),
            ("unit of time", |it| it.time_unit = "s".repeat(MOST_NAME + 1)),
            ("numbered beyond", |it| it.steps = Some([0, MOST_STEP + 1])),
            ("neither grow nor fall", |it| it.along[2] = Some(levels(vec![0.0, 2.0, 1.0]))),
            ("are 1 to 257 numbers", |it| it.along[0] = Some(levels(Vec::new()))),
        ];
        for (expected, spoil) in wrong {
            let mut declaration = declaration();
            spoil(&mut declaration);
            let said = declaration.check().unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }

    /// So many fields with names and units of so many bytes.
    fn of_fields(count: usize, bytes: usize) -> Declaration {
        let mut declared = declaration();
        let [name, unit] = ["n", "u"].map(|letter| letter.repeat(bytes));
        let field = DeclaredField { name, unit, ..declared.fields[0].clone() };
        declared.fields = vec![field; count];
        declared
    }

    #[test]
    fn what_no_note_can_tell_is_refused_with_how_long_its_names_and_units_may_be() {
        let said = of_fields(MOST_FIELDS, MOST_NAME).check_length().unwrap_err();
        assert!(said.starts_with("names and units of 256 fields take 102400 bytes, and so many may take "), "{said}");
        let most: usize =
            said.split_whitespace().find_map(|word| word.parse().ok().filter(|n| (1000..100_000).contains(n))).unwrap();
        let shorter = of_fields(MOST_FIELDS, most / 2 / MOST_FIELDS);
        assert_eq!(shorter.check_length(), Ok(()));
        assert!(of_fields(MOST_FIELDS, most / 2 / MOST_FIELDS + 1).check_length().is_err());
        // It fits when the program has done its steps, too.
        let told = FromPublisher::Declare(Box::new(Declaration { steps: Some([MOST_STEP; 2]), ..shorter }));
        assert!(note(&note(&told)).len() + AROUND <= MAX_MESSAGE_BYTES);
    }

    #[test]
    fn times_that_no_note_can_tell_beside_the_fields_are_left_out() {
        let times = vec![std::f64::consts::PI; MOST_TIMES];
        let told = |fields| Declaration { times: times.clone(), ..of_fields(fields, 20) }.cut_to_fit().times.len();
        assert_eq!((told(1), told(MOST_FIELDS)), (MOST_TIMES, 0));
    }

    #[test]
    fn what_later_builds_say_besides_is_passed_over() {
        let declared = FromPublisher::Declare(Box::new(declaration()));
        let later = note(&declared).replace(r#""live":true"#, r#""live":true,"later":[1]"#);
        assert_eq!(serde_json::from_str::<FromPublisher>(&later).unwrap(), declared);
    }

    #[test]
    fn coordinates_that_no_note_can_tell_beside_the_fields_are_refused_of_programs_and_left_out_of_files() {
        let many = levels((0..MOST_ALONG).map(|i| f64::from(i as u32) + 1.0 / 3.0).collect());
        let of = |live| {
            let along = [Some(many.clone()), Some(many.clone()), None];
            Declaration { along, live, ..of_fields(MOST_FIELDS, 72) }.cut_to_fit()
        };
        let said = of(true).check_length().unwrap_err();
        assert!(said.starts_with("names and units of 256 fields take 36864 bytes, and so many may take "), "{said}");
        assert!(
            said.contains(" beside the coordinates along x and y, which take ")
                && said.ends_with("or leave coordinates out"),
            "{said}"
        );
        assert_eq!((of(false).check_length(), of(false).along), (Ok(()), Default::default()));
    }

    #[test]
    fn as_much_can_be_told_as_is_promised() {
        // All digits that a number has.
        let many =
            levels((0..MOST_ALONG).map(|i| -(f64::from(i as u32) + 1.0) * std::f64::consts::PI * 1e-100).collect());
        let of = |axes: usize, bytes: usize| {
            let along = std::array::from_fn(|axis| (axis < axes).then(|| many.clone()));
            Declaration { along, ..of_fields(MOST_FIELDS, bytes / 2) }.check_length()
        };
        assert_eq!([of(0, 150), of(1, 125), of(2, 100), of(3, 75)], [const { Ok(()) }; 4]);
    }

    #[test]
    fn notes_of_later_builds_are_passed_over() {
        let read: FromBackEnd = serde_json::from_str(r#"{"type":"sing","song":1}"#).unwrap();
        assert_eq!(read, FromBackEnd::Unknown);
    }
}
