//! Several processes as one back end, here as threads: every value arrives where it belongs, and the pictures are those of one process.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use visapult_pipeline::flow::{FlowOptions, FlowSource, Watch};
use visapult_pipeline::wire::{Answer, Pick, PictureRay, ProxyChoice, Spot, View};
use visapult_pipeline::{
    BackEnd, BackEndConfig, Camera, Comm, Crew, Device, PipelineError, RenderConfig, RenderProxy, Rendered, Right,
    Source, TransferFunction, lend, lend_to, render,
};
use visapult_publish::{Delivery, Publisher, PublisherOptions};
use visapult_render::{CodeBits, Quality, Up};
use visapult_ripp_net::Options;
use visapult_volume::{Block, Box3, FieldInfo, Grid, ScalarType, StepIndex, StepSpan, ValueRange};
use visapult_volume_io::{ReadRequest, SourceError, SourceInfo};

const PATIENCE: Duration = Duration::from_secs(60);
const SIZE: [usize; 3] = [40, 36, 44];

/// Smooth, different in every step, and as many different values as samples.
fn value(step: StepIndex, [x, y, z]: [usize; 3]) -> f32 {
    let at = |n: usize, axis: usize| n as f32 / SIZE[axis] as f32;
    (at(x, 0) * 9.0 + step as f32).sin() * (at(y, 1) * 7.0).cos() + at(z, 2) * 0.5
}

fn values(step: StepIndex, bounds: &Box3) -> Vec<f32> {
    let [nx, ny, _] = bounds.size();
    let place = |i: usize| [bounds.lo[0] + i % nx, bounds.lo[1] + i / nx % ny, bounds.lo[2] + i / (nx * ny)];
    (0..bounds.volume()).map(|i| value(step, place(i))).collect()
}

/// Slabs of uneven thickness along x.
fn blocks(ranks: usize) -> Vec<Box3> {
    let cut = |i: usize| (i * i + i) * SIZE[0] / (ranks * ranks + ranks);
    let block = |i: usize| Box3::new([cut(i), 0, 0], [cut(i + 1), SIZE[1], SIZE[2]]);
    (0..ranks).map(block).collect()
}

/// What a rank publishes.
fn declared(rank: usize, blocks: &[Box3]) -> PublisherOptions {
    let field = FieldInfo {
        name: "a".to_owned(),
        unit: String::new(),
        scalar_type: ScalarType::F32,
        declared_range: Some(ValueRange { lo: -1.5, hi: 1.5 }),
    };
    PublisherOptions {
        rank: rank as u32,
        ranks: blocks.len() as u32,
        block: blocks[rank],
        time_unit: "s".to_owned(),
        ..PublisherOptions::of_simulation("test".to_owned(), Grid::of_size(SIZE), vec![field])
    }
}

/// Ranks of a simulation.
struct Ranks(Vec<(Publisher, Box3)>);

impl Ranks {
    /// Ranks that listen.
    fn new(ranks: usize) -> Self {
        Self::delivering(ranks, Delivery::Newest)
    }

    fn delivering(ranks: usize, delivery: Delivery) -> Self {
        let blocks = blocks(ranks);
        let at = "127.0.0.1:0".parse().unwrap();
        let declared = |rank| PublisherOptions { delivery, ..declared(rank, &blocks) };
        let listen = |rank| Publisher::listen(at, "127.0.0.1", None, declared(rank)).unwrap();
        Self((0..ranks).map(|rank| (listen(rank), blocks[rank])).collect())
    }

    fn urls(&self) -> String {
        self.0.iter().map(|(publisher, _)| publisher.url().unwrap().to_string()).collect::<Vec<_>>().join(" ")
    }

    fn put(&mut self, step: StepIndex) {
        for (publisher, block) in &mut self.0 {
            publisher.begin_at(step, step as f64).unwrap();
            let write = |out: &mut [f32]| -> Result<(), ()> {
                out.copy_from_slice(&values(step, block));
                Ok(())
            };
            publisher.put(0, write).unwrap().unwrap();
            publisher.end().unwrap();
        }
    }
}

/// Ends the run for all when it is dropped: a test that fails leaves nobody waiting.
struct Head(Arc<Crew>);

