//! A wide-area link on one machine, for tests and measurements: two network namespaces, a TUN device in each, and a
//! process that carries IP packets between them with rate, delay, loss, queues and other misfortunes.
//!
//! [`link`] is the model, without clock, sockets and bytes; [`packet`] splits and joins what the kernel hands over;
//! [`emulator`] drives both. The rate is that of IP packets, headers included.

pub mod control;
pub mod emulator;
pub mod link;
pub mod namespaces;
mod nap;
pub mod packet;
pub mod settings;
pub mod stats;
pub mod tun;
pub mod units;
