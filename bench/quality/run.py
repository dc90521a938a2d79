"""How close proxies come to the exact image, by angle and bytes: `make bench-quality`.

usage: python bench/quality/run.py [--only NAME] [--json bench/results/quality.json] [--docs docs/src]
Measures, and draws the curves and tables of the documentation. Needs the environment of the Python tests and a Rust toolchain.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import draw
from draw import Row
from subjects import Subject, subjects

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from machine import machine

EXAMPLE = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "visapult-render", "--example", "proxy_quality", "--"]


def measure(subject: Subject, folder: Path) -> list[Row]:
    """Rows: a proxy each."""
    told = subprocess.run([*EXAMPLE, *subject.written(folder)], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [{"subject": subject.name} | json.loads(line) for line in told.splitlines()]


def replaced(rows: list[Row], subject: str, by: list[Row]) -> list[Row]:
    """The rows with those of one subject in place of what they had of it."""
    before = list(itertools.takewhile(lambda row: row["subject"] != subject, rows))
    return before + by + [row for row in rows[len(before) :] if row["subject"] != subject]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", help="measure subjects whose names contain this; what the file has of others stays")
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/quality.json")
    arguments.add_argument("--docs", type=Path, default=ROOT / "docs/src", help="folder of the curves and of quality.md")
    chosen = arguments.parse_args()
    told: dict[str, Any] = json.loads(chosen.json.read_text()) if chosen.only else {"machine": machine(), "rows": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for subject in subjects(folder):
            if (chosen.only or "") in subject.name:
                told["rows"] = replaced(told["rows"], subject.name, measure(subject, folder))
                print(subject.name, file=sys.stderr, flush=True)
    chosen.json.write_text(json.dumps(told, indent=1) + "\n")
    draw.document(told, chosen.docs)


if __name__ == "__main__":
    main()