impl Drop for Head {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs `head` in the first of some processes and `hand` in the others.
fn together<R>(
    processes: usize,
    pes: usize,
    hand: impl Fn(&Arc<Crew>) + Sync,
    head: impl FnOnce(&Arc<Crew>) -> R,
) -> R {
    let mut comms = Comm::threads(processes);
    let first = comms.remove(0);
    thread::scope(|scope| {
        for comm in comms {
            scope.spawn(|| hand(&Crew::of(comm, 1, Vec::new()).unwrap().unwrap()));
        }
        let crew = Head(Crew::of(first, pes, Vec::new()).unwrap().unwrap());
        head(&crew.0)
    })
}

fn config(source: &str, pes: usize, crew: Option<&Arc<Crew>>) -> BackEndConfig {
    BackEndConfig { source: source.to_owned(), pes, threads: 2, device: Device::Cpu, crew: crew.cloned() }
}

fn rendered(source: &str, pes: usize, crew: Option<&Arc<Crew>>, proxy: RenderProxy) -> Result<Rendered, PipelineError> {
    let points = vec![[0.0, 0.1, 0.3, 0.9, 0.4], [0.5, 0.9, 0.9, 0.9, 0.0], [1.0, 0.9, 0.3, 0.1, 0.7]];
    render(&RenderConfig {
        back_end: config(source, pes, crew),
        field: None,
        step: None,
        size: [180, 140],
        camera: Camera {
            azimuth_deg: 130.0,
            elevation_deg: -25.0,
            stretch: [0.5, 1.0, 1.5],
            crop: [[0.0, 0.75], [0.25, 1.0], [0.0, 1.0]],
            up: Up::Z,
            ..Camera::default()
        },
        transfer_function: Some(TransferFunction { range: None, points }),
        sample_step: 1.0,
        proxy,
        memory: None,
    })
}

const SEGMENTS: RenderProxy = RenderProxy::Segments { key_deg: [120.0, -20.0], segments: 64 };
const SCALAR: RenderProxy = RenderProxy::ScalarSlabs { key_deg: [120.0, -20.0], slabs: None };
const SLABS: RenderProxy = RenderProxy::Slabs { key_deg: [120.0, -20.0], slabs: 24 };

fn assert_same_pictures(ranks: usize, pes: usize, processes: usize) {
    let mut simulation = Ranks::new(ranks);
    simulation.put(3);
    let urls = simulation.urls();
    let bricks = RenderProxy::Bricks { level: 0, bits: CodeBits::EIGHT };
    let proxies = [(RenderProxy::Exact, 60.0), (SLABS, 60.0), (bricks, 50.0), (SEGMENTS, 40.0), (SCALAR, 100.0)];
    for (proxy, least_db) in proxies {
        let alone = rendered(&urls, pes, None, proxy).unwrap();
        let hand = |crew: &Arc<Crew>| lend_to(crew, &config(&urls, crew.pes(), Some(crew))).unwrap();
        let shared = together(processes, pes, hand, |crew| rendered(&urls, pes, Some(crew), proxy).unwrap());
        let quality = Quality::of(&shared.image, &alone.image).unwrap();
        assert!(quality.psnr_db >= least_db, "{proxy:?} of {processes} processes: {quality:?}");
        // What lies behind what another process has is cast, too.
        assert!(shared.statistics.samples >= alone.statistics.samples);
        assert!(alone.image.rgba.iter().any(|pixel| pixel[3] > 0.1), "nothing to be seen");
    }
}

#[test]
fn four_ranks_to_three_pes_in_three_processes_make_the_picture_of_one() {
    assert_same_pictures(4, 3, 3);
}

#[test]
fn two_ranks_to_seven_pes_in_two_processes_make_the_picture_of_one() {
    assert_same_pictures(2, 7, 2);
}

#[test]
fn more_processes_than_pes_make_the_picture_of_one() {
    assert_same_pictures(1, 2, 3);
}

#[test]
fn proxies_are_chosen_by_what_all_processes_predict() {
    let mut simulation = Ranks::new(2);
    simulation.put(3);
    let urls = simulation.urls();
    let auto = RenderProxy::Auto { key_deg: [120.0, -20.0], budget: 1_000_000 };
    let candidates = |rendered: Rendered| {
        let candidates = rendered.statistics.choice.unwrap().candidates.into_iter();
        candidates.map(|of| (of.proxy, (of.wire_bytes, of.psnr_db.unwrap()))).collect::<BTreeMap<_, _>>()
    };
    let alone = candidates(rendered(&urls, 4, None, auto).unwrap());
    let hand = |crew: &Arc<Crew>| lend_to(crew, &config(&urls, crew.pes(), Some(crew))).unwrap();
    let shared = candidates(together(2, 4, hand, |crew| rendered(&urls, 4, Some(crew), auto).unwrap()));
    assert!(shared.keys().eq(alone.keys()), "{shared:?} {alone:?}");
    for (proxy, (bytes, _)) in &shared {
        let ratio = *bytes as f64 / alone[proxy].0 as f64;
        assert!((0.5..2.0).contains(&ratio), "{proxy}: {bytes} bytes of {}", alone[proxy].0);
    }
}

/// A flow of which everything that is read is held against what was published.
struct Checked<'a> {
    flow: FlowSource,
    seen: &'a Seen,
}

