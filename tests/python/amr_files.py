"""Adaptively refined cells: VTKHDF files of them as the specification has it, what VTK reads of those, and what lies between levels in numpy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy

#: First and last cell along x, y, z.
Corners = tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Level:
    """Boxes of cells that are `edge` long."""

    edge: float
    boxes: list[Corners]


def cells(box: Corners) -> tuple[slice, slice, slice]:
    """The cells of a box in an array of all of its level, [z, y, x]."""
    i0, i1, j0, j1, k0, k1 = box
    return slice(k0, k1 + 1), slice(j0, j1 + 1), slice(i0, i1 + 1)


def pinwheel(first: tuple[int, int, int], arm: int, width: int, depth: int) -> list[Corners]:
    """Four boxes around a middle one, each before the next from some sides: no plane parts any from the others."""
    x, y, z = first
    long, whole = arm + width, arm + 2 * width
    flat = [(0, long, 0, width), (long, whole, 0, long), (width, whole, long, whole), (0, width, width, whole), (width, long, width, long)]
    return [(x + a, x + b - 1, y + c, y + d - 1, z, z + depth - 1) for a, b, c, d in flat]


def sampled(level: Level, size: Sequence[int], field: Callable[..., np.ndarray]) -> np.ndarray:
    """A field at the centres of all cells of a level, in steps that leave the arithmetic between levels exact."""
    z, y, x = np.meshgrid(*((np.arange(n) + 0.5) * level.edge for n in size), indexing="ij")
    return np.round(field(x, y, z) * 256) / 256


def write(path: Path, levels: Sequence[Level], values: Sequence[np.ndarray], kind: str = "f4", **options: Any) -> Path:
    """`values`: of all cells of each level, of which the boxes are stored."""
    with h5py.File(path, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs.update({"Version": [2, 3], "Type": np.bytes_("OverlappingAMR"), "Origin": [0.0, 0.0, 0.0]})
        root.attrs["GridDescription"] = np.bytes_("XYZ")
        for number, (level, of_level) in enumerate(zip(levels, values)):
            group = root.create_group(f"Level{number}")
            group.attrs["Spacing"] = [level.edge] * 3
            group["AMRBox"] = np.array(level.boxes, "i4")
            flat = np.concatenate([of_level[cells(box)].ravel() for box in level.boxes]).astype(kind)
            group.create_dataset("CellData/u", data=flat, **options)
    return path


def refined(coarse: np.ndarray, ratio: int) -> np.ndarray:
    """Linear between the centres of cells, and constant beyond the outermost; the value of the cell where that is missing."""
    fine = coarse
    for axis, count in enumerate(coarse.shape):
        centres = (np.arange(count * ratio) + 0.5) / ratio - 0.5
        fine = np.apply_along_axis(lambda line: np.interp(centres, np.arange(len(line)), line), axis, fine)
    nearest = coarse.repeat(ratio, 0).repeat(ratio, 1).repeat(ratio, 2)
    return np.where(np.isfinite(fine), fine, nearest)


def composed(levels: Sequence[Level], values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """All cells of each level, coarsest first, as its boxes and the coarser levels have them."""
    made: list[np.ndarray] = []
    for number, (level, of_level) in enumerate(zip(levels, values)):
        ratio = round(levels[number - 1].edge / level.edge) if number else 1
        whole = refined(made[-1], ratio) if number else np.full(of_level.shape, np.nan)
        for box in level.boxes:
            whole[cells(box)] = of_level[cells(box)]
        made.append(whole)
    return made


def read_by_vtk(path: Path, step: int = 0) -> vtk.vtkOverlappingAMR:
    """All levels, as VTK's own reader has them; what it complains of is an error."""
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.SetMaximumLevelsToReadByDefaultForAMR(0)
    reader.SetStep(step)
    complaints: list[str] = []
    reader.AddObserver("ErrorEvent", lambda *_: complaints.append("error"))
    reader.Update()
    assert not complaints
    return reader.GetOutputDataObject(0)


def blocks_of(amr: vtk.vtkOverlappingAMR, level: int, name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Where the first cell of each block of a level is (its centre, along x, y, z), and the values, [z, y, x]."""
    found = []
    for index in range(amr.GetNumberOfBlocks(level)):
        block = amr.GetDataSetAsImageData(level, index)
        counts = np.array(block.GetDimensions()) - 1
        values = vtk_to_numpy(block.GetCellData().GetArray(name)).reshape(counts[::-1])
        found.append((np.array(block.GetOrigin()) + np.array(block.GetSpacing()) / 2, values))
    return found
