"""Striped shares, and copies that share a link by weights: who gave how much is told by the logs of the shares."""

import contextlib
import itertools
import os
import random
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT, run
from shares import MEBI, MOST_RESENT, SOON, Sharing, copy, events, make_tree, sharing, start_copy, tree_of, without_rights
from stores import Store, faulty
from wan import Process, eventually

#: What each node may give, in bits per second: what travels takes long enough to be told apart.
RATE = "400M"
#: What copies can fill together on a busy machine, too.
NARROW = "100M"


@contextlib.contextmanager
def nodes(at: Path, *folders: Path, options: tuple[object, ...] = ("--rate", RATE)) -> Iterator[list[Sharing]]:
    """Shares of one stripe, a node for each of the folders."""
    made: list[Sharing] = []
    try:
        for number, folder in enumerate(folders):
            made.append(Sharing(folder, "--stripe", at / "stripe", *options, log=at / f"{number}.log"))
        yield made
    finally:
        for node in made:
            node.process.stop()


def test_a_copy_takes_from_all_nodes_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    make_tree(folder, 11, 3000, 120 * MEBI)
    with nodes(tmp_path, folder, folder, folder) as stripe:
        done = copy(stripe[1].url, tmp_path / "here/")
        assert done.code == 0, done
        assert sorted(line.split()[1] for line in done.stderr.splitlines() if line.endswith("gives, too")) == sorted(
            node.name for node in (stripe[0], stripe[2])
        )
        assert done.stdout.startswith("copied 3002 files")
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)
        given = [node.given() for node in stripe]
        total = 120 * MEBI + sum(path.stat().st_size for path in folder.glob("*/*.txt"))
        assert total <= sum(given) < total * 1.2
        assert min(given) > total * 0.15, given
        again = copy(stripe[0].url, tmp_path / "here/")
        assert "3002 files there already" in again.stdout


def test_a_node_that_dies_or_hangs_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    make_tree(folder, 12, 500, 150 * MEBI)
    with nodes(tmp_path, folder, folder, folder) as stripe:
        copying = start_copy(stripe[0].url, f"{tmp_path / 'here'}/", "--json")
        first = True
        for event in events(copying.said):
            if event["event"] == "progress" and event["bytes_sent"] > 60 * MEBI and first:
                first = False
                stripe[1].process.signal(signal.SIGKILL)
                stripe[2].process.signal(signal.SIGSTOP)
            if event["event"] == "finished":
                finished = event
            if event["event"] == "progress":
                latest = event["tally"]
                # What came in vain of a node that is left out is not there.
                assert latest["here_bytes"] <= latest["wanted_bytes"], event
        assert copying.end().code == 0
        assert latest["here_bytes"] == latest["wanted_bytes"]
        assert finished["tally"]["files"] == 502
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_node_that_was_dialled_dies_or_is_stopped_another_takes_its_place(tmp_path: Path, by: signal.Signals) -> None:
    folder = tmp_path / "run"
    make_tree(folder, 13, 500, 150 * MEBI)
    with nodes(tmp_path, folder, folder) as stripe:
        copying = start_copy(stripe[0].url, f"{tmp_path / 'here'}/", "--json")
        arrived, resumed, is_sent = 0, 0, False
        for event in events(copying.said):
            if event["event"] == "progress":
                arrived = event["bytes_sent"]
                resumed = max(resumed, event["tally"]["resumed_bytes"])
                if arrived > 60 * MEBI and not is_sent:
                    stripe[0].process.signal(by)
                    is_sent = True
        assert copying.end().code == 0
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)
        assert resumed > 0


def test_a_node_that_has_not_the_same_or_a_wrong_token_is_left_out(tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "other" / "run"
    make_tree(folder, 14, 100, 100 * MEBI)
    shutil.copytree(folder, other, symlinks=True)
    (other / "3" / "3.txt").write_bytes(b"changed")
    with nodes(tmp_path, folder, folder, other, folder) as stripe:
        wrong = tmp_path / "stripe" / f"{stripe[3].name}.node"
        token = stripe[0].url.removeprefix("ripp://").split("@")[0]
        wrong.write_text(stripe[3].url.replace(stripe[3].url.removeprefix("ripp://").split("@")[0], token))
        done = copy(stripe[0].url, tmp_path / "here/")
        assert done.code == 0, done
        told = {line.split()[1]: line for line in done.stderr.splitlines()}
        assert told[stripe[1].name].endswith("gives, too")
        assert "token is wrong" in told[stripe[3].name]
        left_out = [line for line in done.stderr.splitlines() if f"{stripe[2].name} is left out" in line]
        assert len(left_out) == 1
        assert "it has not the same, from 3.txt on" in left_out[0]
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)
        assert stripe[1].given() > 0
        # One file less is told, too.
        shutil.rmtree(tmp_path / "here")
        shutil.copy2(folder / "3" / "3.txt", other / "3" / "3.txt")
        (other / "large.raw").unlink()
        done = copy(stripe[0].url, tmp_path / "here/")
        assert f"{stripe[2].name} is left out: it has" in done.stderr
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)


