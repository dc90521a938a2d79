"""A back end of several processes under two launchers: the pictures of one process, and what happens when a process is gone."""

import json
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT, run
from images import psnr, read_png
from page import Page
from publishers import ROOT, Running, compile_c, need
from test_comm import LAUNCHERS
from test_flow import serving, series  # noqa: F401 (a fixture)
from test_publishers import start, waves  # noqa: F401 (fixtures)

PROCESSES = 3
RANKS = 2
PATIENCE_S = 60


@pytest.fixture(params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest) -> str:
    need(LAUNCHERS[request.param][0])
    return request.param


@pytest.fixture
def together(launcher: str) -> list[object]:
    """The command line of so many processes."""
    return [*LAUNCHERS[launcher], "-n", PROCESSES, VISAPULT]


def pid_of_process(rank: int, marked: object) -> int:
    """The process of a rank of the back end, known by a word of its command line."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        of_rank = [f"{name}={rank}".encode() for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK")]
        if words[0] == str(VISAPULT).encode() and str(marked).encode() in words and set(of_rank) & set(variables):
            return int(entry.name)
    pytest.fail(f"there is no process {rank} of the back end")


def whole(report: Path) -> None:
    """Waits until a report is written."""
    deadline = time.monotonic() + PATIENCE_S
    while not (report.exists() and report.read_text().endswith("}\n")):
        assert time.monotonic() < deadline, f"{report} is not written"
        time.sleep(0.05)


@pytest.mark.parametrize("proxy", ["exact", "slabs", "scalar-slabs", "bricks"])
def test_processes_together_make_the_picture_of_one(series: Path, tmp_path: Path, together, start, proxy: str) -> None:
    view = ["--time-step", 1, "--pes", 7, "--size", "160x120", "--proxy", proxy, "--out"]
    run("render", series, *view, tmp_path / "one.png")
    with serving(series) as url:
        code, _, err = start(*together, "render", url, *view, tmp_path / "received.png").end()
        assert code == 0, err
    code, _, err = start(*together, "render", series, *view, tmp_path / "read.png").end()
    assert code == 0, err
    one = read_png(tmp_path / "one.png")
    assert one.max() > 40
    for name in ("received.png", "read.png"):
        assert psnr(one, read_png(tmp_path / name)) >= (50 if proxy == "bricks" else 60)


@pytest.fixture
def wave(waves, start, launcher: str) -> Callable[..., Running]:
    """Starts the example simulation."""
    need(f"mpicc.{launcher}")

    def wave(*options: object, **variables: str) -> Running:
        ranks = [*LAUNCHERS[launcher], "-n", RANKS, waves(launcher)]
        return start(*ranks, "--n", 40, "--rate", 20, "--seconds", PATIENCE_S, *options, **variables)

    return wave


def test_ranks_that_dial_are_received_by_all_processes(wave, together, start, tmp_path: Path) -> None:
    report = tmp_path / "received.json"
    back_end = start(*together, "backend", "--listen", "127.0.0.1:0", "--no-open", "--port", 0, "--json", report)
    url = back_end.line()
    wave(VISAPULT_URL=url)
    page = Page(back_end.line())
    newest = 0
    for _ in range(4):
        newest = page.newest_beyond(newest)
    page.close()
    os.kill(pid_of_process(0, report), signal.SIGTERM)
    code, out, err = back_end.end()
    assert (code, out) == (0, ""), err
    said = json.loads(report.read_text())
    assert said["steps_received"] > 1
    assert said["fresh_share"] == 1
    # Every value once at least, and ghost layers of six PEs or less beside.
    assert said["bytes"] >= 40**3 * 4 * said["steps_received"]


def test_every_step_arrives_at_all_processes_where_a_program_asks_for_that(together, start, tmp_path: Path) -> None:
    program = start(compile_c(ROOT / "tests" / "native" / "every.c", tmp_path / "every"), XDG_CONFIG_HOME=str(tmp_path))
    mark = tmp_path / "received.json"
    back_end = start(*together, "backend", program.line(), "--no-open", "--port", 0, "--json", mark)
    page = Page(back_end.line())
    page.until(lambda: page.steps.get("last") == 59, "the last step")
    assert page.steps["first"] == 0
    page.close()
    code, out, err = program.end()
    assert code == 0, err
    assert f"60 put, {60 * PROCESSES} sent, 0 missed" in out
    os.kill(pid_of_process(0, mark), signal.SIGTERM)
    code, _, err = back_end.end()
    assert code == 0, err


def test_a_run_that_is_started_anew_is_shown_from_its_beginning(wave, together, start) -> None:
    back_end = start(*together, "backend", "--listen", "127.0.0.1:0", "--no-open", "--port", 0)
    url = back_end.line()
    ranks = wave(VISAPULT_URL=url)
    page = Page(back_end.line())
    late = page.newest_beyond(100)
    ranks.stop()
    # Slowly: a busy machine takes its time until the first of its steps is there.
    wave("--rate", 4, VISAPULT_URL=url)
    page.until(lambda: page.steps["last"] < late, f"a step before {late}")
    page.close()
    assert back_end.process.poll() is None


def field_shown(page: Page, field: int, step: int) -> dict:
    """What is told of a field of `two_fields` once it is shown, all of it."""
    page.show_field(field)
    page.until(lambda: (page.fields[-1]["field"], page.fields[-1]["provisional"]) == (field, False), f"field {field}")
    shown = page.fields[-1]
    assert (shown["step"], shown["missing"], shown["finite"]) == (step, 0, 24**3)
    return shown


@pytest.fixture
def paused(together, start, tmp_path: Path) -> Iterator[tuple[Page, int]]:
    """A page of `two_fields`, which is paused after a step."""
    program = compile_c(ROOT / "tests" / "native" / "two_fields.c", tmp_path / "two_fields")
    ranks = [start(program, rank, XDG_CONFIG_HOME=str(tmp_path)) for rank in range(RANKS)]
    urls = " ".join(rank.line() for rank in ranks)
    page = Page(start(*together, "backend", urls, "--no-open", "--port", 0).line())
    page.newest_beyond(2)
    # Before the first rank has come a page is told so.
    page.notices.clear()
    last = page.ask("pause") - 1
    page.until(lambda: page.steps["last"] == last, "the last step before the pause")
    yield page, last
    assert page.notices == []
    page.close()


def test_the_magnitude_of_what_nobody_has_looked_at_comes_to_all_processes(paused: tuple[Page, int]) -> None:
    page, last = paused
    assert field_shown(page, 2, last)["range"] == pytest.approx([1000 + last, math.hypot(23, 2000 + last)])


def test_another_field_of_a_paused_simulation_comes_to_all_processes(paused: tuple[Page, int]) -> None:
    page, last = paused
    shown = field_shown(page, 1, last)
    assert shown["range"] == [1000 + last, 2000 + last]
    # What was there before still is, and what comes has both.
    field_shown(page, 0, last)
    page.ask("step")
    page.until(lambda: page.steps["last"] == last + 1, "the next step")
    # Its logarithm asks for the field, too.
    logarithm = field_shown(page, 4, last + 1)["range"]
    assert logarithm == pytest.approx([math.log10(1001 + last), math.log10(2001 + last)])
    # So does the magnitude of what both are components of.
    assert field_shown(page, 2, last + 1)["range"] == pytest.approx([1001 + last, math.hypot(23, 2001 + last)])
    # The range of a simulation's field grows with its steps.
    assert field_shown(page, 1, last + 1)["range"] == [1000 + last, 2001 + last]
    field_shown(page, 0, last + 1)


@pytest.mark.parametrize("lost", ["SIGSTOP", "SIGTERM", "SIGKILL"])
def test_steps_are_complete_again_when_a_process_is_gone(
    wave, launcher: str, together, start, tmp_path: Path, lost: str
) -> None:
    # A process that is killed does not take the others with it.
    together = [together[0], *(["--enable-recovery"] if launcher == "openmpi" else []), *together[1:]]
    mark = tmp_path / "received.json"
    urls = wave("--listen", "127.0.0.1:0").line()
    back_end = start(*together, "backend", urls, "--pes", 6, "--no-open", "--port", 0, "--json", mark)
    url = back_end.line()
    page = Page(url)
    page.newest_beyond(page.newest_beyond(0))
    gone = pid_of_process(2, mark)
    os.kill(gone, getattr(signal, lost))
    if lost == "SIGKILL" and launcher == "mpich":
        # Its mpiexec ends all processes when one is killed: nothing is left that waits.
        assert back_end.end()[0] != 0
        return
    try:
        back_end.error_with("process 2 of the back end is gone")
        page.close()
        page = Page(url)
        newest = page.newest_beyond(0)
        if lost == "SIGSTOP":
            # One that comes back takes the others with it as little as one that stays away.
            os.kill(gone, signal.SIGCONT)
            back_end.error_with("took this one for lost")
        for _ in range(5):
            newest = page.newest_beyond(newest)
        if lost != "SIGKILL":
            # It waits for the others: launchers end a run of which a process ends by itself.
            assert pid_of_process(2, mark) == gone
    finally:
        page.close()
        os.kill(pid_of_process(0, mark), signal.SIGTERM)
        if lost == "SIGSTOP":
            # Where one is lost, the launcher may end the others in the middle of their last words.
            whole(mark)
    back_end.process.wait(PATIENCE_S)
    assert back_end.process.returncode == 0 or lost != "SIGTERM"
    assert json.loads(mark.read_text())["fresh_share"] == 1


def test_a_simulation_that_would_run_in_every_process_is_refused(together, start, tmp_path: Path) -> None:
    code, out, err = start(*together, "render", "demo:wave?n=32", "--out", tmp_path / "x.png").end()
    assert code != 0
    assert out == ""
    assert "would run once in every process" in err


def test_processes_end_together(series: Path, together, start) -> None:
    shown = start(*together, "view", series, "--no-open", "--port", 0)
    # It answers, and so it listens to signals, too.
    Page(shown.line()).close()
    os.kill(pid_of_process(0, series), signal.SIGINT)
    code, out, err = shown.end()
    assert (code, out) == (0, ""), err


def test_the_input_that_a_launcher_gives_one_process_ends_all_when_it_ends(series: Path, together) -> None:
    words = [*together, "view", series, "--port", 0, "--no-open", "--until-input-ends"]
    ran = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert ran.stdin is not None and ran.stdout is not None
        page = Page(ran.stdout.readline().strip())
        page.until(lambda: page.fields, "a field")
        # Those that have no input, or one that has ended, have not taken that for a word.
        assert ran.poll() is None
        ran.stdin.close()
        ran.wait(PATIENCE_S)
    finally:
        ran.kill()
        ran.wait()
