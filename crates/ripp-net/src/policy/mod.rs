//! What the user's policy file says of a path: how fast, by what, with how much memory, and whether it is set aside for us.
//!
//! Invariant: a ruling only ever takes away from what a program asks for, `dedicated` excepted. Where nothing is asked it stands for the default.

mod file;
mod network;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Once;

use serde::{Deserialize, Serialize};
use visapult_ripp::control::Transport;
use visapult_ripp::memory::Memory;

pub use file::PolicyError;
pub(crate) use file::parse;

use crate::identity::{IdentityError, user_folder};
use crate::session::Options;
use network::Network;

/// Name of the policy file in the user's configuration folder.
const FILE: &str = "paths.toml";
const NO_FOLDER: &str = "neither XDG_CONFIG_HOME nor HOME says where the user's configuration is: no rules for paths are obeyed (paths.toml)";

/// Where the policy of a program's sessions stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PolicyFile {
    /// `paths.toml` in the user's configuration folder; without either there is no policy. A home that is not there is an error.
    #[default]
    OfUser,
    /// In this file, which must be there.
    At(PathBuf),
    /// Nowhere: everything is allowed.
    Nowhere,
}

/// Rules for paths; the first that fits a path counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    to: Vec<Network>,
    ruling: Ruling,
}

/// What is allowed on a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// The file and line that say so.
    pub place: String,
    /// Greatest rate to send at, in bits of IP packets per second.
    pub most_send_bps: Option<u64>,
    /// Greatest rate to receive at, likewise.
    pub most_receive_bps: Option<u64>,
    /// The path is set aside for us: nobody else's traffic is made way for.
    pub dedicated: bool,
    /// How data must move; `None` leaves the choice.
    pub transport: Option<Transport>,
    /// Bytes of IP packets at most.
    pub mtu: Option<u16>,
    /// The most memory that a session takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

impl PolicyFile {
    /// Reads the policy.
    ///
    /// # Errors
    /// [`PolicyError`], with file and line.
    pub fn load(&self) -> Result<Policy, PolicyError> {
        match self {
            Self::Nowhere => Ok(Policy::default()),
            Self::At(path) => file::read(path)?.ok_or_else(|| PolicyError::Missing { path: path.clone() }),
            Self::OfUser => of_user(user_folder()),
        }
    }
}

/// The policy in the user's configuration folder. Rules that lie where nothing is mounted are not taken for none.
fn of_user(folder: Result<PathBuf, IdentityError>) -> Result<Policy, PolicyError> {
    static TOLD: Once = Once::new();
    match folder {
        Ok(folder) => Policy::of_folder(&folder),
        Err(IdentityError::NoFolder) => {
            TOLD.call_once(|| tracing::warn!("{NO_FOLDER}"));
            Ok(Policy::default())
        }
        Err(cause) => Err(PolicyError::NoHome(cause.to_string())),
    }
}

impl Policy {
    /// The policy kept in a configuration folder; one that allows everything if there is none.
    ///
    /// # Errors
    /// [`PolicyError`], with file and line.
    pub fn of_folder(folder: &Path) -> Result<Self, PolicyError> {
        Ok(file::read(&folder.join(FILE))?.unwrap_or_default())
    }

    /// What is ruled for a path to `ip`, which was dialled as `host`. Of who dials us no name is known, only the address.
    #[must_use]
    pub fn ruling(&self, host: Option<&str>, ip: IpAddr) -> Option<&Ruling> {
        let ip = ip.to_canonical();
        self.rules.iter().find(|rule| rule.to.iter().any(|network| network.holds(host, ip))).map(|rule| &rule.ruling)
    }
}

