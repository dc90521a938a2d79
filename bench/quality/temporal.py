"""What differences to the step before would save of a keyframe's bytes: `python bench/quality/temporal.py`.

Codes of 10 bits in tiles of 64 x 64, as scalar slabs have them: once as differences within a tile, as they are sent, and once as the same of what changed
since the step before. Fields are solved or turned on by the time between two steps. Writes bench/results/temporal.json and prints a row for each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numcodecs import Zstd

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from machine import machine

EDGE = 128
TILE = 64
MOST_CODE = 1023
ZSTD = Zstd(3)
# Symbols from here on do not fit into half a byte, and at most one of so many is such a one where they are packed.
LARGE = 15
PER_LARGE = 8
# Of every so many faces one is compressed.
FACES = 4
# Of the wave, values that the transfer function tells apart: sources are far louder.
SHOWN = 0.3


def codes(field: np.ndarray, lowest: float, highest: float) -> np.ndarray:
    place = (np.clip(field, lowest, highest) - lowest) / (highest - lowest)
    return np.rint(place * (MOST_CODE - 1)).astype(np.int32) + 1


def compressed(values: np.ndarray) -> int:
    """Bytes of the tiles of some faces: differences to the plane through three neighbours, their signs interleaved, and packed where few are large."""
    total = 0
    for face in values[::FACES]:
        for y in range(0, EDGE, TILE):
            for x in range(0, EDGE, TILE):
                tile = face[y : y + TILE, x : x + TILE]
                differences = np.diff(np.diff(tile, axis=0, prepend=0), axis=1, prepend=0).ravel()
                total += len(ZSTD.encode(packed((differences << 1) ^ (differences >> 31))))
    return total


def packed(symbols: np.ndarray) -> np.ndarray:
    """Bytes of symbols, as the view protocol has them."""
    large = symbols >= LARGE
    if PER_LARGE * large.sum() > len(symbols):
        return split(symbols)
    nibbles = np.minimum(symbols, LARGE)
    return np.concatenate([(nibbles[::2] | nibbles[1::2] << 4).astype(np.uint8), split(symbols[large])])


def split(symbols: np.ndarray) -> np.ndarray:
    return np.concatenate([symbols & 255, symbols >> 8]).astype(np.uint8)


def wave(every: int) -> Iterator[np.ndarray]:
    """The wave equation with five sources, as `demo:wave` solves it to second order: two states `every` solver steps apart."""
    now, before = np.zeros((EDGE,) * 3, np.float32), np.zeros((EDGE,) * 3, np.float32)
    rng = np.random.default_rng(1)
    places, speeds = rng.integers(20, EDGE - 20, (5, 3)), rng.uniform(0.12, 0.3, 5)
    for step in range(256 + every + 1):
        around = sum(np.roll(now, turn, axis) for axis in range(3) for turn in (-1, 1))
        now, before = 2 * now - before + 0.45**2 * (around - 6 * now), now
        for place, speed in zip(places, speeds):
            now[tuple(place)] = 3 * np.sin(speed * step)
        if step in (256, 256 + every):
            yield now.copy()


def turbulence(moved: float, changed: float) -> Iterator[np.ndarray]:
    """A Kolmogorov spectrum of wave numbers up to a quarter of the samples, two states: carried along by `moved` samples, smaller eddies changing faster."""
    rng = np.random.default_rng(2)
    numbers = np.fft.fftfreq(EDGE) * EDGE
    kz, ky, kx = np.meshgrid(numbers, numbers, numbers, indexing="ij")
    length = np.sqrt(kx**2 + ky**2 + kz**2)
    length[0, 0, 0] = 1
    amplitude = np.where(length <= EDGE / 4, length ** (-11 / 6), 0)
    first, second = (rng.normal(size=length.shape) + 1j * rng.normal(size=length.shape) for _ in range(2))
    for time in (0, 1):
        phase = changed * time * length ** (2 / 3)
        spectrum = (first * np.cos(phase) + second * np.sin(phase)) * amplitude * np.exp(2j * np.pi * kx * moved * time / EDGE)
        yield np.fft.ifftn(spectrum).real.astype(np.float32)


def row(name: str, states: Iterator[np.ndarray], shown: float | None = None) -> dict[str, object]:
    before, after = states
    lowest, highest = (-shown, shown) if shown else (min(before.min(), after.min()), max(before.max(), after.max()))
    then, now = (codes(field, lowest, highest) for field in (before, after))
    within, across = compressed(now), compressed(now - then)
    print(f"{name}: {within} bytes within tiles, {across} across steps: {across / within:.2f}", flush=True)
    return {"name": name, "within_bytes": within, "across_bytes": across}


def main() -> None:
    rows = [row(f"wave, {every} solver steps", wave(every), SHOWN) for every in (1, 4, 16)]
    for moved, changed in ((0.1, 0.002), (0.5, 0.01), (1.0, 0.02), (2.0, 0.05)):
        rows.append(row(f"turbulence, carried by {moved:g} samples", turbulence(moved, changed)))
    path = ROOT / "bench/results/temporal.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
