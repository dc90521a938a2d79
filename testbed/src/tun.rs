//! A TUN device: the end of the link in a namespace.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/net/tun";

/// What the kernel may leave for the device to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Super-packets of TCP and UDP.
    Segmentation,
    /// Super-packets of TCP; the kernel is too old for those of UDP.
    TcpOnly,
    /// One packet per read.
    None,
}

/// Makes a TUN device in the network namespace of the calling thread, without packet information and with vnet headers.
///
/// # Errors
/// If the device cannot be opened (needs root and /dev/net/tun) or set up.
pub fn open(name: &str, segmentation: bool) -> io::Result<(File, Offload)> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
    attach(&file, name)?;
    if !segmentation {
        set_offload(&file, libc::TUN_F_CSUM)?;
        return Ok((file, Offload::None));
    }
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    if set_offload(&file, tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6).is_ok() {
        return Ok((file, Offload::Segmentation));
    }
    set_offload(&file, tcp)?;
    Ok((file, Offload::TcpOnly))
}

#[expect(unsafe_code, reason = "TUNSETIFF has no safe wrapper")]
fn attach(file: &File, name: &str) -> io::Result<()> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of a network device has at most 15 letters"));
    }
    // SAFETY: an ifreq of zeroes is a valid value of the C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: the descriptor is open, and the kernel reads and writes one ifreq, which lives through the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "TUNSETOFFLOAD has no safe wrapper")]
fn set_offload(file: &File, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the descriptor is open; the argument is a number, not an address.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the calling thread run before all ordinary ones; says whether that was granted.
#[expect(unsafe_code, reason = "sched_setscheduler has no safe wrapper")]
pub fn run_first() -> bool {
    // SAFETY: a sched_param of zeroes is a valid value of the C struct.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 10;
    // SAFETY: 0 is the calling thread; the parameters live through the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) == 0 }
}
