"""What lost datagrams do to pictures of a lossy flow: foreground PSNR against the lossless picture, and whether a step ever stalls.

usage: python3 bench/flow/loss.py [--json bench/results/flow-loss.json]    (root, numpy; see `make bench-flow`)
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from ends import ROOT, VISAPULT, end, line_of, start, undisturbed

# From the folder that `ends` adds to the path.
from columns import Column
from machine import machine
from testbed import LEFT, Testbed

LOSS = VISAPULT.parent / "examples/loss"
N, STEPS = 128, 24
LOSSES = [0.001, 0.01, 0.05]
# Cells that a wave front moves from one step to the next.
CELLS_PER_STEP = 2
PORT = 7430


def series() -> np.ndarray:
    """Spherical waves that run out from three sources, `[step, z, y, x]`."""
    axis = np.linspace(-0.5, 0.5, N, dtype=np.float32)
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    fields = np.zeros((STEPS, N, N, N), np.float32)
    for (cx, cy, cz), k in [((0.3, 0.1, -0.2), 42.0), ((-0.35, -0.2, 0.1), 36.0), ((0.0, 0.35, 0.3), 48.0)]:
        r = np.sqrt((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2)
        for step in range(STEPS):
            fields[step] += np.sin(k * (r - step * CELLS_PER_STEP / N)) / (1 + 6 * r)
    return fields


def measure(bed: Testbed, file: Path, loss: float) -> dict[str, object]:
    server = start(bed, "left", [VISAPULT, "serve", file, "--bind", f"{LEFT}:{PORT}", "--rate", "900M"])
    client = start(bed, "right", [LOSS, line_of(server), file])
    try:
        told, _ = client.communicate(timeout=300)
    finally:
        end(client)
        end(server)
    # Of the first step there is nothing before: what it lost is missing, and drawn as such.
    steps = [json.loads(line) for line in told.splitlines()][1:]
    assert len(steps) == STEPS - 1, told
    return {"loss": loss, "steps": steps}


def link(loss: float) -> Column:
    return Column("lossy", f"loss {loss:%}", 1e9, 80, loss)


def row(result: dict[str, object]) -> str:
    steps = result["steps"]
    psnr = sorted(step["psnr_db"] for step in steps)
    seconds = sorted(step["seconds"] for step in steps)
    fresh = statistics.mean(step["fresh_share"] for step in steps)
    return (
        f"| {100 * result['loss']:g} % | {100 * fresh:.2f} % | {statistics.median(psnr):.1f} ({psnr[0]:.1f}-{psnr[-1]:.1f}) "
        f"| {statistics.median(seconds):.2f} ({seconds[-1]:.2f}) |"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/flow-loss.json")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "waves.npy"
        np.save(file, series())
        results = [undisturbed(link(loss), 1, lambda bed, loss=loss: measure(bed, file, loss)) for loss in LOSSES]
    told = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "n": N, "cells_per_step": CELLS_PER_STEP, "results": results}
    chosen.json.write_text(json.dumps(told, indent=1) + "\n")
    print("| datagrams lost | values of the step itself | foreground PSNR, dB: median (least-most) | time per step, s: median (most) |")
    print("|---|---|---|---|")
    for result in results:
        print(row(result))


if __name__ == "__main__":
    main()
