//! The command line of `visapult doctor`.

use std::path::PathBuf;

use clap::Args;
use visapult_ripp_net::RippUrl;
use visapult_ripp_net::units::parse_rate;

const HELP: &str = "\
Each finding says what is seen, what it costs, what it could be and what mends it, the dearest
first; its page in the book says more. A setting is found only if it matters at the rate asked
for. What cannot be seen (in a container, or without the right) is listed as that.

Exit codes: 0 nothing found (with --apply: all of it mended); 1 something found (not mended);
2 it could not look.

Examples:
  visapult doctor                               is this host fit for its network interface?
  visapult doctor --rate 10Gbit                 and for 10 Gbit/s?
  visapult doctor --rate 10Gbit --fix           only the commands that mend it
  sudo visapult doctor --rate 10Gbit --apply    run them, after a question; --undo puts all back
  visapult doctor 'ripp://...'                  and the path to there? what holds it back?
  visapult doctor --disk /data                  is the disk as fast as the line?";

/// Options of `visapult doctor`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorOptions {
    /// A path to look at, too: the URL that `visapult share`, `serve`, `backend` or `perf serve` printed at its other end, in quotes; without its
    /// token where all of it is a line of ~/.config/visapult/urls. Data is sent both ways for some seconds, as fast as the path takes it.
    #[arg(value_name = "URL")]
    pub(crate) url: Option<RippUrl>,
    /// The rate that is wanted: 950M, 10Gbit [default: what the path to URL carries; without one the
    /// interface's, or 1 Gbit/s where it does not tell].
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<u64>,
    /// The network interface that is used [default: the one that packets leave by].
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    /// Measure the disk of this folder, too: writes and reads a file of at most 256 MiB there.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) disk: Option<PathBuf>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the commands that mend what is found.
    #[arg(long, conflicts_with = "json")]
    pub(crate) fix: bool,
    /// Run those commands, when asked whether to (as root); what was there before is remembered in /var/lib/visapult (or $XDG_STATE_HOME/visapult).
    #[arg(long, conflicts_with_all = ["json", "fix"])]
    pub(crate) apply: bool,
    /// With --apply: do not ask.
    #[arg(long, requires = "apply")]
    pub(crate) yes: bool,
    /// Put everything back as it was before --apply.
    #[arg(long, conflicts_with_all = ["url", "rate", "interface", "disk", "json", "fix", "apply"])]
    pub(crate) undo: bool,
    /// Look at the host that is pictured in this folder (its /proc and /sys), not at this one.
    #[arg(long, value_name = "FOLDER", hide = true, default_value = "/")]
    pub(crate) root: PathBuf,
}
