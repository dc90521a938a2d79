// From codes of texels to what is compressed of a tile: planes of symbols, which tell how texels differ from what those before lead one to expect, as `codec` has them before it packs them.

// In the part of the picture that was cast.
struct Tile {
    first: vec2u,
    size: vec2u,
}

// A layer of a tile in which something shows.
struct Layer {
    tile: u32,
    slab: u32,
    // Where its planes begin, in words.
    start: u32,
}

// Texels of the part.
@group(0) @binding(0) var<uniform> part: vec2u;
@group(0) @binding(1) var<storage, read> tiles: array<Tile>;
// `[slab, y, x]`: colour of 8 bits each, and the code of the opacity.
@group(0) @binding(2) var<storage, read> codes: array<vec2u>;
// `[tile, slab]`: 1 where anything shows.
@group(0) @binding(3) var<storage, read_write> shows: array<u32>;
@group(0) @binding(4) var<storage, read> layers: array<Layer>;
@group(0) @binding(5) var<storage, read_write> planes: array<u32>;

const THREADS: u32 = 128u;
const EDGE: u32 = 66u;
// Set in a colour that is one.
const IS_COLOR: u32 = 1u << 24u;

fn code_at(tile: Tile, slab: u32, x: u32, y: u32) -> vec2u {
    let at = tile.first + vec2u(x, y);
    return codes[(slab * part.y + at.y) * part.x + at.x];
}

@compute @workgroup_size(THREADS)
fn look(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let tile = tiles[group.x];
    for (var i = thread; i < tile.size.x * tile.size.y; i += THREADS) {
        if code_at(tile, group.y, i % tile.size.x, i / tile.size.x).y > 0u {
            shows[group.x * groups.y + group.y] = 1u;
            return;
        }
    }
}

var<workgroup> colors: array<u32, EDGE * EDGE>;
// The first and the last colour of each row; 0 where there is none.
var<workgroup> firsts: array<u32, EDGE>;
var<workgroup> lasts: array<u32, EDGE>;

// The colour that comes before a row: the last of the rows above, or else the first of all.
fn before(row: u32, rows: u32) -> u32 {
    for (var above = row; above > 0u; above--) {
        if lasts[above - 1u] > 0u {
            return lasts[above - 1u];
        }
    }
    for (var below = row; below < rows; below++) {
        if firsts[below] > 0u {
            return firsts[below];
        }
    }
    return 0u;
}

// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
fn fold(difference: i32) -> u32 {
    return u32((difference << 1u) ^ (difference >> 31u));
}

// One byte of the five planes: red, green, blue, and low and high bytes of the opacity.
fn byte_at(tile: Tile, slab: u32, i: u32) -> u32 {
    let count = tile.size.x * tile.size.y;
    let plane = i / count;
    let at = i % count;
    let x = at % tile.size.x;
    let y = at / tile.size.x;
    if plane < 3u {
        var difference = colors[at] >> (8u * plane);
        if x > 0u {
            difference -= colors[at - 1u] >> (8u * plane);
        }
        if y > 0u {
            difference -= colors[at - tile.size.x] >> (8u * plane);
        }
        if x > 0u && y > 0u {
            difference += colors[at - tile.size.x - 1u] >> (8u * plane);
        }
        let signed = i32(difference << 24u) >> 24u;
        return fold(signed) & 0xffu;
    }
    var difference = i32(code_at(tile, slab, x, y).y);
    if x > 0u {
        difference -= i32(code_at(tile, slab, x - 1u, y).y);
    }
    if y > 0u {
        difference -= i32(code_at(tile, slab, x, y - 1u).y);
    }
    if x > 0u && y > 0u {
        difference += i32(code_at(tile, slab, x - 1u, y - 1u).y);
    }
    return (fold(difference) >> (8u * (plane - 3u))) & 0xffu;
}

@compute @workgroup_size(THREADS)
fn differ(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let layer = layers[group.x];
    let tile = tiles[layer.tile];
    let width = tile.size.x;
    let count = width * tile.size.y;
    for (var i = thread; i < count; i += THREADS) {
        let code = code_at(tile, layer.slab, i % width, i / width);
        colors[i] = select(0u, code.x | IS_COLOR, code.y > 0u);
    }
    workgroupBarrier();
    // Colours go on into texels without any, along each row first.
    let row = thread * width;
    if thread < tile.size.y {
        var first = 0u;
        var last = 0u;
        for (var i = row; i < row + width; i++) {
            last = select(last, colors[i], colors[i] > 0u);
            first = select(first, last, first == 0u);
            colors[i] = last;
        }
        firsts[thread] = first;
        lasts[thread] = last;
    }
    workgroupBarrier();
    if thread < tile.size.y {
        let color = before(thread, tile.size.y);
        for (var i = row; i < row + width && colors[i] == 0u; i++) {
            colors[i] = color;
        }
    }
    workgroupBarrier();
    for (var word = thread; word < (5u * count + 3u) / 4u; word += THREADS) {
        var bytes = 0u;
        for (var i = 0u; i < 4u && 4u * word + i < 5u * count; i++) {
            bytes |= byte_at(tile, layer.slab, 4u * word + i) << (8u * i);
        }
        planes[layer.start + word] = bytes;
    }
}
