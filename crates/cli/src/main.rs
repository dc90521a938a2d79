//! `visapult`: arguments -> configuration -> pipeline.

mod arguments;
mod backend;
mod browser;
mod causes;
mod commands;
mod copy;
mod crier;
mod doctor;
mod fetches;
mod inside;
mod log;
mod ls;
mod output_file;
mod perf;
mod processes;
mod say;
mod serve;
mod share;
mod stop;
mod trace;
mod verify;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use visapult_ripp_net::{KeptError, with_kept_token};

use crate::arguments::{Arguments, Command};
use crate::say::{tell, with_causes};

/// The command line cannot be read.
const WRONG_LINE: i32 = 2;

/// Steps come and go at the display's rate: memory is kept rather than given back and touched anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    quiet_driver();
    #[cfg(target_env = "gnu")]
    spare_address_space();
    tell_of_events();
    end_without_threads();
    let words = words().unwrap_or_else(|problem| {
        tell(&problem.to_string());
        std::process::exit(WRONG_LINE);
    });
    let arguments = Arguments::try_parse_from(words).unwrap_or_else(|fault| refuse(fault));
    let outcome = match arguments.command {
        Command::View(options) => commands::view(&options).map(|()| ExitCode::SUCCESS),
        Command::Render(options) => commands::render(&options).map(|()| ExitCode::SUCCESS),
        Command::Info(options) => commands::info(&options).map(|()| ExitCode::SUCCESS),
        Command::Backend(options) => backend::run(&options).map(|()| ExitCode::SUCCESS),
        Command::Serve(options) => serve::run(&options).map(|()| ExitCode::SUCCESS),
        Command::Trace(options) => trace::run(&options.what).map(|()| ExitCode::SUCCESS),
        Command::Doctor(options) => Ok(doctor::run(&options)),
        Command::Perf(options) => perf::run(&options.side),
        Command::Share(options) => share::run(&options).map(|()| ExitCode::SUCCESS),
        Command::Copy(options) => Ok(copy::run(&options)),
        Command::Ls(options) => Ok(ls::run(&options)),
        Command::Fetches(options) => fetches::run(&options).map(|()| ExitCode::SUCCESS),
        Command::Verify(options) => verify::run(&options),
    };
    let code = outcome.unwrap_or_else(|problem| {
        tell(&with_causes(&problem));
        ExitCode::FAILURE
    });
    let Some(cause) = say::lost() else { return code };
    tell(&format!("cannot write all to standard output: {cause}"));
    if code == ExitCode::SUCCESS { ExitCode::FAILURE } else { code }
}

/// The words of the command line, URLs with the tokens that the user keeps for them.
fn words() -> Result<Vec<OsString>, KeptError> {
    std::env::args_os().map(|word| with_kept_token(&word)).collect()
}

/// What libraries try again is told only once nothing comes of it.
fn tell_of_events() {
    let own = |metadata: &Metadata<'_>| *metadata.level() <= Level::WARN || metadata.target().starts_with("visapult");
    let events = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .without_time();
    let filter = filter_fn(own).with_max_level_hint(LevelFilter::INFO);
    tracing_subscriber::registry().with(events).with(filter).init();
}

/// Ends in one line where the system starts no thread for the first one, which cannot do without: its libraries panic then.
fn end_without_threads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        let is_lack = ["spawn thread", "spawn worker thread", "global thread pool"].iter().any(|of| said.contains(of));
        if is_lack && std::thread::current().name() == Some("main") {
            tell(
                "the system starts no more threads: allow more of them (ulimit -u) or more memory (ulimit -v), or ask for fewer (--threads)",
            );
            std::process::exit(1);
        }
        usual(panic);
    }));
}

/// Keeps Mesa's drivers from looking for a display, and from complaining where there is none: nothing is shown on one.
#[expect(unsafe_code, reason = "the environment is the only place where the driver looks")]
fn quiet_driver() {
    // SAFETY: no other thread is there yet.
    unsafe { std::env::set_var("NODEVICE_SELECT", "1") }
}

/// Where address space is limited (`ulimit -v`), libraries in C share one arena: each thread's own reserves 64 MB of it, which stacks then lack, and a
/// program that lacks them is ended by its libraries with nothing said.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no safe wrapper of these calls")]
fn spare_address_space() {
    let mut most = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit has a place of its own, and no other thread is there yet.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_AS, &raw mut most) == 0 && most.rlim_cur != libc::RLIM_INFINITY {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

/// Gives the help that was asked for, or says in one line what is wrong with the command line.
fn refuse(fault: clap::Error) -> ! {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(fault.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion) {
        fault.exit();
    }
    let words: Vec<String> = std::env::args_os().skip(1).map_while(|word| word.into_string().ok()).collect();
    tell(&format!("{} (see visapult {})", in_one_line(&fault.render().to_string()), help_of(&words)));
    std::process::exit(fault.exit_code());
}

/// Where it is told what a command line may be: in the help of the command that it names, and of what that does.
fn help_of(words: &[String]) -> String {
    let (mut command, mut help) = (Arguments::command(), String::new());
    for word in words {
        let Some(found) = command.find_subcommand(word).cloned() else { break };
        help += &format!("{word} ");
        command = found;
    }
    help + "--help"
}

/// What clap says before it comes to usage and help.
fn in_one_line(told: &str) -> String {
    let said = told.strip_prefix("error: ").unwrap_or(told);
    let paragraphs = said.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let of_interest = paragraphs
        .take_while(|it| !it.starts_with("Usage:") && !it.starts_with("For more information"))
        // What clap advises for a number below zero makes an argument of it, and it stands behind an option that takes none.
        .filter(|it| {
            !it.strip_prefix("tip: to pass '-").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
    of_interest.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_that_is_named_is_that_of_the_command() {
        let help = |words: &[&str]| help_of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(help(&["perf", "send", "--rate"]), "perf send --help");
        assert_eq!(help(&["trace", "plot"]), "trace plot --help");
        assert_eq!(help(&["perf", "sent"]), "perf --help");
        assert_eq!(help(&["render", "perf"]), "render --help");
        assert_eq!(help(&["--rate", "perf"]), "--help");
    }

    #[test]
    fn a_wrong_command_line_is_told_in_one_line() {
        let line = |arguments: &[&str]| in_one_line(&Arguments::try_parse_from(arguments).unwrap_err().to_string());
        assert_eq!(line(&["visapult", "see"]), "unrecognized subcommand 'see'");
        let missing = line(&["visapult", "render", "field.npy"]);
        assert_eq!(missing, "the following required arguments were not provided: --out <FILE>");
        let below = line(&["visapult", "perf", "send", "ripp://127.0.0.1:9/perf", "--rate", "-5M"]);
        assert_eq!(below, "unexpected argument '-5' found");
        let file = line(&["visapult", "info", "-x.npy"]);
        assert!(file.contains("use '-- -x'"), "{file}");
    }
}