#[derive(Default)]
struct Seen {
    right: Mutex<BTreeSet<(StepIndex, [usize; 3])>>,
    wrong: Mutex<Vec<String>>,
}

impl Source for Checked<'_> {
    fn info(&self) -> &SourceInfo {
        self.flow.info()
    }

    fn steps(&self) -> StepSpan {
        self.flow.steps()
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        self.flow.read(request, out)?;
        if out == values(request.step, &request.bounds) {
            self.seen.right.lock().unwrap().insert((request.step, request.bounds.lo));
        } else {
            self.seen.wrong.lock().unwrap().push(format!("step {}, box {}", request.step, request.bounds));
        }
        Ok(())
    }
}

/// A flow of which nothing can be read.
struct Unreadable(FlowSource);

impl Source for Unreadable {
    fn info(&self) -> &SourceInfo {
        self.0.info()
    }

    fn steps(&self) -> StepSpan {
        self.0.steps()
    }

    fn read(&self, _: &ReadRequest, _: &mut [f32]) -> Result<(), SourceError> {
        Err(SourceError::Request { name: "this".to_owned(), problem: "it cannot be read".to_owned() })
    }
}

#[test]
fn a_picture_of_which_a_part_is_missing_is_an_error() {
    let mut simulation = Ranks::new(2);
    simulation.put(4);
    let urls = simulation.urls();
    let hand = |crew: &Arc<Crew>| {
        let options = FlowOptions { pes: crew.pes(), crew: Some(Arc::clone(crew)), ..FlowOptions::default() };
        let open = || {
            let flow = FlowSource::dial(&urls, options)?;
            Ok(if crew.rank() == 1 { Box::new(Unreadable(flow)) as Box<dyn Source> } else { Box::new(flow) })
        };
        lend(crew, &config("", crew.pes(), Some(crew)), open).unwrap();
    };
    for proxy in [RenderProxy::Exact, SLABS, RenderProxy::Bricks { level: 0, bits: CodeBits::EIGHT }, SEGMENTS, SCALAR]
    {
        let problem = together(3, 6, hand, |crew| rendered(&urls, 6, Some(crew), proxy).unwrap_err());
        assert!(problem.to_string().contains("step 4 is not whole: process 1 of the back end"), "{problem}");
    }
}

