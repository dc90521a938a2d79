//! Failures at the boundary: a return code, and a message for the thread that called.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use thiserror::Error;
use visapult_publish::FlowError;

/// It is done.
pub const VISAPULT_OK: i32 = 0;
/// The call makes no sense: an argument is wrong, or it comes out of turn. Nothing has changed.
pub const VISAPULT_WRONG_CALL: i32 = -1;
/// The system or the network does not allow it.
pub const VISAPULT_UNAVAILABLE: i32 = -2;
/// A fault in the library itself.
pub const VISAPULT_BROKEN: i32 = -3;

/// Why a call fails.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    WrongCall(String),
    #[error("{0}")]
    Unavailable(String),
    #[error("the library is at fault, please report it: {0}")]
    Broken(String),
}

impl Failure {
    fn code(&self) -> i32 {
        match self {
            Self::WrongCall(_) => VISAPULT_WRONG_CALL,
            Self::Unavailable(_) => VISAPULT_UNAVAILABLE,
            Self::Broken(_) => VISAPULT_BROKEN,
        }
    }
}

impl From<FlowError> for Failure {
    fn from(cause: FlowError) -> Self {
        match cause {
            FlowError::Session(_) | FlowError::Nobody(_) | FlowError::Memory(_) => Self::Unavailable(cause.to_string()),
            _ => Self::WrongCall(cause.to_string()),
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// In place of the message of a thread that ends.
const GONE: &CStr = c"the thread ends, and its messages are gone: call before that, as before main returns";

/// Runs the body of a function of the interface, named for the message.
fn outcome<T>(function: &str, body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // What a panic leaves half done is a publisher that this thread no longer uses, or refuses to.
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let outcome = outcome.unwrap_or_else(|panic| Err(Failure::Broken(said(panic.as_ref()))));
    if let Err(failure) = &outcome {
        let text = format!("{function}: {failure}").replace('\0', " ");
        // Where the thread ends, as in a handler of `atexit`, its message is gone before it.
        let _ = LAST.try_with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
    }
    outcome
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// A return code.
pub(crate) fn code(function: &str, body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    number(function, || body().map(|()| VISAPULT_OK))
}

/// A number that is not negative, or a return code.
pub(crate) fn number(function: &str, body: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    outcome(function, body).unwrap_or_else(|failure| failure.code())
}

/// A new object that the caller owns, or null.
pub(crate) fn object<T>(function: &str, body: impl FnOnce() -> Result<T, Failure>) -> *mut T {
    outcome(function, body).map_or(std::ptr::null_mut(), |it| Box::into_raw(Box::new(it)))
}

/// Borrows what the caller points at.
///
/// # Safety
/// `pointer` is null, or points at a live `T` that nobody changes meanwhile.
#[expect(unsafe_code, reason = "pointers come from C")]
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Copies three numbers.
///
/// # Safety
/// `pointer` is null, or points at three values.
#[expect(unsafe_code, reason = "pointers come from C")]
pub(crate) unsafe fn three<T: Copy>(pointer: *const T, what: &str) -> Result<[T; 3], Failure> {
    // SAFETY: as the caller promises.
    unsafe { borrow(pointer.cast::<[T; 3]>(), what) }.copied()
}

/// Copies so many numbers.
///
/// # Safety
/// `pointer` is null, or points at `count` values.
#[expect(unsafe_code, reason = "pointers come from C")]
pub(crate) unsafe fn several<T: Copy>(pointer: *const T, count: usize, what: &str) -> Result<Vec<T>, Failure> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { slice::from_raw_parts(pointer, count) }.to_vec())
}

/// Copies a text.
///
/// # Safety
/// `pointer` is null, or points at a text that ends with a zero.
#[expect(unsafe_code, reason = "pointers come from C")]
pub(crate) unsafe fn text(pointer: *const c_char, what: &str) -> Result<String, Failure> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map(str::to_owned).map_err(|_| Failure::WrongCall(format!("{what} is not UTF-8")))
}

/// Copies a text that may be left out.
///
/// # Safety
/// As [`text`].
#[expect(unsafe_code, reason = "pointers come from C")]
pub(crate) unsafe fn optional(pointer: *const c_char, what: &str) -> Result<Option<String>, Failure> {
    // SAFETY: as the caller promises.
    if pointer.is_null() { Ok(None) } else { unsafe { text(pointer, what) }.map(Some) }
}

fn null(what: &str) -> Failure {
    Failure::WrongCall(format!("{what} is NULL: was the call that makes it successful?"))
}

/// What was wrong with this thread's last call that failed, where, and what to do. Never NULL; valid until the thread's next such call. In a thread
/// that ends, as in what atexit calls, messages are gone.
#[expect(unsafe_code, reason = "a function for C")]
#[unsafe(no_mangle)]
pub extern "C" fn visapult_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(GONE.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_error() -> String {
        #[expect(unsafe_code, reason = "as a C program reads it")]
        // SAFETY: a text of this thread that ends with a zero.
        let text = unsafe { CStr::from_ptr(visapult_last_error()) };
        text.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        assert_eq!(code("visapult_end", || panic!("by {}", "accident")), VISAPULT_BROKEN);
        assert!(last_error().contains("visapult_end") && last_error().contains("by accident"), "{}", last_error());
    }

    #[test]
    fn a_message_stays_with_its_thread_and_outlives_success() {
        assert_eq!(code("here", || Err(Failure::WrongCall("ours".to_owned()))), VISAPULT_WRONG_CALL);
        std::thread::spawn(|| assert_eq!(last_error(), "")).join().unwrap();
        assert_eq!(code("there", || Ok(())), VISAPULT_OK);
        assert_eq!(last_error(), "here: ours");
    }
}
