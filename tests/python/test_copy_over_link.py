"""Copies of every kind over a link with delay and loss: what loopback, which loses nothing and answers at once, does not show."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT
from shares import MEBI, SOON, make_tree, tree_of
from test_bad_input import assert_one_clear_line
from wan import RIGHT, Ended, Link, link, unable

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "")


@pytest.fixture
def up() -> Iterator[Link]:
    with link("--rate", "200M", "--rtt", "40ms", "--loss", "0.1%") as made:
        yield made


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "run"
    make_tree(folder, 41, 60, 8 * MEBI)
    return folder


def share(up: Link, side: str, folder: Path, *options: object) -> str:
    """The URL of a share on that side; with a policy, of its first person."""
    address = RIGHT if side == "right" else RIGHT.removesuffix("2") + "1"
    return up.start(side, VISAPULT, "share", folder, "--bind", f"{address}:0", *options).read_line().split()[-1]


def copy(up: Link, *arguments: object) -> Ended:
    return up.start("left", VISAPULT, "copy", *arguments).end(SOON)


def test_many_small_files(up: Link, tmp_path: Path) -> None:
    make_tree(tmp_path / "run", 42, 2000, 1000)
    (tmp_path / "sink").mkdir()
    url = share(up, "right", tmp_path / "sink", "--write")
    done = copy(up, tmp_path / "run", url)
    assert done.code == 0, done
    assert tree_of(tmp_path / "sink" / "run") == tree_of(tmp_path / "run")
    assert "2002 files there already" in copy(up, tmp_path / "run", url).stdout


def test_folders_together_with_a_file_of_the_web(up: Link, tmp_path: Path) -> None:
    for folder, files in (("a", 300), ("b", 10), ("web", 1)):
        (tmp_path / folder).mkdir()
        for number in range(files):
            (tmp_path / folder / f"{number}.txt").write_text(f"{folder} {number}")
    (tmp_path / "sink").mkdir()
    server = up.start("left", sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", tmp_path / "web", "0")
    port = server.read_line().split()[5]
    url = share(up, "right", tmp_path / "sink", "--write")
    done = copy(up, tmp_path / "a", f"http://127.0.0.1:{port}/0.txt", tmp_path / "b", f"{url}/new/")
    assert (done.code, done.stderr) == (0, "")
    new = tmp_path / "sink" / "new"
    assert (new / "0.txt").read_text() == "web 0"
    for folder in ("a", "b"):
        assert tree_of(new / folder) == tree_of(tmp_path / folder)


def test_from_one_share_into_another(up: Link, run: Path, tmp_path: Path) -> None:
    (tmp_path / "sink").mkdir()
    giver = share(up, "left", run)
    taker = share(up, "right", tmp_path / "sink", "--write", "--fetch", "10.7.0.1")
    done = copy(up, giver, taker)
    assert (done.code, done.stderr) == (0, "")
    assert tree_of(tmp_path / "sink" / "run") == tree_of(run)


def test_striped(up: Link, run: Path, tmp_path: Path) -> None:
    first, _ = (share(up, "right", run, "--stripe", tmp_path / "stripe") for _ in range(2))
    done = copy(up, first, tmp_path / "here/")
    assert done.code == 0, done
    assert done.stderr.count("gives, too") == 1
    assert tree_of(tmp_path / "here" / "run") == tree_of(run)


def test_by_a_policy(up: Link, run: Path, tmp_path: Path) -> None:
    policy = tmp_path / "people.toml"
    policy.write_text('ask = "Ada"\n[[person]]\nname = "grace"\nread = ["run/3"]\n')
    url = share(up, "right", run.parent, "--policy", policy)
    assert copy(up, f"{url}/run/3", tmp_path / "here/").code == 0
    assert tree_of(tmp_path / "here" / "3") == tree_of(run / "3")
    refused = copy(up, f"{url}/run", tmp_path / "more")
    assert refused.code == 1
    assert_one_clear_line(refused.stderr, "grace may not read", "ask Ada")
    assert not (tmp_path / "more").exists()


def test_no_path_leads_out_of_a_share(up: Link, run: Path, tmp_path: Path) -> None:
    os.symlink("/etc", run / "out")
    url = share(up, "right", run, "--write")
    for words in ((f"{url}/../x", tmp_path / "here"), (f"{url}/out/passwd", tmp_path / "here"), (run / "large.raw", f"{url}/out/here")):
        refused = copy(up, *words)
        assert refused.code != 0
        assert_one_clear_line(refused.stderr, "leads out")
    assert not (tmp_path / "here").exists()
