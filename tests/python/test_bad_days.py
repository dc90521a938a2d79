"""Bad days of programs that publish: each goes on, or says in one sentence what is wrong. None takes longer than a minute."""

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import VISAPULT, run
from page import Page
from publishers import PATIENCE_S, ROOT, Running, compile_c
from test_publishers import look, start

visapult = pytest.importorskip("visapult", reason="the package is not installed: make python-package")

__all__ = ["look", "start"]


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


def test_a_program_that_waits_for_a_back_end_can_be_interrupted(start, tmp_path: Path) -> None:
    program = start(sys.executable, "-c", EVERY, XDG_CONFIG_HOME=str(tmp_path))
    program.line()
    program.process.send_signal(signal.SIGINT)
    code, out, err = program.end()
    assert (code, out) == (-signal.SIGINT, "")
    assert "KeyboardInterrupt" in err


def declared(array: np.ndarray, **options: object) -> Any:
    return visapult.Publisher(**({"name": "run", "size": array.shape[::-1], "fields": ["p"], "listen": "127.0.0.1:0"} | options))


def test_a_field_whose_size_changes_between_steps_is_refused_and_the_run_goes_on(volume: np.ndarray) -> None:
    with declared(volume) as p:
        p.publish(0.0, p=volume)
        with pytest.raises(visapult.ArrayError, match=r"field p: the array has shape \[56, 40, 47\], this rank's block"):
            p.publish(1.0, p=volume[:, :, :-1])
        assert p.publish(2.0, p=volume) == 1


def test_values_that_are_not_finite_pass_unharmed(volume: np.ndarray, tmp_path: Path) -> None:
    holes = volume.copy()
    holes[10:20, 5:15] = np.nan
    holes[30, 20, 8:40], holes[40, 10:30, 20] = np.inf, -np.inf
    np.save(tmp_path / "holes.npy", holes)
    with declared(volume) as p:
        p.publish(0.0, p=holes)
        for source, image in [(p.url, "live.png"), (tmp_path / "holes.npy", "file.png")]:
            run("render", source, "--out", tmp_path / image, "--size", "160x120")
    assert (tmp_path / "live.png").read_bytes() == (tmp_path / "file.png").read_bytes()


RANK = """
import sys, time
import numpy as np
import visapult

url, rank, cuts = sys.argv[1], int(sys.argv[2]), [int(cut) for cut in sys.argv[3].split(",")]
block = ((cuts[rank], 0, 0), (cuts[rank + 1], 16, 16))
array = np.full((16, 16, cuts[rank + 1] - cuts[rank]), rank, np.float32)
with visapult.Publisher(name="run", size=(24, 16, 16), fields=["p"], block=block, rank=rank, ranks=len(cuts) - 1,
    time_unit=sys.argv[4], url=url) as p:
    while True:
        p.publish(0.0, p=array)
        time.sleep(0.01)
"""


def says(running: Running, words: str) -> str:
    """The line on its standard error that has these words."""
    too_late = threading.Timer(PATIENCE_S, running.process.kill)
    too_late.start()
    try:
        assert running.process.stderr is not None
        return next((line for line in running.process.stderr if words in line), "it said nothing of that")
    finally:
        too_late.cancel()


