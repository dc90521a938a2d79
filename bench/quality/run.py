"""How close proxies come to the exact image, by angle and bytes: `make bench-quality`.

usage: python bench/quality/run.py [--only NAME] [--json bench/results/quality.json] [--docs docs/src]
Measures, and draws the curves and tables of the documentation. Needs the environment of the Python tests and a Rust toolchain.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import draw
from subjects import Subject, subjects

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "visapult-render", "--example", "proxy_quality", "--"]


def machine() -> str:
    """Processor and system, and how busy it is."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = models[0].split(":")[1].strip() if models else platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, load average {os.getloadavg()[0]:.1f}"


def measure(subject: Subject, folder: Path) -> list[dict[str, object]]:
    """Rows: a proxy each."""
    field = subject.field()
    nz, ny, nx = field.values.shape
    lowest, highest = subject.range or (float(field.values.min()), float(field.values.max()))
    raw, own, other = folder / "field.raw", folder / "own.json", folder / "other.json"
    field.values.astype("<f4").tofile(raw)
    for path, points in ((own, subject.points), (other, subject.other)):
        path.write_text(json.dumps({"range": [lowest, highest], "points": points}))
    grid = ",".join(map(str, [nx, ny, nz, *field.spacing]))
    told = subprocess.run([*EXAMPLE, grid, raw, own, other], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [{"subject": subject.name} | json.loads(line) for line in told.splitlines()]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", default="", help="subjects whose names contain this")
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/quality.json")
    arguments.add_argument("--docs", type=Path, default=ROOT / "docs/src", help="folder of the curves and of quality.md")
    chosen = arguments.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for subject in subjects(folder):
            if chosen.only in subject.name:
                rows += measure(subject, folder)
                print(subject.name, file=sys.stderr, flush=True)
    told = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "rows": rows}
    chosen.json.write_text(json.dumps(told, indent=1) + "\n")
    draw.document(told, chosen.docs)


if __name__ == "__main__":
    main()
