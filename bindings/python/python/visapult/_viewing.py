"""Fields in a notebook: a page of ``visapult view``, and its frame."""

import html
import math
import os
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, SupportsFloat
from urllib.parse import urlsplit

from visapult._visapult import ArrayError, CallError, Error, Publisher

if TYPE_CHECKING:
    from visapult import Coordinates
    from visapult._visapult import _Along, _Array, _Axis

Place = str | os.PathLike[str]
# What is shown, where that is made for a view alone.
_Behind = Publisher | tempfile.TemporaryDirectory[str] | None

# Seconds that a page's server is given to end in order.
PATIENCE = 5.0
# Fields that a title names, and letters of each.
FEW_NAMES = 3
MOST_LETTERS = 40


class _XArrays(Protocol):
    """A DataArray or a Dataset."""

    def to_zarr(self, store: str, *, consolidated: bool) -> object: ...


class View:
    """A page that shows a source or arrays, for as long as this object is kept and not closed; in a notebook, its picture."""

    def __init__(self, source: str, behind: "_Behind", height: int, port: int) -> None:
        self._height = height
        self._behind = behind
        if (before := _AT_PORTS.get(port)) is not None:
            before.close()
        server = _Server(source, port)
        self._url = server.url
        self._end = weakref.finalize(self, _end, server, behind)
        _AT_PORTS[urlsplit(server.url).port or 0] = self

    @property
    def url(self) -> str:
        """Of the page, on this machine alone; it holds a secret that admits to it."""
        return self._url

    def publish(self, time: float = math.nan, /, **fields: "_Array") -> None:
        """Shows the next step of arrays, an array for each field; ``time`` in seconds, where it has one. A source that is shown has steps of its own."""
        if not isinstance(time, SupportsFloat) or getattr(time, "ndim", 0) != 0:
            raise CallError("publish: arrays are given by their names, as in view.publish(values=array)")
        if not isinstance(self._behind, Publisher):
            raise CallError("publish: this view shows a source, which has steps of its own; views of arrays have more published")
        self._behind.publish(float(time), **fields)

    def close(self) -> None:
        """Ends the page and what is published for it."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<visapult.View {'of' if self._end.alive else 'that was of'} {self._url.partition('?')[0]}>"

    def _repr_html_(self) -> str:
        if not self._end.alive:
            return "<p>This view was closed.</p>"
        url = html.escape(self._url)
        frame = f'<iframe src="{url}" title="Visapult" style="width: 100%; height: {self._height}px; border: 0" allowfullscreen></iframe>'
        return f'{frame}<p><a href="{url}" target="_blank" rel="noreferrer">Open it by itself</a></p>'


def view(
    what: "Place | _XArrays | _Array | Mapping[str, _Array]",
    *,
    name: str | None = None,
    unit: str | None = None,
    spacing: tuple[float, float, float] | None = None,
    origin: tuple[float, float, float] | None = None,
    centering: Literal["point", "cell"] | None = None,
    coordinates: "Mapping[_Axis, Coordinates | _Along] | None" = None,
    height: int = 600,
    port: int = 0,
) -> View:
    """Shows a field in a page, which a notebook has in the cell's output.

    ``what`` is what ``visapult view`` takes (a path, ``file.h5:/dataset``, ``s3://``, the URL of what is published), an array ``[z, y, x]``, several of the
    same shape by their names, or a DataArray or Dataset of xarray, with the coordinates along its axes and its steps. Arrays are copied, those of xarray into
    a Zarr store among temporary files. ``name`` is that of a single array ("values"); ``spacing`` (1), ``origin`` (0), their ``unit``, ``centering`` ("point")
    and ``coordinates`` (as of a ``Publisher``) are of arrays: other sources tell them themselves. ``publish`` of what is returned shows further steps of arrays.

    ``height`` is that of the frame in pixels; ``port`` is that of the page, 0 any that is free: with another one, the view that has it ends first. The page
    is there for as long as what is returned is kept and not closed.

    Raises CallError and ArrayError for what makes no sense, and Error with what ``visapult view`` says where the source cannot be shown. The program
    ``visapult`` is on the PATH, or named by the environment variable VISAPULT.
    """
    declared = {"spacing": spacing, "origin": origin, "unit": unit, "centering": centering, "coordinates": coordinates}
    said: dict[str, Any] = {argument: value for argument, value in declared.items() if value is not None}
    is_of_xarray = all(hasattr(what, attribute) for attribute in ("to_zarr", "dims", "coords"))
    if isinstance(what, str | os.PathLike) or is_of_xarray:
        if said or name is not None:
            raise CallError(f"view: {next(iter(said), 'name')} is of arrays; a source, and what xarray has, tells it itself")
        if isinstance(what, str | os.PathLike):
            return View(os.fspath(what), None, height, port)
        return _view_of_xarrays(what, height, port)
    if name is not None and isinstance(what, Mapping):
        raise CallError("view: name is of a single array; several have those by which they are given")
    arrays: Mapping[str, Any] = what if isinstance(what, Mapping) else {name or "values": what}
    shapes = {field: _shape(array) for field, array in arrays.items()}
    if len(set(shapes.values())) != 1:
        raise ArrayError(f"view: arrays of one shape are shown together, not {', '.join(map(str, shapes.values())) or 'none'}")
    [shape] = set(shapes.values())
    if len(shape) != 3:
        steps = ": show what is first along the first one, and publish the others" if len(shape) == 4 else ""
        raise ArrayError(f"view: an array [z, y, x] is shown, not one of {len(shape)} axes{steps}")
    publisher = Publisher(
        name=_several(list(arrays)),
        size=shape[::-1],
        fields=list(arrays),
        listen="127.0.0.1:0",
        **said,
    )
    try:
        # The newest step waits for who comes.
        publisher.publish(math.nan, **arrays)
        assert publisher.url is not None
        return View(publisher.url, publisher, height, port)
    except BaseException:
        publisher.close()
        raise


def _several(names: list[str]) -> str:
    """A few of them, where they are many or long."""
    if not all(isinstance(name, str) for name in names):
        raise CallError("view: arrays are named by text")
    few = names[:FEW_NAMES]
    more = f" and {len(names) - len(few)} more" if len(names) > len(few) else ""
    return ", ".join(name[:MOST_LETTERS] for name in few) + more


def _view_of_xarrays(what: Any, height: int, port: int) -> View:
    is_array = hasattr(what, "to_dataset")
    name = _name_of(what) if is_array else "values"
    shown = f"the DataArray {name}" if is_array else "the Dataset"
    if is_array and len(what.dims) < 3:
        raise ArrayError(f"view: {shown} has {len(what.dims)} axes ({', '.join(map(str, what.dims))}): one of z, y and x is shown, and of steps where it has some")
    folder = tempfile.TemporaryDirectory(prefix="visapult-")
    source = os.path.join(folder.name, _file_name(name))
    try:
        _write(what.reset_coords(drop=True).to_dataset(name=name) if is_array else what, source)
        return View(source, folder, height, port)
    except BaseException as cause:
        folder.cleanup()
        if not isinstance(cause, Error):
            raise
        # The path of what is gone tells nobody which array it was.
        said = str(cause).replace(f"{source}/", f"{shown}'s ").replace(source, shown)
        raise type(cause)(said) from cause.__cause__


def _name_of(array: Any) -> str:
    """One that Zarr can have for it."""
    name = "" if array.name is None else str(array.name).replace("/", "_")
    if not name.strip(". "):
        return "values"
    return f"values of {name}" if array.name in array.dims else name


def _file_name(name: str) -> str:
    """One that any name makes, and that asks for nothing of what is in it."""
    return "".join(letter if letter.isalnum() or letter in " ._-" else "_" for letter in name[:MOST_LETTERS]) + ".zarr"


def _write(dataset: Any, store: str) -> None:
    try:
        # How it was stored elsewhere is not for Zarr of every kind.
        _in_even_chunks(dataset.drop_encoding()).to_zarr(store, consolidated=False)
    except Exception as cause:
        raise ArrayError(f"view: xarray does not write {store} as Zarr: {cause}") from cause


def _in_even_chunks(dataset: Any) -> Any:
    """Where arrays are computed chunk by chunk these are of one size, as Zarr has them: that of the largest."""
    largest = {name: {axis: max(sizes) for axis, sizes in array.chunksizes.items()} for name, array in dataset.variables.items() if array.chunksizes}
    return dataset.assign({name: dataset[name].chunk(sizes) for name, sizes in largest.items()})


def _shape(array: Any) -> tuple[int, ...]:
    try:
        shape = memoryview(array).shape
    except (TypeError, ValueError, BufferError):
        raise ArrayError(f"view: {type(array).__name__} is neither a path, an array, nor arrays by their names") from None
    return shape or ()


# A cell that is run again wants its port anew, and notebooks keep what cells have shown.
_AT_PORTS: "weakref.WeakValueDictionary[int, View]" = weakref.WeakValueDictionary()


class _Server:
    """A ``visapult view`` that ends with this process."""

    def __init__(self, source: str, port: int) -> None:
        words = [_program(), "view", "--no-open", "--until-input-ends", "--port", str(port), "--", source]
        pipe = subprocess.PIPE
        # An interrupt of this process's group, as notebooks send it to a cell, is not for it.
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="replace", process_group=0)
        said: deque[str] = deque(maxlen=20)
        listener = threading.Thread(target=said.extend, args=[self._process.stderr], daemon=True)
        listener.start()
        assert self._process.stdout is not None
        try:
            self.url = self._process.stdout.readline().strip()
        except BaseException:
            self.end()
            raise
        if not self.url:
            self.end()
            listener.join(PATIENCE)
            raise Error(said[-1].strip().removeprefix("visapult: ") if said else "visapult view ended without a word")
        threading.Thread(target=deque, args=[self._process.stdout, 0], daemon=True).start()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _end(server: _Server, behind: _Behind) -> None:
    server.end()
    if isinstance(behind, Publisher):
        behind.close()
    elif behind is not None:
        behind.cleanup()


def _program() -> str:
    named = os.environ.get("VISAPULT") or "visapult"
    found = shutil.which(named)
    if found is None:
        raise Error(f"there is no program {named}: build it (make), and put its folder on the PATH or its path into the environment variable VISAPULT")
    return found
