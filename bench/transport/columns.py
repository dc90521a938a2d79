"""The links that the peers are measured over."""

from __future__ import annotations

from dataclasses import dataclass

IP_AND_UDP = 28


@dataclass(frozen=True)
class Column:
    """One link. Rates are bits of IP packets per second."""

    name: str
    title: str
    rate: float
    rtt_ms: float
    loss: float = 0.0
    queue: str = "1bdp"
    mtu: int = 1500
    quick: bool = False

    def options(self) -> list[str]:
        """What `wan up` is told."""
        return [
            *("--rate", str(int(self.rate)), "--rtt", f"{self.rtt_ms}ms", "--loss", f"{self.loss * 100:g}%"),
            *("--queue", self.queue, "--mtu", str(self.mtu)),
        ]

    @property
    def ceiling(self) -> float:
        """Payload bits per second that plain UDP could carry, without loss."""
        return self.rate * (self.mtu - IP_AND_UDP) / self.mtu


def long_path(name: str, loss: float, queue: str, quick: bool = False) -> Column:
    """1 Gbit/s over 80 ms."""
    short = "1 BDP" if queue == "1bdp" else queue
    return Column(name, f"80 ms, {short}, loss {loss * 100:g} %", 1e9, 80, loss, queue, quick=quick)


COLUMNS = [
    long_path("clean", 0, "1bdp", quick=True),
    long_path("loss-0.1", 0.001, "1bdp", quick=True),
    long_path("loss-1", 0.01, "1bdp"),
    long_path("shallow", 0, "25ms"),
    long_path("shallow-0.1", 0.001, "25ms"),
    long_path("shallow-1", 0.01, "25ms"),
    # A queue of 1 BDP would be shorter than the pauses that a shared machine imposes on every program.
    Column("near", "1 ms, queue 5 ms", 1e9, 1, queue="5ms"),
    Column("far", "300 ms, 1 BDP", 1e9, 300),
    Column("fast", "5 Gbit/s, 9000, 56 ms, loss 0.01 %", 5e9, 56, 0.0001, mtu=9000),
]
