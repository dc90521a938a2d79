//! How a path is used, and what is promised of it.

use std::net::IpAddr;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use visapult_ripp_net::units::{parse_rate, parse_transport};
use visapult_ripp_net::{Lanes, MOST_LANES, Mode, Options, Rate, Transport};

const LONGEST_DEADLINE: Duration = Duration::from_secs(86_400);

/// What is given, or `auto`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrAuto<T>(pub(crate) Option<T>);

/// How fast data moves, on how many lanes, from where and by what.
#[derive(Debug, Args)]
pub(crate) struct PathOptions {
    /// Bits of IP packets per second on a path of your own (950M, 10Gbit), or `auto`, which finds and shares it; where the other end sends, the
    /// most that it may.
    #[arg(long, value_name = "RATE", default_value = "auto", value_parser = parse_choice)]
    rate: Rate,
    /// Lanes: UDP sockets, each with threads of its own [default: one for each address of --local; without that one, and more where a processor core
    /// is what limits it].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_LANES.into()))]
    lanes: Option<u16>,
    /// Addresses of this machine that lanes are spread over, such as 10.0.0.7,10.1.0.7.
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    local: Vec<IpAddr>,
    /// How data moves; `auto` tries datagrams, then streams.
    #[arg(long, default_value = "auto", value_parser = transport())]
    transport: OrAuto<Transport>,
}

impl PathOptions {
    /// What a session is asked for; a fixed rate bounds the other end, too, where that may send.
    pub(crate) fn session(&self, other_sends: bool) -> Options {
        let most_receive_bps = match self.rate {
            Rate::Fixed(bps) if other_sends => bps,
            _ => 0,
        };
        Options {
            rate: self.rate,
            most_receive_bps,
            lanes: self.lanes.map_or_else(|| Lanes::over(&self.local), Lanes::Exactly),
            local: self.local.clone(),
            transport: self.transport.0,
            ..Options::default()
        }
    }
}

fn transport() -> impl TypedValueParser<Value = OrAuto<Transport>> {
    let names = [
        PossibleValue::new("auto").help("Datagrams if they come through, else streams"),
        PossibleValue::new("udp").help("Datagrams"),
        PossibleValue::new("tcp").help("Streams of TLS"),
    ];
    PossibleValuesParser::new(names).try_map(|name| parse_transport(&name).map(OrAuto))
}

pub(super) fn parse_choice(text: &str) -> Result<Rate, String> {
    if text == "auto" { Ok(Rate::Auto { most_bps: None }) } else { parse_rate(text).map(Rate::Fixed) }
}

pub(super) fn parse_mode(text: &str) -> Result<Mode, String> {
    match text.split_once('=') {
        None if text == "reliable" => Ok(Mode::Reliable),
        None if text == "lossy" => Ok(Mode::Lossy),
        Some(("deadline", time)) => parse_deadline(time),
        _ => Err("expected reliable, lossy or deadline=200ms".to_owned()),
    }
}

fn parse_deadline(text: &str) -> Result<Mode, String> {
    let time = humantime::parse_duration(text).map_err(|cause| format!("deadline: {cause}; write deadline=200ms"))?;
    let fits = (Duration::from_millis(1)..=LONGEST_DEADLINE).contains(&time);
    if fits { Ok(Mode::Deadline(time)) } else { Err("a deadline is 1ms to 1day".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        path: PathOptions,
    }

    fn session(line: &[&str], other_sends: bool) -> Options {
        let line = Line::try_parse_from([&["visapult"], line].concat()).unwrap();
        line.path.session(other_sends)
    }

    #[test]
    fn a_fixed_rate_bounds_the_other_end_where_that_may_send() {
        let line = ["--rate", "50M", "--lanes", "64", "--transport", "tcp"];
        let (ours, both) = (session(&line, false), session(&line, true));
        assert_eq!((ours.rate, ours.most_receive_bps), (Rate::Fixed(50_000_000), 0));
        assert_eq!((both.rate, both.most_receive_bps), (Rate::Fixed(50_000_000), 50_000_000));
        assert_eq!((both.lanes, both.transport), (Lanes::Exactly(64), Some(Transport::Tcp)));
        assert_eq!(session(&[], true).most_receive_bps, 0);
    }

    #[test]
    fn there_is_a_lane_for_each_local_address() {
        let both = ["--local", "10.0.0.7,10.1.0.7"];
        assert_eq!(session(&both, false).lanes, Lanes::Exactly(2));
        assert_eq!(session(&[], false).lanes, Lanes::default());
    }

    #[test]
    fn transports_that_are_told_are_taken_and_others_are_refused_with_them() {
        for (name, transport) in [("auto", None), ("udp", Some(Transport::Udp)), ("tcp", Some(Transport::Tcp))] {
            assert_eq!(session(&["--transport", name], false).transport, transport);
        }
        let refusal = Line::try_parse_from(["visapult", "--transport", "pigeon"]).unwrap_err().to_string();
        assert!(refusal.contains("[possible values: auto, udp, tcp]"), "{refusal}");
    }
}
