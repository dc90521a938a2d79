//! The system calls that no crate in use covers: messages with UDP's ancillary data, and many messages per call.
//!
//! Invariant: every pointer in a header given to the kernel points into a local or borrowed buffer that outlives the call.

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;
use std::time::Duration;

use rustix::net::SocketAddrAny;
use rustix::net::addr::SocketAddrStorage;

use super::Ecn;
use super::arena::{MESSAGES, Message};

/// Room for segment size, drop counter, both kinds of traffic class and the time of arrival: 4 x 24 + 32 bytes.
const CONTROL_BYTES: usize = 128;
const MAX_SEND_MESSAGES: usize = 64;

/// Ancillary data, aligned as `cmsghdr` must be.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

pub(super) struct Received {
    pub(super) messages: usize,
    /// The kernel's count of what this socket's full buffer has cost, where it told.
    pub(super) dropped: Option<u32>,
}

pub(super) fn set_option(socket: &UdpSocket, level: i32, name: i32, value: i32) -> io::Result<()> {
    #[expect(unsafe_code, reason = "no safe wrapper of these socket options")]
    // SAFETY: the kernel reads `size_of::<i32>()` bytes at `value`, which lives through the call.
    let rc = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, ptr::from_ref(&value).cast(), mem::size_of::<i32>() as u32)
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// One message; with `segment` the kernel cuts it into datagrams of that size. Returns the bytes taken.
pub(super) fn send(socket: &UdpSocket, to: SocketAddr, buf: &[u8], segment: Option<usize>) -> io::Result<usize> {
    let to = SocketAddrAny::from(to);
    let mut part = part_of(buf);
    let mut control = Control([0; CONTROL_BYTES]);
    let mut header = header_to(&to, &mut part);
    if let Some(segment) = segment {
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = write_segment(&mut control, segment as u16) as _;
    }
    #[expect(unsafe_code, reason = "sendmsg with UDP_SEGMENT has no safe wrapper")]
    // SAFETY: all that `header` points to lives through the call; the kernel only reads it.
    let rc = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_DONTWAIT) };
    usize::try_from(rc).map_err(|_| io::Error::last_os_error())
}

/// Datagrams of `segment` bytes, 64 at most; returns how many were taken.
pub(super) fn send_each(socket: &UdpSocket, to: SocketAddr, buf: &[u8], segment: usize) -> io::Result<usize> {
    let to = SocketAddrAny::from(to);
    let mut parts = [part_of(&[]); MAX_SEND_MESSAGES];
    let mut headers = [MaybeUninit::<libc::mmsghdr>::uninit(); MAX_SEND_MESSAGES];
    let mut count = 0;
    for ((part, header), chunk) in parts.iter_mut().zip(&mut headers).zip(buf.chunks(segment)) {
        *part = part_of(chunk);
        header.write(libc::mmsghdr { msg_hdr: header_to(&to, part), msg_len: 0 });
        count += 1;
    }
    #[expect(unsafe_code, reason = "sendmmsg has no safe wrapper")]
    // SAFETY: the first `count` headers are written above, and all they point to lives through the call.
    let rc = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr().cast(), count, libc::MSG_DONTWAIT as _) };
    usize::try_from(rc).map_err(|_| io::Error::last_os_error())
}

/// Fills the buffers of `stride` bytes in `bytes`, one message each, and describes them in `messages`.
pub(super) fn receive(
    socket: &UdpSocket,
    bytes: &mut [u8],
    stride: usize,
    messages: &mut [Message; MESSAGES],
) -> io::Result<Received> {
    let mut names = [const { MaybeUninit::<SocketAddrStorage>::uninit() }; MESSAGES];
    let mut controls = [const { MaybeUninit::<Control>::uninit() }; MESSAGES];
    let mut parts = [part_of(&[]); MESSAGES];
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MESSAGES];
    let mut count = 0;
    for (i, buffer) in bytes.chunks_exact_mut(stride).take(MESSAGES).enumerate() {
        parts[i] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: stride };
        let mut header = empty_header();
        header.msg_name = names[i].as_mut_ptr().cast();
        header.msg_namelen = mem::size_of::<SocketAddrStorage>() as u32;
        header.msg_iov = &raw mut parts[i];
        header.msg_iovlen = 1;
        header.msg_control = controls[i].as_mut_ptr().cast();
        header.msg_controllen = CONTROL_BYTES as _;
        headers[i].write(libc::mmsghdr { msg_hdr: header, msg_len: 0 });
        count += 1;
    }
    #[expect(unsafe_code, reason = "recvmmsg has no safe wrapper")]
    // SAFETY: the first `count` headers are written above; each names buffers of the sizes given that live through the call, distinct
    // from one another and not otherwise borrowed.
    let rc = unsafe {
        libc::recvmmsg(socket.as_raw_fd(), headers.as_mut_ptr().cast(), count, libc::MSG_DONTWAIT as _, ptr::null_mut())
    };
    let found = usize::try_from(rc).map_err(|_| io::Error::last_os_error())?;
    let mut dropped = None;
    for (header, message) in headers.iter().zip(messages.iter_mut()).take(found) {
        #[expect(unsafe_code, reason = "reads what recvmmsg wrote")]
        // SAFETY: the kernel completed the first `found` headers, and the buffers they name are still here.
        let described = unsafe { describe(header.assume_init_ref(), &mut dropped) };
        *message = described;
    }
    Ok(Received { messages: found, dropped })
}

