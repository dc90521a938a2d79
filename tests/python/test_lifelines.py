"""Lifelines of a run of several processes: all stages from the source's put to the back end's, on one clock though the hosts' clocks differ."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import VISAPULT, run
from publishers import BINDINGS, compile_c
from test_comm import LAUNCHERS
from test_publishers import RANKS, mpi, start, waves  # noqa: F401

# How much the clock of the ranks is ahead, in seconds.
AHEAD_S = 5000
# How much that of the second process of a back end is.
HAND_AHEAD_S = 2000
# Of the comparison of two clocks over loopback on a machine with a lot to do, in microseconds.
ERROR_US = 20_000


def other_clock() -> list[str]:
    """A command in front of another, which gives that one a clock of its own."""
    command = ["unshare", "--time", "--monotonic", str(AHEAD_S)]
    clock = "import time; print(time.monotonic())"
    try:
        there = subprocess.run([*command, sys.executable, "-c", clock], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs root and time namespaces")
    here = subprocess.run([sys.executable, "-c", clock], capture_output=True, text=True, check=True)
    assert abs(float(there.stdout) - float(here.stdout) - AHEAD_S) < 10
    return command


def events(path: Path) -> list[dict]:
    """Those of a trace file, which may have been cut off."""
    text = path.read_text().rstrip().rstrip(",").removesuffix("]")
    return [entry for entry in json.loads(text + "]") if entry["ph"] == "X"]


# Gives the second process of a back end, if there is one, a clock of its own: `sh -c HAND sh PROGRAM ...`.
HAND = f"""
if [ "${{PMI_RANK:-${{OMPI_COMM_WORLD_RANK:-0}}}}" = 1 ]; then exec unshare --time --monotonic {HAND_AHEAD_S} "$@"; fi
exec "$@"
"""


@pytest.fixture(params=[1, 2])
def traces(start, waves, mpi: str, tmp_path: Path, request: pytest.FixtureRequest) -> list[Path]:  # noqa: F811
    """Of four ranks that publish, by a clock that is far ahead, and of a back end of one process or of two, whose clocks differ, too."""
    processes = request.param
    ahead = other_clock()
    own = {"XDG_CONFIG_HOME": str(tmp_path)}
    together = [*LAUNCHERS[mpi], "-n", processes, "sh", "-c", HAND, "sh"] if processes > 1 else []
    options = ["--port", 0, "--no-open", "--json", tmp_path / "counted.json", "--trace", tmp_path / "back.json", "--pes", 2]
    back_end = start(*together, VISAPULT, "backend", "--listen", "127.0.0.1:0", *options, **own)
    url = back_end.line()
    wave = [waves(mpi), "--n", 40, "--rate", 10, "--seconds", 4]
    named = {"VISAPULT_URL": url, "VISAPULT_TRACE": str(tmp_path / "wave.json")}
    ranks = start(*ahead, *LAUNCHERS[mpi], "-n", RANKS, *wave, **own, **named)
    code, _, err = ranks.end()
    assert code == 0, err
    back_end.process.send_signal(signal.SIGINT)
    back_end.end()
    backs = [tmp_path / "back.json", tmp_path / "back.1.json"][:processes]
    return [*backs, *(tmp_path / f"wave.{rank}.json" for rank in range(RANKS))]


def test_clocks_that_differ_become_one_and_no_byte_arrives_before_it_was_sent(traces: list[Path], tmp_path: Path) -> None:
    told = run("trace", "merge", *traces, "-o", tmp_path / "all.json")
    # A launcher may end a process before all of its file is written.
    said = [line for line in told.stderr.splitlines() if "was cut off" not in line]
    assert said == [], told.stderr
    stages: dict[tuple[str, int], list[dict]] = {}
    for event in events(tmp_path / "all.json"):
        stages.setdefault((event["name"], event["args"]["step"]), []).append(event)
    received = sorted(step for name, step in stages if name == "receive")
    assert len(received) > 10
    for step in received:
        put, sent, came = (stages[name, step] for name in ("source put", "piece sent", "receive"))
        assert {event["args"]["rank"] for event in put} == set(range(RANKS))
        begun = min(event["ts"] for event in sent)
        # Both are of one clock, but a busy machine learns between writing one and the other that it is milliseconds off.
        assert min(event["ts"] for event in put) - ERROR_US <= begun
        for of in {event["pid"] for event in came}:
            first_in = min(event["ts"] for event in came if event["pid"] == of)
            assert begun - ERROR_US < first_in < begun + 1e6 * HAND_AHEAD_S / 2
    # Every process of the back end has received.
    backs = len(traces) - RANKS
    assert len({event["pid"] for (name, _), of in stages.items() if name == "receive" for event in of}) == backs


def test_lifelines_go_from_the_sources_put_up_and_say_why_the_network_was_idle(traces: list[Path], tmp_path: Path) -> None:
    run("trace", "plot", *traces, "-o", tmp_path / "run.svg", "--json", tmp_path / "run.json")
    said = json.loads((tmp_path / "run.json").read_text())
    assert (said["input"], said["pes"]) == ("receive", 2)
    network = said["network"]
    assert network["busy"] + sum(network["idle"].values()) == pytest.approx(1, abs=1e-6)
    # The source puts ten steps a second, which take far less than that to send and to render, on a busy machine, too.
    assert max(network["idle"], key=network["idle"].get) == "source"
    drawn = (tmp_path / "run.svg").read_text()
    assert all(stage in drawn for stage in ("source put", "piece sent", "receive"))


AGAIN = """
import numpy as np
import visapult
for steps in (30, 5, 2):
    with visapult.Publisher(name="again", size=(8, 8, 8), fields=["p"], listen="127.0.0.1:0") as p:
        for step in range(steps):
            p.publish(step, p=np.zeros((8, 8, 8)))
