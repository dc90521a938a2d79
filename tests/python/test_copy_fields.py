"""`visapult copy --field ... --box ...`: parts of fields, made by the share, held against NumPy, h5py and zarr-python reading source and copy."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import h5py
import nibabel
import numpy as np
import pytest
import zarr

from conftest import run
from shares import copy, opened, shared, sharing, start_copy  # noqa: F401 (a fixture)
from test_bad_input import assert_one_clear_line
from wan import eventually

TESTDATA = Path(__file__).parents[2] / "testdata"


def part(source: object, to: Path, *arguments: object) -> Any:
    """What has been copied."""
    done = copy(source, to, *arguments)
    assert done.code == 0, done.stderr
    assert "before compression" in done.stderr
    return opened(to)


def values(shape: tuple[int, ...], kind: str, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    if np.dtype(kind).kind == "f":
        return random.normal(0, 100, shape).astype(kind)
    limits = np.iinfo(kind)
    return random.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


def test_a_box_at_a_stride_of_some_steps_is_what_numpy_cuts_out(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((6, 70, 80, 150), "f4")
    with h5py.File(folder / "run.h5", "w") as file:
        density = file.create_dataset("fields/density", data=field, chunks=(1, 16, 32, 64), compression="gzip", shuffle=True)
        density.attrs.update(spacing=[0.5, 0.75, 2.0], origin=[10.0, 20.0, 30.0], spacing_unit="mm", units="kg/m3")
        density.attrs.update(times=np.arange(6) * 0.25, time_unit="s")
        file.create_dataset("other", data=np.zeros((3, 4, 5)))
    cut = ["--field", "/fields/density", "--box", "3:,10:75,:149", "--stride", "1,2,3", "--steps", "1::2"]
    group = part(f"{url}/run.h5", tmp_path / "small.zarr", *cut)
    copied = group["density"]
    np.testing.assert_array_equal(copied[:], field[1::2, 3:, 10:75:2, :149:3])
    assert copied.dtype == np.float32 and copied.metadata.dimension_names == ("time", "z", "y", "x")
    np.testing.assert_allclose(group["time"][:], [0.25, 0.75, 1.25])
    np.testing.assert_allclose(group["z"][:], 30 + 2.0 * np.arange(3, 70))
    np.testing.assert_allclose(group["y"][:], 20 + 0.75 * np.arange(10, 75, 2))
    np.testing.assert_allclose(group["x"][:], 10 + 0.5 * np.arange(0, 149, 3))
    assert (group["time"].attrs["units"], group["x"].attrs["units"], copied.attrs["units"]) == ("s", "mm", "kg/m3")
    told = group.attrs["visapult"]
    assert told["source"] == "run.h5" and told["box_zyx"] == [[3, 70], [10, 75], [0, 148]] and told["stride_zyx"] == [1, 2, 3]
    assert told["steps"] == [1, 3, 5] and told["error"] == "none"
    # The viewer's own reader takes it, too.
    info = run("info", tmp_path / "small.zarr")
    assert "50 x 33 x 67" in info.stdout.replace("×", "x"), info.stdout


def write_scales(path: Path, values: np.ndarray, scales: dict[str, tuple[list[float], dict[str, str]]]) -> None:
    """A field `v` with coordinates as netCDF-4 has them; an axis without values has a name alone."""
    with h5py.File(path, "w") as file:
        data = file.create_dataset("v", data=values)
        for place, (name, (along, attributes)) in enumerate(scales.items()):
            data.dims[place].label = name
            if along:
                file[name] = np.array(along, float)
                file[name].attrs.update(attributes)
                file[name].make_scale(name)
                data.dims[place].attach_scale(file[name])


@pytest.mark.parametrize("calendar", ["noleap", "360_day", "standard"])
def test_times_keep_their_calendar(calendar: str, tmp_path: Path) -> None:
    unit = {"units": "days since 1900-01-01", "calendar": calendar}
    field = values((4, 2, 3, 4), "f4")
    write_scales(tmp_path / "cal.nc", field, {"time": ([0, 59, 60, 365], unit), "z": ([], {}), "y": ([], {}), "x": ([], {})})
    first = part(tmp_path / "cal.nc", tmp_path / "one.zarr", "--steps", "1:")
    again = part(tmp_path / "one.zarr", tmp_path / "two.zarr", "--steps", "1:")
    for group, times in [(first, [59, 60, 365]), (again, [60, 365])]:
        np.testing.assert_array_equal(group["time"][:], times)
        assert dict(group["time"].attrs) == {"axis": "T", **unit}


def test_coordinates_are_those_of_the_source_cut_as_the_values_are(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((5, 4, 6), "f4")
    heights, north, east = [0.0, 1.0, 2.0, 4.0, 8.0], [30.0, 10.0, -10.0, -30.0], [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    lev = (heights, {"units": "m", "positive": "up"})
    degrees = {"lat": (north, {"units": "degrees_north"}), "lon": (east, {"units": "degrees_east"})}
    write_scales(folder / "run.nc", field, {"lev": lev, **degrees})
    turned = field[:, ::-1]
    for source, to, arguments, cut in [
        (f"{url}/run.nc", "whole.zarr", ["--stride", "1"], np.s_[:, :, :]),
        (f"{url}/run.nc", "cut.zarr", ["--box", "1:5,1:,:", "--stride", "2,2,3"], np.s_[1:5:2, 1::2, ::3]),
        (tmp_path / "whole.zarr", "again.zarr", ["--box", "4,:,2:"], np.s_[4:5, :, 2:]),
    ]:
        group = part(source, tmp_path / to, *arguments)
        np.testing.assert_array_equal(group["v"][:], turned[cut])
        for axis, along, place in [("z", heights, 0), ("y", north[::-1], 1), ("x", east, 2)]:
            np.testing.assert_array_equal(group[axis][:], np.array(along)[cut[place]], err_msg=f"{to} {axis}")
        assert [group[axis].attrs["units"] for axis in "zyx"] == ["m", "degrees_north", "degrees_east"]
        assert group["z"].attrs["positive"] == "up"


def test_means_lie_between_the_samples_of_the_source(tmp_path: Path) -> None:
    heights = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    write_scales(tmp_path / "run.nc", values((9, 4, 4), "f4"), {"z": (heights, {"units": "m"}), "y": ([], {}), "x": ([], {})})
    made = part(tmp_path / "run.nc", tmp_path / "half.zarr", "--level", "1", "--box", "1:,:,:")
    np.testing.assert_array_equal(made["z"][:], [3, 12, 48, 128])


def test_no_mean_lies_where_no_sample_is(tmp_path: Path) -> None:
    north = {"y": (list(np.linspace(-90, 90, 73)), {"units": "degrees_north"})}
    write_scales(tmp_path / "lat.nc", values((2, 73, 4), "f4"), {"z": ([], {}), **north, "x": ([], {})})
    made = part(tmp_path / "lat.nc", tmp_path / "half.zarr", "--level", "1")
    assert made["y"][0] == -88.75 and list(made["y"][-2:]) == [86.25, 90]


def test_coordinates_that_attributes_contradict_are_in_no_copy(tmp_path: Path) -> None:
    scales: dict[str, tuple[list[float], dict[str, str]]] = {"z": ([0.0, 1.0, 2.0], {}), "y": ([0.0, 1.0, 2.0, 3.0], {}), "x": ([0.0, 1.0, 2.0, 3.0, 4.0], {})}
    write_scales(tmp_path / "run.h5", values((3, 4, 5), "f4"), scales)
    with h5py.File(tmp_path / "run.h5", "a") as file:
        file["v"].attrs["element_size_um"] = [2.0, 0.5, 0.5]
    made = part(tmp_path / "run.h5", tmp_path / "h5.zarr", "--stride", "1")
    np.testing.assert_array_equal(made["x"][:], [0, 0.5, 1, 1.5, 2])
    assert made["x"].attrs["units"] == "um"
    group = zarr.open_group(str(tmp_path / "run.zarr"), mode="w")
    group.create_array("v", shape=(3, 4, 5), dtype="f4", dimension_names=list("zyx"), attributes={"spacing": [0.5, 0.5, 2], "spacing_unit": "mm"})[:] = 1
    for name, (along, _) in scales.items():
        group.create_array(name, shape=(len(along),), dtype="f8", dimension_names=[name])[:] = np.array(along)
    made = part(tmp_path / "run.zarr", tmp_path / "zarr.zarr", "--stride", "1")
    np.testing.assert_array_equal(made["z"][:], [0, 2, 4])
    assert made["z"].attrs["units"] == "mm"


def test_what_is_downwards_stays_so_and_is_the_same_grid_again(tmp_path: Path) -> None:
    depths = {"depth": ([0.0, 1.0, 2.0, 3.0], {"units": "m", "positive": "down"})}
    field = values((4, 3, 5), "f4")
    write_scales(tmp_path / "sea.nc", field, depths | {"y": ([0.0, 1.0, 2.0], {"units": "m"}), "x": ([0.0, 1.0, 2.0, 3.0, 4.0], {"units": "m"})})
    group = part(tmp_path / "sea.nc", tmp_path / "sea.zarr", "--stride", "1")
    np.testing.assert_array_equal(group["v"][:], field[::-1])
    np.testing.assert_array_equal(group["z"][:], [3, 2, 1, 0])
    assert dict(group["z"].attrs) == {"axis": "Z", "units": "m", "long_name": "depth", "positive": "down"}
    grids = [json.loads(run("info", "--json", tmp_path / name).stdout)["levels"] for name in ("sea.nc", "sea.zarr")]
    assert grids[0] == grids[1]


def test_an_axis_of_which_nothing_is_known_has_no_coordinates_and_that_is_said(tmp_path: Path) -> None:
    field = values((3, 4, 5), "f4")
    east = {"y": ([], {}), "x": ([0.0, 2.0, 4.0, 6.0, 8.0], {"units": "km"})}
    write_scales(tmp_path / "run.nc", field, {"z": ([], {}), **east})
    done = copy(tmp_path / "run.nc", tmp_path / "copy.zarr", "--stride", "2")
    assert (done.code, len(done.stderr.splitlines())) == (0, 1), done.stderr
    assert "; without coordinates along z, y, of which the source has none" in done.stderr
    group = opened(tmp_path / "copy.zarr")
    assert sorted(group) == ["v", "x"] and group["v"].metadata.dimension_names == ("z", "y", "x")
    np.testing.assert_array_equal(group["x"][:], [0, 4, 8])
    # A map has no z of which anything could be said.
    write_scales(tmp_path / "map.nc", field, {"time": ([0.0, 1.0, 2.0], {}), "y": ([0.0, 1.0, 2.0, 3.0], {"units": "km"}), "x": east["x"]})
    done = copy(tmp_path / "map.nc", tmp_path / "map.zarr", "--stride", "1")
    assert "without coordinates" not in done.stderr and sorted(opened(tmp_path / "map.zarr")) == ["time", "v", "x", "y"]


def test_an_array_of_a_group_is_copied_with_the_coordinates_of_that(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((3, 4, 5), "f4")
    group = zarr.open_group(str(folder / "grp.zarr"), mode="w")
    axes = {"z": [0.0, 1.0, 5.0], "y": [9.0, 6.0, 3.0, 0.0], "x": [0.0, 1.0, 2.0, 3.0, 4.0]}
    for name in ("p", "q"):
        group.create_array(name, shape=field.shape, dtype="f4", dimension_names=list(axes))[:] = field
    for name, along in axes.items():
        group.create_array(name, shape=(len(along),), dtype="f8", dimension_names=[name], attributes={"units": "m"})[:] = np.array(along)
    (folder / "link").symlink_to("grp.zarr/q")
    sources: list[tuple[object, list[object]]] = [(folder / "grp.zarr", ["--field", "q"]), (folder / "grp.zarr/q", []), (f"{url}/grp.zarr/q", []), (f"{url}/link", [])]
    for number, (source, arguments) in enumerate(sources):
        copied = part(source, tmp_path / f"{number}.zarr", "--box", ":,0:2,:", *arguments)
        [name] = [name for name in copied if name not in axes]
        np.testing.assert_array_equal(copied[name][:], field[:, ::-1][:, 0:2], err_msg=str(source))
        np.testing.assert_array_equal(copied["y"][:], [0, 3])
        np.testing.assert_array_equal(copied["z"][:], axes["z"])
    # A share of the array alone gives nothing beside it.
    with sharing(folder / "grp.zarr/q") as share:
        copied = part(share.url, tmp_path / "alone.zarr", "--box", ":,0:2,:")
        np.testing.assert_array_equal(copied["q"][:], field[:, 0:2])


def test_values_of_cells_stay_values_of_cells(tmp_path: Path) -> None:
    values((4, 6, 8), "f4").tofile(tmp_path / "cells.raw")
    sidecar = {"file": "cells.raw", "size": [8, 6, 4], "type": "f32", "centering": "cell", "spacing": [1, 2, 3], "origin": [0.5, 1, 1.5], "unit": "m"}
    (tmp_path / "cells.json").write_text(json.dumps(sidecar))
    assert part(tmp_path / "cells.json", tmp_path / "cells.zarr", "--stride", "1")["cells"].attrs["centering"] == "cell"
    grids = [json.loads(run("info", "--json", tmp_path / name).stdout)["levels"] for name in ("cells.json", "cells.zarr")]
    assert grids[0] == grids[1]
    boxes = [[line for line in run("info", tmp_path / name).stdout.splitlines() if "box" in line] for name in ("cells.json", "cells.zarr")]
    assert boxes[0] == boxes[1] and "8 x 12 x 12 m" in boxes[0][0]


@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "f2", "f4"])
def test_small_numbers_keep_their_type_and_all_their_bits(kind: str, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((40, 90, 65), kind)
    np.save(folder / "field.npy", field)
    copied = part(f"{url}/field.npy", tmp_path / "copy.zarr", "--box", ":,:,:")["field"]
    assert copied.dtype == np.dtype(kind) and copied.metadata.dimension_names == ("z", "y", "x")
    np.testing.assert_array_equal(copied[:], field)


@pytest.mark.parametrize("order", [h5py.h5t.ORDER_LE, h5py.h5t.ORDER_BE])
def test_short_floats_that_reach_further_than_half_ones_are_copied_whole(order: int, tmp_path: Path) -> None:
    field = np.linspace(-3e38, 3e38, 8 * 8 * 8, dtype=np.float32).reshape(8, 8, 8)
    brain = h5py.h5t.IEEE_F32LE.copy()
    brain.set_fields(15, 7, 8, 0, 7)
    brain.set_size(2)
    half = h5py.h5t.IEEE_F16LE.copy()
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for name, kind, stored in [("brain", brain, field), ("half", half, field / 1e34)]:
            kind.set_order(order)
            dataset = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple(field.shape))
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, stored)
    copied = part(tmp_path / "run.h5", tmp_path / "copy.zarr", "--box", ":,:,:")
    np.testing.assert_allclose(copied["brain"][:], field, rtol=2**-8)
    assert (copied["brain"].dtype, copied["half"].dtype) == (np.float32, np.float16)


def test_the_readers_of_the_viewer_are_those_of_the_share(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((20, 30, 40), "i2")
    nibabel.Nifti1Image(field.transpose(2, 1, 0), np.eye(4)).to_filename(folder / "scan.nii.gz")
    (folder / "bare.raw").write_bytes(field.astype(">i2").tobytes())
    (folder / "bare.json").write_text('{"file": "bare.raw", "size": [40, 30, 20], "type": "i16", "byte_order": "big"}')
    np.save(folder / "turned.npy", np.asfortranarray(field))
    stored = zarr.create_array(str(folder / "v2.zarr"), shape=field.shape, chunks=(8, 8, 8), dtype="i2", zarr_format=2)
    stored[:] = field
    root = zarr.open_group(str(folder / "group.zarr"), mode="w")
    for name, one in [("a", field), ("b", field[:, :, :20])]:
        root.create_array(name, shape=one.shape, chunks=(16, 16, 16), shards=(32, 32, 32), dtype="i2")[:] = one
    for source, arguments in [("scan.nii.gz", []), ("bare.json", []), ("turned.npy", []), ("v2.zarr", []), ("group.zarr", ["--field", "a"]), ("group.zarr/a", [])]:
        to = tmp_path / f"{source.replace('/', '_')}.zarr"
        group = part(f"{url}/{source}", to, "--stride", "2", *arguments)
        [name] = [name for name in group if name not in ("z", "y", "x")]
        np.testing.assert_array_equal(group[name][:], field[::2, ::2, ::2], err_msg=source)


def test_a_level_that_is_stored_is_read_and_one_that_is_not_is_made(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    subprocess.run(["cp", "-r", TESTDATA / "zarr/ome_0.5_zyx.zarr", folder / "image.zarr"], check=True)
    image = opened(folder / "image.zarr")
    datasets = image.attrs["ome"]["multiscales"][0]["datasets"]
    level = image[datasets[1]["path"]]
    group = part(f"{url}/image.zarr", tmp_path / "one.zarr", "--level", "1")
    [name] = [name for name in group if name not in ("z", "y", "x")]
    np.testing.assert_array_equal(group[name][:], level[:])
    field = values((37, 70, 41), "u2")
    np.save(folder / "field.npy", field)
    made = part(f"{url}/field.npy", tmp_path / "made.zarr", "--level", "1", "--box", "2:15,:,3:")
    whole = np.pad(field.astype("f8"), ((0, 1), (0, 0), (0, 1)), mode="edge")
    means = whole.reshape(19, 2, 35, 2, 21, 2).mean(axis=(1, 3, 5))
    np.testing.assert_allclose(made["field"][:], means[2:15, :, 3:], rtol=1e-6)
    np.testing.assert_allclose(made["x"][:], 0.5 + 2 * np.arange(3, 21))
    refused = copy(f"{url}/image.zarr", tmp_path / "no.zarr", "--level", "9")
    assert_one_clear_line(refused.stderr, "it has no level 9")


def test_what_a_level_alone_calls_missing_is_missing_in_its_copy(tmp_path: Path) -> None:
    field = values((8, 8, 8), "u2") // 2
    image = zarr.open_group(str(tmp_path / "image.zarr"), mode="w", zarr_format=2)
    image.create_array("0", shape=(16, 16, 16), chunks=(16, 16, 16), dtype="u2")
    image.create_array("1", shape=field.shape, chunks=(4, 8, 8), dtype="u2", fill_value=65535)[:4] = field[:4]
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    scales = [[{"type": "scale", "scale": [scale] * 3}] for scale in (1.0, 2.0)]
    datasets: list[Any] = [{"path": str(level), "coordinateTransformations": scale} for level, scale in enumerate(scales)]
    image.attrs["multiscales"] = [{"version": "0.4", "name": "v", "axes": axes, "datasets": datasets}]
    copied = part(tmp_path / "image.zarr", tmp_path / "copy.zarr", "--level", "1")["v"]
    np.testing.assert_array_equal(copied[:4], field[:4])
    assert np.isnan(copied[4:]).all()
    assert part(tmp_path / "image.zarr", tmp_path / "finest.zarr", "--box", ":,:,:")["v"].dtype == np.uint16


@pytest.mark.parametrize(("asked", "most", "relative"), [("0.1%", 1e-3, True), ("5%", 0.05, True), ("0.02", 0.02, False), ("3", 3.0, False)])
def test_values_are_as_near_as_promised_and_take_fewer_bytes(asked: str, most: float, relative: bool, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    x = np.linspace(0, 20, 64)
    field = (np.sin(x)[:, None, None] * np.cos(x)[None, :, None] * 100 + values((64, 64, 64), "f4") * 0.01).astype("f4")
    field[3, 4, 5] = np.nan
    field[6, 7, 8] = np.inf
    np.save(folder / "field.npy", field)
    exact = part(f"{url}/field.npy", tmp_path / "exact.zarr", "--stride", "1")["field"]
    rounded = part(f"{url}/field.npy", tmp_path / "rounded.zarr", "--error", asked)
    copied = rounded["field"][:].astype("f8")
    was = field.astype("f8")
    assert np.isnan(copied[3, 4, 5]) and np.isinf(copied[6, 7, 8])
    there = np.isfinite(was)
    bound = most * np.abs(was[there]) if relative else most
    assert np.all(np.abs(copied[there] - was[there]) <= bound)
    np.testing.assert_array_equal(exact[:], field)
    assert rounded["field"].nbytes_stored() * 1.5 < exact.nbytes_stored()
    assert rounded.attrs["visapult"]["error"].startswith("at most")


def test_a_part_goes_into_a_share_and_from_one_to_another_and_stays_on_this_machine(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((10, 20, 70), "f4")
    np.save(tmp_path / "field.npy", field)
    assert copy(tmp_path / "field.npy", f"{url}/in/pushed.zarr", "--stride", "3").code == 0
    assert copy(tmp_path / "field.npy", tmp_path / "here.zarr", "--stride", "3").code == 0
    np.save(folder / "field.npy", field)
    other = tmp_path / "other"
    with sharing(other, "--write", "--fetch", "127.0.0.1") as sink:
        assert copy(f"{url}/field.npy", f"{sink.url}/fetched.zarr", "--stride", "3").code == 0
    for group in [folder / "in/pushed.zarr", tmp_path / "here.zarr", other / "fetched.zarr"]:
        np.testing.assert_array_equal(opened(group)["field"][:], field[::3, ::3, ::3])


def test_what_is_there_is_not_sent_again_and_what_differs_is(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((64, 128, 128), "f4")
    np.save(folder / "field.npy", field)
    to = tmp_path / "copy.zarr"
    part(f"{url}/field.npy", to, "--error", "1%")
    again = copy(f"{url}/field.npy", to, "--error", "1%")
    assert again.code == 0 and "copied 0 files" in again.stdout, again.stdout
    # The same size and second, but not the same values.
    os_time = os.stat(folder / "field.npy")
    field[0, 0, 0] += 1000
    np.save(folder / "field.npy", field)
    os.utime(folder / "field.npy", ns=(os_time.st_atime_ns, os_time.st_mtime_ns))
    changed = copy(f"{url}/field.npy", to, "--error", "1%")
    # The chunk, and the group's document, which was away meanwhile.
    assert changed.code == 0 and "copied 2 files," in changed.stdout, changed.stdout
    # Another part in its place: what is not of it goes, if that is asked for.
    group = part(f"{url}/field.npy", to, "--stride", "2", "--delete")
    np.testing.assert_array_equal(group["field"][:], field[::2, ::2, ::2])
    assert sorted(path.name for path in (to / "field" / "c" / "0").iterdir()) == ["0"]


def test_a_copy_that_is_killed_goes_on(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = values((4, 64, 256, 256), "f4")
    np.save(folder / "field.npy", field)
    to = tmp_path / "copy.zarr"
    killed = start_copy(f"{url}/field.npy", to, "--stride", "1", "--rate", "100M")
    eventually("some of it", lambda: not killed.is_running() or len(list(to.glob("field/c/*/*/*/*"))) >= 8)
    assert killed.is_running()
    killed.stop()
    assert not (to / "zarr.json").exists()
    done = copy(f"{url}/field.npy", to, "--stride", "1")
    assert done.code == 0 and "there already" in done.stdout, done.stdout
    np.testing.assert_array_equal(opened(to)["field"][:], field)


def test_a_dry_run_tells_what_it_would_be_and_reads_nothing_of_it(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    # 64 TB, of which no byte is there.
    with h5py.File(folder / "huge.h5", "w") as file:
        file.create_dataset("density", shape=(1000, 2048, 2048, 4096), dtype="f4", chunks=(1, 64, 64, 64))
    told = copy(f"{url}/huge.h5", tmp_path / "no.zarr", "--box", "0:128,:,:", "--steps", "::500", "--dry-run")
    assert told.code == 0, told.stderr
    assert "128 x 2048 x 4096 samples (z, y, x) in 2 steps, 8.59 GB before compression" in told.stderr, told.stderr
    assert "would copy" in told.stdout and not (tmp_path / "no.zarr").exists()


def test_nothing_outside_the_share_is_read(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    secret = values((4, 4, 4), "f4")
    np.save(tmp_path / "secret.npy", secret)
    (tmp_path / "secret.raw").write_bytes(secret.tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["density"] = secret
    (folder / "link.npy").symlink_to(tmp_path / "secret.npy")
    sidecar = '{"file": "%s", "size": [4, 4, 4], "type": "f32"}'
    (folder / "up.json").write_text(sidecar % "../secret.raw")
    (folder / "away.json").write_text(sidecar % (tmp_path / "secret.raw"))
    (folder / "linked.raw").symlink_to(tmp_path / "secret.raw")
    (folder / "linked.json").write_text(sidecar % "linked.raw")
    with h5py.File(folder / "leads_out.h5", "w") as file:
        file["external"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "density")
        file["soft"] = h5py.SoftLink("/external")
        layout = h5py.VirtualLayout(shape=(4, 4, 4), dtype="f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "density", shape=(4, 4, 4))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("beside", shape=(4, 4, 4), dtype="f4", external=[(str(tmp_path / "secret.raw"), 0, 256)])
        file["group/inner"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/")
    with h5py.File(folder / "leads_out.h5") as file:
        assert all(np.array_equal(file[name][:], secret) for name in ("external", "soft", "virtual", "beside", "group/inner/density"))
    inside = zarr.create_array(str(folder / "chunk.zarr"), shape=(4, 4, 4), chunks=(4, 4, 4), dtype="f4", compressors=None, filters=None)
    inside[:] = 1
    chunk = folder / "chunk.zarr/c/0/0/0"
    chunk.unlink()
    chunk.symlink_to(tmp_path / "secret.raw")
    np.testing.assert_array_equal(zarr.open_array(str(folder / "chunk.zarr"), mode="r")[:], secret)
    asked: list[tuple[str, list[str]]] = [("link.npy", []), ("up.json", []), ("away.json", []), ("linked.json", []), ("leads_out.h5", []), ("../secret.npy", [])]
    asked += [("leads_out.h5", ["--field", name]) for name in ("external", "soft", "virtual", "beside", "group/inner/density", "group/inner")]
    asked += [("chunk.zarr", []), ("chunk.zarr", ["--field", "../../secret.npy"])]
    for number, (source, arguments) in enumerate(asked):
        to = tmp_path / f"{number}.zarr"
        done = copy(f"{url}/{source}", to, "--stride", "1", *arguments)
        assert done.code != 0, (source, arguments)
        assert not any(path.is_file() and path.parent.parent.parent.name == "c" for path in to.rglob("*")), source
        assert not (to / "zarr.json").exists(), source


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--box", "0:99,:,:"], "the box 0:99 is not in the 10 samples along z"),
        (["--steps", "3"], "it has steps 0 to 0"),
        (["--field", "nothing"], "there are field"),
        (["--level", "99"], "it has no level 99"),
        (["--stride", "0"], "a stride is 1 or more"),
        (["--box", "5:2,:,:"], "holds none"),
        (["--box", "1:2"], "for z, y and x"),
        (["--error", "-1"], "an error is a positive number"),
        (["--error", "60%"], "at most 50%"),
        (["--stride", "2", "--range", "0-5"], "cannot be used with"),
    ],
)
def test_what_is_not_there_is_told_in_a_line(arguments: list[str], expected: str, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    np.save(folder / "field.npy", values((10, 20, 30), "f4"))
    refused = copy(f"{url}/field.npy", tmp_path / "no.zarr", *arguments)
    assert refused.code != 0
    assert_one_clear_line(refused.stderr, expected)
    assert not (tmp_path / "no.zarr" / "zarr.json").exists()


def test_a_part_needs_a_group_and_one_source_of_a_kind_that_is_read(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    np.save(folder / "field.npy", values((4, 5, 6), "f4"))
    (folder / "notes.txt").write_text("no field")
    for arguments, expected in [
        ([f"{url}/field.npy", tmp_path / "no.npy"], "NAME.zarr"),
        ([f"{url}/field.npy", f"{url}/field.npy", tmp_path / "no.zarr"], "one source"),
        ([f"{url}/notes.txt", tmp_path / "no.zarr"], "no reader for notes.txt"),
        ([url, tmp_path / "no.zarr"], "no Zarr metadata"),
    ]:
        refused = copy(*arguments, "--stride", "2")
        assert refused.code != 0
        assert_one_clear_line(refused.stderr, expected)


def test_a_policy_holds_for_parts_as_for_files(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "open").mkdir(parents=True)
    (folder / "closed").mkdir()
    field = values((4, 5, 6), "f4")
    np.save(folder / "open/field.npy", field)
    np.save(folder / "closed/field.npy", field)
    (folder / "open/link.npy").symlink_to("../closed/field.npy")
    policy = tmp_path / "people.toml"
    policy.write_text('ask = "Ada"\n[[person]]\nname = "grace"\nread = ["open"]\n')
    with sharing(folder, "--policy", policy) as share:
        assert copy(f"{share.url}/open/field.npy", tmp_path / "yes.zarr", "--stride", "2").code == 0
        for path in ["closed/field.npy", "open/link.npy"]:
            refused = copy(f"{share.url}/{path}", tmp_path / "no.zarr", "--stride", "2")
            assert refused.code != 0
            assert_one_clear_line(refused.stderr)
            assert not (tmp_path / "no.zarr/zarr.json").exists()
