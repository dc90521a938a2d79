"""Sources of fields of several shapes, as xarray and openPMD's own library write them: which are shown, what is said of the others, and how they are named."""

import json
import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import xarray
import zarr

from conftest import VISAPULT, run
from page import Page
from stores import SECRET, Store, faulty
from test_bad_input import assert_one_clear_line
from test_stores import tree
from wan import Process

FILES = Path(__file__).parents[2] / "testdata" / "openpmd"
VOLUMES = {"size": [5, 4, 3], "steps": 2, "fields": ["T", "U", "V"]}


def told(source: object) -> dict[str, Any]:
    return json.loads(run("info", "--json", source).stdout)


def names(report: dict[str, Any]) -> list[str]:
    return [field["name"] for field in report["fields"]]


def climate() -> xarray.Dataset:
    """Fields of the air, at its levels and between them, and of the surface, as models write them."""
    axes = {"time": np.arange(2.0), "lev": [850.0, 500.0, 200.0], "ilev": [900.0, 700.0, 300.0, 100.0], "lat": np.arange(4.0), "lon": np.arange(5.0)}
    fields = {"T": ("time", "lev"), "U": ("time", "lev"), "V": ("time", "lev"), "W": ("time", "ilev"), "PS": ("time",), "TS": ("time",)}
    made = xarray.Dataset(coords={name: (name, values) for name, values in axes.items()})
    for seed, (name, first) in enumerate(fields.items()):
        dims = (*first, "lat", "lon")
        values = np.random.default_rng(seed).normal(size=[made.sizes[dim] for dim in dims]).astype("f4")
        made[name] = xarray.DataArray(values, dims=dims, attrs={"units": "m s-1" if name in "UV" else "K"})
    made["lat_bnds"] = xarray.DataArray(np.zeros((4, 2)), dims=("lat", "bnds"))
    return made


def write(path: Path, version: Literal[2, 3]) -> Path:
    climate().to_zarr(path, zarr_format=version, consolidated=True)
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_of_a_dataset_of_xarray_the_volumes_are_shown_that_are_most(version: Literal[2, 3], tmp_path: Path) -> None:
    path = write(tmp_path / "run.zarr", version)
    shapes = told(path)["shapes"]
    assert VOLUMES in shapes and {"size": [5, 4, 1], "steps": 2, "fields": ["PS", "TS"]} in shapes and len(shapes) == 3
    rendered = run("render", path, "--field", "|U, V|", "--out", tmp_path / "most.png").stderr
    assert f"{path} holds fields of 3 shapes: those of 5 x 4 x 3 in 2 steps are shown (visapult info lists all)" in rendered
    run("render", f"{path}/T,U,V?level=0", "--field", "|U, V|", "--out", tmp_path / "named.png")
    assert (tmp_path / "most.png").read_bytes() == (tmp_path / "named.png").read_bytes()


def test_the_page_is_told_what_else_there_is(tmp_path: Path) -> None:
    path = write(tmp_path / "run.zarr", 2)
    for source, others in (
        (path, "Also there (open as run.zarr/PS): PS, TS (5 x 4), W (5 x 4 x 4)"),
        (FILES / "refined.h5", "Also there (open as refined.h5:/E_lvl1/x): E_lvl1/x, E_lvl1/y, E_lvl1/z, ... (10 x 9 x 8)"),
        (f"{path}/T,U", None),
    ):
        view = Process([VISAPULT, "view", source, "--port", "0", "--no-open"])
        try:
            page = Page(view.read_line())
            page.until(lambda: page.source, "a welcome")  # noqa: B023 (called before the next one is there)
            page.close()
            assert page.source.get("others") == others
        finally:
            view.stop()


def test_arrays_of_a_group_are_named_with_commas(tmp_path: Path) -> None:
    path = write(tmp_path / "run.zarr", 2)
    both = told(f"{path}/V,U")
    assert (names(both), [made["name"] for made in both["magnitudes"]], both["steps"]) == (["V", "U"], ["|U, V|"], [0, 1])
    assert names(told(f"{path}/PS,TS")) == ["PS", "TS"]
    assert both["along"] == told(f"{path}/U")["along"]
    for inside, said in (
        ("U,PS", ["the fields that are named differ in shape: 1 of 5 x 4 x 3 in 2 steps (U), 1 of 5 x 4 x 1 in 2 steps (PS)"]),
        ("U,Q", ["no array 'Q' in it; there are", "PS"]),
        ("U,", ["names nothing beside a comma"]),
        ("U,lev", ["array 'lev' is no field: its shape [3] has 1 axis"]),
    ):
        assert_one_clear_line(run("info", f"{path}/{inside}", check=False).stderr, str(path), *said)
    # Folders whose names end otherwise, and those that have commas of their own.
    path.rename(tmp_path / "run")
    assert names(told(f"{tmp_path}/run/T,U")) == ["T", "U"]
    (tmp_path / "run").rename(tmp_path / "a,b")
    assert told(tmp_path / "a,b")["shapes"]
    (tmp_path / "a,b" / "T").rename(tmp_path / "a,b" / "T,U")
    assert names(told(f"{tmp_path}/a,b/T,U")) == ["T,U"]


