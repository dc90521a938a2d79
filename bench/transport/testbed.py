"""`wan` from Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parent.parent.parent
# For whoever measures over the testbed: `machine` is there.
sys.path.append(str(ROOT / "bench"))
WAN = Path(os.environ.get("WAN", ROOT / "target" / "release" / "wan")).resolve()
LEFT, RIGHT = "10.7.0.1", "10.7.0.2"


class Link(Protocol):
    """A link that the testbed can be."""

    def options(self) -> list[str]:
        """What `wan up` is told."""
        ...


class Testbed:
    """A link that is up inside a `with`."""

    def __init__(self, link: Link, seed: int) -> None:
        self.link, self.seed = link, seed
        self.name = f"bench-{os.getpid()}"

    def __enter__(self) -> Testbed:
        self._wan("up", *self.link.options(), "--seed", str(self.seed), "--for", "10m")
        return self

    def __exit__(self, *_: object) -> None:
        self._wan("down")

    def command(self, side: str, command: list[str]) -> list[str]:
        """The command that runs another on one side; it becomes that one, and keeps its process number."""
        return [str(WAN), "exec", "--name", self.name, side, *command]

    def stats(self, *, reset: bool = False) -> dict[str, Any]:
        """What the link has done, and what the testbed got wrong."""
        return json.loads(self._wan("stats", *(["--reset"] if reset else [])))

    def _wan(self, command: str, *options: str) -> str:
        done = subprocess.run([WAN, command, "--name", self.name, *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"wan {command}: {done.stderr.strip()}")
        return done.stdout