fn assert_every_value_is_right(ranks: usize, pes: usize, processes: usize) {
    let mut simulation = Ranks::new(ranks);
    simulation.put(5);
    let urls = simulation.urls();
    // Sources live as long as the program.
    let seen: &'static Seen = Box::leak(Box::default());
    let hand = |crew: &Arc<Crew>| {
        let options = FlowOptions { pes: crew.pes(), crew: Some(Arc::clone(crew)), ..FlowOptions::default() };
        let open = || Ok(Box::new(Checked { flow: FlowSource::dial(&urls, options)?, seen }) as Box<dyn Source>);
        lend(crew, &config("", crew.pes(), Some(crew)), open).unwrap();
    };
    together(processes, pes, hand, |crew| {
        let back_end = BackEnd::open_for(Watch::First, &config(&urls, pes, Some(crew))).unwrap();
        let step = load_newest(&back_end);
        let (volume, bounds) = (&step.volume, Box3::of_size(SIZE));
        assert_eq!(step.key.step, 5);
        assert_eq!(step.statistics.finite, bounds.volume() as u64);
        for block in volume.blocks() {
            assert!(block.values[..] == values(5, &block.stored), "wrong values in box {}", block.stored);
        }
        let stored = |owned: &Box3| Block::stored_for(owned, &bounds).lo;
        let all: BTreeSet<_> = volume.decomposition().boxes().iter().map(|owned| (5, stored(owned))).collect();
        let own: BTreeSet<_> = volume.blocks().iter().map(|block| (5, block.stored.lo)).collect();
        let others = seen.right.lock().unwrap().clone();
        assert_eq!(all, &own | &others);
        assert!(own.is_disjoint(&others), "a PE of two processes");
        assert_eq!(seen.wrong.lock().unwrap().as_slice(), [] as [String; 0]);
    });
}

fn load_newest(back_end: &Arc<BackEnd>) -> Arc<visapult_pipeline::LoadedStep> {
    let step = back_end.steps().last;
    back_end.load(visapult_pipeline::StepKey { field: 0, step }).unwrap()
}

#[test]
fn four_ranks_to_three_processes_are_right_bit_for_bit() {
    assert_every_value_is_right(4, 3, 3);
}

#[test]
fn two_ranks_to_seven_pes_of_three_processes_are_right_bit_for_bit() {
    assert_every_value_is_right(2, 7, 3);
}

/// What a page is told that asks these one after the other.
fn told(back_end: &Arc<BackEnd>, spots: &[Spot]) -> Vec<Answer> {
    const KIND_PICKED: u8 = 10;
    let (say, control) = mpsc::channel();
    let sink = move |message: Vec<u8>| say.send(message).is_ok();
    let session = back_end.begin_session("page".to_owned(), Right::Watch, Box::new(sink));
    let points = vec![[0.0, 0.1, 0.3, 0.9, 0.0], [0.6, 0.9, 0.9, 0.9, 0.0], [1.0, 0.9, 0.3, 0.1, 0.7]];
    let view = View {
        sequence: 1,
        camera: Camera::default(),
        viewport: [180, 140],
        field: 0,
        step: None,
        moving: false,
        proxy: ProxyChoice::Bricks,
        transfer_function: TransferFunction { range: Some([-1.5, 1.5]), points },
    };
    session.on_view(view).unwrap();
    let ask = |(number, spot): (usize, &Spot)| {
        session.on_pick(Pick { number: number as u32, spot: spot.clone() });
        let messages = std::iter::from_fn(|| control.recv_timeout(PATIENCE).ok());
        let message = messages.into_iter().find(|message| message[0] == KIND_PICKED).unwrap();
        serde_json::from_slice(&message[1..]).unwrap()
    };
    spots.iter().enumerate().map(ask).collect()
}

#[test]
fn a_value_that_a_page_points_at_is_told_whichever_process_has_it() {
    let mut simulation = Ranks::new(2);
    simulation.put(5);
    let urls = simulation.urls();
    let places = [[0, 0, 0], [39, 35, 43], [20, 3, 40], [3, 30, 20], [33, 18, 5]];
    let rays = (0..25).map(|i| [f64::from(i % 5) / 4.0, f64::from(i / 5) / 4.0]);
    let spots: Vec<Spot> = (places.iter().map(|place| Spot::Place(place.map(|n| n as f64))))
        .chain(rays.map(|at| Spot::Ray(PictureRay { camera: Camera::default(), aspect: 1.25, at })))
        .collect();
    let asked = |crew: Option<&Arc<Crew>>| {
        let back_end = BackEnd::open_for(Watch::First, &config(&urls, 5, crew)).unwrap();
        load_newest(&back_end);
        let answers = told(&back_end, &spots);
        back_end.close();
        answers
    };
    let alone = asked(None);
    let hand = |crew: &Arc<Crew>| lend_to(crew, &config(&urls, crew.pes(), Some(crew))).unwrap();
    let shared = together(3, 5, hand, |crew| asked(Some(crew)));
    for (i, (shared, alone)) in shared.iter().zip(&alone).enumerate() {
        assert_eq!(shared, alone, "{:?}", spots[i]);
        assert_eq!((shared.step, &shared.problem), (5, &None));
        if let Some(place) = places.get(i) {
            assert_eq!(shared.picked.unwrap().value, Some(value(5, *place)));
        }
    }
    let seen = alone[places.len()..].iter().filter(|answer| answer.picked.is_some()).count();
    assert!((5..25).contains(&seen), "{seen}");
}

