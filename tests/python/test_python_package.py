"""The Python package: what it publishes arrives as it was, and what makes no sense is refused."""

import ast
import ctypes
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from conftest import VISAPULT, run
from page import Page
from publishers import Running

visapult = pytest.importorskip("visapult", reason="the package is not installed: make python-package")

PATIENCE_S = 60.0


def publisher(array: np.ndarray, **options: object) -> Any:
    declared = {"name": "run", "size": array.shape[::-1], "fields": {"p": "Pa"}, "listen": "127.0.0.1:0"}
    return visapult.Publisher(**(declared | options))


def picture(source: str, folder: Path) -> bytes:
    run("render", source, "--out", folder / "image.png", "--size", "160x120", "--az", 30)
    return (folder / "image.png").read_bytes()


def picture_of_file(array: np.ndarray, folder: Path) -> bytes:
    np.save(folder / "array.npy", np.ascontiguousarray(array, dtype=np.float32))
    return picture(str(folder / "array.npy"), folder)


def wait_for(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, f"{what} has not happened within {PATIENCE_S} s"
        threading.Event().wait(0.01)


def scaled(volume: np.ndarray, kind: type) -> np.ndarray:
    return (volume * 20_000).astype(kind) if np.issubdtype(kind, np.integer) else volume.astype(kind)


ORDERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "sliced": lambda array: np.pad(array, 2)[2:-2, 2:-2, 2:-2],
    "every second": lambda array: np.repeat(array, 2, axis=2)[:, :, ::2],
    "backwards": lambda array: np.ascontiguousarray(array[::-1, :, ::-1])[::-1, :, ::-1],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16])
def test_what_is_published_is_what_is_seen(volume: np.ndarray, kind: type, order: str, tmp_path: Path) -> None:
    array = ORDERS[order](scaled(volume, kind))
    with publisher(array) as p:
        assert p.publish(0.0, p=array) == 0
        assert picture(p.url, tmp_path) == picture_of_file(array, tmp_path)


@pytest.mark.parametrize("kind", ["?", "u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", "<f2", ">f4", ">f8"])
def test_every_real_type_is_converted_as_numpy_does(volume: np.ndarray, kind: str, tmp_path: Path) -> None:
    array = (volume * 100).astype(kind)
    with publisher(array) as p:
        p.publish(0.0, p=array)
        assert picture(p.url, tmp_path) == picture_of_file(array, tmp_path)


def test_an_array_may_change_once_it_is_published(volume: np.ndarray, tmp_path: Path) -> None:
    array = volume.copy()
    with publisher(array) as p:
        p.publish(0.0, p=array)
        array[:] = 0
        assert picture(p.url, tmp_path) == picture_of_file(volume, tmp_path)


def test_what_is_declared_is_told(volume: np.ndarray) -> None:
    fields = [visapult.Field("p", "Pa", range=(-1.0, 2.0)), "T"]
    with publisher(volume, fields=fields, spacing=(0.1, 0.2, 0.3), origin=(1, 2, 3), unit="m", centering="cell") as p:
        p.publish(0.25, p=volume, T=volume)
        told = run("info", p.url).stdout
    for part in ["run", "48 x 40 x 56 cell", "spacing 0.1 x 0.2 x 0.3 m", "origin (1, 2, 3)", "Pa", "T (f32)"]:
        assert part in told, told


RANK = """
import sys
import numpy as np
import visapult

path, rank, cut = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
whole = np.load(path)
nz, ny, nx = whole.shape
lo, hi = [(0, cut), (cut, nx)][rank]
block = ((lo, 0, 0), (hi, ny, nz))
with visapult.Publisher(name="two", size=(nx, ny, nz), fields=["p"], block=block, rank=rank, ranks=2, listen="127.0.0.1:0") as p:
    p.publish(0.0, p=whole[:, :, lo:hi])
    print(p.url, flush=True)
    sys.stdin.read()
"""


