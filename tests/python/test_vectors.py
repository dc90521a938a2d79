"""Which fields are taken for the components of a vector, and whose units are the same in other words, in files that xarray and h5py write."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray

from conftest import run


def told(source: object) -> dict[str, Any]:
    return json.loads(run("info", "--json", source).stdout)


def made(source: object) -> dict[str, list[str]]:
    return {vector["name"]: vector["components"] for vector in told(source)["magnitudes"]}


@pytest.mark.parametrize("units", [("m/s", "m s-1"), ("kg m-2 s-1", "kg/(m^2 s)"), ("K", "kelvin"), ("m s**-1", "metre per second")])
def test_components_may_have_their_unit_in_other_words(units: tuple[str, str], tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(3, 4, 5)).astype("f4")
    dims = ("lev", "lat", "lon")
    fields = {name: xarray.DataArray(values, dims=dims, attrs={"units": unit}) for name, unit in zip("uv", units, strict=True)}
    xarray.Dataset(fields).to_zarr(tmp_path / "run.zarr", zarr_format=2)
    assert made(tmp_path / "run.zarr") == {"|u, v|": ["u", "v"]}
    run("render", tmp_path / "run.zarr", "--field", "|u, v|", "--out", tmp_path / "out.png")


def test_units_that_only_look_alike_are_two(tmp_path: Path) -> None:
    fields = {name: xarray.DataArray(np.ones((3, 4, 5), "f4"), dims=("z", "y", "x"), attrs={"units": unit}) for name, unit in (("u", "m s-1"), ("v", "ms-1"))}
    xarray.Dataset(fields).to_zarr(tmp_path / "run.zarr", zarr_format=2)
    assert made(tmp_path / "run.zarr") == {}


def test_grids_whose_unit_is_told_in_other_words_are_one(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for name, unit in (("a", "mm"), ("b", "millimetres")):
            file[name] = np.ones((3, 4, 5), "f4")
            file[name].attrs.update({"spacing": [0.5, 0.5, 2.0], "spacing_unit": unit})
    seen = told(tmp_path / "run.h5")
    assert (len(seen["fields"]), seen["levels"][0]["unit"]) == (2, "mm")


@pytest.mark.parametrize("names,vectors", [
    # Athena++, PLUTO, and what is only a family.
    ("press vel1 vel2 vel3 Bcc1 Bcc2 Bcc3", {"|vel|": "vel1 vel2 vel3", "|Bcc|": "Bcc1 Bcc2 Bcc3"}),
    ("rho vx1 vx2 vx3 tr1 tr2 tr3", {"|vx|": "vx1 vx2 vx3"}),
    ("v1 v2 v3 v4 T1 T2 T3", {}),
    ("kx ky kz perm_x perm_y perm_z", {}),
])  # fmt: skip
def test_names_tell_vectors_from_families_and_coefficients(names: str, vectors: dict[str, str], tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for name in names.split():
            file[name] = np.ones((3, 4, 5), "f4")
    assert made(tmp_path / "run.h5") == {name: components.split() for name, components in vectors.items()}


def test_wave_numbers_are_a_vector(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for name in ("kx", "ky", "kz"):
            file[name] = np.full((3, 4, 5), 2, "f4")
            file[name].attrs["units"] = "m-1"
    assert made(tmp_path / "run.h5") == {"|k|": ["kx", "ky", "kz"]}
