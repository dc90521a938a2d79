"""`visapult ls`: what is there, before anything is copied."""

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from conftest import VISAPULT, run
from shares import SOON, Sharing, shared, sharing, without_rights  # noqa: F401 (a fixture)
from stores import Store, faulty, rclone
from test_bad_input import assert_one_clear_line
from wan import Ended, Process

WHEN = 1_700_000_000


def ls(*arguments: object) -> Ended:
    return Process(["env", "TZ=UTC", VISAPULT, "ls", *arguments]).end(SOON)


def document(*arguments: object) -> Any:
    told = ls(*arguments, "--json")
    assert (told.code, told.stderr) == (0, ""), told
    return json.loads(told.stdout)


def make_runs(folder: Path) -> None:
    """A file, a link, an empty folder, and two files in folders; all of one time."""
    (folder / "runs" / "day3").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_bytes(bytes(12))
    (folder / "runs" / "day3" / "a.raw").write_bytes(bytes(1500))
    (folder / "runs" / "b c.raw").write_bytes(bytes(1_000_000))
    (folder / "latest").symlink_to("runs/day3")
    for path in folder.rglob("*"):
        os.utime(path, (WHEN, WHEN), follow_symlinks=False)


TABLE = [
    "   0 bytes  0 files  2023-11-14 22:13  empty/",
    "                     2023-11-14 22:13  latest -> runs/day3",
    "  12 bytes           2023-11-14 22:13  notes.txt",
    "    1.0 MB  2 files  2023-11-14 22:13  runs/",
    "in all 3 files, 1.0 MB, 3 folders, 1 link",
]
ALL = ["empty/", "latest -> runs/day3", "notes.txt", "runs/", "runs/b c.raw", "runs/day3/", "runs/day3/a.raw"]


def test_a_share_and_a_folder_are_listed_alike_and_nothing_of_them_travels(tmp_path: Path) -> None:
    make_runs(tmp_path / "shared")
    with sharing(tmp_path / "shared") as share:
        for place in (share.url, f"{share.url}/", f"{share.url}/.", tmp_path / "shared", f"{tmp_path}/shared/."):
            told = ls(place)
            assert (told.code, told.stderr, told.stdout.splitlines()) == (0, "", TABLE), place
            every = ls(place, "-R")
            assert (every.code, every.stderr) == (0, "")
            assert [line[30:] for line in every.stdout.splitlines()[:-1]] == ALL
            assert every.stdout.splitlines()[-1] == TABLE[-1]
        assert [(entry["what"], entry["files"], entry["bytes"], entry["result"]) for entry in share.copies(6)] == [("get", 0, 0, "done")] * 6


def test_a_folder_a_file_and_what_a_link_leads_to(tmp_path: Path) -> None:
    make_runs(tmp_path / "shared")
    with sharing(tmp_path / "shared") as share:
        for place in (share.url, tmp_path / "shared"):
            folder = ls(f"{place}/runs").stdout.splitlines()
            assert folder == ["    1.0 MB          2023-11-14 22:13  b c.raw", "    1.5 kB  1 file  2023-11-14 22:13  day3/", "in all 2 files, 1.0 MB, 1 folder"]
            for options in ([], ["-R"]):
                assert ls(f"{place}/runs/b c.raw", *options).stdout.splitlines() == ["    1.0 MB  2023-11-14 22:13  b c.raw", "in all 1 file, 1.0 MB"]
                assert ls(f"{place}/latest", *options).stdout.splitlines() == ["    1.5 kB  2023-11-14 22:13  a.raw", "in all 1 file, 1.5 kB"]
                assert ls(f"{place}/empty", *options).stdout.splitlines() == ["in all 0 files, 0 bytes"]


