//! What a link does to packets, and the words that change it: `rate=500M`, `to-left:loss=1%`.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, QueueLimit, Rate, Share, UnitError, duration};

/// A queue never holds less than ten packets when its size follows from rate and delay.
const LEAST_QUEUE: u64 = 10 * 1500;
/// Nor less than this time of the rate, as far as that is not more than two super-packets.
const LEAST_QUEUE_TIME: Duration = Duration::from_millis(10);
const SUPER_PACKETS: u64 = 2 << 16;

/// A setting that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No such name.
    #[error("{0:?} is no setting of a link: use one of {NAMES}")]
    Unknown(String),
    /// No `=`.
    #[error("{0:?} is no setting: write NAME=VALUE, like rate=500M")]
    NoValue(String),
    /// The value does not suit.
    #[error("{name}: {error}")]
    Value {
        /// The setting.
        name: String,
        /// Why not.
        error: UnitError,
    },
    /// The value is none of a list.
    #[error("{name}: {text:?} is not known: use {choices}")]
    Choice {
        /// The setting.
        name: &'static str,
        /// What was written.
        text: String,
        /// What is known.
        choices: &'static str,
    },
    /// Two settings contradict.
    #[error("{0}")]
    Together(&'static str),
}

const NAMES: &str =
    "rate rtt delay loss burst queue jitter reorder reorder-by duplicate ce-above block mtu-hole policer rebind";

/// The protocols a direction swallows without a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Block {
    /// Everything passes.
    #[default]
    None,
    /// UDP is swallowed.
    Udp,
    /// UDP from and to this port is swallowed.
    Port(u16),
    /// TCP is swallowed.
    Tcp,
    /// Everything is swallowed.
    All,
}

/// A token bucket that drops what exceeds it, without a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policer {
    /// Long-run rate of what passes.
    pub rate: Rate,
    /// What may pass at once.
    pub burst: Bytes,
}

/// One direction of the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// Bits of IP packets (headers included) per second.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// Long-run share of packets lost on the wire.
    pub loss: Share,
    /// Mean number of packets lost in a row; 1 is independent loss.
    pub burst: f64,
    /// Where the tail drops.
    pub queue: QueueLimit,
    /// Added delay, uniform from zero to this; order is kept.
    pub jitter: Duration,
    /// Share of packets held back by `reorder_by`, so that others overtake them.
    pub reorder: Share,
    /// How long they are held back.
    pub reorder_by: Duration,
    /// Share of packets that arrive twice.
    pub duplicate: Share,
    /// ECN-capable packets that waited longer are marked.
    pub ce_above: Option<Duration>,
    /// What is swallowed.
    pub block: Block,
    /// Larger packets are swallowed, without ICMP.
    pub mtu_hole: Option<Bytes>,
    /// What is dropped before the queue.
    pub policer: Option<Policer>,
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            rate: Rate(1_000_000_000),
            delay: Duration::ZERO,
            loss: Share(0.0),
            burst: 1.0,
            queue: QueueLimit::BandwidthDelay(1.0),
            jitter: Duration::ZERO,
            reorder: Share(0.0),
            reorder_by: Duration::from_millis(1),
            duplicate: Share(0.0),
            ce_above: None,
            block: Block::None,
            mtu_hole: None,
            policer: None,
        }
    }
}

/// Both directions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// From left to right.
    pub to_right: Direction,
    /// From right to left.
    pub to_left: Direction,
    /// How often the address translation between the sides has forgotten left's UDP ports.
    pub rebinds: u32,
}

/// Which directions a change is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Towards {
    Both,
    Right,
    Left,
}

/// One change of the settings, from text.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    towards: Towards,
    value: Value,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Rate(Rate),
    RoundTrip(Duration),
    Delay(Duration),
    Loss(Share),
    Burst(f64),
    Queue(QueueLimit),
    Jitter(Duration),
    Reorder(Share),
    ReorderBy(Duration),
    Duplicate(Share),
    CeAbove(Option<Duration>),
    Block(Block),
    MtuHole(Option<Bytes>),
    Policer(Option<Policer>),
    Rebind,
}

