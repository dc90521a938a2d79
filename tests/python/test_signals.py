"""Signals that ask programs to end, and those that they were started to ignore."""

import signal
from pathlib import Path

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