def test_programs_have_a_document(tmp_path: Path) -> None:
    make_runs(tmp_path / "shared")
    total = {"files": 3, "bytes": 1_001_512, "folders": 3, "links": 1, "failed": 0, "is_whole": True}
    with sharing(tmp_path / "shared") as share:
        told = document(share.url)
        assert told == document(tmp_path / "shared")
        assert (told["failed"], told["total"]) == ([], total)
        by_path = {entry["path"]: entry for entry in told["entries"]}
        assert by_path["runs"] == {"path": "runs", "url_path": "runs", "kind": "folder", "bytes": 1_001_500, "files": 2, "modified": WHEN, "target": None}
        assert by_path["latest"] == {"path": "latest", "url_path": "latest", "kind": "link", "bytes": None, "files": None, "modified": WHEN, "target": "runs/day3"}
        every = document(share.url, "-R")
        assert every["total"] == total
        assert [(entry["url_path"], entry["kind"], entry["bytes"]) for entry in every["entries"]][3:] == [
            ("runs", "folder", None), ("runs/b%20c.raw", "file", 1_000_000), ("runs/day3", "folder", None), ("runs/day3/a.raw", "file", 1500),
        ]  # fmt: skip
        [entry] = document(f"{share.url}/runs/{every['entries'][4]['url_path'].removeprefix('runs/')}")["entries"]
        assert (entry["path"], entry["bytes"], entry["files"]) == ("b c.raw", 1_000_000, 1)
        # What is written to a program that is gone is nobody's loss.
        head = Process(["sh", "-c", f"{VISAPULT} ls -R '{share.url}' | head -1"]).end(SOON)
        assert (head.stdout.count("\n"), head.stderr) == (1, "")


def test_what_is_not_counted_in_time_is_listed_without(tmp_path: Path) -> None:
    make_runs(tmp_path / "shared")
    with sharing(tmp_path / "shared") as share:
        for place in (share.url, tmp_path / "shared"):
            told = ls(place, "--within", "0s").stdout.splitlines()
            assert told[-1] == "at least 1 file, 12 bytes, 2 folders, 1 link; what is in folders was not counted"
            assert [line.split()[-1] for line in told[:-1]] == ["empty/", "runs/day3", "notes.txt", "runs/"]
            assert told[3].startswith("    ")
            short = document(place, "--within", "0s")
            assert [(entry["path"], entry["bytes"]) for entry in short["entries"]] == [("empty", None), ("latest", None), ("notes.txt", 12), ("runs", None)]
            assert not short["total"]["is_whole"]


def people(folder: Path, *grants: tuple[str, list[str]]) -> Path:
    policy = folder / "people.toml"
    policy.write_text('ask = "Ada, room 5"\n' + "".join(f'[[person]]\nname = "{name}"\nread = {json.dumps(read)}\n' for name, read in grants))
    return policy


def urls_of(share: Sharing, count: int) -> dict[str, str]:
    lines = [share.process.first_line, *(share.process.said.readline() for _ in range(count - 1))]
    return dict((line.split()[0], line.split()[1]) for line in lines)