impl FromStr for Change {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (towards, rest) = if let Some(rest) = text.strip_prefix("to-right:") {
            (Towards::Right, rest)
        } else if let Some(rest) = text.strip_prefix("to-left:") {
            (Towards::Left, rest)
        } else {
            (Towards::Both, text)
        };
        let (name, value) = match rest.split_once('=') {
            Some(pair) => pair,
            None if rest == "rebind" => (rest, ""),
            None => return Err(SettingError::NoValue(text.to_owned())),
        };
        Ok(Self { towards, value: parse_value(name, value)? })
    }
}

fn parse_value(name: &str, text: &str) -> Result<Value, SettingError> {
    let wrong = |error| SettingError::Value { name: name.to_owned(), error };
    let none = matches!(text, "none" | "off");
    Ok(match name {
        "rate" => Value::Rate(text.parse().map_err(wrong)?),
        "rtt" => Value::RoundTrip(duration(text).map_err(wrong)?),
        "delay" => Value::Delay(duration(text).map_err(wrong)?),
        "loss" => Value::Loss(text.parse().map_err(wrong)?),
        "burst" => Value::Burst(burst(text)?),
        "queue" => Value::Queue(text.parse().map_err(wrong)?),
        "jitter" => Value::Jitter(duration(text).map_err(wrong)?),
        "reorder" => Value::Reorder(text.parse().map_err(wrong)?),
        "reorder-by" => Value::ReorderBy(duration(text).map_err(wrong)?),
        "duplicate" => Value::Duplicate(text.parse().map_err(wrong)?),
        "ce-above" if none => Value::CeAbove(None),
        "ce-above" => Value::CeAbove(Some(duration(text).map_err(wrong)?)),
        "block" => Value::Block(block(text)?),
        "mtu-hole" if none => Value::MtuHole(None),
        "mtu-hole" => Value::MtuHole(Some(text.parse().map_err(wrong)?)),
        "policer" if none => Value::Policer(None),
        "policer" => Value::Policer(Some(policer(text).map_err(wrong)?)),
        "rebind" => Value::Rebind,
        _ => return Err(SettingError::Unknown(name.to_owned())),
    })
}

fn burst(text: &str) -> Result<f64, SettingError> {
    text.parse::<f64>().ok().filter(|length| (1.0..=1e6).contains(length)).ok_or_else(|| SettingError::Choice {
        name: "burst",
        text: text.to_owned(),
        choices: "the mean number of packets lost in a row, 1 or more",
    })
}

fn block(text: &str) -> Result<Block, SettingError> {
    let port = text.strip_prefix("udp:").and_then(|port| port.parse().ok());
    Ok(match text {
        _ if port.is_some() => Block::Port(port.unwrap_or_default()),
        "none" | "off" => Block::None,
        "udp" => Block::Udp,
        "tcp" => Block::Tcp,
        "all" => Block::All,
        _ => {
            return Err(SettingError::Choice {
                name: "block",
                text: text.to_owned(),
                choices: "udp, udp:PORT, tcp, all or none (to-right:block=udp for one way)",
            });
        }
    })
}

/// `RATE` or `RATE/BURST`; the burst defaults to 10 ms of the rate, and 15 kB at least.
fn policer(text: &str) -> Result<Policer, UnitError> {
    let (rate, burst) = text.split_once('/').map_or((text, None), |(rate, burst)| (rate, Some(burst)));
    let rate: Rate = rate.parse()?;
    let burst = match burst {
        Some(burst) => burst.parse()?,
        None => Bytes((rate.0 / 800).max(LEAST_QUEUE)),
    };
    Ok(Policer { rate, burst })
}

impl Settings {
    /// Applies one change.
    pub fn apply(&mut self, change: &Change) {
        if change.value == Value::Rebind {
            self.rebinds += 1;
            return;
        }
        if change.towards != Towards::Left {
            apply(&mut self.to_right, &change.value);
        }
        if change.towards != Towards::Right {
            apply(&mut self.to_left, &change.value);
        }
    }

    /// Holds what the settings say against each other.
    ///
    /// # Errors
    /// [`SettingError::Together`] if no link can do both.
    pub fn check(&self) -> Result<(), SettingError> {
        for direction in [&self.to_right, &self.to_left] {
            let loss = direction.loss.0;
            if direction.burst > 1.0 && loss < 1.0 && loss > direction.burst * (1.0 - loss) {
                return Err(SettingError::Together("loss and burst: such a share of loss needs longer bursts"));
            }
        }
        Ok(())
    }

