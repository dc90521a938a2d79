"""Parts of sources (`?box=Z,Y,X`): held to files that hold just that part, and to copies of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr

from amr_files import Level, write
from conftest import VISAPULT, run
from images import psnr, read_png
from page import Page
from publishers import Running
from test_bad_input import assert_one_clear_line
from test_mpi_back_end import launcher, together  # noqa: F401 (fixtures)
from test_publishers import start  # noqa: F401 (a fixture)
from wan import Process

SHAPE = (40, 50, 60)
# Chunks of 16 samples begin elsewhere than the part does.
BOX = "3:20,7:31,11:50"
CUT = (slice(3, 20), slice(7, 31), slice(11, 50))
VIEW = ["--size", "128x96", "--az", "30", "--el", "20"]


def field() -> np.ndarray:
    """Two steps, and some values that are missing."""
    values = np.random.default_rng(3).normal(size=(2, *SHAPE)).astype(np.float32)
    values[:, 5:9, 10:14, 20:30] = np.nan
    return values


def coordinates() -> dict[str, np.ndarray]:
    """Heights that grow ever faster, and places that do not."""
    return {"z": np.cumsum(np.arange(40) + 1.0), "y": np.arange(50) * 2.0 + 5, "x": np.arange(60) * 3.0}


def write_hdf5(path: Path, values: np.ndarray, along: dict[str, np.ndarray]) -> None:
    with h5py.File(path, "w") as file:
        data = file.create_dataset("density", data=values, chunks=(1, 16, 16, 16), compression="gzip")
        data.attrs["units"] = "kg/m3"
        for axis, (name, places) in enumerate(along.items()):
            file[name] = places
            file[name].make_scale(name)
            file[name].attrs["units"] = "m"
            data.dims[axis + 1].attach_scale(file[name])


def write_zarr(path: Path, values: np.ndarray, along: dict[str, np.ndarray]) -> None:
    group = zarr.create_group(str(path))
    for name, places in along.items():
        group.create_array(name, data=places, dimension_names=[name]).attrs["units"] = "m"
    data = group.create_array("density", shape=values.shape, dtype="f4", chunks=(1, 16, 16, 16), dimension_names=["time", *along])
    data[:] = values
    data.attrs["units"] = "kg/m3"


@pytest.fixture(params=["h5", "zarr"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A file, and one that holds just the part."""
    write_one = {"h5": write_hdf5, "zarr": write_zarr}[request.param]
    values, along = field(), coordinates()
    whole, part = (tmp_path / f"{name}.{request.param}" for name in ("whole", "part"))
    write_one(whole, values, along)
    write_one(part, values[:, *CUT], {name: places[cut] for (name, places), cut in zip(along.items(), CUT, strict=True)})
    return whole, part


def told(source: object) -> dict[str, Any]:
    return json.loads(run("info", "--json", source).stdout)


def picture(source: object, folder: Path, *options: object) -> bytes:
    run("render", source, "--out", folder / "out.png", *VIEW, *options)
    return (folder / "out.png").read_bytes()


