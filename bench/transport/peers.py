"""The peers: how each is started, and where it says what arrived."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from columns import Column
from testbed import RIGHT, ROOT

PROGRAMS = ROOT / "out" / "peers"
RUST_PROGRAMS = ROOT / "bench" / "transport" / "peers" / "target" / "release"
VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target" / "release" / "visapult")).resolve()
# A hole in memory: reading it costs no disk and fills no cache.
ZEROES = Path("/dev/shm/visapult-bench-zeroes")
SECONDS = 12
# What is asked of a path that is set aside: a thousandth is left for the control connection and reports.
FIXED = 0.999
PORT = 5201
ADDRESS = f"{RIGHT}:{PORT}"


@dataclass
class Commands:
    """A server on the right, a client on the left, and the environment of both."""

    server: list[str]
    client: list[str]
    environment: dict[str, str] | None = None


class Peer:
    """A program, or two, that move bytes from left to right for some seconds."""

    name: str
    title: str
    port = PORT
    # What of the server's /proc/PID/io counts the payload; None if the server prints `time bytes` itself.
    io_kind: str | None = None
    needs: tuple[str | Path, ...] = ()

    def missing(self) -> str | None:
        """What would have to be installed."""
        absent = [str(need) for need in self.needs if not shutil.which(need)]
        return ", ".join(absent) or None

    def commands(self, column: Column) -> Commands:
        """What to run over a link."""
        raise NotImplementedError


class Iperf(Peer):
    """iperf3: TCP."""

    io_kind = "rchar"
    needs = ("iperf3",)

    def __init__(self, congestion: str, streams: int = 1) -> None:
        self.congestion, self.streams = congestion, streams
        self.name = f"{congestion}-{streams}" if streams > 1 else congestion
        self.title = f"TCP {congestion.upper()}, {streams} stream{'s' if streams > 1 else ''}"

    def commands(self, column: Column) -> Commands:
        client = ["iperf3", "-c", RIGHT, "-p", str(PORT), "-C", self.congestion, "-P", str(self.streams), "-t", str(SECONDS + 3)]
        return Commands(["iperf3", "-s", "-1", "-p", str(PORT)], client)


class GridFtp(Peer):
    """GridFTP from the Globus packages, from a hole of a file to /dev/null."""

    io_kind = "wchar"
    port = 2811
    needs = ("globus-gridftp-server", "globus-url-copy", PROGRAMS / "congestion.so")

    def __init__(self, congestion: str, streams: int) -> None:
        self.congestion, self.streams = congestion, streams
        self.name = f"gridftp-{streams}" + ("" if congestion == "cubic" else f"-{congestion}")
        self.title = f"GridFTP, {streams} stream{'s' if streams > 1 else ''}, {congestion.upper()}"

    def commands(self, column: Column) -> Commands:
        if not ZEROES.exists():
            atexit.register(ZEROES.unlink, missing_ok=True)
            with ZEROES.open("wb") as file:
                file.truncate(1 << 36)
        server = ["globus-gridftp-server", "-aa", "-anonymous-user", "nobody", "-p", str(self.port)]
        server += ["-data-interface", RIGHT, "-log-level", "ERROR"]
        streams = ["-p", str(self.streams)] if self.streams > 1 else []
        client = ["globus-url-copy", "-fast", *streams, f"file://{ZEROES}", f"ftp://{RIGHT}:{self.port}/dev/null"]
        preload = {"LD_PRELOAD": str(PROGRAMS / "congestion.so"), "PEER_CONGESTION": self.congestion}
        return Commands(server, client, preload)


class Library(Peer):
    """UDT or SRT, through a small program."""

    # SRT 1.5 refuses packets larger than that.
    most_mtu = {"srt": 1500}

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.needs = (PROGRAMS / f"{name}-peer",)

    def commands(self, column: Column) -> Commands:
        mtu = min(column.mtu, self.most_mtu.get(self.name, column.mtu))
        program, where = str(self.needs[0]), [RIGHT, str(PORT), str(mtu)]
        return Commands([program, "serve", *where], [program, "send", *where, str(SECONDS + 3)])


class Quinn(Peer):
    """quinn: QUIC."""

    needs = (RUST_PROGRAMS / "quinn-peer",)

    def __init__(self, congestion: str) -> None:
        self.congestion = congestion
        self.name, self.title = f"quinn-{congestion}", f"quinn, {congestion.upper()}"

    def commands(self, column: Column) -> Commands:
        # What the path and a queue of the same size hold.
        window = int(2 * column.rate / 8 * column.rtt_ms / 1e3)
        options = [ADDRESS, "--cc", self.congestion, "--mtu", str(column.mtu), "--window", str(window)]
        program = str(self.needs[0])
        return Commands([program, "serve", *options], [program, "send", *options, "--time", str(SECONDS + 3)])


class PlainUdp(Peer):
    """Paced UDP that repeats nothing: the ceiling."""

    name, title = "udp", f"plain UDP, paced at {FIXED * 100:g} % (unreliable ceiling)"
    needs = (RUST_PROGRAMS / "udp-peer",)

    def commands(self, column: Column) -> Commands:
        program = str(self.needs[0])
        options = ["--rate", str(column.rate * FIXED), "--mtu", str(column.mtu), "--time", str(SECONDS + 3)]
        return Commands([program, "serve", ADDRESS], [program, "send", ADDRESS, *options])


class Ours(Peer):
    """`visapult perf`. Its client needs the URL that its server prints, and says itself what arrived and was verified."""

    def __init__(self, rate: str) -> None:
        self.rate = rate
        self.name = f"ours-{rate}"
        self.title = f"**visapult perf, {rate}**" if rate == "auto" else f"**visapult perf, fixed at {FIXED * 100:g} %**"

    def missing(self) -> str | None:
        if not VISAPULT.exists():
            return str(VISAPULT)
        known = subprocess.run([VISAPULT, "perf", "send", "--help"], capture_output=True, check=False).returncode == 0
        return None if known else f"{VISAPULT} perf"

    def commands(self, column: Column) -> Commands:
        return Commands([str(VISAPULT), "perf", "serve", "--bind", ADDRESS], [])

    def client(self, column: Column, url: str, report: Path) -> list[str]:
        """The client, once the URL is known."""
        rate = "auto" if self.rate == "auto" else str(int(column.rate * FIXED))
        options = ["--rate", rate, "--mtu", str(column.mtu), "--time", f"{SECONDS + 1}s", "--json", str(report)]
        return [str(VISAPULT), "perf", "send", url, *options]

    @staticmethod
    def result(report: Path) -> dict[str, Any]:
        """What the client wrote."""
        found = json.loads(report.read_text()) if report.exists() else {}
        return found if isinstance(found, dict) else {}


PEERS: list[Peer] = [
    Ours("fixed"),
    Ours("auto"),
    Iperf("bbr"),
    Iperf("cubic"),
    Iperf("cubic", 16),
    GridFtp("cubic", 1),
    GridFtp("cubic", 4),
    GridFtp("cubic", 16),
    Library("udt", "UDT 4"),
    Library("srt", "SRT, file mode"),
    Quinn("bbr"),
    Quinn("cubic"),
    PlainUdp(),
]
