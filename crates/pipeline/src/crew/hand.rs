//! A hand: does what the head says until the back end ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use rayon::ThreadPool;
use visapult_comm::CommError;
use visapult_publish::ClockOfBackEnd;
use visapult_render::{
    Camera, CodeBits, KeyView, LevelCoding, SegmentKey, Subject, make_segments, scalar_slab_parts, visible_depths,
};
use visapult_volume::ValueRange;
use visapult_volume_io::Source;

use super::bytes::Writer;
use super::messages::{Message, News, OfStep, Order, Question, What};
use super::step::in_words;
use super::{Crew, POLL, TAG};
use crate::back_end::rendering_threads;
use crate::config::BackEndConfig;
use crate::error::PipelineError;
use crate::lock::lock;
use crate::making::encode_own;
use crate::picking::parts_at;
use crate::statistics::count;
use crate::step_store::{LoadedStep, StepKey, StepStore};

/// The hand, once its source is open; none where it could not be opened.
type Opened = Arc<OnceLock<Option<Hand>>>;

struct Hand {
    crew: Arc<Crew>,
    store: StepStore,
    pool: ThreadPool,
}

/// Lends a hand to the head of `crew` until the back end ends: with the PEs of this process of the source that `open` opens.
///
/// # Errors
/// If the source cannot be opened, or the head is gone.
pub fn lend(
    crew: &Arc<Crew>,
    config: &BackEndConfig,
    open: impl FnOnce() -> Result<Box<dyn Source>, PipelineError>,
) -> Result<(), PipelineError> {
    let hand = Opened::default();
    let listening = thread::spawn({
        let (crew, hand) = (Arc::clone(crew), Arc::clone(&hand));
        move || listen(&crew, &hand)
    });
    let opened = open().and_then(|source| {
        let store = StepStore::fitting(source, config.pes, Some(Arc::clone(crew)))?;
        Ok(Hand { crew: Arc::clone(crew), store, pool: rendering_threads(config.threads)? })
    });
    let (opened, problem) = opened.map_or_else(|problem| (None, Some(problem)), |opened| (Some(opened), None));
    let _ = hand.set(opened);
    if let Some(problem) = problem.filter(|_| !crew.is_over()) {
        crew.leave(&problem.to_string());
        crew.end();
        return Err(problem);
    }
    let outcome = listening.join().unwrap_or(Err(CommError::Aborted));
    // From here on it waits for the others: nobody is to wait for what it received.
    drop(hand);
    if let Err(cause @ CommError::TakenForLost) = &outcome {
        tracing::warn!("process {} of the back end: {cause}", crew.rank());
    }
    crew.end();
    match (crew.trouble.get(), outcome) {
        (Some(trouble), _) => Err(PipelineError::Option(trouble.clone())),
        (None, Ok(()) | Err(CommError::TakenForLost)) => Ok(()),
        (None, Err(cause)) => Err(PipelineError::Option(format!("the back end's first process is gone: {cause}"))),
    }
}

fn listen(crew: &Arc<Crew>, hand: &Opened) -> Result<(), CommError> {
    let mut clock = ClockOfBackEnd::default();
    let outcome = loop {
        if crew.is_over() {
            break Ok(());
        }
        if let Some(asked) = clock.question() {
            crew.report(&News::Clock { asked });
        }
        match crew.with(|comm| comm.receive_within(0, TAG, POLL)) {
            Ok(Some(bytes)) => match Message::of(&bytes) {
                Some(Message::Note(note)) => match serde_json::from_slice(note) {
                    Ok(Order::End) => break Ok(()),
                    Ok(Order::Clock { asked, heard, answered }) => clock.on_answer(asked, heard, answered),
                    Ok(order) => obey(crew, order),
                    Err(cause) => tracing::warn!("the back end's first process is not understood: {cause}"),
                },
                Some(Message::Work(number, body)) => work(crew, hand, number, body.to_vec()),
                Some(Message::Part(number, body)) => crew.exchange.put(number, 0, body.to_vec()),
                None => tracing::warn!("the back end's first process sends what is no message"),
            },
            Ok(None) => {}
            Err(_) if crew.is_over() => break Ok(()),
            Err(cause) => break Err(cause),
        }
    };
    crew.be_over();
    outcome
}