#[test]
fn what_a_process_that_leaves_had_is_shown_by_the_others() {
    let mut simulation = Ranks::new(2);
    simulation.put(0);
    let urls = simulation.urls();
    let leaving: Mutex<Option<Arc<Crew>>> = Mutex::default();
    let hand = |crew: &Arc<Crew>| {
        if crew.rank() == 1 {
            *leaving.lock().unwrap() = Some(Arc::clone(crew));
        }
        lend_to(crew, &config(&urls, crew.pes(), Some(crew))).unwrap();
    };
    together(3, 6, hand, |crew| {
        let options = FlowOptions { pes: 6, crew: Some(Arc::clone(crew)), ..FlowOptions::default() };
        let flow = FlowSource::dial(&urls, options).unwrap();
        let _look = flow.handle().look();
        let back_end = BackEnd::over(flow, &config("", 6, Some(crew))).unwrap();
        assert_eq!(load_newest(&back_end).volume.blocks().len(), 2);
        leaving.lock().unwrap().take().unwrap().end();
        // Nothing is published meanwhile: the same step comes again, over three PEs each.
        let deadline = Instant::now() + PATIENCE;
        let step = loop {
            // Waits for it itself, where it is not there.
            match back_end.load(visapult_pipeline::StepKey { field: 0, step: 0 }) {
                Ok(step) if step.volume.blocks().len() == 3 && step.statistics.finite == (40 * 36 * 44) => break step,
                _ => assert!(Instant::now() < deadline, "the step never came again"),
            }
        };
        assert_eq!(step.statistics.missing, 0);
        for block in step.volume.blocks() {
            assert!(block.values[..] == values(0, &block.stored), "wrong values in box {}", block.stored);
        }
        // And the simulation goes on.
        for next in 1.. {
            simulation.put(next);
            if back_end.store().source().wait_beyond(0, Duration::from_millis(5)) > 0 {
                break;
            }
            assert!(Instant::now() < deadline, "no step came after the first");
        }
        let newest = load_newest(&back_end);
        assert_eq!(newest.statistics.finite, 40 * 36 * 44);
    });
}

#[test]
fn processes_that_were_asked_for_different_things_do_nothing() {
    let of = |(rank, comm)| {
        let asked = vec![if rank == 1 { "this" } else { "that" }.to_owned()];
        Crew::of(comm, 1, asked).unwrap_err().to_string()
    };
    thread::scope(|scope| {
        let comms = Comm::threads(3).into_iter().enumerate();
        let refused: Vec<_> = comms.map(|comm| scope.spawn(move || of(comm))).collect();
        for refused in refused {
            assert!(refused.join().unwrap().contains("process 1 was started with other words"));
        }
    });
}

/// A file of so many samples along each axis, all of them 1.
fn ones(folder: &Path, edge: usize) -> String {
    let folder = folder.join(edge.to_string());
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("ones.raw"), bytemuck::cast_slice(&vec![1.0_f32; edge.pow(3)])).unwrap();
    let description = format!(r#"{{"file": "ones.raw", "type": "f32", "size": [{edge}, {edge}, {edge}]}}"#);
    let path = folder.join("ones.json");
    fs::write(&path, description).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_process_that_reads_another_file_leaves_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (shown, other) = (ones(folder.path(), 48), ones(folder.path(), 40));
    let hand = |crew: &Arc<Crew>| {
        let read = if crew.rank() == 1 { &other } else { &shown };
        let outcome = lend_to(crew, &config(read, crew.pes(), Some(crew))).map_err(|problem| problem.to_string());
        match crew.rank() {
            1 => assert!(outcome.unwrap_err().contains("40 x 40 x 40 point samples")),
            _ => outcome.unwrap(),
        }
    };
    together(3, 6, hand, |crew| {
        let back_end = BackEnd::open(&config(&shown, 6, Some(crew))).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let key = visapult_pipeline::StepKey { field: 0, step: 0 };
        // Once the two others have its PEs.
        while back_end.load(key).unwrap().volume.blocks().len() < 3 {
            assert!(Instant::now() < deadline, "it is still there");
        }
        assert_eq!(back_end.load(key).unwrap().statistics.finite, 48 * 48 * 48);
    });
}

