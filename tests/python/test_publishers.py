"""C and Fortran programs publish, alone and as ranks under two MPI libraries, and arrive bit for bit."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from conftest import VISAPULT, run
from page import Page
from publishers import BINDINGS, LIBRARY, ROOT, Running, compile_c, compile_fortran, need
from test_comm import LAUNCHERS

SIZE = (48, 40, 32)
RANKS = 4


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(*command: object, **variables: str) -> Running:
        started.append(Running(*command, **variables))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def look(start, tmp_path: Path) -> Iterator[Callable[[str], tuple[Running, Page]]]:
    """Opens a page on what is published at URLs; gives its server and the page."""
    pages: list[Page] = []

    def look(urls: str) -> tuple[Running, Page]:
        server = start(VISAPULT, "view", urls, "--port", 0, "--no-open", XDG_CONFIG_HOME=str(tmp_path))
        pages.append(Page(server.line()))
        return server, pages[-1]

    yield look
    for page in pages:
        page.close()


@pytest.fixture(params=LAUNCHERS)
def mpi(request: pytest.FixtureRequest) -> str:
    need(LAUNCHERS[request.param][0])
    need(f"mpicc.{request.param}")
    return request.param


@pytest.fixture(scope="session")
def waves(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("wave")

    def built(mpi: str) -> Path:
        program = folder / f"wave.{mpi}"
        if not program.exists():
            makefile = ROOT / "examples" / "wave" / "Makefile"
            settings = [f"MPICC=mpicc.{mpi}", f"OUT={program}", f"VISAPULT={LIBRARY}", "WARNINGS=-Werror"]
            # Not by make's own settings: the test may run under make.
            plain = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
            subprocess.run(["make", "--silent", "-f", makefile, *settings], check=True, env=plain)
        return program

    return built


def wandering_distance(step: int) -> np.ndarray:
    """What the first examples compute, float32, [z, y, x]; every value is a small whole number."""
    nx, ny, nz = SIZE
    z, y, x = np.ogrid[:nz, :ny, :nx]
    return ((x - step % nx) ** 2 + (y - ny // 2) ** 2 + (z - nz // 2) ** 2).astype(np.float32)


def render(source: object, png: Path) -> dict:
    run("render", source, "--out", png, "--size", "160x120", "--json", png.with_suffix(".json"))
    return json.loads(png.with_suffix(".json").read_text())


@pytest.mark.parametrize("language", ["c", "f90"])
def test_what_the_first_example_publishes_is_rendered_bit_for_bit(start, tmp_path: Path, language: str) -> None:
    compiled = {"c": compile_c, "f90": compile_fortran}[language]
    program = compiled(BINDINGS / "examples" / f"first.{language}", tmp_path / "first")
    publisher = start(program, 60, XDG_CONFIG_HOME=str(tmp_path))
    url = publisher.line()
    told = run("info", url).stdout
    assert "48 x 40 x 32" in told
    assert f"distance ({'f64' if language == 'c' else 'f32'})" in told
    assert " m2" in told
    shown = render(url, tmp_path / "live.png")
    np.save(tmp_path / "distance.npy", wandering_distance(shown["step"]))
    render(tmp_path / "distance.npy", tmp_path / "file.png")
    assert (tmp_path / "live.png").read_bytes() == (tmp_path / "file.png").read_bytes()


def test_a_first_example_ends_by_itself_though_nobody_looks(start, tmp_path: Path) -> None:
    program = compile_c(BINDINGS / "examples" / "first.c", tmp_path / "first")
    code, _, err = start(program, 0.2, XDG_CONFIG_HOME=str(tmp_path)).end()
    assert (code, err) == (0, "")


def test_nonsense_is_refused_and_said(start, tmp_path: Path) -> None:
    program = compile_c(ROOT / "tests" / "native" / "nonsense.c", tmp_path / "nonsense")
    code, out, err = start(program, XDG_CONFIG_HOME=str(tmp_path)).end()
    assert code == 0, out + err
    assert "all refused" in out
    # Of the step that is ended without a field, for a program that does not look.
    said = "in step 5 a field could not be put, and has the values that it had, or none, as in others like it: there is no field 1"
    unput, unsteered = err.splitlines()
    assert unput.startswith(f"visapult: {said}"), err
    assert unsteered.startswith("visapult: step 4 is begun, and steer (visapult_steer) was not called before it"), err


def test_calls_that_fail_while_a_program_ends_say_so_and_do_not_abort_it(start, tmp_path: Path) -> None:
    program = compile_c(ROOT / "tests" / "native" / "ends.c", tmp_path / "ends", "cc", "-pthread")
    code, out, err = start(program, XDG_CONFIG_HOME=str(tmp_path)).end()
    assert (code, err) == (0, ""), out
    said = dict(line.split(": ", 1) for line in out.splitlines())
    assert list(said) == ["thread", "end of a thread", "main", "exit"]
    assert all(text.startswith("-1 ") and len(text) > 10 for text in said.values()), out
    assert "publisher is NULL" in said["thread"]
    assert "publisher is NULL" in said["main"]


def test_signals_are_the_programs_own(start, look, tmp_path: Path) -> None:
    program = compile_c(ROOT / "tests" / "native" / "signals.c", tmp_path / "signals")
    running = start(program, XDG_CONFIG_HOME=str(tmp_path))
    look(running.line())
    running.go_on()
    assert running.line() == "it is for the program"
    running.go_on()
    code, _, err = running.end()
    assert (code, err) == (0, "")


def test_a_forked_program_is_told_that_the_publisher_is_not_its_own(start, tmp_path: Path) -> None:
    program = compile_c(ROOT / "tests" / "native" / "forked.c", tmp_path / "forked")
    code, out, err = start(program, XDG_CONFIG_HOME=str(tmp_path)).end()
    assert (code, err) == (0, ""), out
    assert out.startswith("-1 visapult_begin: the publisher was opened in another process"), out


def test_texts_of_fortran_end_before_their_blanks_and_a_section_without_values_is_refused(start, tmp_path: Path) -> None:
    program = compile_fortran(ROOT / "tests" / "native" / "blanks.f90", tmp_path / "blanks")
    running = start(program, XDG_CONFIG_HOME=str(tmp_path))
    refused = running.line()
    assert "the array is of [0, 6, 4] values" in refused
    url = running.line()
    assert url.split("#")[0].endswith("/run")
    told = run("info", url).stdout
    assert "density (f64)" in told
    assert "8 x 6 x 4 cell samples" in told
    running.go_on()
    assert running.end()[0] == 0


def test_a_program_that_can_keep_nothing_publishes_and_says_so(start, tmp_path: Path) -> None:
    program = compile_c(BINDINGS / "examples" / "first.c", tmp_path / "first")
    running = start(program, 60, XDG_CONFIG_HOME="", HOME="")
    assert "48 x 40 x 32" in run("info", running.line()).stdout
    running.process.terminate()
    said = running.end()[2].splitlines()
    assert len(said) == 1, said
    assert said[0].startswith("visapult: neither XDG_CONFIG_HOME nor HOME"), said
    assert said[0].endswith("this run has a certificate and a URL of its own"), said


def test_a_program_whose_home_is_not_there_publishes_and_says_what_it_does_not_obey(start, tmp_path: Path) -> None:
    program = compile_c(BINDINGS / "examples" / "first.c", tmp_path / "first")
    running = start(program, 60, XDG_CONFIG_HOME="", HOME=str(tmp_path / "away"))
    assert "48 x 40 x 32" in run("info", running.line()).stdout
    running.process.terminate()
    rules, kept = running.end()[2].splitlines()
    assert rules.startswith(f"visapult: the rules for paths (paths.toml) cannot be read: HOME is {tmp_path / 'away'}"), rules
    assert rules.endswith("this run obeys none") and kept.endswith("a certificate and a URL of its own"), kept


def test_ranks_that_listen_are_put_together(start, waves, mpi: str, tmp_path: Path) -> None:
    options = ["--n", 40, "--rate", 50, "--listen", "127.0.0.1:0"]
    ranks = start(*LAUNCHERS[mpi], "-n", RANKS, waves(mpi), *options, XDG_CONFIG_HOME=str(tmp_path))
    urls = ranks.line()
    assert len(urls.split()) == RANKS
    told = run("info", urls).stdout
    assert "40 x 40 x 40" in told
    assert "pressure (f32)" in told
    assert render(urls, tmp_path / "wave.png")["field"] == "pressure"


def test_ranks_dial_a_back_end_that_the_environment_names(start, waves, mpi: str, tmp_path: Path) -> None:
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    # One that counts what comes asks for all of it, whether a page is open or not.
    options = ["--port", 0, "--no-open", "--json", tmp_path / "counted.json"]
    back_end = start(VISAPULT, "backend", "--listen", "127.0.0.1:0", *options, **own)
    url = back_end.line()
    assert url.startswith("ripp://")
    options = ["--n", 40, "--rate", 50, "--seconds", 10]
    ranks = start(*LAUNCHERS[mpi], "-n", RANKS, waves(mpi), *options, **own, VISAPULT_URL=url)
    assert back_end.line().startswith("http://")
    code, out, err = ranks.end()
    assert code == 0, err
    assert "publishing took" in out
    assert int(out.split(" pieces of steps sent")[0].split()[-1]) > RANKS, out


def test_without_a_back_end_publishing_is_off(start, waves, mpi: str) -> None:
    ranks = start(*LAUNCHERS[mpi], "-n", RANKS, waves(mpi), "--n", 24, "--rate", 0, "--steps", 5)
    code, out, err = ranks.end()
    assert code == 0, err
    assert out.startswith("5 steps in")
    assert "nothing was published" in out


def test_a_back_end_that_is_not_there_costs_nothing_but_a_moment(start, waves, mpi: str) -> None:
    command = [*LAUNCHERS[mpi], "-n", 2, waves(mpi), "--n", 24, "--rate", 0, "--steps", 5]
    code, out, err = start(*command, "--url", "ripp://127.0.0.1:9/nobody").end()
    assert code == 0, err
    assert "0 pieces of steps sent" in out


def test_ranks_are_told_that_a_back_end_has_ended(start, waves, mpi: str, tmp_path: Path) -> None:
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    back_end = start(VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", 0, "--no-open", **own)
    options = ["--n", 24, "--rate", 50, "--seconds", 10]
    ranks = start(*LAUNCHERS[mpi], "-n", 2, waves(mpi), *options, **own, VISAPULT_URL=back_end.line())
    assert back_end.process.stderr is not None
    assert any("the first step of the simulation is there" in line for line in back_end.process.stderr)
    back_end.process.send_signal(signal.SIGINT)
    code, _, err = ranks.end()
    assert code == 0, err
    for rank in range(2):
        told = [line for line in err.splitlines() if f"rank {rank}: " in line and "takes nothing any more" in line]
        assert len(told) == 1 and "the session ended; the program goes on" in told[0], err


def test_any_number_of_ranks_computes_the_same(start, waves, mpi: str) -> None:
    def ends(ranks: int) -> str:
        program = [waves(mpi), "--n", 24, "--rate", 0, "--steps", 20]
        code, out, err = start(*LAUNCHERS[mpi], "-n", ranks, *program).end()
        assert code == 0, err
        return out.split("energy ")[1].split()[0]

    one = float(ends(1))
    assert one > 0
    for ranks in (2, 3, 6):
        assert float(ends(ranks)) == pytest.approx(one, rel=1e-4)


APART = """
import sys
import numpy as np
import visapult

