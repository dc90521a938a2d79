//! `wan`: brings links up, changes them, and takes them down.

mod arguments;
mod carry;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{self, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use clap::Parser;
use visapult_testbed::control::{self, Answer, Request, ask};
use visapult_testbed::namespaces::{self, Side};

use crate::arguments::{Arguments, Command, ExecOptions, SetOptions, UpOptions};

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wan: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Up(options) => up(&options),
        Command::Carry(options) => carry::carry(&options),
        Command::Exec(options) => exec(&options),
        Command::Set(options) => set(&options),
        Command::Stats(options) => report(&options.named.name, &Request::Stats { reset: options.reset }),
        Command::Down(named) => down(&named.name),
    }
}

/// Starts the same program with the same options once more, in the background, and waits until it says that it is ready.
fn up(options: &UpOptions) -> Result<()> {
    let name = &options.named.name;
    options.link.changes()?;
    options.link.scheduled()?;
    if ask(name, &Request::Stats { reset: false })?.is_some() {
        bail!("testbed {name} is up already: take it down (wan down --name {name}) or choose another --name");
    }
    // What a killed emulator left.
    namespaces::remove(name)?;
    fs::create_dir_all(control::folder()).context("needs root: cannot make /run/visapult-wan")?;
    let log = control::log(name);
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut emulator = process::Command::new(std::env::current_exe()?)
        .arg("carry")
        .args(std::env::args_os().skip(2))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file)
        .spawn()?;
    let mut ready = String::new();
    if let Some(output) = emulator.stdout.take() {
        BufReader::new(output).read_line(&mut ready)?;
    }
    if ready.is_empty() {
        emulator.wait()?;
        bail!("{}", fs::read_to_string(log)?.trim().trim_start_matches("wan: "));
    }
    print!("{ready}");
    Ok(())
}

fn exec(options: &ExecOptions) -> Result<()> {
    let name = &options.named.name;
    let namespace = options.side.namespace(name);
    if !namespaces::exists(&namespace) {
        bail!("testbed {name} is not up: wan up --name {name}");
    }
    namespaces::enter(&namespace)?;
    let [program, arguments @ ..] = options.command.as_slice() else { bail!("no command was given") };
    let error = process::Command::new(program)
        .args(arguments)
        .env("WAN_LEFT", Side::Left.address())
        .env("WAN_RIGHT", Side::Right.address())
        .exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

fn set(options: &SetOptions) -> Result<()> {
    let mut changes = options.link.changes()?;
    changes.extend(options.changes.iter().cloned());
    let scheduled = options.link.scheduled()?;
    if changes.is_empty() && scheduled.is_empty() {
        bail!("nothing to change: wan set --rate 500M, wan set to-left:loss=1%, wan set --at 5s:rate=1G");
    }
    report(&options.named.name, &Request::Set { changes, scheduled })
}

fn report(name: &str, request: &Request) -> Result<()> {
    match ask(name, request)? {
        Some(Answer::Report(report)) => println!("{}", serde_json::to_string_pretty(&report)?),
        Some(Answer::Done) => {}
        Some(Answer::Error(message)) => bail!(message),
        None => bail!("testbed {name} is not up: wan up --name {name}"),
    }
    Ok(())
}

fn down(name: &str) -> Result<()> {
    let left_over = Side::BOTH.iter().any(|side| namespaces::exists(&side.namespace(name)));
    if left_over && ask(name, &Request::Stats { reset: false })?.is_none() {
        namespaces::remove(name)?;
        bail!("the emulator of testbed {name} had ended already; its namespaces are gone now");
    }
    report(name, &Request::Down)
}