def test_a_copy_that_is_killed_goes_on_striped(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    make_tree(folder, 15, 500, 200 * MEBI)
    with nodes(tmp_path, folder, folder) as stripe:
        command = (stripe[0].url, f"{tmp_path / 'here'}/", "--json")
        copying = start_copy(*command)
        for event in events(copying.said):
            if event["event"] == "progress" and event["bytes_sent"] > 100 * MEBI:
                copying.signal(signal.SIGKILL)
        copying.end()
        *_, last = events(copy(*command).stdout.splitlines())
        assert last["event"] == "finished"
        assert last["tally"]["resumed_bytes"] > 100 * MEBI - MOST_RESENT
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)


def test_a_copy_goes_into_all_nodes_at_once(tmp_path: Path) -> None:
    make_tree(tmp_path / "run", 17, 2000, 20 * MEBI)
    for number in range(8):
        (tmp_path / "run" / "3" / f"{number}.raw").write_bytes(random.Random(number).randbytes(4 * MEBI))
    (tmp_path / "run" / "3").chmod(0o555)
    sink = tmp_path / "sink"
    sink.mkdir()
    with nodes(tmp_path, sink, sink, sink, options=("--write",)) as stripe:
        done = copy(tmp_path / "run", stripe[0].url)
        assert done.code == 0, done
        assert done.stdout.startswith("copied 2010 files")
        assert len(done.problems) == 1
        assert done.problems[0].endswith(" take it together")
        assert tree_of(sink / "run") == tree_of(tmp_path / "run")
        # The last is the ordinary copy, for which all was there.
        logs = [node.copies(2 if node is stripe[0] else 1) for node in stripe]
        assert [len(log) for log in logs] == [2, 1, 1]
        assert sum(entry["files"] for log in logs for entry in log) == 2010
        assert min(log[0]["files"] for log in logs) > 400
        assert logs[0][1]["bytes"] == 0
        # As ever: what is there is not sent, and what is gone at the source is deleted if that is said.
        (tmp_path / "run" / "3").chmod(0o755)
        (tmp_path / "run" / "3" / "3.txt").unlink()
        (tmp_path / "run" / "3" / "more").write_bytes(b"more")
        again = copy(tmp_path / "run", stripe[1].url, "--delete")
        assert again.stdout.startswith("copied 1 file"), again
        assert "2009 files there already; 1 deleted" in again.stdout
        assert tree_of(sink / "run") == tree_of(tmp_path / "run")


@pytest.mark.parametrize("option", ["--checksum", "--no-resume"])
@pytest.mark.parametrize("is_closed", [True, False])
def test_what_a_node_could_not_take_is_told_though_it_looks_the_same_and_nothing_is_deleted(option: str, is_closed: bool, tmp_path: Path) -> None:
    source, sink = tmp_path / "run", tmp_path / "sink"
    for folder, content in ((source, b"new"), (sink / "run", b"old")):
        folder.mkdir(parents=True)
        for number in range(8):
            (folder / f"{number}.txt").write_bytes(content)
            os.utime(folder / f"{number}.txt", (1_700_000_000, 1_700_000_000))
    (sink / "run" / "surplus").touch()
    if is_closed:
        (source / "3.txt").chmod(0)
    else:
        (sink / "run" / "3.txt.visapult-part").mkdir()
    with nodes(tmp_path, sink, sink, options=("--write",)) as stripe:
        command = (*without_rights(), VISAPULT, "copy", source, stripe[0].url, option, "--delete")
        done = Process(command).end(SOON)
        logs = [entry for node in stripe for entry in node.copies(2 if node is stripe[0] else 1)]
    assert done.code == 3, done
    assert done.stderr.count("3.txt: cannot be") == 1
    assert done.stdout.startswith("copied 7 files") and "1 FAILED" in done.stdout and "already" not in done.stdout
    # Nothing is taken twice for that one.
    assert sum(entry["files"] for entry in logs) == 7
    assert "nothing is deleted" in done.stderr and (sink / "run" / "surplus").exists()
    assert [path.name for path in sorted((sink / "run").glob("*.txt")) if path.read_bytes() == b"old"] == ["3.txt"]


