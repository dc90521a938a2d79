"""Runs the examples of `visapult-render` that measure proxies, on subjects of `bench/quality`."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "bench/quality")]

from fields import SOFT_CLOUD, THIN_SHELLS
from subjects import Field, Subject

Row = dict[str, Any]


def shells_and_cloud(waves: Callable[[], Field], turbulence: Callable[[], Field]) -> list[Subject]:
    """What is hard and what is easy to show of fields."""
    thin = Subject("waves, thin shells", waves, THIN_SHELLS, SOFT_CLOUD)
    return [thin, Subject("turbulence, soft", turbulence, SOFT_CLOUD, THIN_SHELLS)]


def rows_of(example: str, subject: Subject, folder: Path, runs: int, *what: str) -> list[Row]:
    """What an example says of a subject, a row for each line; of all that it can do, or of one thing."""
    command = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "visapult-render", "--example", example, "--"]
    grid, field, function, _ = subject.written(folder)
    done = subprocess.run([*command, grid, field, function, str(runs), *what], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [{"subject": subject.name} | json.loads(line) for line in done.stdout.splitlines()]


def spread(values: Iterable[float], digits: int = 2) -> str:
    """Median, least and most."""
    ordered = sorted(values)
    return f"{statistics.median(ordered):.{digits}f} ({ordered[0]:.{digits}f} to {ordered[-1]:.{digits}f})"
