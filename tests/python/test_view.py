"""`visapult view` as a process: it ends when it is told to."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from conftest import VISAPULT
from page import Page
from wan import Process, eventually


@pytest.mark.parametrize("has_page", [False, True])
@pytest.mark.parametrize("source", ["field.npy", "demo:wave?n=16"])
def test_ctrl_c_ends_it_cleanly(source: str, has_page: bool, tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", np.zeros((8, 8, 8), np.float32))
    view = Process([VISAPULT, "view", source, "--port", "0", "--no-open"], cwd=tmp_path)
    try:
        url = view.read_line()
        assert url.startswith("http://")
        page = Page(url) if has_page else None
        view.signal(signal.SIGINT)
        ended = view.end()
        assert (ended.code, ended.stderr) == (0, "")
        if page:
            page.close()
    finally:
        view.stop()


@pytest.mark.parametrize("has_snap", [False, True])
def test_the_token_is_on_no_command_line(has_snap: bool, tmp_path: Path) -> None:
    """All users of a machine may see how a browser was started."""
    home, told = tmp_path / "home", tmp_path / "told"
    (home / "snap" if has_snap else home).mkdir(parents=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "xdg-open").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}.part\nmv {told}.part {told}\n')
    (tools / "xdg-open").chmod(0o755)
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "DISPLAY": ":9", "HOME": home, "XDG_CONFIG_HOME": ""}
    command = ["env", *(f"{name}={value}" for name, value in environment.items()), VISAPULT]
    view = Process([*command, "view", "demo:wave?n=16", "--port", "0"])
    try:
        url = view.read_line()
        eventually("that a browser is opened", told.exists)
        [argument] = told.read_text().splitlines()
        lead = Path(argument)
        assert url.split("token=")[1] not in argument
        assert lead.parent == (home if has_snap else home / ".config" / "visapult")
        assert lead.stat().st_mode & 0o777 == 0o600
        assert f'content="0; url={url}"' in lead.read_text()
        view.signal(signal.SIGINT)
        assert view.end().code == 0
        assert not lead.exists()
    finally:
        view.stop()