def test_what_is_in_the_way_is_deleted_whatever_the_parts_could_not_take(tmp_path: Path) -> None:
    source, sink = tmp_path / "run", tmp_path / "sink"
    source.mkdir()
    for number in range(8):
        (source / f"{number}.txt").write_bytes(b"new")
    (sink / "run" / "3.txt").mkdir(parents=True)
    (sink / "run" / "surplus").touch()
    with nodes(tmp_path, sink, sink, options=("--write",)) as stripe:
        done = copy(source, stripe[0].url, "--no-resume", "--delete")
    assert done.code == 0, done
    assert tree_of(sink / "run") == tree_of(source)


@pytest.mark.parametrize("parts", [2, 4])
def test_a_file_of_the_web_that_nobody_can_tell_from_another_goes_into_stripes_once(parts: int, tmp_path: Path) -> None:
    content = random.Random(23).randbytes(3 * MEBI)
    sink = tmp_path / "sink"
    sink.mkdir()
    with faulty({"/run.raw": content}) as server, nodes(tmp_path, *[sink] * parts, options=("--write",)) as stripe:
        server.time_told, server.tells_version = "never", False
        for _ in range(2):
            done = Store("").copy(f"{server.url}/run.raw", stripe[0].url)
            assert done.code == 0, done
            assert done.stdout.startswith("copied 1 file"), done
            assert "already" not in done.stdout
        assert (sink / "run.raw").read_bytes() == content
        logs = [entry for node in stripe for entry in node.copies(4 if node is stripe[0] else 2)]
    assert sum(entry["files"] for entry in logs) == 2, logs


def test_nodes_that_differ_in_content_alone_give_no_mixture_where_contents_are_compared(tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "other" / "run"
    make_tree(folder, 19, 50, 100 * MEBI)
    shutil.copytree(folder, other, symlinks=True)
    for path in other.rglob("*"):
        if path.is_file() and not path.is_symlink():
            status = path.stat()
            path.write_bytes(path.read_bytes()[::-1])
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with nodes(tmp_path, folder, other) as stripe:
        done = copy(stripe[0].url, tmp_path / "here/", "--checksum", "--manifest", tmp_path / "b3")
        assert done.code == 0, done
        assert "large.raw was put together of versions that differ" in done.stderr
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)
        again = copy(stripe[0].url, tmp_path / "here/", "--checksum")
        assert again.stdout.startswith("copied 0 files"), again
    assert run("verify", tmp_path / "b3", tmp_path / "here").returncode == 0


def test_striped_shares_fetch_from_striped_shares_and_a_node_that_dies_loses_nothing(tmp_path: Path) -> None:
    source, sink = tmp_path / "run", tmp_path / "sink"
    make_tree(source, 18, 1000, 30 * MEBI)
    for number in range(12):
        (source / f"{number}.raw").write_bytes(random.Random(number).randbytes(8 * MEBI))
    sink.mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with (
        nodes(tmp_path / "a", source, source, options=("--rate", "200M")) as givers,
        nodes(tmp_path / "b", sink, sink, options=("--write", "--fetch", "127.0.0.1")) as takers,
    ):
        copying = start_copy(givers[0].url, takers[0].url, "--json")
        told = []
        for event in events(copying.said):
            told.append(event)
            # All have said what they want, and something has come.
            if event["event"] == "progress" and event["bytes_sent"] > 30 * MEBI and event["tally"]["wanted_files"] == 1014:
                takers[1].process.signal(signal.SIGKILL)
        ended = copying.end()
        assert ended.code == 0, ended
        assert any(f"{takers[1].name} is left out" in event.get("why", "") for event in told)
        progress = [event for event in told if event["event"] == "progress"]
        # In the last pass, too, it tells of all that there is.
        for before, after in itertools.pairwise(progress):
            for field in ("wanted_files", "wanted_bytes", "files"):
                assert after["tally"][field] >= before["tally"][field], (field, before, after)
            assert after["seconds"] >= before["seconds"]
            assert after["bytes_sent"] >= before["bytes_sent"]
        last = progress[-1]["tally"]
        assert (last["wanted_files"], last["files"], last["here_bytes"]) == (1014, 1014, last["wanted_bytes"])
        assert told[-1]["tally"]["wanted_files"] == 1014
        # What the node did after it was heard of last is counted, too, and not taken for what was there before.
        assert (told[-1]["tally"]["files"], told[-1]["tally"]["same_files"]) == (1014, 0)
        assert tree_of(sink / "run") == tree_of(source)
        assert all(giver.given() > 0 for giver in givers)


