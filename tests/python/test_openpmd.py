"""openPMD files, held against what h5py has of them by the words of the standard."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from conftest import run
from shares import shared  # noqa: F401 (a fixture)
from test_bad_input import assert_one_clear_line
from test_copy_fields import part

#: Written by the standard's own library: `testdata/make_openpmd.py`.
FILES = Path(__file__).parents[2] / "testdata" / "openpmd"
PLACED = ([5e-7, 7.5e-7, 2e-6], [-1e-6, 2e-6, 3.5e-6])


def told(source: object) -> dict[str, Any]:
    return json.loads(run("info", "--json", source).stdout)


def in_si(path: Path, iteration: int, name: str) -> np.ndarray:
    """The values of a component, [z, y, x], of three axes."""
    with h5py.File(path) as file:
        meshes = file[f"data/{iteration}"][file.attrs["meshesPath"].decode().strip("/")]
        component, mesh = meshes[name], meshes[name.split("/")[0]]
        labels = [label.decode() for label in mesh.attrs["axisLabels"]]
        order = -1 if mesh.attrs["dataOrder"] == b"F" else 1
        if isinstance(component, h5py.Group):
            stored = np.full(component.attrs["shape"][::order], component.attrs["value"])
        else:
            stored = component[:]
        values = stored.astype("f8") * component.attrs["unitSI"]
        return np.moveaxis(values, [labels[::order].index(axis) for axis in "zyx"], [0, 1, 2]).astype("f4")


def test_iterations_are_steps_with_times_fields_and_units(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    path = Path(shutil.copy(FILES / "groups.h5", folder / "groups.h5"))
    seen = told(path)
    units = {field["name"]: field["unit"] for field in seen["fields"]}
    assert units == {f"B/{axis}": "T" for axis in "xyz"} | {f"E/{axis}": "V/m" for axis in "xyz"} | {"rho": "C/m^3"}
    assert (seen["steps"], seen["time_unit"]) == ([0, 2], "s")
    np.testing.assert_allclose(seen["times"], [0, 1.5e-15, 3e-15], atol=0)
    assert seen["format"].startswith("openPMD, HDF5, constant and chunked; fields lie staggered within cells")
    [grid] = seen["levels"]
    assert (grid["size"], grid["unit"]) == ([11, 7, 5], "m")
    np.testing.assert_allclose([grid["spacing"], grid["origin"]], PLACED)
    copied = part(f"{url}/groups.h5", tmp_path / "copy.zarr", "--level", 0)
    for name in units:
        for step, iteration in enumerate((0, 200, 1000)):
            np.testing.assert_array_equal(copied[name.replace("/", ".")][step], in_si(path, iteration, name), err_msg=f"{name} {iteration}")


@pytest.mark.parametrize(("inside", "fields", "steps", "off"), [
    ("E", ["E/x", "E/y", "E/z"], 3, [0, 0, 0]),
    ("E/x", ["E/x"], 3, [0.5, 0, 0]),
    ("fields/B/z", ["B/z"], 3, [0, 0.5, 0.5]),
    ("data/200/fields/E/z", ["E/z"], 1, [0, 0, 0.5]),
])  # fmt: skip
def test_a_mesh_is_named_with_or_without_an_iteration_and_lies_where_it_is_staggered(inside: str, fields: list[str], steps: int, off: list[float]) -> None:
    seen = told(f"{FILES}/groups.h5:/{inside}")
    assert ([field["name"] for field in seen["fields"]], seen["steps"]) == (fields, [0, steps - 1])
    spacing, origin = np.array(PLACED)
    np.testing.assert_allclose(seen["levels"][0]["origin"], origin + off * spacing)
    assert seen["times"] == pytest.approx([1.5e-15] if steps == 1 else [0, 1.5e-15, 3e-15], abs=1e-30)


def test_axes_are_in_order_whichever_program_wrote_them(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    path = Path(shutil.copy(FILES / "orders.h5", folder / "orders.h5"))
    seen = told(path)
    assert seen["format"] == "openPMD, HDF5, chunked; axes x, y, z put in order"
    spacing, origin = np.array(PLACED)
    np.testing.assert_allclose([seen["levels"][0]["spacing"], seen["levels"][0]["origin"]], [spacing, origin + 0.5 * spacing])
    copied = part(f"{url}/orders.h5", tmp_path / "copy.zarr", "--level", 0)
    for name in ("c_zyx", "c_xyz", "f_xyz"):
        np.testing.assert_array_equal(np.squeeze(copied[name][:]), in_si(path, 7, name))
        np.testing.assert_array_equal(np.squeeze(copied[name][:]), np.squeeze(copied["c_zyx"][:]))


def test_a_plane_lies_along_the_axes_that_it_names(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    path = Path(shutil.copy(FILES / "planes.h5", folder / "planes.h5"))
    seen = told(path)
    [grid], [field] = seen["levels"], seen["fields"]
    assert (grid["size"], grid["spacing"], grid["origin"]) == ([11, 1, 5], [0.5, 0.5, 2], [-0.75, 0, 3.5])
    assert (field["name"], field["unit"]) == ("n", "m^-3")
    copied = part(f"{url}/planes.h5", tmp_path / "copy.zarr", "--level", 0)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(copied["n"][:].reshape(5, 11), file["data/0/fields/n"][:].T)


def test_a_file_an_iteration_is_read_alone_and_all_of_them_by_their_pattern(tmp_path: Path) -> None:
    alone = told(FILES / "file_000050.h5")
    assert (alone["times"], alone["steps"]) == ([2], [0, 0])
    assert alone["format"].endswith("; one file of a series: 'file_%06T.h5' names all")
    for pattern in ("file_%06T.h5", "file_%T.h5", "file_%T.h5:/E/x"):
        seen = told(FILES / pattern)
        assert (seen["times"], seen["steps"]) == ([0, 2, 4], [0, 2])
        assert "from iteration 50 on the grid lies elsewhere: " in seen["format"]
    pictures = []
    for step, number in enumerate((0, 50, 100)):
        run("render", FILES / "file_%T.h5", "--time-step", step, "--out", tmp_path / "all.png", "--size", "64x48")
        run("render", FILES / f"file_{number:06}.h5", "--out", tmp_path / "one.png", "--size", "64x48")
        pictures.append((tmp_path / "all.png").read_bytes())
        assert pictures[-1] == (tmp_path / "one.png").read_bytes()
    assert len(set(pictures)) == 3
    assert_one_clear_line(run("info", FILES / "fule_%T.h5", check=False).stderr, "fule_%T.h5", "no file has such a name")


def test_files_of_a_series_that_lie_elsewhere_are_told_and_not_published(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(FILES / "file_000000.h5", tmp_path / "run")
    secret = Path(shutil.copy(FILES / "file_000050.h5", tmp_path / "elsewhere"))
    (tmp_path / "run" / "file_000050.h5").symlink_to(secret)
    assert f"values are in {secret}, outside its folder" in told(tmp_path / "run" / "file_%T.h5")["format"]
    refused = run("serve", tmp_path / "run" / "file_%T.h5", check=False)
    assert refused.returncode != 0 and str(secret) in refused.stderr


def test_a_file_of_a_series_that_cannot_be_read_is_told_and_the_others_are(tmp_path: Path) -> None:
    for path in FILES.glob("file_*.h5"):
        shutil.copy(path, tmp_path)
    (tmp_path / "file_000050.h5").write_bytes(b"\x89HDF")
    seen = told(tmp_path / "file_%T.h5")
    assert seen["times"] == [0, 4]
    assert "; not read: " in seen["format"] and "file_000050.h5" in seen["format"]


def test_iterations_without_a_mesh_or_with_another_shape_are_told_and_left_out() -> None:
    seen = told(FILES / "uneven.h5")
    assert (seen["times"], [field["name"] for field in seen["fields"]]) == ([10, 40], ["a", "b"])
    assert "not read: modes/r (its geometry is thetaMode)" in seen["format"]
    assert "not read: iteration 20 (b: it is not there), iteration 30 (a has another shape)" in seen["format"]
    assert told(f"{FILES}/uneven.h5:/a")["times"] == [10, 20, 40]


@pytest.mark.parametrize(("source", "said"), [
    ("modes.h5", ["E/r (its geometry is thetaMode)", "cartesian", "theta=None"]),
    ("groups.h5:/data/1", ["no iteration 1 ", "there are 0, 200, 1000"]),
    ("groups.h5:/E/xx", ["no mesh 'E/xx'", "did you mean 'E/x'?"]),
    ("groups.h5:/data/0/particles/electrons/position/x", ["1 axis"]),
])  # fmt: skip
def test_what_cannot_be_read_is_named(source: str, said: list[str], tmp_path: Path) -> None:
    refused = run("render", FILES / source, "--out", tmp_path / "out.png", check=False)
    assert refused.returncode != 0
    assert_one_clear_line(refused.stderr, *said)


def test_meshes_of_other_sizes_are_read_by_name_at_all_iterations() -> None:
    seen = told(f"{FILES}/sizes.h5:/coarse")
    assert (seen["levels"][0]["size"], seen["times"]) == ([6, 4, 3], [0, 5])


def test_an_iteration_without_a_number_is_read() -> None:
    for source in (FILES / "variable.h5", f"{FILES}/variable.h5:/n"):
        seen = told(source)
        assert (seen["format"], seen["times"], [field["name"] for field in seen["fields"]]) == ("openPMD, HDF5, chunked", [2], ["n"])


def minimal(path: Path, steps: Iterable[int], meshes: str = "meshes") -> h5py.File:
    """As little as a file may hold."""
    file = h5py.File(path, "w")
    file.attrs.update({"openPMD": "2.0.0", "basePath": "/data/%T/", "meshesPath": f"{meshes}/"})
    for step in steps:
        file[f"data/{step}/{meshes}/u"] = np.full((2, 3, 4), step, "f4")
    return file


def test_a_file_that_leaves_out_what_the_standard_asks_for_is_read_and_says_so(tmp_path: Path) -> None:
    minimal(tmp_path / "run.h5", range(11)).close()
    seen = told(tmp_path / "run.h5")
    assert (seen["times"], seen["steps"], seen["levels"][0]["spacing"]) == ([], [0, 10], [1, 1, 1])
    assert "axes without labels are taken as z, y, x; no gridSpacing along each axis: 1 is taken" in seen["format"]
    assert seen["fields"][0]["range"] == [0, 10]


@pytest.mark.parametrize(("name", "value"), [
    ("gridSpacing", [0.0, 1, 1]), ("gridSpacing", [np.nan, 1, 1]), ("gridGlobalOffset", [np.inf, 0, 0]), ("gridUnitSI", 0.0),
])  # fmt: skip
def test_meshes_that_lie_nowhere_are_left_out_by_name(name: str, value: Any, tmp_path: Path) -> None:
    nowhere = {"gridSpacing": [1.0, 1, 1], "axisLabels": ["z", "y", "x"], name: value}
    with minimal(tmp_path / "run.h5", [0]) as file:
        file["data/0/meshes/u"].attrs.update(nowhere)
    assert_one_clear_line(run("info", tmp_path / "run.h5", check=False).stderr, "run.h5", "u (its nodes lie nowhere: ")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file["data/0/meshes/v"] = np.ones((2, 3, 4), "f4")
    seen = told(tmp_path / "run.h5")
    assert [field["name"] for field in seen["fields"]] == ["v"]
    assert "not read: u (its nodes lie nowhere: " in seen["format"]


def test_what_links_lead_to_is_not_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["v"] = np.ones((2, 3, 4), "f4")
    with minimal(tmp_path / "run.h5", [0]) as file:
        file["data/0/meshes/link"] = h5py.ExternalLink("secret.h5", "/v")
        file["data/0/meshes/soft"] = h5py.SoftLink("/data/0/meshes/link")
        layout = h5py.VirtualLayout((2, 3, 4), "f4")
        layout[:] = h5py.VirtualSource("secret.h5", "v", (2, 3, 4))
        file["data/0/meshes"].create_virtual_dataset("virtual", layout)
        file["data/1"] = h5py.SoftLink("/data/0")
    seen = told(tmp_path / "run.h5")
    assert ([field["name"] for field in seen["fields"]], seen["steps"]) == (["u"], [0, 0])
    links = [f"{name} (it is behind a link, which is not followed)" for name in ("link", "soft", "iteration 1")]
    assert f"not read: {links[0]}, {links[1]}, virtual (its values are in other files); not read: {links[2]}" in seen["format"]


@pytest.mark.parametrize("linked", ["data", "data/0", "data/0/meshes"])
def test_a_share_does_not_open_what_links_lead_to(linked: str, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    # Whoever opens it waits for ever, and holds up all who read HDF5.
    os.mkfifo(folder / "pipe.h5")
    with minimal(folder / "run.h5", [0]) as file:
        del file[linked]
        file[linked] = h5py.ExternalLink("pipe.h5", "/v")
    minimal(folder / "whole.h5", [0]).close()
    run("copy", "--field", "u", f"{url}/run.h5", tmp_path / "none.zarr", check=False)
    run("copy", "--field", "u", f"{url}/whole.h5", tmp_path / "copy.zarr")
    assert (tmp_path / "copy.zarr").is_dir()


def test_what_is_no_mesh_is_opened_by_its_whole_path_as_in_every_hdf5_file(tmp_path: Path) -> None:
    minimal(tmp_path / "other.h5", [1]).close()
    with minimal(tmp_path / "run.h5", [0]) as file:
        file["elsewhere"] = np.ones((5, 6, 7), "f4")
        file["data/0/meshes/soft"] = h5py.SoftLink("/elsewhere")
        file["data/1"] = h5py.ExternalLink("other.h5", "/data/1")
    for inside, size in (("data/0/meshes/soft", [7, 6, 5]), ("data/1/meshes/u", [4, 3, 2]), ("data/1", [4, 3, 2])):
        seen = told(f"{tmp_path}/run.h5:/{inside}")
        assert (seen["format"], seen["levels"][0]["size"]) == ("HDF5, contiguous", size), inside
    with h5py.File(FILES / "modes.h5") as file:
        path = next(f"data/{number}/{file.attrs['meshesPath'].decode()}E/r" for number in file["data"])
        shape = file[path].shape
    seen = told(f"{FILES}/modes.h5:/{path}")
    assert seen["format"].startswith("HDF5, ") and seen["levels"][0]["size"] == list(shape[::-1])


def test_a_file_of_links_to_iterations_is_opened_as_every_hdf5_file_but_not_in_a_share(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    minimal(folder / "run.h5", [1]).close()
    with minimal(folder / "links.h5", []) as file:
        file["data/1"] = h5py.ExternalLink("run.h5", "/data/1")
    for source in (folder / "links.h5", f"{folder}/links.h5:/data/1/meshes/u"):
        seen = told(source)
        assert (seen["format"], [field["name"] for field in seen["fields"]], seen["fields"][0]["range"]) == ("HDF5, contiguous", ["u"], [1, 1])
    refused = run("copy", "--field", "u", f"{url}/links.h5", tmp_path / "copy.zarr", check=False)
    assert refused.returncode != 0
    assert_one_clear_line(refused.stderr, "links.h5", "no mesh 'u'")


def test_files_of_a_series_have_their_meshes_wherever_each_of_them_says(tmp_path: Path) -> None:
    for number, meshes in enumerate(("meshes", "fields", "meshes")):
        minimal(tmp_path / f"run{number}.h5", [number], meshes).close()
    for source in (tmp_path / "run%T.h5", f"{tmp_path}/run%T.h5:/u"):
        seen = told(source)
        assert (seen["steps"], seen["fields"][0]["range"]) == ([0, 2], [0, 2])
    seen = told(f"{tmp_path}/run%T.h5:/data/2/meshes/u")
    assert (seen["steps"], seen["fields"][0]["range"]) == ([0, 0], [2, 2])
    assert "not read: " in seen["format"] and "run1.h5 (no such mesh is in it)" in seen["format"]


def test_of_a_series_a_file_of_another_kind_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run0.h5", "w") as file:
        file["u"] = np.ones((2, 3, 4), "f4")
    for number in (50, 100):
        minimal(tmp_path / f"run{number}.h5", [number]).close()
    for inside, range in (("", [50, 100]), (":/u", [50, 100]), (":/data/50/meshes/u", [50, 50]), (":/data/100", [100, 100])):
        seen = told(f"{tmp_path}/run%T.h5{inside}")
        assert seen["fields"][0]["range"] == range, inside
        assert "not read: " in seen["format"] and "run0.h5" in seen["format"]
    for inside, said in (("data/77", ["no iteration 77 ", "there are 50, 100"]), ("data/50/meshes/uu", ["no mesh ", "there are u"]), ("w", ["no mesh 'w'", "there are u"])):
        assert_one_clear_line(run("info", f"{tmp_path}/run%T.h5:/{inside}", check=False).stderr, *said)


def test_of_many_iterations_few_are_looked_at_before_they_are_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w", libver="latest") as file:
        file.attrs.update({"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "meshes/"})
        file["data/0/meshes/u"] = np.zeros((2, 3, 4), "f4")
        for number in range(1, 22_000):
            file[f"data/{number}"] = file["data/0"]
        file["data/22000/meshes/u"] = np.zeros((2, 3, 5), "f4")
    out = ["--out", tmp_path / "out.png", "--size", "64x48"]
    run("render", tmp_path / "run.h5", "--time-step", 21_999, *out, memory=3 << 30)
    refused = run("render", tmp_path / "run.h5", "--time-step", 22_000, *out, check=False)
    assert_one_clear_line(refused.stderr, "run.h5:/u", "iteration 22000: its size is [5, 3, 2], that of iteration 0 [4, 3, 2]")


def test_a_page_shows_the_files_of_a_pattern() -> None:
    ended = run("view", "--no-open", "--port", "0", "--for", "500ms", FILES / "file_%T.h5")
    assert "http://" in ended.stdout + ended.stderr
