"""What the benches of flows start at the ends of a link, and how they end it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "bench/transport"))

from columns import Column
from measure import end
from testbed import Testbed

VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
PATIENCE = 30
Result = TypeVar("Result")


def start(bed: Testbed, side: str, command: list[object], **environment: str) -> subprocess.Popen[str]:
    whole = bed.command(side, [str(word) for word in command])
    settings = {**os.environ, **environment}
    return subprocess.Popen(
        whole, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settings, start_new_session=True
    )


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line it prints. No more is read: what Python has read ahead, `select` does not see."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        letter = os.read(process.stdout.fileno(), 1) if ready else b""
        if not letter:
            raise SystemExit(f"{process.args} did not start")
        line += letter
    return line.decode().strip()


def build_wave(folder: Path) -> Path:
    """The example simulation, built against the library beside the program."""
    wave = folder / "wave"
    settings = ["MPICC=mpicc.mpich", f"OUT={wave}", f"VISAPULT={VISAPULT.parent}"]
    subprocess.run(["make", "--silent", "-f", ROOT / "examples/wave/Makefile", *settings], check=True)
    return wave


def undisturbed(link: Column, seed: int, measure: Callable[[Testbed], Result]) -> Result:
    """One run over a link of its own, again if the testbed did not keep up."""
    for attempt in range(3):
        with Testbed(link, seed + 100 * attempt) as bed:
            result = measure(bed)
            if bed.stats()["own_errors"]["kept_up"]:
                return result
    raise SystemExit("the testbed does not keep up: the machine is too busy to measure on")