def test_people_see_what_they_may(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    make_runs(folder)
    for path in ("notes/2026/x", "notes/2025/y", "private/z"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    policy = people(tmp_path, ("grace", ["runs", "runs/day3", "notes/2026"]), ("ada", ["."]))
    with sharing(folder, "--policy", policy) as share:
        urls = urls_of(share, 2)
        assert [entry["path"] for entry in document(urls["ada"])["entries"]] == ["empty", "latest", "notes", "notes.txt", "private", "runs"]
        seen = document(urls["grace"])
        assert [(entry["path"], entry["files"]) for entry in seen["entries"]] == [("notes", 1), ("runs", 2)]
        assert seen["total"]["files"] == 3
        every = document(urls["grace"], "-R")
        assert [entry["path"] for entry in every["entries"]] == ["notes", "notes/2026", "notes/2026/x", "runs", "runs/b c.raw", "runs/day3", "runs/day3/a.raw"]
        assert [entry["path"] for entry in document(f"{urls['grace']}/notes")["entries"]] == ["2026"]
        assert [entry["path"] for entry in document(f"{urls['grace']}/notes/2026", "--within", "0s")["entries"]] == ["x"]
        assert [(entry["path"], entry["files"]) for entry in document(urls["grace"], "--within", "0s")["entries"]] == [("notes", None), ("runs", None)]
        for path in ("private", "notes/2025/y", "nothing"):
            refused = ls(f"{urls['grace']}/{path}")
            assert (refused.code, refused.stdout) == (1, "")
            assert_one_clear_line(refused.stderr, f"grace may not read {path} here, only runs and runs/day3 and notes/2026; ask Ada, room 5")
        # A copy of what one may not read is refused as ever.
        assert_one_clear_line(run("copy", urls["grace"], tmp_path / "there", check=False).stderr, "grace may not read all of it here")
        (folder / "runs").rename(folder / "moved")
        less = ls(urls["grace"])
        assert less.code == 1
        assert_one_clear_line(less.stderr, "runs: runs is not the folder any more that was granted")
        assert less.stdout.splitlines()[-1] == "in all 1 file, 12 bytes, 2 folders; 1 NOT LISTED"


def test_odd_names_take_one_line_and_move_no_cursor(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    names = [b"a\nb", b"\x1b[2Jx", "\u202egpj.exe".encode(), b"\xff\xfe", b"cr\rhere", "ü".encode()]
    for name in names:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(name)
    with sharing(folder) as share:
        told = ls(share.url)
        assert (told.code, told.stderr) == (0, "")
        lines = told.stdout.splitlines()
        assert len(lines) == len(names) + 1
        for shown in ("a\\u000ab", "\\u001b[2Jx", "\\u202egpj.exe", "\ufffd\ufffd", "cr\\u000dhere", "ü"):
            assert any(line.endswith(f"  {shown}") for line in lines), (shown, lines)
        entries = document(share.url)["entries"]
        assert {entry["path"] for entry in entries} == {name.decode(errors="replace") for name in names}
        # Whatever a name is, a URL can have it.
        [odd] = [entry["url_path"] for entry in entries if entry["path"] == "\ufffd\ufffd"]
        head, fingerprint = share.url.split("#")
        assert document(f"{head}/{odd}#{fingerprint}")["entries"][0]["bytes"] == 2


def test_what_cannot_be_listed_is_named_and_the_rest_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    make_runs(folder)
    os.mkfifo(folder / "pipe")
    (folder / "runs" / "day3").chmod(0)
    try:
        with sharing(folder, prefix=without_rights()) as share:
            told = ls(share.url)
            assert told.code == 1
            assert told.stdout.splitlines()[-1] == "in all 2 files, 1.0 MB, 2 folders, 1 link; 1 NOT LISTED"
            assert sorted(told.stderr.splitlines()) == [
                "visapult: shared/pipe not listed: neither file, folder nor link",
                "visapult: shared/runs/day3: cannot be read: permission denied",
            ]  # fmt: skip
            every = json.loads(ls(share.url, "-R", "--json").stdout)
            assert (every["failed"], every["total"]["failed"]) == ([{"path": "shared/runs/day3", "why": "cannot be read: permission denied"}], 1)
    finally:
        (folder / "runs" / "day3").chmod(0o755)


def test_what_is_not_there_is_one_line_with_what_may_be_meant(shared: tuple[Path, str]) -> None:
    folder, url = shared
    make_runs(folder)
    for place in (url, folder):
        for wrong, meant in (("rnus", "runs"), ("rnus/day3", "runs"), ("runs/day3/b.raw", "runs/day3/a.raw")):
            refused = ls(f"{place}/{wrong}")
            assert (refused.code, refused.stdout) == (1, ""), refused
            assert_one_clear_line(refused.stderr, f"{wrong}: there is no such file or folder; did you mean ", f"{meant}?")
        refused = ls(f"{place}/pressure")
        assert_one_clear_line(refused.stderr, "pressure: there is no such file or folder")
        assert "did you mean" not in refused.stderr
    assert_one_clear_line(run("copy", f"{url}/rnus", folder / "there", check=False).stderr, "did you mean runs?")


def test_a_url_that_is_none_of_a_share_is_one_line(shared: tuple[Path, str], tmp_path: Path) -> None:
    _, url = shared
    token = url.split("//")[1].split("@")[0]
    other_token = "MDEyMzQ1Njc4OWFiY2RlZg"
    wrong = ls(url.replace(token, other_token))
    assert (wrong.code, wrong.stdout) == (1, "")
    assert_one_clear_line(wrong.stderr, "the token is wrong")
    assert other_token not in wrong.stderr
    for command, needles in (
        (["serve", "demo:wave?n=16"], ["this URL is of visapult serve", "visapult info tells what it has"]),
        (["perf", "serve"], ["this URL is of visapult perf serve", "visapult share prints"]),
    ):
        other = Process([VISAPULT, *command, "--bind", "127.0.0.1:0"])
        try:
            refused = ls(other.read_line().split()[-1])
            assert refused.code == 1, refused
            assert_one_clear_line(refused.stderr, *needles)
            assert command[0] == "serve" or "visapult info" not in refused.stderr
        finally:
            other.stop()
    for place, code, needle in (
        ("host:data", 2, "neither a path nor a URL"), ("", 2, "the name of a source is empty"), ("https://127.0.0.1/folder/", 2, "one file"),
    ):  # fmt: skip
        refused = ls(place)
        assert refused.code == code, refused
        assert_one_clear_line(refused.stderr, needle)
    (tmp_path / "run.h5").touch()
    assert_one_clear_line(ls(f"{tmp_path}/run.h5:/density").stderr, "visapult info", "run.h5:/density tells of it")


def test_objects_are_listed_as_folders_and_files(tmp_path: Path) -> None:
    with rclone(tmp_path / "store") as store:
        make_runs(store.folder / "bucket")
        (store.folder / "bucket" / "latest").unlink()
        (store.folder / "bucket" / "empty").rmdir()
        told = store.run("ls", "s3://bucket")
        assert (told.code, told.stderr) == (0, "")
        lines = told.stdout.splitlines()
        assert [(line[:20].split(), line.split()[-1]) for line in lines[:-1]] == [(["12", "bytes"], "notes.txt"), (["1.0", "MB", "2", "files"], "runs/")]
        assert lines[-1] == "in all 3 files, 1.0 MB, 2 folders"
        every = json.loads(store.run("ls", "-R", "--json", "s3://bucket/runs").stdout)
        assert [(entry["path"], entry["kind"], entry["bytes"], entry["modified"]) for entry in every["entries"]] == [
            ("b c.raw", "file", 1_000_000, WHEN), ("day3", "folder", None, None), ("day3/a.raw", "file", 1500, WHEN),
        ]  # fmt: skip
        for place, expected in (("s3://bucket", [("notes.txt", 12), ("runs", None)]), ("s3://bucket/runs", [("b c.raw", 1_000_000), ("day3", None)])):
            short = json.loads(store.run("ls", "--within", "0s", "--json", place).stdout)
            assert [(entry["path"], entry["bytes"]) for entry in short["entries"]] == expected
        one = store.run("ls", "s3://bucket/notes.txt").stdout.splitlines()
        assert one[0].endswith("  notes.txt") and one[1] == "in all 1 file, 12 bytes"
        missing = store.run("ls", "s3://bucket/rnus")
        assert missing.code == 1
        assert_one_clear_line(missing.stderr, "s3://bucket/rnus")


def test_keys_that_are_no_paths_are_named() -> None:
    with faulty({key: b"x" for key in ("run/a", "run/b//c", "run/d/e")}) as server:
        told = Store(server.url, environment={}).run("ls", "s3://bucket/run")
        assert told.code == 1
        assert_one_clear_line(told.stderr, "s3://bucket/run/b//c: a key that is no path")
        assert told.stdout.splitlines()[-1] == "in all 2 files, 2 bytes, 1 folder; 1 NOT LISTED"


def test_a_file_of_the_web_is_listed() -> None:
    with faulty({"/data/a.raw": bytes(2500)}) as server:
        for time_told, date in (("", "2023-11-14 22:13"), ("yesterday", 16 * " ")):
            server.time_told = time_told
            told = ls(f"{server.url}/data/a.raw")
            assert (told.code, told.stderr) == (0, ""), told
            assert told.stdout.splitlines() == [f"    2.5 kB  {date}  a.raw", "in all 1 file, 2.5 kB"]
        assert sum(bytes_sent for _, bytes_sent in server.sent) <= 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_at_once(number: int, shared: tuple[Path, str]) -> None:
    _, url = shared
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(SOON)
        port = url.split("@")[1].split("/")[0].split(":")[1]
        listing = Process([VISAPULT, "ls", url.replace(f":{port}/", f":{silent.getsockname()[1]}/")])
        dialled, _ = silent.accept()
        with dialled:
            listing.signal(number)
            ended = listing.end(SOON)
    assert (ended.code, ended.stdout) == (130, "")
    assert_one_clear_line(ended.stderr, "stopped")
