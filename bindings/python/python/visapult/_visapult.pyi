"""The part of the package that is compiled."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Protocol, Self, final

from typing_extensions import Buffer

from visapult import Coordinates, Field, Parameter
from visapult._parts import Part

__all__ = [
    "ArrayError",
    "CallError",
    "CopyError",
    "CopyProgress",
    "CopyResult",
    "Error",
    "LinkError",
    "Publisher",
    "Share",
    "Statistics",
    "__version__",
    "copy",
]

__version__: str

class _NumPys(Protocol):
    """NumPy's arrays: before Python 3.12 its stubs do not tell that they have the buffer protocol."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Array = Buffer | _NumPys

class _XArrays(Protocol):
    """A DataArray with one axis."""

    @property
    def attrs(self) -> dict[Any, Any]: ...
    @property
    def dims(self) -> tuple[Hashable, ...]: ...
    @property
    def values(self) -> Any: ...

_Along = _Array | Sequence[float] | _XArrays
_Axis = Literal["x", "y", "z"]

class Error(Exception):
    """What this package raises; its message says what, where and what to do."""

class CallError(Error):
    """A call that makes no sense: a declaration that does not fit together, a call out of turn, a closed publisher."""

class ArrayError(Error):
    """An array of the wrong shape, or of a type that is no real number."""

class LinkError(Error):
    """An address that cannot be listened on, or a URL that cannot be believed."""

class CopyError(Error):
    """Why a copy ended before all was there. What was copied is kept, and the same call goes on from there."""

@final
class CopyProgress:
    """How far a copy is; as text, one line that says so."""

    @property
    def bytes(self) -> int:
        """Bytes that are there, of those that are to be copied."""
    @property
    def total_bytes(self) -> int:
        """Bytes that are to be copied, as far as is known."""
    @property
    def files(self) -> int:
        """Files that are whole, verified and in their place."""
    @property
    def total_files(self) -> int:
        """Files that are to be copied, as far as is known."""
    @property
    def is_total(self) -> bool:
        """All is known of what is to be copied."""
    @property
    def rate(self) -> float:
        """Bits per second, over the latest seconds."""
    @property
    def eta(self) -> float | None:
        """Seconds that it will take from now on, if that can be told."""
    @property
    def limited_by(self) -> str | None:
        """"network", "source disk", "sink disk", "rate", "sender", or None if that cannot be told."""
    @property
    def seconds(self) -> float:
        """Seconds since the copy began."""
    @property
    def notice(self) -> str | None:
        """Something that one may want to know, if that is what is told: a lost connection, a file that could not be copied."""

@final
class CopyResult:
    """What came of a copy; as text, one line that says so."""

    @property
    def files(self) -> int:
        """Files copied: whole, verified and in their place."""
    @property
    def bytes(self) -> int:
        """Bytes of those."""
    @property
    def wanted_files(self) -> int:
        """Files that were to be copied, or would be."""
    @property
    def wanted_bytes(self) -> int:
        """Bytes of those."""
    @property
    def same_files(self) -> int:
        """Files that were there already."""
    @property
    def same_bytes(self) -> int:
        """Bytes of those."""
    @property
    def resumed_bytes(self) -> int:
        """Bytes of what was copied that were there from an earlier attempt."""
    @property
    def sent_bytes(self) -> int:
        """Bytes of content that travelled."""
    @property
    def seconds(self) -> float:
        """Seconds that it took."""
    @property
    def rate(self) -> float:
        """Bits of content per second that travelled."""
    @property
    def deleted(self) -> list[str]:
        """What was deleted, or would be."""
    @property
    def left_out(self) -> list[tuple[str, str]]:
        """What no copy has, such as sockets, and why."""
    @property
    def failed(self) -> list[tuple[str, str]]:
        """What could not be copied, and why."""

def copy(
    sources: list[str | PathLike[str]],
    destination: str | PathLike[str],
    *,
    include: list[str],
    exclude: list[str],
    follow_links: bool,
    checksum: bool,
    delete: bool,
    unmatched: bool,
    range: tuple[int, int | None] | None,
    part: Part | None,
    dry_run: bool,
    resume: bool,
    sync: bool,
    rate: float | str | None,
    weight: int,
    lanes: int | None,
    local: list[str],
    transport: str,
    retry: float,
    progress: Callable[[CopyProgress], object] | None,
) -> CopyResult:
    """What ``visapult.copy`` comes down to."""

