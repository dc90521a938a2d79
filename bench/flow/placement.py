"""What decrypting datagrams and putting their rows into the boxes of PEs costs the threads that receive: steps of 256^3 float32 over loopback.

usage: python3 bench/flow/placement.py [--runs 3] [--json bench/results/placement.json]    (see `make bench-flow`)
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ends import ROOT, VISAPULT, build_wave

# From the folder that `ends` adds to the path.
from machine import machine

TICKS = os.sysconf("SC_CLK_TCK")
N = 256
# Eight PEs have boxes of 129 samples along each axis with the ghost layer: rows of 516 bytes.
PES = [2, 8]
SECONDS = 8


def receiving_cpu_s(pid: int) -> tuple[float, float]:
    """User and system time of the threads that receive datagrams."""
    user, system = 0, 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith("ripp-in"):
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            user, system = user + int(fields[11]), system + int(fields[12])
    return user / TICKS, system / TICKS


def measure(wave: Path, pes: int, folder: Path) -> dict[str, float]:
    report = folder / "report.json"
    options = ["--pes", pes, "--port", 0, "--no-open", "--json", report, "--for", f"{SECONDS + 20}s"]
    command = [VISAPULT, "backend", "--listen", "127.0.0.1:0", *options]
    back_end = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert back_end.stdout is not None and back_end.stderr is not None
    solver = ["mpiexec.mpich", "-n", "1", str(wave), "--n", str(N), "--every", "1", "--rate", "0"]
    meeting = {"VISAPULT_URL": back_end.stdout.readline().strip(), "VISAPULT_RATE": "30G"}
    rank = subprocess.Popen(solver, env={**os.environ, **meeting}, stdout=subprocess.DEVNULL)
    try:
        next(line for line in back_end.stderr if "first step" in line)
        # All of it is counted from here on: memory is taken once, at the beginning.
        user, system = receiving_cpu_s(back_end.pid)
        time.sleep(SECONDS)
        user_now, system_now = receiving_cpu_s(back_end.pid)
    finally:
        rank.terminate()
        back_end.send_signal(signal.SIGINT)
        back_end.wait(20)
        rank.wait(20)
    size = json.loads(report.read_text())["bytes"] * 1e-9
    return {
        "received_gb": size,
        "decrypt_and_place_gb_per_s": size / (user_now - user),
        "all_gb_per_s": size / (user_now - user + system_now - system),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/placement.json")
    chosen = arguments.parse_args()
    results: dict[int, list[dict[str, float]]] = {pes: [] for pes in PES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wave = build_wave(folder)
        for _ in range(chosen.runs):
            for pes, runs in results.items():
                runs.append(measure(wave, pes, folder))
                print(pes, runs[-1], file=sys.stderr, flush=True)
    told = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "n": N, "results": results}
    chosen.json.write_text(json.dumps(told, indent=1) + "\n")
    print("| PEs | decrypt and place, GB per second of a thread | with the system's part of receiving |\n|---|---|---|")
    for pes, runs in results.items():
        cells = []
        for what in ("decrypt_and_place_gb_per_s", "all_gb_per_s"):
            values = sorted(run[what] for run in runs)
            cells.append(f"{statistics.median(values):.1f} ({values[0]:.1f}-{values[-1]:.1f})")
        print(f"| {pes} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
