"""Striped shares, and copies that share a link by weights: who gave how much is told by the logs of the shares."""

import contextlib
import json
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conftest import VISAPULT
from test_copy import MEBI, MOST_RESENT, copy, make_tree, tree_of
from wan import Process

#: What each node may give, in bits per second: what travels takes long enough to be told apart.
RATE = "400M"
PATIENCE = 60.0


class Node:
    """One share of a stripe."""

    def __init__(self, at: Path, folder: Path, *options: object) -> None:
        self.log = at / f"log-{random.randrange(1 << 48):x}"
        command = [VISAPULT, "share", folder, "--bind", "127.0.0.1:0", "--log", self.log, *options]
        self.process = Process(command)
        self.url = self.process.read_line().split()[-1]
        self.name = self.url.split("@")[1].split("/")[0]

    def copies(self, count: int = 1) -> list[dict[str, Any]]:
        """What it says of the copies it had, once there are so many."""
        until = time.monotonic() + PATIENCE
        while (text := self.log.read_text() if self.log.exists() else "").count("\n") < count and time.monotonic() < until:
            time.sleep(0.02)
        return [json.loads(line) for line in text.splitlines()]

    def given(self) -> int:
        return sum(entry["bytes"] for entry in self.copies())


@contextlib.contextmanager
def nodes(at: Path, *folders: Path, options: tuple[object, ...] = ("--rate", RATE)) -> Iterator[list[Node]]:
    """Shares of one stripe, a node for each of the folders."""
    made: list[Node] = []
    try:
        made.extend(Node(at, folder, "--stripe", at / "stripe", *options) for folder in folders)
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
        copying = Process([VISAPULT, "copy", stripe[0].url, f"{tmp_path / 'here'}/", "--json"])
        first = True
        for event in map(json.loads, copying.process.stdout):
            if event["event"] == "progress" and event["bytes_sent"] > 60 * MEBI and first:
                first = False
                stripe[1].process.signal(signal.SIGKILL)
                stripe[2].process.signal(signal.SIGSTOP)
            if event["event"] == "finished":
                finished = event
        assert copying.end().code == 0
        assert finished["tally"]["files"] == 502
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)


def test_when_the_node_that_was_dialled_dies_another_takes_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    make_tree(folder, 13, 500, 150 * MEBI)
    with nodes(tmp_path, folder, folder) as stripe:
        copying = Process([VISAPULT, "copy", stripe[0].url, f"{tmp_path / 'here'}/", "--json"])
        arrived, resumed = 0, 0
        for event in map(json.loads, copying.process.stdout):
            if event["event"] == "progress":
                arrived = event["bytes_sent"]
                resumed = max(resumed, event["tally"]["resumed_bytes"])
                if arrived > 60 * MEBI:
                    stripe[0].process.signal(signal.SIGKILL)
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
        shutil.rmtree(other)
        shutil.copytree(folder, other, symlinks=True)
        (other / "large.raw").unlink()
        done = copy(stripe[0].url, tmp_path / "here/")
        assert f"{stripe[2].name} is left out: it has" in done.stderr
        assert tree_of(tmp_path / "here" / "run") == tree_of(folder)


def test_a_copy_that_is_killed_goes_on_striped(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    make_tree(folder, 15, 500, 200 * MEBI)
    with nodes(tmp_path, folder, folder) as stripe:
        command = [VISAPULT, "copy", stripe[0].url, f"{tmp_path / 'here'}/", "--json"]
        copying = Process(command)
        for event in map(json.loads, copying.process.stdout):
            if event["event"] == "progress" and event["bytes_sent"] > 100 * MEBI:
                copying.signal(signal.SIGKILL)
        copying.end()
        events = [json.loads(line) for line in Process(command).end(PATIENCE).stdout.splitlines()]
        assert events[-1]["event"] == "finished"
        assert events[-1]["tally"]["resumed_bytes"] > 100 * MEBI - MOST_RESENT
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


def test_striped_shares_fetch_from_striped_shares_and_a_node_that_dies_loses_nothing(tmp_path: Path) -> None:
    source, sink = tmp_path / "run", tmp_path / "sink"
    make_tree(source, 18, 1000, 30 * MEBI)
    for number in range(12):
        (source / f"{number}.raw").write_bytes(random.Random(number).randbytes(8 * MEBI))
    sink.mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with (
        nodes(tmp_path / "a", source, source) as givers,
        nodes(tmp_path / "b", sink, sink, options=("--write", "--fetch", "127.0.0.1")) as takers,
    ):
        copying = Process([VISAPULT, "copy", givers[0].url, takers[0].url, "--json"])
        events = []
        for event in map(json.loads, copying.process.stdout):
            events.append(event)
            if event["event"] == "progress" and event["bytes_sent"] > 30 * MEBI:
                takers[1].process.signal(signal.SIGKILL)
        ended = copying.end()
        assert ended.code == 0, ended
        assert any(f"{takers[1].name} is left out" in event.get("why", "") for event in events)
        # What the node did after it was heard of last was there already for the copy that followed.
        assert events[-1]["tally"]["files"] + events[-1]["tally"]["same_files"] == 1014
        assert events[-1]["tally"]["files"] > 500
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
        of_grace = stripe[0].process.process.stdout.readline().split()[-1]
        done = copy(of_grace, tmp_path / "grace/")
        assert (done.code, done.stderr) == (0, "")
        assert [entry["who"] for entry in stripe[0].copies(2)] == ["ada", "grace"]
        assert [entry["who"] for entry in stripe[1].copies()] == ["ada"]


def test_what_is_put_and_what_is_fetched_divide_the_rate_of_a_share(tmp_path: Path) -> None:
    for name in ("source", "sink"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "fetched.raw").write_bytes(random.Random(20).randbytes(60 * MEBI))
    (tmp_path / "put.raw").write_bytes(random.Random(21).randbytes(60 * MEBI))
    source = Node(tmp_path, tmp_path / "source")
    sink = Node(tmp_path, tmp_path / "sink", "--write", "--fetch", "127.0.0.1", "--rate", "300M")
    try:
        fetching = Process([VISAPULT, "copy", f"{source.url}/fetched.raw", sink.url, "--json", "--weight", "3"])
        putting = Process([VISAPULT, "copy", tmp_path / "put.raw", sink.url, "--json"])
        events = [json.loads(line) for line in fetching.process.stdout]
        assert events[-1]["event"] == "finished", events[-1]
        light = [json.loads(line) for line in putting.stop().stdout.splitlines()]
        arrived = max(event["bytes_sent"] for event in light if event["event"] == "progress")
        assert 60 * MEBI / 8 < arrived < 60 * MEBI / 1.5, arrived / MEBI
    finally:
        source.process.stop()
        sink.process.stop()


def test_copies_divide_the_rate_of_a_share_by_weight(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "large.raw").write_bytes(random.Random(16).randbytes(90 * MEBI))
    share = Node(tmp_path, folder, "--rate", "300M")
    try:
        copying = [
            Process([VISAPULT, "copy", share.url, f"{tmp_path / weight}/", "--json", "--weight", weight]) for weight in ("3", "1")
        ]
        last = {}
        for event in map(json.loads, copying[0].process.stdout):
            last = event
        assert last["event"] == "finished", last
        copying[1].signal(signal.SIGSTOP)
        light = [json.loads(line) for line in copying[1].stop().stdout.splitlines()]
        arrived = max(event["bytes_sent"] for event in light if event["event"] == "progress")
        assert 90 * MEBI / 6 < arrived < 90 * MEBI / 1.8, arrived / MEBI
    finally:
        share.process.stop()
