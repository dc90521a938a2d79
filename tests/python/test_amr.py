"""Fields on adaptively refined grids, held against VTK's reader and against the same field on one grid."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from amr_files import Level, blocks_of, composed, pinwheel, read_by_vtk, sampled, write
from conftest import run
from images import psnr, read_png
from shares import copy, shared  # noqa: F401 (a fixture)
from test_bad_input import assert_one_clear_line
from test_copy_fields import part
from test_mpi_back_end import launcher, together  # noqa: F401 (fixtures)
from test_publishers import start  # noqa: F401 (a fixture)

TESTDATA = Path(__file__).parents[2] / "testdata"
#: Cells of the coarsest level along z, y, x.
COARSE = (20, 16, 24)
LEVELS = [
    Level(1 / 16, [(0, 11, 0, 15, 0, 19), (12, 23, 0, 15, 0, 19)]),
    Level(1 / 32, pinwheel((10, 4, 8), 12, 6, 24)),
    Level(1 / 64, [*pinwheel((28, 12, 24), 12, 8, 20), (60, 67, 24, 39, 30, 59)]),
]
PROXIES = {
    "exact": [],
    "bricks": ["--proxy", "bricks"],
    "slabs": ["--proxy", "slabs"],
    "scalar slabs": ["--proxy", "scalar-slabs"],
    "segments": ["--proxy", "segments"],
}


def ring(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Fine in the middle of the domain, coarse elsewhere."""
    apart = np.sqrt((x - 0.7) ** 2 + (y - 0.45) ** 2 + (z - 0.6) ** 2)
    return np.exp(-(((apart - 0.22) / 0.05) ** 2)) + 0.4 * np.sin(4 * x) * np.cos(5 * y) * np.sin(6 * z)


@pytest.fixture(scope="module")
def values() -> list[np.ndarray]:
    return [sampled(level, [n * 2**number for n in COARSE], ring) for number, level in enumerate(LEVELS)]


@pytest.fixture(scope="module")
def amr(values: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("amr") / "ring.vtkhdf", LEVELS, values)


