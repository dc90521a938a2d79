// The values where the rays of a key view meet planes of equal depth.

@group(0) @binding(3) var<storage, read_write> found: array<f32>;

@compute @workgroup_size(8, 8)
fn take(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= rays.size) {
        return;
    }
    let ray = ray_of(rays.first + id.xy);
    if ray.enter >= ray.leave {
        return;
    }
    let per_plane = ray.cosine / rays.distance;
    // One more at both ends: which are needed is told in double precision.
    let begin = max(ceil(ray.enter * per_plane) - 1.0, 0.0);
    let end = min(floor(ray.leave * per_plane) + 2.0, rays.count);
    let step = ray.direction * (rays.distance / ray.cosine) * rays.scale;
    let line = Line(sample_at(ray, 0.0), step, begin, end);
    let range = own(line);
    let start = (id.y * rays.size.x + id.x) * rays.distances.x;
    for (var at = range.x; at < range.y; at += 1.0) {
        found[start + u32(at) * rays.distances.y] = value_at(line.first + at * step - chunk.origin);
    }
}
