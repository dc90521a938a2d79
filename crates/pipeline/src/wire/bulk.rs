//! Bulk messages: a header of 28 bytes that differs per session, and a body that all sessions share.

use std::sync::Arc;

use visapult_render::{
    Camera, EncodedBrick, FaceTile, ScalarKeyframe, SegmentKeyframe, SegmentTile, SlabGeometry, SlabKeyframe, SlabTile,
    Still, StillTile, TILE_EDGE, Up,
};
use visapult_volume::StepIndex;

/// Bytes of payload after which a new message is begun: small enough to interleave, large enough to be cheap.
const MESSAGE_BYTES: usize = 256 * 1024;

const FLAG_COMPLETES: u8 = 1;

/// A message that carries nothing: its acknowledgement tells how long the way is.
pub(crate) const PROBE: [u8; BulkHeader::BYTES] = {
    let mut message = [0; BulkHeader::BYTES];
    message[0] = 22;
    message
};

/// What a bulk message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BulkKind {
    /// Bricks of one level.
    Bricks,
    /// Tiles of a slab keyframe.
    Slabs,
    /// Tiles of an exact image.
    Still,
    /// Tiles of a keyframe of scalar slabs.
    ScalarSlabs,
    /// Tiles of a keyframe of segments.
    Segments,
    /// Which tiles a keyframe has.
    TileList,
}

impl BulkKind {
    const fn code(self) -> u8 {
        match self {
            Self::Bricks => 16,
            Self::Slabs => 17,
            Self::Still => 18,
            Self::ScalarSlabs => 19,
            Self::Segments => 20,
            Self::TileList => 21,
        }
    }
}

/// The part of a bulk message that differs between sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkHeader {
    /// Field shown.
    pub field: u16,
    /// Set the message belongs to.
    pub set: u32,
    /// Step shown.
    pub step: StepIndex,
    /// Time of the step; NaN where unknown.
    pub time: f64,
    /// Sequence of the view it was made for.
    pub view: u32,
}

impl BulkHeader {
    /// Bytes before the body.
    pub const BYTES: usize = 28;

    /// Header and body as one message.
    pub fn message(&self, body: &BulkBody) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::BYTES + body.bytes.len());
        bytes.push(body.kind.code());
        bytes.push(if body.completes { FLAG_COMPLETES } else { 0 });
        bytes.extend(self.field.to_le_bytes());
        bytes.extend(self.set.to_le_bytes());
        bytes.extend(self.step.to_le_bytes());
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.view.to_le_bytes());
        bytes.extend_from_slice(&body.bytes);
        bytes
    }
}

/// A body that any number of sessions send, each behind its own header.
#[derive(Clone, Debug)]
pub struct BulkBody {
    /// What it is.
    pub kind: BulkKind,
    /// Data connection it goes to.
    pub group: usize,
    /// Whether it is the last of its set for that connection.
    pub completes: bool,
    /// The bytes after the header.
    pub bytes: Arc<[u8]>,
}

/// Bodies of one level of bricks: `bricks_of_group[g]` go to data connection `g`.
pub fn bricks_bodies(
    level: u32,
    bits: u8,
    level_size: [usize; 3],
    range: Option<[f32; 2]>,
    bricks_of_group: &[Vec<&EncodedBrick>],
) -> Vec<BulkBody> {
    let prefix = |count: u16| {
        let mut bytes = vec![level as u8, bits];
        bytes.extend(count.to_le_bytes());
        push_u16s(&mut bytes, &level_size);
        bytes.extend(0_u16.to_le_bytes());
        push_f32s(&mut bytes, &range.unwrap_or([f32::NAN; 2]));
        bytes
    };
    bodies_of_groups(BulkKind::Bricks, bricks_of_group, prefix, |bytes, brick| {
        brick.lo.iter().for_each(|n| bytes.extend(n.to_le_bytes()));
        bytes.extend(brick.size);
        bytes.push(brick.part | brick.predictor << 2);
        push_f32s(bytes, &brick.range);
        push_payload(bytes, &brick.payload);
    })
}

/// Bodies of a slab keyframe, its tiles dealt to `groups` data connections in turn, after the list of them.
pub fn slab_bodies(keyframe: &SlabKeyframe, groups: usize) -> Vec<BulkBody> {
    let SlabGeometry { width, height, slabs, .. } = keyframe.geometry;
    let places = keyframe.tiles.iter().map(|tile| (tile.lo, tile.slab));
    let list = tile_list([width, height], TILE_EDGE, slabs, places, groups);
    let prefix = |count: u16| key_prefix(&keyframe.camera, &keyframe.geometry, count);
    let tiles =
        bodies_of_groups(BulkKind::Slabs, &dealt(&keyframe.tiles, groups), prefix, |bytes, tile: &&SlabTile| {
            for n in [tile.slab, 0].iter().chain(&tile.lo).chain(&tile.size) {
                bytes.extend(n.to_le_bytes());
            }
            push_payload(bytes, &tile.payload);
        });
    list.chain(tiles).collect()
}