@pytest.fixture(scope="module")
def one_grid(values: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finest level, made by numpy."""
    folder = tmp_path_factory.mktemp("one_grid")
    finest = composed(LEVELS, values)[-1]
    finest.astype("<f4").tofile(folder / "ring.raw")
    edge = LEVELS[-1].edge
    described = {"file": "ring.raw", "size": finest.shape[::-1], "type": "f32", "centering": "cell"}
    described |= {"spacing": [edge] * 3, "origin": [edge / 2] * 3, "field": "u"}
    (folder / "ring.json").write_text(json.dumps(described))
    return folder / "ring.json"


def image_of(source: object, folder: Path, *options: object) -> np.ndarray:
    run("render", source, "--out", folder / "image.png", "--size", "200x160", *options)
    return read_png(folder / "image.png")


def test_what_vtk_reads_of_each_block_is_what_is_read_here(
    amr: Path, values: list[np.ndarray], shared: tuple[Path, str], tmp_path: Path
) -> None:
    folder, url = shared
    (folder / "ring.vtkhdf").write_bytes(amr.read_bytes())
    read = read_by_vtk(amr)
    made = composed(LEVELS, values)
    assert read.GetNumberOfLevels() == len(LEVELS)
    for number, level in enumerate(LEVELS):
        copied = part(f"{url}/ring.vtkhdf", tmp_path / f"{number}.zarr", "--level", len(LEVELS) - 1 - number)
        here, positions = copied["u"][:], [copied[axis][:] for axis in "xyz"]
        np.testing.assert_array_equal(here, made[number].astype("f4"))
        blocks = blocks_of(read, number, "u")
        assert len(blocks) == len(level.boxes)
        for first, of_block in blocks:
            at = [int(np.argmin(np.abs(along - place))) for along, place in zip(positions, first)]
            np.testing.assert_allclose([along[i] for along, i in zip(positions, at)], first, atol=1e-12)
            inside = tuple(slice(i, i + n) for i, n in zip(at[::-1], of_block.shape))
            np.testing.assert_array_equal(here[inside], of_block)


@pytest.mark.parametrize("name", ["amr_packed.vtkhdf", "amr_swapped.vtkhdf"])
def test_what_vtk_reads_of_each_step_is_what_is_read_here(name: str, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    (folder / name).write_bytes((TESTDATA / "hdf5" / name).read_bytes())
    group = part(f"{url}/{name}", tmp_path / "copy.zarr", "--level", 0)
    counts = set()
    for step in range(3):
        read = read_by_vtk(TESTDATA / "hdf5" / name, step)
        blocks = blocks_of(read, 1, "pressure")
        counts.add(len(blocks))
        for first, of_block in blocks:
            at = [round((place - group[axis][0]) / edge) for axis, place, edge in zip("xyz", first, (0.5, 1, 2))]
            inside = tuple(slice(i, i + n) for i, n in zip(at[::-1], of_block.shape))
            np.testing.assert_array_equal(group["pressure"][step][inside], of_block)
    assert counts == {10, 1, 3}


@pytest.mark.parametrize("options", [{}, {"chunks": (1000,), "compression": "gzip"}, {"chunks": (999,), "fletcher32": True}])
def test_any_way_to_store_the_arrays_gives_one_picture(
    options: dict[str, object], amr: Path, values: list[np.ndarray], tmp_path: Path
) -> None:
    stored = write(tmp_path / "other.h5", LEVELS, values, kind="f8", **options)
    np.testing.assert_array_equal(image_of(stored, tmp_path), image_of(amr, tmp_path))


@pytest.mark.parametrize("options", [{}, {"chunks": (1000, 2), "compression": "gzip"}, {"chunks": (999, 3), "fletcher32": True}])
def test_components_of_vectors_are_fields(options: dict[str, Any], amr: Path, values: list[np.ndarray], tmp_path: Path) -> None:
    stored = write(tmp_path / "vectors.vtkhdf", LEVELS, values)
    with h5py.File(stored, "r+") as file:
        for level in range(len(LEVELS)):
            cells = file[f"VTKHDF/Level{level}/CellData"]
            u = cells["u"][:]
            cells.create_dataset("flow", data=np.stack([u * 2, u, u * -2], axis=-1), **options)
    told = json.loads(run("info", "--json", stored).stdout)
    assert [field["name"] for field in told["fields"]] == ["flow/x", "flow/y", "flow/z", "u"]
    assert [made["name"] for made in told["magnitudes"]] == ["|flow|"]
    np.testing.assert_array_equal(image_of(stored, tmp_path, "--field", "flow/y"), image_of(amr, tmp_path))
    lengths = write(tmp_path / "lengths.vtkhdf", LEVELS, [np.abs(of_level) * 3 for of_level in values])
    assert psnr(image_of(stored, tmp_path, "--field", "|flow|", "--sample-step", 0.5), image_of(lengths, tmp_path, "--sample-step", 0.5)) > 30


@pytest.mark.parametrize("proxy", PROXIES)
def test_every_proxy_is_that_of_one_grid_and_close_to_the_exact_image(
    proxy: str, amr: Path, one_grid: Path, tmp_path: Path
) -> None:
    options = ["--pes", 4, "--sample-step", 0.5, *PROXIES[proxy]]
    here, there = image_of(amr, tmp_path, *options), image_of(one_grid, tmp_path, *options)
    assert here.max() > 100
    np.testing.assert_array_equal(here, there)
    assert psnr(here, image_of(amr, tmp_path, "--sample-step", 0.5)) >= 45


@pytest.mark.parametrize("view", [(40, 20), (-70, 5), (130, -35)])
@pytest.mark.parametrize("pes", [2, 7, 8])
def test_any_number_of_pes_gives_one_image(pes: int, view: tuple[int, int], amr: Path, tmp_path: Path) -> None:
    seen = ["--az", view[0], "--el", view[1]]
    assert psnr(image_of(amr, tmp_path, *seen, "--pes", pes), image_of(amr, tmp_path, *seen)) >= 60


@pytest.mark.parametrize("proxy", ["exact", "bricks", "scalar slabs"])
def test_processes_together_make_the_picture_of_one(proxy: str, amr: Path, tmp_path: Path, together, start) -> None:
    options = ["--size", "200x160", "--pes", 5, *PROXIES[proxy], "--out"]
    code, _, err = start(*together, "render", amr, *options, tmp_path / "three.png").end()
    assert code == 0, err
    run("render", amr, *options, tmp_path / "one.png")
    assert psnr(read_png(tmp_path / "three.png"), read_png(tmp_path / "one.png")) >= (50 if proxy == "bricks" else 60)


def test_what_is_in_it_is_told(amr: Path) -> None:
    told = json.loads(run("info", "--json", amr).stdout)
    assert told["format"] == "VTKHDF, overlapping AMR, 3 levels, 13 blocks"
    assert [level["size"] for level in told["levels"]] == [[n * 2**k for n in COARSE[::-1]] for k in (2, 1, 0)]
    assert [level["spacing"][0] for level in told["levels"]] == [1 / 64, 1 / 32, 1 / 16]
    assert "96 x 64 x 80 cell samples" in run("info", amr).stdout
    coarse = json.loads(run("info", "--json", f"{amr}?level=2").stdout)
    assert coarse["levels"][0]["size"] == list(COARSE[::-1])


def test_a_file_that_does_not_fit_is_shown_at_a_coarser_level(tmp_path: Path) -> None:
    coarse = Level(1.0, [(0, 255, 0, 255, 0, 255)])
    fine = Level(0.25, [(0, 7, 0, 7, 0, 7)])
    ramp = np.arange(256.0).reshape(1, 1, -1).repeat(256, 0).repeat(256, 1)
    path = write(tmp_path / "large.vtkhdf", [coarse, fine], [ramp, np.zeros((8, 8, 8))])
    shown = run("render", path, "--out", tmp_path / "coarse.png", "--size", "64x64", memory=3 << 30)
    assert "large.vtkhdf is shown at level 1" in shown.stderr and "256 x 256 x 256" in shown.stderr


def with_only_points(root: h5py.Group) -> None:
    for level in ("Level0", "Level1", "Level2"):
        root[level].move("CellData", "PointData")


def with_components(root: h5py.Group) -> None:
    for level in ("Level0", "Level1", "Level2"):
        cells = root[level]["CellData/u"].shape[0]
        del root[level]["CellData/u"]
        root[level]["CellData/flow"] = np.zeros((cells, 12))


def replaced(path: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[h5py.Group], None]:
    def replace(root: h5py.Group) -> None:
        values = change(root[path][...])
        del root[path]
        root[path] = values

    return replace


def moved(rows: np.ndarray) -> np.ndarray:
    rows[2, :2] += 1000
    return rows


REFUSED: dict[str, tuple[Callable[[h5py.Group], None], list[str]]] = {
    "points": (with_only_points, ["PointData belong to points", "there are u"]),
    "components": (with_components, ["one number for each cell", "flow (12 components)"]),
    "short": (replaced("Level1/CellData/u", lambda u: u[:-1]), ["VTKHDF/Level1/CellData/u", "values for", "cells of its boxes"]),
    "long": (replaced("Level2/CellData/u", lambda u: np.append(u, 0)), ["VTKHDF/Level2/CellData/u", "cells of its boxes"]),
    "ratio": (lambda root: root["Level1"].attrs.modify("Spacing", [0.04] * 3), ["levels 0 and 1", "whole numbers"]),
    "outside": (replaced("Level1/AMRBox", moved), ["box 2 of its level 1", "beyond what level 0 covers"]),
    "empty box": (replaced("Level0/AMRBox", lambda rows: -rows), ["box 0 of its level 0", "holds no cell"]),
    "columns": (replaced("Level0/AMRBox", lambda rows: rows[:, :4]), ["VTKHDF/Level0/AMRBox", "whole numbers are needed, 6 in a row"]),
    "no boxes": (replaced("Level0/AMRBox", lambda rows: rows[:0]), ["level 0 has no boxes"]),
    "no spacing": (lambda root: root["Level2"].attrs.pop("Spacing"), ["VTKHDF/Level2", "Spacing"]),
    "no level": (lambda root: root.pop("Level0"), ["no group 'VTKHDF/Level0'"]),
    "missing": (lambda root: root["Level1/CellData"].pop("u"), ["cell values 'u'", "level 1 has not"]),
    "version": (lambda root: root.attrs.modify("Version", [9, 0]), ["Version [9.0, 0.0]", "2.x"]),
    "steps": (lambda root: root.create_group("Steps").attrs.update(NSteps=2), ["Steps/Values", "0 times for 2 steps"]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_hierarchy_of_cells_is_refused_with_the_reason(
    what: str, values: list[np.ndarray], tmp_path: Path
) -> None:
    change, needles = REFUSED[what]
    path = write(tmp_path / "bad.vtkhdf", LEVELS, values)
    with h5py.File(path, "r+") as file:
        change(file["VTKHDF"])
    finished = run("info", path, check=False)
    assert finished.returncode == 1
    assert_one_clear_line(finished.stderr, "bad.vtkhdf", *needles)


def test_a_share_reads_no_values_that_links_lead_to(amr: Path, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    (tmp_path / "elsewhere.vtkhdf").write_bytes(amr.read_bytes())
    linked = folder / "linked.vtkhdf"
    linked.write_bytes(amr.read_bytes())
    with h5py.File(linked, "r+") as file:
        for level in range(len(LEVELS)):
            name = f"VTKHDF/Level{level}/CellData/u"
            del file[name]
            file[name] = h5py.ExternalLink(str(tmp_path / "elsewhere.vtkhdf"), name)
    np.testing.assert_array_equal(image_of(linked, tmp_path), image_of(amr, tmp_path))
    refused = copy(f"{url}/linked.vtkhdf", tmp_path / "no.zarr", "--level", 0)
    assert refused.code != 0
    assert_one_clear_line(refused.stderr, "linked.vtkhdf", "no values of cells")
