"""Copying, and what is shown of it."""

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, SupportsIndex, TypeVar

from visapult import _visapult
from visapult._parts import Axis, number, part_of
from visapult._visapult import CallError, CopyProgress, CopyResult

Place = str | os.PathLike[str]
One = TypeVar("One", bound=Place)


def copy(
    sources: Place | Iterable[Place],
    destination: Place,
    *,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    follow_links: bool = False,
    checksum: bool = False,
    delete: bool | Literal["unmatched"] = False,
    range: tuple[int, int | None] | None = None,
    field: str | Iterable[str] = (),
    box: Iterable[Axis] | None = None,
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    level: SupportsIndex | None = None,
    steps: Axis | None = None,
    error: float | str | None = None,
    dry_run: bool = False,
    resume: bool = True,
    sync: bool = True,
    rate: float | str | None = None,
    weight: int = 1,
    lanes: int | None = None,
    local: str | Iterable[str] = (),
    transport: Literal["auto", "udp", "tcp"] = "auto",
    retry: float = 300.0,
    progress: Callable[[CopyProgress], object] | bool | None = None,
) -> CopyResult:
    """Copies files and folders from or to a share, or between two, until all is there, and returns what came of it.

    Places are paths on this machine, or URLs as text: ``ripp://``, what ``visapult share`` or a ``Share`` says, with a path appended to it, or
    ``ripp://host:port/name/path`` where the whole URL is a line of ``~/.config/visapult/urls``; ``s3://``, and as sources ``https://``.
    Where things go is as ``visapult copy`` has it: a destination that is a folder, ends with ``/``, or is that of several sources or of a folder, takes them
    under their own names; any other is the new name of the one file. ``SRC/.`` is what is in the folder.

    ``include`` and ``exclude`` are patterns of names, or with a ``/`` of paths below the source. ``follow_links`` copies what links in
    folders lead to in place of the links, out of a share what lies in it. ``checksum`` compares what is there with the same size and
    time by its content. ``delete`` deletes in the folders that were copied what the sources do not have, or have as something of another kind; with patterns
    only as "unmatched", for it deletes what they leave out, too. ``range`` is the first byte and the one after the last (None: to the end) of the one file. ``dry_run`` copies nothing.

    With any of ``field``, ``box``, ``stride``, ``level``, ``steps`` and ``error`` a part of the fields in the one source is made where that lies, and becomes the Zarr group
    ``destination``, which is named ``.zarr``. ``box`` is the samples along z, y and x, as slices (``numpy.s_[0:256, :, 128:]``); ``stride`` takes every Nth of them, or so many along
    each axis; ``steps`` is a slice or one; ``error`` how far values may be off, in their unit (0.01) or by a part of each ("0.1%").

    Without ``resume`` all is copied from its beginning; without ``sync`` files get their names before the disk has them.

    ``rate`` is in bits of IP packets per second, or text such as "950M", on a path of your own; left out, it is found and shared; a share divides its own rate among copies by
    ``weight``. Lanes are spread over the
    addresses ``local`` of this machine. A connection that is lost is dialled again for ``retry`` seconds.

    ``progress`` is called about five times a second, in this thread; True shows a line that is written over, in a terminal or a notebook. What it raises
    stops the copy, as Ctrl-C does, and is raised. What has been copied by then is kept, and the same call goes on from there.

    Raises CopyError if it ended before all was there, and CallError for what makes no sense. Things that could not be copied do not end it: they are in
    ``failed``, and warned of.
    """
    if not isinstance(delete, bool) and delete != "unmatched":
        raise CallError(f'delete: {delete!r} is none of False, True and "unmatched"')
    part = part_of(several(field), box, stride, level, steps, error)
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise CallError(f"progress: {progress!r} is neither True nor a function")
    from_where = [place("sources", source) for source in places(sources)]
    line = Line() if progress is True else None
    try:
        result = _visapult.copy(
            from_where,
            place("destination", destination),
            include=several(include),
            exclude=several(exclude),
            follow_links=follow_links,
            checksum=checksum,
            delete=bool(delete),
            unmatched=delete == "unmatched",
            range=None if range is None else first_and_end(range),
            part=part,
            dry_run=dry_run,
            resume=resume,
            sync=sync,
            rate=rate,
            weight=number("weight", weight, 1, 1000),
            lanes=None if lanes is None else number("lanes", lanes, 1, 64),
            local=several(local),
            transport=transport,
            retry=retry,
            progress=line.show if line else progress if callable(progress) else None,
        )
    except BaseException:
        if line:
            line.end("")
        raise
    if line:
        line.end(str(result))
    if result.failed:
        path, why = result.failed[0]
        warnings.warn(f"{len(result.failed)} not copied, the first is {path}: {why}", stacklevel=2)
    return result


