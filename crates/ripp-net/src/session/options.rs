//! What a program may ask of a session; the rest sizes itself.

use std::net::IpAddr;

use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::Transport;
use visapult_ripp::memory::{Limits, Memory};

use super::Service;
use crate::policy::{PolicyFile, least};

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As fast as the path carries, shared with others.
    Auto {
        /// But not faster than this, in bits of IP packets per second.
        most_bps: Option<u64>,
    },
    /// This many bits of IP packets per second, on a path of one's own.
    Fixed(u64),
}

/// Options of one end of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// How fast to send.
    pub rate: Rate,
    /// Greatest rate to receive at, in bits per second; 0 sets no limit.
    pub most_receive_bps: u64,
    /// The path is set aside for us: a rate that is found need not be shared with others.
    pub dedicated: bool,
    /// Lanes that a dialler asks for, 1 to 64.
    pub lanes: u16,
    /// Local addresses that lanes are spread over; none takes what the system chooses.
    pub local: Vec<IpAddr>,
    /// Bytes of IP packets at most; `None` probes the path.
    pub mtu: Option<u16>,
    /// Have the kernel hand over several datagrams as one, where it can.
    pub coalesce: bool,
    /// How data must move; `None` tries datagrams, then streams.
    pub transport: Option<Transport>,
    /// Ciphers of datagrams, the preferred first.
    pub ciphers: Vec<Cipher>,
    /// The most memory that a session takes for what its peer makes it keep and for its own records; `None` leaves it to the policy, and without a
    /// word there it is [`Memory::DEFAULT`]. Objects lie where the program puts them, and are not counted.
    pub memory: Option<Memory>,
    /// What caps all this, path by path.
    pub policy: PolicyFile,
    /// What a listener serves, and what a dialler wants to find; none is anything.
    pub service: Option<Service>,
    /// What the dialler wants, for the program at the other end.
    pub request: String,
}

impl Options {
    /// What a session may keep that is asked for so many lanes.
    pub(crate) fn limits(&self, lanes: u16) -> Limits {
        self.memory.unwrap_or_default().limits(lanes)
    }

    /// The greatest rate to receive at, as the other end is told of it.
    pub(crate) fn most_taken_bps(&self) -> Option<u64> {
        Some(self.most_receive_bps).filter(|&bps| bps > 0)
    }

    /// Allows no more than this, in bits of IP packets per second, where there is a limit.
    pub(crate) fn limit(&mut self, most_send_bps: Option<u64>, most_receive_bps: Option<u64>) {
        self.rate = match self.rate {
            Rate::Fixed(bps) => Rate::Fixed(bps.min(most_send_bps.unwrap_or(bps))),
            Rate::Auto { most_bps } => Rate::Auto { most_bps: least(most_bps, most_send_bps) },
        };
        self.most_receive_bps = least(self.most_taken_bps(), most_receive_bps).unwrap_or(0);
    }
}

impl Default for Options {
    fn default() -> Self {
        #[cfg(target_arch = "x86_64")]
        let aes_is_fast = std::arch::is_x86_feature_detected!("aes");
        #[cfg(not(target_arch = "x86_64"))]
        let aes_is_fast = cfg!(target_feature = "aes");
        let ciphers = if aes_is_fast {
            vec![Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305]
        } else {
            vec![Cipher::Chacha20Poly1305, Cipher::Aes128Gcm]
        };
        Self {
            rate: Rate::Auto { most_bps: None },
            most_receive_bps: 0,
            dedicated: false,
            lanes: 1,
            local: Vec::new(),
            mtu: None,
            coalesce: true,
            transport: None,
            ciphers,
            memory: None,
            policy: PolicyFile::default(),
            service: None,
            request: String::new(),
        }
    }
}
