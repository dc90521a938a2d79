//! The vectors in `testdata/wire/`: what this code sends must be those bytes, and must mean what the `.json` beside them says.
//!
//! The page's tests read the same files. `VISAPULT_BLESS=1` writes them anew.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use visapult_pipeline::StepKey;
use visapult_pipeline::flow::{RunState, SteeringView};
use visapult_pipeline::wire::{
    Ack, Answer, AskClock, AskLifelines, AskSeries, AtStep, BulkHeader, Clock, Events, Field, FieldName, Freshness,
    FromPage, GridShape, MissingPart, Notice, PROTOCOL_VERSION, Plan, Planned, ProxyChoice, ProxyKind, Series,
    Severity, SourceShape, StageEvent, Steps, ToPage, Welcome, bricks_bodies, scalar_slab_bodies, segment_bodies,
    slab_bodies, still_bodies,
};
use visapult_publish::messages::AlongAxis;
use visapult_publish::{Action, Logged, Parameter, ParameterKind};
use visapult_render::{
    Camera, CodeBits, FaceTile, Image, KeyView, Knot, LevelCoding, Picked, PlaneDecoder, Pyramid, SegmentKey,
    SegmentTile, Still, TransferFunction, Up, Volume, encode_level, make_scalar_slabs, make_segments, make_slabs,
};
use visapult_volume::{Grid, ValueRange};

const SIZE: [usize; 3] = [6, 5, 4];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/wire")
}

/// Holds `bytes` and `meaning` against the files of that name, or writes them.
fn hold(name: &str, bytes: &[u8], meaning: &Value) {
    let (binary, text) = (folder().join(format!("{name}.bin")), folder().join(format!("{name}.json")));
    let meaning = serde_json::to_string(meaning).unwrap() + "\n";
    if std::env::var_os("VISAPULT_BLESS").is_some() {
        fs::create_dir_all(folder()).unwrap();
        fs::write(&binary, bytes).unwrap();
        fs::write(&text, &meaning).unwrap();
    }
    assert_eq!(fs::read(&binary).unwrap(), bytes, "{name}.bin differs from what is sent now");
    assert_eq!(fs::read_to_string(&text).unwrap(), meaning, "{name}.json differs from what is meant now");
}

/// A small field with missing values, exact in eighths.
fn volume() -> Volume {
    let [nx, ny, nz] = SIZE;
    let mut values: Vec<f32> =
        (0..nx * ny * nz).map(|i| ((i % nx) * (i % nx) + i / nx % ny) as f32 / 8.0 - (i / (nx * ny)) as f32).collect();
    values[7] = f32::NAN;
    values[8] = f32::INFINITY;
    Volume::whole(Grid::of_size(SIZE), values).unwrap()
}

fn header() -> BulkHeader {
    BulkHeader { field: 1, set: 0x0102_0304, step: 5_000_000_000, time: 0.25, view: 42 }
}

fn header_meaning() -> Value {
    json!({"completes": true, "field": 1, "set": 0x0102_0304, "step": 5_000_000_000_u64, "time": 0.25, "view": 42})
}

/// A number as JSON can hold it: no data is null.
fn number(value: f32) -> Value {
    if value.is_finite() { json!(value) } else { Value::Null }
}

fn hold_bricks(name: &str, level: u32, bits: CodeBits) {
    let volume = volume();
    let block = &volume.blocks()[0];
    let bricks = encode_level(block, &Pyramid::of(block, 2), LevelCoding::of_all(level, bits));
    let range = volume.range().map(|r| [r.lo, r.hi]);
    let size = visapult_volume::coarsened_size(SIZE, level);
    let bodies = bricks_bodies(level, bits.bits(), size, range, &[bricks.iter().collect()]);
    let decoded: Vec<Value> = bricks
        .iter()
        .map(|brick| {
            let values: Vec<Value> = brick.decode(bits).unwrap().into_iter().map(number).collect();
            json!({
                "lo": brick.lo, "size": brick.size, "part": brick.part, "range": brick.range.map(number), "values": values
            })
        })
        .collect();
    let meaning = json!({
        "header": header_meaning(), "level": level, "bits": bits.bits(), "size": size, "range": range, "bricks": decoded
    });
    hold(name, &header().message(&bodies[0]), &meaning);
}

#[test]
fn bricks_of_5_8_and_16_bits() {
    hold_bricks("bricks-5", 0, CodeBits::from_bits(5).unwrap());
    hold_bricks("bricks-8", 0, CodeBits::from_bits(8).unwrap());
    hold_bricks("bricks-16", 1, CodeBits::from_bits(16).unwrap());
}

