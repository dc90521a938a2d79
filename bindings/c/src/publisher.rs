//! A publisher in the hands of a C program.
#![expect(unsafe_code, reason = "functions for C")]
#![expect(clippy::missing_safety_doc, reason = "the header says what pointers must point at")]

use std::ffi::{CString, c_char, c_void};
use std::process;
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, thread};

use visapult_publish::{Meeting, Publisher, PublisherOptions, PublisherStatistics, ScalarType, Strided, Undisturbed};

use crate::declaration::{Declaration, lengths, scalar_type, type_name};
use crate::failure::{Failure, borrow, code, object, optional, text, three};

/// Longest that closing waits for threads that end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// A rank that publishes.
pub struct Handle {
    pub(crate) options: PublisherOptions,
    url: Option<CString>,
    /// None where publishing is off.
    publisher: Option<Mutex<Open>>,
    /// The process that opened it: its threads are in no other.
    process: u32,
}

pub(crate) struct Open {
    pub(crate) publisher: Publisher,
    spent: Duration,
    /// The first field of the step that was put in vain, and why.
    refused: Option<(i32, String)>,
    /// It was said that a step was ended without a field.
    has_said: bool,
}

/// What a publisher has done so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Steps ended.
    pub steps: u64,
    /// Steps handed to the transport, counted once for every back end: the last of them may not have arrived.
    pub sent: u64,
    /// Steps that a back end asked for too late to get them, those from before it came left out.
    pub missed: u64,
    /// Back ends attached now.
    pub attached: u64,
    /// Seconds that the program has spent in begin, put and end.
    pub seconds: f64,
}

impl Handle {
    fn meet(declaration: &Declaration, meeting: Option<Meeting>) -> Result<Self, Failure> {
        let options = declaration.complete()?;
        let publisher = match meeting {
            Some(meeting) => Some(Publisher::open(&meeting, options.clone())?),
            // What makes no sense is told though nobody looks.
            None => Publisher::check(options.clone()).map(|()| None)?,
        };
        let url = publisher.as_ref().and_then(Publisher::url).map(|url| CString::new(url.to_string())).transpose();
        let url = url.map_err(|cause| Failure::Broken(cause.to_string()))?;
        let open = |publisher| Mutex::new(Open { publisher, spent: Duration::ZERO, refused: None, has_said: false });
        Ok(Self { options, url, publisher: publisher.map(open), process: process::id() })
    }

