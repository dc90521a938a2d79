// Slabs of colour: each ray goes on through a chunk, one slab after another, from what the chunks before it have left there.

// Associated colours, `[slab, y, x]` of a tile.
@group(0) @binding(5) var<storage, read_write> layers: array<vec4f>;
// Per slab whether anything shows there; behind them the samples taken.
@group(0) @binding(6) var<storage, read_write> told: array<atomic<u32>>;

fn put(slab: u32, at: u32, color: vec4f) {
    if color.a > 0.0 {
        layers[slab * rays.size.x * rays.size.y + at] = color;
        atomicStore(&told[slab], 1u);
    }
}

// Where a face of the box cuts a sample, the part inside counts.
fn composite_cut(ray: Ray, at: u32, lo: f32, hi: f32) -> u32 {
    let place = sample_at(ray, 0.5 * (lo + hi) * rays.distance / ray.cosine);
    if lo >= hi || any(place < chunk.owned_lo) || any(place >= chunk.owned_hi) {
        return 0u;
    }
    let entry = entry_of(value_at(place - chunk.origin));
    if entry.a > 0.0 {
        let part = 1.0 - pow(1.0 - entry.a, hi - lo);
        let slab = u32(lo) / rays.per_slab;
        let front = layers[slab * rays.size.x * rays.size.y + at];
        put(slab, at, front + (1.0 - front.a) * entry * (part / entry.a));
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
    let enter = max(ray.enter * per_sample, 0.0);
    let leave = min(ray.leave * per_sample, rays.count);
    if ray.enter >= ray.leave || enter >= leave {
        return;
    }
    var samples = composite_cut(ray, index, enter, min(ceil(enter), leave));
    let step = ray.direction * (rays.distance / ray.cosine) * rays.scale;
    let line = Line(sample_at(ray, 0.5 * rays.distance / ray.cosine), step, ceil(enter), floor(leave));
    let range = own(line);
    // None yet.
    var slab = 0xffffffffu;
    var color = vec4f(0.0);
    var at = range.x;
    while at < range.y {
        let place = line.first + at * step - chunk.origin;
        let empty = empty_samples(place, step);
        if empty > 0.0 {
            at += empty;
            continue;
        }
        let here = u32(at) / rays.per_slab;
        if here != slab {
            put(slab, index, color);
            slab = here;
            color = layers[slab * rays.size.x * rays.size.y + index];
        }
        color += (1.0 - color.a) * entry_of(value_at(place));
        samples += 1u;
        at += 1.0;
    }
    put(slab, index, color);
    samples += composite_cut(ray, index, max(floor(leave), ceil(enter)), leave);
    atomicAdd(&told[arrayLength(&told) - 1u], samples);
}
