"""Bad days of copies, from the command's side: each ends with one clear line, keeps what came, and touches nothing beside it."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT
from shares import MEBI, SOON, copy, events, make_tree, noise_file, sharing, start_copy, tree_of, without_rights
from test_bad_input import assert_one_clear_line
from test_copy_power import mounted
from wan import Process, pause

RATE = ("--rate", "100M")
LARGE = 64 * MEBI


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a large file and a small one."""
    folder = tmp_path / "source" / "run"
    folder.mkdir(parents=True)
    noise_file(folder / "large.raw", 31, LARGE)
    (folder / "small.txt").write_text("small")
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    """A folder to copy into, beside which nothing may come to be or go."""
    (tmp_path / "target" / "into").mkdir(parents=True)
    beside = tmp_path / "target" / "beside"
    beside.write_text("beside")
    yield tmp_path / "target" / "into"
    assert beside.read_text() == "beside"
    assert {path.name for path in (tmp_path / "target").iterdir()} <= {"into", "into.log", "beside"}


def until_it_carries(copying: Process, least: int) -> None:
    """Waits until a copy with `--json` has told of so many bytes."""
    assert any(event.get("bytes_sent", 0) >= least for event in events(copying.said)), "it ended before"


def assert_kept_and_marked(folder: Path) -> None:
    """What came of the large file is there, and does not have its name."""
    names = {path.name for path in folder.rglob("*")}
    assert {"large.raw.visapult-part", "large.raw.visapult-log"} <= names, names
    assert "large.raw" not in names


def test_too_few_open_files_are_told_at_both_ends(source: Path, target: Path) -> None:
    """Whatever is the first that the system does not give."""
    limited = ["sh", "-c", 'ulimit -n "$0"; exec "$@"']
    refused = 0
    for files in range(8, 16):
        with sharing(source, prefix=[*limited, files]) as share:
            ended = copy(share.url, target / str(files), "--retry", "1s")
            share.process.signal(signal.SIGTERM)
            told = share.process.end()
        number = f"the process may have {files} files and connections open (ulimit -n)"
        assert ended.code == 0 or number in ended.stderr and "ulimit -n 4096" in ended.stderr, ended
        if "it is not able to" in ended.stderr:
            refused += 1
            assert number in told.stderr, told
    assert refused


@pytest.mark.parametrize("is_push", [True, False], ids=["into it", "out of it"])
def test_a_share_that_vanishes_and_does_not_come_back(source: Path, target: Path, is_push: bool) -> None:
    with sharing(target if is_push else source, "--write") as share:
        words = [source, share.url] if is_push else [share.url, target]
        copying = start_copy(*words, "--json", "--retry", "3s", *RATE)
        until_it_carries(copying, 20 * MEBI)
        share.process.signal(signal.SIGKILL)
        ended = copying.end(SOON)
    assert ended.code == 1, ended
    assert_one_clear_line(ended.stderr, share.name)
    assert_kept_and_marked(target)
    with sharing(target if is_push else source, "--write") as share:
        words = [source, share.url] if is_push else [share.url, target]
        again = copy(*words)
        assert again.code == 0, again
        assert "were there from an earlier attempt" in again.stdout
    assert tree_of(target / source.name) == tree_of(source)


