//! What JavaScript calls. One brick at a time: the browser gives each of its workers an instance of its own.

use std::cell::RefCell;

use crate::brick::{Brick, Place, Scale};

thread_local! {
    static BRICK: RefCell<Brick> = RefCell::default();
}

/// Where so many codes of 16 bits are to be written; half floats are there once they are unpacked. It may lie elsewhere from now on.
#[expect(unsafe_code, reason = "JavaScript calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn codes(count: usize) -> *mut u16 {
    BRICK.with_borrow_mut(|brick| {
        brick.samples.resize(count, 0);
        brick.samples.as_mut_ptr()
    })
}

/// Unpacks them: the brick's first sample and its size, x first; what codes 1 and the next but one differ by stands for; and the half float of no data.
#[expect(unsafe_code, reason = "JavaScript calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn unpack(
    x: usize,
    y: usize,
    z: usize,
    width: usize,
    height: usize,
    depth: usize,
    first: f32,
    per_code: f32,
    missing: u32,
) {
    let place = Place { lo: [x, y, z], size: [width, height, depth] };
    let scale = Scale { first, per_code, missing: missing as u16 };
    BRICK.with_borrow_mut(|brick| brick.unpack(place, scale));
}

/// Where the least values of the macrocells (0) or the largest ones (1) are.
#[expect(unsafe_code, reason = "JavaScript calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn extremes(which: usize) -> *const f32 {
    BRICK.with_borrow(|brick| brick.extremes[which].as_ptr())
}
