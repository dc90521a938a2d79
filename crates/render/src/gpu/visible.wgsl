// Where in a chunk a transfer function shows anything: cubes that do, then how far from each the nearest of them is.

struct Cubes {
    counts: vec3u,
    lowest: f32,
    axis: vec3u,
    per_value: f32,
    most: u32,
}

@group(0) @binding(0) var<uniform> cubes: Cubes;
// Least and largest value of each cube; the wrong way round where there is none.
@group(0) @binding(1) var<storage, read> ranges: array<vec2f>;
@group(0) @binding(2) var<storage, read> table: array<vec4f>;
@group(0) @binding(3) var<storage, read> visible_before: array<u32>;
@group(0) @binding(4) var<storage, read> before: array<u32>;
@group(0) @binding(5) var<storage, read_write> after: array<u32>;

fn index_of(cube: vec3u) -> u32 {
    return (cube.z * cubes.counts.y + cube.y) * cubes.counts.x + cube.x;
}

fn entry(value: f32, last: u32) -> u32 {
    return u32(clamp((value - cubes.lowest) * cubes.per_value + 2.0, 1.0, f32(last)));
}

// 0 for cubes of which anything shows, rounding included.
@compute @workgroup_size(4, 4, 4)
fn classify(@builtin(global_invocation_id) cube: vec3u) {
    if any(cube >= cubes.counts) {
        return;
    }
    let range = ranges[index_of(cube)];
    let last = arrayLength(&table) - 1u;
    var layers = cubes.most;
    if range.x <= range.y {
        let low = max(entry(range.x, last) - 1u, 1u);
        let high = min(entry(range.y, last) + 1u, last);
        if visible_before[low] < visible_before[high] || table[high].a > 0.0 {
            layers = 0u;
        }
    }
    after[index_of(cube)] = layers;
}

// The least, along `axis`, of the larger of the distance and what was found there.
@compute @workgroup_size(4, 4, 4)
fn spread(@builtin(global_invocation_id) cube: vec3u) {
    if any(cube >= cubes.counts) {
        return;
    }
    let place = dot(cube, cubes.axis);
    let count = dot(cubes.counts, cubes.axis);
    var layers = before[index_of(cube)];
    for (var away = 1u; away < layers; away++) {
        if away <= place {
            layers = min(layers, max(away, before[index_of(cube - away * cubes.axis)]));
        }
        if place + away < count {
            layers = min(layers, max(away, before[index_of(cube + away * cubes.axis)]));
        }
    }
    after[index_of(cube)] = layers;
}
