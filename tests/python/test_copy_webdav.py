"""Copies onto servers of WebDAV: two that are encrypted and have a password, and one that takes nothing."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import run
from shares import MEBI, noise, shared  # noqa: F401 (a fixture)
from stores import SOON, Store, rclone_serving
from test_bad_input import assert_one_clear_line
from test_copy_objects import contents, make_run
from webdav import Unread, rclone_dav, wsgidav


@pytest.fixture(params=[rclone_dav, wsgidav])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A server with a password and a certificate; its folder is what it serves."""
    with request.param(tmp_path) as store:
        yield store


def test_a_folder_goes_onto_a_server(server: Store, tmp_path: Path) -> None:
    run_folder, there = tmp_path / "run", server.folder / "dir/sub/run"
    make_run(run_folder, 50, 40 * MEBI)
    to = f"{server.endpoint}/dir/sub/"
    copied = server.copy(run_folder, to, "--manifest", tmp_path / "b3")
    assert (copied.code, copied.stderr) == (0, "")
    assert "copied 52 files" in copied.stdout
    assert contents(there) == contents(run_folder)
    assert "verified 52 files" in run("verify", tmp_path / "b3", server.folder / "dir/sub").stdout
    again = server.copy(run_folder, to)
    assert "copied 0 files" in again.stdout and "52 files there already" in again.stdout
    # One that differs in its size, and one in what is in it alone.
    (there / "1" / "step 1.txt").write_text("short")
    raw = bytearray((there / "density.raw").read_bytes())
    raw[20 * MEBI] ^= 1
    (there / "density.raw").write_bytes(raw)
    assert "copied 1 file," in server.copy(run_folder, to).stdout
    assert "copied 1 file," in server.copy(run_folder, to, "--checksum").stdout
    assert contents(there) == contents(run_folder)