def first_line(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline().strip()


@contextmanager
def two_ranks(path: Path, cut: int) -> Iterator[str]:
    """Two processes that publish the parts of a file; their URLs."""
    commands = [[sys.executable, "-c", RANK, str(path), str(rank), str(cut)] for rank in range(2)]
    ranks = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands]
    try:
        yield " ".join(first_line(rank) for rank in ranks)
    finally:
        for rank in ranks:
            rank.communicate()
    assert [rank.returncode for rank in ranks] == [0, 0]


@contextmanager
def running(program: str) -> Iterator[str]:
    """A program that publishes until it is stopped; the URL that it prints."""
    started = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        yield first_line(started)
    finally:
        started.terminate()
        started.communicate()


def test_two_processes_publish_one_field(volume: np.ndarray, tmp_path: Path) -> None:
    expected = picture_of_file(volume, tmp_path)
    with two_ranks(tmp_path / "array.npy", 13) as urls:
        assert picture(urls, tmp_path) == expected


@contextmanager
def back_end() -> Iterator[str]:
    """A back end that waits for a simulation and counts what comes of it; its URL."""
    with back_end_process() as (_, url):
        yield url


@contextmanager
def back_end_process() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The same, and its process, which may be stopped."""
    command: list[str | Path] = [VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", "0", "--no-open", "--json", os.devnull]
    waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield waiting, first_line(waiting)
    finally:
        waiting.terminate()
        waiting.send_signal(signal.SIGCONT)
        waiting.communicate()


def test_a_back_end_that_waits_is_dialled(volume: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    with back_end() as url:
        monkeypatch.setenv("VISAPULT_URL", url)
        with publisher(volume, listen=None) as p:
            assert p.is_on
            assert p.url is None
            wait_for(lambda: p.publish(0.0, p=volume) > 0 and p.statistics().sent > 2, "steps are sent")


def test_a_back_end_that_is_not_there_is_no_reason_to_stop(volume: np.ndarray) -> None:
    with publisher(volume, listen=None, url="ripp://127.0.0.1:9/run") as p:
        assert [p.publish(t, p=volume) for t in (0.0, 0.5)] == [0, 1]
        assert (p.statistics().steps, p.statistics().attached) == (2, 0)


def test_publishing_is_off_where_nobody_is_named(volume: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISAPULT_URL", raising=False)
    with publisher(volume, listen=None) as p:
        assert not p.is_on
        assert p.url is None
        assert [p.publish(t, p=volume) for t in (0.0, 0.5)] == [0, 1]
        # What would have to be looked at is not: the call costs nothing.
        assert p.begin(1.0) == 2
        p.put("p", volume[1:])
        p.end()
        with pytest.raises(visapult.CallError, match="no field"):
            p.put("q", volume)
        assert p.statistics().steps == 0
    with pytest.raises(visapult.CallError, match="closed"):
        p.put("p", volume)
    with pytest.raises(visapult.CallError, match="block"):
        publisher(volume, listen=None, block=((0, 0, 0), (1, 1, 99)))


def test_steps_are_put_field_by_field_and_counted(volume: np.ndarray) -> None:
    with publisher(volume, fields={"p": "Pa", "T": "K"}) as p:
        assert p.begin(0.0) == 0
        p.put("p", volume)
        p.put("T", volume)
        p.end()
        assert p.begin(0.5, step=7) == 7
        p.end()
        assert p.publish(1.0, p=volume, T=volume) == 8
        done = p.statistics()
    assert (done.steps, done.attached) == (3, 0)
    assert done.seconds > 0
    assert p.statistics().steps == 3


def test_the_magnitude_of_a_vector_comes_of_a_running_simulation(volume: np.ndarray) -> None:
    """All of its components are asked for, whatever was looked at before."""
    fields = dict.fromkeys(["rho", "Bx", "By", "Bz"], "T")
    over = threading.Event()
    with publisher(volume, fields=fields) as p:

        def simulate() -> None:
            while not over.wait(0.02):
                p.publish(0.0, rho=volume, Bx=volume * 2, By=volume * 0, Bz=volume * -1.5)

        simulation = threading.Thread(target=simulate)
        simulation.start()
        back_end = Running(VISAPULT, "backend", p.url, "--no-open", "--port", 0)
        try:
            page = Page(back_end.line())
            page.newest_beyond(1)
            assert [field["name"] for field in page.source["fields"]] == [*fields, "|B|"]
            page.show_field(4)
            page.until(lambda: (page.fields[-1]["field"], page.fields[-1]["provisional"]) == (4, False), "|B|")
            largest = np.abs(volume).max() * 2.5
            assert page.fields[-1]["range"][1] == pytest.approx(largest, rel=1e-6)
            page.close()
        finally:
            over.set()
            simulation.join()
            back_end.process.kill()


def test_threads_may_publish_while_others_run(volume: np.ndarray) -> None:
    with publisher(volume) as p:
        threads = [threading.Thread(target=lambda: [p.publish(0.0, p=volume) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert p.statistics().steps == 80


WRONG_ARRAYS = {
    "a part": (lambda volume: volume[1:], r"shape \[55, 40, 48\].*\[56, 40, 48\]"),
    "turned round": (lambda volume: volume.T, "x is the last axis"),
    "flat": (lambda volume: volume.ravel(), "shape"),
    "complex": (lambda volume: volume.astype(">c8"), r"complex numbers.*array\.real"),
    "wide": (lambda volume: volume.astype(np.longdouble), "no real numbers"),
    "objects": (lambda volume: volume.astype(object), "no real numbers"),
    "one number": (lambda volume: volume.max(), r"a single number.*numpy\.full\(\(56, 40, 48\), value\)"),
    "one number of Python's": (lambda volume: 3.5, "a single number"),
    "no axes": (lambda volume: np.array(3.5), "a single number"),
    "dates": (lambda volume: volume.astype("i8").astype("M8[ns]"), r"dates \(datetime64\[ns\]\).*array\.min\(\)"),
    "times": (lambda volume: volume.astype("i8").astype("m8[s]"), r"times \(timedelta64\[s\]\).*numpy\.timedelta64\(1"),
    "text": (lambda volume: volume.astype(str), "values are text"),
    "bytes": (lambda volume: volume.astype("S8"), "values are text"),
    "records": (lambda volume: volume.astype([("p", "f4"), ("q", "f4")]), "records.*one member"),
    "with names of axes": (lambda volume: NamedAxes(volume), r"axes \('lon', 'lat', 'lev'\).*transpose"),
    "masked whole numbers": (lambda volume: np.ma.masked_less(volume.astype(np.int32), 1), r"masked values become NaN.*astype"),
    "a list": (lambda volume: volume.tolist(), r"list.*numpy\.asarray"),
}


class NamedAxes:
    """What of xarray's arrays matters here."""

    dims = ("lon", "lat", "lev")

    def __init__(self, values: np.ndarray) -> None:
        self.dtype, self.shape = values.dtype, values.shape


