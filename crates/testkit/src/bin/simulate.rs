//! `simulate`: runs of the transport's simulator from the command line.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use visapult_testkit::schedule::Schedule;
use visapult_testkit::{rates, suite};

/// Runs the transport in a simulator: seeded schedules, virtual time.
#[derive(Parser)]
struct Arguments {
    /// How many schedules.
    #[arg(long, default_value_t = 10_000)]
    schedules: u64,
    /// Seed of the first; the others follow.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print the schedule and what happens in it.
    #[arg(long)]
    trace: bool,
    /// Instead, show the rate that `auto` finds on a number of paths.
    #[arg(long)]
    rates: bool,
    /// Of those paths, only the ones whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Bits per second of those paths, in millions.
    #[arg(long, default_value_t = 100.0)]
    link: f64,
    /// Rate at which `auto` begins there, in millions of bits per second [default: that of sessions].
    #[arg(long)]
    first: Option<f64>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.rates {
        return rates::print_table(
            &arguments.only,
            (arguments.link * 1e6) as u64,
            arguments.first.map(|first| (first * 1e6) as u64),
            arguments.trace,
        );
    }
    if arguments.trace {
        println!("{:#?}", Schedule::draw(arguments.seed));
        let summary = suite::run_one(arguments.seed, true).map_err(|failure| anyhow::anyhow!("{failure}"))?;
        println!("{summary:#?}");
        return Ok(());
    }
    let began = Instant::now();
    let (totals, failures) = suite::run_many(arguments.seed, arguments.schedules);
    for failure in &failures {
        println!("{failure}");
    }
    println!(
        "{} schedules, {} failed; {} objects done, {} failed with a reason; {} bytes verified, {} datagrams, {:.0} s of virtual time in {:.1} s",
        arguments.schedules,
        failures.len(),
        totals.objects.0,
        totals.objects.1,
        totals.verified,
        totals.datagrams,
        totals.seconds,
        began.elapsed().as_secs_f64()
    );
    println!(
        "{} datagrams marked, {} changes of keys, {} sessions in which an end was restarted, {} datagrams refused for want of memory",
        totals.marked, totals.rekeys, totals.restarted, totals.refused
    );
    if !totals.slow.is_empty() {
        println!("{} of them slow: seeds {:?}", totals.slow.len(), &totals.slow[..totals.slow.len().min(20)]);
    }
    anyhow::ensure!(failures.is_empty(), "promises were broken");
    Ok(())
}
