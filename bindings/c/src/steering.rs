//! Parameters that viewers change, in the hands of a C program.
#![expect(unsafe_code, reason = "functions for C")]
#![expect(clippy::missing_safety_doc, reason = "the header says what pointers must point at")]

use std::ffi::c_char;

use visapult_publish::{Parameter, ParameterKind};

use crate::declaration::{Declaration, change, wrong};
use crate::failure::{Failure, VISAPULT_OK, borrow, number, optional, text};
use crate::publisher::Handle;

/// A parameter that takes any number of its range.
pub const VISAPULT_NUMBER: i32 = 0;
/// A parameter that takes whole numbers of its range.
pub const VISAPULT_INTEGER: i32 = 1;
/// The simulation shall end in order: what visapult_steer tells.
pub const VISAPULT_STOP: i32 = 1;

/// Declares a parameter that viewers may change, with its unit (NULL: none), its kind (VISAPULT_NUMBER or VISAPULT_INTEGER), its range and its
/// value at the start. Returns its number, from 0. All ranks declare the same ones, and call visapult_steer before every step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_declare_parameter(
    declaration: *mut Declaration,
    name: *const c_char,
    unit: *const c_char,
    kind: i32,
    least: f64,
    most: f64,
    value: f64,
) -> i32 {
    let mut place = 0;
    let declared = change("visapult_declare_parameter", declaration, |options| {
        // SAFETY: as the header asks for.
        let (name, unit) = unsafe { (text(name, "name")?, optional(unit, "unit")?.unwrap_or_default()) };
        if options.parameters.iter().any(|other| other.name == name) {
            return Err(wrong(format!("there is a parameter {name} already: give each a name of its own")));
        }
        let kind = match kind {
            VISAPULT_NUMBER => ParameterKind::Number,
            VISAPULT_INTEGER => ParameterKind::Integer,
            other => return Err(wrong(format!("{other} is neither VISAPULT_NUMBER nor VISAPULT_INTEGER"))),
        };
        let parameter = Parameter { name, unit, kind, least, most, value };
        parameter.check().map_err(wrong)?;
        place = options.parameters.len();
        options.parameters.push(parameter);
        Ok(())
    });
    if declared < 0 { declared } else { number("visapult_declare_parameter", || i32::try_from(place).map_err(wrong)) }
}

/// Takes over what viewers have asked for since the last step. A program that declares parameters calls it before every step, on every rank:
/// what is asked for takes effect before the same step on all. Waits while viewers have paused the simulation,
/// until it is resumed or given a signal that asks it to end or warns it (SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU): then all ranks go on.
///
/// A rank without samples does not publish, and learns nothing of this: one that does tells it what this call and visapult_parameter return (MPI_Bcast),
/// before every step, or it waits in vain for the others when they end.
///
/// Returns VISAPULT_OK if the simulation goes on, VISAPULT_STOP if it shall end. visapult_parameter tells the values from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_steer(publisher: *mut Handle) -> i32 {
    number("visapult_steer", || {
        // SAFETY: as the header asks for.
        let publisher = unsafe { borrow(publisher, "publisher")? };
        let Some(mut open) = publisher.open()? else { return Ok(VISAPULT_OK) };
        let steering = open.publisher.steer();
        Ok(if steering.stop { VISAPULT_STOP } else { VISAPULT_OK })
    })
}

/// The value of parameter `parameter`: the one that was declared, or what visapult_steer has taken over. NaN if there is no such parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_parameter(publisher: *const Handle, parameter: i32) -> f64 {
    let mut value = f64::NAN;
    crate::failure::code("visapult_parameter", || {
        // SAFETY: as the header asks for.
        let publisher = unsafe { borrow(publisher, "publisher")? };
        let declared = &publisher.options.parameters;
        let place = usize::try_from(parameter).ok().filter(|place| *place < declared.len());
        let place = place
            .ok_or_else(|| wrong(format!("there is no parameter {parameter}: {} are declared", declared.len())))?;
        let now = publisher.open()?.and_then(|open| open.publisher.parameter(place));
        value = now.unwrap_or(declared[place].value);
        Ok::<_, Failure>(())
    });
    value
}
