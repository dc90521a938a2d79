"""What other tools mean by missing and by not valid is missing, and nothing else."""

import json
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import pytest
import zarr

from conftest import run


@pytest.mark.parametrize(("kind", "fill"), [("u1", 255), ("i1", -127)])
def test_no_byte_is_missing_because_the_netcdf_library_fills_with_it(kind: str, fill: int, tmp_path: Path) -> None:
    values = np.arange(256, dtype="u1").view(kind).reshape(4, 8, 8)
    for name in ("netcdf.nc", "other.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("plain", data=values, fillvalue=fill)
            file.create_dataset("chosen", data=values, fillvalue=7)
            file.create_dataset("told", data=values, fillvalue=fill).attrs["_FillValue"] = np.array([fill], kind)
            if name == "netcdf.nc":
                file.attrs["_NCProperties"] = np.bytes_("version=2,netcdf=4.9.2,hdf5=1.14.3")
        fields = json.loads(run("info", "--json", tmp_path / name).stdout)["fields"]
        missing = {field["name"]: field["missing"] for field in fields}
        assert missing == {"plain": int(name == "other.h5"), "chosen": 1, "told": 1}, name


@pytest.mark.parametrize(
    ("attributes", "missing"),
    [
        ({"valid_range": np.array([-10, 20], "i2")}, (-10, 20)),
        ({"valid_min": np.int16(-10)}, (-10, 99)),
        ({"valid_max": np.int16(20), "scale_factor": 0.5}, (-99, 20)),
        # Unpacked, perhaps.
        ({"valid_range": np.array([-1, 2.0]), "scale_factor": 0.5}, (-99, 99)),
        ({"valid_range": np.array([20, -10], "i2")}, (-99, 99)),
    ],
)
def test_what_is_not_valid_is_missing(attributes: dict[str, Any], missing: tuple[int, int], tmp_path: Path) -> None:
    stored = np.random.default_rng(8).integers(-40, 40, (4, 5, 6)).astype("i2")
    with h5py.File(tmp_path / "run.nc", "w") as file:
        file["v"] = stored
        file["v"].attrs.update(attributes)
    array = zarr.create_array(str(tmp_path / "run.zarr"), shape=stored.shape, chunks=(2, 5, 6), dtype="i2", zarr_format=2)
    array[:] = stored
    array.attrs.update({name: value.tolist() for name, value in attributes.items() if isinstance(value, np.ndarray | np.generic)})
    array.attrs.update({name: value for name, value in attributes.items() if isinstance(value, float)})
    values = np.where((stored < missing[0]) | (stored > missing[1]), np.nan, stored * attributes.get("scale_factor", 1))
    for name in ("run.nc", "run.zarr"):
        [told] = json.loads(run("info", "--json", tmp_path / name).stdout)["fields"]
        assert (told["range"], told["missing"]) == ([np.nanmin(values), np.nanmax(values)], np.isnan(values).sum())


@pytest.mark.parametrize(("valid", "missing"), [((0, -6), 5), ((-32768, 32767), 0), ((100, -32768), 100 + 32767)])
def test_what_is_valid_of_integers_that_are_meant_unsigned_is_unsigned(valid: tuple[int, int], missing: int, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.nc", "w") as file:
        file["v"] = np.arange(65536).astype("u2").view("i2").reshape(16, 64, 64)
        file["v"].attrs.update({"_Unsigned": "true", "valid_range": np.array(valid, "i2")})
    [told] = json.loads(run("info", "--json", tmp_path / "run.nc").stdout)["fields"]
    assert told["missing"] == missing


def test_a_chunk_that_was_never_written_is_missing_whatever_the_sign(tmp_path: Path) -> None:
    values = np.arange(8 * 8 * 8, dtype=np.int16).reshape(8, 8, 8).astype(np.int8)
    with h5py.File(tmp_path / "bytes.h5", "w") as file:
        stored = file.create_dataset("b", shape=values.shape, dtype="i1", chunks=(4, 8, 8), fillvalue=-1)
        stored.attrs["_Unsigned"] = "true"
        stored.attrs["_FillValue"] = np.int8(-1)
        stored[:4] = values[:4]
    told = json.loads(run("info", tmp_path / "bytes.h5", "--json").stdout)["fields"][0]
    assert told["missing"] == 4 * 8 * 8 + np.count_nonzero(values[:4] == -1)
    assert told["range"] == [0, 254]


def test_a_chunk_that_was_never_written_is_missing_where_its_fill_is_told_in_double(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.nc", "w") as file:
        stored = file.create_dataset("v", shape=(8, 8, 8), dtype="f4", chunks=(4, 8, 8), fillvalue=1e20)
        stored.attrs["_FillValue"] = np.float64(1e20)
        stored[:4] = np.arange(256).reshape(4, 8, 8)
    [told] = json.loads(run("info", tmp_path / "run.nc", "--json").stdout)["fields"]
    assert (told["range"], told["missing"]) == ([0, 255], 256)


@pytest.mark.parametrize("version", [2, 3])
def test_what_unwritten_chunks_hold_is_missing_in_version_2_alone(version: Literal[2, 3], tmp_path: Path) -> None:
    values = np.arange(64, dtype="f4").reshape(4, 4, 4) % 5
    path = tmp_path / "v.zarr"
    zarr.create_array(str(path), shape=values.shape, chunks=(2, 4, 4), dtype="f4", fill_value=1, zarr_format=version)[:2] = values[:2]
    [field] = json.loads(run("info", "--json", path).stdout)["fields"]
    assert field["missing"] == (32 + (values[:2] == 1).sum() if version == 2 else 0)
    if version == 3:
        json_of = json.loads((path / "zarr.json").read_text())
        json_of["attributes"] = {"_FillValue": 1}
        (path / "zarr.json").write_text(json.dumps(json_of))
        [field] = json.loads(run("info", "--json", path).stdout)["fields"]
        assert field["missing"] == 32 + (values[:2] == 1).sum()
