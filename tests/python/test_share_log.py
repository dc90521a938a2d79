"""The log of a share, over months: put aside while the share runs, shared with another, on a disk that is full."""

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from shares import SOON, Sharing, copy, sharing
from wan import eventually


def lines(log: Path) -> list[object]:
    """What the log has, a line at a time; none where a line is not whole."""

    def record(line: str) -> object:
        try:
            return json.loads(line)["what"]
        except ValueError:
            return None

    return [record(line) for line in log.read_text().splitlines()]


def test_a_log_that_is_put_aside_leaves_it_to_another(tmp_path: Path) -> None:
    with sharing(tmp_path / "runs") as share:
        aside = share.log.with_suffix(".1")
        (tmp_path / "runs" / "notes").write_text("step 1")
        assert copy(share.url, tmp_path / "here").code == 0
        assert len(share.copies()) == 1
        share.log.rename(aside)
        assert copy(share.url, tmp_path / "here").code == 0
        assert len(share.copies()) == 1
        assert lines(aside) == ["get"]
        # It says who has asked for what.
        assert [log.stat().st_mode & 0o777 for log in (aside, share.log)] == [0o600, 0o600]


def test_a_record_that_a_full_disk_cuts_spoils_no_other(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        log, ballast = disk / "log", disk / "ballast"
        # The next record ends beyond the page, and there is no other.
        log.write_text(f'{{"what":"{"x" * 3900}"}}\n')
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(4096))
        (tmp_path / "runs").mkdir()
        (tmp_path / "runs" / "notes").write_text("step 1")
        share = Sharing(tmp_path / "runs", log=log)
        try:
            assert copy(share.url, tmp_path / "here").code == 0
            share.process.read_line()
            ballast.unlink()
            assert copy(share.url, tmp_path / "here").code == 0
            share.process.read_line()
        finally:
            share.process.stop()
        assert lines(log)[1:] == [None, "get"]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_share_whose_lines_nobody_reads_goes_on(tmp_path: Path) -> None:
    policy = tmp_path / "people.toml"
    grace, bob = (f'[[person]]\nname = "{name}"\nread = ["."]\n' for name in ("grace", "bob"))
    policy.write_text(f'ask = "Ada"\n{grace}{bob}')
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "notes").write_text("step 1")
    share = Sharing(tmp_path / "runs", "--policy", policy, log=tmp_path / "log")
    try:
        bobs = share.process.said.readline().split()[-1]
        clog(share)
        assert copy(share.url, tmp_path / "graces").code == 0
        assert copy(bobs, tmp_path / "bobs").code == 0
        assert [entry["who"] for entry in share.copies(2)] == ["grace", "bob"]
        policy.write_text(f'ask = "Ada"\n{grace}')
        eventually("that Bob is not let in", lambda: copy("--retry", "0s", bobs, tmp_path / "bobs").code != 0)
        assert copy(share.url, tmp_path / "graces").code == 0
        share.process.signal(signal.SIGTERM)
        assert share.process.process.wait(SOON) == 0
    finally:
        share.process.stop()


def clog(share: Sharing) -> None:
    """Fills the pipe that it writes its lines to."""
    pipe = os.open(f"/proc/{share.process.process.pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
        while True:
            os.write(pipe, b"x")
    except BlockingIOError:
        pass
    finally:
        os.close(pipe)
