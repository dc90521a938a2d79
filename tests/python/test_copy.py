"""`visapult copy` and `visapult share` as a user has them: whole trees, one clear line for a bad day, and going on after being killed."""

import contextlib
import fcntl
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from conftest import VISAPULT, run
from shares import MEBI, MOST_RESENT, SOON, copy, events, make_tree, shared, sharing, start_copy, tree_of, without_rights  # noqa: F401 (a fixture)
from test_bad_input import assert_one_clear_line
from wan import ENVIRONMENT, RIGHT, Link, Process, eventually, link, pause, unable

#: How often a copy is killed.
KILLS = int(os.environ.get("KILLS", "10"))


def test_a_tree_goes_into_a_share_and_out_of_it(tmp_path: Path) -> None:
    make_tree(tmp_path / "run", 1, 300, 20 * MEBI)
    with sharing(tmp_path / "shared", "--write") as share:
        pushed = copy(tmp_path / "run", f"{share.url}/in/", "--json")
        assert (pushed.code, pushed.stderr) == (0, "")
        told = list(events(pushed.stdout.splitlines()))
        assert told[-1]["event"] == "finished"
        assert told[-1]["tally"]["files"] == 302
        assert {"progress", "finished"} == {event["event"] for event in told}
        assert tree_of(tmp_path / "shared" / "in" / "run") == tree_of(tmp_path / "run")
        pulled = copy(f"{share.url}/in/run", tmp_path / "back/", "--manifest", tmp_path / "manifest")
        assert pulled.code == 0, pulled
        assert re.fullmatch(r"copied 302 files, \d+\.\d MB in \d+(\.\d)? s, \d+\.\d+ [kMG]?bit/s, verified\n", pulled.stdout)
        assert tree_of(tmp_path / "back" / "run") == tree_of(tmp_path / "run")
        assert len((tmp_path / "manifest").read_bytes().splitlines()) == 302
        again = copy(f"{share.url}/in/run", tmp_path / "back")
        assert "302 files there already" in again.stdout
        assert [(entry["what"], entry["files"], entry["result"]) for entry in share.copies(3)] == [
            ("put", 302, "done"), ("get", 302, "done"), ("get", 0, "done"),
        ]  # fmt: skip


def test_a_mirror_becomes_the_same_and_says_before_what_would_go(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 7, 20, MEBI)
    assert copy(f"{url}/run", tmp_path).code == 0
    (tmp_path / "run" / "0" / "old").write_bytes(b"old")
    times = os.stat(tmp_path / "run" / "large.raw")
    with (tmp_path / "run" / "large.raw").open("r+b") as file:
        file.write(b"changed")
    os.utime(tmp_path / "run" / "large.raw", ns=(times.st_atime_ns, times.st_mtime_ns))
    mirror = (f"{url}/run", tmp_path, "--checksum", "--delete")
    dry = copy(*mirror, "--dry-run")
    assert dry.stdout.splitlines() == ["would copy run/large.raw, 1.0 MB", "would delete run/0/old", "would copy 1 file, 1.0 MB; 21 files there already; would delete 1"]
    partial = copy(*mirror, "--exclude", "0")
    assert partial.code == 2
    assert_one_clear_line(partial.stderr, "--delete-unmatched")
    done = copy(*mirror)
    assert (done.code, done.stderr) == (0, "")
    assert "; 1 deleted" in done.stdout
    assert tree_of(tmp_path / "run") == tree_of(folder / "run")
    assert copy(f"{url}/run/large.raw", tmp_path / "part", "--range", "1kB-3kB").code == 0
    assert (tmp_path / "part").read_bytes() == (folder / "run" / "large.raw").read_bytes()[1000:3000]