def first_and_end(given: tuple[int, int | None]) -> tuple[int, int | None]:
    """The bytes that are meant."""
    try:
        first, end = given
    except (TypeError, ValueError):
        raise CallError(f"range: {given!r} is not two numbers, the first byte and the one after the last") from None
    return number("range", first, 0, 2**63), None if end is None else number("range", end, 0, 2**63)


def places(given: Place | Iterable[Place]) -> Iterable[object]:
    """One or several places; what cannot be one is left for `place` to tell."""
    return given if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]


def place(what: str, given: object) -> Place:
    """What is a place, as it is."""
    if not isinstance(given, str | os.PathLike):
        raise CallError(f"{what}: {given!r} is no place: give text or a pathlib.Path")
    return given


def several(given: One | Iterable[One]) -> list[One]:
    """One or several, as a list."""
    return [given] if isinstance(given, str | os.PathLike) else list(given)


class Screen(Protocol):
    """Where there is a line that can be written over."""

    def write(self, line: str) -> None:
        """Puts the line in the place of the one before."""

    def keep(self, line: str) -> None:
        """Leaves a line where it is; the next goes below."""


class Line:
    """How far a copy is, in one line."""

    def __init__(self) -> None:
        self.screen = screen()

    def show(self, progress: CopyProgress) -> None:
        """Shows it, with a bar once the total is known."""
        if progress.notice:
            self.screen.keep(progress.notice)
        else:
            self.screen.write(bar(progress) + str(progress))

    def end(self, line: str) -> None:
        """Shows the last line instead."""
        if line:
            self.screen.keep(line)
        else:
            self.screen.write("")


def bar(progress: CopyProgress) -> str:
    """What part is there, if that is known."""
    if not progress.is_total or progress.total_bytes == 0:
        return ""
    part = progress.bytes / progress.total_bytes
    full = int(20 * part)
    return f"[{'#' * full}{'.' * (20 - full)}] {int(100 * part):3} %  "


class Terminal:
    """A terminal."""

    def write(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width]}\x1b[K", end="", file=sys.stderr, flush=True)

    def keep(self, line: str) -> None:
        print(f"\r{line}\x1b[K", file=sys.stderr, flush=True)


class Notebook:
    """A cell of a notebook."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self.display = display
        self.shown: Any = None

    def write(self, line: str) -> None:
        content = {"text/plain": line}
        if self.shown is None:
            self.shown = self.display(content, raw=True, display_id=True)
        else:
            self.shown.update(content, raw=True)

    def keep(self, line: str) -> None:
        self.write(line)
        self.shown = None


class Log:
    """A file or a pipe: nothing can be written over."""

    def write(self, line: str) -> None:
        pass

    def keep(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def screen() -> Screen:
    """Where this program shows something."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    # Only shells that show something elsewhere than in this terminal have a kernel.
    if ipython and getattr(shell, "kernel", None):
        return Notebook(ipython.display.display)
    return Terminal() if sys.stderr.isatty() else Log()