rank = int(sys.argv[1])
block = ((0, 0, 8 * rank), (8, 8, 8 * rank + 8))
with visapult.Publisher(name="apart", size=(8, 8, 16), fields=["p"], block=block, rank=rank, ranks=2) as publisher:
    for line in sys.stdin:
        for _ in range(int(line)):
            publisher.publish(0.0, p=np.zeros((8, 8, 8), np.float32))
        print("done", flush=True)
"""


def test_ranks_that_are_many_steps_apart_are_named(start, tmp_path: Path) -> None:
    pytest.importorskip("visapult", reason="the package is not installed: make python-package")
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    back_end = start(VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", 0, "--no-open", **own)
    url = back_end.line()
    ranks = [start(sys.executable, "-c", APART, rank, **own, VISAPULT_URL=url) for rank in range(2)]
    # The page's address, once both are there.
    back_end.line()

    def publish(rank: int, steps: int) -> None:
        assert ranks[rank].process.stdin is not None
        ranks[rank].process.stdin.write(f"{steps}\n")
        ranks[rank].process.stdin.flush()
        assert ranks[rank].line() == "done"

    publish(1, 1)
    publish(0, 1)
    assert back_end.process.stderr is not None
    # Once every so often it is told which step is the newest.
    said, steps = "", 0
    while "behind rank 0" not in said:
        assert steps < 10_000, said
        publish(0, 20)
        steps += 20
        while select.select([back_end.process.stderr], [], [], 0.05)[0]:
            said += os.read(back_end.process.stderr.fileno(), 1 << 16).decode()
    assert said.count("steps behind") == 1
    assert "rank 1 is" in said and "more are shown where ranks keep together" in said
