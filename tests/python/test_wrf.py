"""Output of the Weather Research and Forecasting model, as `testdata/make_wrf.py` has netCDF's own library write it."""

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from conftest import run
from shares import shared  # noqa: F401 (a fixture)
from test_copy_fields import part

FILE = Path(__file__).parents[2] / "testdata" / "wrf" / "wrfout_d01.nc"


def told(source: object) -> dict[str, Any]:
    return json.loads(run("info", "--json", source).stdout)


def test_steps_are_at_the_dates_that_the_file_has_as_text() -> None:
    with h5py.File(FILE) as file:
        texts = [b"".join(date).decode() for date in file["Times"][:]]
    dates = [datetime.strptime(text, "%Y-%m-%d_%H:%M:%S") for text in texts]
    seen = told(f"{FILE}:/T2")
    assert seen["times"] == [(date - dates[0]).total_seconds() for date in dates]
    assert seen["time_unit"] == f"seconds since {dates[0]}"


@pytest.mark.parametrize(("times", "found", "unit"), [
    (None, [0, 720, 1800.5], "minutes since 2004-02-28 18:00:00"),
    ([[b"?"] * 19] * 3, [0, 720, 1800.5], "minutes since 2004-02-28 18:00:00"),
])  # fmt: skip
def test_without_dates_steps_are_so_many_minutes_after_the_first(times: Any, found: list[float], unit: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(FILE, tmp_path / "wrfout_d01_2004-02-28_18:00:00"))
    with h5py.File(path, "r+") as file:
        if times is None:
            del file["Times"]
        else:
            file["Times"][:] = np.array(times, "S1")
    seen = told(f"{path}:/T2")
    assert (seen["times"], seen["time_unit"]) == (found, unit)


@pytest.mark.parametrize("texts", [True, False])
def test_dates_are_those_of_the_calendar_that_the_file_names(texts: bool, tmp_path: Path) -> None:
    path = Path(shutil.copy(FILE, tmp_path / "noleap.nc"))
    dates = ["2004-02-28_18:00:00", "2004-03-01_00:00:00", "2004-03-01_06:00:00"]
    with h5py.File(path, "r+") as file:
        file["XTIME"].attrs["calendar"] = "noleap"
        # By the type in the file: h5py's own would end each letter with a zero.
        written = file["Times"].id
        written.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(dates, "S19").view("S1").reshape(3, 19), written.get_type())
        if not texts:
            del file["Times"]
    seen = told(f"{path}:/T2")
    assert (seen["times"], seen["calendar"]) == ([0, 21600, 43200] if texts else [0, 720, 1800.5], "noleap")


def test_samples_are_as_far_apart_as_the_file_says_and_levels_are_upwards() -> None:
    [grid] = told(f"{FILE}:/T2")["levels"]
    assert (grid["size"], grid["spacing"][:2], grid["unit"]) == ([6, 5, 1], [4000, 3000], "m")
    for field, size, first in (("T", [6, 5, 4], [0, 0, 0]), ("U", [7, 5, 4], [-2000, 0, 0]), ("W", [6, 5, 5], [0, 0, -0.5])):
        seen = told(f"{FILE}:/{field}")
        assert seen["levels"][0]["size"] == size
        assert [along["values"][0] for along in seen["along"]] == first
        assert [along["unit"] for along in seen["along"]] == ["m", "m", "level"]
        assert [along["is_vertical"] for along in seen["along"]] == [False, False, True]
        assert "samples are shown equally far apart" in seen["format"]


def test_values_are_those_that_h5py_has(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    shutil.copy(FILE, folder)
    copied = part(f"{url}/wrfout_d01.nc", tmp_path / "copy.zarr", "--field", "/U")
    with h5py.File(FILE) as file:
        np.testing.assert_array_equal(copied["U"][:], file["U"][:])


def test_a_file_of_another_model_with_such_axes_is_as_it_was(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILE, tmp_path / "other.nc"))
    with h5py.File(path, "r+") as file:
        del file.attrs["DX"]
    seen = told(f"{path}:/T")
    assert (seen["levels"][0]["spacing"], seen["levels"][0]["unit"], seen["format"]) == ([1, 1, 1], "", "HDF5, chunked")