    /// Bytes that a direction's queue holds.
    #[must_use]
    pub fn queue_bytes(&self, direction: &Direction) -> u64 {
        let in_time = |time: Duration| (direction.rate.0 as f64 / 8.0 * time.as_secs_f64()).round() as u64;
        match direction.queue {
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::Time(time) => in_time(time),
            QueueLimit::BandwidthDelay(times) => {
                let least = in_time(LEAST_QUEUE_TIME).clamp(LEAST_QUEUE, SUPER_PACKETS);
                in_time((self.to_right.delay + self.to_left.delay).mul_f64(times)).max(least)
            }
        }
    }
}

fn apply(direction: &mut Direction, value: &Value) {
    match *value {
        Value::Rate(rate) => direction.rate = rate,
        Value::RoundTrip(time) => direction.delay = time / 2,
        Value::Delay(time) => direction.delay = time,
        Value::Loss(share) => direction.loss = share,
        Value::Burst(length) => direction.burst = length,
        Value::Queue(limit) => direction.queue = limit,
        Value::Jitter(time) => direction.jitter = time,
        Value::Reorder(share) => direction.reorder = share,
        Value::ReorderBy(time) => direction.reorder_by = time,
        Value::Duplicate(share) => direction.duplicate = share,
        Value::CeAbove(time) => direction.ce_above = time,
        Value::Block(block) => direction.block = block,
        Value::MtuHole(size) => direction.mtu_hole = size,
        Value::Policer(policer) => direction.policer = policer,
        Value::Rebind => {}
    }
}

/// A change to be made at a time after the link came up: `5s:rate=500M` or `5s:to-left:loss=1%`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheduled {
    /// When, after the link came up or the schedule was received.
    pub after: Duration,
    /// What.
    pub change: Change,
}

impl FromStr for Scheduled {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (time, change) = text.split_once(':').ok_or_else(|| SettingError::NoValue(text.to_owned()))?;
        let after = duration(time).map_err(|error| SettingError::Value { name: "at".into(), error })?;
        Ok(Self { after, change: change.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(changes: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for change in changes {
            settings.apply(&change.parse().unwrap());
        }
        settings
    }

    #[test]
    fn a_change_is_for_both_directions_unless_it_says_which() {
        let settings = settings(&["rate=10M", "to-left:rate=1M", "rtt=80ms", "to-right:block=udp"]);
        assert_eq!((settings.to_right.rate, settings.to_left.rate), (Rate(10_000_000), Rate(1_000_000)));
        assert_eq!(settings.to_right.delay, Duration::from_millis(40));
        assert_eq!((settings.to_right.block, settings.to_left.block), (Block::Udp, Block::None));
    }

    #[test]
    fn the_default_queue_is_one_bandwidth_delay_product() {
        let settings = settings(&["rate=1G", "rtt=80ms"]);
        assert_eq!(settings.queue_bytes(&settings.to_right), 10_000_000);
    }

    #[test]
    fn a_queue_without_delay_still_holds_a_burst() {
        let queue = |rate| {
            let settings = settings(&[rate]);
            settings.queue_bytes(&settings.to_right)
        };
        assert_eq!((queue("rate=10G"), queue("rate=50M"), queue("rate=1M")), (131_072, 62_500, 15_000));
    }

    #[test]
    fn a_queue_in_time_follows_the_rate() {
        let settings = settings(&["rate=1G", "queue=25ms", "rate=500M"]);
        assert_eq!(settings.queue_bytes(&settings.to_right), 1_562_500);
    }

    #[test]
    fn what_cannot_be_read_says_what_to_write() {
        for text in ["rate", "speed=1G", "loss=120%", "block=sctp", "block=udp:70000", "policer=1G/x", "burst=0"] {
            let message = text.parse::<Change>().unwrap_err().to_string();
            assert!(message.contains("write") || message.contains("use"), "{message}");
        }
    }

    #[test]
    fn a_schedule_names_time_and_change() {
        let scheduled: Scheduled = "5s:to-left:loss=1%".parse().unwrap();
        assert_eq!(scheduled.after, Duration::from_secs(5));
        assert_eq!(scheduled.change, "to-left:loss=1%".parse().unwrap());
    }
}
