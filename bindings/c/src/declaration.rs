//! What a rank publishes, as a C program declares it.
#![expect(unsafe_code, reason = "functions for C")]
#![expect(clippy::missing_safety_doc, reason = "the header says what pointers must point at")]

use std::ffi::c_char;

use visapult_publish::words::{check_calendar, check_name};
use visapult_publish::{
    AXES, AxisCoordinates, Box3, Centering, Delivery, FieldInfo, Grid, PublisherOptions, ScalarType, ValueRange,
    grow_downwards,
};

use crate::failure::{Failure, borrow, code, number, object, optional, several, text, three};

/// Types of values.
pub const VISAPULT_FLOAT32: i32 = 0;
/// Rounded to float32.
pub const VISAPULT_FLOAT64: i32 = 1;
/// Integers; those beyond 2^24 are rounded to float32.
pub const VISAPULT_INT8: i32 = 2;
/// See VISAPULT_INT8.
pub const VISAPULT_UINT8: i32 = 3;
/// See VISAPULT_INT8.
pub const VISAPULT_INT16: i32 = 4;
/// See VISAPULT_INT8.
pub const VISAPULT_UINT16: i32 = 5;
/// See VISAPULT_INT8.
pub const VISAPULT_INT32: i32 = 6;
/// See VISAPULT_INT8.
pub const VISAPULT_UINT32: i32 = 7;
/// See VISAPULT_INT8.
pub const VISAPULT_INT64: i32 = 8;
/// See VISAPULT_INT8.
pub const VISAPULT_UINT64: i32 = 9;

/// Back ends get the newest step: what cannot be sent in time is skipped, and the program never waits.
pub const VISAPULT_NEWEST: i32 = 0;
/// Back ends that are attached get every step: visapult_end waits until it is under way to all of them (a few steps may be, so memory is bounded),
/// visapult_close until all has arrived. Where none is attached nothing waits, and one that dies is not waited for.
pub const VISAPULT_EVERY: i32 = 1;
/// As VISAPULT_EVERY, and the first visapult_end waits for a back end.
pub const VISAPULT_EVERY_FROM_FIRST: i32 = 2;

/// Samples are values at points.
pub const VISAPULT_POINT: i32 = 0;
/// Samples are values of cells.
pub const VISAPULT_CELL: i32 = 1;

/// The axis along which the values of an array follow each other.
pub const VISAPULT_X: i32 = 0;
/// The axis of rows.
pub const VISAPULT_Y: i32 = 1;
/// The axis of planes.
pub const VISAPULT_Z: i32 = 2;

/// What a rank publishes.
#[derive(Clone, Debug)]
pub struct Declaration {
    options: PublisherOptions,
    /// Where samples lie along x, y, z, where the grid does not say it.
    coordinates: [Option<AxisCoordinates>; 3],
    /// The first of its calls that was refused, for a program that does not look.
    refused: Option<String>,
}

impl Declaration {
    /// What is to be published.
    ///
    /// # Errors
    /// If a part of it was refused.
    pub(crate) fn complete(&self) -> Result<PublisherOptions, Failure> {
        if let Some(refused) = &self.refused {
            return Err(Failure::WrongCall(format!("a part of the declaration was refused: {refused}; begin another")));
        }
        Ok(self.options.clone().with_coordinates(&self.coordinates)?)
    }
}

/// By their numbers in the header, with what follows `VISAPULT_` in their names there.
const TYPES: [(ScalarType, &str); 10] = [
    (ScalarType::F32, "FLOAT32"),
    (ScalarType::F64, "FLOAT64"),
    (ScalarType::I8, "INT8"),
    (ScalarType::U8, "UINT8"),
    (ScalarType::I16, "INT16"),
    (ScalarType::U16, "UINT16"),
    (ScalarType::I32, "INT32"),
    (ScalarType::U32, "UINT32"),
    (ScalarType::I64, "INT64"),
    (ScalarType::U64, "UINT64"),
];