@pytest.mark.parametrize("more", ["", "level=1", "spacing=even", "spacing=even&level=1"])
def test_a_part_is_shown_as_a_file_that_holds_just_that(more: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    whole, part = files
    shown, alone = f"{whole}?box={BOX}" + (f"&{more}" if more else ""), f"{part}?{more}" if more else str(part)
    expected = told(alone)
    assert told(shown) == {**expected, "name": Path(shown).name}
    assert picture(shown, tmp_path, "--time-step", 1) == picture(alone, tmp_path, "--time-step", 1)
    if not more:
        assert (expected["levels"][0]["size"], expected["levels"][0]["origin"][0]) == ([39, 24, 17], 33)


@pytest.mark.parametrize("proxy", [["bricks"], ["slabs"], ["segments"]])
def test_proxies_of_a_part_are_those_of_that_file(proxy: list[str], files: tuple[Path, Path], tmp_path: Path) -> None:
    whole, part = files
    shown, alone = (picture(source, tmp_path, "--proxy", *proxy, "--pes", 3) for source in (f"{whole}?box={BOX}", part))
    assert shown == alone


@pytest.mark.parametrize(("level", "box"), [(0, BOX), (1, "2:10,3:,:25"), (1, ":,4,:")])
def test_a_part_of_a_level_is_what_a_copy_of_it_holds(level: int, box: str, tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", field()[0])
    copied, shown = tmp_path / "part.zarr", f"{tmp_path / 'whole.npy'}?level={level}&box={box}"
    run("copy", tmp_path / "whole.npy", copied, "--level", level, "--box", box)
    assert told(shown)["levels"] == told(copied)["levels"]
    assert picture(shown, tmp_path) == picture(copied, tmp_path)


def test_a_part_of_refined_grids_is_what_a_copy_of_it_holds(tmp_path: Path) -> None:
    coarse, fine = Level(1.0, [(0, 15, 0, 15, 0, 15)]), Level(0.5, [(8, 15, 8, 19, 4, 11)])
    random = np.random.default_rng(5).random
    path = write(tmp_path / "run.vtkhdf", [coarse, fine], [random((16, 16, 16)), random((32, 32, 32))])
    run("copy", path, tmp_path / "part.zarr", "--box", "5:21,3:30,7:25")
    shown = f"{path}?box=5:21,3:30,7:25"
    assert picture(shown, tmp_path) == picture(tmp_path / "part.zarr", tmp_path)
    assert told(shown)["levels"] == told(tmp_path / "part.zarr")["levels"]


def test_a_part_of_a_step_larger_than_memory_is_shown_at_its_finest(tmp_path: Path) -> None:
    # 4.3 GB, of which the disk holds little.
    large = np.lib.format.open_memmap(tmp_path / "large.npy", mode="w+", dtype=np.float32, shape=(1024,) * 3)
    corner = np.random.default_rng(1).random((32, 64, 48)).astype(np.float32)
    large[960:992, 100:164, 7:55] = corner
    part = f"{tmp_path / 'large.npy'}?box=960:992,100:164,7:55"
    np.save(tmp_path / "corner.npy", corner)
    seen = run("render", part, "--out", tmp_path / "part.png", *VIEW, memory=3 << 30)
    assert seen.stderr == ""
    run("render", tmp_path / "corner.npy", "--out", tmp_path / "corner.png", *VIEW)
    # They lie elsewhere.
    assert psnr(read_png(tmp_path / "part.png"), read_png(tmp_path / "corner.png")) > 80
    coarser = run("render", tmp_path / "large.npy", "--out", tmp_path / "out.png", "--size", "32x32", "--sample-step", "8", memory=3 << 30)
    assert "is shown at level 1" in coarser.stderr and "?box=Z,Y,X shows a part of it" in coarser.stderr


def test_who_is_elsewhere_gets_the_part(files: tuple[Path, Path], tmp_path: Path) -> None:
    whole, part = files
    serving = Process([VISAPULT, "serve", f"{whole}?box={BOX}", "--bind", "127.0.0.1:0"])
    try:
        url = serving.read_line()
        of_flow = told(url)
        run("render", url, "--out", tmp_path / "far.png", *VIEW)
        asked = run("info", f"{url}?box=:,:,0", check=False)
    finally:
        serving.stop()
    assert (of_flow["name"], of_flow["levels"]) == (f"{whole.name}?box={BOX}", told(part)["levels"])
    run("render", part, "--out", tmp_path / "here.png", *VIEW)
    assert psnr(read_png(tmp_path / "far.png"), read_png(tmp_path / "here.png")) > 80
    assert "chosen where a source is" in asked.stderr and url not in asked.stderr


def test_a_page_names_the_part_that_it_shows(files: tuple[Path, Path]) -> None:
    whole, _ = files
    view = Process([VISAPULT, "view", f"{whole}?box={BOX}", "--port", "0", "--no-open"])
    try:
        page = Page(view.read_line())
        page.until(lambda: page.source, "a word on the source")
        page.close()
        assert (page.source["name"], page.source["grid"]["size"]) == (f"{whole.name}?box={BOX}", [39, 24, 17])
    finally:
        view.stop()


def test_processes_together_show_the_part(tmp_path: Path, together: list[object], start: Callable[..., Running]) -> None:  # noqa: F811
    write_hdf5(tmp_path / "whole.h5", field(), coordinates())
    part = f"{tmp_path / 'whole.h5'}?box={BOX}"
    code, _, err = start(*together, "render", part, "--pes", 5, *VIEW, "--out", tmp_path / "three.png").end()
    assert code == 0, err
    picture(part, tmp_path)
    assert psnr(read_png(tmp_path / "three.png"), read_png(tmp_path / "out.png")) > 60


@pytest.mark.parametrize(
    ("box", "why"),
    [("0:41,:,:", "0:41 is not in the 40 samples along z"), ("-1,:,:", '"-1" is no number from 0 on'), ("9:9,:,:", '"9:9" holds none'), ("1:2", "expected three")],
)
def test_a_box_that_is_not_there_is_answered_with_what_is(box: str, why: str, tmp_path: Path) -> None:
    np.save(tmp_path / "run.npy", np.zeros(SHAPE, np.float32))
    finished = run("info", f"{tmp_path / 'run.npy'}?box={box}", check=False)
    assert finished.returncode == 1
    assert_one_clear_line(finished.stderr, f"run.npy: box={box} is not in it", why, "it has 40, 50 and 60 samples along z, y and x")


def test_a_running_simulation_has_no_parts() -> None:
    assert_one_clear_line(run("info", "demo:wave?n=16&box=0:8,:,:", check=False).stderr, "unknown option 'box'")
