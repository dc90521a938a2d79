"""Frames per second of the page while a view turns, drawn by a graphics processor.

usage: VISAPULT=... CHROMIUM_SWITCHES='...' python bench/proxies/graphics.py [--runs 3]    (a graphics processor that chromium can use without a display)

`CHROMIUM_SWITCHES` say how; the page says which processor draws, and the bench ends where that is software.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from examples import Row, spread

# From the folders that `examples` adds to the path.
from fields import spherical_waves
from page import measured
from turning import opened

NAME = "graphics"
PROXIES = ["slabs", "segments", "bricks"]
EDGES = [256, 512]
SIZES = ["1024x768", "2560x1440"]
SOFTWARE = ["llvmpipe", "lavapipe", "SwiftShader"]


def measure(field: Path, edge: int, proxy: str, size: str, runs: int) -> list[Row]:
    with ExitStack() as stack:
        page, _ = opened(stack, field, proxy, 1, None, size)
        opening = page.stdout.readline()
        if not opening:
            raise SystemExit(f"{proxy} of {edge}^3: the page has not shown it")
        known = {"edge": edge, "size": size, "switches": os.environ.get("CHROMIUM_SWITCHES", "")} | json.loads(opening)
        if any(name in known["renderer"] for name in SOFTWARE):
            raise SystemExit(f"the page is drawn by {known['renderer']}: say in CHROMIUM_SWITCHES how chromium is to use a graphics processor")
        rows = []
        for _ in range(runs):
            page.stdin.write("turn\n")
            page.stdin.flush()
            rows.append(known | json.loads(page.stdout.readline()))
    print(rows[-1], flush=True)
    return rows


def section(rows: list[Row]) -> str:
    groups: dict[tuple[int, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["edge"], row["plan"].split(",")[0], row["size"]), []).append(row)
    lines = []
    for (edge, proxy, size), of_it in groups.items():
        rates = spread((1000 / row["frame_ms"] for row in of_it), 0)
        photons = spread((ms for row in of_it for ms in row["photon_ms"]), 1)
        lines.append(f"| {edge} | {proxy} | {size.replace('x', ' x ')} | {rates} | {photons} | {spread((row['cpu_s'] for row in of_it), 3)} |")
    return HEAD.format(renderer=rows[0]["renderer"], switches=rows[0]["switches"]) + "\n".join(lines)


HEAD = """## Turning in the page, drawn by a graphics processor

Waves, at full resolution, the server beside it; WebGL in headless chromium, drawn by {renderer}. Such a processor draws with two of its 66 texture processing clusters, four of 132
multiprocessors, for the others cannot run pixel shaders (*NVIDIA Hopper Architecture In-Depth*, 2022): some 2 TFLOP/s of 67. *Frames/s* and the others as above, the browser's limit of
frames a second switched off; single pictures wait for ticks of 1/60 s, and for a processor that slows down between them. While the view moves the page draws no finer than 30 frames/s allow,
which is switched off here. `CHROMIUM_SWITCHES='{switches}'`; without the last two of these the tests in the browser (`make test-e2e`) passed
there, but for those of lifelines, which were not run: what the page shows is 44 to 72 dB from what the program draws of the same proxies.

| n | proxy | pixels | frames/s | key to picture, ms | processor s |
|--:|---|---|--:|--:|--:|
"""


def measure_all(runs: int, folder: Path) -> list[Row]:
    rows: list[Row] = []
    for edge in EDGES:
        field = folder / f"waves-{edge}.npy"
        np.save(field, spherical_waves(edge, 0.35))
        for proxy in PROXIES:
            for size in SIZES:
                rows += measure(field, edge, proxy, size, runs)
    return rows


if __name__ == "__main__":
    measured(NAME, __doc__, measure_all)