/// What the header calls a type.
pub(crate) fn type_name(scalar: ScalarType) -> String {
    let known = TYPES.iter().find(|(known, _)| *known == scalar);
    known.map_or_else(|| scalar.to_string(), |(_, name)| format!("VISAPULT_{name}"))
}

pub(crate) fn scalar_type(number: i32) -> Result<ScalarType, Failure> {
    let known = usize::try_from(number).ok().and_then(|it| TYPES.get(it));
    known
        .map(|(scalar, _)| *scalar)
        .ok_or_else(|| Failure::WrongCall(format!("{number} is no type: take one of VISAPULT_FLOAT32 ...")))
}

/// Begins a declaration: one rank that owns the whole grid, spacing 1, origin 0, no field.
///
/// `name` is what viewers see. `size` has 3 values: samples of the whole grid along x, y, z. Where a call that declares a part is refused, the
/// declaration is not published. Free it with visapult_declare_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare(name: *const c_char, size: *const i64) -> *mut Declaration {
    object("visapult_declare", || {
        // SAFETY: as the header asks for.
        let (name, size) = unsafe { (text(name, "name")?, three(size, "size")?) };
        check_name("the run", &name).map_err(wrong)?;
        let grid = Grid::of_size(lengths(size, "size")?);
        grid.validate().map_err(wrong)?;
        let options = PublisherOptions::of_simulation(name, grid, Vec::new());
        Ok(Declaration { options, coordinates: Default::default(), refused: None })
    })
}

/// This process is rank `rank` (from 0) of `ranks`. The boxes of all ranks tile the grid: ranks without samples do not publish, and are not counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_rank(declaration: *mut Declaration, rank: i32, ranks: i32) -> i32 {
    change("visapult_declare_rank", declaration, |options| {
        let wrong =
            || Failure::WrongCall(format!("rank {rank} of {ranks}: ranks count from 0 to one below their number"));
        let (own, all) = (u32::try_from(rank).map_err(|_| wrong())?, u32::try_from(ranks).map_err(|_| wrong())?);
        if own >= all {
            return Err(wrong());
        }
        (options.rank, options.ranks) = (own, all);
        Ok(())
    })
}

/// The box that this rank owns: its first sample in the whole grid, and its samples along x, y, z (3 values each), without ghost layers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_box(
    declaration: *mut Declaration,
    offset: *const i64,
    size: *const i64,
) -> i32 {
    change("visapult_declare_box", declaration, |options| {
        // SAFETY: as the header asks for.
        let (offset, size) = unsafe { (three(offset, "offset")?, three(size, "size")?) };
        let (lo, size) = (lengths(offset, "offset")?, lengths(size, "size")?);
        let block = Box3::new(lo, [0, 1, 2].map(|axis| lo[axis].saturating_add(size[axis])));
        if block.is_empty() || !options.grid.bounds().contains(&block) {
            let grid = options.grid.size;
            return Err(Failure::WrongCall(format!(
                "box {block} is empty or leaves the grid of {grid:?} samples: give its offset, counted from 0, and its size; a rank without samples does not publish, \
                 and is not counted among the ranks"
            )));
        }
        options.block = block;
        Ok(())
    })
}

/// Distance between samples along x, y, z and position of the first sample (3 values each; NULL: 1 and 0), in `unit` ("m"; NULL: none).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_grid(
    declaration: *mut Declaration,
    spacing: *const f64,
    origin: *const f64,
    unit: *const c_char,
) -> i32 {
    change("visapult_declare_grid", declaration, |options| {
        let mut grid = options.grid.clone();
        // SAFETY: as the header asks for.
        unsafe {
            grid.spacing = if spacing.is_null() { [1.0; 3] } else { three(spacing, "spacing")? };
            grid.origin = if origin.is_null() { [0.0; 3] } else { three(origin, "origin")? };
            grid.unit = optional(unit, "unit")?.unwrap_or_default();
        }
        grid.validate().map_err(wrong)?;
        options.grid = grid;
        Ok(())
    })
}

