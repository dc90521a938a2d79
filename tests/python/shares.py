"""Shares that are copied from and into, and trees that are the same on both sides."""

import contextlib
import json
import os
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zarr

from conftest import VISAPULT
from wan import Ended, Process

MEBI = 1 << 20
#: What a copy that was killed may send again.
MOST_RESENT = 64 * MEBI
SOON = 60.0


class Sharing:
    """A share that runs on this machine."""

    def __init__(self, folder: Path, *options: object, log: Path, prefix: Iterable[object] = ()) -> None:
        self.log = log
        self.process = Process([*prefix, VISAPULT, "share", folder, "--bind", "127.0.0.1:0", "--log", log, *options])
        #: What its first line ends with: where a policy names people, the URL of the first of them.
        self.url = self.process.read_line().split()[-1]
        self.name = self.url.split("@")[1].split("/")[0]

    def copies(self, count: int = 1) -> list[dict[str, Any]]:
        """What it says of the copies it had, once there are so many: it writes a line when it has seen the session end."""
        until = time.monotonic() + SOON
        while (text := self.log.read_text() if self.log.exists() else "").count("\n") < count and time.monotonic() < until:
            time.sleep(0.02)
        return [json.loads(line) for line in text.splitlines()]

    def given(self) -> int:
        return sum(entry["bytes"] for entry in self.copies())


@contextlib.contextmanager
def sharing(folder: Path, *options: object, prefix: Iterable[object] = ()) -> Iterator[Sharing]:
    """A share of a folder, which is made if need be; its log lies beside that."""
    folder.mkdir(parents=True, exist_ok=True)
    share = Sharing(folder, *options, log=folder.with_name(f"{folder.name}.log"), prefix=prefix)
    try:
        yield share
    finally:
        share.process.stop()


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder that others may copy from and into, and its URL."""
    with sharing(tmp_path / "shared", "--write") as share:
        yield tmp_path / "shared", share.url


def start_copy(*arguments: object) -> Process:
    return Process([VISAPULT, "copy", *arguments])


def copy(*arguments: object) -> Ended:
    return start_copy(*arguments).end(SOON)


def events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """What a copy tells with `--json`, as it comes or all at once; one that is killed may leave half a line."""
    return (json.loads(line) for line in lines if line.rstrip().endswith("}"))


def tree_of(folder: Path) -> dict[bytes, tuple[Any, ...]]:
    """Everything that is to be the same about a tree."""
    top = os.fsencode(folder)
    told = {}
    for at, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(at, name)
            status = os.lstat(path)
            content = os.readlink(path) if os.path.islink(path) else name in files and Path(os.fsdecode(path)).read_bytes()
            told[os.path.relpath(path, top)] = (status.st_mode, status.st_mtime_ns, content)
    return told


def opened(group: Path) -> Any:
    """A group as zarr-python opens it, of whose members each test knows the kind."""
    return zarr.open_group(str(group), mode="r")


def without_rights() -> list[str]:
    """What starts a program for which modes hold: who is root reads and writes what is closed, unless that right is given up."""
    rights = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"] if os.geteuid() == 0 else []


def noise_file(path: Path, seed: int, length: int) -> None:
    path.write_bytes(noise(random.Random(seed), length))


def noise(source: random.Random, length: int) -> bytes:
    return b"".join(source.randbytes(min(MEBI, length - at)) for at in range(0, length, MEBI))


def make_tree(folder: Path, seed: int, files: int, large: int) -> None:
    """Small files in folders, and one large one."""
    source = random.Random(seed)
    for number in range(files):
        path = folder / f"{number % 7}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.randbytes(source.randrange(6000)))
    (folder / "large.raw").write_bytes(noise(source, large))
    (folder / "empty").mkdir()
    os.symlink("large.raw", folder / "latest")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")).write_bytes(b"no text")