class Simulation:
    """A back end, its page, and ranks that dial it."""

    def __init__(self, start: Callable[..., Running], folder: Path) -> None:
        self.start, self.own = start, {"XDG_CONFIG_HOME": str(folder)}
        self.back_end = start(VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", 0, "--no-open", **self.own)
        self.url = self.back_end.line()

    def rank(self, rank: int, cuts: str, time_unit: str = "s") -> Running:
        return self.start(sys.executable, "-c", RANK, self.url, rank, cuts, time_unit, **self.own)

    def ranks(self, cuts: str) -> list[Running]:
        return [self.rank(rank, cuts) for rank in range(cuts.count(","))]

    def warns(self, words: str) -> str:
        """The line on the back end's standard error that has these words."""
        return says(self.back_end, words)


@pytest.fixture
def simulation(start, tmp_path: Path) -> Simulation:
    return Simulation(start, tmp_path)


def comes_on(url: str) -> None:
    """A page that is opened now sees steps come."""
    page = Page(url)
    page.newest_beyond(page.newest_beyond(0) + 10)
    page.close()


AT_ITS_PORT = """
import itertools, sys, time
import numpy as np
import visapult
n = int(sys.argv[2])
field = np.zeros((n, n, n))
publisher = visapult.Publisher(name="run", size=(n, n, n), fields={"p": ""}, listen=sys.argv[1])
print(publisher.url, flush=True)
for step in itertools.count():
    publisher.publish(step, p=field)
    time.sleep(0.01)
"""


def test_a_program_that_is_started_anew_at_its_port_is_shown_by_who_looked_at_it_before(start, look, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-c", AT_ITS_PORT, address]
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    before = start(*command, 8, **own)
    url = before.line()
    server, page = look(url)
    # More than the new run does before it is seen.
    seen = page.newest_beyond(1000)
    before.process.kill()
    again = start(*command, 8, **own)
    assert again.line() == url
    page.until(lambda: page.steps["last"] < seen, "a step of the new run")
    again.process.kill()
    assert start(*command, 9, **own).line() == url
    assert "size [9, 9, 9] where it was [8, 8, 8]; start the back end anew" in says(server, "nothing is received")


def test_two_programs_of_one_name_are_told_apart(simulation: Simulation) -> None:
    first = simulation.ranks("0,24")
    url = simulation.back_end.line()
    comes_on(url)
    second = simulation.ranks("0,24")
    assert "there is a rank 0 already: two programs publish under one name" in simulation.warns("refused")
    comes_on(url)
    assert [one.process.poll() for one in first + second] == [None, None]


def test_a_rank_that_is_stopped_for_5_s_comes_back(simulation: Simulation) -> None:
    ranks = simulation.ranks("0,10,24")
    url = simulation.back_end.line()
    comes_on(url)
    ranks[1].process.send_signal(signal.SIGSTOP)
    # The point of the test: a wait for nothing.
    time.sleep(5)
    ranks[1].process.send_signal(signal.SIGCONT)
    comes_on(url)
    assert [one.process.poll() for one in ranks] == [None, None]


def test_a_run_that_is_started_anew_is_shown_however_it_is_split(simulation: Simulation) -> None:
    ranks = simulation.ranks("0,10,24")
    url = simulation.back_end.line()
    page = Page(url)
    for cuts in ("0,12,24", "0,8,16,24"):
        # Long enough for ranks that start one after the other to be at earlier steps when the last is there.
        before = page.newest_beyond(500)
        for rank in ranks:
            rank.stop()
        ranks = simulation.ranks(cuts)
        page.until(lambda newest=before: page.steps["last"] < newest, "a step of the new run")  # type: ignore[misc]
    comes_on(url)
    assert simulation.back_end.process.poll() is None
    page.close()


def test_ranks_that_declare_what_does_not_go_together_are_shown_and_named(simulation: Simulation) -> None:
    simulation.rank(0, "0,12,24")
    simulation.rank(1, "0,12,24", "h")
    url = simulation.back_end.line()
    said = simulation.warns("time unit")
    assert '"s"' in said and '"h"' in said and "all ranks are to declare the same" in said
    comes_on(url)


def test_ranks_that_do_not_fit_those_that_are_there_are_refused(simulation: Simulation) -> None:
    ranks = simulation.ranks("0,10,24")
    url = simulation.back_end.line()
    comes_on(url)
    more = simulation.rank(2, "0,8,16,24")
    assert "it has 3 ranks, but 2 of the 2 ranks of a run before are still there" in simulation.warns("refused")
    ranks[1].stop()
    other = simulation.rank(1, "0,8,24")
    assert "overlaps" in simulation.warns("overlaps")
    comes_on(url)
    assert [one.process.poll() for one in (ranks[0], more, other)] == [None] * 3


EVERY_RANK = """
import sys, time
import numpy as np
import visapult

url, rank, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
block = ((12 * rank, 0, 0), (12 * rank + 12, 16, 16))
with visapult.Publisher(name="run", size=(24, 16, 16), fields=["p"], block=block, rank=rank, ranks=2, delivery="every", url=url) as p:
    for step in range(steps):
        p.publish(step, p=np.full((16, 16, 12), step, np.float32))
        if step in (2, 40):
            print("step", step, flush=True)
        time.sleep(0.005)
    sys.stdin.readline()
"""


def test_a_rank_whose_every_step_is_to_arrive_goes_on_when_another_has_left(simulation: Simulation) -> None:
    first, second = (simulation.start(sys.executable, "-c", EVERY_RANK, simulation.url, rank, 400 - 390 * rank, **simulation.own) for rank in range(2))
    page = Page(simulation.back_end.line())
    # Steps that the second never does have been asked for by then.
    page.newest_beyond(8)
    second.go_on()
    assert second.end()[0] == 0
    assert [first.line(), first.line()] == ["step 2", "step 40"]
    first.go_on()
    code, _, err = first.end()
    assert code == 0, err
    page.until(lambda: page.steps["last"] == 399, "the last step")
    page.close()


def test_a_rank_whose_every_step_is_to_arrive_goes_on_where_another_does_not_come(simulation: Simulation) -> None:
    first = simulation.start(sys.executable, "-c", EVERY_RANK, simulation.url, 0, 10_000, **simulation.own)
    url = simulation.back_end.line()
    page = Page(url)
    missing = "1 of 2 ranks are there, rank 1 is missing"
    page.until(lambda: any(missing in notice for notice in page.notices), "that a rank is missing")
    assert "VISAPULT_URL" in simulation.warns(missing)
    assert "the ranks that are there go on meanwhile" in simulation.warns("every step is to arrive")
    assert [first.line(), first.line()] == ["step 2", "step 40"]
    assert "a step waits until the back end asks for it" in says(first, "rank 0: ")
    # From here on both are asked for each of their steps.
    simulation.start(sys.executable, "-c", EVERY_RANK, simulation.url, 1, 10_000, **simulation.own)
    comes_on(url)
    page.close()