@pytest.mark.parametrize("is_push", [True, False], ids=["into a share", "out of it"])
def test_a_part_of_a_file_does_not_take_the_place_of_another(is_push: bool, tmp_path: Path) -> None:
    (tmp_path / "large.raw").write_bytes(random.Random(3).randbytes(40 * MEBI))
    giving, taking = tmp_path, tmp_path / "taking"
    with sharing(taking if is_push else giving, "--write") as share:
        taking.mkdir(exist_ok=True)
        source = giving / "large.raw" if is_push else f"{share.url}/large.raw"
        target = {name: f"{share.url}/{name}" if is_push else taking / name for name in ("whole", "part")}
        assert copy(source, target["whole"]).code == 0
        refused = copy(source, target["whole"], "--range", "0-1MiB")
        assert refused.code == 3, refused
        assert_one_clear_line(refused.stderr, "whole: cannot be written: a file of another size than this part has its name")
        assert (taking / "whole").read_bytes() == (giving / "large.raw").read_bytes()
        assert "; 1 would fail" in copy(source, target["whole"], "--range", "0-1MiB", "--dry-run").stdout
        # The same part goes on, and is found there.
        part = (source, target["part"], "--range", "1MiB-35MiB")
        copying = start_copy(*part, "--json", "--rate", "100M")
        assert any(event.get("bytes_sent", 0) >= 20 * MEBI for event in events(copying.said))
        copying.signal(signal.SIGINT)
        assert copying.end(SOON).code == 130
        again = copy(*part)
        assert again.code == 0 and "goes on from" in again.stderr, again
        assert "1 file there already" in copy(*part).stdout
        assert copy(*part, "--no-resume").code == 0
        # One that is as long, as when the source has changed since, and any other where that is asked for.
        assert copy(source, target["part"], "--range", "2MiB-36MiB").code == 0
        assert (taking / "part").read_bytes() == (giving / "large.raw").read_bytes()[2 * MEBI : 36 * MEBI]
        assert copy(source, target["part"], "--range", "0-1MiB", "--no-resume").code == 0
        assert (taking / "part").stat().st_size == MEBI
        assert copy(*part, "--no-resume").code == 0
        assert (taking / "part").read_bytes() == (giving / "large.raw").read_bytes()[MEBI : 35 * MEBI]


