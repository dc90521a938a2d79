"""Ways to hinder a running program from outside: pauses, a share of a processor, a small receive buffer."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PIDFD_GETFD = 438
PERIOD_US = 100_000
CGROUP_V1 = Path("/sys/fs/cgroup/cpu")
CGROUP_V2 = Path("/sys/fs/cgroup")

groups = itertools.count()


@contextmanager
def paused(pid: int, every: float, pause: float) -> Iterator[None]:
    """Stops a process for `pause` seconds out of `every`."""
    done = threading.Event()

    def run() -> None:
        while not done.wait(every - pause):
            if not sent(pid, signal.SIGSTOP):
                return
            done.wait(pause)
            sent(pid, signal.SIGCONT)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        sent(pid, signal.SIGCONT)


def sent(pid: int, kind: signal.Signals) -> bool:
    """Whether a process was there to take a signal."""
    try:
        os.kill(pid, kind)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def processor_share(pid: int, share: float) -> Iterator[None]:
    """Holds a process to a share of one processor, by the kernel's bandwidth control."""
    v1 = (CGROUP_V1 / "cpu.cfs_quota_us").exists()
    group = (CGROUP_V1 if v1 else CGROUP_V2) / f"bench-{os.getpid()}-{next(groups)}"
    group.mkdir()
    quota = max(1000, int(share * PERIOD_US))
    try:
        if v1:
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        remove(group)


def remove(group: Path) -> None:
    """Removes a group; it may be busy for a while with a process that ends."""
    for _ in range(40):
        with contextlib.suppress(OSError):
            for one in (group / "cgroup.procs").read_text().split():
                (group.parent / "cgroup.procs").write_text(one)
            group.rmdir()
            return
        time.sleep(0.1)


@contextmanager
def receive_buffer(pid: int, size: int) -> Iterator[None]:
    """Gives the UDP sockets of a process a small receive buffer, through copies of their descriptors (pidfd_getfd)."""
    for one in datagram_sockets(pid):
        with one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
    yield


def datagram_sockets(pid: int) -> list[socket.socket]:
    """The UDP sockets of another process."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.pidfd_open(pid)
    found = []
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not os.readlink(entry).startswith("socket:"):
                continue
            copy = libc.syscall(PIDFD_GETFD, handle, int(entry.name), 0)
            if copy < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            one = socket.socket(fileno=copy)
            if one.type == socket.SOCK_DGRAM:
                found.append(one)
            else:
                one.close()
    finally:
        os.close(handle)
    return found