#[test]
fn a_process_that_keeps_the_others_waiting_is_given_fewer_pes() {
    let mut simulation = Ranks::new(2);
    simulation.put(0);
    let urls = simulation.urls();
    let hand = |crew: &Arc<Crew>| {
        // Its part of a step, a megabit, takes most of the time until the next.
        let session = Options { most_receive_bps: 16_000_000, ..Options::default() };
        let options = FlowOptions { pes: crew.pes(), crew: Some(Arc::clone(crew)), session, ..FlowOptions::default() };
        let open = || Ok(Box::new(FlowSource::dial(&urls, options)?) as Box<dyn Source>);
        lend(crew, &config("", crew.pes(), Some(crew)), open).unwrap();
    };
    together(2, 8, hand, |crew| {
        let options = FlowOptions { pes: 8, crew: Some(Arc::clone(crew)), ..FlowOptions::default() };
        let flow = FlowSource::dial(&urls, options).unwrap();
        let _look = flow.handle().look();
        let back_end = BackEnd::over(flow, &config("", 8, Some(crew))).unwrap();
        assert_eq!(load_newest(&back_end).volume.blocks().len(), 4);
        let deadline = Instant::now() + PATIENCE;
        let more = (1..).find_map(|next| {
            assert!(Instant::now() < deadline, "no PE was taken from the slow process");
            simulation.put(next);
            let shown = back_end.steps().last;
            let step = back_end.store().source().wait_beyond(shown, Duration::from_millis(100));
            // It may be gone meanwhile.
            let step = back_end.load(visapult_pipeline::StepKey { field: 0, step }).ok()?;
            (step.volume.blocks().len() > 4).then_some(step)
        });
        assert_eq!(more.unwrap().statistics.finite, 40 * 36 * 44);
    });
}

/// A hand that ranks dial.
fn listening_hand(crew: &Arc<Crew>) {
    let options = FlowOptions { pes: crew.pes(), crew: Some(Arc::clone(crew)), ..FlowOptions::default() };
    let open = || {
        let mut door = FlowSource::listen("127.0.0.1:0".parse().unwrap(), "127.0.0.1", None, options)?;
        loop {
            match door.wait(PATIENCE)? {
                Ok(source) => return Ok(Box::new(source) as Box<dyn Source>),
                Err(waiting) => door = waiting,
            }
            assert!(!crew.is_over(), "the back end has ended");
        }
    };
    lend(crew, &config("", crew.pes(), Some(crew)), open).unwrap();
}

/// Does a step after the other until one is shown of whose values such a share is its own.
fn share_comes(source: &FlowSource, is_wanted: impl Fn(f64) -> bool, mut do_step: impl FnMut()) -> bool {
    let deadline = Instant::now() + PATIENCE;
    let mut shown = source.steps().last;
    while Instant::now() < deadline {
        do_step();
        let before = shown;
        shown = source.wait_beyond(before, Duration::from_millis(10));
        if shown > before && source.fresh(shown).is_some_and(&is_wanted) {
            return true;
        }
    }
    false
}