fn key_camera() -> Camera {
    Camera {
        target: [0.0, 0.125, 0.0],
        stretch: [1.0, 1.0, 1.25],
        up: Up::Z,
        crop: [[0.0, 1.0], [0.125, 0.875], [0.25, 1.0]],
        ..Camera::default()
    }
}

#[test]
fn slabs() {
    let camera = key_camera();
    let key = KeyView { width: 70, height: 12, slabs: 3, ..KeyView::new(camera) };
    let transfer_function = TransferFunction::default_for(ValueRange { lo: -3.0, hi: 3.5 });
    let mut keyframe = make_slabs(&volume(), &key, &transfer_function, 1.0);
    keyframe.tiles.retain(|tile| tile.slab == 1);
    assert!(!keyframe.tiles.is_empty());
    keyframe.geometry.normal = [0.6, 0.0, -0.8];
    (keyframe.geometry.near, keyframe.geometry.far) = (2.25, 3.75);
    let tiles: Vec<Value> = keyframe
        .tiles
        .iter()
        .map(|tile| {
            let planes = tile.decode().unwrap();
            json!({"slab": tile.slab, "lo": tile.lo, "size": tile.size, "rgb": planes.rgb, "alpha": planes.alpha})
        })
        .collect();
    let geometry = &keyframe.geometry;
    let meaning = json!({
        "header": header_meaning(),
        "camera": {"azimuth": 30.0, "elevation": 20.0, "distance": 3.0, "fov": 30.0, "target": [0.0, 0.125, 0.0],
                   "stretch": [1.0, 1.0, 1.25], "up": "z", "crop": [[0.0, 1.0], [0.125, 0.875], [0.25, 1.0]]},
        "width": geometry.width, "height": geometry.height, "slabs": geometry.slabs,
        "normal": geometry.normal, "near": geometry.near, "far": geometry.far, "tiles": tiles
    });
    hold_framing("slabs", &header().message(&slab_bodies(&keyframe, 1)[1]), 80, &meaning);
}

#[test]
fn scalar_slabs() {
    let camera = key_camera();
    let key = KeyView { width: 70, height: 12, slabs: 3, ..KeyView::new(camera) };
    let mut keyframe = make_scalar_slabs(&volume(), &key, ValueRange { lo: -3.0, hi: 3.5 });
    keyframe.tiles.retain(|tile| tile.face == 2);
    assert!(!keyframe.tiles.is_empty());
    keyframe.geometry.normal = [0.6, 0.0, -0.8];
    (keyframe.geometry.near, keyframe.geometry.far) = (2.25, 3.75);
    keyframe.edges = [1.0, 0.75, 0.5];
    let tile = |tile: &FaceTile| {
        let codes = tile.decode().unwrap();
        json!({"face": tile.face, "lo": tile.lo, "size": tile.size, "codes": codes})
    };
    let geometry = &keyframe.geometry;
    let meaning = json!({
        "header": header_meaning(),
        "camera": {"azimuth": 30.0, "elevation": 20.0, "distance": 3.0, "fov": 30.0, "target": [0.0, 0.125, 0.0],
                   "stretch": [1.0, 1.0, 1.25], "up": "z", "crop": [[0.0, 1.0], [0.125, 0.875], [0.25, 1.0]]},
        "width": geometry.width, "height": geometry.height, "slabs": geometry.slabs,
        "normal": geometry.normal, "near": geometry.near, "far": geometry.far,
        "edges": keyframe.edges, "range": keyframe.range, "tiles": keyframe.tiles.iter().map(tile).collect::<Vec<_>>()
    });
    let bodies = scalar_slab_bodies(&keyframe, 1);
    hold(
        "tile-list",
        &header().message(&bodies[0]),
        &json!({
            "header": {"completes": false, "field": 1, "set": 0x0102_0304, "step": 5_000_000_000_u64, "time": 0.25, "view": 42},
            "columns": 2, "rows": 1, "layers": 4, "tiles": keyframe.tiles.iter().map(|tile| [tile.lo[0] / 64, tile.lo[1] / 64, tile.face]).collect::<Vec<_>>()
        }),
    );
    let message = header().message(&bodies[1]);
    hold_framing("scalar-slabs", &message, 100, &meaning);
}