    /// None where publishing is off. In a process that was forked nobody may let go of what it locks.
    pub(crate) fn open(&self) -> Result<Option<MutexGuard<'_, Open>>, Failure> {
        if self.is_elsewhere() {
            let said = "the publisher was opened in another process, of which this one is a fork: open one in the process that publishes";
            return Err(Failure::WrongCall(said.to_owned()));
        }
        // What a panic left behind is replaced by the next begin.
        Ok(self.publisher.as_ref().map(|open| open.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Whether this process was forked from the one that opened it.
    fn is_elsewhere(&self) -> bool {
        self.publisher.is_some() && self.process != process::id()
    }

    /// Calls the publisher, unless it is off, and counts the time.
    fn timed(&self, call: impl FnOnce(&mut Open) -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(mut open) = self.open()? else { return Ok(()) };
        let began = Instant::now();
        let outcome = call(&mut open);
        open.spent += began.elapsed();
        outcome
    }

    /// # Safety
    /// As [`Strided::copy_to`].
    unsafe fn put(&self, field: i32, first: *const c_void, strides: Option<[isize; 3]>) -> Result<(), Failure> {
        let (field, scalar) = self.field(field)?;
        if first.is_null() {
            return Err(Failure::WrongCall("values is NULL".to_owned()));
        }
        let mut values = Strided::contiguous(first.cast(), scalar, self.options.block.size());
        values.strides = strides.unwrap_or(values.strides);
        let values = values.turned(self.options.reversed);
        self.timed(|open| {
            let copied = open.publisher.put(field, |out| -> Result<(), Failure> {
                // SAFETY: as the caller promises.
                unsafe { values.copy_to(out) };
                Ok(())
            });
            copied?
        })
    }

    /// # Safety
    /// As [`visapult_put_array`].
    unsafe fn put_array(
        &self,
        field: i32,
        scalar: i32,
        size: *const i64,
        values: *const c_void,
        strides: *const i64,
    ) -> Result<(), Failure> {
        let (declared, own) = (self.field(field)?.1, self.options.block.size());
        let given = scalar_type(scalar)?;
        if given != declared {
            let [declared, given] = [declared, given].map(type_name);
            return Err(Failure::WrongCall(format!(
                "field {field} is declared as {declared}, the array is of {given}: declare what is put"
            )));
        }
        // SAFETY: as the caller promises.
        let size = unsafe { three(size, "size")? };
        if lengths(size, "size")? != own {
            return Err(Failure::WrongCall(format!(
                "the array is of {size:?} values, this rank's box of {own:?}: pass the part without ghost layers, x first"
            )));
        }
        // SAFETY: as the caller promises.
        unsafe { self.put(field, values, bytes(strides)?) }
    }

    /// Keeps in mind what came of putting a field, for a program that does not look.
    fn noted(&self, field: i32, outcome: Result<(), Failure>) -> Result<(), Failure> {
        let Some(mut open) = self.open()? else { return outcome };
        match &outcome {
            Ok(()) => open.refused = open.refused.take().filter(|(refused, _)| *refused != field),
            Err(why) => drop(open.refused.get_or_insert_with(|| (field, why.to_string()))),
        }
        outcome
    }

    fn field(&self, field: i32) -> Result<(usize, ScalarType), Failure> {
        let fields = &self.options.fields;
        let found = usize::try_from(field).ok().and_then(|field| Some((field, fields.get(field)?.scalar_type)));
        found.ok_or_else(|| {
            Failure::WrongCall(format!(
                "there is no field {field}: {} are declared, and they count from 0",
                fields.len()
            ))
        })
    }
}

/// Publishes to whoever dials `at` ("0.0.0.0:0" takes any port) with the URL that visapult_url() tells.
///
/// `host` is this machine's name or address as the others know it, for the URL; NULL takes an address that fits `at`. Everything is encrypted,
/// with the certificate kept in ~/.config/visapult. The URL is the same each time at the same address and port, but with port 0. The
/// declaration remains the caller's. Close with visapult_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_publish_listen(
    declaration: *const Declaration,
    at: *const c_char,
    host: *const c_char,
) -> *mut Handle {
    object("visapult_publish_listen", || {
        // SAFETY: as the header asks for.
        let (declaration, at, host) =
            unsafe { (borrow(declaration, "declaration")?, text(at, "at")?, optional(host, "host")?) };
        Handle::meet(declaration, Meeting::find(None, Some(&at), host.as_deref())?)
    })
}

/// Publishes to the back end at `url`, now or when it is there, and again when it comes back.
///
/// NULL, or a blank one, takes the URL from the environment variable VISAPULT_URL. If that is missing or blank, too, publishing is off: all calls
/// succeed at once and do nothing, but that a declaration which makes no sense is refused. The declaration remains the caller's. Close with visapult_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_publish_dial(declaration: *const Declaration, url: *const c_char) -> *mut Handle {
    object("visapult_publish_dial", || {
        // SAFETY: as the header asks for.
        let (declaration, url) = unsafe { (borrow(declaration, "declaration")?, optional(url, "url")?) };
        Handle::meet(declaration, Meeting::find(url.as_deref(), None, None)?)
    })
}

