"""Fixtures: the program under test, and a volume that no symmetry can hide."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

# A shell that starts us in the background has us ignore interrupts, and with us all that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

VISAPULT = Path(os.environ.get("VISAPULT", "target/release/visapult")).resolve()


def limit_memory(most: int | None) -> None:
    """Makes this process and those it starts fail to get more than so many bytes of address space."""
    if most is not None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(*arguments: object, check: bool = True, memory: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `visapult` to its end, with at most so many bytes of memory; a run that hangs is a failure."""
    finished = subprocess.run(
        [VISAPULT, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False, preexec_fn=lambda: limit_memory(memory),
    )  # fmt: skip
    if check and finished.returncode != 0:
        raise AssertionError(f"exit {finished.returncode}: {finished.stderr}")
    return finished


@pytest.fixture(scope="session")
def volume() -> np.ndarray:
    """Three blobs of different size and weight in 48 x 40 x 56 samples (nx, ny, nz), float32, [z, y, x]."""
    z, y, x = np.meshgrid(
        np.linspace(0, 1, 56), np.linspace(0, 1, 40), np.linspace(0, 1, 48), indexing="ij"
    )
    blobs = [((0.3, 0.4, 0.6), 0.15, 1.0), ((0.7, 0.6, 0.3), 0.2, 0.7), ((0.5, 0.2, 0.8), 0.1, 0.9)]
    field = np.zeros_like(x)
    for (cx, cy, cz), width, weight in blobs:
        field += weight * np.exp(-((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2) / (2 * width**2))
    return field.astype(np.float32)
