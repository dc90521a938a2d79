//! The ceiling: plain UDP, paced at a fixed rate in bursts that the kernel cuts to size, nothing repeated, nothing encrypted.
//!
//!     udp-peer serve ADDRESS
//!     udp-peer send ADDRESS --rate BITS_OF_IP_PER_SECOND [--mtu BYTES] [--time SECONDS]

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use socket2::{Domain, Protocol, Socket, Type};
use transport_peers::{Meter, large_buffers, option, time};

const HEADERS: usize = 28;
const MOST_IN_BURST: usize = 44;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, role, address, ..] = arguments.as_slice() else { bail!("udp-peer serve|send ADDRESS") };
    let address: SocketAddr = address.parse().context("address")?;
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    large_buffers(&socket);
    match role.as_str() {
        "serve" => serve(&socket, address),
        "send" => send(&socket, address),
        _ => bail!("serve or send"),
    }
}

fn serve(socket: &Socket, address: SocketAddr) -> Result<()> {
    set(socket, libc::UDP_GRO, 1)?;
    socket.bind(&address.into())?;
    let mut buffer = vec![std::mem::MaybeUninit::uninit(); 1 << 16];
    let mut meter = Meter::default();
    loop {
        let received = socket.recv(&mut buffer)?;
        meter.add(received);
        // Nothing for a while after the start is the end.
        socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    }
}

fn send(socket: &Socket, address: SocketAddr) -> Result<()> {
    let rate: f64 = option("--rate").context("--rate")?.parse()?;
    let mtu: usize = option("--mtu").and_then(|text| text.parse().ok()).unwrap_or(1500);
    let payload = mtu - HEADERS;
    let in_burst = MOST_IN_BURST.min(65_000 / payload).min((rate * 500e-6 / 8.0 / mtu as f64) as usize).max(1);
    set(socket, libc::UDP_SEGMENT, payload as libc::c_int)?;
    socket.connect(&address.into())?;
    let burst = vec![0; in_burst * payload];
    let gap = Duration::from_secs_f64((in_burst * mtu * 8) as f64 / rate);
    let began = Instant::now();
    let mut due = began;
    while began.elapsed() < time() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let _ = socket.send(&burst);
        // At most 5 ms are made up for after a stall.
        due = (due + gap).max(Instant::now() - Duration::from_millis(5));
    }
    Ok(())
}

fn set(socket: &Socket, option: libc::c_int, value: libc::c_int) -> Result<()> {
    // SAFETY: the descriptor is open and the option is one int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as u32,
        )
    };
    if result < 0 { Err(std::io::Error::last_os_error()).context("UDP offload") } else { Ok(()) }
}