/// Bodies of a keyframe of scalar slabs, its tiles dealt to `groups` data connections in turn, after the list of them.
pub fn scalar_slab_bodies(keyframe: &ScalarKeyframe, groups: usize) -> Vec<BulkBody> {
    let SlabGeometry { width, height, slabs, .. } = keyframe.geometry;
    let places = keyframe.tiles.iter().map(|tile| (tile.lo, tile.face));
    let list = tile_list([width, height], TILE_EDGE, slabs + 1, places, groups);
    let prefix = |count: u16| {
        let mut bytes = key_prefix(&keyframe.camera, &keyframe.geometry, count);
        push_f32s(&mut bytes, &keyframe.edges);
        push_f32s(&mut bytes, &keyframe.range);
        bytes
    };
    let dealt = dealt(&keyframe.tiles, groups);
    let tiles = bodies_of_groups(BulkKind::ScalarSlabs, &dealt, prefix, |bytes, tile: &&FaceTile| {
        for n in [tile.face, 0].iter().chain(&tile.lo).chain(&tile.size) {
            bytes.extend(n.to_le_bytes());
        }
        push_payload(bytes, &tile.payload);
    });
    list.chain(tiles).collect()
}

/// Bodies of a keyframe of segments, its tiles dealt to `groups` data connections in turn, after the list of them.
pub fn segment_bodies(keyframe: &SegmentKeyframe, groups: usize) -> Vec<BulkBody> {
    let geometry = &keyframe.geometry;
    let places = keyframe.tiles.iter().map(|tile| (tile.lo, 0));
    let list = tile_list([geometry.width, geometry.height], geometry.tile_edge(), 1, places, groups);
    let prefix = |count: u16| {
        let mut bytes = Vec::new();
        push_camera(&mut bytes, &keyframe.camera);
        for n in [geometry.width, geometry.height, geometry.planes, count] {
            bytes.extend(n.to_le_bytes());
        }
        push_f32s(&mut bytes, &[geometry.near, geometry.spacing]);
        push_f32s(&mut bytes, &geometry.edges);
        push_f32s(&mut bytes, &geometry.range);
        bytes
    };
    let dealt = dealt(&keyframe.tiles, groups);
    let tiles = bodies_of_groups(BulkKind::Segments, &dealt, prefix, |bytes, tile: &&SegmentTile| {
        for n in tile.lo.iter().chain(&tile.size) {
            bytes.extend(n.to_le_bytes());
        }
        bytes.extend(tile.knots.to_le_bytes());
        push_payload(bytes, &tile.payload);
    });
    list.chain(tiles).collect()
}

/// The list of a keyframe's tiles of `edge` x `edge` rays in `layers` layers of `rays`, by their first rays and layers, for each connection: what is listed and
/// does not come is lost.
fn tile_list(
    rays: [u16; 2],
    edge: usize,
    layers: u16,
    tiles: impl Iterator<Item = ([u16; 2], u16)>,
    groups: usize,
) -> impl Iterator<Item = BulkBody> {
    // Tiles of colour begin with a texel of overlap.
    let across = |ray: u16| usize::from(ray).div_ceil(edge);
    let [columns, rows] = rays.map(across);
    let mut bits = vec![0_u8; (columns * rows * usize::from(layers)).div_ceil(8)];
    for (lo, layer) in tiles {
        let place = (usize::from(layer) * rows + across(lo[1])) * columns + across(lo[0]);
        bits[place / 8] |= 1 << (place % 8);
    }
    let mut bytes = Vec::new();
    push_u16s(&mut bytes, &[columns, rows, usize::from(layers), 0]);
    bytes.append(&mut bits);
    let bytes: Arc<[u8]> = bytes.into();
    (0..groups).map(move |group| BulkBody {
        kind: BulkKind::TileList,
        group,
        completes: false,
        bytes: Arc::clone(&bytes),
    })
}

/// The key view, its slabs, and how many tiles follow.
fn key_prefix(camera: &Camera, geometry: &SlabGeometry, count: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_camera(&mut bytes, camera);
    for n in [geometry.width, geometry.height, geometry.slabs, count] {
        bytes.extend(n.to_le_bytes());
    }
    push_f32s(&mut bytes, &geometry.normal);
    push_f32s(&mut bytes, &[geometry.near, geometry.far]);
    bytes
}

