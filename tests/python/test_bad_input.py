"""Whatever is wrong with the input: one clear line, a non-zero exit, nothing written."""

import gzip
import json
import os
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from h5py import h5s

from conftest import run


def bad_npy_header(path: Path) -> None:
    np.save(path, np.zeros((4, 4, 4), np.float32))
    path.write_bytes(path.read_bytes().replace(b"(4, 4, 4)", b"(9e9,4,4)"))


def huge_npy(path: Path) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (900000, 900000, 900000), }"
    header += b" " * (128 - 10 - 1 - len(header)) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def truncated_npy(path: Path) -> None:
    np.save(path, np.zeros((16, 16, 16), np.float32))
    path.write_bytes(path.read_bytes()[:5000])


def sparse_npy(path: Path) -> None:
    """108 GB by its header and by its length, and next to nothing on the disk."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3000, 3000, 3000), }"
    header += b" " * (128 - 10 - 1 - len(header)) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with path.open("r+b") as file:
        file.truncate(128 + 4 * 3000**3)


def sparse_zarr(path: Path) -> None:
    """2 TB by its metadata, which is all there is of it."""
    path.mkdir()
    described = {"zarr_format": 2, "shape": [8000] * 3, "chunks": [64] * 3, "dtype": "<f4", "compressor": None}
    (path / ".zarray").write_text(json.dumps(described | {"fill_value": 0, "filters": None, "order": "C"}))


def sparse_h5(path: Path) -> None:
    """108 GB of chunks that were never written."""
    with h5py.File(path, "w") as file:
        file.create_dataset("density", (3000, 3000, 3000), np.float32, chunks=(64, 64, 64))


HUGE = {"huge.npy": sparse_npy, "huge.zarr": sparse_zarr, "huge.h5": sparse_h5}
# A regression must not take the whole machine.
LITTLE_MEMORY = 4 << 30

CASES = {
    "missing.npy": lambda path: None,
    "empty.npy": lambda path: path.write_bytes(b""),
    "rubbish.npy": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "header.npy": bad_npy_header,
    "huge.npy": huge_npy,
    "truncated.npy": truncated_npy,
    "flat.npy": lambda path: np.save(path, np.zeros(8, np.float32)),
    "complex.npy": lambda path: np.save(path, np.zeros((2, 2, 2), np.complex64)),
    "zero.npy": lambda path: np.save(path, np.zeros((0, 4, 4), np.float32)),
    "rubbish.nii": lambda path: path.write_bytes(b"\0" * 400),
    "short.nii": lambda path: path.write_bytes(b"\x5c\x01\0\0"),
    "rubbish.nii.gz": lambda path: path.write_bytes(b"not gzip"),
    "short.nii.gz": lambda path: path.write_bytes(gzip.compress(b"\x5c\x01\0\0")),
    "rubbish.h5": lambda path: path.write_bytes(b"not HDF5" * 100),
    "rubbish.json": lambda path: path.write_text("{"),
    "empty.zarr": lambda path: path.mkdir(),
    "unknown.xyz": lambda path: path.write_text("?"),
    "folder.npy": lambda path: path.mkdir(),
}


def assert_one_clear_line(stderr: str, *needles: str) -> None:
    lines = [line for line in stderr.splitlines() if line]
    assert len(lines) == 1, stderr
    assert lines[0].startswith("visapult: "), stderr
    assert "panicked" not in stderr
    for needle in needles:
        assert needle in stderr


@pytest.mark.parametrize("name", CASES)
def test_files_that_are_not_what_they_seem(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    CASES[name](path)
    for command in (["info", path], ["render", path, "--out", tmp_path / "out.png"], ["view", path, "--port", 0]):
        finished = run(*command, check=False)
        assert finished.returncode not in (0, 101)
        assert_one_clear_line(finished.stderr, name)
    assert not (tmp_path / "out.png").exists()


TRANSFER_FUNCTIONS = {
    "beyond any float": (b'{"range": [0, 1e400], "points": [[0, 0, 0, 0, 0]]}', "out of range"),
    "not JSON": (b"{", "neither"),
    "not text": (b"\xff\xfe{}", "UTF-8"),
}


@pytest.mark.parametrize("what", TRANSFER_FUNCTIONS)
def test_a_transfer_function_that_cannot_be_used_is_told_once(what: str, tmp_path: Path) -> None:
    text, needle = TRANSFER_FUNCTIONS[what]
    (tmp_path / "tf.json").write_bytes(text)
    np.save(tmp_path / "field.npy", np.zeros((8, 8, 8), np.float32))
    finished = run(
        "render", tmp_path / "field.npy", "--out", tmp_path / "out.png", "--tf", tmp_path / "tf.json", check=False
    )
    assert finished.returncode == 1
    assert_one_clear_line(finished.stderr, "tf.json", needle)
    assert finished.stderr.count(" line 1 ") <= 1


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (["render", "field.npy"], "--out <FILE>"),
        (["render", "field.npy", "--out", "x.png", "--size", "big"], "WIDTHxHEIGHT"),
        (["render", "field.npy", "--out", "x.png", "--proxy", "none"], "possible values: exact"),
        (["view", "field.npy", "--port", "99999"], "65535"),
        (["view", "field.npy", "--nothing"], "'--nothing'"),
        (["look"], "'look'"),
        (["perf", "send"], "<URL>"),
        (["perf", "serve", "--bind", "7510"], "127.0.0.1:7510"),
        (["share", ".", "--bind", "localhost:7510"], "ADDR:PORT"),
        (["perf", "serve", "--rate", "950"], "write 950M for megabits"),
        (["trace", "plot", "--nothing"], "'--nothing'"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(arguments: list[str], needle: str) -> None:
    finished = run(*arguments, check=False)
    assert finished.returncode == 2
    known = {"render": 1, "view": 1, "info": 1, "share": 1, "perf": 2, "trace": 2}
    help_of = " ".join([*arguments[: known.get(arguments[0], 0)], "--help"])
    assert_one_clear_line(finished.stderr, needle, f"(see visapult {help_of})")


@pytest.mark.parametrize("name", HUGE)
def test_a_step_that_does_not_fit_in_memory_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    HUGE[name](path)
    for command in (["render", path, "--out", tmp_path / "out.png"], ["view", path, "--port", 0], ["serve", path]):
        finished = run(*command, check=False, memory=LITTLE_MEMORY)
        assert finished.returncode == 1
        assert_one_clear_line(finished.stderr, name, " needs ", " free: ", "smaller dataset")
    assert not (tmp_path / "out.png").exists()


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_source_is_described_by_a_part_of_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    HUGE[name](path)
    told = json.loads(run("info", "--json", path, memory=LITTLE_MEMORY).stdout)
    [field] = told["fields"]
    assert field["range"] == [0, 0]
    assert 0 < field["share"] < 1e-2
    assert "looked at" in run("info", path, memory=LITTLE_MEMORY).stdout


def npz(path: Path, values: np.ndarray) -> None:
    np.savez(path, density=values)


def zarr_zip(path: Path, values: np.ndarray) -> None:
    with zarr.storage.ZipStore(path, mode="w") as store:
        zarr.create_array(store, shape=values.shape, chunks=(4, 4, 4), dtype="f4")[:] = values


@pytest.mark.parametrize(("name", "write"), [("run.npz", npz), ("run.zarr.zip", zarr_zip)])
def test_an_archive_is_answered_with_how_to_unpack_it(name: str, write: Callable[[Path, np.ndarray], None], tmp_path: Path) -> None:
    write(tmp_path / name, np.full((8, 8, 8), 7, np.float32))
    for command in (["serve", tmp_path / name], ["render", tmp_path / name, "--out", tmp_path / "out.png"]):
        finished = run(*command, check=False)
        assert finished.returncode == 1
        assert_one_clear_line(finished.stderr, name, f"unpack it (unzip {name}")
    folder = "".join(re.findall(r" -d (\S+)\)", finished.stderr))
    with zipfile.ZipFile(tmp_path / name) as archive:
        archive.extractall(tmp_path / folder)
    assert "7 to 7" in run("info", tmp_path / (folder or "density.npy")).stdout


def test_a_missing_dataset_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["density"] = np.zeros((4, 4, 4), np.float32)
    finished = run("info", f"{tmp_path / 'run.h5'}:/pressure", check=False)
    assert finished.returncode != 0
    assert_one_clear_line(finished.stderr, "pressure", "density")


def test_what_is_there_in_place_of_a_field_is_told(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["lat"] = np.arange(4.0)
        file["lat"].make_scale("lat")
        file["b"] = np.zeros((4, 4, 4), np.complex64)
        file["c"], file["d"], file["a/v"] = "text", np.zeros((4, 5)), np.zeros((2, 2, 3, 4, 5))
        for i in range(37):
            file[f"e{i:02}"] = np.zeros(7)
    finished = run("info", tmp_path / "run.h5", check=False)
    needles = ["a/v: its shape [2, 2, 3, 4, 5] has 5 axes;", "b: its values are complex numbers;", "d: its shape [4, 5] has 2 axes;"]
    assert_one_clear_line(finished.stderr, *needles, "c: its values are ", "and 37 more)", "name another file or group")
    assert "lat" not in finished.stderr
    group = zarr.create_group(str(tmp_path / "run.zarr"), zarr_format=3)
    group.create_group("a")
    group.create_array("b", shape=(4, 4, 4), dtype="c8")
    group.create_array("lat", shape=(4,), dtype="f4", dimension_names=["lat"])
    group.create_array("sst", shape=(4, 5), dtype="f4")
    finished = run("info", tmp_path / "run.zarr", check=False)
    needles = ["a: it is a group;", "b: its values (complex64) are not real numbers", "; sst: its shape [4, 5] has 2 axes)"]
    assert_one_clear_line(finished.stderr, *needles, "name a group or array inside")
    assert "lat" not in finished.stderr


@pytest.mark.parametrize("values", [np.nan, np.inf, 7.0])
def test_fields_without_contrast_render_and_say_so(values: float, tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.full((8, 8, 8), values, np.float32))
    run("render", tmp_path / "flat.npy", "--out", tmp_path / "flat.png")
    told = run("info", tmp_path / "flat.npy").stdout
    assert ("7 to 7" if values == 7.0 else "no finite value") in told


@pytest.mark.parametrize(
    ("options", "needle"),
    [
        (["--field", "nothing"], "nothing"),
        (["--time-step", "99"], "99"),
        (["--tf", "missing.json"], "missing.json"),
        (["--sample-step", "0"], "sample-step"),
        (["--distance", "-1"], "distance"),
        (["--pes", "4096"], "PEs"),
        (["--proxy", "bricks", "--bricks-level", "40"], "level"),
        (["--proxy", "auto", "--budget", "10"], "budget"),
        (["--slabs", "9"], "--slabs"),
        (["--proxy", "slabs", "--key-az", "nan"], "--key-az"),
        (["--proxy", "segments", "--key-el", "inf"], "--key-el"),
        (["--proxy", "exact", "--budget", "1MB"], "--budget"),
    ],
)
def test_options_that_do_not_fit(options: list[str], needle: str, tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", np.random.default_rng(1).random((8, 8, 8), np.float32))
    finished = run("render", tmp_path / "field.npy", "--out", tmp_path / "out.png", *options, check=False)
    assert finished.returncode not in (0, 101)
    assert_one_clear_line(finished.stderr, needle)


@pytest.mark.parametrize("proxy", ["exact", "slabs", "scalar-slabs", "segments", "auto"])
@pytest.mark.parametrize("camera", [["--at", "1e17,1e17,1e17"], ["--distance", "1e-200"]])
def test_a_camera_whose_distance_is_rounded_away_ends(camera: list[str], proxy: str, tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", np.random.default_rng(1).random((20, 20, 20), np.float32))
    run("render", tmp_path / "field.npy", "--out", tmp_path / "out.png", "--proxy", proxy, *camera, "--size", "40x30")


def test_of_a_long_grid_bricks_are_made_of_levels_that_they_can_tell_the_places_of(tmp_path: Path) -> None:
    np.save(tmp_path / "long.npy", np.linspace(0, 1, 4 * 4 * 70_000, dtype=np.float32).reshape(4, 4, 70_000))
    render = ["render", tmp_path / "long.npy", "--out", tmp_path / "out.png", "--size", "40x30", "--proxy"]
    for memory in ([], ["--memory", "4MiB"]):
        finished = run(*render, "bricks", *memory, check=False)
        assert finished.returncode == 1
        assert_one_clear_line(finished.stderr, "70000 samples along an axis", "--bricks-level 1")
        run(*render, "bricks", "--bricks-level", "1", *memory)
    run(*render, "auto")


def test_an_unknown_demo_option_is_answered_with_those_there_are() -> None:
    finished = run("info", "demo:wave?m=3", check=False)
    assert finished.returncode != 0
    assert_one_clear_line(finished.stderr, "m", "rate")


def test_a_picture_that_cannot_be_written_is_an_error(volume: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", volume)
    sparse_npy(tmp_path / "large.npy")
    # That is told before a source is read, even one that could not be.
    for source in ("field.npy", "large.npy"):
        finished = run("render", tmp_path / source, "--out", tmp_path / "no" / "folder.png", check=False)
        assert finished.returncode != 0
        assert_one_clear_line(finished.stderr, "folder.png")
    (tmp_path / "old.png").write_bytes(b"old")
    assert run("render", tmp_path / "large.npy", "--out", tmp_path / "old.png", "--pes", 1, check=False, memory=1 << 30).returncode != 0
    assert (tmp_path / "old.png").read_bytes() == b"old"


def test_an_image_takes_the_place_of_no_other_file(tmp_path: Path) -> None:
    source, out, report = tmp_path / "field.npy", tmp_path / "out.png", tmp_path / "report.json"
    np.save(source, np.ones((4, 4, 4), np.float32))
    values = source.read_bytes()
    sidecar = tmp_path / "raw.json"
    (tmp_path / "raw").write_bytes(bytes(4 * 64))
    sidecar.write_text(json.dumps({"file": "raw", "size": [4, 4, 4], "type": "f32"}))
    for options in (["--out", source], ["--out", out, "--json", source]):
        finished = run("render", source, *options, check=False)
        assert finished.returncode != 0 and "field.npy is what is read" in finished.stderr
    assert "raw.json is what is read" in run("render", sidecar, "--out", out, "--json", sidecar, check=False).stderr
    assert "raw is there, and is no PNG image" in run("render", source, "--out", tmp_path / "raw", check=False).stderr
    assert "the image and the report" in run("render", source, "--out", out, "--json", out, check=False).stderr
    assert source.read_bytes() == values and "raw" in sidecar.read_text() and not out.exists()
    for _ in range(2):
        run("render", source, "--out", out, "--json", report, "--size", "8x8")
    names = {"field.npy", "raw", "raw.json", "out.png", "report.json"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_names_need_not_be_utf_8(tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", np.ones((4, 4, 4), np.float32))
    out = tmp_path / os.fsdecode(b"\xff.png")
    run("render", tmp_path / "field.npy", "--out", out, "--size", "8x8")
    assert out.exists()
    finished = run(out, check=False)
    assert finished.returncode == 2
    assert_one_clear_line(finished.stderr, "unrecognized subcommand")


def test_memory_is_for_files() -> None:
    finished = run("render", "ripp://token@127.0.0.1:9/run#x", "--out", "x.png", "--memory", "1GB", check=False)
    assert_one_clear_line(finished.stderr, "--memory is for files", "leave it out")



@pytest.mark.parametrize("scale", [1e-30, 1e-36, 1e-43, 3e38])
@pytest.mark.parametrize("proxy", ["exact", "bricks", "slabs", "scalar-slabs", "segments"])
def test_values_of_any_size_are_rendered(volume: np.ndarray, scale: float, proxy: str, tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", (volume / volume.max() * scale).astype(np.float32))
    run("render", tmp_path / "field.npy", "--out", tmp_path / "out.png", "--size", "64x48", "--proxy", proxy)


def test_a_name_that_says_another_format_is_refused_and_a_picture_of_nothing_is_told(tmp_path: Path) -> None:
    source = tmp_path / "missing.npy"
    np.save(source, np.full((8, 8, 8), np.nan, np.float32))
    refused = run("render", source, "--out", tmp_path / "a.jpg", check=False)
    assert refused.returncode != 0 and ".png" in refused.stderr
    assert not (tmp_path / "a.jpg").exists()
    drawn = run("render", source, "--out", tmp_path / "a.png", "--size", "16x16")
    assert_one_clear_line(drawn.stderr, "the picture is empty: missing has no finite value at this step", "visapult info")
    np.save(tmp_path / "zeros.npy", np.zeros((8, 8, 8), np.float32))
    logarithm = run("render", tmp_path / "zeros.npy", "--field", "log10(zeros)", "--out", tmp_path / "a.png", "--size", "16x16")
    assert_one_clear_line(logarithm.stderr, "the picture is empty: log10(zeros) has no finite value at this step")


def test_a_picture_that_misses_what_is_to_be_seen_does_not_deny_it(tmp_path: Path) -> None:
    source, shell = tmp_path / "ramp.npy", tmp_path / "shell.json"
    np.save(source, np.broadcast_to(np.linspace(0, 100, 65, dtype=np.float32)[:, None, None], (65, 65, 65)))

    def told(range_shown: list[float], *options: str) -> str:
        points = [[0, 1, 1, 1, 0], [0.25, 1, 1, 1, 0.5], [0.75, 1, 1, 1, 0.5], [1, 1, 1, 1, 0]]
        shell.write_text(json.dumps({"range": range_shown, "points": points}))
        return run("render", source, "--out", tmp_path / "a.png", "--size", "64x64", "--tf", shell, "--az", "0", "--el", "0", "--fov", "1", *options).stderr

    narrow = [50.2, 50.4]
    missed = "although the transfer function shows some of what ramp ranges over (0 to 100)"
    assert_one_clear_line(told(narrow), missed, "the samples along the rays may have missed it", "a smaller --sample-step, a larger --size, or another view")
    assert told(narrow, "--sample-step", "0.05") == ""
    denied = "from there the transfer function shows no value of ramp"
    assert_one_clear_line(told([200.0, 300.0]), denied)
    assert_one_clear_line(told(narrow, "--at", "3,0,0"), denied)
    from_the_centre = np.linalg.norm(np.mgrid[-1:1:33j, -1:1:33j, -1:1:33j], axis=0)
    np.save(tmp_path / "blob.npy", np.exp(-20 * from_the_centre**2).astype(np.float32))
    lost = run("render", tmp_path / "blob.npy", "--out", tmp_path / "a.png", "--size", "64x64", "--proxy", "segments", "--segments", "1")
    assert_one_clear_line(lost.stderr, "some of what blob ranges over (8.756511e-27 to 1)", "the segments may have missed it", "more --segments")


@pytest.mark.parametrize("command", [["info"], ["view", "--no-open"], ["render", "--out", "a.png"], ["serve"]])
def test_a_source_without_a_name_is_refused_as_that(command: list[str]) -> None:
    refused = run(*command, "", check=False)
    assert refused.returncode == 2
    assert "the name is empty" in refused.stderr


def test_a_back_end_that_is_to_dial_nobody_is_refused_at_once() -> None:
    for nothing in ("", " "):
        began = time.monotonic()
        refused = run("backend", nothing, "--port", "0", "--no-open", "--for", "2s", check=False)
        assert refused.returncode != 0 and time.monotonic() - began < 2
        assert_one_clear_line(refused.stderr, "the URL of what to receive is empty", "leave it out")


def test_values_beyond_single_precision_and_too_few_that_it_tells_apart_are_told(tmp_path: Path) -> None:
    source = tmp_path / "values.npy"
    np.save(source, np.full((4, 4, 4), 1e300))
    assert "64 values infinite in single precision" in run("info", source).stdout
    values = np.linspace(101325, 101325.046875, 64).reshape(4, 4, 4)
    np.save(source, values)
    # Neighbours in single precision are 1/128 apart there.
    assert len(np.unique(values.astype(np.float32))) == 7
    assert "tells 7 apart" in run("info", source).stdout
    drawing = ["render", source, "--out", tmp_path / "a.png", "--size", "16x16"]
    drawn = run(*drawing)
    assert "may be wrong" in drawn.stderr and "single precision tells 7 apart: subtract" in drawn.stderr
    np.save(source, 1e6 + 1e-6 * np.linspace(-1, 1, 64).reshape(4, 4, 4))
    for options in ([], ["--memory", "1000"]):
        assert "all the same in single precision: subtract" in run(*drawing, *options).stderr
    np.save(source, np.linspace(0, 1, 64).reshape(4, 4, 4))
    assert "may be wrong" not in run(*drawing).stderr


def test_values_too_small_for_pictures_are_told_from_none_and_said_to_be(tmp_path: Path) -> None:
    source, stored = tmp_path / "values.npy", tmp_path / "values.h5"
    values = np.zeros((4, 4, 4))
    values[1:3, 1:3, 1:3] = 1e-60
    np.save(source, values)
    with h5py.File(stored, "w") as file:
        file.create_dataset("density", data=np.where(values > 0, 4, 0).astype("i2"), chunks=(2, 2, 2), compression="gzip")
        file["density"].attrs["scale_factor"] = 1e-40
    for path, largest in ((source, "1e-45"), (stored, "4e-40")):
        told = run("info", path).stdout
        assert f"0 to {largest}, too small for pictures to hold: multiply them" in told, told
        drawn = run("render", path, "--out", tmp_path / "a.png", "--size", "16x16")
        assert "too small for pictures to hold" in drawn.stderr
    np.save(source, np.where(values > 0, 1e-34, 0))
    assert "too small" not in run("info", source).stdout
    np.save(source, np.zeros((4, 4, 4)))
    assert "0 to 0\n" in run("info", source).stdout


def test_values_too_large_for_pictures_are_said_to_be(tmp_path: Path) -> None:
    source = tmp_path / "values.npy"
    values = np.zeros((4, 4, 4))
    values[1:3, 1:3, 1:3] = -2e37
    np.save(source, values)
    assert "-2e37 to 0, too large for pictures to hold: divide them" in run("info", source).stdout
    drawn = run("render", source, "--out", tmp_path / "a.png", "--size", "16x16")
    assert "too large for pictures to hold" in drawn.stderr
    np.save(source, values / 4)
    assert "for pictures to hold" not in run("info", source).stdout


def virtual(path: Path, source: str, inside: str = "/v") -> None:
    layout = h5py.VirtualLayout((2, 2, 2), dtype="f4")
    layout[0] = h5py.VirtualSource(source, inside, (2, 2, 2))[0]
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("v", layout)


@pytest.mark.parametrize("source", ["one.h5", "other.h5"])
def test_a_virtual_dataset_of_itself_is_refused(source: str, tmp_path: Path) -> None:
    virtual(tmp_path / "one.h5", source)
    virtual(tmp_path / "other.h5", "one.h5")
    for words in (["info"], ["render", "--out", tmp_path / "out.png"], ["view", "--no-open", "--port", "0", "--for", "1s"]):
        refused = run(words[0], tmp_path / "one.h5", *words[1:], check=False)
        assert refused.returncode == 1
        assert "put together of itself" in refused.stderr and refused.stderr.count("\n") == 1


def test_a_virtual_dataset_of_itself_among_blocks_is_refused(tmp_path: Path) -> None:
    space, onwards = h5s.create_simple((2, 2, 2), (h5s.UNLIMITED, 2, 2)), (h5s.UNLIMITED, 1, 1)
    space.select_hyperslab((0, 0, 0), onwards, (2, 1, 1), (2, 2, 2))
    created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    created.set_virtual(space, b"%b.h5", b"/v", h5s.create_simple((2, 2, 2)))
    with h5py.File(tmp_path / "blocks.h5", "w") as file:
        h5py.h5d.create(file.id, b"v", h5py.h5t.IEEE_F32LE, h5s.create_simple((0, 2, 2), (h5s.UNLIMITED, 2, 2)), created)
    with h5py.File(tmp_path / "0.h5", "w") as file:
        file["v"] = np.ones((2, 2, 2), np.float32)
    assert "2 x 2 x 2" in run("info", tmp_path / "blocks.h5").stdout
    virtual(tmp_path / "1.h5", "blocks.h5")
    assert "put together of itself" in run("info", tmp_path / "blocks.h5", check=False).stderr


def test_values_elsewhere_are_told_and_not_published(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "parts").mkdir(parents=True)
    secret, part = tmp_path / "secret.raw", folder / "parts/part.raw"
    for raw in (secret, part):
        raw.write_bytes(bytes(range(16)))
    for number, raw in enumerate((secret, part)):
        path = folder / f"{number}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("u", shape=(2, 2, 4), dtype="u1", external=[(str(raw), 0, 16)])
        is_outside = raw == secret
        assert (f"values are in {raw}, outside its folder" in run("info", path).stdout) == is_outside
        served = run("serve", path, "--bind", "127.0.0.1:0", "--for", "1s", check=False)
        assert served.returncode == is_outside
        assert (f"values of it are in {raw}, outside its folder" in served.stderr) == is_outside


def test_links_that_lead_out_of_a_zarr_store_are_not_published(tmp_path: Path) -> None:
    store = tmp_path / "folder" / "run.zarr"
    array = zarr.create_array(store, shape=(2, 2, 4), dtype="u1", compressors=None)
    array[:] = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
    chunk, secret = store / "c/0/0/0", tmp_path / "secret"
    for target, is_outside in ((tmp_path / "folder" / "beside", False), (secret, True)):
        target.write_bytes(bytes(range(16)))
        chunk.unlink()
        chunk.symlink_to(target)
        served = run("serve", store, "--bind", "127.0.0.1:0", "--for", "1s", check=False)
        assert served.returncode == is_outside
        assert (f"values of it are in {target}, outside its folder" in served.stderr) == is_outside
