"""The transport on one machine, without a testbed: beside the bare loop, TCP and QUIC on loopback, on a pair of virtual interfaces (root), and how exactly
it keeps a rate."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from versions import measured_on, widest_vectors

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = Path(os.environ.get("RELEASE", ROOT / "target" / "release"))
RUNS = 5
SECONDS = 3
RATES = {"1M": 1e6, "10M": 1e7, "100M": 1e8, "1G": 1e9, "3G": 3e9}
SIZES = {1500: 1472, 9000: 8972}


QUINN = ROOT / "bench" / "transport" / "peers" / "target" / "release" / "quinn-peer"


@dataclass(frozen=True)
class Place:
    """Where the two ends run, and the address of the one that receives."""

    name: str
    address: str
    sender: list[str] = field(default_factory=list)
    receiver: list[str] = field(default_factory=list)


LOOPBACK = Place("loopback", "127.0.0.1")


@contextlib.contextmanager
def veth() -> Iterator[Place]:
    """Two namespaces, joined by a pair of virtual interfaces."""
    left, right = (f"{side}-{os.getpid()}" for side in ("left", "right"))

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    try:
        ip("netns", "add", left)
        ip("netns", "add", right)
        ip("link", "add", "pair0", "netns", left, "type", "veth", "peer", "name", "pair0", "netns", right)
        for side, address in ((left, "10.9.0.1/24"), (right, "10.9.0.2/24")):
            ip("-n", side, "address", "add", address, "dev", "pair0")
            ip("-n", side, "link", "set", "pair0", "up", "mtu", "9000")
        enter = ["ip", "netns", "exec"]
        yield Place("veth", "10.9.0.2", [*enter, left], [*enter, right])
    finally:
        for side in (left, right):
            subprocess.run(["ip", "netns", "del", side], check=False)


def bare() -> dict[int, dict[str, float]]:
    """Segmentation offload and AES-128-GCM between two threads: the floor."""
    done = subprocess.run([RELEASE / "examples" / "bare_loop", "1"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["segment"]: row for row in rows}


def ours(place: Place, *options: str) -> dict[str, Any]:
    """One measurement, encrypted and verified."""
    serve = [*place.receiver, RELEASE / "visapult", "perf", "serve", "--bind", f"{place.address}:0", "--once"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = server.stdout.readline().strip()
        send = [*place.sender, RELEASE / "visapult", "perf", "send", url, "--time", f"{SECONDS}s", "--json", "-", *options]
        done = subprocess.run(send, capture_output=True, text=True, check=True)
        server.wait(timeout=30)
    return json.loads(done.stdout)


def tcp(place: Place) -> dict[str, float]:
    """iperf3 with CUBIC: neither encrypted nor verified."""
    with subprocess.Popen([*place.receiver, "iperf3", "-s", "-1", "-p", "5299"], stdout=subprocess.DEVNULL):
        time.sleep(0.3)
        command = [*place.sender, "iperf3", "-c", place.address, "-p", "5299", "-C", "cubic", "-t", str(SECONDS), "-J"]
        end = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["end"]
    received, cpu = end["sum_received"], end["cpu_utilization_percent"]
    gigabytes = received["bytes"] / 1e9
    seconds = received["seconds"]
    return {
        "gbit_s": received["bits_per_second"] / 1e9,
        "sender": cpu["host_total"] / 100 * seconds / gigabytes,
        "receiver": cpu["remote_total"] / 100 * seconds / gigabytes,
    }


def quinn(place: Place, mtu: int) -> dict[str, float]:
    """quinn with BBR: encrypted; from the first bytes that came to the last."""
    options = [f"{place.address}:5298", "--cc", "bbr", "--mtu", str(mtu)]
    with subprocess.Popen([*place.receiver, QUINN, "serve", *options], stdout=subprocess.PIPE, text=True) as server:
        time.sleep(0.3)
        with subprocess.Popen([*place.sender, QUINN, "send", *options, "--time", str(SECONDS)], stdout=subprocess.DEVNULL) as client:
            _, client.returncode, sending = os.wait4(client.pid, 0)
        assert server.stdout
        counts = [(float(at), int(count)) for at, count in map(str.split, server.stdout)]
        _, server.returncode, receiving = os.wait4(server.pid, 0)
    (began, before), (ended, after) = counts[0], counts[-1]
    gigabytes = after / 1e9
    return {
        "gbit_s": (after - before) * 8e-9 / (ended - began),
        "sender": (sending.ru_utime + sending.ru_stime) / gigabytes,
        "receiver": (receiving.ru_utime + receiving.ru_stime) / gigabytes,
    }


def spread(values: list[float], digits: int = 2) -> str:
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def speed(place: Place) -> list[str]:
    """Rates and processor time, peers in turn. The bare loop is one process, on loopback."""
    found: dict[str, dict[str, list[float]]] = {}

    def note(name: str, gbit_s: float, sender: float, receiver: float) -> None:
        row = found.setdefault(name, {"gbit_s": [], "sender": [], "receiver": []})
        for key, value in zip(row, (gbit_s, sender, receiver), strict=True):
            row[key].append(value)

    ratios: dict[int, list[float]] = {mtu: [] for mtu in SIZES}
    for _ in range(RUNS):
        floor = bare() if place == LOOPBACK else {}
        for mtu, segment in SIZES.items():
            report = ours(place, "--mtu", str(mtu))
            gigabytes = report["bytes"] / 1e9
            rate = report["goodput_bps"] / 1e9
            note(f"visapult, MTU {mtu}", rate, report["sender_cpu_s"] / gigabytes, report["receiver_cpu_s"] / gigabytes)
            if row := floor.get(segment):
                note(f"bare loop, {segment} bytes", row["gbit_s"], row["sender_cpu_s_per_gb"], row["receiver_cpu_s_per_gb"])
                ratios[mtu].append(rate / row["gbit_s"])
            if QUINN.exists():
                note(f"quinn BBR, MTU {mtu}", **quinn(place, mtu))
        note("iperf3 TCP CUBIC (not encrypted)", **tcp(place))
    lines = [f"| over {place.name} | Gbit/s | sender CPU s/GB | receiver CPU s/GB |", "|---|---|---|---|"]
    lines += [f"| {name} | {spread(row['gbit_s'])} | {spread(row['sender'])} | {spread(row['receiver'])} |" for name, row in found.items()]
    shares = [f"Of the bare loop of the same turn, at MTU {mtu}: {spread(values)}." for mtu, values in ratios.items() if values]
    lines += ["", *shares] if shares else []
    return lines


def pacing() -> list[str]:
    """Errors of rates that were asked for."""
    lines = ["| rate asked for | error in ppm |", "|---|---|"]
    for name in RATES:
        errors = [ours(LOOPBACK, "--rate", name)["rate_error_ppm"] for _ in range(3)]
        lines.append(f"| {name} | {spread(errors, 1)} |")
    return lines


def main() -> None:
    """Writes bench/results/transport-local-avx512f.md, or of what else the processor has."""
    head = ["# The transport on one machine", "", f"`make bench-transport-local`: medians and ranges of {RUNS} turns of {SECONDS} s.", measured_on(), ""]
    tables = speed(LOOPBACK)
    if os.geteuid() == 0:
        with veth() as place:
            tables += ["", *speed(place)]
    text = "\n".join([*head, *tables, "", "How exactly a fixed rate is kept, from the first burst to the last:", "", *pacing(), ""])
    (ROOT / "bench" / "results" / f"transport-local-{widest_vectors()}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
