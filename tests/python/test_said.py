"""What commands say: names that others have chosen move no cursor, and nobody has to read it."""

import contextlib
import json
import os
import pty
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from conftest import VISAPULT, run
from shares import sharing

SOON = 60
# Red, the title of a window, and a control sequence of one character.
CURSOR = "d\x1b[31m\x1b]0;title\x07\r\x9b1m"


@pytest.fixture
def field(tmp_path: Path) -> Path:
    path = tmp_path / "field.npy"
    np.save(path, np.linspace(0, 1, 512, dtype=np.float32).reshape(8, 8, 8))
    return path


def test_names_in_a_file_move_no_cursor(tmp_path: Path) -> None:
    path = tmp_path / "names.h5"
    with h5py.File(path, "w") as file:
        file[CURSOR] = np.linspace(0, 1, 512, dtype=np.float32).reshape(8, 8, 8)
    said = [
        run("info", path),
        run("render", path, "--out", tmp_path / "out.png", "--size", "32x32"),
        run("render", path, "--out", tmp_path / "out.png", "--field", "none", check=False),
        run("info", tmp_path / CURSOR, check=False),
    ]
    for finished in said:
        text = finished.stdout + finished.stderr
        assert r"d\u001b[31m\u001b]0;title\u0007\u000d\u009b1m" in text
        assert not [sign for sign in text if sign != "\n" and (ord(sign) < 0x20 or 0x7F <= ord(sign) < 0xA0)]
    assert json.loads(run("info", path, "--json").stdout)["fields"][0]["name"] == CURSOR


COMMANDS = {
    "info": (["info", "FIELD"], 0),
    "render": (["render", "FIELD", "--out", "OUT", "--size", "32x32"], 0),
    "serve": (["serve", "FIELD", "--bind", "127.0.0.1:0", "--for", "1s"], 0),
    "view": (["view", "FIELD", "--port", "0", "--no-open", "--for", "1s"], 0),
    "backend": (["backend", "--listen", "127.0.0.1:0", "--port", "0", "--no-open", "--for", "1s"], 1),
    "an error": (["info", "NONE"], 1),
    "a command line": (["info"], 2),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_is_gone_ends_nothing(command: str, field: Path, tmp_path: Path) -> None:
    words, code = COMMANDS[command]
    places = {"FIELD": field, "OUT": tmp_path / "out.png", "NONE": tmp_path / "none.npy"}
    end, gone = os.pipe()
    os.close(end)
    ended = subprocess.run(
        [VISAPULT, *(str(places.get(word, word)) for word in words)],
        stdout=gone, stderr=gone, timeout=SOON, check=False, env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
    )  # fmt: skip
    os.close(gone)
    assert ended.returncode == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("words", "code"), [
    (["info", "FIELD", "--json"], 1),
    (["copy", "FIELD", "HERE", "--json"], 1),
    (["copy", "FIELD", "HERE"], 1),
    (["copy", "FIELD", "HERE", "--json", "--dry-run"], 1),
    # A command that has failed for another reason has its own code.
    (["copy", "FIELD", "HERE", "--json", "--include", "["], 2),
])  # fmt: skip
def test_what_could_not_be_written_is_told_and_harms_nothing_else(words: list[str], code: int, field: Path, tmp_path: Path) -> None:
    places = {"FIELD": field, "HERE": tmp_path / "here.npy"}
    with open("/dev/full", "wb") as full:
        command = [str(VISAPULT), *(str(places.get(word, word)) for word in words)]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SOON, check=False)
    told = ended.stderr.splitlines()[-1]
    assert (ended.returncode, told.startswith("visapult: cannot write all to standard output: No space left")) == (code, True), ended
    if "HERE" in words and "--dry-run" not in words and code == 1:
        assert (tmp_path / "here.npy").read_bytes() == field.read_bytes()


