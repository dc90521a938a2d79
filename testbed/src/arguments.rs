//! The command line of `wan`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use visapult_testbed::namespaces::Side;
use visapult_testbed::settings::{Change, Scheduled, SettingError};
use visapult_testbed::units::duration;

const EXAMPLES: &str = "\
Examples:
  wan up --rate 1G --rtt 80ms --loss 0.1%          a long path, its queue one bandwidth-delay product
  wan exec right iperf3 -s -D -1                   a server on the right, which is 10.7.0.2
  wan exec left iperf3 -c 10.7.0.2 -C cubic -t 10  a client on the left, which is 10.7.0.1
  wan set --rate 500M --loss 0                     change the link under way
  wan stats                                        what became of it, and what the testbed got wrong
  wan down                                         the same once more, and gone

  wan up --name b --rate 100M --to-left rate=10M,loss=1% --at 5s:rate=20M
  wan up --rate 5G --mtu 9000 --rtt 56ms --queue 25ms --loss 0.01% --burst 20
  wan up --policer 200M/1MB --ce-above 5ms --mtu-hole 1400 --at 8s:to-right:block=udp
  wan up --jitter 2ms --reorder 1% --duplicate 0.1%

Needs root, /dev/net/tun and iproute2. Rates are bits of IP packets per second, headers included.
A figure counts only if `wan stats` says own_errors.kept_up = true.";

/// A wide-area link on this machine: two network namespaces, left and right, with a link of your choice between them.
#[derive(Debug, Parser)]
#[command(name = "wan", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bring a link up; returns when it is ready, and the link stays.
    #[command(after_help = EXAMPLES)]
    Up(Box<UpOptions>),
    /// Run a command on the left or the right side.
    Exec(ExecOptions),
    /// Change a link that is up.
    Set(Box<SetOptions>),
    /// Print what a link has done, as JSON.
    Stats(StatsOptions),
    /// Take a link down, and print what it has done.
    Down(Named),
    /// Carry the packets: what `wan up` leaves in the background.
    #[command(hide = true)]
    Carry(Box<UpOptions>),
}

/// Which testbed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Named {
    /// The testbed's name; several may be up side by side.
    #[arg(long, default_value = "wan", value_parser = name)]
    pub(crate) name: String,
}

/// Options of `wan up`.
#[derive(Debug, Args)]
pub(crate) struct UpOptions {
    #[command(flatten)]
    pub(crate) named: Named,
    #[command(flatten)]
    pub(crate) link: LinkOptions,
    /// Largest IP packet of both devices.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub(crate) mtu: u32,
    /// Go down by itself after this time.
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) limit: Duration,
    /// Seed of all chance: the same seed loses the same packets of the same traffic.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Have the kernel cut every packet to size before it comes to the link: slower, and no different for programs.
    #[arg(long)]
    pub(crate) no_offload: bool,
}

/// Options of `wan set`.
#[derive(Debug, Args)]
pub(crate) struct SetOptions {
    #[command(flatten)]
    pub(crate) named: Named,
    #[command(flatten)]
    pub(crate) link: LinkOptions,
    /// Changes as words: rate=500M, to-left:loss=1%.
    #[arg(value_name = "CHANGE", value_parser = change)]
    pub(crate) changes: Vec<String>,
}

/// Options of `wan stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsOptions {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Count from zero afterwards.
    #[arg(long)]
    pub(crate) reset: bool,
}

