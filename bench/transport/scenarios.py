"""The labelled matrix: what truly limits a transfer, and how that is brought about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import hindrance


@dataclass(frozen=True)
class Path:
    """A link's rate in Mbit/s of IP packets, and its round-trip time."""

    mbps: int
    rtt_ms: int

    @property
    def title(self) -> str:
        """For tables."""
        return f"{self.mbps} Mbit/s, {self.rtt_ms} ms"


PATHS = [Path(100, 20), Path(500, 20), Path(200, 80)]

# Hinders a process; the number is how hard, 1 at first, and halved when that turned out to hinder nothing.
Hinder = Callable[[int, Path, float], AbstractContextManager[None]]


@dataclass(frozen=True)
class Scenario:
    """One thing that limits."""

    name: str
    #: The one right answer.
    label: str
    title: str
    #: Settings of the link, beside rate and round trip.
    link: Callable[[Path], list[str]] = lambda path: []
    #: Options of `perf send`.
    send: Callable[[Path], list[str]] = lambda path: []
    hinder_receiver: Hinder | None = None
    hinder_sender: Hinder | None = None
    competes: bool = False

    @property
    def hinders(self) -> bool:
        """An end is hindered, which has to be seen in the rate."""
        return self.hinder_receiver is not None or self.hinder_sender is not None


def queue(text: str) -> Callable[[Path], list[str]]:
    """A queue of this length."""
    return lambda path: ["--queue", text]


def loss(*text: str) -> Callable[[Path], list[str]]:
    """Random loss."""
    return lambda path: ["--loss", *text]


def policer(path: Path) -> list[str]:
    """Six tenths of the link, and a bucket of 10 ms of that."""
    mbps = path.mbps * 6 // 10
    return ["--policer", f"{mbps}M/{mbps * 10 // 8}kB"]


SCENARIOS = [
    Scenario("link", "link", "a queue of 1 BDP", queue("1bdp")),
    Scenario("link-25", "link", "a queue of 25 ms", queue("25ms")),
    Scenario("shallow-1", "shallow-queue", "a queue of 1 ms", queue("1ms")),
    Scenario("shallow-2", "shallow-queue", "a queue of 2 ms", queue("2ms")),
    Scenario("loss-0.1", "random-loss", "random loss of 0.1 %", loss("0.1%")),
    Scenario("loss-1", "random-loss", "random loss of 1 %", loss("1%")),
    Scenario("loss-bursts", "random-loss", "random loss of 0.5 %, five in a row", loss("0.5%", "--burst", "5")),
    Scenario("policer", "policer", "a policer at 0.6 of the link, bucket 10 ms", policer),
    Scenario("cubic", "shared", "a CUBIC flow, queue 1 BDP", queue("1bdp"), competes=True),
    Scenario(
        "receiver-stalls",
        "receiver",
        "the receiver is stopped for 0.3 s of each second",
        hinder_receiver=lambda pid, path, much: hindrance.paused(pid, 1.0, 0.3),
    ),
    Scenario(
        "receiver-cpu",
        "receiver",
        "the receiver may use half the processor time it needs",
        hinder_receiver=lambda pid, path, much: hindrance.processor_share(pid, 0.000_2 * path.mbps * much),
    ),
    Scenario(
        "receiver-buffer",
        "receiver",
        "the receiver's socket buffer holds 0.25 ms of the rate",
        hinder_receiver=lambda pid, path, much: hindrance.receive_buffer(pid, int(path.mbps * 31 * much)),
    ),
    Scenario(
        "sender-cpu",
        "sender",
        "the sender may use half the processor time it needs",
        hinder_sender=lambda pid, path, much: hindrance.processor_share(pid, 0.000_4 * path.mbps * much),
    ),
    Scenario("asked", "rate", "0.6 of the link asked for", send=lambda path: ["--rate", f"{path.mbps * 6 // 10}M"]),
]


@dataclass
class Link:
    """A path with a scenario's settings, as the testbed wants it."""

    path: Path
    settings: list[str] = field(default_factory=list)

    def options(self) -> list[str]:
        """What `wan up` is told."""
        return ["--rate", f"{self.path.mbps}M", "--rtt", f"{self.path.rtt_ms}ms", *self.settings]
