"""Exact images held against VTK's ray caster and against the equations in numpy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import run
from images import psnr, read_png
from reference import reference_image
from vtk_reference import Camera, VtkRayCaster

SIZE = (240, 180)
SOFT = [[0.0, 0.1, 0.2, 0.9, 0.0], [0.3, 0.2, 0.7, 0.8, 0.02], [0.7, 0.9, 0.8, 0.2, 0.1], [1.0, 0.9, 0.1, 0.1, 0.4]]
CAMERAS = [
    Camera(),
    Camera(azimuth=0.0, elevation=0.0),
    Camera(azimuth=-130.0, elevation=-55.0, distance=2.2, fov=40.0),
]
GRIDS: dict[str, dict[str, Any]] = {
    "points": {"spacing": (1.0, 1.0, 1.0), "cell_centred": False},
    "uneven": {"spacing": (1.0, 2.0, 0.5), "cell_centred": False},
    "cells": {"spacing": (1.0, 1.0, 1.0), "cell_centred": True},
}


def picture(volume: np.ndarray, grid: dict[str, Any], camera: Camera, folder: Path, crop: str = ":,:,:") -> np.ndarray:
    volume.astype("<f4").tofile(folder / "volume.raw")
    sidecar = {
        "file": "volume.raw",
        "type": "f32",
        "size": list(volume.shape[::-1]),
        "spacing": grid["spacing"],
        "centering": "cell" if grid["cell_centred"] else "point",
    }
    (folder / "volume.json").write_text(json.dumps(sidecar))
    (folder / "tf.json").write_text(json.dumps({"range": None, "points": SOFT}))
    options = {
        "--out": folder / "image.png",
        "--size": f"{SIZE[0]}x{SIZE[1]}",
        "--tf": folder / "tf.json",
        "--az": camera.azimuth,
        "--el": camera.elevation,
        "--distance": camera.distance,
        "--fov": camera.fov,
        "--crop": crop,
    }
    run("render", folder / "volume.json", *(f"{name}={value}" for name, value in options.items()))
    return read_png(folder / "image.png")


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("camera", CAMERAS)
def test_images_are_those_of_the_equations(grid: str, camera: Camera, volume: np.ndarray, tmp_path: Path) -> None:
    expected = reference_image(volume, SOFT, camera, SIZE, **GRIDS[grid])
    expected = np.floor(np.clip(expected[..., :3], 0, 1) * 255 + 0.5)
    assert expected.max() > 50
    assert psnr(picture(volume, GRIDS[grid], camera, tmp_path), expected) >= 50


@pytest.mark.parametrize("grid", ["points", "uneven"])
@pytest.mark.parametrize("camera", CAMERAS)
def test_images_are_those_of_vtk(grid: str, camera: Camera, volume: np.ndarray, tmp_path: Path) -> None:
    expected = VtkRayCaster(volume, SOFT, size=SIZE, **GRIDS[grid]).render(camera)
    assert expected.max() > 50
    assert psnr(picture(volume, GRIDS[grid], camera, tmp_path), expected) >= 38


@pytest.mark.parametrize("camera", CAMERAS)
def test_cropped_images_are_those_of_vtk(camera: Camera, volume: np.ndarray, tmp_path: Path) -> None:
    crop = [(0.3, 1.0), (0.0, 0.62), (0.21, 0.8)]
    expected = VtkRayCaster(volume, SOFT, size=SIZE, crop=crop, **GRIDS["uneven"]).render(camera)
    assert expected.max() > 50
    said = ",".join(f"{low}:{high}" for low, high in crop)
    assert psnr(picture(volume, GRIDS["uneven"], camera, tmp_path, said), expected) >= 38
    assert psnr(picture(volume, GRIDS["uneven"], camera, tmp_path), expected) < 25
