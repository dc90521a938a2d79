"""`visapult.copy` and `visapult.Share`, as a program and a notebook have them."""

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import nbclient
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from shares import MEBI, SOON, copy, make_tree, opened, shared, tree_of  # noqa: F401 (a fixture)
from wan import Process, eventually, is_dialling

visapult = pytest.importorskip("visapult", reason="the package is not installed: make python-package")


def test_a_tree_goes_into_a_share_and_out_of_it(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(tmp_path / "run", 1, 100, 20 * MEBI)
    (tmp_path / "notes").write_bytes(b"1")
    seen: list[Any] = []
    threads: set[int] = set()

    def watch(progress: Any) -> None:
        seen.append(progress)
        threads.add(threading.get_ident())

    pushed = visapult.copy([tmp_path / "run", str(tmp_path / "notes")], f"{url}/in/", progress=watch)
    assert tree_of(folder / "in" / "run") == tree_of(tmp_path / "run")
    assert (pushed.files, pushed.same_files, pushed.failed) == (103, 0, [])
    assert pushed.bytes == pushed.wanted_bytes == sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    assert repr(pushed).startswith("<visapult.CopyResult: copied 103 files, 2")
    last = seen[-1]
    assert threads == {threading.get_ident()}
    assert (last.files, last.total_files, last.bytes, last.is_total) == (103, 103, pushed.bytes, True)
    assert str(last).startswith("21.") and " of 103 files" in str(last)
    again = visapult.copy(f"{url}/in/run", tmp_path, checksum=True)
    assert (again.files, again.same_files, again.sent_bytes) == (0, 102, 0)


def test_options_are_those_of_the_command(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 2, 20, MEBI)
    dry = visapult.copy(f"{url}/run", tmp_path, include="*.txt", exclude=["0", "1"], dry_run=True)
    assert (dry.wanted_files, dry.files) == (14, 0)
    assert str(dry).startswith("would copy 14 files, ")
    assert not (tmp_path / "run").exists()
    part = visapult.copy(f"{url}/run/large.raw", tmp_path / "part", range=(1000, 3000), rate="500M", lanes=2, transport="tcp", weight=2, sync=False, retry=1)
    assert part.bytes == 2000
    assert (tmp_path / "part").read_bytes() == (folder / "run" / "large.raw").read_bytes()[1000:3000]
    (tmp_path / "mirror" / "run").mkdir(parents=True)
    (tmp_path / "mirror" / "run" / "old").write_bytes(b"")
    # What is of another kind gives way, too.
    (tmp_path / "mirror" / "run" / "large.raw").mkdir()
    assert visapult.copy(f"{url}/run", tmp_path / "mirror", delete=True).deleted == ["run/old", "run/large.raw"]
    assert tree_of(tmp_path / "mirror" / "run") == tree_of(folder / "run")
    with pytest.raises(visapult.CallError, match="unmatched"):
        visapult.copy(f"{url}/run", tmp_path, delete=True, include="*.txt")


@pytest.mark.parametrize(
    ("sources", "options", "error", "said"),
    [
        ("{url}/none", {}, "CopyError", "none: there is no such file"),
        ("{url}/../x", {}, "CallError", "leads out of the share"),
        ("ripp://127.0.0.1:1/x", {}, "CopyError", "Connection refused"),
        ([], {}, "CallError", "no sources"),
        ("", {}, "CallError", "the name of a source is empty"),
        (["run.npy", ""], {}, "CallError", "the name of a source is empty"),
        ("{url}", {"rate": "fast"}, "CallError", "950M"),
        ("{url}", {"rate": -1.0}, "CallError", "bits per second"),
        ("{url}", {"rate": 950}, "CallError", 'give "950M" for megabits'),
        ("{url}", {"rate": True}, "CallError", "a bool is no rate"),
        ("~/none", {}, "CallError", "`~` is for the shell"),
        ("{url}", {"range": (5, 5)}, "CallError", "ends at 5"),
        (b"run", {}, "CallError", "b'run' is no place"),
        (["{url}", None], {}, "CallError", "sources: None is no place"),
        ("{url}", {"delete": "unmached"}, "CallError", "'unmached' is none of"),
        ("{url}", {"delete": "no"}, "CallError", "'no' is none of"),
        ("{url}", {"progress": "bar"}, "CallError", "'bar' is neither"),
        ("{url}", {"range": 5}, "CallError", "range: 5 is not two numbers"),
        ("{url}", {"range": (-1, 5)}, "CallError", "-1 is out of bounds"),
        ("{url}", {"lanes": -1}, "CallError", "1 to 64"),
        ("{url}", {"weight": 0}, "CallError", "1 to 1000"),
        ("{url}", {"lanes": 65}, "CallError", "1 to 64"),
        ("{url}", {"local": "here"}, "CallError", "no address"),
        ("{url}", {"transport": "pigeon"}, "CallError", "pigeon"),
        ("{url}", {"retry": -1.0}, "CallError", "seconds"),
        ("{url}", {"include": "["}, "CallError", r"\["),
        (["{url}/a", "{url}/a"], {}, "CallError", "two sources are called a"),
        ("{url}/run.npy", {"box": (slice(5), 3)}, "CallError", "box: 2 given"),
        ("{url}/run.npy", {"box": np.s_[0:4]}, "CallError", "give three, along z, y and x"),
        ("{url}/run.npy", {"box": np.s_[:, 3:3, :]}, "CallError", "ends before"),
        ("{url}/run.npy", {"box": np.s_[:, :, ::2]}, "CallError", "stride=2"),
        ("{url}/run.npy", {"box": np.s_[-2:, :, :]}, "CallError", "-2 is out of bounds"),
        ("{url}/run.npy", {"stride": 0}, "CallError", "1 or more"),
        ("{url}/run.npy", {"delete": 1, "include": "*"}, "CallError", "delete: 1 is none of"),
        ("{url}/run.npy", {"stride": 2.5}, "CallError", "2.5 is no number"),
        ("{url}/run.npy", {"level": 1.5}, "CallError", "1.5 is no number"),
        ("{url}/run.npy", {"error": "0"}, "CallError", "positive"),
        ("{url}/run.npy", {"error": 0.1, "include": "*"}, "CallError", "leave out"),
        ("{url}/run.npy", {"error": 0.1, "delete": "unmatched"}, "CallError", "leave out"),
        ("{url}/run.npy", {"range": (0, 5), "delete": True}, "CallError", "a range is of one file"),
        ("{url}/run.npy", {"range": (0, 5), "exclude": "*"}, "CallError", "a range is of one file"),
        ("{url}", {"retry": 10**400}, "CallError", "out of bounds"),
        ("{url}", {"include": "\ud800"}, "CallError", "none that can be shown"),
    ],
)
def test_what_does_not_work_is_one_line(
    shared: tuple[Path, str], tmp_path: Path, sources: str | bytes | list, options: dict, error: str, said: str
) -> None:
    _, url = shared
    given = sources.format(url=url) if isinstance(sources, str) else sources
    with pytest.raises(getattr(visapult, error), match=said) as raised:
        visapult.copy(given, tmp_path / "here", **options)
    assert isinstance(raised.value, visapult.Error)
    assert "\n" not in str(raised.value)


def test_a_part_of_a_field_is_what_numpy_cuts_out(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    field = np.random.default_rng(7).normal(size=(3, 20, 30, 40)).astype("f4")
    np.save(folder / "run.npy", field)
    small = tmp_path / "small.zarr"
    box = np.s_[4:, :21, 7]
    dry = visapult.copy(f"{url}/run.npy", small, box=box, stride=np.array([1, 2, 1]), dry_run=True)
    assert (dry.wanted_files > 0, small.exists()) == (True, False)
    done = visapult.copy(f"{url}/run.npy", small, box=list(box), stride=np.array([1, 2, 1], "u1"), steps=slice(0, None, 2), error="0.1%")
    assert done.files > 0
    assert not done.failed
    cut = field[0::2, 4:, :21:2, 7:8]
    copied = opened(small)["run"]
    assert copied.shape == cut.shape
    assert np.all(np.abs(copied[...] - cut) <= 1e-3 * np.abs(cut))
    assert np.any(copied[...] != cut)
    twice = tmp_path / "twice.zarr"
    visapult.copy(f"{url}/run.npy", twice, field=["run", "run"])
    assert sorted(opened(twice).array_keys()) == ["run", "step", "x", "y", "z"]
    whole = tmp_path / "whole.zarr"
    visapult.copy(f"{url}/run.npy", whole, level=np.int64(0))
    assert np.array_equal(opened(whole)["run"][...], field)


def test_a_share_fetches_from_one_host_or_several(tmp_path: Path) -> None:
    for hosts in ("127.0.0.1", ["127.0.0.1", "localhost"], ("localhost",), ()):
        with visapult.Share(tmp_path, write=True, fetch=hosts) as share:
            assert share.url
    with pytest.raises(TypeError):
        visapult.Share(tmp_path, fetch=7)
    with pytest.raises(TypeError):
        visapult.Share(tmp_path, fetch=[7])


def test_what_could_not_be_copied_is_warned_of(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 3, 7, 10)
    (tmp_path / "here" / "run" / "large.raw").mkdir(parents=True)
    with pytest.warns(UserWarning, match=r"1 not copied, the first is run/large\.raw: .*folder"):
        result = visapult.copy(f"{url}/run", tmp_path / "here")
    assert [path for path, _ in result.failed] == ["run/large.raw"]
    assert "; 1 FAILED" in repr(result)
    assert result.files == 8


def test_what_progress_raises_stops_the_copy_and_the_next_goes_on(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 4, 5, 64 * MEBI)

    class Enough(Exception):
        pass

    def watch(progress: Any) -> None:
        if progress.bytes > 20 * MEBI:
            raise Enough

    with pytest.raises(Enough):
        visapult.copy(f"{url}/run", tmp_path, progress=watch, rate="200M")
    assert not (tmp_path / "run" / "large.raw").exists()
    rest = visapult.copy(f"{url}/run", tmp_path)
    assert rest.resumed_bytes >= 16 * MEBI
    assert tree_of(tmp_path / "run") == tree_of(folder / "run")


INTERRUPTED = """
import sys, threading, time, visapult
counted = 0
def count():
    global counted
    while True:
        counted += 1
        time.sleep(0.001)
threading.Thread(target=count, daemon=True).start()
began = []
def watch(progress):
    if progress.bytes and not began:
        began.append(counted)
        print("copying", flush=True)
try:
    visapult.copy(sys.argv[1], sys.argv[2], rate="50M", progress=watch)
except KeyboardInterrupt:
    print("interrupted", counted > began[0])
"""


def test_ctrl_c_ends_it_and_other_threads_run_meanwhile(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 5, 5, 128 * MEBI)
    program = Process([sys.executable, "-c", INTERRUPTED, f"{url}/run", tmp_path])
    assert program.read_line() == "copying"
    program.signal(signal.SIGINT)
    ended = program.end(SOON)
    assert (ended.code, ended.stdout.splitlines()[-1]) == (0, "interrupted True"), ended
    assert (tmp_path / "run" / "large.raw.visapult-part").exists()


def test_one_who_dials_in_vain_can_be_interrupted(tmp_path: Path) -> None:
    # Nobody answers there, and nobody says so.
    program = "import sys, visapult; print(1, flush=True); visapult.copy('ripp://AAAAAAAAAAAAAAAAAAAAAA@203.0.113.1:9/x#' + 'A' * 43, sys.argv[1])"
    dialling = Process([sys.executable, "-c", program, tmp_path / "here"])
    dialling.read_line()
    # Where there is no way to there, it ends by itself.
    eventually("that it dials", lambda: is_dialling("203.0.113.1", 9) or not dialling.is_running())
    dialling.signal(signal.SIGINT)
    ended = dialling.end(SOON)
    assert ended.code != 0
    assert "KeyboardInterrupt" in ended.stderr or "CopyError" in ended.stderr


def test_a_share_is_open_until_it_is_closed(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a").write_bytes(b"a")
    with visapult.Share(tmp_path / "runs") as share:
        assert repr(share) == f"<visapult.Share {tmp_path}/runs, open>"
        done = copy(f"{share.url}/a", tmp_path / "a")
        assert done.code == 0, done.stderr
        with pytest.raises(visapult.CopyError, match="read-only"):
            visapult.copy(tmp_path / "a", f"{share.url}/b")
    with pytest.raises(visapult.CopyError):
        visapult.copy(f"{share.url}/a", tmp_path / "c", retry=0)
    policy = tmp_path / "people.toml"
    policy.write_text('ask = "Ada"\n[[person]]\nname = "grace"\nwrite = ["."]\n')
    with visapult.Share(tmp_path / "runs", policy=policy) as share:
        assert (share.url, list(share.urls)) == (None, ["grace"])
        assert visapult.copy(tmp_path / "a", f"{share.urls['grace']}/b").files == 1
    assert (tmp_path / "runs" / "b").read_bytes() == b"a"
    with pytest.raises(visapult.CallError, match="no such file"):
        visapult.Share(tmp_path / "none")
    with pytest.raises(visapult.CallError, match="ADDRESS:PORT"):
        visapult.Share(tmp_path, listen="here")


def test_the_example_of_the_book_is_followed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "src" / "copying.md").read_text()
    example = page.split("```python\n")[1].split("```")[0]
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("copied 1 file, 6 bytes in ")
    assert second == "1 file there already"
    # Where nothing can be written over, the last line is told.
    assert done.stderr.strip() == first


NOTEBOOK = """
import visapult
result = visapult.copy({url!r}, {here!r}, progress=True, rate="200M")
""", """
import os, signal, threading
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    visapult.copy({url!r}, {there!r}, rate="20M")
except KeyboardInterrupt:
    print("stopped")
"""


def test_a_notebook_shows_a_line_and_stops_at_its_button(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 8, 5, 30 * MEBI)
    places = {"url": f"{url}/run", "here": str(tmp_path / "here"), "there": str(tmp_path / "there")}
    notebook = new_notebook(cells=[new_code_cell(cell.format(**places)) for cell in NOTEBOOK])
    nbclient.NotebookClient(notebook, timeout=60).execute()
    shown, stopped = (cell.outputs for cell in notebook.cells)
    assert [output.data["text/plain"][:14] for output in shown] == ["copied 7 files"]
    assert [output.text for output in stopped] == ["stopped\n"]


def test_a_line_of_a_notebook_is_written_over_and_notices_stay() -> None:
    class Display(list):
        def __call__(self, content: dict, raw: bool, display_id: bool) -> "Shown":
            assert raw and display_id
            self.append(content["text/plain"])
            return Shown(self, len(self) - 1)

    class Shown:
        def __init__(self, cell: Display, number: int) -> None:
            self.cell, self.number = cell, number

        def update(self, content: dict, raw: bool) -> None:
            assert raw
            self.cell[self.number] = content["text/plain"]

    cell = Display()
    screen = visapult._copying.Notebook(cell)
    for line in ("1 of 3", "2 of 3"):
        screen.write(line)
    screen.keep("the connection is lost")
    screen.write("3 of 3")
    screen.keep("copied")
    assert cell == ["the connection is lost", "copied"]


def test_a_terminal_shows_a_bar(shared: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, url = shared
    make_tree(folder / "run", 6, 5, 30 * MEBI)

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "100")
    visapult.copy(f"{url}/run", tmp_path, progress=True, rate="200M")
    lines = screen.getvalue().split("\r")
    assert any(line.startswith("[####") and "Mbit/s" in line for line in lines)
    assert all(len(line) < 100 + len("\x1b[K") for line in lines[:-1])
    assert lines[-1].startswith("copied 7 files") and lines[-1].endswith("\n")