/// What a back end has to dial; it holds a secret that admits to this publisher. NULL where we dial or publishing is off. Valid until
/// visapult_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_url(publisher: *const Handle) -> *const c_char {
    // SAFETY: as the header asks for.
    let url = unsafe { publisher.as_ref() }.and_then(|publisher| publisher.url.as_ref());
    url.map_or(std::ptr::null(), |url| url.as_ptr())
}

/// 1 if it publishes, 0 if publishing is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_is_on(publisher: *const Handle) -> i32 {
    // SAFETY: as the header asks for.
    unsafe { publisher.as_ref() }.is_some_and(|publisher| publisher.publisher.is_some()).into()
}

/// Begins the next step, at `time` in the declared unit (NaN where unknown). All ranks call it equally often. A step that was begun and not ended,
/// because something went wrong meanwhile, is left out, and has had its number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_begin(publisher: *mut Handle, time: f64) -> i32 {
    code("visapult_begin", || {
        // SAFETY: as the header asks for.
        let publisher = unsafe { borrow(publisher, "publisher")? };
        publisher.timed(|open| {
            open.refused = None;
            open.publisher.begin(time)?;
            Ok(())
        })
    })
}

/// Begins step `step`, for ranks that do not take part in every step: what one rank calls step 7 goes with step 7 of the others. Steps count
/// upwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_begin_at(publisher: *mut Handle, step: i64, time: f64) -> i32 {
    code("visapult_begin_at", || {
        // SAFETY: as the header asks for.
        let publisher = unsafe { borrow(publisher, "publisher")? };
        publisher.timed(|open| {
            let least = open.publisher.next();
            let number = u64::try_from(step).ok().filter(|step| *step >= least);
            let number = number.ok_or_else(|| {
                Failure::WrongCall(format!("step {step} does not follow: {least} is the least that does"))
            })?;
            open.refused = None;
            open.publisher.begin_at(number, time)?;
            Ok(())
        })
    })
}

/// Copies the values of a field of this rank's box; the caller may change them afterwards.
///
/// `values` points at the box's first value, of the declared type. `strides` has 3 values: bytes from one value to the next along x, y, z;
/// NULL where they follow each other, x fastest. Ghost layers are skipped by where `values` points, and by strides of the whole array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_put(
    publisher: *mut Handle,
    field: i32,
    values: *const c_void,
    strides: *const i64,
) -> i32 {
    code("visapult_put", || {
        // SAFETY: as the header asks for.
        unsafe {
            let publisher = borrow(publisher, "publisher")?;
            publisher.noted(field, bytes(strides).and_then(|strides| publisher.put(field, values, strides)))
        }
    })
}

/// As visapult_put, for callers whose arrays know their type (VISAPULT_FLOAT32 ...) and size (3 values): both are held against what is
/// declared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_put_array(
    publisher: *mut Handle,
    field: i32,
    scalar: i32,
    size: *const i64,
    values: *const c_void,
    strides: *const i64,
) -> i32 {
    code("visapult_put_array", || {
        // SAFETY: as the header asks for.
        unsafe {
            let publisher = borrow(publisher, "publisher")?;
            publisher.noted(field, publisher.put_array(field, scalar, size, values, strides))
        }
    })
}

/// Ends the step. Whoever wants it is sent it while the program goes on. A field that was not put keeps its last values; NaN where it has
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_end(publisher: *mut Handle) -> i32 {
    code("visapult_end", || {
        // SAFETY: as the header asks for.
        let publisher = unsafe { borrow(publisher, "publisher")? };
        publisher.timed(|open| {
            open.publisher.end()?;
            if let Some((_, why)) = open.refused.take()
                && !mem::replace(&mut open.has_said, true)
            {
                let step = open.publisher.next().saturating_sub(1);
                let kept = "has the values that it had, or none, as in others like it";
                open.publisher.say(&format!("in step {step} a field could not be put, and {kept}: {why}"));
            }
            Ok(())
        })
    })
}

