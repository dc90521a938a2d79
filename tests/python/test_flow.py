"""`visapult serve` and what shows it elsewhere: the same pictures, bit for bit, and one clear line for whatever is wrong."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from conftest import VISAPULT, run
from test_bad_input import assert_one_clear_line
from wan import Process

SOON = 30.0


@contextmanager
def serving(source: object, *options: object) -> Iterator[str]:
    server = Process([str(VISAPULT), "serve", str(source), "--bind", "127.0.0.1:0", *map(str, options)])
    try:
        yield server.read_line()
    finally:
        server.stop()


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of 20 x 24 x 28 samples, with values that are no numbers."""
    values = np.random.default_rng(7).normal(size=(3, 28, 24, 20)).astype(np.float32)
    values[1, 3, 4, 5:9] = np.nan
    values[2, 10, :, 2] = np.inf
    path = tmp_path_factory.mktemp("flow") / "series.npy"
    np.save(path, values)
    return path


@pytest.mark.parametrize("pes", [1, 3, 8])
def test_a_file_served_elsewhere_looks_the_same(series: Path, tmp_path: Path, pes: int) -> None:
    with serving(series) as url:
        for step in (2, 0, 1):
            view = ["--time-step", step, "--pes", pes, "--size", "96x96", "--out"]
            run("render", url, *view, tmp_path / "there.png")
            run("render", series, *view, tmp_path / "here.png")
            assert (tmp_path / "there.png").read_bytes() == (tmp_path / "here.png").read_bytes(), f"step {step}"


def test_all_that_a_back_end_has_received_is_counted(tmp_path: Path) -> None:
    np.save(tmp_path / "steps.npy", np.ones((5, 32, 32, 32), np.float32))
    with serving(tmp_path / "steps.npy") as url:
        run("backend", url, "--port", 0, "--no-open", "--for", "2s", "--json", tmp_path / "said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["steps_received"] >= 1
    assert said["bytes"] >= 4 * 32**3 * said["steps_received"]
    assert said["fresh_share"] == 1


def test_what_is_served_is_described(series: Path) -> None:
    with serving(series) as url:
        said = run("info", url).stdout
        assert "20 x 24 x 28" in said
        assert "steps    0 to 2" in said


def test_a_simulation_served_elsewhere_moves_on() -> None:
    with serving("demo:wave?n=32&rate=100") as url:
        newest = lambda: int(run("info", url).stdout.split("steps")[1].split()[0])
        first = newest()
        assert any(newest() > first for _ in range(20))


def test_two_viewers_of_one_flow_get_the_same(series: Path, tmp_path: Path) -> None:
    with serving(series) as url:
        viewers = [
            Process([str(VISAPULT), "render", url, "--time-step", "1", "--size", "64x64", "--out", str(tmp_path / name)])
            for name in ("a.png", "b.png")
        ]
        assert [viewer.end(SOON).code for viewer in viewers] == [0, 0]
        assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_step_that_is_not_there_is_named(series: Path, tmp_path: Path) -> None:
    with serving(series) as url:
        refused = run("render", url, "--time-step", 9, "--out", tmp_path / "x.png", check=False)
        assert refused.returncode != 0
        assert_one_clear_line(refused.stderr, "step 9", "0 to 2")


def test_a_simulation_that_ends_before_the_step_asked_for_is_not_waited_for(tmp_path: Path) -> None:
    with serving("demo:wave?n=16&rate=20") as url:
        asked = [str(VISAPULT), "render", url, "--time-step", "999999", "--out", str(tmp_path / "x.png")]
        waiting = Process(asked)
        # Steps are being received: the simulation is there.
        first = run("render", url, "--out", tmp_path / "first.png")
        assert first.returncode == 0
    ended = waiting.end(SOON)
    assert ended.code == 1
    assert "has no step 999999: it went on to step " in ended.stderr.splitlines()[-1]


def test_a_wrong_token_is_refused(series: Path) -> None:
    with serving(series) as url:
        head, tail = url.removeprefix("ripp://").split("@", 1)
        wrong = f"ripp://{'A' * len(head)}@{tail}"
        refused = run("info", wrong, check=False)
        assert refused.returncode != 0
        assert_one_clear_line(refused.stderr, "token")
        assert "A" * len(head) not in refused.stderr


def test_nobody_there_is_said() -> None:
    refused = run("info", "ripp://127.0.0.1:9/x", check=False)
    assert refused.returncode != 0
    assert_one_clear_line(refused.stderr, "127.0.0.1:9")


def test_what_cannot_be_read_is_not_served(tmp_path: Path) -> None:
    refused = run("serve", tmp_path / "none.npy", "--bind", "127.0.0.1:0", check=False)
    assert refused.returncode != 0
    assert refused.stdout == ""
    assert_one_clear_line(refused.stderr, "none.npy")


def test_a_back_end_that_nobody_dials_says_so() -> None:
    alone = run("backend", "--listen", "127.0.0.1:0", "--no-open", "--for", "500ms", check=False)
    assert alone.returncode == 1
    assert alone.stdout.startswith("ripp://")
    assert "no simulation has come" in alone.stderr


def test_a_back_end_that_comes_back_to_its_address_has_the_url_that_it_had(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(VISAPULT), "backend", "--listen", address, "--no-open", "--port", "0", "--for", "300ms"]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    runs = [subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False, env=environment) for _ in range(2)]
    assert runs[0].stdout.startswith("ripp://"), runs
    urls = [ended.stdout.splitlines()[0] for ended in runs]
    assert urls[0] == urls[1]
    kept = tmp_path / "visapult" / f"backend-{address}.token"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.chmod(0o644)
    refused = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False, env=environment)
    assert_one_clear_line(refused.stderr, kept.name, "chmod 600")


def test_a_host_that_no_url_can_have_is_refused(series: Path) -> None:
    for command in (["serve", series], ["backend"], ["share", series.parent], ["perf", "serve"]):
        refused = run(*command, "--host", "a b#c", check=False)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "a b#c" in refused.stderr
        assert "cannot stand in a URL" in refused.stderr


def test_what_is_nearly_a_url_is_said_to_be_that_without_its_token() -> None:
    for written in ("rip://SECRET@host:1/x#y", "ripp:/SECRET@host:1/x", "RIPP://SECRET@host:1/x"):
        refused = run("info", written, check=False)
        assert refused.returncode != 0
        assert_one_clear_line(refused.stderr, "begins with ripp://")
        assert "SECRET@" not in refused.stderr
