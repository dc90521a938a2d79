"""The equations of `docs/src/rendering.md` in numpy: an implementation that shares nothing with the program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtk_reference import REFERENCE_LENGTH, Camera

OPAQUE = 1.0 / 1024.0


def reference_image(
    values: np.ndarray,
    points: Sequence[Sequence[float]],
    camera: Camera = Camera(),
    size: tuple[int, int] = (512, 512),
    sample_step: float = 1.0,
    value_range: tuple[float, float] | None = None,
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0),
    cell_centred: bool = False,
    every: int = 1,
) -> np.ndarray:
    """Associated RGBA of `values` (`[z, y, x]`), in 0..1, `[rows, columns, 4]`.

    `every` = n casts only pixels n/2, n/2 + n, ... of each row and column.
    """
    counts = np.array(values.shape[::-1])
    lengths = (counts if cell_centred else np.maximum(counts - 1, 1)) * np.array(spacing, float)
    edges, world_spacing = lengths / lengths.max(), np.array(spacing, float) / lengths.max()
    dt = sample_step * world_spacing[counts > 1].min()
    lo, hi = value_range or (float(np.nanmin(values)), float(np.nanmax(values)))
    eye, direction = camera.eye(), _directions(camera, size, every)
    shape, direction = direction.shape[:2], direction.reshape(-1, 3)
    t_in, t_out = _chords(eye, direction, edges)
    rays = np.flatnonzero(t_in < t_out)
    image = np.zeros((len(direction), 4))
    table = np.array(points, float)
    k = 0
    while len(rays):
        t = t_in[rays] + (k + 0.5) * dt
        rays = rays[(t < t_out[rays]) & (image[rays, 3] < 1 - OPAQUE)]
        t = t_in[rays] + (k + 0.5) * dt
        position = (eye + t[:, None] * direction[rays] + edges / 2) / world_spacing - (0.5 if cell_centred else 0.0)
        s = (_trilinear(values, position) - lo) / (hi - lo)
        color = np.stack([np.interp(s, table[:, 0], table[:, c]) for c in range(1, 5)], axis=1)
        color[np.isnan(s)] = 0.0
        alpha = 1.0 - (1.0 - color[:, 3]) ** (dt / REFERENCE_LENGTH)
        weight = (1.0 - image[rays, 3]) * alpha
        image[rays, :3] += weight[:, None] * color[:, :3]
        image[rays, 3] += weight
        k += 1
    return image.reshape(*shape, 4)


def _directions(camera: Camera, size: tuple[int, int], every: int) -> np.ndarray:
    width, height = size
    forward = np.array(camera.target) - camera.eye()
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    half = np.tan(np.radians(camera.fov) / 2)
    columns, rows = np.arange(every // 2, width, every), np.arange(every // 2, height, every)
    sx = ((columns + 0.5) / width * 2 - 1) * half * width / height
    sy = (1 - (rows + 0.5) / height * 2) * half
    direction = forward + sx[None, :, None] * right + sy[:, None, None] * up
    return direction / np.linalg.norm(direction, axis=2, keepdims=True)


def _chords(eye: np.ndarray, direction: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(divide="ignore"):
        faces = np.stack([(-edges / 2 - eye) / direction, (edges / 2 - eye) / direction])
    return np.maximum(faces.min(axis=0).max(axis=1), 0.0), faces.max(axis=0).min(axis=1)


def _trilinear(values: np.ndarray, position: np.ndarray) -> np.ndarray:
    counts = np.array(values.shape[::-1])
    position = np.clip(position, 0.0, counts - 1.0)
    below = np.minimum(position.astype(int), np.maximum(counts - 2, 0))
    above = np.minimum(below + 1, counts - 1)
    weight = position - below
    total = np.zeros(len(position))
    for corner in range(8):
        upper = [corner >> axis & 1 for axis in range(3)]
        x, y, z = (above[:, a] if upper[a] else below[:, a] for a in range(3))
        share = np.prod([weight[:, a] if upper[a] else 1.0 - weight[:, a] for a in range(3)], axis=0)
        total += share * values[z, y, x]
    return total