#[test]
fn a_rank_that_dials_may_leave_and_come_back_with_the_others_or_behind_them() {
    together(3, 6, listening_hand, |crew| {
        let options = FlowOptions { pes: 6, crew: Some(Arc::clone(crew)), ..FlowOptions::default() };
        let door = FlowSource::listen("127.0.0.1:0".parse().unwrap(), "127.0.0.1", None, options).unwrap();
        let (url, blocks) = (door.url().clone(), blocks(3));
        let dial = |rank: usize| (Publisher::dial(&url, declared(rank, &blocks)).unwrap(), blocks[rank]);
        let mut simulation = Ranks((0..3).map(dial).collect());
        simulation.put(0);
        let Ok(source) = door.wait(PATIENCE).unwrap() else { panic!("the ranks never came") };
        let step = Cell::new(0);
        let next = |simulation: &mut Ranks| {
            step.set(step.get() + 1);
            simulation.put(step.get());
        };
        let (is_whole, has_hole) = (|fresh| fresh == 1.0, |fresh| fresh < 1.0);
        assert!(share_comes(&source, is_whole, || next(&mut simulation)), "no whole step came");
        drop(simulation.0.remove(1));
        assert!(share_comes(&source, has_hole, || next(&mut simulation)), "the others did not go on");
        simulation.0.insert(1, dial(1));
        assert!(share_comes(&source, is_whole, || next(&mut simulation)), "it did not come back");

        drop(simulation.0.remove(1));
        assert!(share_comes(&source, has_hole, || next(&mut simulation)), "the others did not go on again");
        (0..100).for_each(|_| next(&mut simulation));
        let (comings, deadline) = (source.handle().comings(), Instant::now() + PATIENCE);
        let mut late = Ranks(vec![dial(1)]);
        while source.handle().comings() == comings {
            assert!(Instant::now() < deadline, "it is not let in");
            thread::yield_now();
        }
        let mut behind = 0;
        for _ in 0..5 {
            let both = || {
                late.put(behind);
                behind = (behind + 1).min(50);
                next(&mut simulation);
            };
            assert!(share_comes(&source, has_hole, both), "the others wait for who is at step {behind}");
        }
        (behind..=step.get()).for_each(|step| late.put(step));
        simulation.0.extend(late.0);
        assert!(share_comes(&source, is_whole, || next(&mut simulation)), "it did not catch up");
    });
}

#[test]
fn where_every_step_is_to_arrive_it_does_though_one_process_is_slow() {
    const STEPS: StepIndex = 40;
    let simulation = Ranks::delivering(2, Delivery::EveryFromFirst);
    let urls = simulation.urls();
    // Each rank waits for the back end by itself.
    let run = |(publisher, block)| {
        let mut rank = Ranks(vec![(publisher, block)]);
        thread::spawn(move || (0..STEPS).for_each(|step| rank.put(step)))
    };
    let ranks: Vec<_> = simulation.0.into_iter().map(run).collect();
    let hand = |crew: &Arc<Crew>| {
        let most_receive_bps = if crew.rank() == 2 { 20_000_000 } else { 0 };
        let session = Options { most_receive_bps, ..Options::default() };
        let options = FlowOptions { pes: crew.pes(), crew: Some(Arc::clone(crew)), session, ..FlowOptions::default() };
        let open = || Ok(Box::new(FlowSource::dial(&urls, options)?) as Box<dyn Source>);
        lend(crew, &config("", crew.pes(), Some(crew)), open).unwrap();
    };
    together(3, 6, hand, |crew| {
        let options = FlowOptions { pes: 6, crew: Some(Arc::clone(crew)), ..FlowOptions::default() };
        let flow = FlowSource::dial(&urls, options).unwrap();
        let back_end = BackEnd::over(flow, &config("", 6, Some(crew))).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut come = back_end.steps().last;
        while come < STEPS - 1 {
            assert!(Instant::now() < deadline, "no step after {come} came");
            come = back_end.store().source().wait_beyond(come, Duration::from_millis(100));
        }
        assert_eq!(back_end.steps(), StepSpan { first: 0, last: STEPS - 1 });
        for step in 0..STEPS {
            let loaded = back_end.load(visapult_pipeline::StepKey { field: 0, step }).unwrap();
            assert_eq!((step, loaded.statistics.finite), (step, 40 * 36 * 44));
            for block in loaded.volume.blocks() {
                assert!(
                    block.values[..] == values(step, &block.stored),
                    "wrong values in step {step}, box {}",
                    block.stored
                );
            }
        }
        ranks.into_iter().for_each(|rank| rank.join().unwrap());
    });
}