/// What the samples of the grid are: VISAPULT_POINT, which is what they are if nothing is said, or VISAPULT_CELL, the values of cells. Of these
/// the spacing is the size of a cell, and the origin the centre of the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_centering(declaration: *mut Declaration, centering: i32) -> i32 {
    change("visapult_declare_centering", declaration, |options| {
        options.grid.centering = match centering {
            VISAPULT_POINT => Centering::Point,
            VISAPULT_CELL => Centering::Cell,
            other => return Err(wrong(format!("{other} is neither VISAPULT_POINT nor VISAPULT_CELL"))),
        };
        Ok(())
    })
}

/// Where the samples of the whole grid lie along `axis` (VISAPULT_X, VISAPULT_Y or VISAPULT_Z), in place of its spacing and origin there: `count`
/// values, one for each sample, growing or falling, in `unit` (NULL: that of the grid). Those of cells are their centres.
///
/// `name` stands at the axis (NULL: "x", "y" or "z"). `positive` is "up" or "down" where coordinates along z tell which way is up, and they grow that
/// way (NULL: not told, but pressures grow downwards). The values are copied. All ranks declare the same ones. An axis along which they fall is
/// turned for those who look; boxes, sizes and strides remain those of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_coordinates(
    declaration: *mut Declaration,
    axis: i32,
    values: *const f64,
    count: i64,
    unit: *const c_char,
    name: *const c_char,
    positive: *const c_char,
) -> i32 {
    change_any("visapult_declare_coordinates", declaration, |declaration| {
        let known = usize::try_from(axis).ok().filter(|axis| *axis < AXES.len());
        let axis = known.ok_or_else(|| wrong(format!("{axis} is none of VISAPULT_X, VISAPULT_Y and VISAPULT_Z")))?;
        let samples = declaration.options.grid.size[axis];
        if usize::try_from(count) != Ok(samples) {
            let along = AXES[axis];
            return Err(wrong(format!(
                "{count} coordinates along {along}, of {samples} samples of the whole grid: give one for each"
            )));
        }
        // SAFETY: as the header asks for.
        let (unit, name, positive) =
            unsafe { (optional(unit, "unit")?, optional(name, "name")?, optional(positive, "positive")?) };
        let coordinates = AxisCoordinates {
            name: name.unwrap_or_else(|| AXES[axis].to_owned()),
            unit,
            // SAFETY: as the header asks for.
            values: unsafe { several(values, samples, "values")? },
            are_downwards: grow_downwards(&positive.unwrap_or_default()).map_err(wrong)?,
        };
        coordinates.check(axis, samples).map_err(wrong)?;
        declaration.coordinates[axis] = Some(coordinates);
        Ok(())
    })
}

/// Unit of the times of steps ("s"). Times that count from a date ("hours since 2001-01-01") are shown as dates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_time_unit(declaration: *mut Declaration, unit: *const c_char) -> i32 {
    change("visapult_declare_time_unit", declaration, |options| {
        // SAFETY: as the header asks for.
        options.time_unit = unsafe { text(unit, "unit")? };
        Ok(())
    })
}

/// Calendar in which times count that are "since" a date, as netCDF calls it ("noleap", "360_day"); "standard" if nothing is said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_calendar(declaration: *mut Declaration, calendar: *const c_char) -> i32 {
    change("visapult_declare_calendar", declaration, |options| {
        // SAFETY: as the header asks for.
        let calendar = unsafe { text(calendar, "calendar")? };
        check_calendar(&calendar).map_err(wrong)?;
        options.calendar = calendar;
        Ok(())
    })
}

