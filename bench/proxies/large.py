"""Proxies of turbulence of 512^3 and of 1024^3, which the bench writes layer by layer and memory need not hold: `make bench-proxies`.

usage: VISAPULT=target/release/visapult python bench/proxies/large.py [--edges 512,1024]    (the Python tests' environment; 5 GB of disk, 12 GB of memory)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from examples import ROOT, Row
from PIL import Image

# From the folders that `examples` adds to the path.
from fields import SOFT_CLOUD, layers_of_spectrum
from page import publish

NAME = "large"
VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
SIZE = 512
KEY_DEG = (30, 20)
TURNED_DEG = (16, 30, 45)
ASKED = "<= 10 MB, 42 / 38 / 34 dB"
PROXIES = {
    "128 slabs": ["slabs", "--slabs", "128"],
    "scalar slabs": ["scalar-slabs"],
    "bricks, level 2": ["bricks", "--bricks-level", "2"],
}
HEAD = f"""## Large fields

Turbulence of 400 modes in soft colours, the same at both sizes; {SIZE} x {SIZE} pixels. Foreground PSNR of 8-bit pictures against the exact one at step 1/2. Asked of 512^3: {ASKED};
of 1024^3: no more bytes. *Load* is reading and finding ranges, *make* making and decoding the proxy, by the clock; *memory* the most that the process held. A
step is held in memory while it is rendered, as 32-bit numbers (4.3 GB at 1024^3), by one process or shared out among several; `visapult render --memory` passes through files
that are larger than that, [block by block](rendering.md#a-step-larger-than-memory).

| n | proxy | MB | 16 | 30 | 45 | load, s | make, s | memory, GB |
|--:|---|--:|--:|--:|--:|--:|--:|--:|
"""


def write(n: int, folder: Path) -> tuple[Path, Path]:
    """The field, a layer at a time, and its transfer function."""
    raw, lowest, highest = folder / "field.raw", np.inf, -np.inf
    with raw.open("wb") as file:
        for layer in layers_of_spectrum(n, 400, 24.0):
            lowest, highest = min(lowest, float(layer.min())), max(highest, float(layer.max()))
            layer.astype("<f4").tofile(file)
    (folder / "field.json").write_text(json.dumps({"file": "field.raw", "size": [n, n, n], "type": "f32"}))
    (folder / "tf.json").write_text(json.dumps({"range": [lowest, highest], "points": SOFT_CLOUD}))
    return folder / "field.json", folder / "tf.json"


def render(field: Path, function: Path, turned: float, options: list[str]) -> tuple[np.ndarray, Row]:
    """The picture, associated colours and opacity, and what it cost."""
    out, cost = field.with_suffix(".png"), field.with_name("cost.json")
    azimuth, elevation = KEY_DEG
    view = ["--key-az", azimuth, "--key-el", elevation, "--az", azimuth + turned, "--el", elevation]
    command = [VISAPULT, "render", field, "--tf", function, "--size", f"{SIZE}x{SIZE}", *view, "--out", out, "--json", cost, *options]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    with Image.open(out) as drawn:
        rgba = np.asarray(drawn.convert("RGBA"), float) / 255
    return np.dstack([rgba[..., :3] * rgba[..., 3:], rgba[..., 3]]), json.loads(cost.read_text())


def psnr(image: np.ndarray, truth: np.ndarray) -> float:
    shown = truth[..., 3] > 1 / 255
    return float(-10 * np.log10(np.mean((image[shown, :3] - truth[shown, :3]) ** 2)))


def measure(n: int, folder: Path) -> list[Row]:
    field, function = write(n, folder)
    truths = [render(field, function, turned, ["--sample-step", "0.5"])[0] for turned in TURNED_DEG]
    rows = []
    for proxy, options in PROXIES.items():
        drawn = [render(field, function, turned, ["--proxy", *options]) for turned in TURNED_DEG]
        told = drawn[0][1]
        seconds, decibels = told["seconds"], [round(psnr(image, truth), 1) for (image, _), truth in zip(drawn, truths, strict=True)]
        costs = {"bytes": told["wire_bytes"], "load_s": seconds["load"], "make_s": seconds["proxy"], "peak_bytes": told["peak_bytes"]}
        rows.append({"n": n, "proxy": proxy, "psnr_db": decibels} | costs)
        print(rows[-1], flush=True)
    return rows


def section(rows: list[Row]) -> str:
    def line(row: Row) -> str:
        costs = [row["load_s"], row["make_s"], row["peak_bytes"] / 1e9]
        cells = [row["n"], row["proxy"], f"{row['bytes'] / 1e6:.2f}", *row["psnr_db"], *(f"{cost:.1f}" for cost in costs)]
        return f"| {' | '.join(map(str, cells))} |"

    return HEAD + "\n".join(map(line, rows))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--edges", default="512,1024", help="samples along an edge")
    chosen = arguments.parse_args()
    rows: list[Row] = []
    for n in map(int, chosen.edges.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(n, Path(folder))
    publish(NAME, rows, 1)


if __name__ == "__main__":
    main()
