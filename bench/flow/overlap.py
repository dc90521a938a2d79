"""Receiving the next step while one is rendered, against doing both in turn: the example simulation over 200 Mbit/s and 20 ms.

usage: python3 bench/flow/overlap.py [--runs 3] [--json bench/results/overlap.json]    (root; see `make bench-flow`)
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ends import ROOT, VISAPULT, build_wave, end, line_of, start, undisturbed

# From the folder that `ends` adds to the path.
from columns import Column
from machine import machine
from testbed import LEFT, Testbed

OVERLAP = VISAPULT.parent / "examples/overlap"
LINK = Column("near", "200 Mbit/s, 20 ms", 2e8, 20)
N, STEPS = 96, 40
STEP_BYTES = 4 * N**3
# Faster than the link: the newest step is always one that has not been sent.
STEPS_PER_S = 20


def measure(bed: Testbed, wave: Path, how: str) -> dict[str, float]:
    solver = [wave, "--n", N, "--every", 1, "--rate", STEPS_PER_S, "--listen", f"{LEFT}:0", "--host", LEFT]
    ranks = start(bed, "left", ["mpiexec.mpich", "-n", 1, *solver], VISAPULT_RATE="198M")
    client = start(bed, "right", [OVERLAP, line_of(ranks), STEPS, how])
    try:
        told, _ = client.communicate(timeout=120)
    finally:
        end(client)
        end(ranks)
    return json.loads(told)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/overlap.json")
    chosen = arguments.parse_args()
    results: dict[str, list[dict[str, float]]] = {"together": [], "in-turn": []}
    with tempfile.TemporaryDirectory() as folder:
        wave = build_wave(Path(folder))
        for run in range(chosen.runs):
            for how, runs in results.items():
                runs.append(undisturbed(LINK, run + 1, lambda bed, how=how: measure(bed, wave, how)))
                print(runs[-1], file=sys.stderr, flush=True)
    receive_s = 8 * STEP_BYTES / LINK.ceiling
    told = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "link": LINK.title, "n": N, "receive_s": receive_s, "results": results}
    chosen.json.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{LINK.title}; the bytes of a step of {N}^3 need {receive_s:.3f} s\n")
    print("| | render, s | period, s: median (least-most) | longer of both | sum of both |\n|---|---|---|---|---|")
    for how, runs in results.items():
        periods = sorted(run["period_s"] for run in runs)
        render_s = statistics.median(run["render_s"] for run in runs)
        period = statistics.median(periods)
        longer, both = max(receive_s, render_s), receive_s + render_s
        print(
            f"| {how} | {render_s:.3f} | {period:.3f} ({periods[0]:.3f}-{periods[-1]:.3f}) | {longer:.3f} ({period / longer:.2f} x) "
            f"| {both:.3f} ({period / both:.2f} x) |"
        )


if __name__ == "__main__":
    main()
