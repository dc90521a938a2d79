//! What a program may ask of a session; the rest sizes itself.

use std::net::IpAddr;

use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::{MOST_LANES, Transport};
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

impl Rate {
    /// What it never exceeds, in bits of IP packets per second, if it is bounded.
    #[must_use]
    pub const fn most_bps(self) -> Option<u64> {
        match self {
            Self::Fixed(bps) => Some(bps),
            Self::Auto { most_bps } => most_bps,
        }
    }
}

/// How many lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// So many from the beginning on, 1 to [`MOST_LANES`].
    Exactly(u16),
    /// One, and more of them, up to so many, while a processor core is what limits them.
    UpTo(u16),
}

/// Lanes that there come to be at most, where nothing is said.
const MOST_GROWN: usize = 8;

impl Lanes {
    /// One for each of these addresses; where there are none, as many as this machine's cores can make use of.
    #[must_use]
    pub fn over(local: &[IpAddr]) -> Self {
        if local.is_empty() { Self::default() } else { Self::Exactly(local.len().min(usize::from(MOST_LANES)) as u16) }
    }

    /// Lanes to begin with.
    pub(crate) fn first(self) -> u16 {
        match self {
            Self::Exactly(lanes) => lanes.clamp(1, MOST_LANES),
            Self::UpTo(_) => 1,
        }
    }

    /// Lanes that there may come to be.
    pub(crate) fn most(self) -> u16 {
        let (Self::Exactly(lanes) | Self::UpTo(lanes)) = self;
        lanes.clamp(1, MOST_LANES)
    }
}

impl Default for Lanes {
    /// A lane has a thread to send and one to receive.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::UpTo((cores / 2).clamp(1, MOST_GROWN) as u16)
    }
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
    /// Lanes that a dialler asks for; a listener lets there come to be no more than this by themselves.
    pub lanes: Lanes,
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
    /// What a session may keep that is asked for so many lanes, and that may come to have as many as `most`.
    pub(crate) fn limits(&self, lanes: u16, most: u16) -> Limits {
        self.memory.unwrap_or_default().limits_of_growing(lanes, most)
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
            lanes: Lanes::default(),
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