def test_arrays_of_ctypes_are_published_where_they_lie(volume: np.ndarray, tmp_path: Path) -> None:
    nz, ny, nx = volume.shape
    array = (ctypes.c_float * nx * ny * nz).from_buffer_copy(np.ascontiguousarray(volume, np.float32))
    with publisher(volume) as p:
        p.publish(0.0, p=array)
        assert picture(p.url, tmp_path) == picture_of_file(volume, tmp_path)
        short = (ctypes.c_float * nx * ny * (nz - 1))()
        with pytest.raises(visapult.ArrayError, match="has shape"):
            p.publish(1.0, p=short)


def test_what_a_mask_hides_is_missing(volume: np.ndarray, tmp_path: Path) -> None:
    hidden = volume > np.median(volume)
    with publisher(volume) as p:
        p.publish(0.0, p=np.ma.masked_array(np.where(hidden, 1e30, volume), hidden).astype(np.float32))
        assert picture(p.url, tmp_path) == picture_of_file(np.where(hidden, np.nan, volume), tmp_path)


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_wrong_arrays_are_refused_and_nothing_is_published(volume: np.ndarray, case: str) -> None:
    spoil, said = WRONG_ARRAYS[case]
    with publisher(volume, fields=["p", "T"]) as p:
        with pytest.raises(visapult.ArrayError, match=f"(?s)field T.*{said}"):
            p.publish(0.0, p=volume, T=spoil(volume))
        assert p.statistics().steps == 0
        assert p.publish(0.0, p=volume, T=volume) == 0


