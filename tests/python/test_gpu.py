"""What a graphics processor makes of the program's sources. Mesa's lavapipe stands in for one; without it, all of this is skipped."""

import json
from pathlib import Path

import numpy as np
import pytest

from conftest import run
from images import psnr, read_png

SIZE = ("--size", "160x120")


@pytest.fixture(scope="module")
def source(volume: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    np.save(folder / "volume.npy", volume)
    tried = run("render", folder / "volume.npy", "--out", folder / "a.png", *SIZE, "--device", "software", check=False)
    if tried.returncode != 0:
        assert "Vulkan driver" in tried.stderr, tried.stderr
        pytest.skip(tried.stderr.strip())
    return folder / "volume.npy"


def made(source: Path, folder: Path, device: str, *options: object) -> tuple[np.ndarray, dict]:
    image, cost = folder / "image.png", folder / "cost.json"
    finished = run("render", source, "--out", image, "--json", cost, *SIZE, "--device", device, *options)
    assert finished.stderr == ""
    return read_png(image), json.loads(cost.read_text())


@pytest.mark.parametrize("pes", [1, 8])
def test_the_image_is_that_of_the_processor(pes: int, source: Path, tmp_path: Path) -> None:
    view = ("--pes", pes, "--az", 70, "--el", -15, "--distance", 1.8)
    image, cost = made(source, tmp_path, "software", *view)
    expected, reference = made(source, tmp_path, "cpu", *view)
    assert psnr(image, expected) >= 50
    assert reference["device"] == "cpu" and cost["device"] != "cpu"
    assert cost["seconds"]["upload"] > 0 == reference["seconds"]["upload"]


def test_a_driver_on_the_processor_is_no_graphics_processor(source: Path, tmp_path: Path) -> None:
    refused = run("render", source, "--out", tmp_path / "a.png", "--device", "gpu", check=False)
    if refused.returncode == 0:
        pytest.skip("this machine has a graphics processor")
    assert "install the driver, or render on the processor" in refused.stderr
    assert made(source, tmp_path, "auto")[1]["device"] == "cpu"
