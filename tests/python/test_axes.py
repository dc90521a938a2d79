"""Which axis of an array is which, and where its samples are: by names, coordinates and orientations that other tools write."""

import json
from pathlib import Path
from typing import Any, Literal

import h5py
import nibabel
import numpy as np
import pytest
import zarr

from conftest import VISAPULT, run
from images import psnr, read_png
from wan import Process


def test_info_doubts_a_last_axis_that_may_be_components(tmp_path: Path) -> None:
    vectors = np.zeros((16, 16, 16, 3), np.float32)
    np.save(tmp_path / "v.npy", vectors)
    zarr.create_array(str(tmp_path / "v.zarr"), data=vectors)
    names = ["t", "z", "y", "x"]
    zarr.create_array(str(tmp_path / "named.zarr"), data=vectors, dimension_names=names)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["v"] = vectors
        file["timed"] = vectors
        file["timed"].attrs["times"] = np.arange(16.0)
        file["named"] = vectors
        for axis, name in enumerate(names):
            file["named"].dims[axis].label = name
    doubt = "; axes are taken as steps, z, y, x: if the last one is components, save each of the 3 "
    for name in ("v.npy", "v.zarr", "v.h5:/v"):
        assert doubt in json.loads(run("info", "--json", tmp_path / name).stdout)["format"], name
    for name in ("named.zarr", "v.h5:/timed", "v.h5:/named"):
        assert doubt not in json.loads(run("info", "--json", tmp_path / name).stdout)["format"], name


def write_images(path: Path, images: np.ndarray, time: str, unit: str) -> None:
    """The images as datasets that are read in each of the ways that there are."""
    with h5py.File(path, "w") as file:
        for name, values in (("lat", [60, 50, 40, 30]), (time, [0, 6, 24]), ("lon", 2.0 * np.arange(6))):
            file[name] = np.array(values, np.float64)
            file[name].make_scale(name)
            file[name].attrs["units"] = {"lat": "degrees_north", "lon": "degrees_east"}.get(name, unit)
        ways: dict[str, Any] = {"flat": {}, "packed": {"compression": "gzip", "chunks": (2, 3, 4)}, "checked": {"fletcher32": True, "chunks": (2, 3, 4)}}
        for name, way in ways.items():
            data = file.create_dataset(name, data=images, **way)
            for axis, scale in enumerate((time, "lat", "lon")):
                data.dims[axis].attach_scale(file[scale])


@pytest.mark.parametrize(("time", "unit"), [("Time", ""), ("valid", "hours since 2001-01-01")])
def test_a_first_axis_of_three_that_is_time_is_steps_in_hdf5(time: str, unit: str, tmp_path: Path) -> None:
    images = np.random.default_rng(7).random((3, 4, 6)).astype(np.float32)
    write_images(tmp_path / "run.h5", images, time, unit)
    told = json.loads(run("info", "--json", tmp_path / "run.h5").stdout)
    [grid] = told["levels"]
    assert (grid["size"], grid["spacing"][:2], grid["origin"][:2]) == ([6, 4, 1], [2, 10], [0, 30])
    assert (told["steps"], told["times"], told["time_unit"]) == ([0, 2], [0, 6, 24], unit)
    assert [field["name"] for field in told["fields"]] == ["checked", "flat", "packed"]
    # Latitudes fall in the file, and grow in the grid.
    plain = {"file": "run.raw", "size": [6, 4, 1], "steps": 3, "type": "f32", "spacing": [2, 10, 2], "origin": [0, 30, 0]}
    (tmp_path / "run.json").write_text(json.dumps(plain))
    images[:, ::-1].tofile(tmp_path / "run.raw")
    pictures = [(tmp_path / "run.json", "run")] + [(tmp_path / "run.h5", name) for name in ("flat", "packed", "checked")]
    for step in range(3):
        shown = []
        for source, field in pictures:
            run("render", source, "--field", field, "--time-step", step, "--out", tmp_path / "out.png", "--size", "64x48")
            shown.append(read_png(tmp_path / "out.png"))
        assert shown[0].max() > 50 and all(np.array_equal(picture, shown[0]) for picture in shown)


