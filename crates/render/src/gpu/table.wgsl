// What the transfer function shows, and where in a chunk it shows anything.

@group(0) @binding(3) var<storage, read> table: array<vec4f>;
// Per cube of cells: how many layers of cubes, itself counted, hold nothing visible around its middle; 0 where it shows.
@group(0) @binding(4) var<storage, read> empty_layers: array<u32>;

fn entry_of(value: f32) -> vec4f {
    if is_missing(value) {
        return vec4f(0.0);
    }
    let last = f32(arrayLength(&table) - 1u);
    return table[u32(clamp((value - rays.lowest) * rays.per_value + 2.0, 1.0, last))];
}

// How many samples from `place` on, `step` apart, show nothing for certain; 0 where there may be something to see.
fn empty_samples(place: vec3f, step: vec3f) -> f32 {
    let cube = min(vec3u(max(place, vec3f(0.0)) / CUBE), chunk.cubes - 1u);
    let layers = empty_layers[(cube.z * chunk.cubes.y + cube.y) * chunk.cubes.x + cube.x];
    if layers == 0u {
        return 0.0;
    }
    let low = (vec3f(cube) - f32(layers) + 1.0) * CUBE;
    let high = (vec3f(cube) + f32(layers)) * CUBE;
    let end = vec3f(chunk.cubes) * CUBE;
    var samples = 3e38;
    for (var axis = 0; axis < 3; axis++) {
        // Beyond the outermost cubes their values hold.
        if step[axis] > 0.0 && high[axis] < end[axis] {
            samples = min(samples, (high[axis] - place[axis]) / step[axis]);
        } else if step[axis] < 0.0 && low[axis] > 0.0 {
            samples = min(samples, (low[axis] - place[axis]) / step[axis]);
        }
    }
    return max(floor(samples), 1.0);
}
