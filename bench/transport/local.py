"""The transport on one machine, without a testbed: beside the bare loop and TCP on loopback, and how exactly it keeps a rate."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from versions import measured_on

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = Path(os.environ.get("RELEASE", ROOT / "target" / "release"))
RUNS = 5
SECONDS = 3
RATES = {"1M": 1e6, "10M": 1e7, "100M": 1e8, "1G": 1e9, "3G": 3e9}
SIZES = {1500: 1472, 9000: 8972}


def bare() -> dict[int, dict[str, float]]:
    """Segmentation offload and AES-128-GCM between two threads: the floor."""
    done = subprocess.run([RELEASE / "examples" / "bare_loop", "1"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["segment"]: row for row in rows}


def ours(*options: str) -> dict[str, Any]:
    """One measurement over loopback, encrypted and verified."""
    serve = [RELEASE / "visapult", "perf", "serve", "--bind", "127.0.0.1:0", "--once"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = server.stdout.readline().strip()
        send = [RELEASE / "visapult", "perf", "send", url, "--time", f"{SECONDS}s", "--json", "-", *options]
        done = subprocess.run(send, capture_output=True, text=True, check=True)
        server.wait(timeout=30)
    return json.loads(done.stdout)


def tcp() -> dict[str, float]:
    """iperf3 with CUBIC over loopback: neither encrypted nor verified."""
    with subprocess.Popen(["iperf3", "-s", "-1", "-p", "5299"], stdout=subprocess.DEVNULL):
        time.sleep(0.3)
        command = ["iperf3", "-c", "127.0.0.1", "-p", "5299", "-C", "cubic", "-t", str(SECONDS), "-J"]
        end = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["end"]
    received, cpu = end["sum_received"], end["cpu_utilization_percent"]
    gigabytes = received["bytes"] / 1e9
    seconds = received["seconds"]
    return {
        "gbit_s": received["bits_per_second"] / 1e9,
        "sender": cpu["host_total"] / 100 * seconds / gigabytes,
        "receiver": cpu["remote_total"] / 100 * seconds / gigabytes,
    }


def spread(values: list[float], digits: int = 2) -> str:
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def speed() -> list[str]:
    """Rates and processor time, peers in turn."""
    found: dict[str, dict[str, list[float]]] = {}

    def note(name: str, gbit_s: float, sender: float, receiver: float) -> None:
        row = found.setdefault(name, {"gbit_s": [], "sender": [], "receiver": []})
        for key, value in zip(row, (gbit_s, sender, receiver), strict=True):
            row[key].append(value)

    ratios: dict[int, list[float]] = {mtu: [] for mtu in SIZES}
    for _ in range(RUNS):
        floor = bare()
        for mtu, segment in SIZES.items():
            row = floor[segment]
            note(f"bare loop, {segment} bytes", row["gbit_s"], row["sender_cpu_s_per_gb"], row["receiver_cpu_s_per_gb"])
            report = ours("--mtu", str(mtu))
            gigabytes = report["bytes"] / 1e9
            rate = report["goodput_bps"] / 1e9
            note(f"visapult, MTU {mtu}", rate, report["sender_cpu_s"] / gigabytes, report["receiver_cpu_s"] / gigabytes)
            ratios[mtu].append(rate / row["gbit_s"])
        row = tcp()
        note("iperf3 TCP CUBIC (not encrypted)", row["gbit_s"], row["sender"], row["receiver"])
    lines = ["| over loopback | Gbit/s | sender CPU s/GB | receiver CPU s/GB |", "|---|---|---|---|"]
    lines += [f"| {name} | {spread(row['gbit_s'])} | {spread(row['sender'])} | {spread(row['receiver'])} |" for name, row in found.items()]
    lines += ["", *(f"Of the bare loop of the same turn, at MTU {mtu}: {spread(values)}." for mtu, values in ratios.items())]
    return lines


def pacing() -> list[str]:
    """Errors of rates that were asked for."""
    lines = ["| rate asked for | error in ppm |", "|---|---|"]
    for name in RATES:
        errors = [ours("--rate", name)["rate_error_ppm"] for _ in range(3)]
        lines.append(f"| {name} | {spread(errors, 1)} |")
    return lines


def main() -> None:
    """Writes bench/results/transport-local.md."""
    head = ["# The transport on one machine", "", f"`make bench-transport-local`: medians and ranges of {RUNS} turns of {SECONDS} s.", measured_on(), ""]
    text = "\n".join([*head, *speed(), "", "How exactly a fixed rate is kept, from the first burst to the last:", "", *pacing(), ""])
    (ROOT / "bench" / "results" / "transport-local.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