DATES = {
    "": ": 2000-01-01 00:00 UTC to 2000-02-29 12:00 UTC",
    "standard": ": 2000-01-01 00:00 UTC to 2000-02-29 12:00 UTC",
    "noleap": ": 2000-01-01 00:00 (noleap) to 2000-03-01 12:00 (noleap)",
    "of the moon": " (of the moon)",
}


@pytest.mark.parametrize("calendar", DATES)
def test_info_tells_times_that_count_from_a_date_as_dates(calendar: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["time"] = np.array([0, 59.5])
        file["time"].make_scale("time")
        file["time"].attrs["units"] = "days since 2000-01-01"
        if calendar:
            file["time"].attrs["calendar"] = calendar
        file["v"] = np.zeros((2, 3, 4, 5), "f4")
        file["v"].dims[0].attach_scale(file["time"])
    steps = run("info", tmp_path / "run.h5").stdout.splitlines()[-1]
    assert steps.strip() == f"steps    0 to 1, times 0 to 59.5 days since 2000-01-01{DATES[calendar]}"


# Maps as models name their axes, and what is said of those.
MAPS: dict[str, dict[str, tuple[dict[str, str], list[float]]]] = {
    "time, j, i": {"time": ({"units": "hours since 2001-01-01"}, [0, 6, 24]), "j": ({}, []), "i": ({}, [])},
    "Time, south_north, west_east": {"Time": ({}, []), "south_north": ({}, []), "west_east": ({}, [])},
    "time, rlat, rlon": {
        "time": ({}, [0, 6, 24]),
        "rlat": ({"standard_name": "grid_latitude", "units": "degrees"}, [1, 2, 3, 4]),
        "rlon": ({"standard_name": "grid_longitude", "units": "degrees"}, [1, 2, 3, 4, 5, 6]),
    },
    "valid_time, latitude, longitude": {
        "valid_time": ({"standard_name": "time", "units": "hours since 2001-01-01"}, [0, 6, 24]),
        "latitude": ({"units": "degrees_north"}, [4, 3, 2, 1]),
        "longitude": ({"units": "degrees_east"}, [1, 2, 3, 4, 5, 6]),
    },
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("axes", MAPS)
def test_zarr_has_steps_of_maps_as_hdf5_has_them(axes: str, version: Literal[2, 3], tmp_path: Path) -> None:
    values = np.random.default_rng(3).random((3, 4, 6)).astype(np.float32)
    group = zarr.open_group(str(tmp_path / "run.zarr"), mode="w", zarr_format=version)

    def store(name: str, stored: np.ndarray, named: list[str], attributes: dict[str, str]) -> None:
        array = group.create_array(name, shape=stored.shape, dtype=stored.dtype, dimension_names=named if version == 3 else None)
        array[:] = stored
        array.attrs.update(attributes if version == 3 else attributes | {"_ARRAY_DIMENSIONS": named})

    names = list(MAPS[axes])
    store("tas", values, names, {})
    with h5py.File(tmp_path / "run.nc", "w") as file:
        data = file.create_dataset("tas", data=values)
        for place, (name, (attributes, told)) in enumerate(MAPS[axes].items()):
            if told:
                store(name, np.array(told, float), [name], attributes)
                file[name] = np.array(told, float)
                file[name].attrs.update(attributes)
                file[name].make_scale(name)
                data.dims[place].attach_scale(file[name])
            data.dims[place].label = name
    zarr_told, hdf5_told = (json.loads(run("info", "--json", tmp_path / name).stdout) for name in ("run.zarr", "run.nc"))
    assert (zarr_told["levels"][0]["size"], zarr_told["steps"]) == ([6, 4, 1], [0, 2])
    for member in ("levels", "steps", "times", "time_unit"):
        assert zarr_told[member] == hdf5_told[member], member


@pytest.mark.parametrize("missing", ["NaT", "_FillValue"])
def test_a_time_that_is_missing_is_no_time(missing: str, tmp_path: Path) -> None:
    none = np.iinfo("i8").min if missing == "NaT" else -999
    times = np.array([0, none, 12], "i8")
    attributes: dict[str, Any] = {"units": "hours since 2001-01-01"} | ({} if missing == "NaT" else {"_FillValue": -999})
    group = zarr.open_group(str(tmp_path / "run.zarr"), mode="w", zarr_format=3)
    group.create_array("v", shape=(3, 4, 5, 6), dtype="f4", dimension_names=["time", "z", "y", "x"])
    stored = group.create_array("time", shape=(3,), dtype="i8", dimension_names=["time"], attributes=attributes)
    stored[:] = times
    with h5py.File(tmp_path / "run.nc", "w") as file:
        data = file.create_dataset("v", shape=(3, 4, 5, 6), dtype="f4")
        file["time"] = times
        for name, value in attributes.items():
            file["time"].attrs[name] = np.int64(value) if name == "_FillValue" else value
        file["time"].make_scale("time")
        data.dims[0].attach_scale(file["time"])
    for name in ("run.zarr", "run.nc"):
        told = run("info", tmp_path / name).stdout
        assert "the time of step 1 is NaN, so that steps are counted" in told and "times" not in told, told


def test_a_single_plane_is_where_its_coordinate_says(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "plane.nc", "w") as file:
        data = file.create_dataset("v", shape=(1, 4, 5), dtype="f4")
        for place, (name, values) in enumerate({"z": [500.0], "y": np.arange(4.0), "x": np.arange(5.0)}.items()):
            file[name] = values
            file[name].attrs["units"] = "m"
            file[name].make_scale(name)
            data.dims[place].attach_scale(file[name])
    [grid] = json.loads(run("info", "--json", tmp_path / "plane.nc").stdout)["levels"]
    assert (grid["origin"], grid["unit"]) == ([0, 0, 500], "m")


@pytest.mark.parametrize("apart", [25_000.0, 1e-6])
def test_a_plane_is_as_thick_as_its_samples_are_apart(apart: float, tmp_path: Path) -> None:
    """Beside kilometres, or micrometres, a sheet of 1 m is not to be seen."""
    group = zarr.create_group(str(tmp_path / "ice.zarr"))
    for name, count in (("y", 40), ("x", 50)):
        group.create_array(name, data=np.arange(count) * apart, dimension_names=[name]).attrs["units"] = "m"
    ice = np.random.default_rng(3).random((3, 40, 50)).astype(np.float32)
    group.create_array("ice", data=ice, dimension_names=["time", "y", "x"])
    [grid] = json.loads(run("info", "--json", tmp_path / "ice.zarr").stdout)["levels"]
    assert grid["spacing"] == pytest.approx([apart] * 3)
    run("render", tmp_path / "ice.zarr", "--out", tmp_path / "out.png", "--size", "64x48")
    assert read_png(tmp_path / "out.png").max() > 50


@pytest.fixture
def atmosphere(tmp_path: Path) -> Path:
    """Longitudes, latitudes from the north and uneven pressures, as reanalyses have them, at times that count from a date."""
    scales: dict[str, tuple[list[float], str]] = {
        "time": ([0, 6, 12], "hours since 2001-01-01"),
        "plev": ([1000, 850, 500, 200], "hPa"),
        "lat": ([40, 20, 0, -20, -40], "degrees_north"),
        "lon": ([0, 60, 120, 180, 240, 300], "degrees_east"),
    }
    with h5py.File(tmp_path / "u.nc", "w") as file:
        data = file.create_dataset("u", data=np.arange(3 * 4 * 5 * 6, dtype="f4").reshape(3, 4, 5, 6))
        for place, (name, (values, units)) in enumerate(scales.items()):
            file[name] = np.array(values, "f8")
            file[name].attrs["units"] = units
            file[name].make_scale(name)
            data.dims[place].attach_scale(file[name])
        file["time"].attrs["calendar"] = "noleap"
    return tmp_path / "u.nc"


ALONG = [
    {"name": "lon", "unit": "degrees_east", "values": [0, 60, 120, 180, 240, 300], "is_vertical": False},
    {"name": "lat", "unit": "degrees_north", "values": [-40, -20, 0, 20, 40], "is_vertical": False},
    {"name": "plev", "unit": "hPa", "values": [1000, 850, 500, 200], "is_vertical": True},
]


def test_axes_in_units_of_their_own_keep_their_coordinates(atmosphere: Path) -> None:
    told = json.loads(run("info", "--json", atmosphere).stdout)
    assert told["along"] == ALONG
    assert told["levels"][0]["spacing"] == [1, 1, 1]
    words = run("info", atmosphere).stdout
    assert "along y  lat -40 to 40 degrees_north" in words and "along z  plev 1000 to 200 hPa" in words, words


def test_where_samples_lie_is_told_to_who_is_elsewhere(atmosphere: Path) -> None:
    serving = Process([VISAPULT, "serve", str(atmosphere), "--bind", "127.0.0.1:0"])
    try:
        told = json.loads(run("info", "--json", serving.read_line()).stdout)
    finally:
        serving.stop()
    assert (told["along"], told["times"], told["time_unit"]) == (ALONG, [0, 6, 12], "hours since 2001-01-01")


def column_of_water(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Depths that grow ever faster, and the values there; some of the column is land."""
    depth = np.array([0, 5, 10, 20, 30, 50, 75, 100, 150, 200, 250, 300, 350, 400.0])
    z, y, x = np.meshgrid(depth, np.arange(12), np.arange(16), indexing="ij")
    water = np.exp(-z / 150) * (10 + np.sin(x) + np.cos(y)).astype(np.float32)
    water[9:, 4:7, 5:9] = np.nan
    group = zarr.create_group(str(path))
    for name, values, attributes in (
        ("depth", depth, {"units": "m", "positive": "down"}),
        ("y", np.arange(12) * 20.0, {"units": "m"}),
        ("x", np.arange(16) * 20.0, {"units": "m"}),
    ):
        group.create_array(name, data=values, dimension_names=[name]).attrs.update(attributes)
    group.create_array("water", data=water.astype(np.float32), dimension_names=["depth", "y", "x"])
    return depth, water.astype(np.float32)


def test_samples_that_lie_unevenly_are_shown_where_they_lie(tmp_path: Path) -> None:
    depth, water = column_of_water(tmp_path / "sea.zarr")
    even = np.linspace(0, 400, 4 * 13 + 1)
    interpolated = np.apply_along_axis(lambda column: np.interp(even, depth, column), 0, water)
    # From the bottom up, as the sea is shown.
    interpolated[::-1].astype(np.float32).tofile(tmp_path / "even.raw")
    plain = {"file": "even.raw", "size": [16, 12, 53], "type": "f32", "spacing": [20, 20, 400 / 52], "origin": [0, 0, -400]}
    (tmp_path / "even.json").write_text(json.dumps(plain))
    shown = {}
    for name in ("even.json", "sea.zarr?spacing=even", "sea.zarr"):
        run("render", tmp_path / name, "--out", tmp_path / "out.png", "--size", "128x96", "--el", "70", "--up", "z")
        shown[name] = read_png(tmp_path / "out.png")
    # NumPy interpolates in double precision.
    assert psnr(shown["even.json"], shown["sea.zarr?spacing=even"]) > 55
    assert psnr(shown["even.json"], shown["sea.zarr"]) < 35

    told = json.loads(run("info", "--json", tmp_path / "sea.zarr?spacing=even").stdout)
    [grid] = told["levels"]
    assert (grid["size"], grid["origin"], grid["spacing"][2]) == ([16, 12, 53], [0, 0, -400], pytest.approx(400 / 52))
    assert "14 uneven samples along depth made 53, equally far apart, farther than the nearest of them were" in told["format"]
    assert "; ?spacing=even shows them where they lie" in json.loads(run("info", "--json", tmp_path / "sea.zarr").stdout)["format"]
    coarse = json.loads(run("info", "--json", tmp_path / "sea.zarr?spacing=even&level=1").stdout)
    assert (coarse["name"], coarse["levels"][0]["size"]) == ("sea.zarr?spacing=even&level=1", [8, 6, 27])


def test_who_is_elsewhere_gets_samples_where_they_lie(tmp_path: Path) -> None:
    column_of_water(tmp_path / "sea.zarr")
    serving = Process([VISAPULT, "serve", f"{tmp_path}/sea.zarr?spacing=even", "--bind", "127.0.0.1:0"])
    try:
        url = serving.read_line()
        told = json.loads(run("info", "--json", url).stdout)
        asked = run("info", f"{url}?spacing=even", check=False)
    finally:
        serving.stop()
    assert told["levels"][0]["size"] == [16, 12, 53]
    assert "chosen where a source is" in asked.stderr and url not in asked.stderr


def test_what_who_is_elsewhere_cannot_do_is_not_proposed(tmp_path: Path) -> None:
    column_of_water(tmp_path / "sea.zarr")
    serving = Process([VISAPULT, "serve", str(tmp_path / "sea.zarr"), "--bind", "127.0.0.1:0"])
    try:
        told = json.loads(run("info", "--json", serving.read_line()).stdout)
    finally:
        serving.stop()
    assert "coordinates depth are uneven" in told["format"] and "spacing=even" not in told["format"]


def test_a_first_axis_of_three_that_is_not_time_is_depth_in_hdf5(tmp_path: Path) -> None:
    write_images(tmp_path / "run.h5", np.zeros((3, 4, 6), np.float32), "lev", "degrees")
    told = json.loads(run("info", "--json", tmp_path / "run.h5").stdout)
    assert (told["levels"][0]["size"], told["steps"]) == ([6, 4, 3], [0, 0])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("zyx", ""),
        ("tzyx", ""),
        ("abx", ""),
        ("xyz", "axes x, y, z are x, y, z: put in order"),
        ("txyz", "axes t, x, y, z are steps, x, y, z: put in order"),
        ("xyta", "axes x, y, t, a are x, y, steps, z: put in order"),
        ("xaby", "axes x, a, b, y are taken as steps, z, y, x, whatever"),
        ("tzy", "axes t, z, y are taken as steps, y, x, whatever"),
    ],
)
def test_axes_in_another_order_than_their_names_are_remarked_in_hdf5(names: str, said: str, tmp_path: Path) -> None:
    shape = (2, 3, 4, 5)[-len(names) :]
    with h5py.File(tmp_path / "run.h5", "w") as file:
        data = file.create_dataset("data", data=np.zeros(shape, np.float32))
        for axis, name in enumerate(names):
            file[name] = np.arange(shape[axis], dtype=float)
            file[name].make_scale(name)
            data.dims[axis].attach_scale(file[name])
    told = run("info", tmp_path / "run.h5").stdout
    assert ("axes" in told, said in told) == (bool(said), True), told


# What conventions have of axes whose names say nothing, and what the HDF5 library has of them, in any order.
SAID: dict[str, tuple[dict[str, str], list[float]]] = {
    "z": ({"units": "hPa", "positive": "down"}, [1000, 900, 800]),
    "t": ({"units": "hours since 2001-01-01"}, [0, 6]),
    "y": ({"standard_name": "grid_latitude", "units": "degrees"}, [50, 51, 52, 53]),
    "x": ({"axis": "X", "units": "degrees"}, [1, 2, 3, 4, 5]),
}


STORED: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": (2, 2, 2, 2), "compression": "gzip", "shuffle": True},
    "by the library": {"chunks": (2, 2, 2, 2), "fletcher32": True},
}


@pytest.mark.parametrize("order", ["xytz", "xyzt", "tyxz", "ztxy", "zyxt", "ztyx"])
def test_axes_that_are_told_apart_are_put_in_order_in_hdf5(order: str, tmp_path: Path) -> None:
    values = np.random.default_rng(5).random((2, 3, 4, 5)).astype(np.float32)
    np.save(tmp_path / "steps.npy", values)
    for stored, options in STORED.items():
        path = tmp_path / f"{order}.nc"
        with h5py.File(path, "w") as file:
            data = file.create_dataset("v", data=values.transpose(["tzyx".index(axis) for axis in order]), **options)
            for place, axis in enumerate(order):
                attributes, coordinates = SAID[axis]
                scale = file.create_dataset(f"dim{place}", data=np.array(coordinates))
                scale.make_scale(f"dim{place}")
                scale.attrs.update(attributes)
                data.dims[place].attach_scale(scale)
        told = run("info", path).stdout
        assert ": put in order" in told and "5 x 4 x 3 point" in told and "steps    0 to 1, times 0 to 6 hours" in told
        for step in (0, 1):
            for source in (path, tmp_path / "steps.npy"):
                run("render", source, "--time-step", step, "--out", f"{source}.png", "--size", "48x40", "--az", 20)
            np.testing.assert_array_equal(read_png(Path(f"{path}.png")), read_png(tmp_path / "steps.npy.png"), stored)


@pytest.mark.parametrize(("units", "said"), [("m", "z is their negative"), ("degrees", "coordinates in different units")])
def test_the_surface_of_the_sea_is_above_its_bottom(units: str, said: str, tmp_path: Path) -> None:
    values = np.random.default_rng(9).random((3, 4, 5)).astype(np.float32)
    np.save(tmp_path / "up.npy", values[::-1])
    group = zarr.create_group(str(tmp_path / "run.zarr"), zarr_format=2)
    with h5py.File(tmp_path / "run.nc", "w") as file:
        axes: dict[str, tuple[list[float], dict[str, str]]] = {
            "depth": ([0, 1, 2], {"units": "m", "positive": "down"}),
            "y": ([0, 1, 2, 3], {"units": units}),
            "x": ([0, 1, 2, 3, 4], {"units": units}),
        }
        file["v"] = values
        array = group.create_array("v", shape=values.shape, chunks=values.shape, dtype="f4")
        array[:] = values
        array.attrs["_ARRAY_DIMENSIONS"] = list(axes)
        for place, (name, (coordinates, attributes)) in enumerate(axes.items()):
            file[name] = np.array(coordinates)
            file[name].attrs.update(attributes)
            file[name].make_scale(name)
            file["v"].dims[place].attach_scale(file[name])
            scale = group.create_array(name, shape=(len(coordinates),), dtype="f8")
            scale[:] = coordinates
            scale.attrs.update(attributes | {"_ARRAY_DIMENSIONS": [name]})
    run("render", tmp_path / "up.npy", "--out", tmp_path / "up.png", "--size", "48x40", "--el", 30)
    for name in ("run.nc", "run.zarr"):
        told = run("info", tmp_path / name).stdout
        assert said in told and "depth grow downwards" in told, told
        assert f"origin (0, 0, {-2 if units == 'm' else 0})" in told
        run("render", tmp_path / name, "--out", tmp_path / "out.png", "--size", "48x40", "--el", 30)
        np.testing.assert_array_equal(read_png(tmp_path / "out.png"), read_png(tmp_path / "up.png"))


@pytest.mark.parametrize("code", ["LPS", "LAS", "PIR", "ARS", "SLP"])
def test_a_scan_is_shown_the_right_way_round_however_it_is_stored(code: str, tmp_path: Path) -> None:
    values = np.random.default_rng(6).random((6, 5, 4, 2)).astype(np.float32)
    right = nibabel.Nifti1Image(values, np.array([[2, 0, 0, -7], [0, 1.5, 0, 3], [0, 0, 1, 11], [0, 0, 0, 1]]))
    turned = right.as_reoriented(nibabel.orientations.ornt_transform(
        nibabel.orientations.io_orientation(right.affine), nibabel.orientations.axcodes2ornt(code)))  # fmt: skip
    told = []
    for name, image in (("right.nii", right), (f"{code}.nii", turned)):
        image.to_filename(tmp_path / name)
        told.append(json.loads(run("info", "--json", tmp_path / name).stdout)["levels"])
        run("render", tmp_path / name, "--time-step", 1, "--out", tmp_path / f"{name}.png", "--size", "48x40", "--az", 20)
    assert told[0] == told[1]
    np.testing.assert_array_equal(read_png(tmp_path / "right.nii.png"), read_png(tmp_path / f"{code}.nii.png"))


@pytest.mark.parametrize("distances", [(1.0, 1.0, 1.0), (2.0, 1.5, 1.0), (2.0, 1.5, 1.0002)])
@pytest.mark.parametrize("turned", [False, True])
def test_the_distances_of_a_scan_are_those_of_its_sform(distances: tuple[float, float, float], turned: bool, tmp_path: Path) -> None:
    affine = np.array([[2, 0, 0, -7], [0, 1.5, 0, 3], [0, 0, 1, 11], [0, 0, 0, 1.0]])
    if turned:
        affine = np.array([[0, 0, -1, 12], [2, 0, 0, -7], [0, 1.5, 0, 3], [0, 0, 0, 1.0]])
    image = nibabel.Nifti1Image(np.zeros((6, 5, 4), np.float32), affine)
    image.header.set_zooms(distances)
    image.to_filename(tmp_path / "scan.nii")
    read = nibabel.as_closest_canonical(nibabel.load(tmp_path / "scan.nii"))
    told = json.loads(run("info", "--json", tmp_path / "scan.nii").stdout)
    [grid] = told["levels"]
    np.testing.assert_allclose(grid["spacing"], nibabel.affines.voxel_sizes(read.affine))
    np.testing.assert_allclose(grid["origin"], read.affine[:3, 3])
    assert ("spacing is that of the sform, which pixdim contradicts" in told["format"]) == (distances != (2.0, 1.5, 1.0))


def test_the_distances_of_a_scan_without_an_sform_are_those_of_pixdim(tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(np.zeros((6, 5, 4), np.float32), np.diag([2, 1.5, 1, 1]))
    image.header.set_zooms((3, 4, 5))
    image.header["sform_code"], image.header["qform_code"], image.header["vox_offset"] = 0, 1, 352
    (tmp_path / "scan.nii").write_bytes(image.header.binaryblock + bytes(4) + bytes(480))
    [grid] = json.loads(run("info", "--json", tmp_path / "scan.nii").stdout)["levels"]
    assert grid["spacing"] == list(nibabel.Nifti1Image.from_filename(tmp_path / "scan.nii").header.get_zooms()) == [3, 4, 5]


def test_axes_are_told_apart_by_their_labels_too(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        data = file.create_dataset("v", data=np.zeros((5, 4, 3), np.float32))
        for place, label in enumerate("xyz"):
            data.dims[place].label = label
    assert "axes x, y, z are x, y, z: put in order\n  level 0  5 x 4 x 3" in run("info", tmp_path / "run.h5").stdout


def test_the_one_axis_that_zarr_does_not_name_is_what_the_others_are_not(tmp_path: Path) -> None:
    group = zarr.create_group(str(tmp_path / "run.zarr"), zarr_format=3)
    group.create_array("v", shape=(5, 4, 2, 3), dtype="f4", dimension_names=["lon", "lat", "time", "plev"])
    told = json.loads(run("info", "--json", tmp_path / "run.zarr").stdout)
    assert (told["levels"][0]["size"], told["steps"]) == ([5, 4, 3], [0, 1])


def test_the_spacing_of_an_hdf5_file_is_that_of_the_dataset_that_tells_one(volume: np.ndarray, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["alpha"] = volume
        density = file.create_dataset("density", data=volume)
        density.attrs["spacing"] = [0.5, 0.5, 2.0]
        density.attrs["spacing_unit"] = "mm"
    assert "spacing 0.5 x 0.5 x 2 mm" in run("info", tmp_path / "run.h5").stdout


def test_numbers_written_as_text_count_and_places_that_are_not_three_numbers_are_remarked(tmp_path: Path) -> None:
    stored = np.arange(60, dtype="i2").reshape(3, 4, 5)
    attributes: dict[str, Any] = {"scale_factor": "0.5", "add_offset": "-10", "spacing": [1.0, 2.0], "origin": "0 0 0"}
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["v"] = stored
        file["v"].attrs.update(attributes)
    array = zarr.create_array(str(tmp_path / "run.zarr"), data=stored)
    array.attrs.update(attributes)
    for name in ("run.h5", "run.zarr"):
        said = run("info", tmp_path / name).stdout
        assert "-10 to 19.5" in said and "its 'spacing' and 'origin' count for nothing: three numbers are wanted" in said, said


@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_coordinates_may_be_what_is_not_valid_and_what_the_array_is_filled_with(kind: str, tmp_path: Path) -> None:
    lon: dict[str, Any] = {"units": "degrees_east", "valid_min": -180, "valid_max": 180}
    axes: dict[str, tuple[np.ndarray, dict[str, Any]]] = {"lat": (np.arange(3, dtype="i4"), {"units": "degrees_north"}), "lon": (np.arange(8) * 45, lon)}
    path = tmp_path / f"map.{kind}"
    if kind == "nc":
        with h5py.File(path, "w") as file:
            field = file.create_dataset("v", data=np.ones((2, 3, 8), "f4"))
            for place, (name, (along, attributes)) in enumerate(axes.items()):
                file.create_dataset(name, data=along, fillvalue=2).attrs.update(attributes)
                file[name].make_scale(name)
                field.dims[place + 1].attach_scale(file[name])
    else:
        group = zarr.open_group(str(path), mode="w")
        group.create_array("v", shape=(2, 3, 8), dtype="f4", dimension_names=["z", *axes])[:] = 1
        for name, (along, attributes) in axes.items():
            group.create_array(name, shape=along.shape, dtype=along.dtype, fill_value=2, dimension_names=[name], attributes=attributes)[:] = along
    along = json.loads(run("info", "--json", path).stdout)["along"]
    assert [axis and axis["values"] for axis in along] == [list(range(0, 360, 45)), [0, 1, 2], None]


def test_two_axes_of_times_are_told_apart_by_their_names_in_zarr(tmp_path: Path) -> None:
    group = zarr.open_group(str(tmp_path / "runs.zarr"), mode="w")
    since: dict[str, Any] = {"units": "hours since 2000-01-01"}
    axes: dict[str, tuple[int, dict[str, Any]]] = {"reference_time": (2, since), "valid_time": (3, since), "lat": (4, {}), "lon": (5, {})}
    group.create_array("v", shape=(2, 3, 4, 5), dtype="f4", dimension_names=list(axes))[:] = 1
    for name, (length, attributes) in axes.items():
        group.create_array(name, shape=(length,), dtype="f8", dimension_names=[name], attributes=attributes)[:] = np.arange(length)
    told = json.loads(run("info", "--json", tmp_path / "runs.zarr").stdout)
    assert told["levels"][0]["size"] == [5, 4, 3] and told["steps"] == [0, 1], told
    assert "axes reference_time, valid_time, lat, lon are taken as steps, z, y, x" in told["format"]


def test_times_of_an_attribute_have_no_calendar_of_a_scale(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        field = file.create_dataset("v", data=np.ones((3, 2, 3, 4), "f4"))
        field.attrs["times"] = [0.0, 1.0, 2.0]
        file["time"] = [0.0, 30.0, 60.0]
        file["time"].attrs.update({"units": "days since 2000-01-01", "calendar": "360_day"})
        file["time"].make_scale("time")
        field.dims[0].attach_scale(file["time"])
    told = run("info", tmp_path / "run.h5").stdout
    assert "360_day" not in told and "days" not in told, told


def test_axes_of_one_sample_are_left_out(tmp_path: Path) -> None:
    values = np.random.default_rng(5).random((2, 3, 4, 5)).astype("f4")
    names = ["number", "time", "lev", "lat", "lon"]
    for name, members, chunks in (("one", 1, (1, 1, 3, 4, 5)), ("room", 1, (4, 1, 3, 4, 5)), ("ten", 10, None)):
        with h5py.File(tmp_path / f"{name}.nc", "w") as file:
            stored = np.broadcast_to(values, (members, *values.shape))
            field = file.create_dataset("t", data=stored, chunks=chunks, maxshape=(None, *values.shape) if chunks else None, compression="gzip" if chunks else None)
            for axis, (dim, length) in enumerate(zip(names, stored.shape)):
                file[dim] = np.arange(length, dtype="f8")
                file[dim].make_scale(dim)
                field.dims[axis].attach_scale(file[dim])
    group = zarr.open_group(str(tmp_path / "six.zarr"), mode="w")
    group.create_array("t", shape=(1, 1, *values.shape), dtype="f4", dimension_names=["run", *names])[:] = values[None, None]
    for source in ("one.nc", "room.nc", "six.zarr"):
        told = json.loads(run("info", "--json", tmp_path / source).stdout)
        assert (told["levels"][0]["size"], told["steps"]) == ([5, 4, 3], [0, 1]), source
        assert told["fields"][0]["range"] == pytest.approx([values.min(), values.max()])
    refused = run("info", tmp_path / "ten.nc", check=False).stderr
    assert "10 members along number, of which one cannot be chosen yet" in refused
    ten = zarr.open_group(str(tmp_path / "ten.zarr"), mode="w")
    ten.create_array("t", shape=(10, *values.shape), dtype="f4", dimension_names=names)[:] = np.broadcast_to(values, (10, *values.shape))
    assert [field["name"] for field in json.loads(run("info", "--json", tmp_path / "ten.zarr").stdout)["fields"]] == [f"t {n}" for n in range(10)]
