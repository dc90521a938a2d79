"""Bad days of programs that publish: each goes on, or says in one sentence what is wrong. None takes longer than a minute."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from conftest import VISAPULT, run
from page import Page
from publishers import ROOT, Running, compile_c
from test_publishers import start

visapult = pytest.importorskip("visapult", reason="the package is not installed: make python-package")

__all__ = ["start"]


@pytest.fixture
def look(start, tmp_path: Path) -> Iterator[Callable[..., tuple[Running, Page]]]:
    """Opens a page on what is published at URLs."""
    pages: list[Page] = []

    def look(urls: str) -> tuple[Running, Page]:
        server = start(VISAPULT, "view", urls, "--port", 0, "--no-open", XDG_CONFIG_HOME=str(tmp_path))
        pages.append(Page(server.line()))
        return server, pages[-1]

    yield look
    for page in pages:
        page.close()


def test_every_step_of_a_c_program_arrives_where_it_asks_for_that(start, look, tmp_path: Path) -> None:
    program = start(compile_c(ROOT / "tests" / "native" / "every.c", tmp_path / "every"), XDG_CONFIG_HOME=str(tmp_path))
    _, page = look(program.line())
    page.until(lambda: page.steps.get("last") == 59, "the last step")
    code, out, err = program.end()
    assert code == 0, err
    assert "60 put, 60 sent, 0 missed" in out


EVERY = """
import numpy as np
import visapult

with visapult.Publisher(
    name="every", size=(16, 16, 16), fields=["p"], delivery="every from first", listen="127.0.0.1:0"
) as publisher:
    print(publisher.url, flush=True)
    for step in range(20_000):
        publisher.publish(step, p=np.full((16, 16, 16), step, np.float32))
        if step in (0, 500):
            print("step", step, flush=True)
print("all")
"""


def test_a_back_end_that_is_killed_does_not_hold_back_the_program(start, look, tmp_path: Path) -> None:
    program = start(sys.executable, "-c", EVERY, XDG_CONFIG_HOME=str(tmp_path))
    server, page = look(program.line())
    assert program.line() == "step 0"
    assert program.line() == "step 500"
    page.close()
    server.process.kill()
    code, out, err = program.end()
    assert code == 0, err
    assert out == "all\n"
