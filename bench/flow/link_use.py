"""Steps of 256^3 float32 values from 4 ranks to 4 PEs over 1 Gbit/s, 80 ms and 0.1 % loss, beside TCP with 1 and 4 connections.

usage: python3 bench/flow/link_use.py [--runs 3] [--json bench/results/link-use.json]    (root; see `make bench-flow`)
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ends import PATIENCE, ROOT, VISAPULT, build_wave, end, line_of, start, undisturbed

# From the folder that `ends` adds to the path.
from columns import Column
from machine import machine
from testbed import RIGHT, Testbed

LINK = Column("wide", "1 Gbit/s, 80 ms, loss 0.1 %", 1e9, 80, 0.001)
N, RANKS, PES, PORT = 256, 4, 4, 7430
STEP_BYTES = 4 * N**3
SECONDS = 20
# What all ranks together send: as much as the link carries, by an agreement for a path of one's own.
RATE_BPS = 992_000_000
# More than the link carries, so that what is received is bounded by the link.
STEPS_PER_S = 2


def flow(bed: Testbed, wave: Path, folder: Path, mode: str) -> dict[str, float]:
    """The example simulation, and a back end that counts what comes."""
    report = folder / "back-end.json"
    options = ["--mode", mode, "--pes", PES, "--port", 0, "--no-open", "--for", f"{SECONDS + 8}s", "--json", report]
    back_end = start(bed, "right", [VISAPULT, "backend", "--listen", f"{RIGHT}:{PORT}", *options])
    solver = ["mpiexec.mpich", "-n", RANKS, wave, "--n", N, "--every", 1, "--rate", STEPS_PER_S]
    ranks = start(bed, "left", solver, VISAPULT_URL=line_of(back_end), VISAPULT_RATE=str(RATE_BPS // RANKS))
    try:
        back_end.wait(SECONDS + PATIENCE)
    finally:
        end(ranks)
        end(back_end)
    said = json.loads(report.read_text())
    return {"bps": said["sustained_bps"], "first_step_s": said["first_step_s"], "fresh_share": said["fresh_share"]}


def tcp(bed: Testbed, streams: int) -> dict[str, float]:
    """CUBIC over so many connections: what it sustains, and how long one step takes it from its first packet on."""

    def run(*amount: object) -> float:
        server = start(bed, "right", ["iperf3", "-s", "-1", "-p", PORT, "--forceflush"])
        line_of(server)
        try:
            command = ["iperf3", "-J", "-c", RIGHT, "-p", PORT, "-C", "cubic", "-P", streams, *amount]
            client = start(bed, "left", command)
            told, _ = client.communicate(timeout=SECONDS + 4 * PATIENCE)
            received = json.loads(told)["end"]["sum_received"]
            return received["seconds"] if "-n" in amount else received["bits_per_second"]
        finally:
            end(server)

    return {"bps": run("-t", SECONDS), "first_step_s": run("-n", STEP_BYTES)}


def row(name: str, runs: list[dict[str, float]]) -> str:
    shares = sorted(100 * run["bps"] / LINK.ceiling for run in runs)
    first = sorted(run["first_step_s"] for run in runs)
    return (
        f"| {name} | {statistics.median(run['bps'] for run in runs) / 1e6:.0f} | {statistics.median(shares):.1f} ({shares[0]:.1f}-{shares[-1]:.1f}) "
        f"| {statistics.median(first):.2f} ({first[0]:.2f}-{first[-1]:.2f}) |"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/link-use.json")
    chosen = arguments.parse_args()
    results: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wave = build_wave(folder)
        kinds: dict[str, Callable[[Testbed], dict[str, float]]] = {
            "flow, lossy": lambda bed: flow(bed, wave, folder, "lossy"),
            "flow, reliable": lambda bed: flow(bed, wave, folder, "reliable"),
            "TCP CUBIC, 1 connection": lambda bed: tcp(bed, 1),
            "TCP CUBIC, 4 connections": lambda bed: tcp(bed, 4),
        }
        for run in range(chosen.runs):
            for kind, measure in kinds.items():
                result = undisturbed(LINK, run + 1, measure)
                results.setdefault(kind, []).append(result)
                print(f"{kind}: {result}", file=sys.stderr, flush=True)
    when = time.strftime("%Y-%m-%d")
    told = {"machine": machine(), "date": when, "link": LINK.title, "step_bytes": STEP_BYTES, "results": results}
    chosen.json.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{LINK.title}; payload capacity {LINK.ceiling / 1e6:.0f} Mbit/s; a step's bytes need {8 * STEP_BYTES / LINK.ceiling:.2f} s\n")
    print("| | Mbit/s | share of payload capacity, % | first step after, s |\n|---|---|---|---|")
    for kind, runs in results.items():
        print(row(kind, runs))


if __name__ == "__main__":
    main()
