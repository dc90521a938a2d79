// A chunk of a volume as all kernels see it: rays, which of their samples are its own, and the values there.
//
// Positions are counted in samples of the whole grid, so that they do not depend on how it is cut.

struct Rays {
    // Where the middle of the picture lies on the first plane, and how far from the eye along `forward` that plane is.
    origin: vec3f,
    near: f32,
    forward: vec3f,
    // Distance of samples: along rays, or along `forward`.
    distance: f32,
    // Half the picture's width and height at distance 1.
    right: vec3f,
    // Number of samples at most; 0 where the box alone ends rays.
    count: f32,
    up: vec3f,
    // Samples in each slab.
    per_slab: u32,
    // The corners of the box that rays are cut to.
    box_lo: vec3f,
    lowest: f32,
    box_hi: vec3f,
    unused: f32,
    // sample = world * scale + offset
    scale: vec3f,
    per_value: f32,
    offset: vec3f,
    opaque: f32,
    // Of the picture, or of a tile of it.
    first: vec2u,
    size: vec2u,
    picture: vec2f,
    // In memory, between results of neighbouring rays and of neighbouring planes.
    distances: vec2u,
}

struct Chunk {
    // The samples that belong to it.
    owned_lo: vec3f,
    owned_hi: vec3f,
    // Its first value.
    origin: vec3f,
    last: vec3f,
    last_cell: vec3f,
    // Distances in memory to the next sample along each axis, and to that which is interpolated with.
    stride: vec3u,
    next: vec3u,
    cubes: vec3u,
}

const CUBE: f32 = 4.0;

@group(0) @binding(0) var<uniform> rays: Rays;
@group(0) @binding(1) var<uniform> chunk: Chunk;
@group(0) @binding(2) var<storage, read> values: array<f32>;

// The samples of one ray: `first + k step` for `begin <= k < end`.
struct Line {
    first: vec3f,
    step: vec3f,
    begin: f32,
    end: f32,
}

// The ray through a pixel, from the first plane on.
struct Ray {
    start: vec3f,
    direction: vec3f,
    cosine: f32,
    enter: f32,
    leave: f32,
}

fn ray_of(pixel: vec2u) -> Ray {
    let at = (vec2f(pixel) + 0.5) / rays.picture * 2.0 - 1.0;
    let aside = at.x * rays.right - at.y * rays.up;
    let through = rays.forward + aside;
    let cosine = 1.0 / length(through);
    let direction = through * cosine;
    let start = rays.origin + rays.near * aside;
    var enter = 0.0;
    var leave = 3e38;
    for (var axis = 0; axis < 3; axis++) {
        if direction[axis] == 0.0 {
            if start[axis] < rays.box_lo[axis] || start[axis] > rays.box_hi[axis] {
                leave = 0.0;
            }
        } else {
            let a = (rays.box_lo[axis] - start[axis]) / direction[axis];
            let b = (rays.box_hi[axis] - start[axis]) / direction[axis];
            enter = max(enter, min(a, b));
            leave = min(leave, max(a, b));
        }
    }
    return Ray(start, direction, cosine, enter, leave);
}

fn sample_at(ray: Ray, t: f32) -> vec3f {
    return (ray.start + t * ray.direction) * rays.scale + rays.offset;
}

// The samples in the chunk. Where a plane cuts a line is found alike for the chunks on its two sides: each sample belongs to one.
fn own(line: Line) -> vec2f {
    var begin = line.begin;
    var end = line.end;
    for (var axis = 0; axis < 3; axis++) {
        let first = line.first[axis];
        let step = line.step[axis];
        let lo = (chunk.owned_lo[axis] - first) / step;
        let hi = (chunk.owned_hi[axis] - first) / step;
        if step > 0.0 {
            begin = max(begin, ceil(lo));
            end = min(end, ceil(hi));
        } else if step < 0.0 {
            begin = max(begin, floor(hi) + 1.0);
            end = min(end, floor(lo) + 1.0);
        } else if first < chunk.owned_lo[axis] || first >= chunk.owned_hi[axis] {
            end = begin;
        }
    }
    return vec2f(begin, end);
}

// The number of the sample `by` samples after `at`: beyond 2^24 not each has a number, and a ray is to end nevertheless.
fn gone_on(at: f32, by: f32) -> f32 {
    return at + max(by, at * exp2(-23.0));
}

fn mixed(at: u32, weight: vec3f) -> f32 {
    let x = chunk.next.x;
    let y = chunk.next.y;
    let near = mix(vec2f(values[at], values[at + y]), vec2f(values[at + x], values[at + x + y]), weight.x);
    let z = at + chunk.next.z;
    let far = mix(vec2f(values[z], values[z + y]), vec2f(values[z + x], values[z + x + y]), weight.x);
    let rows = mix(near, far, weight.z);
    return mix(rows.x, rows.y, weight.y);
}

// Trilinear between the samples around a place in the chunk; held beyond the outermost.
fn value_at(place: vec3f) -> f32 {
    let held = clamp(place, vec3f(0.0), chunk.last);
    let cell = min(floor(held), chunk.last_cell);
    let at = dot(vec3u(cell), chunk.stride);
    return mixed(at, held - cell);
}

// By its bits: comparisons of floats may be compiled as if there were no NaN.
fn is_missing(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
}
