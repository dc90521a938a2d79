//! `visapult`: arguments -> configuration -> pipeline.

mod arguments;
mod commands;
mod perf;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};

/// Steps come and go at the display's rate: memory is kept rather than given back and touched anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).without_time().init();
    let outcome = match Arguments::parse().command {
        Command::View(options) => commands::view(&options).map(|()| ExitCode::SUCCESS),
        Command::Render(options) => commands::render(&options).map(|()| ExitCode::SUCCESS),
        Command::Info(options) => commands::info(&options).map(|()| ExitCode::SUCCESS),
        Command::Trace(options) => trace::run(&options.what).map(|()| ExitCode::SUCCESS),
        Command::Perf(options) => perf::run(&options.side),
    };
    match outcome {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("visapult: {problem:#}");
            ExitCode::FAILURE
        }
    }
}