/// Bodies of a still, its tiles dealt to `groups` data connections in turn.
pub fn still_bodies(still: &Still, groups: usize) -> Vec<BulkBody> {
    let prefix = |count: u16| {
        let mut bytes = Vec::new();
        push_u16s(&mut bytes, &[still.width, still.height]);
        bytes.extend(count.to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes
    };
    bodies_of_groups(BulkKind::Still, &dealt(&still.tiles, groups), prefix, |bytes, tile: &&StillTile| {
        for n in [tile.x, tile.y, tile.width, tile.height] {
            bytes.extend(n.to_le_bytes());
        }
        push_payload(bytes, &tile.payload);
    })
}

fn dealt<T>(items: &[T], groups: usize) -> Vec<Vec<&T>> {
    (0..groups).map(|group| items.iter().skip(group).step_by(groups).collect()).collect()
}

/// Packs each group's items into messages; a group without items gets one empty message, so that its set completes.
fn bodies_of_groups<T>(
    kind: BulkKind,
    items_of_group: &[Vec<T>],
    prefix: impl Fn(u16) -> Vec<u8>,
    push_item: impl Fn(&mut Vec<u8>, &T),
) -> Vec<BulkBody> {
    let mut bodies = Vec::new();
    for (group, items) in items_of_group.iter().enumerate() {
        let mut rest = items.as_slice();
        loop {
            let mut packed = Vec::new();
            let mut count = 0;
            while count < rest.len() && count < usize::from(u16::MAX) && packed.len() < MESSAGE_BYTES {
                push_item(&mut packed, &rest[count]);
                count += 1;
            }
            rest = &rest[count..];
            let mut bytes = prefix(count as u16);
            bytes.append(&mut packed);
            bodies.push(BulkBody { kind, group, completes: rest.is_empty(), bytes: bytes.into() });
            if rest.is_empty() {
                break;
            }
        }
    }
    interleaved(bodies, items_of_group.len())
}

/// Orders bodies so that all connections are kept busy.
fn interleaved(bodies: Vec<BulkBody>, groups: usize) -> Vec<BulkBody> {
    let mut place_of_group = vec![0_usize; groups];
    let mut placed: Vec<(usize, BulkBody)> = bodies
        .into_iter()
        .map(|body| {
            place_of_group[body.group] += 1;
            (place_of_group[body.group], body)
        })
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, body)| body).collect()
}

fn push_camera(bytes: &mut Vec<u8>, camera: &Camera) {
    let angles = [camera.azimuth_deg, camera.elevation_deg, camera.distance, camera.fov_deg];
    push_f32s(bytes, &angles.map(|v| v as f32));
    push_f32s(bytes, &camera.target.map(|v| v as f32));
    push_f32s(bytes, &camera.stretch.map(|v| v as f32));
    let up: u32 = match camera.up {
        Up::Y => 1,
        Up::Z => 2,
    };
    bytes.extend(up.to_le_bytes());
    push_f32s(bytes, &camera.crop.as_flattened().iter().map(|v| *v as f32).collect::<Vec<_>>());
}

fn push_u16s(bytes: &mut Vec<u8>, values: &[usize]) {
    for &value in values {
        bytes.extend(u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes());
    }
}

fn push_f32s(bytes: &mut Vec<u8>, values: &[f32]) {
    for value in values {
        bytes.extend(value.to_le_bytes());
    }
}

fn push_payload(bytes: &mut Vec<u8>, payload: &[u8]) {
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brick(bytes: usize) -> EncodedBrick {
        EncodedBrick { lo: [0; 3], size: [1; 3], part: 0, range: [0.0, 1.0], predictor: 0, payload: vec![7; bytes] }
    }

    #[test]
    fn every_group_completes_even_without_bricks() {
        let bricks = [brick(10), brick(300 * 1024), brick(20)];
        let bodies = bricks_bodies(0, 8, [4, 4, 4], Some([0.0, 1.0]), &[bricks.iter().collect(), vec![]]);
        for group in 0..2 {
            let of_group: Vec<_> = bodies.iter().filter(|b| b.group == group).collect();
            assert!(of_group.last().unwrap().completes);
            assert_eq!(of_group.iter().filter(|b| b.completes).count(), 1);
        }
        let counts: u16 = bodies.iter().map(|b| u16::from_le_bytes([b.bytes[2], b.bytes[3]])).sum();
        assert_eq!(counts, 3);
    }

    #[test]
    fn each_connection_is_told_of_every_tile() {
        let tiles = [([0, 0], 0), ([63, 0], 1), ([0, 63], 1)];
        let lists: Vec<BulkBody> = tile_list([70, 65], TILE_EDGE, 2, tiles.into_iter(), 2).collect();
        assert_eq!(lists.iter().map(|list| (list.group, list.completes)).collect::<Vec<_>>(), [(0, false), (1, false)]);
        for list in lists {
            assert_eq!((list.kind, &list.bytes[..]), (BulkKind::TileList, &[2, 0, 2, 0, 2, 0, 0, 0, 0b0110_0001][..]));
        }
    }
}