impl Ruling {
    /// What remains of `asked`.
    ///
    /// # Errors
    /// [`PolicyError::Transport`] if nothing does.
    pub fn apply(&self, asked: &Options) -> Result<Options, PolicyError> {
        let mut allowed = asked.clone();
        allowed.dedicated |= self.dedicated;
        allowed.mtu = least(asked.mtu, self.mtu);
        allowed.memory = least(asked.memory, self.memory);
        allowed.limit(self.most_send_bps, self.most_receive_bps);
        allowed.transport = match (asked.transport, self.transport) {
            (Some(asked), Some(allowed)) if asked != allowed => {
                return Err(PolicyError::Transport { place: self.place.clone(), allowed, asked });
            }
            (asked, allowed) => asked.or(allowed),
        };
        Ok(allowed)
    }
}

/// The lesser of two bounds, either of which may be missing.
pub(crate) fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Rate;

    fn ruling() -> Ruling {
        Ruling {
            place: "paths.toml line 1".to_owned(),
            most_send_bps: Some(20_000_000),
            most_receive_bps: Some(30_000_000),
            dedicated: true,
            transport: Some(Transport::Udp),
            mtu: Some(1_400),
            memory: Some(Memory::LEAST),
        }
    }

    #[test]
    fn rules_in_a_home_that_is_not_there_are_not_taken_for_none() {
        let refusal = of_user(Err(IdentityError::NoHome("/home/ada".into()))).unwrap_err().to_string();
        assert!(refusal.contains("paths.toml") && refusal.contains("HOME is /home/ada"), "{refusal}");
        assert!(refusal.contains("set HOME"), "{refusal}");
        assert_eq!(of_user(Err(IdentityError::NoFolder)).unwrap(), Policy::default());
    }

    #[test]
    fn the_least_of_what_is_asked_and_what_is_allowed_counts() {
        let asked = Options { rate: Rate::Fixed(50_000_000), mtu: Some(9_000), ..Options::default() };
        let allowed = ruling().apply(&asked).unwrap();
        assert_eq!((allowed.rate, allowed.mtu), (Rate::Fixed(20_000_000), Some(1_400)));
        assert_eq!((allowed.most_receive_bps, allowed.transport), (30_000_000, Some(Transport::Udp)));
        let modest = Options { rate: Rate::Fixed(5), most_receive_bps: 7, mtu: Some(1_300), ..Options::default() };
        let allowed = ruling().apply(&modest).unwrap();
        assert_eq!((allowed.rate, allowed.most_receive_bps, allowed.mtu), (Rate::Fixed(5), 7, Some(1_300)));
    }

    #[test]
    fn a_rate_that_is_found_is_bounded_and_need_not_be_shared_on_a_dedicated_path() {
        let allowed = ruling().apply(&Options::default()).unwrap();
        assert_eq!(allowed.rate, Rate::Auto { most_bps: Some(20_000_000) });
        assert!(allowed.dedicated);
    }

    #[test]
    fn memory_is_the_least_of_both_and_a_rule_alone_stands_for_the_default() {
        let of = |asked: Option<Memory>, ruled: Option<u64>| {
            let memory = ruled.map(|bytes| Memory::new(bytes).unwrap());
            let asked = Options { memory: asked, ..Options::default() };
            Ruling { memory, ..ruling() }.apply(&asked).unwrap().memory.map(Memory::bytes)
        };
        assert_eq!(of(None, Some(2 << 30)), Some(2 << 30));
        assert_eq!(of(Some(Memory::LEAST), Some(2 << 30)), Some(Memory::LEAST.bytes()));
        assert_eq!(of(Some(Memory::DEFAULT), Some(64 << 20)), Some(64 << 20));
        assert_eq!(of(None, None), None);
    }

    #[test]
    fn another_transport_than_the_allowed_one_is_refused_with_the_place() {
        let asked = Options { transport: Some(Transport::Tcp), ..Options::default() };
        let refusal = ruling().apply(&asked).unwrap_err().to_string();
        assert!(refusal.contains("paths.toml line 1") && refusal.contains("udp"), "{refusal}");
    }
}
