"""`visapult view` as a process: it ends when it is told to."""

import signal
from pathlib import Path

import numpy as np
import pytest

from conftest import VISAPULT
from page import Page
from wan import Process


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
