"""Images held against each other: PEs, steps, proxies."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from conftest import VISAPULT, run
from images import psnr, read_png
from wan import Process


@pytest.fixture(scope="session")
def source(volume: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("render") / "volume.npy"
    np.save(path, volume)
    return str(path)


def image_of(source: str, folder: Path, *options: object) -> np.ndarray:
    run("render", source, "--out", folder / "image.png", "--size", "192x192", *options)
    return read_png(folder / "image.png")


@pytest.mark.parametrize("pes", [2, 8])
def test_any_number_of_pes_gives_one_image(pes: int, source: str, tmp_path: Path) -> None:
    assert psnr(image_of(source, tmp_path, "--pes", pes), image_of(source, tmp_path)) >= 60


def test_proxies_come_close_to_the_exact_image(source: str, tmp_path: Path) -> None:
    exact = image_of(source, tmp_path, "--az", 45, "--sample-step", 0.5)
    bricks = image_of(source, tmp_path, "--az", 45, "--sample-step", 0.5, "--proxy", "bricks")
    slabs = image_of(source, tmp_path, "--az", 45, "--proxy", "slabs", "--key-az", 30)
    assert psnr(bricks, exact) >= 40
    assert psnr(slabs, exact) >= 35
    segments = image_of(source, tmp_path, "--az", 45, "--proxy", "segments", "--key-az", 30, "--json", tmp_path / "cost.json")
    assert psnr(segments, exact) >= 38
    cost = json.loads((tmp_path / "cost.json").read_text())
    assert cost["proxy"] == "segments" and 0 < cost["wire_bytes"] < 48 * 40 * 56 * 4


def test_scalar_slabs_show_any_transfer_function(source: str, tmp_path: Path) -> None:
    shell = [[0.55, 1, 0.8, 0.3, 0], [0.6, 1, 0.8, 0.3, 0.8], [0.65, 1, 0.8, 0.3, 0]]
    tf = tmp_path / "shell.json"
    tf.write_text(json.dumps({"range": None, "points": shell}))
    for options in ([], ["--tf", tf]):
        exact = image_of(source, tmp_path, "--az", 46, "--sample-step", 0.25, *options)
        slabs = image_of(source, tmp_path, "--az", 46, "--proxy", "scalar-slabs", "--key-az", 30, *options)
        assert psnr(slabs, exact) >= 36


@pytest.mark.parametrize("proxy", ["exact", "bricks", "slabs", "scalar-slabs", "segments", "auto"])
def test_what_is_cut_away_is_not_shown_through_any_proxy(proxy: str, source: str, tmp_path: Path) -> None:
    crop = ["--crop", "0.3:,:0.6,0.25:0.8"]
    image = image_of(source, tmp_path, "--proxy", proxy, *crop, "--json", tmp_path / "cost.json")
    assert json.loads((tmp_path / "cost.json").read_text())["camera"]["crop"] == [[0.3, 1], [0, 0.6], [0.25, 0.8]]
    assert psnr(image, image_of(source, tmp_path, "--sample-step", 0.5, *crop)) >= 35
    assert psnr(image, image_of(source, tmp_path)) < 25


def test_a_part_is_that_of_any_number_of_pes_and_of_little_memory(source: str, tmp_path: Path) -> None:
    crop = ["--crop", "0.3:,:0.6,0.25:0.8"]
    whole = image_of(source, tmp_path, *crop)
    for proxy in ("exact", "slabs"):
        one = image_of(source, tmp_path, "--proxy", proxy, *crop)
        assert psnr(one, image_of(source, tmp_path, "--pes", 5, "--proxy", proxy, *crop)) >= 60
        assert psnr(one, image_of(source, tmp_path, "--memory", "300kB", "--proxy", proxy, *crop)) >= 45
        assert psnr(one, whole) >= 35


def test_a_part_that_is_none_is_refused(source: str, tmp_path: Path) -> None:
    for wrong, words in [("0.5:0.5,:,:", "upwards"), ("0.7:0.2,:,:", "upwards"), (":,:,:1.5", "1 at most"), (":,:", "0.25:0.75"), ("x:,:,:", "0.25:0.75")]:
        refused = run("render", source, "--out", tmp_path / "no.png", "--crop", wrong, check=False)
        assert refused.returncode != 0 and words in refused.stderr
        assert not (tmp_path / "no.png").exists()


def test_a_stretched_axis_is_that_of_a_file_whose_samples_lie_so_far_apart(tmp_path: Path) -> None:
    np.arange(40 * 40 * 6, dtype="f4").tofile(tmp_path / "layer.raw")

    def layer(spacing: list[float]) -> str:
        path = tmp_path / f"{spacing[2]}.json"
        path.write_text(json.dumps({"file": "layer.raw", "size": [40, 40, 6], "type": "f32", "spacing": spacing}))
        return str(path)

    for proxy in ("exact", "auto"):
        stretched = image_of(layer([1, 1, 0.5]), tmp_path, "--proxy", proxy, "--stretch", "1,1,8", "--json", tmp_path / "cost.json")
        assert stretched.any() and json.loads((tmp_path / "cost.json").read_text())["camera"]["stretch"] == [1, 1, 8]
        assert np.array_equal(stretched, image_of(layer([1, 1, 4]), tmp_path, "--proxy", proxy))
    for wrong in ("1,1", "1,1,0", "1,1,-2", "1,1,1e9", "1,1,thick"):
        refused = run("render", layer([1, 1, 1]), "--out", tmp_path / "no.png", "--stretch", wrong, check=False)
        assert refused.returncode != 0 and "stretch" in refused.stderr
        assert not (tmp_path / "no.png").exists()


def test_the_choice_under_a_budget_says_why(source: str, tmp_path: Path) -> None:
    image_of(source, tmp_path, "--az", 45, "--proxy", "auto", "--budget", "60kB", "--json", tmp_path / "cost.json")
    cost = json.loads((tmp_path / "cost.json").read_text())
    assert cost["wire_bytes"] <= 60_000 and cost["proxy"] != "auto"
    assert "within 60 kB," in cost["choice"]["reason"]
    candidates = cost["choice"]["candidates"]
    assert len(candidates) > 5 and any(not candidate["fits"] for candidate in candidates)


def test_scalar_slabs_keep_what_is_shown_of_data_with_a_spike(tmp_path: Path) -> None:
    z, y, x = np.mgrid[0:40, 0:40, 0:40].astype(np.float32) / 39 - 0.5
    values = np.sin(12 * np.sqrt(x * x + y * y + z * z))
    values[20, 20, 20] = 1e7
    np.save(tmp_path / "spike.npy", values)
    tf = tmp_path / "tf.json"
    points = [[0, 0.1, 0.3, 0.9, 0.1], [0.5, 0.9, 0.9, 0.9, 0], [1, 0.9, 0.3, 0.1, 0.1]]
    tf.write_text(json.dumps({"range": [-1, 1], "points": points}))
    view = ["--az", 40, "--tf", tf]
    exact = image_of(str(tmp_path / "spike.npy"), tmp_path, *view, "--sample-step", 0.25)
    slabs = image_of(str(tmp_path / "spike.npy"), tmp_path, *view, "--proxy", "scalar-slabs")
    assert psnr(slabs, exact) >= 36


def test_the_cost_is_told(source: str, tmp_path: Path) -> None:
    image_of(source, tmp_path, "--json", tmp_path / "cost.json", "--threads", 1)
    cost = json.loads((tmp_path / "cost.json").read_text())
    assert {"load", "render", "encode", "total"} <= cost["seconds"].keys()
    assert cost["samples"] > 0
    assert cost["threads"] == 1
    assert cost["wire_bytes"] > 0
    assert cost["peak_bytes"] > 48 * 40 * 56 * 4


def test_the_live_wave_can_be_rendered_at_a_step(tmp_path: Path) -> None:
    run("render", "demo:wave?n=32", "--time-step", 20, "--out", tmp_path / "wave.png", "--size", "128x128")
    assert read_png(tmp_path / "wave.png").max() > 30


def test_a_field_is_seen_by_its_logarithm(volume: np.ndarray, tmp_path: Path) -> None:
    """As the file of the logarithms is; what is not above 0 is not there."""
    logarithms = np.where(np.abs(volume) < 0.02, np.nan, 4 * volume).astype(np.float32)
    values = np.nan_to_num(10.0 ** logarithms.astype(np.float64), nan=-1.0)
    np.save(tmp_path / "p.npy", values)
    np.save(tmp_path / "l.npy", logarithms)
    function = tmp_path / "f.json"
    function.write_text(json.dumps({"range": [-4, 4], "points": [[0, 0, 0, 1, 0.5], [0.5, 0, 1, 0, 0.1], [1, 1, 0, 0, 0.5]]}))
    seen = ["--tf", function, "--field"]
    for proxy in ["exact", "bricks", "scalar-slabs"]:
        one, other = (
            image_of(str(tmp_path / name), tmp_path, *seen, field, "--proxy", proxy)
            for name, field in [("p.npy", "log10(p)"), ("l.npy", "l")]
        )
        assert one[..., :3].max() > 100
        assert psnr(one, other) > 45, proxy
    refused = run("render", tmp_path / "p.npy", "--out", tmp_path / "x.png", "--field", "log10(q)", check=False)
    assert "p.npy has no field log10(q): it has p, and log10(NAME) of each" in refused.stderr


def test_a_vector_is_seen_by_its_magnitude(volume: np.ndarray, tmp_path: Path) -> None:
    """As the file of the magnitudes is; where a component is missing, so are they."""
    x, y, z = volume, volume[::-1] * 0.5, np.where(volume > 0.9, np.nan, 0.25)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        for name, values in {"Bx": x, "By": y, "Bz": z, "rho": volume}.items():
            file[name] = values.astype(np.float32)
            file[name].attrs["units"] = "T" if name.startswith("B") else "kg/m3"
    np.save(tmp_path / "m.npy", np.sqrt(x**2 + y**2 + z**2).astype(np.float32))
    for proxy in ["exact", "bricks"]:
        one, other = (
            image_of(str(tmp_path / name), tmp_path, "--field", field, "--proxy", proxy) for name, field in [("b.h5", "|B|"), ("m.npy", "m")]
        )
        assert one[..., :3].max() > 100
        assert psnr(one, other) > 55, proxy
    logarithm, other = (
        image_of(str(tmp_path / name), tmp_path, "--field", field) for name, field in [("b.h5", "log10(|B|)"), ("m.npy", "log10(m)")]
    )
    assert psnr(logarithm, other) > 55
    told = run("info", tmp_path / "b.h5").stdout
    assert "  made     |B|, the magnitude of Bx, By, Bz\n" in told
    assert json.loads(run("info", "--json", tmp_path / "b.h5").stdout)["magnitudes"] == [{"name": "|B|", "components": ["Bx", "By", "Bz"]}]
    refused = run("render", tmp_path / "b.h5", "--out", tmp_path / "x.png", "--field", "B", check=False)
    assert "it has Bx, By, Bz, rho, |B|, and log10(NAME) of each" in refused.stderr
    serving = Process([VISAPULT, "serve", str(tmp_path / "b.h5"), "--bind", "127.0.0.1:0"])
    try:
        far = image_of(serving.read_line(), tmp_path, "--field", "|B|")
    finally:
        serving.stop()
    assert psnr(far, image_of(str(tmp_path / "b.h5"), tmp_path, "--field", "|B|")) > 60
