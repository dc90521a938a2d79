"""Levels that a file stores: the finest that fits in memory is shown, or the one that is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from conftest import VISAPULT, limit_memory, run
from page import Page
from test_bad_input import assert_one_clear_line
from wan import Process

# Level 0 of the image takes 4.9 GB, level 1 0.6 GB.
SIZES = (1024, 512)
MEMORY = 3 << 30


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OME-Zarr image of two levels, of which few chunks are written: level n holds n + 1 in a corner, and 0."""
    path = tmp_path_factory.mktemp("levels") / "image.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=2)
    datasets: list[Any] = []
    for level, size in enumerate(SIZES):
        array = group.create_array(str(level), shape=(size,) * 3, chunks=(64,) * 3, dtype="f4", fill_value=0)
        array[:64, :64, :64] = np.float32(level + 1)
        scale = {"type": "scale", "scale": [2.0**level] * 3}
        datasets.append({"path": str(level), "coordinateTransformations": [scale]})
    axes: list[Any] = [{"name": name, "type": "space"} for name in "zyx"]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": datasets}]
    return path


def assert_shown_at_level_1(source: Path, folder: Path, *needles: str) -> None:
    """What fits is level 1: which is said, and looks the same where it is named."""
    view = ["--size", "32x32", "--sample-step", "8", "--out"]
    fitted = run("render", source, *view, folder / "fitted.png", memory=MEMORY)
    [line] = fitted.stderr.splitlines()
    for needle in needles:
        assert needle in line
    named = run("render", f"{source}?level=1", *view, folder / "named.png", memory=MEMORY)
    assert named.stderr == ""
    assert (folder / "fitted.png").read_bytes() == (folder / "named.png").read_bytes()


def test_the_finest_level_that_fits_is_rendered_and_said_to_be(image: Path, tmp_path: Path) -> None:
    assert_shown_at_level_1(image, tmp_path, "image.zarr", "level 1", "512 x 512 x 512", "4.9 GB")


def test_a_page_is_told_which_level_it_shows(image: Path) -> None:
    view = Process([VISAPULT, "view", image, "--port", "0", "--no-open"], preexec_fn=lambda: limit_memory(MEMORY))
    try:
        page = Page(view.read_line())
        page.until(lambda: page.notices, "a word on the level")
        page.close()
        assert "level 1" in page.notices[0]
    finally:
        view.stop()


def test_a_named_level_is_described_alone(image: Path) -> None:
    told = json.loads(run("info", "--json", f"{image}?level=1").stdout)
    assert [level["size"] for level in told["levels"]] == [[512] * 3]
    assert told["name"] == "image.zarr?level=1"
    assert told["fields"][0]["range"] == [0, 2]


@pytest.mark.parametrize(("level", "needle"), [("9", "0 to 7"), ("fine", "number")])
def test_a_level_that_is_not_there_is_answered_with_those_there_are(image: Path, level: str, needle: str) -> None:
    finished = run("info", f"{image}?level={level}", check=False)
    assert finished.returncode == 1
    assert_one_clear_line(finished.stderr, "image.zarr", needle)


def test_a_file_of_one_level_is_shown_through_means_where_it_does_not_fit(tmp_path: Path) -> None:
    size = 256
    values = np.random.default_rng(7).normal(size=(size,) * 3).astype(np.float32)
    means = values.reshape(size // 2, 2, size // 2, 2, size // 2, 2).mean(axis=(1, 3, 5), dtype=np.float64)
    np.save(tmp_path / "fine.npy", values)
    np.save(tmp_path / "means.npy", means.astype(np.float32))
    told = json.loads(run("info", "--json", f"{tmp_path / 'fine.npy'}?level=1").stdout)
    assert (told["levels"][0]["size"], told["levels"][0]["spacing"]) == ([size // 2] * 3, [2] * 3)
    assert told["fields"][0]["range"] == pytest.approx([means.min(), means.max()], rel=1e-6)
    sparse = tmp_path / "large.npy"
    # 4.3 GB, of which the disk holds little.
    np.lib.format.open_memmap(sparse, mode="w+", dtype=np.float32, shape=(1024,) * 3)[:64, :64, :64] = 1
    assert_shown_at_level_1(sparse, tmp_path, "large.npy is shown at level 1", "512 x 512 x 512", "means", "4.9 GB")


def test_a_named_level_that_does_not_fit_is_refused(image: Path, tmp_path: Path) -> None:
    finished = run("render", f"{image}?level=0", "--out", tmp_path / "out.png", check=False, memory=MEMORY)
    assert finished.returncode == 1
    assert_one_clear_line(finished.stderr, "image.zarr?level=0 needs 4.9 GB")
