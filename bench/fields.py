"""The three fields that renderings are measured on, and a transfer function for each.

Every field is a float32 array `[z, y, x]` of `n` samples a side, the same shape at every resolution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Points = list[tuple[float, float, float, float, float]]


@dataclass(frozen=True)
class Case:
    """A field and how it is shown."""

    name: str
    make: Callable[[int], np.ndarray]
    points: Points

    def transfer_function(self, values: np.ndarray) -> dict[str, object]:
        """The transfer function over the range of `values`, as the JSON that `visapult` reads."""
        return {"range": [float(values.min()), float(values.max())], "points": self.points}


def waves(n: int) -> np.ndarray:
    """Spherical waves of three sources, interfering."""
    return spherical_waves(n, 1.0)


def spherical_waves(n: int, faster: float) -> np.ndarray:
    """The same, with wave numbers multiplied by `faster`."""
    z, y, x = _axes(n)
    total = np.zeros((n, n, n), np.float32)
    for (cx, cy, cz), k in [((0.3, 0.1, -0.2), 42.0), ((-0.35, -0.2, 0.1), 36.0), ((0.0, 0.35, 0.3), 48.0)]:
        r = np.sqrt((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2)
        total += np.sin(faster * k * r) / (1.0 + 6.0 * r)
    return total


def turbulence(n: int) -> np.ndarray:
    """A random field with a Kolmogorov spectrum: the sum of 400 Fourier modes of wave numbers 1 to 24."""
    return spectrum(n, 400, 24.0)


def spectrum(n: int, modes: int, most: float) -> np.ndarray:
    """A random field with a Kolmogorov spectrum, of Fourier modes of wave numbers 1 to `most`."""
    return np.stack(list(layers_of_spectrum(n, modes, most)))


def layers_of_spectrum(n: int, modes: int, most: float) -> Iterator[np.ndarray]:
    """Its layers `[y, x]`, one after another: a field that memory does not hold."""
    rng = np.random.default_rng(5)
    axis = ((np.arange(n) / (n - 1)) - 0.5).astype(np.float32)
    waves, amplitudes = np.empty((3, modes, n), np.complex64), np.empty((modes, 1), np.float32)
    for mode in range(modes):
        wave_number = most ** rng.random()
        direction = rng.normal(size=3)
        numbers = 2 * np.pi * np.round(wave_number * direction / np.linalg.norm(direction))
        phases = (0, 0, rng.random() * 2 * np.pi)
        for along, (number, phase) in enumerate(zip(numbers, phases, strict=True)):
            waves[along, mode] = np.exp(1j * (number * axis + phase))
        amplitudes[mode] = wave_number ** (-5.0 / 6.0)
    x, y, z = waves
    # The real part of a sum of products, as one product of real matrices.
    across = np.concatenate([x.real, -x.imag])
    for layer in range(n):
        along = amplitudes * z[:, layer : layer + 1] * y
        yield np.concatenate([along.real, along.imag]).T @ across


def blobs(n: int) -> np.ndarray:
    """Sixty Gaussians that merge."""
    rng = np.random.default_rng(11)
    total = np.zeros((n, n, n), np.float32)
    axis = ((np.arange(n) / (n - 1)) - 0.5).astype(np.float32)
    for _ in range(60):
        centre = rng.uniform(-0.38, 0.38, 3)
        sigma = rng.uniform(0.04, 0.1)
        gx, gy, gz = (np.exp(-((axis - c) ** 2) / (2 * sigma**2)).astype(np.float32) for c in centre)
        total += gz[:, None, None] * gy[None, :, None] * gx[None, None, :]
    return total


def _axes(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    axis = ((np.arange(n) / (n - 1)) - 0.5).astype(np.float32)
    return axis[:, None, None], axis[None, :, None], axis[None, None, :]


THIN_SHELLS: Points = [
    (0.00, 0.10, 0.20, 0.80, 0.0),
    (0.24, 0.20, 0.45, 0.95, 0.0),
    (0.26, 0.20, 0.45, 0.95, 0.5),
    (0.28, 0.20, 0.45, 0.95, 0.0),
    (0.62, 0.95, 0.75, 0.30, 0.0),
    (0.64, 0.95, 0.75, 0.30, 0.6),
    (0.66, 0.95, 0.75, 0.30, 0.0),
    (0.80, 0.90, 0.25, 0.15, 0.0),
    (0.82, 0.90, 0.25, 0.15, 0.9),
    (0.84, 0.90, 0.25, 0.15, 0.0),
    (1.00, 1.00, 1.00, 1.00, 0.0),
]
SOFT_CLOUD: Points = [
    (0.00, 0.10, 0.10, 0.40, 0.06),
    (0.35, 0.15, 0.45, 0.75, 0.01),
    (0.50, 0.80, 0.85, 0.80, 0.0),
    (0.65, 0.95, 0.65, 0.25, 0.02),
    (1.00, 0.80, 0.10, 0.05, 0.25),
]
SOFT_BLOBS: Points = [
    (0.00, 0.05, 0.05, 0.30, 0.0),
    (0.05, 0.15, 0.20, 0.60, 0.002),
    (0.40, 0.20, 0.70, 0.60, 0.015),
    (0.75, 0.95, 0.80, 0.30, 0.05),
    (1.00, 0.95, 0.20, 0.10, 0.20),
]

CASES = [
    Case("waves", waves, THIN_SHELLS),
    Case("turbulence", turbulence, SOFT_CLOUD),
    Case("blobs", blobs, SOFT_BLOBS),
]