#[test]
fn segments() {
    let camera = key_camera();
    let key = SegmentKey { camera, width: 70, height: 12, segments: 6 };
    let transfer_function = TransferFunction::default_for(ValueRange { lo: -3.0, hi: 3.5 });
    let range = ValueRange { lo: -3.0, hi: 3.5 };
    let shown = TransferFunction { range: Some([range.lo, range.hi]), ..transfer_function };
    let mut keyframe = make_segments(&volume(), &key, &shown, range);
    keyframe.geometry.edges = [1.0, 0.75, 0.5];
    (keyframe.geometry.near, keyframe.geometry.spacing) = (2.25, 0.125);
    let tile = |tile: &SegmentTile| {
        let knot = |knot: &Knot| json!([knot.plane, knot.code, u8::from(knot.starts_run)]);
        let ray = |knots: &Vec<Knot>| knots.iter().map(knot).collect::<Vec<_>>();
        let rays: Vec<_> = tile.decode().unwrap().iter().map(ray).collect();
        json!({"lo": tile.lo, "size": tile.size, "knots": tile.knots, "rays": rays})
    };
    let geometry = &keyframe.geometry;
    let meaning = json!({
        "header": header_meaning(),
        "camera": {"azimuth": 30.0, "elevation": 20.0, "distance": 3.0, "fov": 30.0, "target": [0.0, 0.125, 0.0],
                   "stretch": [1.0, 1.0, 1.25], "up": "z", "crop": [[0.0, 1.0], [0.125, 0.875], [0.25, 1.0]]},
        "width": geometry.width, "height": geometry.height, "planes": geometry.planes,
        "near": geometry.near, "spacing": geometry.spacing, "edges": geometry.edges, "range": geometry.range,
        "tiles": keyframe.tiles.iter().map(tile).collect::<Vec<_>>()
    });
    hold_framing("segments", &header().message(&segment_bodies(&keyframe, 1)[1]), 88, &meaning);
}

/// Texels come from floating-point ray casting, which may round otherwise on another processor: the bytes are written
/// once, and held to the framing only.
fn hold_framing(name: &str, bytes: &[u8], prefix: usize, meaning: &Value) {
    if std::env::var_os("VISAPULT_BLESS").is_some() {
        hold(name, bytes, meaning);
    }
    let kept = fs::read(folder().join(format!("{name}.bin"))).unwrap();
    let prefix = BulkHeader::BYTES + prefix;
    assert_eq!(kept[..prefix], bytes[..prefix]);
    let kept: Value = serde_json::from_slice(&fs::read(folder().join(format!("{name}.json"))).unwrap()).unwrap();
    let members = meaning.as_object().unwrap().iter().filter(|(member, _)| *member != "tiles");
    for (member, meant) in members {
        assert_eq!(kept[member], *meant, "{member}");
    }
}

#[test]
fn still() {
    let mut image = Image::transparent(5, 3);
    image.rgba[6] = [1.0, 0.5, 0.25, 1.0];
    image.rgba[14] = [0.0, 0.1, 0.2, 0.4];
    let still = Still::of(&image);
    let mut decoder = PlaneDecoder::new();
    let tiles: Vec<Value> = still
        .tiles
        .iter()
        .map(|tile| {
            let count = usize::from(tile.width) * usize::from(tile.height);
            decoder.open(&tile.payload, 4 * count, &[]).unwrap();
            let mut planes = vec![vec![0_u8; count]; 4];
            planes.iter_mut().for_each(|plane| decoder.read_image_8(plane, usize::from(tile.width)));
            let rgba: Vec<u8> = (0..count).flat_map(|i| planes.iter().map(move |plane| plane[i])).collect();
            json!({"lo": [tile.x, tile.y], "size": [tile.width, tile.height], "rgba": rgba})
        })
        .collect();
    let meaning = json!({"header": header_meaning(), "width": 5, "height": 3, "tiles": tiles});
    hold("still", &header().message(&still_bodies(&still, 1)[0]), &meaning);
}