def test_where_things_go_on_a_server(server: Store, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_run(folder / "run", 20, 20 * MEBI)
    one = folder / "run" / "density.raw"
    assert server.copy(one, f"{server.endpoint}/new%20name.raw").code == 0
    assert server.copy(one, f"{server.endpoint}/a b/".replace(" ", "%20")).code == 0
    assert set(contents(server.folder)) == {"new name.raw", "a b/density.raw"}
    assert server.copy(f"{url}/run", f"{server.endpoint}/out").code == 0
    assert contents(server.folder / "out/run") == contents(folder / "run")
    # And back, with what lets one in.
    assert server.copy(f"{server.endpoint}/out/run/density.raw", tmp_path / "back").code == 0
    assert (tmp_path / "back").read_bytes() == one.read_bytes()


def test_what_the_sources_do_not_have_is_deleted_from_a_server(server: Store, tmp_path: Path) -> None:
    run_folder, there = tmp_path / "run", server.folder / "run"
    make_run(run_folder, 10, MEBI)
    mirror = (run_folder, f"{server.endpoint}/", "--delete")
    assert server.copy(*mirror).code == 0
    for old in ("old", "gone/a"):
        (there / old).parent.mkdir(exist_ok=True)
        (there / old).write_text(old)
    dry = server.copy(*mirror, "--dry-run").stdout.splitlines()
    assert dry[:-1] == ["would delete run/gone", "would delete run/old"]
    assert "; 2 deleted" in server.copy(*mirror).stdout
    assert contents(there) == contents(run_folder)


def test_folders_are_made_and_files_replaced_whatever_a_server_answers_then(tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    make_run(run_folder, 10, MEBI)
    with wsgidav(tmp_path) as server:
        assert server.copy(run_folder, f"{server.endpoint}/dir/sub/").code == 0
        # It makes no folder for what is put there, and is asked for each that is missing before that.
        made = set(server.answers)
        assert {("MKCOL", 201), ("PUT", 201)} <= made and not {("PUT", 409), ("PUT", 204)} & made, made
        assert server.answers.count(("MKCOL", 201)) == len({path.parent for path in (server.folder / "dir").rglob("*")})
        server.answers.clear()
        assert server.copy(run_folder, f"{server.endpoint}/dir/sub/", "--no-resume").code == 0
        # What replaces another is no news.
        assert ("PUT", 204) in server.answers and ("PUT", 201) not in server.answers, server.answers
        assert contents(server.folder / "dir/sub/run") == contents(run_folder)


@pytest.mark.parametrize("how", ["differs", "cannot be read"])
def test_what_does_not_come_back_as_it_was_sent_is_no_file_that_is_there(how: str, tmp_path: Path) -> None:
    run_folder, bad = tmp_path / "run", {"density.raw", "1/step 1.txt"}
    make_run(run_folder, 10, 20 * MEBI)
    with wsgidav(tmp_path) as server:
        there = server.folder / "run"

        def spoil(method: str, path: str) -> int | None:
            name = path.removeprefix("/run/")
            if method != "GET" or name not in bad:
                return None
            (there / name).write_bytes(bytes((there / name).stat().st_size))
            return 403 if how == "cannot be read" else None

        server.on_request = spoil
        failed = server.copy(run_folder, f"{server.endpoint}/")
        assert failed.code == 3 and len(failed.problems) == 2, failed
        assert set(contents(there)) == set(contents(run_folder)) - bad
        bad.clear()
        again = server.copy(run_folder, f"{server.endpoint}/")
        assert again.code == 0 and "copied 2 files," in again.stdout, again
        assert contents(there) == contents(run_folder)


def test_what_is_read_back_when_a_copy_is_interrupted_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("file")
    os.utime(tmp_path / "file", (1_700_000_000, 1_700_000_000))
    is_read, is_over = threading.Event(), threading.Event()
    with wsgidav(tmp_path) as server:

        def hold(method: str, _: str) -> None:
            if method == "GET":
                is_read.set()
                is_over.wait(SOON)

        server.on_request = hold
        running = server.start("copy", tmp_path / "file", f"{server.endpoint}/")
        try:
            assert is_read.wait(SOON) and contents(server.folder) == {"file": b"file"}
            running.signal(signal.SIGINT)
            assert running.end(SOON).code == 130
        finally:
            is_over.set()
        assert contents(server.folder) == {}


def test_what_a_server_leaves_unread_is_no_request(tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    (run_folder / "sub").mkdir(parents=True)
    # What this would do if the server took it for a request.
    (run_folder / "sub" / "file").write_bytes(b"DELETE /run HTTP/1.1\r\nHost: here\r\n\r\n")
    with Unread() as server:
        copied = Store("", environment={}).copy(run_folder, f"{server.url}/dir/", "--no-resume")
        assert (copied.code, copied.stderr) == (0, "")
        assert server.files == {"/dir/run/sub/file": (run_folder / "sub" / "file").read_bytes()}
        assert {method for method, _ in server.requests} == {"MKCOL", "PUT", "GET"}, server.requests


def test_what_comes_behind_an_answer_without_a_body_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"there")
    with Unread() as server:
        server.files["/here"] = b"here"
        store = Store("", environment={})
        for what in ((tmp_path / "there", f"{server.url}/there"), (f"{server.url}/here", tmp_path / "back")):
            copied = store.copy(*what)
            assert (copied.code, copied.stderr) == (0, ""), (copied.stderr, server.requests)
        assert "HEAD" in {method for method, _ in server.requests}, server.requests
        assert server.files["/there"] == b"there"
    assert (tmp_path / "back").read_bytes() == b"here"


@pytest.mark.parametrize("server", [rclone_dav], indirect=True)
def test_what_is_too_large_for_one_request_is_named_and_the_rest_copied(server: Store, tmp_path: Path) -> None:
    source = tmp_path / "run"
    source.mkdir()
    (source / "fits.raw").write_bytes(noise(random.Random(1), 128 * MEBI))
    (source / "small").write_text("small")
    with (source / "large.raw").open("wb") as large:
        large.truncate(128 * MEBI + 1)
    copied = server.copy(source, f"{server.endpoint}/")
    assert copied.code == 3
    assert_one_clear_line(copied.stderr, "run/large.raw", "134 MB", "bucket")
    assert set(contents(server.folder / "run")) == {"fits.raw", "small"}
    assert (server.folder / "run/fits.raw").read_bytes() == (source / "fits.raw").read_bytes()


@pytest.mark.parametrize(
    ("how", "needle"),
    [
        ({"VISAPULT_HTTPS_PASSWORD": "wrong"}, "denied: whoever has these credentials"),
        ({"VISAPULT_HTTPS_USER": "", "VISAPULT_HTTPS_PASSWORD": ""}, "no credentials for this host"),
        ({"VISAPULT_HTTPS_HOST": "elsewhere.example.org"}, "no credentials for this host: set VISAPULT_HTTPS_HOST"),
        ({"VISAPULT_HTTPS_HOST": ""}, "VISAPULT_HTTPS_HOST has to say for which server"),
        ({"VISAPULT_HTTPS_TOKEN": "both"}, "VISAPULT_HTTPS_TOKEN is there beside VISAPULT_HTTPS_USER"),
    ],
)
def test_who_may_not_is_told_so(how: dict[str, str], needle: str, server: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("file")
    server.environment |= how
    refused = server.copy(tmp_path / "file", f"{server.endpoint}/")
    assert refused.code == 1
    assert_one_clear_line(refused.stderr, server.endpoint, needle)


@pytest.mark.parametrize(("kind", "options", "needle"), [("http", (), "405"), ("webdav", ("--read-only",), "(404)")])
def test_a_server_that_takes_nothing_is_told_in_one_line(kind: str, options: tuple[str, ...], needle: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("file")
    with rclone_serving(kind, tmp_path / "served", *options) as endpoint:
        for more in ((), ("--no-resume",)):
            refused = Store("", environment={}).copy(tmp_path / "file", f"{endpoint}/", *more)
            assert refused.code in (1, 3)
            assert_one_clear_line(refused.stderr, needle)
    assert not contents(tmp_path / "served")
