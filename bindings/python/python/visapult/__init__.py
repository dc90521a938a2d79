"""Publishes the fields of a running simulation, to be looked at while they are computed; shows fields in notebooks; copies files and folders between machines.

Arrays are ``[z, y, x]``; sizes, boxes, spacings and origins are given ``x, y, z``. Everything here may be called from any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from visapult._copying import copy
from visapult._viewing import View, view
from visapult._visapult import (
    ArrayError,
    CallError,
    CopyError,
    CopyProgress,
    CopyResult,
    Error,
    LinkError,
    Publisher,
    Share,
    Statistics,
    __version__,
)

if TYPE_CHECKING:
    from visapult._visapult import _Array

__all__ = [
    "ArrayError",
    "CallError",
    "Coordinates",
    "CopyError",
    "CopyProgress",
    "CopyResult",
    "Error",
    "Field",
    "LinkError",
    "Parameter",
    "Publisher",
    "Share",
    "Statistics",
    "View",
    "__version__",
    "copy",
    "view",
]


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Where samples lie along an axis: a number for each, growing or falling.

    They are in ``unit``, that of the grid if none is told ("" is none), and called ``name``, that of the axis if none is told. ``positive`` is "up" or
    "down" where those along z tell which way is up, and they grow that way; pressures grow downwards.
    """

    values: "_Array | Sequence[float]"
    unit: str | None = None
    name: str | None = None
    positive: Literal["up", "down"] | None = None


@dataclass(frozen=True)
class Field:
    """A named scalar on the grid.

    ``range`` is that of the values over all steps, ``(least, greatest)`` in ``unit``: colours then do not jump from step to step.
    """

    name: str
    unit: str = ""
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Parameter:
    """A number that viewers may change while the program runs: from ``least`` to ``most``, in ``unit``; ``value`` is that at the start."""

    name: str
    value: float
    least: float
    most: float
    unit: str = ""
    kind: Literal["number", "integer"] = "number"