def test_people_copy_from_all_nodes_and_those_with_a_rate_of_their_own_from_one(tmp_path: Path) -> None:
    folder, policy = tmp_path / "run", tmp_path / "people.toml"
    make_tree(folder, 19, 100, 80 * MEBI)
    ask, ada, grace = 'ask = "Ada"', '[[person]]\nname = "ada"\nread = ["."]', '[[person]]\nname = "grace"\nread = ["."]\nmost_rate = "1G"'
    policy.write_text(f"{ask}\n{ada}\n{grace}\n")
    with nodes(tmp_path, folder, folder, options=("--rate", RATE, "--policy", policy)) as stripe:
        assert "@" not in "".join(path.read_text() for path in (tmp_path / "stripe").iterdir())
        done = copy(stripe[0].url, tmp_path / "ada/")
        assert done.problems == [f"visapult: {stripe[1].name} gives, too"]
        assert tree_of(tmp_path / "ada" / "run") == tree_of(folder)
        assert min(node.given() for node in stripe) > 10 * MEBI
        of_grace = stripe[0].process.said.readline().split()[-1]
        done = copy(of_grace, tmp_path / "grace/")
        assert (done.code, done.stderr) == (0, "")
        assert [entry["who"] for entry in stripe[0].copies(2)] == ["ada", "grace"]
        assert [entry["who"] for entry in stripe[1].copies()] == ["ada"]


class Watched:
    """A copy, and how many bytes it has carried so far."""

    def __init__(self, *arguments: object) -> None:
        self.copy = start_copy(*arguments, "--json")
        self.carried = 0
        self.reading = threading.Thread(target=self.read, daemon=True)
        self.reading.start()

    def read(self) -> None:
        for event in events(self.copy.said):
            self.carried = event.get("bytes_sent", self.carried)

    def until(self, carried: int) -> None:
        eventually(f"byte {carried}", lambda: not self.reading.is_alive() or self.carried >= carried)
        assert self.carried >= carried

    def kill(self) -> None:
        self.copy.process.kill()
        self.copy.process.wait()


@contextlib.contextmanager
def watched(*arguments: object) -> Iterator[Watched]:
    """A copy that carries something by now."""
    copying = Watched(*arguments)
    try:
        copying.until(1)
        yield copying
    finally:
        copying.kill()


def part_beside(light: Watched, heavy: Watched) -> float:
    """What the light one carries for each byte of the heavy one, between that one's start and its end."""
    seen = []
    for carried in (8 * MEBI, 26 * MEBI):
        heavy.until(carried)
        seen.append((light.carried, heavy.carried))
    (light_before, heavy_before), (light_after, heavy_after) = seen
    return (light_after - light_before) / (heavy_after - heavy_before)


def test_what_is_put_and_what_is_fetched_divide_the_rate_of_a_share(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "fetched.raw").write_bytes(random.Random(20).randbytes(30 * MEBI))
    (tmp_path / "put.raw").write_bytes(random.Random(21).randbytes(100 * MEBI))
    with (
        sharing(tmp_path / "source") as source,
        sharing(tmp_path / "sink", "--write", "--fetch", "127.0.0.1", "--rate", NARROW) as sink,
        watched(tmp_path / "put.raw", sink.url) as putting,
        watched(f"{source.url}/fetched.raw", sink.url, "--weight", "3") as fetching,
    ):
        assert 1 / 7 < part_beside(putting, fetching) < 1 / 1.5


def test_copies_divide_the_rate_of_a_share_by_weight(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "heavy.raw").write_bytes(random.Random(16).randbytes(30 * MEBI))
    (folder / "light.raw").write_bytes(random.Random(17).randbytes(100 * MEBI))
    with (
        sharing(folder, "--rate", NARROW) as share,
        watched(f"{share.url}/light.raw", tmp_path) as light,
        watched(f"{share.url}/heavy.raw", tmp_path, "--weight", "3") as heavy,
    ):
        assert 1 / 6 < part_beside(light, heavy) < 1 / 1.8