def test_a_part_of_several_fields_of_one_shape_is_copied(tmp_path: Path) -> None:
    path = write(tmp_path / "run.zarr", 3)
    run("copy", path, tmp_path / "part.zarr", "--field", "U", "--field", "V")
    part = zarr.open_group(tmp_path / "part.zarr", mode="r")
    for name in "UV":
        # Pressures fall, and are turned.
        np.testing.assert_array_equal(np.asarray(part[name])[:, ::-1], climate()[name].values)


@pytest.mark.parametrize("version", [2, 3])
def test_what_is_far_away_is_chosen_as_what_is_here(version: Literal[2, 3], tmp_path: Path) -> None:
    path = write(tmp_path / "run.zarr", version)
    run("render", path, "--out", tmp_path / "here.png")
    with faulty(tree(path)) as server:
        here = Store("", environment={})
        url = f"{server.url}/run.zarr"
        assert VOLUMES in json.loads(here.run("info", "--json", url).stdout)["shapes"]
        rendered = here.run("render", f"{url}?sig={SECRET}", "--out", tmp_path / "far.png")
        assert (rendered.code, SECRET in rendered.stderr) == (0, False)
        assert f"{url} holds fields of 3 shapes: those of 5 x 4 x 3 in 2 steps are shown" in rendered.stderr
        assert (tmp_path / "far.png").read_bytes() == (tmp_path / "here.png").read_bytes()
        asked = [request for _, request in server.requests if "sig=" in request]
        assert asked and all(request.endswith(f"?sig={SECRET}") for request in asked)
        assert names(json.loads(here.run("info", "--json", f"{url}/PS,TS").stdout)) == ["PS", "TS"]
        assert_one_clear_line(here.run("info", f"{url}/PS,Q").stderr, url, "no array 'Q' in it; there are")


def test_out_of_a_bucket_that_nobody_may_list_fields_are_named_with_commas(tmp_path: Path) -> None:
    path = write(tmp_path / "run.zarr", 2)
    objects = {key.removeprefix("/"): content for key, content in tree(path).items()}
    with faulty(objects) as server:
        documents = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
        server.statuses = {f"run.zarr/{below}{name}": 403 for below in ("", "T,U/") for name in documents if f"run.zarr/{below}{name}" not in objects}
        public = Store(server.url, environment={})
        assert names(json.loads(public.run("info", "--json", "s3://bucket/run.zarr/T,U").stdout)) == ["T", "U"]


@pytest.mark.parametrize("name,coarse,fine", [("refined.h5", (6, 5, 4), (10, 9, 8)), ("refined_plane.h5", (5, 4, 1), (9, 8, 1))])
def test_of_meshes_of_several_levels_the_whole_is_shown(name: str, coarse: tuple[int, ...], fine: tuple[int, ...], tmp_path: Path) -> None:
    path = FILES / name
    shapes = {tuple(shape["size"]): (shape["steps"], shape["fields"]) for shape in told(path)["shapes"]}
    assert shapes == {coarse: (3, ["E/x", "E/y", "E/z", "rho"]), fine: (3, ["E_lvl1/x", "E_lvl1/y", "E_lvl1/z", "rho_lvl1"])}
    rendered = run("render", path, "--field", "|E|", "--out", tmp_path / "whole.png").stderr
    assert f"{path} holds fields of 2 shapes: those of {' x '.join(map(str, coarse))} in 3 steps are shown (visapult info lists all)" in rendered
    both = told(f"{path}:/rho,E/x,E")
    assert (names(both), both["times"]) == (["rho", "E/x", "E/y", "E/z"], [0, 5, 10])
    # The patch has another size at other iterations, which are left out.
    patch = told(f"{path}:/E_lvl1,rho_lvl1")
    assert (len(patch["fields"]), patch["times"]) == (4, [0])


def test_of_one_iteration_meshes_are_chosen_and_named_there(tmp_path: Path) -> None:
    path = FILES / "refined.h5"
    choice = told(f"{path}:/data/20")
    assert choice["example"] == f"{path}:/data/20/fields/E/x" and {shape["steps"] for shape in choice["shapes"]} == {1}
    for inside in ("data/20", "data/20/fields/E,rho"):
        run("render", f"{path}:/{inside}", "--field", "|E|", "--out", tmp_path / "out.png")
    patch = told(f"{path}:/data/20/fields/E_lvl1,rho_lvl1")
    assert (patch["levels"][0]["size"], patch["times"], names(patch)[-1]) == ([10, 9, 10], [10], "rho_lvl1")


def test_meshes_that_are_named_with_commas_are_there_and_of_one_size(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILES / "refined.h5", tmp_path / "part1.h5"))
    for inside, said in (
        ("E,E_lvl1", "the fields that are named differ in shape"),
        ("E,roh", "there is no mesh 'roh' in it; did you mean 'rho'?"),
        ("E,", "'E,' names nothing beside a comma"),
    ):
        assert_one_clear_line(run("info", f"{path}:/{inside}", check=False).stderr, str(path), said)
    series = tmp_path / "part%T.h5"
    assert told(f"{series}:/E,rho")["times"] == [0, 5, 10]
    assert "those of 6 x 5 x 4 in 3 steps" in run("render", series, "--out", tmp_path / "out.png").stderr
