"""`visapult verify`, and manifests: what differs is named, and nothing is touched."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from blake3 import blake3

from conftest import VISAPULT, run
from shares import MEBI, SOON, copy, make_tree, shared, without_rights  # noqa: F401 (a fixture)
from test_bad_input import assert_one_clear_line
from wan import Process, link, pause

#: Names that need care in a line of text; early b3sum does not escape the last.
ODD_NAMES = ["a b", " lead", "trail ", "x\ny", "back\\slash", "\\n", "*star", "-dash", "tab\t", "ü", "cr\rhere"]


def test_only_hashes_travel_to_verify(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 8, 20, 20 * MEBI)
    (folder / "run" / "a\n\\b").write_bytes(b"escaped")
    listed = subprocess.run([VISAPULT, "verify", f"{url}/run/."], capture_output=True, check=False)
    assert (listed.returncode, listed.stderr) == (0, b"")
    told = set(listed.stdout.splitlines())
    for path in (path for path in (folder / "run").rglob("*") if path.is_file() and not path.is_symlink()):
        name = os.fsencode(path.relative_to(folder / "run"))
        escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
        line = blake3(path.read_bytes()).hexdigest().encode() + b"  " + escaped
        told.remove(b"\\" * (escaped != name) + line)
    assert not told
    assert copy(f"{url}/run", tmp_path).code == 0
    os.utime(tmp_path / "run" / "large.raw")
    same = run("verify", tmp_path / "run", f"{url}/run", check=False)
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.startswith("verified 23 files")
    (tmp_path / "run" / "0" / "0.txt").write_bytes(b"other")
    (tmp_path / "run" / "more").write_bytes(b"")
    wrong = run("verify", tmp_path / "run", f"{url}/run", check=False)
    assert wrong.returncode == 1
    assert sorted(wrong.stderr.splitlines()) == ["visapult: 0/0.txt: differs", "visapult: more: is not in the share"]
    assert "; 2 WRONG" in wrong.stdout


@pytest.mark.parametrize("is_shared", [True, False])
def test_what_is_on_one_side_only_is_told_whatever_else_differs(is_shared: bool, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    there, here = folder / "run", tmp_path / "here"
    for top in (there, here):
        (top / "closed").mkdir(parents=True)
        (top / "same").write_text("same")
        (top / "closed" / "same").write_text("same")
    (here / "closed" / "mine").touch()
    (here / "mine").touch()
    (here / "folder").mkdir()
    (there / "folder").touch()
    (there / "file").mkdir()
    (here / "file").touch()
    os.mkfifo(here / "pipe")
    (there / "pipe").touch()
    (there / "link").symlink_to("nowhere")
    (here / "link").mkdir()
    (there / "theirs").touch()
    place = f"{url}/run" if is_shared else there
    not_there = "is not in the share" if is_shared else f"is not in {there}"
    expected = [
        f"closed/mine: {not_there}", "file: is a file here and a folder there", "folder: is a folder here and a file there",
        "link: is a folder here and a link there", f"mine: {not_there}", "pipe: is neither file, folder nor link here and a file there",
        f"theirs: is not in {here}",
    ]  # fmt: skip
    wrong = run("verify", here, place, check=False)
    assert sorted(line.removeprefix("visapult: ") for line in wrong.stderr.splitlines()) == expected
    assert (wrong.returncode, "; 7 WRONG" in wrong.stdout) == (1, True)
    if not is_shared:
        # What is in a folder that cannot be listed is not known to be on one side only.
        (there / "closed").chmod(0)
        closed = Process([*without_rights(), VISAPULT, "verify", here, there]).end(SOON)
        expected[0] = "closed: cannot be read: permission denied"
        assert sorted(line.removeprefix("visapult: ") for line in closed.stderr.splitlines()) == expected
        (there / "closed").chmod(0o755)


def test_verify_that_is_interrupted_does_not_say_that_anything_differs(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    for place in (folder, tmp_path / "here"):
        place.mkdir(exist_ok=True)
        with (place / "large.raw").open("wb") as file:
            file.truncate(1 << 42)
    verifying = Process([VISAPULT, "verify", tmp_path / "here", url])
    pause(1)
    verifying.signal(signal.SIGINT)
    ended = verifying.end(SOON)
    assert ended.code == 130, ended
    assert_one_clear_line(ended.stderr, "stopped: not all of it was looked at")


def test_the_one_file_of_a_copy_is_held_against_its_manifest(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    (folder / "9").write_text("nine")
    assert run("copy", f"{url}/9", tmp_path / "vf", "--manifest", tmp_path / "vf.b3").returncode == 0
    same = run("verify", tmp_path / "vf.b3", tmp_path / "vf", check=False)
    assert (same.returncode, same.stdout, same.stderr) == (0, "verified 1 file, 4 bytes\n", "")
    assert subprocess.run([VISAPULT, "verify", "vf.b3", "vf"], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "vf").write_text("none")
    wrong = run("verify", tmp_path / "vf.b3", tmp_path / "vf", check=False)
    assert wrong.returncode == 1
    assert_one_clear_line(wrong.stderr, "vf: is not what it was when it was copied")


def test_two_folders_of_this_machine_are_held_against_each_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    make_tree(one, 11, 20, 3 * MEBI)
    assert run("copy", f"{one}/.", other).returncode == 0
    os.utime(other / "large.raw")
    same = run("verify", one, other, check=False)
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.startswith("verified 22 files")
    with (other / "large.raw").open("r+b") as file:
        file.seek(MEBI)
        file.write(b"changed")
    (one / "mine").touch()
    (other / "theirs").touch()
    wrong = run("verify", one, other, check=False)
    assert wrong.returncode == 1
    assert sorted(wrong.stderr.splitlines()) == [
        "visapult: large.raw: differs", f"visapult: mine: is not in {other}", f"visapult: theirs: is not in {one}",
    ]  # fmt: skip
    assert "; 3 WRONG" in wrong.stdout
    files = run("verify", one / "large.raw", other / "large.raw", check=False)
    assert files.returncode == 1
    assert_one_clear_line(files.stderr, "large.raw: differs")
    (tmp_path / "empty").mkdir()
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file").touch()
    nothing = run("verify", tmp_path / "some", tmp_path / "empty", check=False)
    assert nothing.returncode == 1
    assert_one_clear_line(nothing.stderr, "file: is not in")
    for words, needle in (((one,), "name what it is held against"), ((one, one / "mine"), "one is a folder"), ((one, tmp_path / "none"), "none")):
        refused = run("verify", *words, check=False)
        assert refused.returncode == 1
        assert_one_clear_line(refused.stderr, needle)


def test_a_manifest_tells_what_has_changed(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 2, 20, 3 * MEBI)
    assert copy(f"{url}/run/.", tmp_path / "here", "--manifest", tmp_path / "manifest").code == 0
    verify = ("verify", tmp_path / "manifest", tmp_path / "here")
    fine = run(*verify, check=False)
    assert (fine.returncode, fine.stderr) == (0, "")
    assert fine.stdout.startswith("verified 22 files")
    with (tmp_path / "here" / "large.raw").open("r+b") as file:
        file.seek(MEBI)
        file.write(b"changed")
    wrong = run(*verify, check=False)
    assert wrong.returncode == 1
    assert_one_clear_line(wrong.stderr, "large.raw", "is not what it was")


@pytest.mark.skipif(not shutil.which("b3sum"), reason="b3sum is not installed")
def test_b3sum_checks_a_manifest_whatever_the_names(tmp_path: Path) -> None:
    (tmp_path / ODD_NAMES[-1]).write_bytes(b"")
    is_escaped = b3sum("--", ODD_NAMES[-1], folder=tmp_path).stdout.startswith(b"\\")
    names = ODD_NAMES if is_escaped else ODD_NAMES[:-1]
    (tmp_path / "run" / "inner").mkdir(parents=True)
    for number, name in enumerate(names):
        (tmp_path / "run" / "inner" / name).write_bytes(bytes([number]))
    assert copy(tmp_path / "run", tmp_path / "there", "--manifest", tmp_path / "manifest").code == 0
    fine = b3sum("--check", tmp_path / "manifest", folder=tmp_path / "there")
    assert (fine.returncode, fine.stderr) == (0, b"")
    # Visapult checks what b3sum writes, too.
    paths = [f"run/inner/{name}" for name in names]
    (tmp_path / "theirs").write_bytes(b3sum("--", *paths, folder=tmp_path / "there").stdout)
    checked = run("verify", tmp_path / "theirs", tmp_path / "there", check=False)
    assert checked.stdout.startswith(f"verified {len(names)} files"), checked
    # It ends at a name that is no UTF-8: there is nothing behind it.
    Path(os.fsdecode(os.fsencode(tmp_path / "run") + b"/0\xff")).write_bytes(b"")
    assert copy(tmp_path / "run", tmp_path / "there", "--manifest", tmp_path / "manifest", "--no-resume").code == 0
    ended = b3sum("--check", tmp_path / "manifest", folder=tmp_path / "there")
    assert ended.stdout.count(b"OK") == len(names)
    assert b"UTF-8" in ended.stderr
    run("verify", tmp_path / "manifest", tmp_path / "there")


def b3sum(*words: object, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["b3sum", *map(str, words)], cwd=folder, capture_output=True, check=False)


def test_a_copy_that_fails_leaves_the_manifest_of_the_one_before(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    (folder / "file").write_text("content")
    manifest = tmp_path / "manifest"
    assert copy(f"{url}/file", tmp_path, "--manifest", manifest).code == 0
    before = manifest.read_bytes()
    assert copy(f"{url}/none", tmp_path, "--manifest", manifest).code != 0
    assert copy("ripp://127.0.0.1:1/x", tmp_path, "--manifest", manifest).code != 0
    assert manifest.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if "manifest" in path.name] == ["manifest"]
    manifest.write_bytes(b"")
    empty = run("verify", manifest, tmp_path, check=False)
    assert empty.returncode == 1
    assert_one_clear_line(empty.stderr, "lists no file")
    (tmp_path / "there").mkdir()
    inside = run("copy", f"{folder}/.", tmp_path / "there", "--delete", "--manifest", tmp_path / "there" / "m.b3", check=False)
    assert inside.returncode == 2
    assert_one_clear_line(inside.stderr, "name it elsewhere")
    # Nor is what is being written copied.
    copied = run("copy", folder, tmp_path / "there", "--manifest", folder / "m.b3", check=False)
    assert copied.returncode == 2
    assert_one_clear_line(copied.stderr, "m.b3", "name it elsewhere")
    assert [path.name for path in folder.iterdir()] == ["file"]
    assert not list((tmp_path / "there").iterdir())
