"""Signals that ask programs to end, and those that they were started to ignore."""

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT
from shares import MEBI, noise_file, sharing, tree_of
from wan import Process


def test_what_nohup_starts_outlives_its_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    noise_file(folder / "density.raw", 41, 32 * MEBI)
    with sharing(folder, "--rate", "200M", prefix=["nohup"]) as share:
        # A second one would end it at once.
        share.process.signal(signal.SIGHUP)
        share.process.signal(signal.SIGHUP)
        copying = Process(["nohup", VISAPULT, "copy", share.url, tmp_path / "here", "--json"])
        assert '"progress"' in copying.read_line()
        copying.signal(signal.SIGHUP)
        copying.signal(signal.SIGHUP)
        assert copying.end().code == 0
        assert tree_of(tmp_path / "here" / "runs") == tree_of(folder)
        share.process.signal(signal.SIGTERM)
        assert share.process.end().code == 0


def test_a_terminal_that_is_gone_ends_what_it_started(tmp_path: Path) -> None:
    # Who runs the tests may have been started with nohup.
    with sharing(tmp_path / "runs", prefix=["env", "--default-signal=HUP"]) as share:
        share.process.signal(signal.SIGHUP)
        assert share.process.end().code == 0


PAGE = ["--port", "0", "--no-open"]


def test_a_back_end_whose_terminal_is_gone_ends_in_order_and_leaves_its_report(tmp_path: Path) -> None:
    with serving("demo:wave?n=16") as serve:
        options = ["--json", tmp_path / "counted.json", *PAGE]
        back_end = Process(["env", "--default-signal=HUP", VISAPULT, "backend", serve.first_line.strip(), *options])
        back_end.read_line()
        for line in back_end.process.stderr or ():
            if "the first step of the simulation is there" in line:
                break
        # The system tells of it, and a shell does, too.
        back_end.signal(signal.SIGHUP)
        back_end.signal(signal.SIGHUP)
        assert back_end.end().code == 0
        assert json.loads((tmp_path / "counted.json").read_text())["first_step_s"] > 0


@pytest.mark.parametrize("command", [["view", "demo:wave?n=16"], ["backend", "--listen", "127.0.0.1:0"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_pages_outlive_signals_that_they_were_started_to_ignore(number: signal.Signals, command: list[str]) -> None:
    served = Process(["env", f"--ignore-signal={number.name[3:]}", VISAPULT, *command, *PAGE])
    # A back end has said its own URL before.
    served.line_with("http://127.0.0.1:")
    ignored = next(line for line in Path(f"/proc/{served.process.pid}/status").read_text().splitlines() if line.startswith("SigIgn:"))
    assert int(ignored.split()[1], 16) >> (number - 1) & 1
    served.signal(signal.SIGTERM)
    assert served.end().code == 0


@contextlib.contextmanager
def serving(source: str) -> Iterator[Process]:
    serve = Process([VISAPULT, "serve", source, "--bind", "127.0.0.1:0"])
    try:
        serve.read_line()
        yield serve
    finally:
        serve.stop()