def test_a_step_that_something_went_wrong_in_is_left_out_and_the_run_goes_on(volume: np.ndarray, capfd: pytest.CaptureFixture[str]) -> None:
    with publisher(volume) as p:
        p.begin(0.0)
        p.put("p", volume)
        assert p.begin(1.0) == 1, "the one before has had its number, as on other ranks"
        p.put("p", volume)
        p.end()
        p.begin(2.0)
        assert p.steer()
        assert p.publish(3.0, p=volume) == 3
        p.begin(4.0, step=7)
        assert p.begin(4.0, step=7) == 7
        p.end()
        assert p.statistics().steps == 3
    assert capfd.readouterr().err == "visapult: step 0 was begun and not ended: it is left out, as others like it will be\n"


def test_wrong_calls_are_refused_with_the_reason(volume: np.ndarray) -> None:
    with publisher(volume) as p:
        for call, said in [
            (lambda: p.publish(0.0), "p is missing"),
            (lambda: p.publish(0.0, q=volume), 'no field "q": declared are p'),
            (lambda: p.put("q", volume), "no field"),
            (lambda: p.put("p", volume), "begin"),
            (p.end, "begin"),
        ]:
            with pytest.raises(visapult.CallError, match=said):
                call()
        p.begin(0.0)
        p.end()
        with pytest.raises(visapult.CallError, match="step 0 does not follow: 1"):
            p.begin(1.0, step=0)
        for step in (-1, 2**64):
            with pytest.raises(visapult.CallError, match=f"step {step} is no number of a step"):
                p.begin(1.0, step=step)
        for call in [lambda: p.publish(np.inf, p=volume), lambda: p.begin(-np.inf)]:
            with pytest.raises(visapult.CallError, match="give NaN where it is unknown"):
                call()
        for call in [lambda: p.publish(10**400, p=volume), lambda: p.begin(10**400)]:
            with pytest.raises(visapult.CallError, match="out of bounds"):
                call()
        for call in [lambda: p.publish(0.0, **{"\ud800": volume}), lambda: p.put("\ud800", volume)]:
            with pytest.raises(visapult.CallError, match="none that can be shown"):
                call()
        for call in [lambda: p.publish("now", p=volume), lambda: p.put(1, volume)]:
            with pytest.raises(TypeError):
                call()
    p.close()
    for call in [lambda: p.publish(0.0, p=volume), lambda: p.begin(0.0), p.end]:
        with pytest.raises(visapult.CallError, match="closed"):
            call()
    assert issubclass(visapult.CallError, visapult.Error)


