"""One volume in four formats, each written by the format's own tool, gives one image; and values are read however they are stored."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import h5py
import nibabel
import numpy as np
import pytest
import zarr

from conftest import run
from images import read_png


@pytest.fixture(scope="session")
def sources(volume: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("sources")
    return {
        "npy": write_npy(folder, volume),
        "nifti": write_nifti(folder, volume, "volume.nii"),
        "nifti_gz": write_nifti(folder, volume, "volume.nii.gz"),
        "hdf5": write_hdf5(folder, volume),
        "zarr2": write_zarr(folder, volume, 2),
        "zarr3": write_zarr(folder, volume, 3),
        "ome_zarr": write_ome_zarr(folder, volume),
    }


def write_npy(folder: Path, volume: np.ndarray) -> str:
    np.save(folder / "volume.npy", volume)
    return str(folder / "volume.npy")


def write_nifti(folder: Path, volume: np.ndarray, name: str) -> str:
    nibabel.Nifti1Image(volume.transpose(2, 1, 0), np.eye(4)).to_filename(folder / name)
    return str(folder / name)


def write_hdf5(folder: Path, volume: np.ndarray) -> str:
    with h5py.File(folder / "volume.h5", "w") as file:
        file.create_dataset("density", data=volume, chunks=(16, 16, 16), compression="gzip", shuffle=True)
    return f"{folder / 'volume.h5'}:/density"


def write_zarr(folder: Path, volume: np.ndarray, version: Literal[2, 3]) -> str:
    path = folder / f"volume{version}.zarr"
    array = zarr.create_array(str(path), shape=volume.shape, chunks=(16, 16, 16), dtype="f4", zarr_format=version)
    array[:] = volume
    return str(path)


def write_ome_zarr(folder: Path, volume: np.ndarray) -> str:
    """Version 0.5: the volume, and beside it a level of half as many samples that is not to be taken for it."""
    path = folder / "volume.ome.zarr"
    group = zarr.create_group(str(path), zarr_format=3)
    datasets: list[Any] = []
    for level, stride in enumerate([1, 2]):
        values = volume[::stride, ::stride, ::stride]
        group.create_array(str(level), shape=values.shape, chunks=(16, 16, 16), dtype="f4")[:] = values
        scale = [{"type": "scale", "scale": [float(stride)] * 3}]
        datasets.append({"path": str(level), "coordinateTransformations": scale})
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "volume", "axes": axes, "datasets": datasets}]}
    return str(path)


@pytest.fixture(scope="session")
def reference_image(sources: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    out = tmp_path_factory.mktemp("reference") / "npy.png"
    run("render", sources["npy"], "--out", out, "--size", "200x160")
    return read_png(out)


@pytest.mark.parametrize("format_name", ["nifti", "nifti_gz", "hdf5", "zarr2", "zarr3", "ome_zarr"])
def test_every_format_gives_the_image_of_npy(
    format_name: str, sources: dict[str, str], reference_image: np.ndarray, tmp_path: Path
) -> None:
    assert reference_image.max() > 100, "the picture must show something"
    run("render", sources[format_name], "--out", tmp_path / "image.png", "--size", "200x160")
    np.testing.assert_array_equal(read_png(tmp_path / "image.png"), reference_image)


@pytest.mark.parametrize("format_name", ["npy", "nifti", "hdf5", "zarr2", "zarr3", "ome_zarr"])
def test_info_tells_size_and_range(format_name: str, sources: dict[str, str], volume: np.ndarray) -> None:
    told = run("info", sources[format_name]).stdout
    assert "48 x 40 x 56" in told
    assert f"{volume.max():.4f}"[:5] in told


def test_info_looks_at_all_steps_or_says_at_which(tmp_path: Path) -> None:
    series = np.zeros((3, 4, 5, 6), np.float32)
    series[1, 2, 3, 4], series[2, 0, 0, 0] = 7.5, np.nan
    np.save(tmp_path / "series.npy", series)
    [field] = json.loads(run("info", "--json", tmp_path / "series.npy").stdout)["fields"]
    assert (field["range"], field["missing"], field["steps"]) == ([0, 7.5], 1, [0, 2])
    assert "looked at" not in run("info", tmp_path / "series.npy").stdout

    # Nothing but a header takes room.
    large = np.lib.format.open_memmap(tmp_path / "large.npy", mode="w+", dtype="u1", shape=(3, 512, 512, 512))
    large[2, 0, 0, 0] = 9
    del large
    [field] = json.loads(run("info", "--json", tmp_path / "large.npy").stdout)["fields"]
    assert (field["range"], field["steps"]) == ([0, 0], [0, 0])
    assert "0 to 0 (looked at: step 0)" in run("info", tmp_path / "large.npy").stdout


def test_info_counts_the_values_of_a_field_without_steps_once(tmp_path: Path) -> None:
    moving, resting = np.ones((3, 4, 5, 6), np.float32), np.ones((4, 5, 6), np.float32)
    moving[:, 0, 0, 0], resting[0, 0, :2] = np.nan, np.nan
    group = zarr.create_group(str(tmp_path / "run.zarr"), zarr_format=3)
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for name, values in (("moving", moving), ("resting", resting)):
            file[name] = values
            group.create_array(name, shape=values.shape, chunks=values.shape, dtype="f4")[:] = values
    for name in ("run.h5", "run.zarr", "run.h5?level=0"):
        told = json.loads(run("info", "--json", tmp_path / name).stdout)
        seen = {field["name"]: (field["missing"], field["steps"], field["share"]) for field in told["fields"]}
        assert seen == {"moving": (3, [0, 2], 1), "resting": (2, [0, 2], 1)}, name
        assert "looked at" not in run("info", tmp_path / name).stdout


def test_chunks_of_several_steps_give_each_step_its_own_values(tmp_path: Path) -> None:
    series = np.random.default_rng(3).normal(0, 1, (50, 6, 20, 30)).astype("f4")
    series[7, 1, 2, 3], series[31, 5, 19, 29], series[49, 0, 0, 0] = np.nan, 90, -80
    chunks = (20, 4, 8, 16)
    with h5py.File(tmp_path / "run.h5", "w") as file:
        packed = file.create_dataset("packed", data=series, chunks=chunks, compression="gzip", shuffle=True)
        checked = file.create_dataset("checked", data=series, chunks=chunks, fletcher32=True)
        turned = np.moveaxis(series, 0, 3)
        last = file.create_dataset("last", data=turned, chunks=(*chunks[1:], 20), compression="gzip")
        for data, names in ((packed, "tzyx"), (checked, "tzyx"), (last, "zyxt")):
            for axis, name in enumerate(names):
                data.dims[axis].label = name
    zarr.create_array(str(tmp_path / "first.zarr"), data=series, chunks=chunks)
    zarr.create_array(str(tmp_path / "sharded.zarr"), data=series, chunks=chunks, shards=(40, 8, 24, 32))
    zarr.create_array(str(tmp_path / "last.zarr"), data=turned, chunks=(*chunks[1:], 20), dimension_names=list("zyxt"))
    channels = np.stack([series, -series], 1)
    with_channels = ["t", "c", "z", "y", "x"]
    zarr.create_array(str(tmp_path / "channels.zarr"), data=channels, chunks=(20, 2, 4, 8, 16), dimension_names=with_channels)
    cut = ["--box", ":,3:17,5:", "--steps", "3:", "--stride", "1,2,3"]
    for number, name in enumerate(
        ("run.h5:/packed", "run.h5:/checked", "run.h5:/last", "first.zarr", "sharded.zarr", "last.zarr", "channels.zarr")
    ):
        fields = json.loads(run("info", "--json", tmp_path / name).stdout)["fields"]
        seen = [(field["range"], field["missing"], field["steps"], field["share"]) for field in fields]
        assert seen == [([-80, 90], 1, [0, 49], 1), ([-90, 80], 1, [0, 49], 1)][: len(fields)], name
        file, _, inside = name.partition(":/")
        field = ["--field", f"/{inside}"] if inside else []
        run("copy", tmp_path / file, tmp_path / f"{number}.zarr", *field, *cut)
        copied = [array[:] for name, array in sorted(zarr.open_group(tmp_path / f"{number}.zarr", mode="r").arrays()) if array.ndim == 4]
        for values, sign in zip(copied, (1, -1), strict=False):
            np.testing.assert_array_equal(values, sign * series[3:, :, 3:17:2, 5::3], err_msg=name)
        assert len(copied) == len(fields), name


def test_an_hdf5_file_is_read_while_it_is_written_for_readers(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    values = np.random.default_rng(3).random((4, 5, 6)).astype(np.float32)
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("data", data=values[None], maxshape=(None, 4, 5, 6), chunks=(1, 4, 5, 6))
        file.flush()
        refused = run("info", path, check=False).stderr
        assert "a program has it open for writing: close it there" in refused and "copy it again" not in refused
        file.swmr_mode = True
        assert json.loads(run("info", "--json", path).stdout)["steps"] == [0, 0]
        data.resize(3, axis=0)
        data[1:] = values + 1
        data.flush()
        told = json.loads(run("info", "--json", path).stdout)
        assert told["steps"] == [0, 2]
        np.save(tmp_path / "last.npy", values + 1)
        for source, step in ((path, 2), (tmp_path / "last.npy", 0)):
            run("render", source, "--time-step", step, "--out", f"{tmp_path / Path(source).stem}.png", "--size", "64x48")
    assert np.array_equal(read_png(tmp_path / "run.png"), read_png(tmp_path / "last.png"))


def test_an_hdf5_file_whose_writer_was_killed_is_told(tmp_path: Path) -> None:
    program = "import h5py, os, sys; file = h5py.File(sys.argv[1], 'w', libver='latest'); file['a'] = [[[0.0]]]; file.flush(); os._exit(0)"
    subprocess.run([sys.executable, "-c", program, tmp_path / "run.h5"], check=True)
    assert "h5clear -s" in run("info", tmp_path / "run.h5", check=False).stderr


def test_hdf5_tells_all_ways_in_which_its_datasets_are_stored(tmp_path: Path) -> None:
    values = np.zeros((8, 8, 8), np.float32)
    with h5py.File(tmp_path / "mixed.h5", "w") as file:
        file["a"] = values
        file.create_dataset("b", data=values, chunks=(4, 4, 4))
        file.create_dataset("c", data=values, chunks=(2, 2, 2))
    assert "mixed.h5: HDF5, contiguous and chunked\n" in run("info", tmp_path / "mixed.h5").stdout


def test_fields_of_which_one_says_that_they_are_of_cells(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "cells.h5", "w") as file:
        for name in "ab":
            file.create_dataset(name, data=np.ones((2, 3, 4), "f4")).attrs["spacing"] = [1.0, 2.0, 3.0]
        file["b"].attrs["centering"] = "cell"
    [level] = json.loads(run("info", "--json", tmp_path / "cells.h5").stdout)["levels"]
    assert level["centering"] == "cell"


def test_filters_that_only_round_are_read_and_others_are_named(tmp_path: Path) -> None:
    values = np.random.default_rng(6).random((4, 4, 4)).astype("f4")
    for name, filters in (
        ("round", [{"id": "bitround", "keepbits": 8}]),
        ("quantize", [{"id": "quantize", "digits": 2, "dtype": "<f4", "astype": "<f4"}]),
        ("delta", [{"id": "delta", "dtype": "<f4", "astype": "<f4"}]),
    ):
        path = tmp_path / f"{name}.zarr"
        path.mkdir()
        described = {"zarr_format": 2, "shape": [4, 4, 4], "chunks": [4, 4, 4], "dtype": "<f4", "compressor": None, "fill_value": 0, "order": "C"}
        (path / ".zarray").write_text(json.dumps(described | {"filters": filters}))
        (path / "0.0.0").write_bytes(values.tobytes())
    for name in ("round", "quantize"):
        [field] = json.loads(run("info", "--json", tmp_path / f"{name}.zarr").stdout)["fields"]
        assert field["range"] == pytest.approx([values.min(), values.max()])
    refused = run("info", tmp_path / "delta.zarr", check=False).stderr
    assert "delta" in refused and "write it with zstd, gzip or blosc" in refused
    with h5py.File(tmp_path / "lzf.h5", "w") as file:
        file.create_dataset("v", data=values, compression="lzf")
    refused = run("info", tmp_path / "lzf.h5", check=False).stderr
    assert "LZF" in refused and "h5repack -f GZIP=4" in refused