@pytest.mark.parametrize("comes_back", [True, False], ids=["and comes back", "for good"])
def test_a_share_that_hangs(source: Path, target: Path, comes_back: bool, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest"
    with sharing(target, "--write") as share:
        copying = start_copy(source, share.url, "--json", "--manifest", manifest, *RATE, *(() if comes_back else ("--retry", "1s")))
        until_it_carries(copying, 20 * MEBI)
        share.process.signal(signal.SIGSTOP)
        if comes_back:
            # Until it has said that the connection is lost.
            lost = next(event for event in events(copying.said) if event["event"] == "notice")
            assert "the connection is lost" in lost["why"], lost
            share.process.signal(signal.SIGCONT)
        ended = copying.end(SOON)
        assert ended.code == (0 if comes_back else 1), ended
        if comes_back:
            assert tree_of(target / "run") == tree_of(source)
            # Each file once, though the small one was there before.
            assert sorted(line.split()[1] for line in manifest.read_text().splitlines()) == ["run/large.raw", "run/small.txt"]
        else:
            assert_one_clear_line(ended.stderr, share.name)
            assert_kept_and_marked(target)


def test_two_copies_into_one_place(source: Path, target: Path) -> None:
    with sharing(source) as share:
        words = (f"{share.url}/large.raw", target)
        first = start_copy(*words, "--json", *RATE)
        until_it_carries(first, 4 * MEBI)
        second = copy(*words)
        assert second.code == 3, second
        assert_one_clear_line(second.stderr, "large.raw", "another copy is writing it")
        ended = first.end(SOON)
        assert ended.code == 0, ended
    assert [path.name for path in target.iterdir()] == ["large.raw"]
    assert (target / "large.raw").read_bytes() == (source / "large.raw").read_bytes()


@pytest.mark.parametrize(
    ("length", "why"),
    [(40 * MEBI, "it was cut from 67108864 to 41943040 bytes while it was read"), (LARGE, "it changes while it is read"), (LARGE + MEBI, "it changes while it is read")],
    ids=["it ends sooner", "it is written over", "it grows"],
)
def test_a_file_that_changes_while_it_is_read(source: Path, target: Path, length: int, why: str) -> None:
    with sharing(source) as share:
        copying = start_copy(share.url, target, "--json", *RATE)
        until_it_carries(copying, 4 * MEBI)
        with (source / "large.raw").open("r+b") as file:
            file.truncate(length)
            file.seek(length - MEBI)
            file.write(b"changed")
        ended = copying.end(SOON)
        assert ended.code == 3, ended
        [failed] = [event for event in events(ended.stdout.splitlines()) if event["event"] == "failed"]
        assert failed["path"] == "run/large.raw"
        assert why in failed["why"]
        assert not (target / "run" / "large.raw").exists()
        assert (target / "run" / "small.txt").read_text() == "small"
        assert copy(share.url, target).code == 0
    assert tree_of(target / "run") == tree_of(source)


def test_what_is_left_of_another_version_is_not_mixed_in_where_contents_are_compared(source: Path, target: Path) -> None:
    large = source / "large.raw"
    with sharing(source.parent, *RATE) as share:
        copying = start_copy(f"{share.url}/run", target, "--checksum", "--json")
        until_it_carries(copying, 2 * LARGE // 3)
        copying.signal(signal.SIGKILL)
        copying.end()
        assert_kept_and_marked(target)
        status = large.stat()
        noise_file(large, 32, LARGE)
        os.utime(large, ns=(status.st_atime_ns, status.st_mtime_ns))
        copied = copy(f"{share.url}/run", target, "--checksum")
    assert copied.code == 0, copied
    assert "goes on from" in copied.stderr and "versions that differ" in copied.stderr
    assert tree_of(target / "run") == tree_of(source)


def test_a_file_that_holds_more_than_it_says_is_not_copied_as_empty(target: Path) -> None:
    copied = copy("/proc/version", target)
    assert copied.code == 3, copied
    assert_one_clear_line(copied.stderr, "version: cannot be read: it holds more than the size", "/proc")
    assert not list(target.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a small file system is mounted")
def test_a_disk_without_inodes_is_not_called_full(source: Path, target: Path) -> None:
    for number in range(50):
        (source / f"{number}.txt").write_text("text")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=20", "none", target], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        copied = copy(source, target)
        assert copied.code == 1, copied
        assert_one_clear_line(copied.stderr, "has no inodes left", "df -i")
        subprocess.run(["mount", "-o", "remount,nr_inodes=200", target], check=True)
        assert copy(source, target).code == 0
    finally:
        subprocess.run(["umount", "-l", target], check=True)


def test_a_share_that_may_not_write(source: Path, target: Path) -> None:
    (target / "old").write_text("old")
    # Of folders in it the share may change the mode: they are its own.
    target.chmod(0o555)
    with sharing(target, "--write", prefix=without_rights()) as share:
        ended = copy(f"{source}/.", share.url)
    assert ended.code == 3, ended
    # A line for each, and no more.
    assert sorted(ended.problems) == [f"visapult: {name}: cannot be written: permission denied" for name in ("large.raw", "small.txt")]
    assert [path.name for path in target.iterdir()] == ["old"]


def test_the_disk_of_a_share_is_full(source: Path, target: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40M", "none", target], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        with sharing(target, "--write") as share:
            full = copy(source, share.url)
            assert full.code == 1, full
            lacking, ended = full.stderr.splitlines()
            assert "there may be too little room" in lacking
            assert_one_clear_line(ended + "\n", "is full")
            assert_kept_and_marked(target)
            subprocess.run(["mount", "-o", "remount,size=90M", target], check=True)
            again = copy(source, share.url)
            assert again.code == 0 and "too little room" not in again.stderr, again
        assert tree_of(target / "run") == tree_of(source)
    finally:
        subprocess.run(["umount", "-l", target], check=True)


def test_names_that_are_one_where_case_does_not_count(tmp_path: Path) -> None:
    disk, names = tmp_path / "disk", {"run/Density": b"one", "run/density": b"two", "run/other": b"other"}
    for name, content in names.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with disk.open("wb") as file:
        file.truncate(64 * MEBI)
    # What the tool lacks, and what the kernel lacks, is a reason to leave this out; so is that root alone may do it.
    try:
        made = subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "casefold", disk], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("mkfs.ext4 makes no file system here in which case does not count")
    with mounted(disk, tmp_path / "mounted") as top:
        target = top / "folded"
        target.mkdir()
        if subprocess.run(["chattr", "+F", target], capture_output=True, check=False).returncode != 0:
            pytest.skip("chattr cannot make case not count here")
        # The second time the folder is not new.
        for _ in range(2):
            ended = copy(tmp_path / "run", target)
            assert ended.code == 3, ended
            assert_one_clear_line(ended.stderr, "ensity", "something has taken its name meanwhile")
            kept = {path.name: path.read_bytes() for path in (target / "run").iterdir()}
            assert kept.pop("other") == b"other"
            [(name, content)] = kept.items()
            assert names[f"run/{name}"] == content


@pytest.mark.parametrize("is_push", [True, False], ids=["into a share", "here"])
def test_folders_that_are_read_only_are_kept_the_same_by_who_owns_them(tmp_path: Path, is_push: bool) -> None:
    run, target = tmp_path / "run", tmp_path / "target"
    (run / "closed" / "inner").mkdir(parents=True)
    (run / "gone" / "inner").mkdir(parents=True)
    for name in ("closed/file", "closed/inner/file", "gone/inner/file"):
        (run / name).write_text("first")
    folders = [run, *(path for path in run.rglob("*") if path.is_dir())]

    def close(mode: int) -> None:
        for folder in folders:
            folder.chmod(mode)

    with sharing(target, "--write", prefix=without_rights()) as share:
        words = [*without_rights(), VISAPULT, "copy", run, share.url if is_push else target, "--delete"]
        close(0o555)
        first = Process(words).end(SOON)
        assert (first.code, first.stderr) == (0, "")
        close(0o755)
        (run / "closed" / "file").write_text("second")
        (run / "closed" / "inner" / "new").write_text("new")
        (run / "closed" / "link").symlink_to("file")
        shutil.rmtree(run / "gone")
        folders = [folder for folder in folders if folder.exists()]
        close(0o555)
        dry = Process([*words, "--dry-run"]).end(SOON)
        assert (dry.code, "would delete 1" in dry.stdout) == (0, True), dry
        assert (target / "run" / "closed").stat().st_mode & 0o777 == 0o555
        again = Process(words).end(SOON)
        assert (again.code, again.stderr) == (0, "")
        assert tree_of(target / "run") == tree_of(run)
    close(0o755)


def test_a_closed_folder_is_closed_again_where_its_copy_is_interrupted(source: Path, target: Path) -> None:
    for folder in (source, target / "run"):
        folder.mkdir(exist_ok=True)
    there = target / "run"
    words = [*without_rights(), VISAPULT, "copy", source, target]
    there.chmod(0o555)
    source.chmod(0o755)
    copying = Process([*words, "--json", *RATE])
    until_it_carries(copying, 20 * MEBI)
    assert there.stat().st_mode & 0o777 == 0o755
    copying.signal(signal.SIGINT)
    assert copying.end(SOON).code == 130
    assert there.stat().st_mode & 0o777 == 0o555
    assert_kept_and_marked(target)
    again = Process(words).end(SOON)
    assert again.code == 0 and "goes on from" in again.stderr, again
    assert tree_of(there) == tree_of(source)
    assert there.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("way", ["another path", "another share", "into a share", "on this machine"])
def test_what_was_begun_from_another_source_is_not_gone_on_with(source: Path, target: Path, way: str) -> None:
    """Though both are of one size and time."""
    other = source.with_name("other") / "run"
    other.mkdir(parents=True)
    noise_file(other / "large.raw", 32, LARGE)
    for folder in (source, other):
        os.utime(folder / "large.raw", (10**9, 10**9))
    with sharing(source.parent) as share, sharing(other.parent) as another, sharing(target, "--write") as taking:
        first, second = {
            "another path": ((f"{share.url}/run/large.raw", target), (f"{share.url}/other/run/large.raw", target)),
            "another share": ((f"{share.url}/run/large.raw", target), (f"{another.url}/run/large.raw", target)),
            "into a share": ((source / "large.raw", taking.url), (other / "large.raw", taking.url)),
            "on this machine": ((source / "large.raw", target), (other / "large.raw", target)),
        }[way]
        copying = start_copy(*first, "--json", *RATE)
        until_it_carries(copying, 20 * MEBI)
        copying.signal(signal.SIGINT)
        assert copying.end(SOON).code == 130
        assert_kept_and_marked(target)
        ended = copy(*second)
    assert ended.code == 0 and "goes on from" not in ended.stderr, ended
    assert_one_clear_line(ended.stderr, "large.raw was begun from another source, or by an older visapult: it is copied from its beginning")
    assert (target / "large.raw").read_bytes() == (other / "large.raw").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("way", ["out of it", "into it", "verify"])
def test_one_who_dials_a_share_that_is_silent_can_be_interrupted(source: Path, target: Path, way: str, number: int) -> None:
    with sharing(source if way != "into it" else target, "--write") as share:
        words = {"out of it": ("copy", share.url, target), "into it": ("copy", source, share.url), "verify": ("verify", source, share.url)}[way]
        share.process.signal(signal.SIGSTOP)
        dialling = Process([VISAPULT, *words])
        pause(1)
        assert dialling.is_running()
        dialling.signal(number)
        ended = dialling.end(SOON)
        share.process.signal(signal.SIGCONT)
    assert ended.code == 130 and ended.waited < 3, ended
    assert_one_clear_line(ended.stderr, "stopped")


def test_a_copy_that_dials_again_can_be_interrupted(source: Path, target: Path) -> None:
    with sharing(source) as share:
        copying = start_copy(share.url, target, "--json", *RATE)
        until_it_carries(copying, 20 * MEBI)
        share.process.signal(signal.SIGSTOP)
        lost = next(event for event in events(copying.said) if event["event"] == "notice")
        assert "the connection is lost" in lost["why"], lost
        # By then it is past the first wait, and dials.
        pause(3.5)
        copying.signal(signal.SIGINT)
        ended = copying.end(SOON)
        share.process.signal(signal.SIGCONT)
    assert ended.code == 130 and ended.waited < 3, ended
    assert_kept_and_marked(target)


def test_nothing_is_left_of_a_large_file_that_has_become_small(source: Path, target: Path) -> None:
    copying = start_copy(source, target, "--json", *RATE)
    until_it_carries(copying, 20 * MEBI)
    copying.signal(signal.SIGINT)
    assert copying.end(SOON).code == 130
    assert_kept_and_marked(target)
    (source / "large.raw").write_text("small")
    again = copy(source, target)
    assert (again.code, again.stderr) == (0, "")
    assert tree_of(target / source.name) == tree_of(source)


@pytest.mark.parametrize("is_push", [True, False])
def test_a_share_with_a_policy_that_is_restarted_ends_no_copy(source: Path, tmp_path: Path, is_push: bool) -> None:
    folder, there, here = source.parent, tmp_path / "source" / "in", tmp_path / "here"
    there.mkdir()
    policy = tmp_path / "people.toml"
    policy.write_text('ask = "Ada"\n[[person]]\nname = "grace"\nread = ["run"]\nwrite = ["in"]\n')
    with sharing(folder, "--policy", policy) as share:
        sources, target = ([source, f"{share.url}/in/"], there) if is_push else ([f"{share.url}/run", f"{here}/"], here)
        copying = start_copy(*sources, "--json", "--rate", "100M")
        until_it_carries(copying, 8 * MEBI)
        share.process.signal(signal.SIGTERM)
        assert share.process.end().code == 0
        again = Process([VISAPULT, "share", folder, "--bind", share.name, "--policy", policy])
        try:
            assert again.read_line() == f"grace {share.url}"
            ended = copying.end(SOON)
        finally:
            again.stop()
    assert ended.code == 0 and "the share was stopped" in ended.stderr + ended.stdout, ended
    assert tree_of(target / "run") == tree_of(source)


def test_a_share_without_a_policy_that_is_stopped_ends_its_copies(source: Path, target: Path) -> None:
    with sharing(source) as share:
        copying = start_copy(share.url, target, "--json", "--rate", "100M")
        until_it_carries(copying, 8 * MEBI)
        share.process.signal(signal.SIGTERM)
        ended = copying.end(SOON)
    assert ended.code == 1
    assert_one_clear_line(ended.stderr, "the same command goes on from there")
