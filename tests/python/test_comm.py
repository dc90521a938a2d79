"""PEs as processes under two launchers: every call, its content checked, and what happens on bad days."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

EXERCISE = Path(os.environ.get("EXERCISE", "target/release/examples/exercise")).resolve()
PES = 4
LAUNCHERS = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])],
}
OTHER_LIBRARY = {"mpich": "libmpi.so.40", "openmpi": "libmpich.so.12"}


@pytest.fixture(params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest) -> str:
    if shutil.which(LAUNCHERS[request.param][0]) is None:
        pytest.skip(f"{LAUNCHERS[request.param][0]} is not installed")
    return request.param


class Started:
    """The exercise under a launcher; ended by force if it hangs."""

    def __init__(self, launcher: str, *arguments: object, **variables: str) -> None:
        command = ["timeout", "60", *LAUNCHERS[launcher], "-n", str(PES), str(EXERCISE), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | variables
        )

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate()
        return self.process.returncode, out, err

    def lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        # Not `yield from`, which would close it with the generator.
        for line in self.process.stdout:
            yield line


@pytest.fixture
def start(launcher: str) -> Iterator:
    started: list[Started] = []

    def start(*arguments: object, **variables: str) -> Started:
        started.append(Started(launcher, *arguments, **variables))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
        one.process.wait()


def pids(waiting: Started) -> dict[int, int]:
    """The process of each PE, once all have started."""
    found: dict[int, int] = {}
    for line in waiting.lines():
        words = line.split()
        found[int(words[1])] = int(words[-1])
        if len(found) == PES:
            break
    assert sorted(found) == list(range(PES))
    return found


def test_every_call_between_processes(start, launcher: str) -> None:
    code, out, err = start("all").end()
    assert code == 0, err
    medium = {"mpich": "Mpich", "openmpi": "OpenMpi"}[launcher]
    assert sorted(out.splitlines()) == [f"PE {rank} of {PES} over {medium}: good" for rank in range(PES)]


def test_a_process_that_stops_is_lost_to_all_the_others(start) -> None:
    waiting = start("wait-for", 2)
    stopped = pids(waiting)[2]
    os.kill(stopped, signal.SIGSTOP)
    said = {}
    for line in waiting.lines():
        if line.startswith("PE "):
            said[int(line.split()[1].rstrip(":"))] = line
        if len(said) == PES - 1:
            break
    assert sorted(said) == [0, 1, 3]
    assert all(line.count("PE 2 has not been heard of for 2 s") == 2 for line in said.values()), said
    try:
        os.kill(stopped, signal.SIGCONT)
    except ProcessLookupError:
        pass  # The launcher was quicker.
    waiting.end()


def test_a_process_that_is_killed_does_not_leave_the_others_waiting(start) -> None:
    waiting = start("wait-for", 2)
    os.kill(pids(waiting)[2], signal.SIGKILL)
    code, _, _ = waiting.end()
    assert code != 0


def test_one_process_can_end_all(start) -> None:
    code, out, _ = start("abort").end()
    assert (code, out) == (3, "")


def test_a_library_that_does_not_know_the_launcher_is_found_out(start, launcher: str) -> None:
    code, out, err = start("all", VISAPULT_MPI=OTHER_LIBRARY[launcher]).end()
    assert code != 0
    assert out == ""
    assert f"started {PES} processes" in err
    assert f"for {OTHER_LIBRARY[launcher]} this is a run of 1" in err


def test_a_missing_library_is_named(start) -> None:
    code, out, err = start("all", VISAPULT_MPI="libno-such-mpi.so").end()
    assert code != 0
    assert out == ""
    assert "libno-such-mpi.so" in err
    assert "VISAPULT_MPI" in err


def test_one_process_needs_no_library(launcher: str) -> None:
    command = [*LAUNCHERS[launcher], "-n", "1", str(EXERCISE), "all"]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"VISAPULT_MPI": "libno-such-mpi.so"},
    )
    assert (ended.returncode, ended.stdout) == (0, "PE 0 of 1 over Threads: good\n"), ended.stderr