/// Options of `wan exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecOptions {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Where.
    #[arg(value_enum)]
    pub(crate) side: Side,
    /// What, with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// What the link does.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub(crate) struct LinkOptions {
    /// Bits of IP packets per second: 1G, 950M, 10Gbit [default: 1G].
    #[arg(long)]
    rate: Option<String>,
    /// Round-trip time without queues, half of it each way [default: 0].
    #[arg(long, value_name = "TIME")]
    rtt: Option<String>,
    /// Share of packets lost at random: 0.1%.
    #[arg(long, value_name = "SHARE")]
    loss: Option<String>,
    /// Mean number of packets lost in a row, for lossy moments instead of single losses.
    #[arg(long, value_name = "PACKETS")]
    burst: Option<String>,
    /// Where the queue drops: 25ms, 4MiB, or 1bdp (the product of rate and round-trip time) [default: 1bdp].
    #[arg(long, value_name = "LIMIT")]
    queue: Option<String>,
    /// Added delay, uniform from zero to this; order is kept.
    #[arg(long, value_name = "TIME")]
    jitter: Option<String>,
    /// Share of packets held back so that others overtake them.
    #[arg(long, value_name = "SHARE")]
    reorder: Option<String>,
    /// How long they are held back [default: 1ms].
    #[arg(long, value_name = "TIME")]
    reorder_by: Option<String>,
    /// Share of packets that arrive twice.
    #[arg(long, value_name = "SHARE")]
    duplicate: Option<String>,
    /// Mark ECN-capable packets that waited in the queue for longer than this; `none` to stop.
    #[arg(long, value_name = "TIME")]
    ce_above: Option<String>,
    /// Swallow udp, udp:PORT, tcp, all or none.
    #[arg(long, value_name = "PROTOCOL")]
    block: Option<String>,
    /// Swallow packets larger than this without ICMP; `none` to stop.
    #[arg(long, value_name = "BYTES")]
    mtu_hole: Option<String>,
    /// Drop what exceeds a token bucket, without queueing; `none` to stop.
    #[arg(long, value_name = "RATE[/BURST]")]
    policer: Option<String>,
    /// Have a translator of addresses forget left's UDP ports: they appear changed to the right.
    #[arg(long)]
    rebind: bool,
    /// Settings of the direction from left to right alone, such as rate=100M,loss=1%.
    #[arg(long, value_name = "SETTINGS")]
    to_right: Vec<String>,
    /// Settings of the direction from right to left alone.
    #[arg(long, value_name = "SETTINGS")]
    to_left: Vec<String>,
    /// Change a setting later: 5s:rate=500M, 5s:to-left:loss=1%, 5s:rebind. May be repeated.
    #[arg(long, value_name = "TIME:CHANGE")]
    at: Vec<String>,
}

impl LinkOptions {
    /// The options as changes of the settings.
    pub(crate) fn changes(&self) -> Result<Vec<String>, SettingError> {
        let both = [
            ("rate", &self.rate),
            ("rtt", &self.rtt),
            ("loss", &self.loss),
            ("burst", &self.burst),
            ("queue", &self.queue),
            ("jitter", &self.jitter),
            ("reorder", &self.reorder),
            ("reorder-by", &self.reorder_by),
            ("duplicate", &self.duplicate),
            ("ce-above", &self.ce_above),
            ("block", &self.block),
            ("mtu-hole", &self.mtu_hole),
            ("policer", &self.policer),
        ];
        let both = both.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_deref()?)));
        let one_way =
            [("to-right", &self.to_right), ("to-left", &self.to_left)].into_iter().flat_map(|(way, settings)| {
                let each = settings.iter().flat_map(|text| text.split(','));
                each.map(move |setting| format!("{way}:{setting}"))
            });
        let all: Vec<String> = both.chain(one_way).chain(self.rebind.then(|| "rebind".to_owned())).collect();
        all.iter().try_for_each(|text| text.parse::<Change>().map(drop))?;
        Ok(all)
    }

    /// The later changes.
    pub(crate) fn scheduled(&self) -> Result<Vec<String>, SettingError> {
        self.at.iter().try_for_each(|text| text.parse::<Scheduled>().map(drop))?;
        Ok(self.at.clone())
    }
}

fn change(text: &str) -> Result<String, SettingError> {
    text.parse::<Change>().map(|_| text.to_owned())
}

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=48).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits { Ok(text.to_owned()) } else { Err("a name is made of letters, digits and -".into()) }
}
