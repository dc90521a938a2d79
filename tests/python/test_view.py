"""`visapult view` as a process: it ends when it is told to."""

import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from conftest import VISAPULT
from page import Page

PATIENCE_S = 60


@pytest.mark.parametrize("has_page", [False, True])
@pytest.mark.parametrize("source", ["field.npy", "demo:wave?n=16"])
def test_ctrl_c_ends_it_cleanly(source: str, has_page: bool, tmp_path: Path) -> None:
    np.save(tmp_path / "field.npy", np.zeros((8, 8, 8), np.float32))
    view = subprocess.Popen(
        [VISAPULT, "view", source, "--port", "0", "--no-open"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    try:
        assert view.stdout is not None
        url = view.stdout.readline().strip()
        assert url.startswith("http://")
        page = Page(url) if has_page else None
        view.send_signal(signal.SIGINT)
        _, stderr = view.communicate(timeout=PATIENCE_S)
        assert (view.returncode, stderr) == (0, "")
        if page:
            page.close()
    finally:
        view.kill()
        view.communicate()
