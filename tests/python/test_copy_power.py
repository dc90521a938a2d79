"""What a loss of power may not do to a copy: no file has its name before the disk has its content."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT
from shares import MEBI, copy, make_tree, tree_of
from wan import ENVIRONMENT

CALLS = "fdatasync,fsync,sync_file_range,renameat,renameat2"


def traces_calls() -> bool:
    """Whether system calls can be watched here."""
    return bool(shutil.which("strace")) and subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode == 0


pytestmark = pytest.mark.skipif(not traces_calls(), reason="needs strace, and leave to use it")


def traced(folder: Path, *arguments: object, inject: str = "") -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """A copy, and what each of its threads has called."""
    folder.mkdir()
    watch = ["strace", "-ff", "-y", "-s", "300", "-o", folder / "calls", "-e", f"trace={CALLS}", *(["-e", f"inject={inject}"] if inject else [])]
    command = [*watch, VISAPULT, "copy", *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False)
    return done, [path.read_text().splitlines() for path in folder.iterdir()]


def test_no_file_has_its_name_before_the_disk_has_it(tmp_path: Path) -> None:
    make_tree(tmp_path / "run", 1, 30, 80 * MEBI)
    done, threads = traced(tmp_path / "calls", tmp_path / "run", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    named, late = set(), 0
    for calls in threads:
        synced = set()
        for call in calls:
            if match := re.match(r"fdatasync\(\d+<(.*)\.visapult-part>\) += 0", call):
                synced.add(match[1])
                late += match[1].endswith("large.raw")
            elif match := re.match(r'renameat2?\(\d+<(.*)>, "(.*)\.visapult-part"', call):
                path = f"{match[1]}/{match[2]}"
                # A link is no content.
                if not path.endswith("latest"):
                    assert path in synced, call
                    named.add(path)
    assert len(named) == 32
    # While other ranges came, and before it had its name.
    assert late >= 2
    begun = [call for calls in threads for call in calls if re.match(r"sync_file_range\(\d+<.*large\.raw\.visapult-part>, 0, 0, SYNC_FILE_RANGE_WRITE\) += 0", call)]
    assert begun, "nothing has the disk write before it is waited for"
    # And in the end the names themselves.
    folders = {match[1] for calls in threads for call in calls if (match := re.match(r"fsync\(\d+<(.*)>\) += 0", call))}
    there = tmp_path / "there"
    assert {str(there), *map(str, filter(Path.is_dir, there.rglob("*")))} <= folders
    assert tree_of(there / "run") == tree_of(tmp_path / "run")


def test_who_does_not_want_to_wait_does_not(tmp_path: Path) -> None:
    make_tree(tmp_path / "run", 2, 10, MEBI)
    done, threads = traced(tmp_path / "calls", tmp_path / "run", tmp_path / "there", "--no-sync")
    assert done.returncode == 0, done.stderr
    assert not [call for calls in threads for call in calls if "sync" in call and "=" in call]


def test_what_the_disk_has_lost_is_told_and_has_no_name(tmp_path: Path) -> None:
    make_tree(tmp_path / "run", 3, 5, 40 * MEBI)
    done, _ = traced(tmp_path / "calls", tmp_path / "run", tmp_path / "there", inject="fdatasync:error=EIO")
    assert done.returncode == 3, done
    assert "more: cannot be written: Input/output error" in done.stderr
    assert "7 FAILED" in done.stdout
    files = [path.name for path in (tmp_path / "there").rglob("*") if path.is_file() and not path.is_symlink()]
    assert all(name.endswith((".visapult-part", ".visapult-log")) for name in files), files
    # The disk has been mended.
    assert copy(tmp_path / "run", tmp_path / "there").code == 0
    assert tree_of(tmp_path / "there" / "run") == tree_of(tmp_path / "run")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mkfs.ext4"), reason="needs root and mkfs.ext4: a disk is made of a file")
def test_what_a_copy_says_is_there_is_there_after_a_loss_of_power(tmp_path: Path) -> None:
    make_tree(tmp_path / "run", 4, 60, 20 * MEBI)
    disk, later = tmp_path / "disk", tmp_path / "disk-as-it-was"
    with disk.open("wb") as file:
        file.truncate(128 * MEBI)
    subprocess.run(["mkfs.ext4", "-q", "-F", disk], check=True)
    with mounted(disk, tmp_path / "mounted") as folder:
        assert copy(tmp_path / "run", folder).code == 0
        # What the disk has got by now, and not what the system would still write.
        shutil.copyfile(disk, later)
    with mounted(later, tmp_path / "mounted again") as folder:
        assert tree_of(folder / "run") == tree_of(tmp_path / "run")


@contextlib.contextmanager
def mounted(disk: Path, folder: Path) -> Iterator[Path]:
    folder.mkdir()
    if subprocess.run(["mount", "-o", "loop", disk, folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be made of a file here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
