"""The forms of proxies, by the names that `visapult render` and the example `proxy_quality` give them."""

from __future__ import annotations

import re
from dataclasses import dataclass

NAMES = {
    "exact": r"exact, step (?P<number>\d+)",
    "bricks": r"bricks(?: of|,) level (?P<number>\d+)(?:(?: with|,) (?P<bits>\d+) bits)?",
    "slabs": r"(?P<number>\d+) slabs(?: of colour)?",
    "scalar slabs": r"(?P<number>\d+) scalar slabs",
    "segments": r"(?:at most )?(?P<number>\d+) segments(?: a ray)?",
}
WHOLE_BITS = 8


@dataclass(frozen=True)
class Form:
    """What a proxy is: of bricks their level and the bits of a code, else how many slabs or segments a ray there are."""

    kind: str
    number: int
    bits: int = WHOLE_BITS

    @classmethod
    def named(cls, name: str) -> Form:
        """The form that is called so."""
        for kind, pattern in NAMES.items():
            if found := re.fullmatch(pattern, name):
                told = found.groupdict()
                return cls(kind, int(told["number"]), int(told.get("bits") or WHOLE_BITS))
        raise ValueError(f"{name!r} is the name of no proxy: forms.py lists those that are known")
