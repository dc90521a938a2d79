"""What lets people into a share: whole or not there, and nothing to be shared."""

import os
import subprocess
from pathlib import Path

import pytest

from conftest import VISAPULT
from shares import SOON
from test_bad_input import assert_one_clear_line
from wan import ENVIRONMENT, Process

POLICY = 'ask = "Ada"\n[[person]]\nname = "grace"\nread = ["."]\n'


def share(*options: object, **environment: object) -> subprocess.CompletedProcess[str]:
    """A share that ends at once, if not before."""
    command = [str(VISAPULT), "share", "--bind", "127.0.0.1:0", "--for", "0s", *map(str, options)]
    variables = {**ENVIRONMENT, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SOON, check=False)


@pytest.mark.parametrize("within", ["", "config", "config/visapult"])
def test_the_folder_of_keys_and_tokens_is_not_shared(tmp_path: Path, within: str) -> None:
    config = tmp_path / "home" / "config"
    (tmp_path / "home" / "runs").mkdir(parents=True)
    assert share(tmp_path / "home" / "runs", XDG_CONFIG_HOME=config).returncode == 0
    refused = share(tmp_path / "home" / within, XDG_CONFIG_HOME=config)
    assert refused.returncode == 1 and refused.stdout == "", refused
    assert_one_clear_line(refused.stderr, "holds your key and tokens, and lies in the folder that is shared")
    assert share(tmp_path / "home", XDG_CONFIG_HOME=tmp_path / "elsewhere").returncode == 0


def test_a_home_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    home = tmp_path / "away"
    refused = share(tmp_path, XDG_CONFIG_HOME="", HOME=home)
    assert refused.returncode == 1 and refused.stdout == "", refused
    assert_one_clear_line(refused.stderr, f"HOME is {home}, and there is no such folder", "XDG_CONFIG_HOME")
    assert not home.exists()
    home.mkdir()
    (tmp_path / "runs").mkdir()
    assert share(tmp_path / "runs", XDG_CONFIG_HOME="", HOME=home).returncode == 0
    assert (home / ".config" / "visapult").stat().st_mode & 0o777 == 0o700


def test_a_token_is_whole_or_not_there(tmp_path: Path) -> None:
    disk, runs = tmp_path / "disk", tmp_path / "runs"
    disk.mkdir()
    runs.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        policy, ballast = disk / "people.toml", disk / "ballast"
        policy.write_text(POLICY)
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(4096))
        full = share(runs, "--policy", policy)
        assert full.returncode == 1
        assert_one_clear_line(full.stderr, "grace.token: the disk is full")
        ballast.unlink()
        serving = Process([VISAPULT, "share", runs, "--bind", "127.0.0.1:0", "--policy", policy])
        try:
            token = (disk / "grace.token").read_text() if serving.read_line() else ""
            assert f"//{token.strip()}@" in serving.first_line
            assert (disk / "grace.token").stat().st_mode & 0o777 == 0o600
            assert sorted(os.listdir(disk)) == ["grace.token", "people.toml"]
        finally:
            serving.stop()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