def test_a_hyphen_is_standard_output_and_what_else_is_said_goes_beside_it(
    field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "file").write_text("content")
    render = [str(VISAPULT), "render", str(field), "--size", "32x32"]
    picture = subprocess.run([*render, "--out", "-"], capture_output=True, timeout=SOON, check=True)
    assert picture.stdout.startswith(b"\x89PNG") and picture.stdout.endswith(b"IEND\xaeB`\x82")
    assert picture.stderr.startswith(b"-: 32 x 32")
    cost = run("render", field, "--size", "32x32", "--out", tmp_path / "a.png", "--json", "-")
    assert "seconds" in json.loads(cost.stdout)
    manifest = run("copy", tmp_path / "run", tmp_path / "there", "--manifest", "-")
    assert manifest.stdout.endswith("  run/file\n") and manifest.stdout.count("\n") == 1
    assert manifest.stderr.startswith("copied 1 file")
    for words in (
        ["render", field, "--out", "-", "--json", "-"],
        ["copy", field, tmp_path / "x", "--manifest", "-", "--json"],
        ["view", field, "--trace", "-"],
        ["serve", field, "--trace", "-"],
        ["share", tmp_path, "--log", "-"],
        ["copy", "-", tmp_path / "x"],
        ["copy", field, "-"],
    ):
        refused = run(*words, check=False)
        assert refused.returncode != 0 and refused.stderr.count("\n") == 1 and "name" in refused.stderr, (words, refused)
    assert not Path("-").exists() and not (tmp_path / "x").exists()


def test_who_holds_a_folder_against_the_one_that_it_was_copied_into_is_told(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "file").write_text("content")
    run("copy", tmp_path / "run", tmp_path / "there" / "run")
    wrong = run("verify", tmp_path / "run", tmp_path / "there" / "run", check=False)
    assert wrong.returncode == 1 and f"{tmp_path}/there/run/run may be meant" in wrong.stderr, wrong
    right = run("verify", tmp_path / "run", tmp_path / "there" / "run" / "run")
    assert right.stderr == ""


def test_a_copy_without_a_destination_says_what_is_missing(field: Path) -> None:
    ended = run("copy", field, check=False)
    assert (ended.returncode, ended.stderr) == (2, "visapult: the place to copy to is missing; the folder that you are in is `.`\n")


def test_a_copy_goes_through_no_pipe(field: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for words in ([pipe, tmp_path / "x"], ["/dev/stdin", tmp_path / "x"], [field, pipe]):
        ended = subprocess.run(
            [VISAPULT, "copy", *words], stdin=subprocess.PIPE, capture_output=True, text=True, timeout=SOON, check=False
        )  # fmt: skip
        assert ended.returncode == 1 and "is a pipe or a device" in ended.stderr and ended.stdout == "", (words, ended)
    assert sorted(path.name for path in tmp_path.iterdir()) == [field.name, "pipe"]


def test_a_token_that_stands_where_a_file_should_is_not_repeated(field: Path) -> None:
    url = "ripp://S3CRET@127.0.0.1:9/f#F"
    for words in (["render", field, "--out", url, "--size", "32x32"], ["trace", "plot", url], ["share", url]):
        finished = run(*words, check=False)
        said = finished.stdout + finished.stderr
        assert finished.returncode != 0 and "S3CRET" not in said and "127.0.0.1:9" in said, said


def on_terminal(*words: object) -> str:
    """What a command writes to a terminal that is its standard output."""
    ours, theirs = pty.openpty()
    ended = subprocess.run([VISAPULT, *map(str, words)], stdout=theirs, stderr=subprocess.PIPE, timeout=SOON, check=False)
    os.close(theirs)
    assert ended.returncode == 0, ended.stderr
    text = b""
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 1 << 16):
            text += piece
    os.close(ours)
    return text.decode()


def test_names_in_manifests_move_no_cursor_of_a_terminal(tmp_path: Path) -> None:
    name = "d\x1b[31m\u202egpj"
    with sharing(tmp_path / "runs") as share:
        (tmp_path / "runs" / name).write_text("x")
        for words in (["verify", share.url], ["copy", share.url, tmp_path / "here", "--manifest", "-"]):
            assert r"d\u001b[31m\u202egpj" in on_terminal(*words)
            assert name in run(*words).stdout


