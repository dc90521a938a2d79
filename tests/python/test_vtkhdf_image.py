"""VTKHDF files of one image, held against VTK's own reader."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

from conftest import run
from shares import shared  # noqa: F401 (a fixture)
from test_bad_input import assert_one_clear_line
from test_copy_fields import part

#: First and last point along x, y, z.
EXTENT = (2, 8, -1, 4, 0, 3)
#: Points along z, y, x.
POINTS = (4, 6, 7)
SPACING, ORIGIN = (0.5, 0.25, 2.0), (1.0, 2.0, 3.0)


def write(path: Path, arrays: dict[str, np.ndarray], times: list[float] | None = None, **attributes: Any) -> Path:
    """`arrays` by their paths in the group, as the specification has it."""
    with h5py.File(path, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs.update({"Version": [2, 0], "Type": np.bytes_("ImageData"), "Direction": [1.0, 0, 0, 0, 1, 0, 0, 0, 1]})
        root.attrs.update({"WholeExtent": EXTENT, "Origin": ORIGIN, "Spacing": SPACING} | attributes)
        for name, values in arrays.items():
            root[name] = values
        if times is not None:
            steps = root.create_group("Steps")
            steps.attrs["NSteps"] = len(times)
            steps["Values"] = times
    return path


def read_by_vtk(path: Path, step: int = 0) -> vtk.vtkImageData:
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    reader.SetStep(step)
    reader.Update()
    return reader.GetOutput()


def told(source: object) -> dict[str, Any]:
    return json.loads(run("info", "--json", source).stdout)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(4).random(shape).astype("f4")


@pytest.mark.parametrize("centering", ["point", "cell"])
def test_samples_lie_where_vtk_has_the_points_and_the_centres_of_cells(centering: str, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    is_point = centering == "point"
    group, shape = ("PointData", POINTS) if is_point else ("CellData", tuple(n - 1 for n in POINTS))
    path = write(folder / "image.vtkhdf", {f"{group}/u": random(*shape)})
    image = read_by_vtk(path)
    values = vtk_to_numpy((image.GetPointData() if is_point else image.GetCellData()).GetArray("u")).reshape(shape)
    samples = image
    if not is_point:
        centres = vtk.vtkCellCenters()
        centres.SetInputData(image)
        centres.Update()
        samples = centres.GetOutput()
    [grid] = told(path)["levels"]
    assert (grid["size"], grid["centering"]) == (list(shape[::-1]), centering)
    copied = part(f"{url}/image.vtkhdf", tmp_path / "copy.zarr", "--level", 0)
    np.testing.assert_array_equal(copied["u"][:], values)
    positions = np.stack(np.meshgrid(*(copied[axis][:] for axis in "zyx"), indexing="ij")[::-1], axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(positions, [samples.GetPoint(i) for i in range(samples.GetNumberOfPoints())])


def test_what_vtk_itself_writes_is_read(tmp_path: Path) -> None:
    image = vtk.vtkImageData()
    image.SetDimensions(7, 6, 5)
    image.SetSpacing(*SPACING)
    image.SetOrigin(*ORIGIN)
    values = random(5, 6, 7)
    array = numpy_to_vtk(values.ravel(), deep=True)
    array.SetName("u")
    image.GetPointData().AddArray(array)
    writer = vtk.vtkHDFWriter()
    writer.SetFileName(str(tmp_path / "image.vtkhdf"))
    writer.SetInputData(image)
    assert writer.Write()
    seen = told(tmp_path / "image.vtkhdf")
    [grid], [field] = seen["levels"], seen["fields"]
    assert (grid["size"], grid["spacing"], grid["origin"]) == ([7, 6, 5], list(SPACING), list(ORIGIN))
    assert (field["name"], field["range"]) == ("u", pytest.approx([values.min(), values.max()]))


def test_steps_are_those_that_vtk_reads(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    path = write(folder / "run.vtkhdf", {"PointData/u": random(3, *POINTS)}, [0.5, 1.5, 4.0])
    seen = told(path)
    assert (seen["steps"], seen["times"]) == ([0, 2], [0.5, 1.5, 4.0])
    copied = part(f"{url}/run.vtkhdf", tmp_path / "copy.zarr", "--level", 0)
    for step in range(3):
        of_vtk = vtk_to_numpy(read_by_vtk(path, step).GetPointData().GetArray("u"))
        np.testing.assert_array_equal(copied["u"][step], of_vtk.reshape(POINTS))


def test_points_and_cells_are_shown_each_where_they_are_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    cells = [n - 1 for n in POINTS]
    arrays = {"PointData/u": random(*POINTS), "PointData/v": random(*POINTS, 12), "CellData/c": random(*cells), "CellData/d": random(*cells)}
    path = write(tmp_path / "both.vtkhdf", arrays)
    seen = told(path)
    assert [field["name"] for field in seen["fields"]] == ["u"]
    assert "not read: CellData (add ':/VTKHDF/CellData' to the file's name), v (12 components)" in seen["format"]
    for inside, names, size in (("CellData", ["c", "d"], cells), ("CellData/d", ["d"], cells), ("PointData/u", ["u"], list(POINTS))):
        seen = told(f"{path}:/VTKHDF/{inside}")
        assert [field["name"] for field in seen["fields"]] == names
        [grid] = seen["levels"]
        assert (grid["size"], grid["spacing"]) == (size[::-1], list(SPACING))
    refused = run("info", f"{path}:/VTKHDF/PointData/v", check=False).stderr
    assert_one_clear_line(refused, "VTKHDF/PointData/v", "7 x 6 x 4 points", "12 components")


STORED: dict[str, dict[str, Any]] = {
    "in one run": {},
    "in chunks": {"chunks": (1, 2, 3, 4, 3), "compression": "gzip", "shuffle": True},
    "in chunks of several steps": {"chunks": (2, 2, 3, 4, 3), "compression": "gzip"},
    "in chunks of two components": {"chunks": (1, 2, 3, 4, 2), "compression": "gzip"},
    "with checksums": {"chunks": (2, 2, 3, 4, 3), "fletcher32": True},
    "in the other byte order": {"dtype": ">f4"},
}


@pytest.mark.parametrize("how", STORED)
def test_components_of_vectors_are_those_that_vtk_reads(how: str, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    path = write(folder / "flow.vtkhdf", {"PointData/u": random(3, *POINTS)}, [0.5, 1.5, 4.0])
    with h5py.File(path, "r+") as file:
        file["VTKHDF/PointData"].create_dataset("flow", data=random(3, *POINTS, 3), **STORED[how])
    seen = told(path)
    assert [field["name"] for field in seen["fields"]] == ["flow/x", "flow/y", "flow/z", "u"]
    assert ([made["name"] for made in seen["magnitudes"]], seen["steps"]) == (["|flow|"], [0, 2])
    copied = part(f"{url}/flow.vtkhdf", tmp_path / "copy.zarr", "--level", 0)
    for step in range(3):
        of_vtk = vtk_to_numpy(read_by_vtk(path, step).GetPointData().GetArray("flow")).reshape(*POINTS, 3)
        for component, letter in enumerate("xyz"):
            np.testing.assert_array_equal(copied[f"flow.{letter}"][step], of_vtk[..., component])
    assert [field["name"] for field in told(f"{path}:/VTKHDF/PointData/flow")["fields"]] == ["flow/x", "flow/y", "flow/z"]
    # The names of a copy have no slashes, and are a vector's still.
    assert [made["name"] for made in told(tmp_path / "copy.zarr")["magnitudes"]] == ["|flow|"]


def test_axes_that_run_backwards_are_turned_and_others_are_told(tmp_path: Path) -> None:
    values = random(*POINTS)
    path = write(tmp_path / "back.vtkhdf", {"PointData/u": values}, Direction=[-1.0, 0, 0, 0, 1, 0, 0, 0, 1])
    bounds = read_by_vtk(path).GetBounds()
    [grid] = told(path)["levels"]
    last = [first + (n - 1) * apart for first, n, apart in zip(grid["origin"], grid["size"], grid["spacing"])]
    assert [end for ends in zip(grid["origin"], last) for end in ends] == pytest.approx(bounds)
    tilted = write(tmp_path / "tilted.vtkhdf", {"PointData/u": values}, Direction=[0.0, 1, 0, 1, 0, 0, 0, 0, 1])
    seen = told(tilted)
    assert "axes are turned (Direction)" in seen["format"]
    assert (seen["levels"][0]["spacing"], seen["levels"][0]["origin"]) == (list(SPACING), [0, 0, 0])


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"Version": [3, 0]}, "1.x and 2.x are known"),
        ({"WholeExtent": [0, 6, 0, 5]}, "no attribute WholeExtent of six whole numbers"),
        ({"WholeExtent": [0, -1, 0, 5, 0, 3]}, "has no points"),
        ({"WholeExtent": [0, 5, 0, 5, 0, 3]}, "of shape [4, 6, 7], not [4, 6, 6]"),
        ({"Spacing": [1.0, 2.0]}, "no attribute Spacing of three numbers"),
        ({"Spacing": [1.0, 0.0, 2.0]}, "spacing"),
        ({"Origin": 1.0}, "no attribute Origin of three numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(attributes: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "wrong.vtkhdf", {"PointData/u": random(*POINTS)}, **attributes)
    assert_one_clear_line(run("info", path, check=False).stderr, said)


def test_steps_of_an_array_that_are_shared_are_not_taken_for_others(tmp_path: Path) -> None:
    path = write(tmp_path / "shared.vtkhdf", {"PointData/u": random(2, *POINTS), "PointData/v": random(2, *POINTS)}, [0.0, 1.0])
    with h5py.File(path, "r+") as file:
        file["VTKHDF/Steps/PointDataOffsets/u"] = [1, 0]
        file["VTKHDF/Steps/PointDataOffsets/v"] = [0, 1]
    seen = told(path)
    assert [field["name"] for field in seen["fields"]] == ["v"]
    assert "u (its steps are not one after the other)" in seen["format"]


@pytest.mark.parametrize("centering", ["point", "cell"])
@pytest.mark.parametrize("is_even", [True, False])
def test_rectilinear_grids_lie_where_their_coordinates_say(is_even: bool, centering: str, tmp_path: Path) -> None:
    size = (6, 5, 4)
    along = [np.arange(n) * apart + first for n, apart, first in zip(size, SPACING, ORIGIN)]
    if not is_even:
        along[2] = np.array([0.0, 1.0, 4.0, 9.0])
    grid = vtk.vtkRectilinearGrid()
    grid.SetDimensions(*size)
    for put, coordinates in zip((grid.SetXCoordinates, grid.SetYCoordinates, grid.SetZCoordinates), along):
        put(numpy_to_vtk(coordinates, deep=True))
    is_point = centering == "point"
    shape = [n if is_point else n - 1 for n in size[::-1]]
    array = numpy_to_vtk(random(*shape).ravel(), deep=True)
    array.SetName("u")
    (grid.GetPointData() if is_point else grid.GetCellData()).AddArray(array)
    writer = vtk.vtkHDFWriter()
    writer.SetFileName(str(tmp_path / "grid.vtkhdf"))
    writer.SetInputData(grid)
    assert writer.Write()
    seen = told(tmp_path / "grid.vtkhdf")
    [level] = seen["levels"]
    samples = along if is_point else [(coordinates[1:] + coordinates[:-1]) / 2 for coordinates in along]
    assert (level["size"], level["centering"]) == (shape[::-1], centering)
    assert level["origin"] == pytest.approx([coordinates[0] for coordinates in samples])
    assert level["spacing"] == pytest.approx([(coordinates[-1] - coordinates[0]) / (len(coordinates) - 1) for coordinates in samples])
    assert ("coordinates ZCoordinates are uneven" in seen["format"]) != is_even
    with h5py.File(tmp_path / "grid.vtkhdf", "r+") as file:
        del file["VTKHDF/ZCoordinates"]
        file["VTKHDF/ZCoordinates"] = np.arange(8.0)
    assert_one_clear_line(run("info", tmp_path / "grid.vtkhdf", check=False).stderr, "ZCoordinates", "8 coordinates", "say 4")


@pytest.mark.parametrize("kind", ["UnstructuredGrid", "PolyData", "MultiBlockDataSet", "StructuredGrid", "NewInVTK"])
def test_other_types_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path / "other.vtkhdf", {"PointData/u": random(*POINTS), "Block_1/PointData/u": random(*POINTS)}, Type=np.bytes_(kind))
    for source in (path, f"{path}:/VTKHDF/Block_1/PointData/u"):
        assert_one_clear_line(run("info", source, check=False).stderr, f"VTKHDF {kind}", "not read")
