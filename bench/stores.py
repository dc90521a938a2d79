"""The first picture of a Zarr in an object store behind a wide-area link, beside the same after copying all of it.

A bucket (rclone's server) is on the right of a link of the testbed, visapult on the left. `render` of one step from the bucket, and `copy` of the
bucket's Zarr into memory followed by `render` of that, take turns; the pictures are the same bytes. Needs root, rclone, and the memory for the data
twice. Writes bench/results/stores.json and prints the table.

    python bench/stores.py [--edge 256] [--steps 8] [--rounds 3]        (an environment with zarr)
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "bench"), str(ROOT / "bench" / "transport")]
from columns import long_path  # noqa: E402
from machine import machine  # noqa: E402
from testbed import RIGHT, Testbed  # noqa: E402

VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
RCLONE = os.environ.get("RCLONE", "rclone")
PORT = 7460
ENVIRONMENT = {**os.environ, "AWS_ENDPOINT_URL": f"http://{RIGHT}:{PORT}", "AWS_ALLOW_HTTP": "true", "RCLONE_CONFIG": "/dev/null"}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--edge", type=int, default=256, help="samples along an edge")
    arguments.add_argument("--steps", type=int, default=8, help="steps that there are, of which one is shown")
    arguments.add_argument("--rounds", type=int, default=3, help="runs of each")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        stored = write(folder / "store/bucket/run.zarr", options.edge, options.steps)
        with Testbed(long_path("stores", 0, "1bdp"), 1) as bed:
            serving = [RCLONE, "serve", "s3", "--addr", f"{RIGHT}:{PORT}", "--vfs-cache-mode", "off", str(folder / "store")]
            server = subprocess.Popen(bed.command("right", serving), env=ENVIRONMENT, stderr=subprocess.DEVNULL)
            try:
                await_server(bed)
                rows = [measure(bed, folder) for _ in range(options.rounds)]
            finally:
                server.terminate()
                server.wait()
    report = {"machine": machine(), "edge": options.edge, "steps": options.steps, "stored_bytes": stored, "rows": rows}
    (ROOT / "bench/results/stores.json").write_text(json.dumps(report, indent=1) + "\n")
    print(f"{report['machine']}\n{stored / 1e6:.0f} MB, {options.steps} steps of {options.edge}^3 floats")
    for row in rows:
        print("  ".join(f"{name} {value:.2f}" for name, value in row.items()))


def write(path: Path, edge: int, steps: int) -> int:
    """Noise, which hardly compresses: its size as it is stored."""
    array = zarr.create_array(str(path), shape=(steps, edge, edge, edge), chunks=(1, 64, 64, 64), dtype="f4")
    random = np.random.default_rng(1)
    for step in range(steps):
        array[step] = random.random((edge,) * 3, dtype=np.float32)
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def await_server(bed: Testbed) -> None:
    probe = f"import urllib.request; urllib.request.urlopen('http://{RIGHT}:{PORT}/bucket', timeout=5)"
    while subprocess.run(bed.command("left", [sys.executable, "-c", probe]), capture_output=True, check=False).returncode != 0:
        time.sleep(0.2)


def measure(bed: Testbed, folder: Path) -> dict[str, float]:
    """Seconds of each way, and their ratio."""
    far = timed(bed, ["render", "s3://bucket/run.zarr", "--out", folder / "far.png"])
    copied = timed(bed, ["copy", "s3://bucket/run.zarr", folder / "here/"])
    shown = timed(bed, ["render", folder / "here/run.zarr", "--out", folder / "here.png"])
    assert (folder / "far.png").read_bytes() == (folder / "here.png").read_bytes()
    shutil.rmtree(folder / "here")
    return {"far_s": far, "copied_s": copied, "shown_s": shown, "ratio": (copied + shown) / far}


def timed(bed: Testbed, command: list[object]) -> float:
    began = time.monotonic()
    subprocess.run(bed.command("left", [str(VISAPULT), *map(str, command)]), env=ENVIRONMENT, check=True, capture_output=True)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
