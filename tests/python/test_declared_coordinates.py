"""Where samples lie along the axes, as programs that publish say it: shown as what a file shows that says the same."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

from conftest import VISAPULT, run
from page import Page
from publishers import ROOT, Running, compile_c, compile_fortran

visapult = pytest.importorskip("visapult", reason="the package is not installed: make python-package")

PLEV, LAT, LON = [100.0, 300, 700, 1000], [60.0, 50, 30, 0, -30, -60], 30.0 * np.arange(12)
Z, Y, X = np.ogrid[:4, :6, :12]
VALUES = (X + 10 * Y + 100 * Z).astype("f4")


def atmosphere() -> xarray.DataArray:
    """As models have it: from the top down, from north to south."""
    data = xarray.DataArray(VALUES, coords={"plev": PLEV, "lat": LAT, "lon": LON}, dims=("plev", "lat", "lon"), name="ta", attrs={"units": "K"})
    for axis, said in {"plev": {"units": "hPa", "positive": "down"}, "lat": {"units": "degrees_north"}, "lon": {"units": "degrees_east"}}.items():
        data[axis].attrs |= said
    return data


@pytest.fixture
def file(tmp_path: Path) -> Path:
    atmosphere().to_dataset().to_zarr(tmp_path / "ta.zarr", consolidated=False)
    return tmp_path / "ta.zarr"


def told(source: object) -> dict[str, Any]:
    return json.loads(run("info", "--json", source).stdout)


def picture(source: object, folder: Path) -> bytes:
    run("render", source, "--out", folder / "out.png", "--size", "160x120")
    return (folder / "out.png").read_bytes()


def is_as_of(file: Path, url: str, folder: Path) -> None:
    """Axes, what is remarked of them, and pictures."""
    own, published = told(file), told(url)
    for what in ("levels", "edges", "along"):
        assert published[what] == own[what]
    own_remarks, remarks = (it["format"].removesuffix(", received").split("; ")[1:] for it in (own, published))
    # Less is said of a flow.
    assert len(remarks) == 3 and set(remarks) <= {*own_remarks, "and more"}
    assert picture(url, folder) == picture(file, folder)


def publisher(**said: object) -> Any:
    declared = {"name": "levels", "size": (12, 6, 4), "fields": {"ta": "K"}, "listen": "127.0.0.1:0"}
    return visapult.Publisher(**(declared | said))


def along(url: str) -> list[Any]:
    return [axis and axis["values"] for axis in told(url)["along"]]


@contextmanager
def running(*command: object) -> Iterator[Running]:
    started = Running(*command)
    try:
        yield started
    finally:
        started.stop()


@pytest.mark.parametrize("ranks", [1, 2])
def test_coordinates_of_a_program_in_c_are_those_of_a_file(ranks: int, file: Path, tmp_path: Path) -> None:
    program = compile_c(ROOT / "tests" / "native" / "levels.c", tmp_path / "levels")
    with running(program, 0, ranks) as first, running(program, ranks - 1, ranks) as last:
        urls = " ".join(one.line() for one in [first, last][:ranks])
        is_as_of(file, urls, tmp_path)
        assert (told(urls)["time_unit"], told(urls)["calendar"]) == ("hours since 2001-01-01", "noleap")


def test_coordinates_of_a_program_in_fortran_are_those_of_a_file(file: Path, tmp_path: Path) -> None:
    program = compile_fortran(ROOT / "tests" / "native" / "levels.f90", tmp_path / "levels")
    with running(program) as one:
        assert "3 coordinates along z, of 4 samples of the whole grid" in one.line()
        url = one.line()
        is_as_of(file, url, tmp_path)
        assert (told(url)["time_unit"], told(url)["calendar"]) == ("hours since 2001-01-01", "noleap")


def test_coordinates_of_a_program_in_python_are_those_of_a_file(file: Path, tmp_path: Path) -> None:
    data = atmosphere()
    plain = {"x": visapult.Coordinates(LON, "degrees_east", "lon"), "y": visapult.Coordinates(LAT, name="lat"), "z": visapult.Coordinates(PLEV, "hPa", "plev", "down")}
    for said in (plain, {"x": data.lon, "y": data.lat, "z": data.plev}):
        with publisher(coordinates=said, unit="degrees_north") as p:
            p.publish(0.0, ta=VALUES)
            is_as_of(file, p.url, tmp_path)


def test_coordinates_of_one_axis_stand_beside_the_grid_of_the_others(tmp_path: Path) -> None:
    with publisher(spacing=(2, 2, 2), unit="km", coordinates={"z": visapult.Coordinates([10.0, 20, 40, 310], "m", "height", "up")}) as p:
        p.publish(0.0, ta=VALUES)
        [grid] = told(p.url)["levels"]
        assert (grid["spacing"], grid["origin"], grid["unit"]) == ([2, 2, 0.1], [0, 0, 0.01], "km")
        assert told(p.url)["along"][:2] == [None, None]
        assert told(p.url)["along"][2] == {"name": "height", "unit": "m", "values": [10, 20, 40, 310], "is_vertical": True}
    # In whatever an array of numbers is, in the unit of the grid.
    for values in ([1, 2, 3, 5], np.array([1, 2, 3, 5], "i2"), np.array([1, 0, 2, 0, 3, 0, 5], ">f4")[::2]):
        with publisher(unit="km", coordinates={"z": values}) as p:
            p.publish(0.0, ta=VALUES)
            assert along(p.url) == [None, None, [1, 2, 3, 5]]
            assert told(p.url)["levels"][0]["unit"] == "km"


def test_what_an_axis_of_xarray_says_amiss_is_passed_over_as_of_files() -> None:
    numbers = np.array([1.0, 2, 3, 5])
    odd = {"units": "m", "positive": "Upwards"}
    for axis in (xarray.Variable("z", numbers, odd), xarray.DataArray(numbers, dims="z", name="", attrs=odd), xarray.DataArray(numbers, dims="z", name=7, attrs=odd)):
        with publisher(coordinates={"z": axis}, unit="m") as p:
            p.publish(0.0, ta=VALUES)
            assert told(p.url)["along"][2] == {"name": "z", "unit": "m", "values": [1, 2, 3, 5], "is_vertical": False}


def test_the_time_of_the_step_that_is_looked_at_is_told_of_a_running_program() -> None:
    for calendar, date in (("noleap", ": 2001-03-01 12:00 (noleap)"), ("none", " (none)")):
        with publisher(time_unit="hours since 2001-02-28", calendar=calendar) as p:
            p.publish(36.0, ta=VALUES)
            said = run("info", p.url).stdout
            assert f"steps    0 to 0, more coming, step 0 at 36 hours since 2001-02-28{date}\n" in said, said
            assert told(p.url)["time"] == 36
    with publisher() as p:
        p.publish(np.nan, ta=VALUES)
        assert "steps    0 to 0, more coming\n" in run("info", p.url).stdout
        assert "time" not in told(p.url)


def test_many_coordinates_are_told_in_few_numbers() -> None:
    squares = np.arange(1000.0) ** 2
    with publisher(size=(1, 1, 1000), coordinates={"z": squares}) as p:
        p.publish(0.0, ta=squares.reshape(1000, 1, 1))
        [values] = along(p.url)[2:]
        assert (len(values), values[0], values[-1]) == (257, 0, 998001)


def test_ranks_that_place_samples_otherwise_are_refused_by_name() -> None:
    parts = [((0, 0, 0), (12, 6, 2)), ((0, 0, 2), (12, 6, 4))]
    for said, why in (
        ({"z": visapult.Coordinates([100, 300, 750, 1000], "hPa")}, r'along z are "z" in "hPa" \(1000 to 100\) where they were .*the first that differ are (700 and 750|750 and 700)'),
        ({}, r'along z are (none beside the grid\'s where they were "z" in "hPa" |"z" in "hPa" \(1000 to 100\) where they were none)'),
    ):
        declared = [{"z": visapult.Coordinates(PLEV, "hPa")}, said]
        with (
            publisher(rank=0, ranks=2, block=parts[0], coordinates=declared[0]) as one,
            publisher(rank=1, ranks=2, block=parts[1], coordinates=declared[1]) as other,
        ):
            refused = run("info", f"{one.url} {other.url}", check=False).stderr
            assert "publishes another grid or other fields: " in refused
            assert re.search(why, refused), refused


def test_what_tells_no_place_for_each_sample_is_refused_where_it_is_declared() -> None:
    for said, why in (
        ({"z": [1, 2, 3]}, "there are 3 coordinates along z, of 4 samples of the whole grid"),
        ({"z": [1, 2, np.nan, 3]}, "coordinate 2 along z is NaN"),
        ({"z": [1, 2, 4, 3]}, "along z neither grow nor fall: number 3 is 3, after 4"),
        ({"z": "1234"}, "along z: pass an array of numbers"),
        ({"z": np.zeros((4, 4))}, "along z: pass an array of numbers"),
        ({"z": visapult.Coordinates([1, 2, 3, 4], 5)}, "along z: pass an array of numbers"),
        ({"z": visapult.Coordinates([1, 2, 3, 4], positive="left")}, '"up" or "down", where that is told, not "left"'),
        ({"z": np.array([1, 2, 3, 4j])}, "along z are complex numbers: pass those that are meant, as array.real"),
        ({"z": xarray.Variable("z", [1, 2, 3, 4j])}, "along z are complex numbers"),
        ({"t": [1, 2, 3, 4]}, "there is no axis t: they are x, y and z"),
        ([1, 2, 3, 4], "are not by axis"),
    ):
        with pytest.raises(visapult.CallError, match=why):
            publisher(coordinates=said)
        # Though nobody looks.
        with pytest.raises(visapult.CallError, match=why):
            publisher(coordinates=said, listen=None)
    with pytest.raises(visapult.CallError, match="^calendar \"no_leap\" is none of standard, .*noleap"):
        publisher(calendar="no_leap")
    with publisher(calendar=None) as p:
        p.publish(0.0, ta=VALUES)
        assert told(p.url)["calendar"] == ""
    with pytest.raises(visapult.CallError, match="block"):
        publisher(coordinates={"z": [4, 3, 2, 1]}, block=((0, 0, 0), (12, 6, 5)))


def test_arrays_in_a_notebook_have_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISAPULT", str(VISAPULT))
    data = atmosphere()
    with visapult.view({"ta": VALUES}, unit="degrees_north", coordinates={"y": LAT, "z": data.plev}) as view:
        page = Page(view.url)
        page.until(lambda: page.fields, "a field")
        assert [axis["unit"] for axis in page.source["along"]] == ["degrees_north", "degrees_north", "hPa"]
        assert [axis["values"][0] for axis in page.source["along"]] == [0, -60, 1000]