WRONG_DECLARATIONS = [
    ({"size": (48, 40, 0)}, "empty"),
    ({"size": (48, -1, 2)}, "negative"),
    ({"size": (48, 32)}, r"size \(48, 32\) is not three whole numbers"),
    ({"size": (48, 32, 2.5)}, "size .* is not three whole numbers"),
    ({"spacing": 0.5}, "spacing 0.5 is not three numbers"),
    ({"origin": (0.0, 0.0)}, "origin .* is not three numbers"),
    ({"spacing": (1.0, 0.0, 1.0)}, "spacing"),
    ({"centering": "corner"}, "corner"),
    ({"name": ""}, "the run has no name"),
    ({"name": "a\nb"}, "cannot be shown"),
    ({"name": "\ud800"}, "none that can be shown"),
    ({"fields": ["\ud800"]}, "none that can be shown"),
    ({"unit": "m\n"}, r'the grid has the unit "m\\n", which cannot be shown'),
    ({"unit": "m" * 201}, "the grid has a unit of 201 bytes"),
    ({"time_unit": "s\t"}, "the time has the unit"),
    ({"time_unit": "s" * 201}, "unit of time"),
    ({"fields": {"p": "Pa\n"}}, r'field p has the unit "Pa\\n"'),
    ({"parameters": [visapult.Parameter("speed", 1, 0, 2, unit="m\n")]}, "parameter speed has the unit"),
    ({"rank": 2**70}, "out of bounds"),
    ({"ranks": 2**70}, "out of bounds"),
    ({"fields": ["p", " "]}, "a field has no name"),
    ({"fields": []}, "0 fields"),
    ({"fields": "p"}, "a text"),
    ({"fields": [1]}, "1 is no field"),
    ({"fields": ["p", "p"]}, "two fields p"),
    ({"fields": {"p": None}}, "p of unit None is not a name and a unit"),
    ({"fields": visapult.Field("p")}, "fields .* is no list"),
    ({"fields": [visapult.Field("p", range=(1.0,))]}, "field p: its range .* is not two numbers"),
    ({"parameters": visapult.Parameter("speed", 1, 0, 2)}, "parameters .* is no list"),
    ({"fields": [visapult.Field("p", range=(1.0, 0.0))]}, "range"),
    ({"block": ((0, 0, 0), (49, 1, 1))}, "does not lie inside"),
    ({"block": (0, 0, 0, 48, 40, 56)}, "is no box: pass"),
    ({"rank": 2, "ranks": 2}, "rank 2 of 2"),
    ({"rank": -1}, "rank -1 of 1"),
    ({"url": "ripp://127.0.0.1:9/run"}, "leave one out"),
    ({"listen": "here"}, "ADDRESS:PORT"),
    ({"listen": None, "url": "http://127.0.0.1"}, "the URL"),
]


@pytest.mark.parametrize(("options", "said"), WRONG_DECLARATIONS)
def test_wrong_declarations_are_refused_with_the_reason(volume: np.ndarray, options: dict, said: str) -> None:
    with pytest.raises(visapult.CallError, match=said):
        publisher(volume, **options)


# A back end that takes nothing, though it is there: it is stopped. The program has its process and its URL.
TO_ONE_THAT_IS_STOPPED = """
import os, signal, sys, threading, time
import numpy as np
import visapult

array = np.zeros((32, 32, 32))
p = visapult.Publisher(name="run", size=(32, 32, 32), fields=["p"], url=sys.argv[2], delivery=sys.argv[3])
while p.statistics().sent < 4:
    p.publish(0.0, p=array)
    time.sleep(0.05)
os.kill(int(sys.argv[1]), signal.SIGSTOP)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        p.publish(0.0, p=array)
except KeyboardInterrupt:
    pass
counted = 0
def count():
    global counted
    while True:
        counted += 1
        time.sleep(0.001)
threading.Thread(target=count, daemon=True).start()
"""

ENDS = {
    "closed": (
        "every",
        """
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    p.close()
except KeyboardInterrupt:
    print("interrupted", p)
# Other threads tell what there is to tell.
time.sleep(1)
""",
        'interrupted <visapult.Publisher "run", closed>',
    ),
    "let go of": (
        "newest",
        """
before = counted
del p
print("others ran" if counted > before + 20 else counted - before)
""",
        "others ran",
    ),
    "asked meanwhile": (
        "every",
        """
closing = threading.Thread(target=p.close, daemon=True)
closing.start()
told = [(p.is_on, p.parameters, p.statistics().attached) for _ in range(20)]
print(closing.is_alive(), told[-1])
sys.stdout.flush()
os._exit(0)
""",
        "True (True, {}, 1)",
    ),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_publisher_that_waits_in_the_end_leaves_the_program_its_own_master(how: str) -> None:
    delivery, end, said = ENDS[how]
    with back_end_process() as (waiting, url):
        command = [sys.executable, "-c", TO_ONE_THAT_IS_STOPPED + end, str(waiting.pid), url, delivery]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    # Had it waited until the other end counts as dead, that would be told.
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, said, "")


