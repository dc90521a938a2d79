"""Parts of fields, as they are said to ``copy``."""

import operator
from collections.abc import Iterable
from typing import SupportsIndex, TypedDict, TypeVar

from visapult._visapult import CallError

Axis = SupportsIndex | slice
One = TypeVar("One")


class Part(TypedDict):
    """A part of fields: samples and strides along z, y and x, steps from the first to before the end, every so many."""

    fields: list[str]
    bounds: list[tuple[int, int | None]] | None
    stride: list[int]
    level: int
    steps: tuple[int, int | None, int] | None
    error: str | None


def part_of(
    fields: list[str],
    box: Iterable[Axis] | None,
    stride: SupportsIndex | Iterable[SupportsIndex] | None,
    level: SupportsIndex | None,
    steps: Axis | None,
    error: float | str | None,
) -> Part | None:
    """The part of fields that is meant; None if all of the files is, as they are."""
    if not fields and all(said is None for said in (box, stride, level, steps, error)):
        return None
    return {
        "fields": fields,
        "bounds": None if box is None else [samples(axis) for axis in three("box", box)],
        "stride": [1] * 3 if stride is None else [number("stride", each, 1) for each in strides(stride)],
        "level": 0 if level is None else number("level", level, 0),
        "steps": None if steps is None else span("steps", steps),
        "error": None if error is None else str(error),
    }


def strides(given: SupportsIndex | Iterable[SupportsIndex]) -> list[SupportsIndex]:
    """Along each axis: one is that of all."""
    try:
        return three("stride", list(given))  # type: ignore[arg-type]
    except TypeError:
        return [given] * 3  # type: ignore[list-item]


def three(what: str, given: Iterable[One]) -> list[One]:
    """As they are, if there are three."""
    try:
        several = list(given)
    except TypeError:
        raise CallError(f"{what}: {given!r} is one: give three, along z, y and x") from None
    if len(several) != 3:
        raise CallError(f"{what}: {len(several)} given: give three, along z, y and x")
    return several


def samples(axis: Axis) -> tuple[int, int | None]:
    """Of a box along an axis."""
    first, end, every = span("box", axis)
    if every != 1:
        raise CallError(f"box: {axis} takes every {every}th sample: say stride={every}")
    return first, end


def span(what: str, given: Axis) -> tuple[int, int | None, int]:
    """First, end, every so many: a slice, or a number for that one."""
    if not isinstance(given, slice):
        first = number(what, given, 0)
        return first, first + 1, 1
    first = 0 if given.start is None else number(what, given.start, 0)
    end = None if given.stop is None else number(what, given.stop, 0)
    every = 1 if given.step is None else number(what, given.step, 1)
    if end is not None and end <= first:
        raise CallError(f"{what}: {given} ends before it begins")
    return first, end, every


def number(what: str, given: object, least: int, most: int | None = None) -> int:
    """A number that may be one of NumPy's, too."""
    try:
        value = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise CallError(f"{what}: {given!r} is no number") from None
    greatest = most or 2**32 - 1
    if not least <= value <= greatest:
        bounds = f"{least} to {greatest}" if most or value > greatest else f"give {least} or more"
        raise CallError(f"{what}: {value} is out of bounds: {bounds}")
    return value