/// Which steps back ends get: VISAPULT_NEWEST, which is what they get if nothing is said, VISAPULT_EVERY or VISAPULT_EVERY_FROM_FIRST. All ranks
/// say the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_delivery(declaration: *mut Declaration, delivery: i32) -> i32 {
    change("visapult_declare_delivery", declaration, |options| {
        options.delivery = match delivery {
            VISAPULT_NEWEST => Delivery::Newest,
            VISAPULT_EVERY => Delivery::Every,
            VISAPULT_EVERY_FROM_FIRST => Delivery::EveryFromFirst,
            other => return Err(wrong(format!("{other} is none of VISAPULT_NEWEST, VISAPULT_EVERY ..."))),
        };
        Ok(())
    })
}

/// Declares a field with its unit (NULL: none) and the type of the program's values. Returns its number, from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_field(
    declaration: *mut Declaration,
    name: *const c_char,
    unit: *const c_char,
    scalar: i32,
) -> i32 {
    let mut field = 0;
    let declared = change("visapult_declare_field", declaration, |options| {
        // SAFETY: as the header asks for.
        let (name, unit) = unsafe { (text(name, "name")?, optional(unit, "unit")?.unwrap_or_default()) };
        check_name("a field", &name).map_err(wrong)?;
        if options.fields.iter().any(|other| other.name == name) {
            return Err(Failure::WrongCall(format!("there is a field {name} already: give each a name of its own")));
        }
        field = options.fields.len();
        options.fields.push(FieldInfo { name, unit, scalar_type: scalar_type(scalar)?, declared_range: None });
        Ok(())
    });
    if declared < 0 { declared } else { number("visapult_declare_field", || i32::try_from(field).map_err(wrong)) }
}

/// Range of a field's values over all steps, so that colours do not jump: viewers show what lies beyond like its ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_range(
    declaration: *mut Declaration,
    field: i32,
    least: f32,
    greatest: f32,
) -> i32 {
    change("visapult_declare_range", declaration, |options| {
        let fields = options.fields.len();
        let declared = usize::try_from(field).ok().and_then(|field| options.fields.get_mut(field));
        let declared =
            declared.ok_or_else(|| Failure::WrongCall(format!("there is no field {field}: {fields} are declared")))?;
        if !(least.is_finite() && greatest.is_finite() && least <= greatest) {
            return Err(Failure::WrongCall(format!(
                "{least} to {greatest} is no range: both must be finite, in order"
            )));
        }
        declared.declared_range = Some(ValueRange { lo: least, hi: greatest });
        Ok(())
    })
}

/// Frees a declaration; a publisher made of it does not need it any more. NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_free(declaration: *mut Declaration) {
    if !declaration.is_null() {
        // SAFETY: made by `visapult_declare`, and given back once.
        drop(unsafe { Box::from_raw(declaration) });
    }
}

pub(crate) fn change(
    function: &str,
    declaration: *mut Declaration,
    change: impl FnOnce(&mut PublisherOptions) -> Result<(), Failure>,
) -> i32 {
    change_any(function, declaration, |declaration| change(&mut declaration.options))
}

fn change_any(
    function: &str,
    declaration: *mut Declaration,
    change: impl FnOnce(&mut Declaration) -> Result<(), Failure>,
) -> i32 {
    code(function, || {
        // SAFETY: null, or made by `visapult_declare` and used by one thread at a time, as the header asks for.
        unsafe { borrow(declaration, "declaration")? };
        // SAFETY: as above, and found not to be null.
        let declaration = unsafe { &mut *declaration };
        let changed = change(declaration);
        if let (Err(why), None) = (&changed, &declaration.refused) {
            declaration.refused = Some(format!("{function}: {why}"));
        }
        changed
    })
}

pub(crate) fn lengths(numbers: [i64; 3], what: &str) -> Result<[usize; 3], Failure> {
    let mut lengths = [0; 3];
    for (length, number) in lengths.iter_mut().zip(numbers) {
        *length = usize::try_from(number).map_err(|_| Failure::WrongCall(format!("{what} {numbers:?} is negative")))?;
    }
    Ok(lengths)
}

pub(crate) fn wrong(cause: impl std::fmt::Display) -> Failure {
    Failure::WrongCall(cause.to_string())
}
