//! RIPP, the *Reliable Independent Packet Protocol*: reliability without order, sans IO.
//!
//! Everything here is told the time and handed the bytes: no socket, no clock, no thread. The parts, in the order a byte meets them:
//! [`outbox`] decides which region of which object goes next; [`lane_out`] decides when, and in which datagrams; [`wire`], [`record`] and [`cipher`]
//! make those; [`lane_in`] takes them and reports; [`inbox`] knows what of each object has come, and [`early_data`] has what came before it was accepted. [`rate`] decides how fast,
//! and [`memory`] how much may be remembered; [`path_sharing`] has the lanes of one path look for one rate, and [`growth`] tells when there should be more of them.

mod arrivals;
pub mod cipher;
pub mod control;
pub mod digest;
pub mod division;
pub mod early_data;
pub mod flight;
pub mod growth;
pub mod inbox;
pub mod lane_in;
pub mod lane_out;
pub mod memory;
pub mod outbox;
pub mod pacer;
pub mod path_sharing;
pub mod rate;
pub mod receiving;
pub mod record;
pub mod sending;
pub mod spans;
pub mod time;
pub mod window;
pub mod wire;