FORKED = """
import os, sys
import numpy as np
import visapult

array = np.zeros((4, 4, 4))
p = visapult.Publisher(name="run", size=(4, 4, 4), fields=["p"], listen="127.0.0.1:0")
p.publish(0.0, p=array)
child = os.fork()
if child == 0:
    for call in [lambda: p.publish(1.0, p=array), lambda: p.begin(1.0), p.steer, p.statistics]:
        try:
            print(call())
        except visapult.CallError as error:
            assert "opened in another process" in str(error), error
    print(p, p.is_on, flush=True)
    p.close()
else:
    _, status = os.waitpid(child, 0)
    print(status, p.publish(1.0, p=array))
"""


def test_a_forked_process_is_told_that_the_publisher_is_not_its_own() -> None:
    # Newer versions of Python warn of forks where there are threads.
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ['<visapult.Publisher "run", of another process> False', "0 1"]
    assert done.stderr == ""


def test_a_share_of_another_process_is_left_to_that(tmp_path: Path) -> None:
    program = f"""
import os, visapult
with visapult.Share({str(tmp_path)!r}) as share:
    child = os.fork()
if child:
    print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_an_address_that_cannot_be_had_is_told(volume: np.ndarray) -> None:
    with pytest.raises(visapult.LinkError, match=r"203\.0\.113\.1"):
        publisher(volume, listen="203.0.113.1:7430")


def test_a_port_that_is_taken_is_told(volume: np.ndarray, tmp_path: Path) -> None:
    what_to_do = "choose another port, or 0 for any; in a notebook, close the publisher or share that an earlier cell opened"
    with publisher(volume) as first:
        address = f"127.0.0.1:{urlsplit(first.url).port}"
        for again in (lambda: publisher(volume, listen=address), lambda: visapult.Share(tmp_path, listen=address)):
            with pytest.raises(visapult.LinkError, match=f"{address}.*{what_to_do}$"):
                again()
    publisher(volume, listen=address).close()


def test_the_stubs_say_what_the_package_does() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    finished = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "visapult"], capture_output=True, text=True, check=False,
        env=os.environ | {"MYPY_CACHE_DIR": os.devnull},
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("python", ["3.11", "3.12"])
def test_the_examples_of_the_book_are_typed(python: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    page = (Path(__file__).parents[2] / "docs" / "src" / "python.md").read_text()
    examples = [part.split("```")[0] for part in page.split("```python\n")[1:]]
    assert len(examples) == 2
    for number, example in enumerate(examples):
        (tmp_path / f"example_{number}.py").write_text(example)
    command: list[str | Path] = [sys.executable, "-m", "mypy", "--strict", "--python-version", python, "--cache-dir", os.devnull, *tmp_path.glob("*.py")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_first_example_of_the_book_can_be_seen(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "src" / "python.md").read_text()
    example = page.split("```python\n")[1].split("```")[0]
    with running(example) as url:
        told = run("info", url).stdout
        picture(url, tmp_path)
    assert "48 x 40 x 32" in told
    assert "pressure" in told


def test_help_says_what_editors_do() -> None:
    package = Path(visapult.__file__).parent
    classes = [it for it in ast.parse((package / "_visapult.pyi").read_text()).body if isinstance(it, ast.ClassDef)]
    declared = [it for it in classes if not it.name.startswith("_")]
    assert len(declared) > 8
    for its in declared:
        members = {it.name: ast.get_docstring(it) for it in its.body if isinstance(it, ast.FunctionDef)}
        begun = members.pop("__new__", None)
        told = "\n\n".join(filter(None, [ast.get_docstring(its), begun]))
        assert inspect.getdoc(getattr(visapult, its.name)) == told
        for name, said in members.items():
            if said is not None:
                assert inspect.getdoc(getattr(getattr(visapult, its.name), name)) == said, f"{its.name}.{name}"
