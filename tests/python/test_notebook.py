"""Fields in a notebook: the page that `visapult.view` begins, its frame, and how both end."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pytest
import xarray
from websockets.exceptions import InvalidStatus
from xarray.namedarray import parallelcompat
from xarray.namedarray.parallelcompat import ChunkManagerEntrypoint

from conftest import VISAPULT
from page import Page

visapult = pytest.importorskip("visapult", reason="the package is not installed: make python-package")

SOON_S = 30.0


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISAPULT", str(VISAPULT))


@pytest.fixture
def array() -> np.ndarray:
    return np.arange(6 * 8 * 10, dtype="f8").reshape(6, 8, 10)


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=10) as page:
            return page.status == 200
    except (URLError, ConnectionError):
        return False


def ended(url: str) -> bool:
    deadline = time.monotonic() + SOON_S
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not answers(url)


def shown(url: str) -> dict:
    """What a page that is opened is told of the field that it shows."""
    page = Page(url)
    page.until(lambda: page.fields, "a field")
    return page.fields[0]


def test_an_array_is_shown_in_a_frame_until_it_is_closed(array: np.ndarray) -> None:
    with visapult.view(array, name="density", spacing=(1, 1, 2.5), unit="mm", height=450) as view:
        frame = view._repr_html_()
        assert f'src="{view.url}"' in frame and "height: 450px" in frame
        assert "token" not in repr(view)
        field = shown(view.url)
        assert (field["extent"], field["finite"]) == ([0, 479], 480)
        with urlopen(view.url) as page:
            assert "http://localhost:*" in page.headers["content-security-policy"]
    assert not answers(view.url)
    assert "closed" in view._repr_html_()
    view.close()


def test_further_steps_of_arrays_are_shown_as_they_are_published(array: np.ndarray) -> None:
    with visapult.view({"a": array, "b": -array}) as view:
        page = Page(view.url)
        assert shown(view.url)["extent"] == [0, 479]
        view.publish(a=array + 1000, b=array)
        assert page.newest_beyond(0) == 1
        assert shown(view.url)["extent"] == [1000, 1479]
        with pytest.raises(visapult.CallError, match="b"):
            view.publish(a=array)
        with pytest.raises(visapult.CallError, match="given by their names, as in view.publish"):
            view.publish(array)


def test_many_arrays_have_a_short_title(array: np.ndarray) -> None:
    with visapult.view({f"mass fraction of species {i}": array for i in range(20)}) as view:
        page = Page(view.url)
        page.until(lambda: page.fields, "a field")
        assert len(page.source["fields"]) == 20 and page.source["name"].endswith("of species 2 and 17 more")


def test_a_view_takes_the_place_of_the_one_that_has_its_port(array: np.ndarray) -> None:
    with visapult.view(array) as other:
        port = int(other.url.split(":")[2].partition("/")[0])
    first = visapult.view(array, port=port)
    with visapult.view(array + 1, port=port) as second:
        assert "closed" in first._repr_html_()
        assert shown(second.url)["extent"] == [1, 480]


def test_who_had_the_address_of_a_view_has_none_of_later_pages(array: np.ndarray) -> None:
    with visapult.view(array) as first, visapult.view(array) as second:
        tokens = [view.url.partition("token=")[2] for view in (first, second)]
        assert len(set(tokens)) == 2
        with pytest.raises(InvalidStatus):
            Page(second.url.replace(tokens[1], tokens[0]))


def test_a_view_that_is_interrupted_while_it_begins_leaves_nothing_behind() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ripp://AAAAAAAAAAAAAAAAAAAAAA@127.0.0.1:{silent.getsockname()[1]}/run#{'A' * 43}"
        kernel = subprocess.Popen([sys.executable, "-c", f"import visapult; visapult.view({url!r})"], stderr=subprocess.DEVNULL, process_group=0)
        connection, _ = silent.accept()
        with connection:
            os.killpg(kernel.pid, signal.SIGINT)
            assert kernel.wait(SOON_S) != 0
            connection.settimeout(SOON_S)
            while connection.recv(1 << 16):
                pass


def test_a_file_is_shown_as_the_program_shows_it(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", array)
    for source in (tmp_path / "field.npy", str(tmp_path / "field.npy")):
        with visapult.view(source) as view:
            assert shown(view.url)["extent"] == [0, 479]
            with pytest.raises(visapult.CallError, match="steps of its own"):
                view.publish(values=array)


def test_what_xarray_has_is_shown_with_its_coordinates_and_steps(array: np.ndarray) -> None:
    axes = {"time": [0, 6], "plev": [200, 300, 500, 700, 850, 1000], "lat": [70, 50, 30, 10, -10, -30, -50, -70], "lon": np.arange(10) * 36.0}
    data = xarray.DataArray(np.stack([array, array + 1]), coords=axes, name="ta", attrs={"units": "K"})
    units = {"time": "hours since 2001-01-01", "plev": "hPa", "lat": "degrees_north", "lon": "degrees_east"}
    for axis, unit in units.items():
        data[axis].attrs["units"] = unit
    with visapult.view(data) as view:
        [behind] = [folder for folder in Path(tempfile.gettempdir()).glob("visapult-*/ta.zarr")]
        page = Page(view.url)
        page.until(lambda: page.fields, "a field")
        assert page.fields[0]["extent"] == [0, 479]
        assert [along["values"][0] for along in page.source["along"]] == [0, -70, 1000]
        assert (page.source["time_unit"], page.source["fields"]) == ("hours since 2001-01-01", [{"name": "ta", "unit": "K"}])
    assert not behind.parent.exists()
    with visapult.view(data.to_dataset()) as view:
        assert shown(view.url)["extent"] == [0, 479]
    heights = xarray.DataArray(array, dims=("z", "y", "x"), coords={"height": (("z", "y", "x"), array)}, name="height")
    with visapult.view(heights) as view:
        assert shown(view.url)["extent"] == [0, 479]


def test_what_xarray_has_of_a_zarr_2_store_is_shown(array: np.ndarray, tmp_path: Path) -> None:
    data = xarray.DataArray(array, dims=("z", "y", "x"), name="ta").to_dataset()
    data.to_zarr(tmp_path / "ta.zarr", zarr_format=2, consolidated=False, encoding={"ta": {"scale_factor": 2.0, "dtype": "i2", "_FillValue": -1}})
    opened = xarray.open_zarr(tmp_path / "ta.zarr", chunks=None, consolidated=False)
    for what in (opened["ta"], opened["ta"] + 0, opened):
        with visapult.view(what) as view:
            assert shown(view.url)["extent"] == [0, 480]


def test_of_an_array_of_xarray_that_alone_is_shown(array: np.ndarray) -> None:
    steps = np.stack([array, array + 1])
    several = {"z_rho": (("time", "z", "y", "x"), -steps), "XLAT": (("time", "y", "x"), steps[:, 0]), "depth_at": ((), 3.0)}
    data = xarray.DataArray(steps, dims=("time", "z", "y", "x"), coords={"x": np.arange(10) * 5.0} | several, name="temp", attrs={"units": "K"})
    with visapult.view(data) as view:
        page = Page(view.url)
        page.until(lambda: page.fields, "a field")
        assert page.fields[0]["extent"] == [0, 479]
        assert page.source["fields"] == [{"name": "temp", "unit": "K"}]
        assert page.source["along"][0]["values"][-1] == 45
    # Whatever it is called.
    for name in ("u/v", "u?v", "", "."):
        with visapult.view(data.rename(name)) as view:
            assert shown(view.url)["extent"] == [0, 479]


class Chunked:
    """Values that are computed chunk by chunk, as Dask has them for xarray."""

    def __init__(self, values: np.ndarray, chunks: tuple[tuple[int, ...], ...]) -> None:
        self.values, self.chunks = values, chunks
        self.shape, self.ndim, self.dtype = values.shape, values.ndim, values.dtype

    def rechunk(self, sizes: dict[int, int]) -> "Chunked":
        starts = [range(0, length, sizes[axis]) for axis, length in enumerate(self.shape)]
        return Chunked(self.values, tuple(tuple(min(at.step, length - start) for start in at) for at, length in zip(starts, self.shape, strict=True)))

    def __array_function__(self, *call: object) -> object:
        return NotImplemented

    def __array_ufunc__(self, *call: object) -> object:
        return NotImplemented


class Chunks(ChunkManagerEntrypoint):
    """What xarray asks of those who compute so; the rest is not needed to write them."""

    available = True

    def __init__(self) -> None:
        self.array_cls = Chunked

    def chunks(self, data: Chunked) -> tuple[tuple[int, ...], ...]:
        return data.chunks

    def store(self, sources: Any, targets: Any, **how: object) -> None:
        for source, target in zip(sources, targets, strict=True):
            target[...] = source.values

    def unneeded(self, *call: object, **how: object) -> NoReturn:
        raise AssertionError(call)

    normalize_chunks = from_array = compute = apply_gufunc = unneeded


def test_what_is_computed_in_uneven_chunks_is_shown(array: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelcompat, "list_chunkmanagers", lambda: {"chunks": Chunks()})
    # As a part of what has chunks of 4 x 6 x 10.
    computed = Chunked(array, ((1, 4, 1), (2, 6), (10,)))
    data = xarray.DataArray(computed, dims=("z", "y", "x"), coords={"z": np.arange(6) ** 2}, name="ta")
    for what in (data, data.to_dataset()):
        with visapult.view(what) as view:
            assert shown(view.url)["extent"] == [0, 479]


def test_of_a_dataset_of_several_shapes_those_are_shown_that_most_have(array: np.ndarray) -> None:
    axes = ("z", "y", "x")
    dataset = xarray.Dataset({"surface": (("y", "x"), array[0]), "a": (axes, array), "b": (axes, array)})
    with visapult.view(dataset) as view:
        assert shown(view.url)["extent"] == [0, 479]


def test_what_of_xarray_cannot_be_shown_is_told_by_its_name(array: np.ndarray) -> None:
    axes = ("z", "y", "x")
    for what, kind, said in (
        (xarray.DataArray(array[0], dims=("lat", "lon"), name="ta"), visapult.ArrayError, r"view: the DataArray ta has 2 axes \(lat, lon\): one of z, y and x is"),
        (xarray.DataArray([[[object()]]], dims=axes, name="ta"), visapult.ArrayError, "view: xarray does not write the DataArray ta as Zarr: "),
        (xarray.DataArray(array + 1j, dims=axes, name="ta"), visapult.Error, "the DataArray ta is not usable: .* not real numbers"),
    ):
        with pytest.raises(kind, match=f"^{said}") as refused:
            visapult.view(what)
        assert tempfile.gettempdir() not in str(refused.value)


def test_what_cannot_be_shown_is_told_as_the_program_tells_it(array: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(visapult.Error, match="^cannot read .*missing.npy: No such file"):
        visapult.view(tmp_path / "missing.npy")
    with pytest.raises(visapult.ArrayError, match="not one of 2 axes"):
        visapult.view(array[0])
    with pytest.raises(visapult.ArrayError, match=r"arrays of one shape .*\(6, 8, 10\), \(6, 8, 9\)"):
        visapult.view({"a": array, "b": array[:, :, 1:]})
    with pytest.raises(visapult.ArrayError, match="not none"):
        visapult.view({})
    with pytest.raises(visapult.ArrayError, match="not one of 4 axes: show what is first along the first one, and publish"):
        visapult.view(array[None])
    with pytest.raises(visapult.ArrayError, match="ndarray is neither"):
        visapult.view(np.zeros((2, 2, 2), "M8[s]"))
    for options, said in (({"spacing": (9, 9, 9)}, "spacing is of arrays"), ({"name": "foo"}, "name is of arrays")):
        with pytest.raises(visapult.CallError, match=said):
            visapult.view(tmp_path / "missing.npy", **options)
    with pytest.raises(visapult.CallError, match="named by text"):
        visapult.view({1: array})
    with pytest.raises(visapult.ArrayError, match="int is neither a path, an array"):
        visapult.view(7)
    monkeypatch.setenv("VISAPULT", str(tmp_path / "elsewhere"))
    with pytest.raises(visapult.Error, match="there is no program .*elsewhere: build it"):
        visapult.view(array)


KERNEL = """
import sys, time
import numpy as np
import visapult
view = visapult.view(np.zeros((4, 4, 4)))
told = False
while True:
    try:
        if not told:
            told = True
            print(view.url, flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        if "leave" in sys.argv:
            break
"""


@pytest.mark.parametrize("end", ["killed", "leaves"])
def test_a_page_outlives_an_interrupt_of_its_kernel_and_ends_with_it(end: str) -> None:
    words = [sys.executable, "-c", KERNEL, *(["leave"] if end == "leaves" else [])]
    kernel = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        assert kernel.stdout is not None
        url = kernel.stdout.readline().strip()
        assert answers(url)
        os.killpg(kernel.pid, signal.SIGINT)
        assert kernel.stdout.readline() == "interrupted\n"
        if end == "killed":
            time.sleep(0.5)
            assert answers(url)
            kernel.kill()
        assert ended(url)
    finally:
        kernel.kill()
        kernel.wait()