@pytest.mark.parametrize("kilobytes", [160_000, 200_000, 240_000, 280_000, 320_000, 360_000, 400_000, 440_000])
def test_a_machine_that_starts_no_threads_is_told_in_one_line(kilobytes: int) -> None:
    # What threads take is the same on any machine where there are as many.
    view = f"ulimit -v {kilobytes}; exec '{VISAPULT}' view 'demo:wave?n=32' --no-open --port 0 --for 1s"
    env = {**os.environ, "RAYON_NUM_THREADS": "2", "TOKIO_WORKER_THREADS": "2"}
    ended = subprocess.run(["bash", "-c", view], capture_output=True, text=True, timeout=SOON, check=False, env=env)
    assert "panicked" not in ended.stderr
    assert ended.returncode in (0, 1)
    assert (ended.returncode == 1) == (ended.stderr.count("\n") == 1), ended.stderr
    # Libraries in C leave the address space to the threads.
    assert ended.returncode == 0 or kilobytes < 300_000, ended.stderr


@pytest.mark.parametrize("words", [["copy", "FIELD", "~/here"], ["copy", "~/none", "HERE"], ["share", "~/none"], ["info", "~/none.npy"], ["serve", "~/none.npy"]])
def test_a_path_that_only_a_shell_understands_is_told_and_makes_no_folder(
    words: list[str], field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    places = {"FIELD": field, "HERE": tmp_path / "here"}
    refused = run(*(places.get(word, word) for word in words), check=False)
    assert refused.returncode != 0 and refused.stderr.count("\n") == 1 and "`~` is for the shell" in refused.stderr, refused
    assert [path.name for path in tmp_path.iterdir()] == [field.name]


def test_a_folder_that_is_called_as_shells_call_ones_own_is_one_like_any_other(
    field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("~").mkdir()
    run("copy", field, "~/here.npy")
    assert run("info", "~/here.npy", "--json").stdout == run("info", "./~/here.npy", "--json").stdout


TOKEN = "MDEyMzQ1Njc4OWFiY2RlZg"


@pytest.mark.parametrize("url", [f"{TOKEN}@host:1/x", f"ripp://{TOKEN} @host:1/x", f"ripp://{TOKEN}", f"ripp:{TOKEN}@h/x", f" {TOKEN}@h/x"])
@pytest.mark.parametrize("command", [["info"], ["verify"], ["copy"], ["copy", "--json"], ["perf", "send"], ["fetches"]])
def test_the_token_of_a_url_that_is_broken_is_not_repeated(command: list[str], url: str, tmp_path: Path) -> None:
    refused = run(*command, url, *([tmp_path / "here"] if command[0] == "copy" else []), check=False)
    assert refused.returncode != 0 and refused.stderr and TOKEN not in refused.stdout + refused.stderr, refused


def test_what_is_published_elsewhere_is_not_served_but_shown() -> None:
    refused = run("serve", f"ripp://{TOKEN}@127.0.0.1:9/x", check=False)
    assert refused.returncode == 1 and "what listens elsewhere is shown with view" in refused.stderr, refused


def test_what_a_share_has_is_no_source_and_that_is_said_of_a_path_in_it_too(tmp_path: Path) -> None:
    with sharing(tmp_path / "runs") as share:
        for command in ("info", "view"):
            for url in (share.url, f"{share.url}/run.h5"):
                refused = run(command, url, check=False)
                assert refused.returncode == 1 and "visapult share" in refused.stderr and "copy" in refused.stderr, refused


def test_hashes_that_nobody_reads_any_more_end_quietly(tmp_path: Path) -> None:
    with sharing(tmp_path / "runs") as share:
        (tmp_path / "runs" / "file").write_text("x")
        end, gone = os.pipe()
        os.close(end)
        told = subprocess.run([VISAPULT, "verify", share.url], stdout=gone, stderr=subprocess.PIPE, text=True, timeout=SOON, check=False)
        os.close(gone)
        assert (told.returncode, told.stderr) == (0, "")
        fetched = run("fetches", share.url)
        assert (fetched.stdout, fetched.stderr) == ("", "visapult: nothing is fetched\n")
