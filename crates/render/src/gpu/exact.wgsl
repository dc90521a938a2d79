// The exact image: each ray goes on through a chunk from the colour that the chunks before it have left.

@group(0) @binding(5) var<storage, read_write> colors: array<vec4f>;
// Samples taken, by row.
@group(0) @binding(6) var<storage, read_write> taken: array<atomic<u32>>;

// Samples between two looks at what is empty.
const STRIDE: f32 = 4.0;

@compute @workgroup_size(8, 8)
fn march(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= rays.size) {
        return;
    }
    let index = id.y * rays.size.x + id.x;
    var color = colors[index];
    if color.a >= rays.opaque {
        return;
    }
    let ray = ray_of(rays.first + id.xy);
    if ray.enter >= ray.leave {
        return;
    }
    let start = ray.enter + 0.5 * rays.distance;
    let step = ray.direction * rays.distance * rays.scale;
    let count = ceil((ray.leave - start) / rays.distance);
    let line = Line(sample_at(ray, start), step, 0.0, count);
    let range = own(line);
    var at = range.x;
    var samples = 0u;
    while at < range.y && color.a < rays.opaque {
        let place = line.first + at * step - chunk.origin;
        let empty = empty_samples(place, step);
        if empty > 0.0 {
            at = gone_on(at, empty);
            continue;
        }
        let stride = min(STRIDE, range.y - at);
        samples += u32(stride);
        for (var i = 0.0; i < stride; i += 1.0) {
            let entry = entry_of(value_at(line.first + (at + i) * step - chunk.origin));
            color += (1.0 - color.a) * entry;
        }
        at = gone_on(at, stride);
    }
    colors[index] = color;
    atomicAdd(&taken[id.y], samples);
}