@final
class Share:
    """A folder that others may copy from, and into where that is said; a context manager that closes itself."""

    def __new__(
        cls,
        folder: str | PathLike[str],
        *,
        write: bool = False,
        policy: str | PathLike[str] | None = None,
        fetch: str | Iterable[str] = (),
        rate: float | str | None = None,
        listen: str = "127.0.0.1:0",
        host: str | None = None,
    ) -> Self:
        """Shares a folder until it is closed; whoever has the URL may copy from it, and into it with ``write``.

        ``policy`` is a file that says who may read and write what; each then has a URL of their own. ``fetch`` names a host, or several, whose shares it
        may be asked to copy from. ``listen`` is the address and port to wait on ("0.0.0.0:0" takes any port), ``host`` what others call this machine.

        Raises CallError for a folder or a policy that will not do, LinkError if the address cannot be had.
        """
    @property
    def url(self) -> str | None:
        """What others need to copy; it holds a secret. None where a policy gives each their own."""
    @property
    def urls(self) -> dict[str, str]:
        """The URL of each person whom the policy names."""
    def close(self) -> None:
        """Ends it, and what is being copied; a second time does nothing."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

@final
class Statistics:
    """What a publisher has done so far; all 0 where publishing is off."""

    @property
    def steps(self) -> int:
        """Steps ended."""
    @property
    def sent(self) -> int:
        """Steps handed to the transport, counted once for every back end: the last of them may not have arrived."""
    @property
    def missed(self) -> int:
        """Steps that a back end asked for too late to get them, those from before it came left out."""
    @property
    def attached(self) -> int:
        """Back ends attached now."""
    @property
    def seconds(self) -> float:
        """Seconds that the program has spent in calls that publish."""

@final
class Publisher:
    """One rank of a simulation that publishes; a context manager that closes itself."""

    def __new__(
        cls,
        *,
        name: str,
        size: tuple[int, int, int],
        fields: Mapping[str, str] | Iterable[Field | str],
        spacing: tuple[float, float, float] = ...,
        origin: tuple[float, float, float] = ...,
        unit: str = "",
        centering: Literal["point", "cell"] = "point",
        coordinates: Mapping[_Axis, Coordinates | _Along] | None = None,
        time_unit: str = "s",
        calendar: str | None = None,
        block: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None,
        rank: int = 0,
        ranks: int = 1,
        parameters: Iterable[Parameter] = (),
        delivery: Literal["newest", "every", "every from first"] = "newest",
        url: str | None = None,
        listen: str | None = None,
        host: str | None = None,
    ) -> Self:
        """Declares what is published, and begins to.

        ``size`` is that of the whole grid, samples ``(nx, ny, nz)``, ``spacing`` and ``origin`` are in ``unit``. ``fields`` maps names to units,
        or lists fields. ``block`` is the half-open box ``((x0, y0, z0), (x1, y1, z1))`` of the grid that this rank owns, without ghost layers; the
        whole grid if left out. The blocks of all ``ranks`` tile the grid.

        ``coordinates`` says where samples of the whole grid lie along "x", "y" or "z", in place of ``spacing`` and ``origin`` there: an array with a
        number for each, in ``unit``, a one-dimensional array of xarray, or ``Coordinates``. An axis along which they fall is turned for those who look.
        Times in a ``time_unit`` like "hours since 2001-01-01" are dates of the ``calendar``, "standard" if none is told.

        ``parameters`` are what viewers may change: all ranks declare the same ones, and call ``steer`` before every step.

        ``delivery`` says which steps back ends get. "newest": what cannot be sent in time is skipped, and the program never waits. "every": ending
        a step waits until it is under way to all back ends that are attached, and ``close`` until all has arrived; where none is attached nothing waits,
        and one that dies is not waited for. "every from first": the first step waits for a back end, too.

        ``url`` is that of a back end that waits for the simulation: it is dialled now, or when it is there, and again when it comes back.
        ``listen`` is the address and port to wait for back ends on ("0.0.0.0:0" takes any port), ``host`` what they call this machine. With
        neither, or a blank ``url``, the environment variable ``VISAPULT_URL`` names the back end; where it is not set publishing is off,
        and every call returns at once.

        Raises CallError if the declaration does not fit together, LinkError if the address cannot be had.
        """
    @property
    def url(self) -> str | None:
        """What a back end has to dial; it holds a secret that admits to this publisher. None where we dial or publishing is off."""
    @property
    def is_on(self) -> bool:
        """Whether anything is published: a back end is named or waited for, and the publisher is not closed."""
    @property
    def parameters(self) -> dict[str, float]:
        """The values of the parameters by their names, as declared or as ``steer`` has taken them over; whole numbers are ``int``."""
    def steer(self) -> bool:
        """Takes over what viewers have asked for since the last step; False once the simulation shall end.

        A program that declares parameters calls it before every step, on every rank: what is asked for takes effect before the same step
        on all. Waits while viewers have paused the simulation, until it is resumed or the program is given
        a signal that asks it to end or warns it (SIGTERM, SIGUSR1 and the like) and has a handler for it: then all ranks go on.
        """
    def publish(self, time: float, /, **fields: _Array) -> int:
        """Publishes one step: ``time`` in ``time_unit`` (NaN where unknown), and an array for every field. Returns the number of the step.

        Arrays are this rank's block, shape ``(nz, ny, nx)``, of any real type in any order in memory; they are copied once, as float32, and may
        be changed afterwards. Never waits for a viewer. Nothing is published if it raises: ArrayError, or CallError for a field
        that is missing or unknown.
        """
    def begin(self, time: float, *, step: int | None = None) -> int:
        """Begins the next step, or ``step``, for ranks that do not take part in every step. Returns its number.

        A step that was begun and not ended, because something was raised meanwhile, is left out, and has had its number.
        """
    def put(self, field: str, array: _Array, /) -> None:
        """Copies the values of a field of the step that has begun, as ``publish`` does."""
    def end(self) -> None:
        """Ends the step: whoever wants it is sent it while the program goes on."""
    def statistics(self) -> Statistics:
        """What has been done so far."""
    def close(self) -> None:
        """Ends publishing; a second time does nothing. Waits until all has arrived where every step is to, else two seconds at most for the last one.
        Ctrl-C ends the wait, and the publisher.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...
