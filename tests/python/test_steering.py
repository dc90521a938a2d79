"""Programs in C, Fortran, Python and under MPI are steered by a page: between two steps, before the same one on all ranks."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT
from page import Page
from publishers import BINDINGS, ROOT, Running, compile_c, compile_fortran
from test_comm import LAUNCHERS
from test_publishers import RANKS, mpi, start, waves

__all__ = ["mpi", "start", "waves"]


@pytest.fixture
def look(start, tmp_path: Path) -> Iterator[Callable[[str], Page]]:
    """Opens a page on what is published at a URL."""
    pages: list[Page] = []

    def look(url: str) -> Page:
        server = start(VISAPULT, "view", url, "--port", 0, "--no-open", XDG_CONFIG_HOME=str(tmp_path))
        pages.append(Page(server.line()))
        return pages[-1]

    yield look
    for page in pages:
        page.close()


def example(language: str, folder: Path) -> list[object]:
    """The command of the book's example."""
    if language == "py":
        pytest.importorskip("visapult", reason="the package is not installed: make python-package")
        page = (ROOT / "docs" / "src" / "python.md").read_text()
        return [sys.executable, "-u", "-c", next(part for part in page.split("```") if "publisher.steer()" in part).removeprefix("python")]
    compiled = {"c": compile_c, "f90": compile_fortran}[language]
    return [compiled(BINDINGS / "examples" / f"steered.{language}", folder / "steered")]


@pytest.mark.parametrize("language", ["c", "f90", "py"])
def test_the_examples_of_the_book_are_steered(start, look, tmp_path: Path, language: str) -> None:
    program = start(*example(language, tmp_path), XDG_CONFIG_HOME=str(tmp_path))
    page = look(program.line())
    page.until(lambda: page.steering, "a word on steering")
    assert (page.value("speed"), page.value("rings")) == (0.5, 3)
    assert page.ask("set", name="speed", value=1.25) <= page.ask("set", name="rings", value=5)
    assert "0 to 2 turns/s" in page.refused("set", name="speed", value=3)
    assert "whole numbers" in page.refused("set", name="rings", value=2.5)
    paused = page.ask("pause")
    assert page.ask("step") == paused
    assert page.ask("resume") == paused + 1
    page.ask("stop")
    code, out, err = program.end()
    assert code == 0, err
    assert "stopped with speed 1.25 and 5 rings" in out


def test_four_ranks_are_steered_before_the_same_step(start, waves, mpi: str, look, tmp_path: Path) -> None:
    options = ["--n", 32, "--rate", 50, "--listen", "127.0.0.1:0"]
    ranks = start(*LAUNCHERS[mpi], "-n", RANKS, waves(mpi), *options, XDG_CONFIG_HOME=str(tmp_path))
    page = look(ranks.line())
    page.until(lambda: page.steering, "a word on steering")
    assert [it["name"] for it in page.steering["parameters"]] == ["sources", "strength", "frequency", "courant", "range"]
    for name, value in [("sources", 12), ("strength", 2.5), ("frequency", 1.5), ("courant", 0.3), ("range", 0.5)]:
        page.ask("set", name=name, value=value)
        assert page.value(name) == value
    assert "0.05 to 0.57" in page.refused("set", name="courant", value=0.6)
    paused = page.ask("pause")
    page.until(lambda: page.steps.get("last") == paused - 1, "the last step before the pause")
    assert page.steering["state"] == "paused"
    assert page.ask("step") == paused
    page.until(lambda: page.steps["last"] == paused, "the one step")
    # Had it gone on by itself, it would be later by now.
    assert page.ask("resume") == paused + 1
    page.until(lambda: page.steps["last"] > paused + 5, "later steps")
    stopped = page.ask("stop")
    code, out, err = ranks.end()
    assert code == 0, err
    assert out.startswith(f"{stopped} steps in")


def test_the_wave_stays_finite_however_it_is_driven(start, waves, mpi: str) -> None:
    extreme = ["--courant", 0.57, "--strength", 4, "--sources", 64, "--frequency", 2, "--range", 1]
    program = [waves(mpi), "--n", 32, "--rate", 0, "--steps", 300, *extreme]
    code, out, err = start(*LAUNCHERS[mpi], "-n", 2, *program).end()
    assert code == 0, err
    # The field stays within plus and minus 1 Pa.
    assert 0 < float(out.split("energy ")[1].split()[0]) <= 32**3
    code, _, err = start(*LAUNCHERS[mpi], "-n", 1, waves(mpi), "--courant", 0.58).end()
    assert code != 0
    assert "--courant takes numbers from 0.05 to 0.57, not 0.58" in err
