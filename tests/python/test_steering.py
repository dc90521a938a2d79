"""Programs in C, Fortran, Python and under MPI are steered by a page: between two steps, before the same one on all ranks."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from conftest import VISAPULT
from page import Page
from publishers import BINDINGS, ROOT, Running, compile_c, compile_fortran
from test_comm import LAUNCHERS
from test_publishers import RANKS, look, mpi, start, waves

__all__ = ["look", "mpi", "start", "waves"]

# As tests/native/warned.c.
WARNED = """
import signal, time
import numpy as np
import visapult

noted = []
signal.signal(signal.SIGTERM, lambda number, frame: noted.append(number))
signal.signal(signal.SIGALRM, lambda number, frame: None)
speed = visapult.Parameter("speed", 0, least=0, most=1)
with visapult.Publisher(name="warned", size=(16, 16, 16), fields=["p"], parameters=[speed], listen="127.0.0.1:0") as publisher:
    print(publisher.url)
    step = 0
    while not noted:
        assert publisher.steer()
        publisher.publish(step, p=np.zeros((16, 16, 16), np.float32))
        step += 1
        time.sleep(0.02)
    print(f"kept {step} steps")
"""


# Ranks that wait for each other in steer alone.
RANK = """
import sys, time
import numpy as np
import visapult

rank = int(sys.argv[1])
block = ((12 * rank, 0, 0), (12 * rank + 12, 16, 16))
speed = visapult.Parameter("speed", 0, least=0, most=1)
with visapult.Publisher(name="run", size=(24, 16, 16), fields=["p"], block=block, rank=rank, ranks=2, parameters=[speed], url=sys.argv[2]) as publisher:
    step = 0
    while True:
        before = publisher.parameters["speed"]
        goes_on = publisher.steer()
        if publisher.parameters["speed"] != before:
            print("changed before", step, flush=True)
        if not goes_on:
            break
        publisher.publish(step, p=np.zeros((16, 16, 12), np.float32))
        step += 1
        time.sleep(0.01)
print("stopped before", step)
"""


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
    _, page = look(program.line())
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
    _, page = look(ranks.line())
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


def test_a_rank_that_stands_still_while_viewers_ask_does_as_the_others(start, tmp_path: Path) -> None:
    pytest.importorskip("visapult", reason="the package is not installed: make python-package")
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    back_end = start(VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", 0, "--no-open", **own)
    url = back_end.line()
    ranks = [start(sys.executable, "-c", RANK, rank, url, **own) for rank in range(2)]
    page = Page(back_end.line())
    page.until(lambda: page.steps.get("last", 0) > 5, "steps")

    def done(count: int) -> dict:
        page.until(lambda: page.steering["log"][count - 1]["at"] is not None or page.steering["log"][count - 1]["problem"], "that it is done")
        return page.steering["log"][count - 1]

    for count, (action, more) in enumerate([("set", {"name": "speed", "value": 0.5}), ("stop", {})], 1):
        ranks[1].process.send_signal(signal.SIGSTOP)
        page.send_steer(action, **more)
        page.until(lambda count=count: len(page.steering["log"]) == count, "the action in the log")  # type: ignore[misc]
        # The point of the test: a rank that stands still for longer than anybody is patient.
        time.sleep(3)
        ranks[1].process.send_signal(signal.SIGCONT)
        assert done(count)["problem"] is None
    page.close()
    changed, stopped = page.steering["log"][0]["at"], page.steering["log"][1]["at"]
    for rank in ranks:
        code, out, err = rank.end()
        assert (code, out) == (0, f"changed before {changed}\nstopped before {stopped}\n"), err


def go_on_for(number: signal.Signals, page: Page, program: Running, rank: int, process: int) -> None:
    """A paused program is given a signal: all of its ranks go on, and it ends as it does when it is warned, after the step that follows."""
    paused = page.ask("pause")
    # The timer of a profiler is no reason to go on.
    os.kill(process, signal.SIGALRM)
    assert page.ask("step") == paused
    page.until(lambda: page.steps.get("last") == paused, "the one step")
    # All ranks are through with it, and wait.
    assert page.ask("set", name="speed", value=0.5) == paused + 1
    assert page.steering["state"] == "paused"
    os.kill(process, number)
    page.until(lambda: page.steering["log"][-1]["action"] == "resume", "that it goes on")
    assert page.steering["log"][-1]["who"] == f"a signal to rank {rank}"
    code, out, err = program.end()
    assert code == 0, err
    assert out == f"kept {paused + 2} steps\n"
    assert "a signal has come while viewers have paused the program" in err


@pytest.mark.parametrize(("number", "how"), [(signal.SIGTERM, "handled"), (signal.SIGUSR1, "blocked")])
def test_a_paused_program_sees_that_it_is_warned(start, tmp_path: Path, number: signal.Signals, how: str) -> None:
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    back_end = start(VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", 0, "--no-open", **own)
    url = back_end.line()
    program = start(compile_c(ROOT / "tests" / "native" / "warned.c", tmp_path / "warned"), how, **own, VISAPULT_URL=url)
    process = int(program.line().split()[-1])
    page = Page(back_end.line())
    go_on_for(number, page, program, 0, process)
    page.close()


def test_all_ranks_go_on_when_one_of_a_paused_program_is_warned(start, mpi: str, tmp_path: Path) -> None:
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    back_end = start(VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", 0, "--no-open", **own)
    url = back_end.line()
    warned = compile_c(ROOT / "tests" / "native" / "warned.c", tmp_path / "warned", f"mpicc.{mpi}", "-DRANKS")
    program = start(*LAUNCHERS[mpi], "-n", RANKS, warned, **own, VISAPULT_URL=url)
    lines = [program.line().split() for _ in range(RANKS)]
    processes = {int(words[1]): int(words[-1]) for words in lines}
    page = Page(back_end.line())
    go_on_for(signal.SIGTERM, page, program, 2, processes[2])
    page.close()


def test_a_paused_program_in_python_sees_that_it_is_warned(start, look, tmp_path: Path) -> None:
    pytest.importorskip("visapult", reason="the package is not installed: make python-package")
    program = start(sys.executable, "-u", "-c", WARNED, XDG_CONFIG_HOME=str(tmp_path))
    url = program.line()
    go_on_for(signal.SIGTERM, look(url)[1], program, 0, program.process.pid)


def test_who_may_only_watch_sees_the_values_and_is_refused_with_the_reason(start, tmp_path: Path) -> None:
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    program = start(*example("c", tmp_path), **own)
    server = start(VISAPULT, "view", program.line(), "--port", 0, "--no-open", **own)
    page = Page(server.line())
    told = next(line for line in server.process.stderr if "may watch and not steer" in line)
    watching = Page(told.split()[-1])
    assert "may only watch" in watching.refused("pause")
    assert "may only watch" in watching.refused("set", name="speed", value=1)
    page.ask("set", name="speed", value=1.5)
    watching.until(lambda: watching.steering and watching.value("speed") == 1.5, "the new value")
    for one in (watching, page):
        one.close()


ACCUMULATES = """
import hashlib