/// What a message that has arrived is; the latest count of what the socket's full buffer has cost goes to `dropped`.
///
/// # Safety
/// `header` must have been completed by the kernel, with name and control buffers that are still alive.
#[expect(unsafe_code, reason = "walks ancillary data")]
unsafe fn describe(header: &libc::mmsghdr, dropped: &mut Option<u32>) -> Message {
    let (inner, bytes) = (&header.msg_hdr, header.msg_len as usize);
    // SAFETY: the kernel wrote `msg_namelen` bytes of address there, no more than the storage holds.
    let from = unsafe { SocketAddrAny::read(inner.msg_name.cast(), inner.msg_namelen) };
    let from = SocketAddr::try_from(from).unwrap_or(Message::NONE.from);
    let from = match from {
        SocketAddr::V6(v6) => v6.ip().to_ipv4_mapped().map_or(from, |v4| SocketAddr::new(v4.into(), v6.port())),
        SocketAddr::V4(_) => from,
    };
    let mut message = Message { bytes, segment: bytes.max(1), from, ecn: Ecn::NotCapable, ..Message::NONE };
    // SAFETY: `inner` describes ancillary data that the kernel wrote; the walk ends with a null pointer.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(inner) };
    while !next.is_null() {
        // SAFETY: `next` points to a complete header, followed by its data; each kind has at least the size read.
        unsafe {
            let data = libc::CMSG_DATA(next);
            match ((*next).cmsg_level, (*next).cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    message.segment = usize::try_from(data.cast::<i32>().read_unaligned()).unwrap_or(0).max(1);
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => message.ecn = Ecn::from_traffic_class(data.read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    message.ecn = Ecn::from_traffic_class(data.cast::<i32>().read_unaligned() as u8);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => *dropped = Some(data.cast::<u32>().read_unaligned()),
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    message.arrived = since_epoch(data.cast::<libc::timespec>().read_unaligned());
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(inner, next);
        }
    }
    if inner.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        // Without all of it we cannot tell where datagrams end.
        message.bytes = 0;
    }
    message
}

fn since_epoch(time: libc::timespec) -> Option<Duration> {
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

fn part_of(buf: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: buf.as_ptr().cast_mut().cast(), iov_len: buf.len() }
}

fn header_to(to: &SocketAddrAny, part: &mut libc::iovec) -> libc::msghdr {
    let mut header = empty_header();
    header.msg_name = to.as_ptr().cast_mut().cast();
    header.msg_namelen = to.addr_len();
    header.msg_iov = ptr::from_mut(part);
    header.msg_iovlen = 1;
    header
}

fn empty_header() -> libc::msghdr {
    #[expect(unsafe_code, reason = "msghdr has private padding on some systems")]
    // SAFETY: all of msghdr's fields are integers and pointers, for which zero is a value.
    unsafe {
        mem::zeroed()
    }
}

/// Asks for datagrams of `segment` bytes; returns the length of the ancillary data.
fn write_segment(control: &mut Control, segment: u16) -> usize {
    let size = mem::size_of::<u16>() as u32;
    #[expect(unsafe_code, reason = "lays out ancillary data")]
    // SAFETY: `control` is aligned for a header, and CONTROL_BYTES holds one with two bytes of data.
    unsafe {
        let first = control.0.as_mut_ptr().cast::<libc::cmsghdr>();
        (*first).cmsg_level = libc::SOL_UDP;
        (*first).cmsg_type = libc::UDP_SEGMENT;
        (*first).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(first).cast::<u16>().write_unaligned(segment);
        libc::CMSG_SPACE(size) as usize
    }
}