fn obey(crew: &Arc<Crew>, order: Order) {
    match order {
        Order::Members(membership) => {
            let change = || {
                lock(&crew.membership).clone_from(&membership);
                Some(membership)
            };
            match crew.flow.get().and_then(Weak::upgrade) {
                Some(flow) => flow.change_members(change),
                None => drop(change()),
            }
        }
        Order::Want { step, fields } => crew.with_flow(|flow| flow.on_want(step, fields)),
        Order::Forget { step } => crew.with_flow(|flow| flow.forget(step)),
        Order::Clock { .. } | Order::End => {}
    }
}

/// Answers on a thread of its own: several sessions ask at once. What cannot be answered is answered with nothing.
fn work(crew: &Arc<Crew>, hand: &Opened, number: u64, question: Vec<u8>) {
    let (crew, hand) = (Arc::clone(crew), Arc::clone(hand));
    thread::spawn(move || {
        let question = serde_json::from_slice::<Question>(&question).ok();
        let answer = |question| catch_unwind(AssertUnwindSafe(|| hand.wait().as_ref()?.answer(question))).ok()?;
        let answer = question.and_then(answer);
        let body = answer.map(|writer| writer.0).unwrap_or_default();
        crew.send_or_nothing(0, |body| Message::Work(number, body), &body);
    });
}

impl Hand {
    fn answer(&self, question: Question) -> Option<Writer> {
        let info = self.store.source().info();
        let own = in_words(info, question.field).unwrap_or_else(|| "fewer fields".to_owned());
        if own != question.shown {
            self.crew.leave(&format!("{} is another there: it has {own}, and not {}", info.name, question.shown));
            return None;
        }
        let step = self.load(StepKey { field: question.field, step: question.step });
        let volume = step.as_ref().map(|step| &step.volume);
        let mut out = Writer::default();
        match question.what {
            What::Slabs(plan) => out.slabs(&self.crew.follow_slabs(&plan, volume, &self.pool)?),
            What::Image(plan) => out.image(&self.crew.follow_image(&plan, volume, &self.pool)?),
            What::Of(asked) => self.pool.install(|| answer(step.as_ref()?, asked, &mut out))?,
        }
        Some(out)
    }

    fn load(&self, key: StepKey) -> Option<Arc<LoadedStep>> {
        if key.field >= self.store.source().info().fields.len() {
            return None;
        }
        let loaded = self.store.load(key, &self.pool);
        loaded
            .inspect_err(|cause| {
                tracing::debug!("process {} has no part of step {}: {cause}", self.crew.rank(), key.step)
            })
            .ok()
    }
}

fn answer(step: &LoadedStep, asked: OfStep, out: &mut Writer) -> Option<()> {
    let volume = &step.volume;
    match asked {
        OfStep::Load => out.range(volume.range()),
        OfStep::Count([lo, hi]) => out.counts(&count(volume.blocks(), ValueRange { lo, hi })),
        OfStep::Bricks { level, bits, kept } => {
            let levels = step.pyramids.first()?.level_count();
            let bits = CodeBits::from_bits(bits).filter(|_| level < levels)?;
            if kept.is_some_and(|[lo, hi]| lo.is_nan() || hi.is_nan() || lo > hi) {
                return None;
            }
            let kept = kept.map(|[lo, hi]| ValueRange { lo, hi });
            out.bricks(&encode_own(step, LevelCoding { level, bits, kept }));
        }
        OfStep::Segments { camera, rays: [width, height], segments, transfer_function, range: [lo, hi] } => {
            camera.validate().ok()?;
            let key = SegmentKey { camera, width, height, segments };
            out.segments(&make_segments(volume, &key, &transfer_function, ValueRange { lo, hi }));
        }
        OfStep::Predictions { camera, aspect, transfer_function, views, forms } => {
            views.iter().chain([&camera]).try_for_each(Camera::validate).ok()?;
            let (pyramids, transfer_function) = (&step.pyramids[..], &transfer_function);
            let subject = Subject { volume, pyramids, transfer_function, key: camera, aspect };
            out.predictions(subject.share(), &subject.predict(&views, &forms));
        }
        OfStep::ScalarSlabs { camera, rays: [width, height], slabs, range: [lo, hi] } => {
            camera.validate().ok()?;
            let key = KeyView { width, height, slabs, ..KeyView::new(camera) };
            out.face_parts(&scalar_slab_parts(volume, &key, ValueRange { lo, hi }));
        }
        OfStep::Pick { spot, transfer_function } => {
            spot.validate().ok()?;
            out.ray_parts(&parts_at(volume, &spot, &transfer_function));
        }
        OfStep::Depths { camera, transfer_function } => {
            camera.validate().ok()?;
            out.depths(visible_depths(volume, &KeyView::new(camera), &transfer_function));
        }
    }
    Some(())
}
