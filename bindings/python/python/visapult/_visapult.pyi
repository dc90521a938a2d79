"""The part of the package that is compiled."""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Literal, Self, final

from typing_extensions import Buffer

from visapult import Field, Parameter

__all__ = ["ArrayError", "CallError", "Error", "LinkError", "Publisher", "Statistics", "__version__"]

__version__: str

class Error(Exception):
    """What this package raises; its message says what, where and what to do."""

class CallError(Error):
    """A call that makes no sense: a declaration that does not fit together, a call out of turn, a closed publisher."""

class ArrayError(Error):
    """An array of the wrong shape, or of a type that is no real number."""

class LinkError(Error):
    """An address that cannot be listened on, or a URL that cannot be believed."""

@final
class Statistics:
    """What a publisher has done so far; all 0 where publishing is off."""

    @property
    def steps(self) -> int:
        """Steps ended."""
    @property
    def sent(self) -> int:
        """Steps sent, counted once for every back end."""
    @property
    def missed(self) -> int:
        """Steps that a back end asked for too late to get them."""
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
        time_unit: str = "s",
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

        ``parameters`` are what viewers may change: all ranks declare the same ones, and call ``steer`` before every step.

        ``delivery`` says which steps back ends get. "newest": what cannot be sent in time is skipped, and the program never waits. "every": ending
        a step waits until it is under way to all back ends that are attached, and ``close`` until all has arrived; where none is attached nothing waits,
        and one that dies is not waited for. "every from first": the first step waits for a back end, too.

        ``url`` is that of a back end that waits for the simulation: it is dialled now, or when it is there, and again when it comes back.
        ``listen`` is the address and port to wait for back ends on ("0.0.0.0:0" takes any port), ``host`` what they call this machine. With
        neither, the environment variable ``VISAPULT_URL`` names the back end; where it is not set publishing is off, and every call
        returns at once.

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
        on all. Waits while viewers have paused the simulation.
        """
    def publish(self, time: float, /, **fields: Buffer) -> int:
        """Publishes one step: ``time`` in ``time_unit`` (NaN where unknown), and an array for every field. Returns the number of the step.

        Arrays are this rank's block, shape ``(nz, ny, nx)``, of any real type in any order in memory; they are copied once, as float32, and may
        be changed afterwards. Never waits for a viewer. Nothing is published if it raises: ArrayError, or CallError for a field
        that is missing or unknown.
        """
    def begin(self, time: float, *, step: int | None = None) -> int:
        """Begins the next step, or ``step``, for ranks that do not take part in every step. Returns its number."""
    def put(self, field: str, array: Buffer, /) -> None:
        """Copies the values of a field of the step that has begun, as ``publish`` does."""
    def end(self) -> None:
        """Ends the step: whoever wants it is sent it while the program goes on."""
    def statistics(self) -> Statistics:
        """What has been done so far."""
    def close(self) -> None:
        """Ends publishing; a second time does nothing. What is still under way is not waited for, unless every step is to arrive."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...