import numpy as np
import visapult

field, digest, steps = np.zeros((12, 12, 12), np.float32), hashlib.sha256(), 0
parameters = [visapult.Parameter("push", 0.1, least=-1, most=1), visapult.Parameter("every", 2, least=1, most=9, kind="integer")]
listen = {"listen": "127.0.0.1:0"} if __import__("os").environ.get("LISTEN") else {}
with visapult.Publisher(name="sum", size=(12, 12, 12), fields=["sum"], parameters=parameters, **listen) as publisher:
    print(publisher.url, flush=True)
    while publisher.steer():
        now = publisher.parameters
        field.flat[:: now["every"]] += np.sin(np.float32(now["push"]) + field.flat[:: now["every"]])
        digest.update(field.tobytes())
        publisher.publish(0.0, sum=field)
        steps += 1
        if listen:
            __import__("time").sleep(0.005)
print(steps, digest.hexdigest())
"""


def steer_and_stop(page: Page, changes: list[tuple[str, float]]) -> int:
    """Before which step it stopped."""
    for name, value in changes:
        page.ask("set", name=name, value=value)
    page.ask("pause")
    page.ask("step")
    page.ask("resume")
    return page.ask("stop")


def test_a_run_is_done_again_from_its_log_bit_for_bit(start, tmp_path: Path) -> None:
    pytest.importorskip("visapult", reason="the package is not installed: make python-package")
    own, log = {"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path / "steering.jsonl"
    first = start(sys.executable, "-c", ACCUMULATES, LISTEN="1", **own)
    server = start(VISAPULT, "view", first.line(), "--port", 0, "--no-open", "--steering-log", log, **own)
    page = Page(server.line())
    stopped = steer_and_stop(page, [("push", 0.75), ("every", 3), ("push", -0.5)])
    page.close()
    code, ended, err = first.end()
    assert code == 0, err
    assert ended.startswith(f"{stopped} ")
    server.stop()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["action"] for line in lines] == ["set", "set", "set", "pause", "step", "resume", "stop"]
    assert all(line["who"].startswith("page ") and line["unix_s"] > 1.7e9 and line["at"] is not None for line in lines)

    again = start(sys.executable, "-c", ACCUMULATES, VISAPULT_REPLAY=str(log), **own)
    code, out, err = again.end()
    assert code == 0, err
    assert out == f"None\n{ended}"


def test_ranks_do_a_run_again_from_its_log(start, waves, mpi: str, tmp_path: Path) -> None:
    own, log = {"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path / "steering.jsonl"
    wave = [*LAUNCHERS[mpi], "-n", RANKS, waves(mpi), "--n", 24]
    ranks = start(*wave, "--rate", 50, "--listen", "127.0.0.1:0", **own)
    server = start(VISAPULT, "view", ranks.line(), "--port", 0, "--no-open", "--steering-log", log, **own)
    page = Page(server.line())
    stopped = steer_and_stop(page, [("sources", 9), ("strength", 2), ("courant", 0.3)])
    page.close()
    code, out, err = ranks.end()
    assert code == 0, err
    energy = out.splitlines()[0].split("energy ")[1]

    code, out, err = start(*wave, "--rate", 0, VISAPULT_REPLAY=str(log), **own).end()
    assert code == 0, err
    assert out.startswith(f"{stopped} steps in")
    assert out.splitlines()[0].split("energy ")[1] == energy


def test_a_log_that_cannot_be_done_again_is_refused_with_its_line(start, waves, mpi: str, tmp_path: Path) -> None:
    log = tmp_path / "wrong.jsonl"
    log.write_text('{"who":"page 1","unix_s":1.0,"action":"set","name":"courant","value":0.9,"at":3,"problem":null}\n')
    code, _, err = start(waves(mpi), "--n", 24, "--steps", 5, VISAPULT_REPLAY=str(log)).end()
    assert code != 0
    assert "wrong.jsonl" in err
    assert "line 1: courant takes 0.05 to 0.57, not 0.9" in err


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
