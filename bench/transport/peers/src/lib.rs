//! What the peers share: how a receiver tells what it has got, and large socket buffers.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::Socket;

/// Seconds of CLOCK_MONOTONIC, which all processes of the machine read alike.
pub fn monotonic() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, which lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Prints `time total_bytes` at most every 50 ms, and at the end what came last.
#[derive(Default)]
pub struct Meter {
    bytes: u64,
    came: f64,
    printed: f64,
}

impl Meter {
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.came = monotonic();
        if self.came - self.printed >= 0.05 {
            self.printed = self.came;
            self.print();
        }
    }

    fn print(&self) {
        let _ = writeln!(std::io::stdout().lock(), "{:.6} {}", self.came, self.bytes);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.print();
    }
}

/// Buffers beyond `rmem_max`, which root may have.
pub fn large_buffers(socket: &Socket) {
    let bytes: libc::c_int = 64 << 20;
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
        // SAFETY: the descriptor is open and the option is one int.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const bytes).cast(),
                size_of_val(&bytes) as u32,
            );
        }
    }
}

/// `--name value` of the command line.
pub fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.next()?;
    arguments.next()
}

/// How long to send.
pub fn time() -> Duration {
    Duration::from_secs_f64(option("--time").and_then(|text| text.parse().ok()).unwrap_or(12.0))
}
