//! What things cost: round figures of a core of about 3 GHz, for judging orders of magnitude. The book says where they come from.

/// A thread that reads datagrams may be kept from it for so long: pauses of 1 to 6 ms were seen on busy machines.
pub(super) const READER_PAUSE_S: f64 = 5e-3;
/// A thread that sends sleeps at most about so long while data is there.
pub(super) const SENDER_PAUSE_S: f64 = 1e-3;
/// A processor takes packets off an interface at least this often, once it was told of them.
pub(super) const INTERRUPT_PAUSE_S: f64 = 3e-4;
/// A queue of packets in front of an interface absorbs so much of a burst.
pub(super) const BURST_S: f64 = 2e-4;
/// What one core encrypts or decrypts, hashes and moves at one end.
pub(super) const CORE_BPS: f64 = 8e9;
/// What one core takes off an interface, in packets of [`PACKET`] bytes put together by GRO.
pub(super) const INTERRUPT_BPS: f64 = 9e9;
/// What is left of that where interface and core are on different memory nodes.
pub(super) const FAR_NODE: f64 = 0.7;
/// What one core sends without segmentation offload, in packets of [`PACKET`] bytes.
pub(super) const UNSEGMENTED_BPS: f64 = 3.1e9;
/// What one core receives where no packets are put together, likewise.
pub(super) const UNCOALESCED_BPS: f64 = 9e9;
/// Bytes of the packets that these figures are of.
pub(super) const PACKET: f64 = 1500.0;
/// Bytes of headers and seal in each packet.
pub(super) const HEADERS: f64 = 61.0;
/// Processor time per second that reading the clock may take, as a share.
pub(super) const CLOCK_SHARE: f64 = 0.1;