#[test]
fn control_messages_to_the_page() {
    let grid = Grid { spacing: [1.0, 1.0, 2.5], unit: "mm".to_owned(), ..Grid::of_size(SIZE) };
    let depth = AlongAxis {
        name: "depth".to_owned(),
        unit: "m".to_owned(),
        values: vec![0.0, 0.5, 2.0, 10.5],
        is_vertical: true,
    };
    let welcome = Welcome {
        protocol: PROTOCOL_VERSION,
        server: "visapult 0.1.0".to_owned(),
        session: "9f3c".to_owned(),
        groups: 2,
        steers: true,
        trace: true,
        source: SourceShape {
            name: "wave".to_owned(),
            format: "demo".to_owned(),
            live: true,
            time_unit: "s".to_owned(),
            calendar: "noleap".to_owned(),
            grid: GridShape::from(&grid),
            along: [None, None, Some(depth)],
            fields: vec![FieldName { name: "pressure".to_owned(), unit: "Pa".to_owned() }],
            others: Some("Also there (open as run.nc:/PS): PS, TS (144 x 96)".to_owned()),
        },
        steps: Steps { first: 0, last: 12 },
    };
    let field = Field {
        field: 0,
        step: 12,
        provisional: true,
        range: Some([-1.0, 1.0]),
        extent: Some([-0.5, 0.75]),
        histogram: vec![0, 4, 8],
        finite: 12,
        missing: 3,
        transfer_function: TransferFunction { range: Some([-1.0, 1.0]), points: vec![[0.0, 0.25, 0.5, 0.75, 0.5]; 2] },
    };
    let plan = Plan {
        proxy: ProxyKind::Slabs,
        level: 2,
        bits: 8,
        reason: "slabs fit".to_owned(),
        throughput_bps: 8e8,
        bytes: 9_500_000,
    };
    let plan = Planned { view: 17, plan };
    let notice = Notice {
        severity: Severity::Error,
        text: "step 3 cannot be read".to_owned(),
        failed: Some(StepKey { field: 1, step: 3 }),
    };
    let steps = Steps { first: 3, last: 40 };
    hold("welcome", &ToPage::Welcome(Box::new(welcome.clone())).encode(), &json!(welcome));
    hold("steps", &ToPage::Steps(steps).encode(), &json!(steps));
    hold("field", &ToPage::Field(field.clone()).encode(), &json!(field));
    hold("plan", &ToPage::Plan(plan.clone()).encode(), &json!(plan));
    hold("notice", &ToPage::Notice(notice.clone()).encode(), &json!(notice));
}

#[test]
fn freshness() {
    let parts = vec![MissingPart { rank: 2, step: Some(118) }, MissingPart { rank: 3, step: None }];
    let told = Freshness { step: 121, fresh: 0.75, age_ms: 41.5, ranks: 64, missing: 2, parts, refused: None };
    hold("freshness", &ToPage::Freshness(told.clone()).encode(), &json!(told));
    let parts = vec![MissingPart { rank: 0, step: Some(121) }];
    let refused = Some("another grid: start the back end anew".to_owned());
    let told = Freshness { fresh: 1.0, ranks: 1, missing: 1, parts, refused, ..told };
    hold("refused", &ToPage::Freshness(told.clone()).encode(), &json!(told));
}

