"""What running processes have done, from /proc: bytes, CPU time, ports."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PERIOD = 0.05


def tree(pid: int) -> list[int]:
    """A process and its descendants that live."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            todo += [int(child) for child in read(children).split()]
    return found


def read(path: Path | str) -> str:
    """A file of /proc, empty if its process is gone."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def cpu_seconds(pid: int) -> float:
    """User and system time of one process."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def busy_seconds() -> float:
    """Time that the machine's cores have worked, for anybody."""
    fields = [int(word) for word in read("/proc/stat").split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def io_bytes(pid: int, kind: str) -> int:
    """Bytes that a process has read (`rchar`) or written (`wchar`) so far."""
    for line in read(f"/proc/{pid}/io").splitlines():
        name, _, value = line.partition(":")
        if name == kind:
            return int(value)
    return 0


def device_bytes(pid: int) -> int:
    """Bytes of IP packets that the link's end has received, in the namespace of a process."""
    for line in read(f"/proc/{pid}/net/dev").splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == "wan0":
            return int(rest.split()[0])
    return 0


def listens(pid: int, port: int) -> bool:
    """Whether somebody in the namespace of a process waits at a port."""
    wanted = f":{port:04X}"
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in read(f"/proc/{pid}/net/{kind}").splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(wanted) and (kind.startswith("udp") or fields[3] == "0A"):
                return True
    return False


def wait_listening(pid: int, port: int, seconds: float = 10) -> bool:
    """Waits until somebody does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if listens(pid, port):
            return True
        time.sleep(0.02)
    return False


@dataclass
class Sampler:
    """Follows a server and a client until stopped."""

    server: int
    client: int
    io_kind: str | None
    payload: list[tuple[float, int]] = field(default_factory=list)
    wire: list[tuple[float, int]] = field(default_factory=list)
    _io: dict[int, int] = field(default_factory=dict)
    _cpu: dict[str, dict[int, float]] = field(default_factory=lambda: {"server": {}, "client": {}})
    _cpu_before: dict[str, float] = field(default_factory=dict)

    def start(self) -> None:
        """Begins; what the server did before does not count."""
        self._cpu_before = {"server": sum(cpu_seconds(pid) for pid in tree(self.server))}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends."""
        self._stop.set()
        self._thread.join()

    def cpu(self, side: str) -> float:
        """CPU seconds of one side."""
        return sum(self._cpu[side].values()) - self._cpu_before.get(side, 0.0)

    def _run(self) -> None:
        before = None
        while not self._stop.wait(PERIOD):
            for side, pid in (("server", self.server), ("client", self.client)):
                for one in tree(pid):
                    self._cpu[side][one] = max(self._cpu[side].get(one, 0.0), cpu_seconds(one))
            now = time.monotonic()
            self.wire.append((now, device_bytes(self.server)))
            if self.io_kind:
                for one in tree(self.server):
                    self._io[one] = max(self._io.get(one, 0), io_bytes(one, self.io_kind))
                total = sum(self._io.values())
                before = total if before is None else before
                self.payload.append((now, total - before))


def at(series: list[tuple[float, int]], when: float) -> float:
    """A growing count at a time, between its samples."""
    earlier = (series[0][0], 0) if series else (when, 0)
    for sample in series:
        if sample[0] >= when:
            share = (when - earlier[0]) / (sample[0] - earlier[0]) if sample[0] > earlier[0] else 1.0
            return earlier[1] + max(0.0, share) * (sample[1] - earlier[1])
        earlier = sample
    return earlier[1]