@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_an_empty_pattern_is_refused(option: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    refused = copy(tmp_path / "run", tmp_path / "there", option, "*.h5", option, "")
    assert refused.code == 2
    assert_one_clear_line(refused.stderr, f"{option} is empty: give it a pattern")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("is_shared", [True, False], ids=["of a share", "of this machine"])
def test_links_that_lead_round_in_a_circle_are_called_so(is_shared: bool, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    (folder / "run").mkdir()
    (folder / "run" / "one").symlink_to("other")
    (folder / "run" / "other").symlink_to("one")
    ended = copy(f"{url}/run" if is_shared else folder / "run", f"{tmp_path}/there/", "--follow-links")
    assert ended.code == 3, ended
    expected = [f"visapult: run/{name}: cannot be read: a link that leads round in a circle" for name in ("one", "other")]
    assert ended.stderr.splitlines() == expected


def test_data_go_straight_from_one_share_to_another(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 9, 50, 3 * MEBI)
    with sharing(tmp_path / "b", "--write") as unwilling:
        assert_one_clear_line(copy(f"{url}/run", unwilling.url).stderr, "does not fetch from 127.0.0.1", "with fetch 127.0.0.1")
    with sharing(tmp_path / "c", "--write", "--fetch", "127.0.0.1") as share:
        done = copy(f"{url}/run", share.url)
        assert (done.code, done.stderr) == (0, "")
        assert done.stdout.startswith("copied 52 files")
        assert tree_of(tmp_path / "c" / "run") == tree_of(folder / "run")
        [entry] = share.copies()
        assert (entry["what"], entry["files"], entry["result"]) == ("fetch", 52, "done")
        left = copy(f"{url}/run/large.raw", f"{share.url}/more", "--detach")
        assert left.stdout.startswith("the share goes on alone with copy 2")
        told = subprocess.run([VISAPULT, "fetches", share.url], capture_output=True, text=True, check=True)
        assert re.match(r"1 ripp://127.0.0.1:\d+/shared/run to \.: 52 files of 52, ", told.stdout)
        assert re.search(r"^2 ripp://127.0.0.1:\d+/shared/run/large.raw to more: ", told.stdout, re.MULTILINE)
        assert [entry["source"].split("/shared/")[1] for entry in share.copies(2)] == ["run", "run/large.raw"]
        assert "@" not in share.log.read_text()
        refused = copy(url, share.url, "--detach", "--manifest", tmp_path / "manifest")
        assert refused.code == 2
        assert_one_clear_line(refused.stderr, "--detach", "--manifest")


def test_a_fetch_that_dials_again_is_not_called_under_way_and_one_that_is_over_is_not_stopped(tmp_path: Path) -> None:
    make_tree(tmp_path / "a", 9, 5, 50 * MEBI)
    fetches = [VISAPULT, "fetches"]
    with sharing(tmp_path / "a", "--rate", "50M") as giving, sharing(tmp_path / "b", "--write", "--fetch", "127.0.0.1") as taking:
        assert copy(giving.url, taking.url, "--detach").code == 0
        giving.process.stop()
        eventually("a word of it", lambda: "dialling again" in Process([*fetches, taking.url]).end(SOON).stdout)
        told = Process([*fetches, taking.url]).end(SOON).stdout
        assert re.search(r"under way: the connection is lost \(.*\): dialling again for 300 s \(\d+ s ago\)$", told.rstrip()), told
        assert "is being stopped" in Process([*fetches, taking.url, "--stop", "1"]).end(SOON).stdout
        taking.copies()
        over = Process([*fetches, taking.url, "--stop", "1"]).end(SOON)
        assert (over.code, over.stdout.rstrip().endswith("there was nothing to stop, it was over")) == (0, True), over


def test_a_dry_run_names_what_it_would_do_in_every_direction(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    for run_folder in (folder / "run", tmp_path / "run"):
        (run_folder / "sub").mkdir(parents=True)
        (run_folder / "a.raw").write_bytes(bytes(2500))
        (run_folder / "sub/b").write_bytes(b"b")
    with sharing(tmp_path / "other", "--write", "--fetch", "127.0.0.1") as other:
        new = f"{tmp_path}/new/"
        for places in ((f"{url}/run", new), (tmp_path / "run", f"{url}/new/"), (tmp_path / "run", new), (f"{url}/run", other.url)):
            *named, total = copy(*places, "--dry-run").stdout.splitlines()
            assert named == ["would make run", "would copy run/a.raw, 2.5 kB", "would make run/sub", "would copy run/sub/b, 1 byte"]
            assert total == "would copy 2 files, 2.5 kB; 0 files there already"
            told = events(copy(*places, "--dry-run", "--json").stdout.splitlines())
            differing = [(event["path"], event["bytes"], event["why"]) for event in told if event["event"] == "differs"]
            assert differing[1] == ("run/a.raw", 2500, "is not there")
            assert len(differing) == 4


def test_names_that_copies_keep_are_told_and_not_passed_over(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    (folder / "run").mkdir()
    for name in ("a", "a.visapult-part", "b.visapult-log"):
        (folder / "run" / name).write_text(name)
    for source in (f"{url}/run", folder / "run"):
        told = copy(source, tmp_path / "there/")
        assert told.code == 0
        assert "; 2 left out" in told.stdout
        lines = told.stderr.splitlines()
        assert len(lines) == 2 and all(" left out: names that end in .visapult-part" in line for line in lines), lines
        left = [event["path"] for event in events(copy(source, tmp_path / "more/", "--json").stdout.splitlines()) if event["event"] == "left-out"]
        assert [Path(path).name for path in left] == ["a.visapult-part", "b.visapult-log"]
    (tmp_path / "there/run/mine.visapult-part").touch()
    same = run("verify", tmp_path / "there/run", f"{url}/run", check=False)
    assert same.returncode == 0
    assert sorted(line.split(" not compared: names that end")[0] for line in same.stderr.splitlines()) == [
        f"visapult: {name}" for name in ("a.visapult-part", "b.visapult-log", "mine.visapult-part")
    ]


def test_a_name_that_is_no_text_may_be_given(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    name, here = b"caf\xe9.dat", os.fsencode(tmp_path)
    Path(os.fsdecode(here + b"/" + name)).write_bytes(b"content")
    for words in ([here + b"/" + name, url.encode()], [url.encode() + b"/" + name, here + b"/back\xff"], [here + b"/back\xff", here + b"/there"]):
        done = subprocess.run([os.fsencode(VISAPULT), b"copy", *words], capture_output=True, check=False, timeout=SOON)
        assert (done.returncode, done.stderr) == (0, b"")
    assert [os.fsencode(path.name) for path in folder.iterdir()] == [name]
    assert (tmp_path / "there").read_bytes() == b"content"
    verify = [os.fsencode(VISAPULT), b"verify", here + b"/" + name, here + b"/back\xff"]
    assert subprocess.run(verify, capture_output=True, check=False, timeout=SOON).returncode == 0


def test_where_the_rate_limits_a_copy_that_is_told_whichever_end_gives(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "file").write_bytes(os.urandom(12 * MEBI))
    with sharing(tmp_path / "shared", "--write") as share:
        for places in [(tmp_path / "file", f"{share.url}/there"), (f"{share.url}/there", tmp_path / "back")]:
            done = copy(*places, "--json", "--rate", "40M")
            assert done.code == 0, done
            told = [event.get("limited_by") for event in events(done.stdout.splitlines())]
            assert "rate" in told, told


@pytest.mark.parametrize(
    ("source", "target", "needles"),
    [
        ("{url}/none", "{here}", ["none: there is no such file"]),
        ("{url}/../x", "{here}", ["leads out of the share"]),
        ("{url}/out", "{here}", ["out: leads out"]),
        ("{here}/none", "{url}", ["none: there is no such file"]),
        ("{forged}", "{here}", ["the token is wrong"]),
        ("ripp://127.0.0.1:1/x", "{here}", ["Connection refused"]),
        ("{url}/a", "{url}/b", ["with fetch 127.0.0.1"]),
        ("{url}", "{url}", ["cannot be copied into itself"]),
        ("{here}", "{here}/x/y", ["cannot be copied into itself"]),
        ("{url}", "/dev/null/x", ["/dev/null"]),
    ],
)
def test_a_bad_day_is_one_clear_line(
    shared: tuple[Path, str], tmp_path: Path, source: str, target: str, needles: list[str]
) -> None:
    folder, url = shared
    os.symlink("/etc", folder / "out")
    here = tmp_path / "here"
    here.mkdir()
    forged = re.sub("//.*@", "//AAAAAAAAAAAAAAAAAAAAAA@", url)
    words = [word.format(url=url, here=here, forged=forged) for word in (source, target)]
    ended = copy(*words)
    # What no other day would bring about is a command line that does not fit.
    assert ended.code == (2 if "itself" in needles[0] or "{url}/.." in source else 1), ended
    assert_one_clear_line(ended.stderr, *needles)
    assert not list(here.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a small file system is mounted")
def test_a_full_disk_is_told_and_what_was_copied_is_kept(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_tree(folder / "run", 3, 50, 40 * MEBI)
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24M", "none", small], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        foreseen = copy("--dry-run", f"{url}/run", small)
        assert foreseen.code == 0, foreseen
        assert_one_clear_line(foreseen.stderr, "too little room", "have 42")
        full = copy(f"{url}/run", small)
        assert full.code == 1, full
        lacking, ended = full.stderr.splitlines()
        assert lacking == foreseen.stderr.rstrip()
        assert_one_clear_line(ended + "\n", "is full", "go" "es on from there")
        assert (small / "run" / "0").is_dir()
        subprocess.run(["mount", "-o", "remount,size=80M", small], check=True)
        again = copy(f"{url}/run", small)
        assert again.code == 0 and "too little room" not in again.stderr, again
        assert tree_of(small / "run") == tree_of(folder / "run")
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def verified_bytes(folder: Path) -> int:
    """What need not be sent again: files that have their names, and ranges that a log tells of."""
    total = 0
    for path in folder.rglob("*"):
        if path.name.endswith(".visapult-log"):
            total += (path.stat().st_size - 48) // 48 * 16 * MEBI
        elif path.is_file() and not path.is_symlink() and not path.name.endswith(".visapult-part"):
            total += path.stat().st_size
    return total


class Kills:
    """Copies of one tree over a link, again and again, in which one side or the other is killed."""

    def __init__(self, source: Path, target: Path, is_push: bool) -> None:
        self.source, self.target, self.is_push = source, target, is_push
        self.way = "to_right" if is_push else "to_left"
        self.moments = random.Random(5)
        #: For each kill that hit: what the link carried to the sink, headers and repairs with it, less what need not be sent again.
        self.resent: list[int] = []

    def copy_whole(self) -> None:
        """From nothing to all of it, with kills on the way for as long as more are wanted."""
        self.target.mkdir()
        with link("--rate", "400M", "--rtt", "20ms", "--loss", "0.1%") as up:
            while not self.is_whole_after(up):
                pass

    def is_whole_after(self, up: Link) -> bool:
        """A copy that goes on from the one before; it is killed once the link has carried a random part more."""
        share, url = start_share(up, self.target if self.is_push else self.source)
        before, carried = verified_bytes(self.target), up.carried(self.way)
        words = [self.source / "run", url] if self.is_push else [f"{url}/run", self.target]
        copying = up.start("left", VISAPULT, "copy", *words, "--json", "--retry", "0s")
        victim = None
        # The list of the files is past after a quarter of a MiB: content is on its way.
        moment = carried + self.moments.randrange(MEBI // 4, 40 * MEBI)
        if len(self.resent) < KILLS:
            eventually("its moment", lambda: not copying.is_running() or up.carried(self.way) >= moment)
            victim = (copying, share)[len(self.resent) % 2]
            victim.signal(signal.SIGKILL)
        ended = copying.end(SOON)
        assert "panicked" not in ended.stderr
        carried = up.carried(self.way) - carried
        share.stop()
        if ended.code == 0:
            return True
        # It ended because it, or the share, was killed under way, and for nothing else.
        assert victim is not None and victim.process.returncode == -signal.SIGKILL, ended
        won = verified_bytes(self.target) - before
        assert won >= 0
        self.resent.append(carried - won)
        assert self.resent[-1] <= MOST_RESENT, (len(self.resent), carried, won)
        return False


@pytest.mark.skipif(bool(unable()), reason=unable() or "")
@pytest.mark.parametrize("is_push", [True, False], ids=["into a share", "out of a share"])
def test_killed_at_any_moment_it_goes_on(tmp_path: Path, is_push: bool) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    make_tree(source / "run", 4, 1500, 192 * MEBI)
    there = tree_of(source / "run")
    kills, whole = Kills(source, target, is_push), 0
    # That one copy after the other is whole before a kill hits it is a failure, too.
    while len(kills.resent) < KILLS and whole <= KILLS:
        kills.copy_whole()
        assert tree_of(target / "run") == there
        whole += 1
        shutil.rmtree(target)
    assert len(kills.resent) == KILLS, f"{whole} copies were whole before"
    most = max(kills.resent) / MEBI
    print(f"{KILLS} kills hit, {whole} copies were whole and identical, at most {most:.1f} MiB were carried again after a kill")


@pytest.mark.skipif(bool(unable()), reason=unable() or "")
def test_a_cut_of_the_network_is_bridged(tmp_path: Path) -> None:
    make_tree(tmp_path / "source" / "run", 6, 50, 96 * MEBI)
    with link("--rate", "100M", "--rtt", "20ms") as up:
        _, url = start_share(up, tmp_path / "source")
        copying = up.start("left", VISAPULT, "copy", f"{url}/run", tmp_path / "here")
        up.wait_for_traffic(2 * MEBI)
        up.set("--block", "all")
        pause(11)
        up.set("--block", "none")
        ended = copying.end(60)
        assert ended.code == 0, ended
        assert "dialling again" in ended.stderr
        assert re.match("copied 52 files", ended.stdout)
    assert tree_of(tmp_path / "here" / "run") == tree_of(tmp_path / "source" / "run")


def start_share(up: Link, folder: Path) -> tuple[Process, str]:
    share = up.start("right", VISAPULT, "share", folder, "--write", "--bind", f"{RIGHT}:0")
    return share, share.read_line()


@pytest.mark.parametrize(
    "place", ["RIPP://token@host:1/in", "ripp:/token@host:1/in", "user@host:/data/", "host:/data", "host:data", "S3://bucket/x", "file:///data"]
)
def test_what_looks_like_another_place_is_no_folder_here(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"content")
    for places in (["file", place], [place, "there"]):
        ended = run("copy", *places, check=False)
        assert ended.returncode == 2
        assert_one_clear_line(ended.stderr, "neither a path nor a URL", "./NAME")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_has_no_name_is_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"content")
    for places, what in ((["", "there"], "a source"), (["file", "", "there"], "a source"), (["file", ""], "the destination")):
        ended = run("copy", *places, check=False)
        assert ended.returncode == 2
        assert_one_clear_line(ended.stderr, f"the name of {what} is empty")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_share_is_read_only_unless_it_is_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with sharing(tmp_path / "shared", "--read-only") as share:
        assert_one_clear_line(copy(tmp_path / "file", share.url).stderr, "read-only", "with write")
        [entry] = share.copies()
        assert (entry["what"], entry["files"]) == ("put", 0) and "read-only" in entry["result"]
    both = run("share", tmp_path, "--read-only", "--write", check=False)
    assert both.returncode == 2
    assert_one_clear_line(both.stderr, "--read-only", "--write")
    assert "--read-only" in run("share", "--help").stdout


def test_the_log_of_a_share_is_nothing_to_be_shared(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "file").touch()
    os.symlink(folder, tmp_path / "way")
    os.symlink(folder / "file", tmp_path / "link")
    for log in (folder / "log", tmp_path / "way" / "log", tmp_path / "link"):
        refused = run("share", folder, "--log", log, "--bind", "127.0.0.1:0", "--for", "1s", check=False)
        assert refused.returncode == 1
        assert_one_clear_line(refused.stderr, log.name, "lies in the folder that is shared", "name it elsewhere")
        assert [path.name for path in folder.iterdir()] == ["file"]


def test_two_copies_of_the_same_at_once_do_not_take_each_other_for_another_file(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for number in range(400):
        (folder / f"{number}").write_bytes(os.urandom(20_000))
    copies = [start_copy(folder, f"{tmp_path}/there/") for _ in range(2)]
    told = [copying.end(SOON) for copying in copies]
    assert [ended.code for ended in told] == [0, 0], told
    assert tree_of(tmp_path / "there" / "run") == tree_of(folder)


@pytest.mark.parametrize("columns", [20, 30, 40])
def test_a_narrow_terminal_shows_whole_parts_in_one_line(tmp_path: Path, columns: int) -> None:
    (tmp_path / "file").write_bytes(os.urandom(5 * MEBI))
    parent, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with sharing(tmp_path / "shared", "--write") as share:
        command = [str(word) for word in (VISAPULT, "copy", tmp_path / "file", share.url, "--rate", "30M")]
        copying = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=ENVIRONMENT)
        os.close(terminal)
        seen = b""
        with contextlib.suppress(OSError):
            while piece := os.read(parent, 4096):
                seen += piece
        os.close(parent)
        assert copying.wait(SOON) == 0
    shown = [line.removesuffix("\x1b[K") for line in seen.decode().split("\r")]
    lines = [line for line in shown if line]
    whole = re.compile(r"[\d.]+ \w+ of [\d.]+ \w+\+?(, \d+ of \d+\+? files(, [\d.]+ [kM]?bit/s)?)?")
    assert lines and all(whole.fullmatch(line) and len(line) < columns for line in lines), lines


def test_sources_of_one_name_do_not_delete_each_other(tmp_path: Path) -> None:
    for side, name in (("one", "a"), ("two", "b")):
        (tmp_path / side / "run").mkdir(parents=True)
        (tmp_path / side / "run" / name).write_text(name)
    for sources in (["one/run", "two/run"], ["one/run/.", "two/run"], ["one/run/.", "two/run/."]):
        ended = run("copy", *(f"{tmp_path}/{source}" for source in sources), tmp_path / "there", "--delete", check=False)
        assert ended.returncode == 2
        assert_one_clear_line(ended.stderr, "with delete", "a place of its own")
    assert not (tmp_path / "there").exists()


def test_nothing_is_deleted_where_a_file_cannot_be_read(tmp_path: Path) -> None:
    source, there = tmp_path / "run", tmp_path / "there" / "run"
    source.mkdir()
    there.mkdir(parents=True)
    (source / "file").write_text("file")
    (source / "closed").write_text("closed")
    (source / "closed").chmod(0)
    (there / "old").write_text("old")
    command = [*without_rights(), VISAPULT, "copy", source, there.parent, "--delete"]
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=SOON)
    assert ended.returncode == 3, ended
    assert "closed" in ended.stderr
    assert "not all of the sources could be copied" in ended.stderr
    assert sorted(path.name for path in there.iterdir()) == ["file", "old"]


def test_what_fails_alike_is_told_once(tmp_path: Path) -> None:
    source, there = tmp_path / "run", tmp_path / "there"
    source.mkdir()
    for number in range(300):
        (source / f"{number}.txt").write_text("text")
    there.mkdir()
    there.chmod(0o555)
    ended = subprocess.run([str(word) for word in (*without_rights(), VISAPULT, "copy", f"{source}/.", there)], capture_output=True, text=True, timeout=SOON)
    assert ended.returncode == 3, ended
    lines = ended.stderr.splitlines()
    # What takes longer than a second is told a second time.
    assert len(lines) <= 2, lines
    assert all(re.fullmatch(r"visapult: (then )?\d+.txt, .* more: cannot be written: permission denied", line) for line in lines), lines
    assert sum(3 + int(line.split(" and ")[1].split()[0]) for line in lines) == 300
    assert "300 FAILED" in ended.stdout


def test_a_copy_goes_on_when_its_terminal_is_gone(shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    (folder / "file").write_bytes(os.urandom(3 * MEBI))
    parent, terminal = os.openpty()
    command = [str(word) for word in (VISAPULT, "copy", f"{url}/file", tmp_path, "--rate", "20M")]
    copying = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True, start_new_session=True)
    os.close(terminal)
    # Its progress line is there; from now on nobody reads it.
    os.read(parent, 1)
    os.close(parent)
    told, _ = copying.communicate(timeout=SOON)
    assert copying.returncode == 0
    assert "verified" in told