#[test]
fn lifelines_and_the_time() {
    let event = |stage: &str, member, start_ms| StageEvent {
        stage: stage.to_owned(),
        member,
        step: 120,
        start_ms,
        end_ms: start_ms + 0.25,
        bytes: 4096,
    };
    let events = Events { events: vec![event("render", 1, 5000.5), event("send", 3, 5001.0)] };
    hold("events", &ToPage::Events(events.clone()).encode(), &json!(events));
    let clock = Clock { asked_ms: 12.5, heard_ms: 5000.25, answered_ms: 5000.5 };
    hold("clock", &ToPage::Clock(clock).encode(), &json!(clock));
    let picked = Some(Picked { place: [12.5, 3.0, 0.25], value: Some(-1.5) });
    let answer = Answer { number: 5, field: 1, step: 120, time: Some(0.5), picked, problem: None };
    hold("picked", &ToPage::Picked(answer.clone()).encode(), &json!(answer));
    let at = |step, value| AtStep { step, time: Some(step as f64 / 240.0), value };
    let values = vec![at(0, Some(-1.5)), at(120, Some(2.25)), at(60, None)];
    let problem = Some("step 60 is damaged".to_owned());
    let series = Series { number: 6, field: 1, values, of: 121, is_over: false, problem };
    hold("series", &ToPage::Series(series.clone()).encode(), &json!(series));

    let from_page = |name: &str, kind, meaning: &Value| {
        let bytes = [vec![kind], meaning.to_string().into_bytes()].concat();
        hold(name, &bytes, meaning);
        FromPage::decode(&bytes)
    };
    let asked = from_page("ask-clock", 67, &json!({"asked_ms": 12.5}));
    assert_eq!(asked, Ok(FromPage::Clock(AskClock { asked_ms: 12.5 })));
    let stamp = |stage| json!({"stage": stage, "step": 120, "start_ms": 5002.5, "end_ms": 5004.0, "bytes": 9});
    let stamps = from_page("stamps", 68, &json!({"events": [stamp("viewer receipt"), stamp("drawn")]}));
    let Ok(FromPage::Stamps(stamps)) = stamps else { panic!("Stamps are Stamps: {stamps:?}") };
    assert_eq!((stamps.events[1].stage.as_str(), stamps.events[1].end_ms), ("drawn", 5004.0));
    let asked = from_page("ask-series", 71, &json!({"number": 6, "field": 1, "place": [12.5, 3.0, 0.25]}));
    assert_eq!(asked, Ok(FromPage::Series(AskSeries { number: 6, field: 1, place: Some([12.5, 3.0, 0.25]) })));
    let ended = FromPage::decode(&[&[71], &br#"{"number":7,"field":0,"place":null}"#[..]].concat());
    assert_eq!(ended, Ok(FromPage::Series(AskSeries { number: 7, field: 0, place: None })));
    let wanted = from_page("ask-lifelines", 69, &json!({"on": true}));
    assert_eq!(wanted, Ok(FromPage::Lifelines(AskLifelines { on: true })));
    let many = json!({"events": vec![stamp("drawn"); 65]}).to_string();
    let refused = FromPage::decode(&[&[68], many.as_bytes()].concat()).unwrap_err().to_string();
    assert!(refused.contains("65 stamps"), "{refused}");
}

#[test]
fn steering() {
    let parameter = |name: &str, unit: &str, kind, value| Parameter {
        name: name.to_owned(),
        unit: unit.to_owned(),
        kind,
        least: 0.0,
        most: 5.0,
        value,
    };
    let set = Action::Set { name: "strength".to_owned(), value: 2.5 };
    let logged = |who: &str, unix_s, action, at, problem: Option<&str>| Logged {
        who: who.to_owned(),
        unix_s,
        action,
        at,
        problem: problem.map(str::to_owned),
    };
    let view = SteeringView {
        parameters: vec![
            parameter("strength", "Pa", ParameterKind::Number, 2.5),
            parameter("sources", "", ParameterKind::Integer, 3.0),
        ],
        state: RunState::Paused,
        log: vec![
            logged("page 3fA9", 1_764_000_000.5, set.clone(), Some(120), None),
            logged("page 01ab", 1_764_000_001.25, Action::Pause, Some(125), None),
            logged("page 01ab", 1_764_000_002.0, Action::Step, None, Some("rank 2 is gone")),
            logged("page 3fA9", 1_764_000_003.0, Action::Stop, None, None),
        ],
    };
    hold("steering", &ToPage::Steering(Box::new(view.clone())).encode(), &json!(view));

    let meaning = json!(set);
    let mut bytes = vec![66];
    bytes.extend(meaning.to_string().into_bytes());
    hold("steer", &bytes, &meaning);
    assert_eq!(FromPage::decode(&bytes), Ok(FromPage::Steer(set)));
}

#[test]
fn messages_from_the_page() {
    let meaning = json!({
        "sequence": 17,
        "camera": {"azimuth": 30.5, "elevation": 20.0, "distance": 3.0, "fov": 30.0, "target": [0.0, 0.125, 0.0],
                   "stretch": [1.0, 1.0, 1.25], "up": "z", "crop": [[0.0, 1.0], [0.125, 0.875], [0.25, 1.0]]},
        "viewport": [1024, 768], "field": 0, "step": null, "moving": false, "proxy": "auto",
        "transfer_function": {"range": [-1.0, 1.0], "points": [[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]]}
    });
    let mut bytes = vec![64];
    bytes.extend(meaning.to_string().into_bytes());
    hold("view", &bytes, &meaning);
    let Ok(FromPage::View(view)) = FromPage::decode(&bytes) else { panic!("a View is a View") };
    assert_eq!((view.camera.azimuth_deg, view.viewport, view.proxy), (30.5, [1024, 768], ProxyChoice::Auto));

    let asked = json!({
        "number": 5,
        "ray": {"camera": meaning["camera"], "aspect": 1.5, "at": [0.25, 0.75]}
    });
    let mut bytes = vec![70];
    bytes.extend(asked.to_string().into_bytes());
    hold("pick", &bytes, &asked);
    let Ok(FromPage::Pick(pick)) = FromPage::decode(&bytes) else { panic!("a Pick is a Pick") };
    assert_eq!(json!(pick), asked);

    let ack = Ack { received_bytes: 0x0001_0203_0405 };
    hold("ack", &ack.encode(), &json!({"received_bytes": 0x0001_0203_0405_u64}));
    assert_eq!(FromPage::decode(&ack.encode()), Ok(FromPage::Ack(ack)));
}