/// Tells what has been done so far; all 0 where publishing is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_statistics(publisher: *const Handle, counts: *mut Counts) -> i32 {
    code("visapult_statistics", || {
        // SAFETY: as the header asks for.
        let publisher = unsafe { borrow(publisher, "publisher")? };
        // SAFETY: only looked at whether it is null.
        unsafe { borrow(counts, "counts")? };
        let told = publisher.open()?.map_or_else(Counts::default, |open| {
            let PublisherStatistics { steps, sent, missed, attached } = open.publisher.statistics();
            Counts { steps, sent, missed, attached: attached as u64, seconds: open.spent.as_secs_f64() }
        });
        // SAFETY: points at room for it, as the header asks for.
        unsafe { counts.write(told) };
        Ok(())
    })
}

/// Ends publishing and frees the publisher. Waits until all has arrived where VISAPULT_EVERY is declared, else two seconds at
/// most for the last step. NULL is nothing to close; in a process that was forked from the one that opened it nothing is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn visapult_close(publisher: *mut Handle) -> i32 {
    code("visapult_close", || {
        if publisher.is_null() {
            return Ok(());
        }
        // SAFETY: made by a publish function, and given back once.
        let publisher = unsafe { Box::from_raw(publisher) };
        if publisher.is_elsewhere() {
            // There is nothing to end, and no thread that could.
            mem::forget(publisher);
            return Ok(());
        }
        if let Some(open) = publisher.open()? {
            open.publisher.settle();
        }
        // An attempt to reach a machine that does not answer may take its time to end, and not the simulation's.
        let (ended, all_ended) = mpsc::channel();
        let end = move || {
            drop(publisher);
            let _ = ended.send(());
        };
        let _undisturbed = Undisturbed::begin();
        let thread = thread::Builder::new().name("visapult-close".to_owned()).spawn(end);
        thread.map_err(|cause| Failure::Unavailable(format!("a thread cannot be had: {cause}")))?;
        let _ = all_ended.recv_timeout(CLOSE_PATIENCE);
        Ok(())
    })
}

/// # Safety
/// `strides` is null, or points at three values.
unsafe fn bytes(strides: *const i64) -> Result<Option<[isize; 3]>, Failure> {
    if strides.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let strides = unsafe { three(strides, "strides")? };
    let mut own = [0; 3];
    for (own, stride) in own.iter_mut().zip(strides) {
        *own = isize::try_from(stride).map_err(|_| Failure::WrongCall(format!("strides {strides:?} are too large")))?;
    }
    Ok(Some(own))
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::ptr;

    use super::*;
    use crate::declaration::{VISAPULT_FLOAT32, visapult_declare, visapult_declare_field, visapult_declare_rank};
    use crate::failure::visapult_last_error;

    /// What is said where a declaration without a field, or of one of two ranks that owns all, is dialled with `url`.
    fn refused(has_field: bool, url: *const c_char) -> String {
        // SAFETY: pointers are to what lives until the end, or null where the header allows it.
        unsafe {
            let declaration = visapult_declare(c"run".as_ptr(), [8, 4, 2].as_ptr());
            if has_field {
                visapult_declare_field(declaration, c"p".as_ptr(), ptr::null(), VISAPULT_FLOAT32);
                visapult_declare_rank(declaration, 0, 2);
            }
            assert!(visapult_publish_dial(declaration, url).is_null());
            drop(Box::from_raw(declaration));
            CStr::from_ptr(visapult_last_error()).to_string_lossy().into_owned()
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_though_publishing_is_off() {
        // Tests have no URL in their environment.
        for url in [ptr::null(), c" ".as_ptr()] {
            assert!(refused(false, url).contains("0 fields: 1 to 256 are possible"), "{}", refused(false, url));
            let said = refused(true, url);
            assert!(
                said.contains("one of 2 ranks owns the whole grid") && said.contains("visapult_declare_box"),
                "{said}"
            );
        }
    }
}
