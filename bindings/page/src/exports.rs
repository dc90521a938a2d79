//! What JavaScript calls. One brick at a time: the browser gives each of its workers an instance of its own.

use std::cell::RefCell;

use crate::brick::{Brick, Floats, Place, Scale};

thread_local! {
    static BRICK: RefCell<Brick> = RefCell::default();
}

/// Where so many codes of 16 bits are to be written; half floats are there once they are unpacked as such. It may lie elsewhere from now on.
#[expect(unsafe_code, reason = "JavaScript calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn codes(count: usize) -> *mut u16 {
    BRICK.with_borrow_mut(|brick| {
        brick.samples.resize(count, 0);
        brick.samples.as_mut_ptr()
    })
}

/// Unpacks them: the brick's first sample and its size, x first; what code 1 stands for, and by how much each further one is more; no data, and the half float
/// nearest to it; and whether to singles.
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
    missing: f32,
    missing_half: u32,
    to_singles: u32,
) {
    let place = Place { lo: [x, y, z], size: [width, height, depth] };
    let scale = Scale { first, per_code, missing, missing_half: missing_half as u16 };
    let floats = if to_singles == 0 { Floats::Halves } else { Floats::Singles };
    BRICK.with_borrow_mut(|brick| brick.unpack(place, scale, floats));
}

/// Where codes are that were unpacked to floats of 32 bits.
#[expect(unsafe_code, reason = "JavaScript calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn singles() -> *const f32 {
    BRICK.with_borrow(|brick| brick.singles.as_ptr())
}

/// Where the least values of the macrocells (0) or the largest ones (1) are.
#[expect(unsafe_code, reason = "JavaScript calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn extremes(which: usize) -> *const f32 {
    BRICK.with_borrow(|brick| brick.extremes[which].as_ptr())
}
