// Slabs of colour: each ray goes on through a chunk, one slab after another, from where the chunks before it have left it.

// A ray in the slab that it has come to.
struct Going {
    // Associated; what it has got there so far.
    color: vec4f,
    slab: u32,
    // What comes through the layers before over what comes through their codes, less 1.
    off: f32,
}

@group(0) @binding(5) var<storage, read_write> going: array<Going>;
// `[slab, y, x]`: colour of 8 bits each, and the code of the opacity.
@group(0) @binding(6) var<storage, read_write> codes: array<vec2u>;
// Samples taken, by row.
@group(0) @binding(7) var<storage, read_write> taken: array<atomic<u32>>;

// Samples between two looks at what is empty.
const STRIDE: f32 = 4.0;

// As in `slabs/layers.rs`, where the reasons are.
const ALPHA_CODES: f32 = 1023.0;
const LEAST_ALPHA: f32 = 0.25 / (ALPHA_CODES * ALPHA_CODES);
const COARSEST: i32 = 4;
const FAINT: f32 = 0.25;
const PHASE: f32 = 0.618034;
const CARRIED: f32 = 4e-4;
const MOST_CARRIED: f32 = 4e-3;

// What comes through a layer of a code.
fn through(code: f32) -> f32 {
    let root = code * (1.0 / ALPHA_CODES);
    return max(1.0 - root * root, 1.17549435e-38);
}

// Puts down what a ray has got in the slab that it leaves.
fn put(ray: ptr<function, Going>, index: u32) {
    let color = (*ray).color;
    if color.a < LEAST_ALPHA {
        return;
    }
    let phase = select(0.5, fract(f32((*ray).slab) * PHASE), color.a < FAINT);
    let exponent = i32(bitcast<u32>(color.a) >> 23u) - 127;
    let coarse = u32(clamp(-2 - exponent, 0, COARSEST));
    let per_step = 255.0 / (color.a * f32(1u << coarse));
    let rgb = min(vec3u(color.rgb * per_step + phase) << vec3u(coarse), vec3u(255u));

    let exact = (1.0 - color.a) * (1.0 + (*ray).off);
    var code = min(floor(sqrt(color.a) * ALPHA_CODES + phase), ALPHA_CODES);
    var coded = through(code);
    var off = exact - coded;
    var change = 0.0;
    if off > CARRIED * coded {
        change = -1.0;
    } else if off < -CARRIED * coded {
        change = 1.0;
    }
    let other = clamp(code + change, 0.0, ALPHA_CODES);
    let other_coded = through(other);
    let other_off = exact - other_coded;
    if abs(other_off) * coded < abs(off) * other_coded {
        code = other;
        coded = other_coded;
        off = other_off;
    }
    (*ray).off = clamp(off / coded, -MOST_CARRIED, MOST_CARRIED);
    let at = (*ray).slab * rays.size.x * rays.size.y + index;
    codes[at] = vec2u(rgb.r | (rgb.g << 8u) | (rgb.b << 16u), u32(code));
}

fn enter(ray: ptr<function, Going>, slab: u32, index: u32) {
    if slab != (*ray).slab {
        put(ray, index);
        (*ray).slab = slab;
        (*ray).color = vec4f(0.0);
    }
}

fn composite(ray: ptr<function, Going>, color: vec4f) {
    (*ray).color += (1.0 - (*ray).color.a) * color;
}

// Where a face of the box cuts a sample, the part inside counts.
fn composite_cut(here: ptr<function, Going>, ray: Ray, index: u32, lo: f32, hi: f32) -> u32 {
    let place = sample_at(ray, 0.5 * (lo + hi) * rays.distance / ray.cosine);
    if lo >= hi || any(place < chunk.owned_lo) || any(place >= chunk.owned_hi) {
        return 0u;
    }
    let entry = entry_of(value_at(place - chunk.origin));
    if entry.a > 0.0 {
        let part = 1.0 - pow(1.0 - entry.a, hi - lo);
        enter(here, u32(lo) / rays.per_slab, index);
        composite(here, entry * (part / entry.a));
    }
    return 1u;
}

@compute @workgroup_size(8, 8)
fn march(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= rays.size) {
        return;
    }
    let index = id.y * rays.size.x + id.x;
    let ray = ray_of(rays.first + id.xy);
    let per_sample = ray.cosine / rays.distance;
    let begin = max(ray.enter * per_sample, 0.0);
    let leave = min(ray.leave * per_sample, rays.count);
    if ray.enter >= ray.leave || begin >= leave {
        return;
    }
    var here = going[index];
    var samples = composite_cut(&here, ray, index, begin, min(ceil(begin), leave));
    let step = ray.direction * (rays.distance / ray.cosine) * rays.scale;
    let line = Line(sample_at(ray, 0.5 * rays.distance / ray.cosine), step, ceil(begin), floor(leave));
    let range = own(line);
    var at = range.x;
    while at < range.y {
        let place = line.first + at * step - chunk.origin;
        let empty = empty_samples(place, step);
        if empty > 0.0 {
            at = gone_on(at, empty);
            continue;
        }
        let slab = u32(at) / rays.per_slab;
        enter(&here, slab, index);
        let stride = min(min(STRIDE, range.y - at), f32((slab + 1u) * rays.per_slab) - at);
        samples += u32(stride);
        for (var i = 0.0; i < stride; i += 1.0) {
            composite(&here, entry_of(value_at(line.first + (at + i) * step - chunk.origin)));
        }
        at = gone_on(at, stride);
    }
    samples += composite_cut(&here, ray, index, max(floor(leave), ceil(begin)), leave);
    going[index] = here;
    atomicAdd(&taken[id.y], samples);
}

// The last slab of each ray, behind all chunks.
@compute @workgroup_size(8, 8)
fn finish(@builtin(global_invocation_id) id: vec3u) {
    if all(id.xy < rays.size) {
        let index = id.y * rays.size.x + id.x;
        var here = going[index];
        put(&here, index);
    }
}
