"""A link of the testbed, and measurements with `visapult perf` over it: everything ends by itself."""

import contextlib
import itertools
import json
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from conftest import VISAPULT

WAN = Path(os.environ.get("WAN", VISAPULT.with_name("wan"))).resolve()
RIGHT = "10.7.0.2"
PORT = 7410
PATIENCE = 60.0

_numbers = itertools.count()
# One configuration folder for all runs: the certificate is made once, and not in the user's home.
# Every program that a scenario starts is given this environment. Scenarios are played in threads, and a start that
# inherits reads the process's own environment while pytest, in the main thread, writes the running test's name into
# it: since Python 3.11.4 that may fail with "Bad address".
_config = tempfile.TemporaryDirectory(prefix="visapult-faults-")
ENVIRONMENT = {**os.environ, "XDG_CONFIG_HOME": _config.name, "RUST_BACKTRACE": "0", "NO_COLOR": "1"}


def unable() -> str | None:
    """Why links cannot be made here, if they cannot."""
    if os.geteuid() != 0:
        return "needs root: links of the testbed are network namespaces"
    if not Path("/dev/net/tun").exists():
        return "needs /dev/net/tun"
    if not WAN.exists():
        return f"needs {WAN} (cargo build --release -p visapult-testbed)"
    return None


class Process:
    """A program under test, with what it says."""

    def __init__(self, command: Sequence[object], **how: Any) -> None:
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, **how
        )
        assert self.process.stdout is not None
        self.said: IO[str] = self.process.stdout
        self.first_line = ""

    def read_line(self) -> str:
        """Waits for its first line."""
        ready, _, _ = select.select([self.said], [], [], PATIENCE)
        self.first_line = self.said.readline() if ready else ""
        if not self.first_line:
            raise AssertionError(f"it said nothing: {self.stop().stderr}")
        return self.first_line.strip()

    def line_with(self, needle: str) -> str:
        """Waits for the next line in which this stands."""
        return self.line_where(f"{needle!r}", lambda line: needle in line)

    def line_where(self, what: str, is_there: Callable[[str], bool]) -> str:
        """Waits for the next line in which something is."""
        late = threading.Timer(PATIENCE, self.process.kill)
        late.start()
        try:
            return next(line for line in self.said if is_there(line))
        except StopIteration:
            raise AssertionError(f"it did not say {what}: {self.stop().stderr}") from None
        finally:
            late.cancel()

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def is_running(self) -> bool:
        return self.process.poll() is None

    def end(self, patience: float = PATIENCE) -> "Ended":
        """Waits for its end; one that does not come is a failure."""
        waited = time.monotonic()
        try:
            out, err = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"it did not end within {patience} s; it said: {out}{err}") from None
        return Ended(self.process.returncode, self.first_line + out, err, time.monotonic() - waited)

    def stop(self) -> "Ended":
        """Ends it, whatever it is at."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        out, err = self.process.communicate()
        return Ended(self.process.returncode, out, err, 0.0)


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    code: int
    stdout: str
    stderr: str
    #: Seconds from when its end was waited for.
    waited: float

    @property
    def problems(self) -> list[str]:
        """Lines in which it says what went wrong."""
        return [line for line in self.stderr.splitlines() if line.startswith("visapult: ")]


@dataclass
class Link:
    """A link that is up."""

    name: str
    processes: list[Process] = field(default_factory=list)

    def start(self, side: str, *command: object) -> Process:
        process = Process([WAN, "exec", "--name", self.name, side, *command])
        self.processes.append(process)
        return process

    def set(self, *options: str) -> None:
        wan("set", "--name", self.name, *options)

    def stats(self) -> dict[str, Any]:
        return json.loads(wan("stats", "--name", self.name))

    def carried(self, way: str | None = None) -> int:
        """Bytes that have come out of it so far, one way or both."""
        return sum(numbers["bytes_out"] for name, numbers in self.stats().items() if name in (way or "to_right to_left"))

    def wait_for_traffic(self, more: int = 200_000, way: str | None = None) -> None:
        """Waits until `more` bytes have been carried from now on."""
        until = self.carried(way) + more
        deadline = time.monotonic() + PATIENCE
        while self.carried(way) < until:
            assert time.monotonic() < deadline, "no traffic"
            assert any(process.is_running() for process in self.processes), "nobody is left to make traffic"
            pause(0.05)

    def serve(self, *options: object, side: str = "right") -> tuple[Process, str]:
        """A `perf serve` that is ready, and its URL."""
        server = self.start(side, VISAPULT, "perf", "serve", "--bind", f"{RIGHT}:{PORT}", *options)
        return server, server.read_line()

    def send(self, url: str, *options: object) -> Process:
        return self.start("left", VISAPULT, "perf", "send", url, *options)


def eventually(what: str, happened: Callable[[], bool]) -> None:
    """Waits until something has happened."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"{what} has not happened within {PATIENCE} s"
        pause(0.02)


def is_dialling(host: str, port: int) -> bool:
    """Whether somebody on this machine has asked for a connection to there, and has no answer."""
    there = f" {socket.inet_aton(host)[::-1].hex().upper()}:{port:04X} 02 "
    return there in Path("/proc/net/tcp").read_text()


def pause(seconds: float) -> None:
    """Lets misfortune last for a while."""
    threading.Event().wait(seconds)


def wan(*words: str) -> str:
    finished = subprocess.run([WAN, *words], capture_output=True, text=True, timeout=20, check=False, env=ENVIRONMENT)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@contextlib.contextmanager
def link(*options: str) -> Iterator[Link]:
    """A link with a name of its own, gone at the end whatever happens."""
    up = Link(f"faults-{os.getpid()}-{next(_numbers)}")
    wan("up", "--name", up.name, "--for", "15m", *options)
    try:
        yield up
    finally:
        for process in up.processes:
            process.stop()
        wan("down", "--name", up.name)


@dataclass(frozen=True)
class Measured:
    """A measurement that came to its end."""

    sender: Ended
    server: Ended
    report: dict[str, Any]


def measure(
    options: str,
    *send: object,
    serve: tuple[object, ...] = (),
    during: Callable[[Link, Process, Process], None] | None = None,
) -> Measured:
    """Sends over a link with `options`; `during` is called once data flows."""
    with link(*options.split()) as up:
        server, url = up.serve("--once", *serve)
        sender = up.send(url, "--json", "-", *send)
        if during:
            # More than goes ahead of the answer to a hello: a session that is only being dialled does not outlast what is to come.
            up.wait_for_traffic(1_000_000)
            during(up, server, sender)
        ended = sender.end()
        report = json.loads(ended.stdout) if re.match(r"\s*\{", ended.stdout) else {}
        return Measured(ended, server.end(20), report)