"""


def test_each_publisher_of_a_program_writes_a_trace_of_its_own(start, tmp_path: Path) -> None:  # noqa: F811
    pytest.importorskip("visapult", reason="the package is not installed: make python-package")
    code, _, said = start(sys.executable, "-c", AGAIN, XDG_CONFIG_HOME=str(tmp_path), VISAPULT_TRACE=str(tmp_path / "run.json")).end()
    assert code == 0
    for name, steps in [("run.json", 30), ("run-2.json", 5), ("run-3.json", 2)]:
        put = [event for event in events(tmp_path / name) if event["name"] == "source put"]
        assert len(put) == steps, name
        assert (f"this one writes {tmp_path / name}" in said) == (name != "run.json"), said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("file", ["/dev/full", "/no/such/folder/run.json"])
def test_a_program_goes_on_publishing_where_its_trace_cannot_be_written(start, tmp_path: Path, file: str) -> None:  # noqa: F811
    program = compile_c(BINDINGS / "examples" / "first.c", tmp_path / "first")
    code, _, said = start(program, 1, XDG_CONFIG_HOME=str(tmp_path), VISAPULT_TRACE=file).end()
    assert code == 0
    assert "VISAPULT_TRACE: " in said


def test_the_trace_of_a_program_takes_the_place_of_a_trace_alone(start, tmp_path: Path) -> None:  # noqa: F811
    program = compile_c(BINDINGS / "examples" / "first.c", tmp_path / "first")
    result, trace = tmp_path / "result.dat", tmp_path / "run.json"
    result.write_text("what a week of computing has made")
    trace.write_text("[\nof before")
    for file in (result, trace):
        code, _, said = start(program, 0.2, XDG_CONFIG_HOME=str(tmp_path), VISAPULT_TRACE=str(file)).end()
        assert code == 0
        assert (f"VISAPULT_TRACE: {file} is there, and is no trace made before" in said) == (file == result), said
    assert result.read_text() == "what a week of computing has made"
    assert "source put" in trace.read_text()
