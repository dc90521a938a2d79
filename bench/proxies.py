"""Measures proxies against the exact image: quality by angle, bytes, seconds. Writes `bench/results/proxies.md`.

    python bench/proxies.py [--edge 256]

Needs numpy, and a Rust toolchain to build the example `proxy_quality`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from fields import SOFT_BLOBS, SOFT_CLOUD, THIN_SHELLS, Points, blobs, turbulence, waves

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS: list[tuple[str, object, Points]] = [
    ("waves, soft", waves, SOFT_CLOUD),
    ("waves, thin shells", waves, THIN_SHELLS),
    ("turbulence, soft", turbulence, SOFT_CLOUD),
    ("blobs, soft", blobs, SOFT_BLOBS),
]
HEADER = """# Proxies against the exact image

{edge}^3, 512 x 512 rays and pixels, key view at azimuth 30 and elevation 20 degrees, turned in azimuth by the degrees at the head of a
column. Cells: PSNR over the foreground in dB / SSIM, against the exact image at step 1/2. MB: bytes on the wire. s: seconds
to make the proxy, median of 5; CPU s: processor seconds of all threads. `exact, step 1` shows what the sampling step alone costs.
Scalar slabs know no transfer function: those of *waves, soft* and of *waves, thin shells* are one and the same keyframe.

Machine: {machine}, load average {load:.1f} when the run began. Command: `python bench/proxies.py --edge {edge}`.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", type=int, default=256)
    edge = parser.parse_args().edge
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        table = measure(edge, Path(folder))
    results = ROOT / "bench" / "results" / "proxies.md"
    results.parent.mkdir(exist_ok=True)
    results.write_text(HEADER.format(edge=edge, machine=machine(), load=load) + table)
    print(results.read_text())


def measure(edge: int, folder: Path) -> str:
    arguments = [str(edge)]
    made: dict[object, np.ndarray] = {}
    for number, (name, make, points) in enumerate(SUBJECTS):
        if make not in made:
            made[make] = make(edge)
        values = made[make]
        raw, tf = folder / f"{number}.raw", folder / f"{number}.json"
        values.astype("<f4").tofile(raw)
        tf.write_text(json.dumps({"range": [float(values.min()), float(values.max())], "points": points}))
        arguments += [name, str(raw), str(tf)]
    command = ["cargo", "run", "--release", "--quiet", "-p", "visapult-render", "--example", "proxy_quality", "--"]
    return subprocess.run(command + arguments, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = models[0] if models else model
    return f"{os.cpu_count()} cores of {model}, {platform.system()}"


if __name__ == "__main__":
    main()
