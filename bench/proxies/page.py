"""Writes `docs/src/proxy-costs.md` from what the benches beside it have measured."""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples import ROOT, Row

# From the folders that `examples` adds to the path.
from machine import machine

# Modules of this folder: what each has measured becomes a section.
BENCHES = ["keyframes", "combining", "tile_loss", "viewers", "turning", "graphics", "large", "beside_paraview"]
HEAD = """# Costs of proxies

`make bench-proxies` measures this page, or one section of it by `python bench/proxies/NAME.py`. Rows are in `bench/results/proxies-NAME.json`. How close proxies come, by angle
and bytes: [Quality of proxies](quality.md).
"""


def measured(name: str, about: str, measure: Callable[[int, Path], list[Row]]) -> None:
    """The command of a bench: publishes what `measure` finds in so many runs, with a folder to work in."""
    arguments = argparse.ArgumentParser(description=about.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=3)
    runs = arguments.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        publish(name, measure(runs, Path(folder)), runs)


def publish(name: str, rows: list[Row], runs: int) -> None:
    """Keeps what was measured, and writes the page anew."""
    results(name).write_text(json.dumps({"machine": machine(), "runs": runs, "rows": rows}) + "\n")
    draw()


def draw() -> None:
    """Writes the page from what is kept."""
    parts = [HEAD]
    for bench in map(importlib.import_module, BENCHES):
        if results(bench.NAME).exists():
            told: dict[str, Any] = json.loads(results(bench.NAME).read_text())
            section: Callable[[list[Row]], str] = bench.section
            times = f"{told['runs']} run{'s' if told['runs'] > 1 else ''}"
            parts.append(f"{section(told['rows'])}\n\n`python bench/proxies/{bench.__name__}.py`, {times}: {told['machine']}.\n")
    (ROOT / "docs/src/proxy-costs.md").write_text("\n".join(parts))


def results(name: str) -> Any:
    return ROOT / f"bench/results/proxies-{name}.json"
