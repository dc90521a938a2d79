//! `visapult backend`: dials a simulation or waits for it, receives what it publishes, and shows it. Its page opens before the simulation comes.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use visapult_pipeline::flow::{FlowDoor, FlowOptions, FlowSource, FlowStatistics};
use visapult_pipeline::{BackEnd, Crew, PipelineError, Source, lend};
use visapult_portal::Stage;
use visapult_ripp_net::{Identity, Options, Token, own_host, user_folder};

use crate::arguments::BackendOptions;
use crate::commands::{NO_SIMULATION, back_end_config, default_pes, heed_input, log_steering, serve_page, show};
use crate::output_file::{Output, check_writable, write_whole};
use crate::processes::Processes;
use crate::say::{say, tell};

const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn run(options: &BackendOptions) -> Result<()> {
    let processes = Processes::meet(&options.split, default_pes())?;
    let config = back_end_config("", &options.split, &processes);
    let _recording = processes.record(options.trace.as_deref(), "", "backend")?;
    let session = Options { most_receive_bps: options.most_rate.unwrap_or(0), ..Options::default() };
    let flow = FlowOptions {
        pes: processes.pes,
        mode: options.mode,
        ahead: options.ahead,
        session,
        crew: processes.crew.clone(),
        ..FlowOptions::default()
    };
    let began = Instant::now();
    if let Some(crew) = processes.crew_of_another()? {
        return Ok(lend(crew, &config, || lend_door(options, flow, crew))?);
    }
    heed_input(&options.page);
    options.json.iter().try_for_each(|path| check_writable(path, &[""; 0], Output::Report))?;
    let simulation = match &options.urls {
        Some(urls) => Simulation::There(Box::new(FlowSource::dial(urls, flow)?)),
        None => Simulation::Awaited(await_simulation(options, flow)?),
    };
    let limit = options.page.limit.map(|limit| limit.saturating_sub(began.elapsed()));
    let counted = OnceLock::new();
    serve_page(&options.page, limit, true, |stage| {
        let Some(source) = simulation.come(&stage)? else { return Ok(()) };
        let handle = source.handle();
        // The first step is asked for although nobody may have opened the page yet.
        let first = handle.look();
        let back_end = BackEnd::over(source, &config)?;
        log_steering(&back_end, &options.page)?;
        show(&stage, back_end);
        while !stage.is_deserted() {
            if handle.has_steps_within(LOOK) {
                tell("the first step of the simulation is there");
                break;
            }
        }
        drop(first);
        // What is counted is received, whether a page is open or not.
        let look = (options.json.is_some() && !handle.is_serial()).then(|| handle.look());
        let _ = counted.set((handle, look));
        Ok(())
    })?;
    let Some((handle, _look)) = counted.into_inner() else {
        let time_is_up = limit.is_some_and(|limit| began.elapsed() >= limit);
        return if time_is_up { Err(anyhow!("no simulation has come within the time that was set")) } else { Ok(()) };
    };
    if let Some(path) = &options.json {
        let report = report(handle.statistics());
        write_whole(path, |out| out.write_all(report.as_bytes()))?;
    }
    Ok(())
}

/// The part of a process that another tells what to do.
fn lend_door(options: &BackendOptions, flow: FlowOptions, crew: &Crew) -> Result<Box<dyn Source>, PipelineError> {
    if let Some(urls) = &options.urls {
        return Ok(Box::new(FlowSource::dial(urls, flow)?));
    }
    let at = SocketAddr::new(options.listen.ip(), 0);
    let identity = user_folder().and_then(|folder| Identity::load_or_create(&folder));
    let identity = identity.map_err(|cause| PipelineError::Option(cause.to_string()))?;
    let token = Token::fresh().map_err(|cause| PipelineError::Option(cause.to_string()))?;
    // The name that the user gives is that of the head's machine.
    let host = if crew.is_beside_head() { host_of(options) } else { own_host(at) };
    let mut door = FlowSource::listen(at, &host, Some((identity, token)), flow)?;
    loop {
        match door.wait(LOOK)? {
            Ok(source) => return Ok(Box::new(source)),
            Err(waiting) => door = waiting,
        }
        if crew.is_over() {
            return Err(PipelineError::Option("the back end has ended".to_owned()));
        }
    }
}

/// What others call this machine.
fn host_of(options: &BackendOptions) -> String {
    options.host.clone().unwrap_or_else(|| own_host(options.listen))
}

/// What was received, and how fast it came from the time on at which there was something to show.
fn report(received: FlowStatistics) -> String {
    let seconds = received.first_step.map_or(0.0, |at| at.elapsed().as_secs_f64()).max(1e-9);
    let fresh = if received.steps == 0 { 1.0 } else { received.fresh / received.steps as f64 };
    let report = serde_json::json!({
        "seconds": seconds,
        "steps_received": received.steps,
        "bytes": received.bytes,
        "sustained_bps": received.later_bytes as f64 * 8.0 / seconds,
        "fresh_share": fresh,
        "first_step_s": received.first_step_s,
    });
    format!("{report:#}\n")
}

/// What is to be shown.
enum Simulation {
    There(Box<FlowSource>),
    Awaited(FlowDoor),
}

impl Simulation {
    /// Waits until it is there, or that is pointless.
    fn come(self, stage: &Stage) -> Result<Option<FlowSource>> {
        let mut door = match self {
            Self::There(source) => return Ok(Some(*source)),
            Self::Awaited(door) => door,
        };
        let (mut said, mut is_told) = (None, false);
        while !stage.is_deserted() {
            match door.wait(LOOK)? {
                Ok(source) => return Ok(Some(source)),
                Err(waiting) => door = waiting,
            }
            let missing = door.missing();
            if missing == said {
                continue;
            }
            let awaited = missing.as_ref().map_or(NO_SIMULATION.to_owned(), |missing| format!("{missing}."));
            stage.await_instead(awaited);
            if let Some(missing) = missing.as_ref().filter(|_| !is_told) {
                tell(missing);
                is_told = true;
            }
            said = missing;
        }
        Ok(None)
    }
}

/// Opens the door and says where it is.
fn await_simulation(options: &BackendOptions, flow: FlowOptions) -> Result<FlowDoor> {
    let folder = user_folder()?;
    let token = Token::of_listener(&folder, "backend", options.listen)?;
    let protection = (Identity::load_or_create(&folder)?, token);
    let door = FlowSource::listen(options.listen, &host_of(options), Some(protection), flow)?;
    say(&door.url().to_string());
    tell("waiting for a simulation; give it the URL above, for instance as VISAPULT_URL");
    Ok(door)
}
