"""`visapult copy` with object stores: rclone's S3 server as a real one, and a server of the test's own for what goes wrong."""

import json
import os
import random
import select
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT, run
from shares import MEBI, MOST_RESENT, events, noise, shared, without_rights  # noqa: F401 (a fixture)
from stores import KEY, SECRET, SOON, Store, certified, faulty, rclone
from test_bad_input import assert_one_clear_line
from wan import Process, eventually, is_dialling


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with rclone(tmp_path / "store") as store:
        (store.folder / "bucket").mkdir()
        (store.folder / "other").mkdir()
        yield store


def make_run(folder: Path, files: int, large: int) -> None:
    """Small files in folders, an empty one, and a large one."""
    source = random.Random(files)
    for number in range(files):
        path = folder / f"{number % 7}" / f"step {number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.randbytes(source.randrange(6000)))
    (folder / "empty.txt").touch()
    (folder / "density.raw").write_bytes(noise(source, large))
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (1_700_000_000, 1_700_000_000))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plain(endpoint: str) -> Store:
    """A store that is asked as nobody."""
    return Store(endpoint, environment={})


def test_what_is_below_a_key_becomes_a_folder(store: Store, tmp_path: Path) -> None:
    make_run(store.folder / "bucket" / "run-12", 300, 40 * MEBI)
    copied = store.copy("s3://bucket/run-12", tmp_path / "here", "--manifest", tmp_path / "b3", "--json")
    assert (copied.code, copied.stderr) == (0, "")
    tally = json.loads(copied.stdout.splitlines()[-1])["tally"]
    assert (tally["files"], tally["failed"]) == (302, 0)
    assert contents(tmp_path / "here" / "run-12") == contents(store.folder / "bucket" / "run-12")
    assert (tmp_path / "here/run-12/0/step 0.txt").stat().st_mtime == 1_700_000_000
    assert "verified 302 files" in run("verify", tmp_path / "b3", tmp_path / "here").stdout
    again = store.copy("s3://bucket/run-12", tmp_path / "here")
    assert "copied 0 files" in again.stdout and "302 files there already" in again.stdout


def test_what_is_meant_of_a_bucket(store: Store, tmp_path: Path) -> None:
    make_run(store.folder / "bucket" / "run", 20, 3 * MEBI)
    told = store.copy("s3://bucket", tmp_path / "dry/", "--dry-run").stdout.splitlines()[-1]
    assert told.startswith("would copy 22 files, 3.") and not (tmp_path / "dry").exists()
    assert store.copy("s3://bucket/run/3/step 3.txt", tmp_path / "one.txt").code == 0
    assert (tmp_path / "one.txt").read_bytes() == (store.folder / "bucket/run/3/step 3.txt").read_bytes()
    assert store.copy("s3://bucket/run/.", tmp_path / "some", "--include", "*.txt", "--exclude", "[1-6]").code == 0
    expected = {name: content for name, content in contents(store.folder / "bucket/run").items() if name[0] in "0e"}
    assert contents(tmp_path / "some") == expected
    assert store.copy("s3://bucket/run/density.raw", tmp_path / "part", "--range", "1MiB-2500kB").code == 0
    whole = (store.folder / "bucket/run/density.raw").read_bytes()
    assert (tmp_path / "part").read_bytes() == whole[MEBI:2_500_000]
    mirror = tmp_path / "mirror"
    assert store.copy("s3://bucket/run", mirror).code == 0
    (mirror / "run" / "old").touch()
    (tmp_path / "new").write_text("new")
    assert store.copy(tmp_path / "new", "s3://bucket/run/empty.txt").code == 0
    both = store.copy("s3://bucket/run", mirror, "--delete", "--checksum").stdout
    assert "copied 1 file" in both and "1 deleted" in both
    assert contents(mirror / "run") == contents(store.folder / "bucket/run")


def test_out_of_a_bucket_into_a_share(store: Store, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_run(store.folder / "bucket" / "run", 100, 20 * MEBI)
    copied = store.copy("s3://bucket/run", f"{url}/in/")
    assert (copied.code, copied.stderr) == (0, "")
    assert contents(folder / "in/run") == contents(store.folder / "bucket/run")


def sent_at(running: Process, most: int) -> int:
    """Bytes that a copy has sent once these are more than so many."""
    told = running.line_where(f"that more than {most} bytes are sent", lambda line: json.loads(line).get("bytes_sent", 0) > most)
    return json.loads(told)["bytes_sent"]


def test_a_large_object_goes_on_from_what_is_verified(store: Store, tmp_path: Path) -> None:
    large = 300 * MEBI
    (store.folder / "bucket" / "large.raw").write_bytes(noise(random.Random(1), large))
    sent = 0
    for after in (0.3, 0.6):
        running = store.start("copy", "s3://bucket/large.raw", tmp_path, "--json", "--rate", "800M")
        sent += sent_at(running, int(after * large) - sent)
        running.signal(signal.SIGKILL)
        running.end()
    assert (tmp_path / "large.raw.visapult-part").exists()
    last = store.copy("s3://bucket/large.raw", tmp_path, "--json")
    assert last.code == 0
    sent += json.loads(last.stdout.splitlines()[-1])["bytes_sent"]
    assert (tmp_path / "large.raw").read_bytes() == (store.folder / "bucket/large.raw").read_bytes()
    assert sent <= large + 2 * MOST_RESENT


def test_keys_that_no_folder_can_hold(tmp_path: Path) -> None:
    odd = ["run/../x", "run//y", "run/a/b", "run/" + "z" * 256]
    good = ["run/a", "run/b/c d", "run/ü&<>", "run/empty/"]
    objects = {key: key.encode() for key in odd + good if not key.endswith("/")} | {"run/empty/": b"", "run/": b""}
    with faulty(objects) as server:
        copied = plain(server.url).copy("s3://bucket/run/.", tmp_path / "here")
        assert copied.code == 3
        lines = copied.stderr.splitlines()
        assert len(lines) == 4 and all(line.startswith("visapult: s3://bucket/run/") for line in lines), lines
        for line, needle in zip(lines, ("../x: ", "//y: ", "a/: ", "zz: "), strict=True):
            assert needle in line
        assert contents(tmp_path / "here") == {key.removeprefix("run/"): key.encode() for key in good[:3]}
        assert (tmp_path / "here/empty").is_dir()
        whole = plain(server.url).copy("s3://bucket", tmp_path / "whole", "--dry-run")
        assert "4 FAILED" in whole.stdout or whole.code == 3


@pytest.mark.parametrize(
    ("how", "needles"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong-" + SECRET[::-1]}, ["s3://bucket/run: ", "AWS_SECRET_ACCESS_KEY"]),
        ({"AWS_ACCESS_KEY_ID": "nobody"}, ["s3://bucket/run: ", "AWS_ACCESS_KEY_ID"]),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, ["cannot be reached", "refused"]),
        ({"AWS_ENDPOINT_URL": "http://192.0.2.1"}, ["https"]),
        ({"AWS_ENDPOINT_URL": "minio:9000"}, ["s3://bucket/run: AWS_ENDPOINT_URL is no URL of a store"]),
        ({"AWS_ENDPOINT_URL": "https://mi nio"}, ["AWS_ENDPOINT_URL is no URL of a store"]),
        ({"AWS_REGION": "eu west\t1"}, ["AWS_REGION holds a sign"]),
        ({"AWS_REGION": "eu west/1"}, ["AWS_REGION is no name of a region"]),
        ({"AWS_SESSION_TOKEN": "a\nb"}, ["AWS_SESSION_TOKEN holds a sign"]),
    ],
)
def test_who_may_not_and_what_is_not_there(how: dict[str, str], needles: list[str], store: Store, tmp_path: Path) -> None:
    store.environment |= how
    assert_one_clear_line(store.copy("s3://bucket/run", tmp_path).stderr, *needles)


def test_nothing_is_where_nothing_is(store: Store, tmp_path: Path) -> None:
    assert_one_clear_line(store.copy("s3://bucket/none", tmp_path).stderr, "s3://bucket/none: there is no such object")
    assert_one_clear_line(store.copy("s3://nowhere/none", tmp_path).stderr, "there is no such bucket", "AWS_ENDPOINT_URL")
    for wrong in (f"s3://{KEY}:{SECRET}@bucket/x", "s3://bucket/a//b", "https://user:pw@host/x", "http://192.0.2.1/x"):
        refused = store.copy(wrong, tmp_path)
        assert refused.code == 2 and "pw" not in refused.stderr.replace(wrong, ""), refused.stderr


def test_another_region_is_told(tmp_path: Path) -> None:
    with faulty({}) as server:
        server.failures, server.status = 9, 400
        server.error = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>"
        assert_one_clear_line(plain(server.url).copy("s3://bucket/x", tmp_path).stderr, "eu-west-1", "AWS_REGION")
        server.status, server.error = 403, "<Error><Code>AccessDenied</Code></Error>"
        assert_one_clear_line(plain(server.url).copy("s3://bucket/x", tmp_path).stderr, "denied", "no credentials")


def test_a_store_that_stumbles(tmp_path: Path) -> None:
    objects = {f"run/{number}": random.Random(number).randbytes(5000) for number in range(20)}
    objects["run/large"] = noise(random.Random(99), 20 * MEBI)
    with faulty(objects) as server:
        server.failures, server.status, server.cuts = 2, 503, 5
        copied = plain(server.url).copy("s3://bucket/run/.", tmp_path / "here")
        assert (copied.code, copied.stderr) == (0, "")
        assert contents(tmp_path / "here") == {key.removeprefix("run/"): content for key, content in objects.items()}
        assert server.cuts == 0


def test_a_busy_store_is_waited_for(tmp_path: Path) -> None:
    with faulty({"x": b"x" * 5000}) as server:
        server.busy_until = time.monotonic() + 4
        copied = plain(server.url).copy("s3://bucket/x", tmp_path)
        assert (copied.code, copied.stderr) == (0, "")
        assert (tmp_path / "x").read_bytes() == b"x" * 5000
        # It is left alone for as long as it asks.
        assert len(server.requests) < 12


def test_a_file_of_the_web_without_its_length_is_refused_and_one_without_a_time_is_of_1970(tmp_path: Path) -> None:
    with faulty({"/run.h5": b"x" * 5000}) as server:
        server.time_told = "yesterday"
        copied = plain(server.url).copy(f"{server.url}/run.h5", tmp_path)
        assert (copied.code, copied.stderr) == (0, "")
        assert int((tmp_path / "run.h5").stat().st_mtime) == 0
        server.is_chunked = True
        refused = plain(server.url).copy(f"{server.url}/run.h5", tmp_path / "other")
        assert refused.code != 0
        assert_one_clear_line(refused.stderr, "does not say how long it is", "another program")


@pytest.mark.parametrize("tells_version", [True, False])
def test_versions_of_a_file_of_the_web_without_a_time_are_not_taken_for_one_another(tells_version: bool, tmp_path: Path) -> None:
    contents = [noise(random.Random(seed), 48 * MEBI) for seed in (1, 2)]
    with faulty({"/run.raw": contents[0], "/small": b"old"}) as server:
        server.time_told, server.tells_version = "never", tells_version
        web, command = plain(server.url), (f"{server.url}/run.raw", tmp_path, "--json")
        killed = web.start("copy", *command, "--rate", "100M")
        assert any(event.get("bytes_sent", 0) > 36 * MEBI for event in events(killed.said)), "it ended before"
        killed.signal(signal.SIGKILL)
        killed.end()
        assert (tmp_path / "run.raw.visapult-log").stat().st_size > 48
        server.objects["/run.raw"] = contents[1]
        assert web.copy(*command).code == 0
        assert (tmp_path / "run.raw").read_bytes() == contents[1]
        # What is there is not asked for again as long as its version is the same.
        again = web.copy(f"{server.url}/run.raw", tmp_path).stdout
        assert ("1 file there already" in again) == tells_version
        assert web.copy(f"{server.url}/small", tmp_path / "copy").code == 0
        server.objects["/small"] = b"new"
        assert "copied 1 file" in web.copy(f"{server.url}/small", tmp_path / "copy").stdout
        assert (tmp_path / "copy").read_bytes() == b"new"


def test_a_store_that_says_nothing(tmp_path: Path) -> None:
    with faulty({"x": b"x"}) as server:
        # One connection waits there to be accepted, and others are not made.
        server.socket.listen(0)
        quiet = plain(server.url)
        server.shutdown()
        running = quiet.start("copy", "s3://bucket/x", tmp_path)
        assert select.select([server.socket], [], [], SOON)[0], "it does not connect"
        running.signal(signal.SIGINT)
        assert running.end(10).code == 130
        running = quiet.start("copy", "s3://bucket/x.zarr", tmp_path / "part.zarr", "--field", "density")
        eventually("that it connects", lambda: is_dialling(*server.server_address))
        running.signal(signal.SIGINT)
        assert running.end(10).code == 130
        assert not (tmp_path / "part.zarr").exists()
        quiet.environment["AWS_READ_TIMEOUT"] = "100ms"
        assert_one_clear_line(quiet.copy("s3://bucket/x", tmp_path).stderr, "s3://bucket/x: the store does not answer in time")


@pytest.mark.parametrize("gives_parts", [True, False])
def test_one_file_of_the_web(gives_parts: bool, tmp_path: Path) -> None:
    certificate, key, authority = certified(tmp_path)
    content = noise(random.Random(7), 40 * MEBI)
    with faulty({"/data/a b.raw": content, "/empty": b""}, (certificate, key)) as server:
        server.gives_parts = gives_parts
        there = server.url.replace("http:", "https:")
        unknown = plain("").copy(f"{there}/data/a%20b.raw?X-Secret={SECRET}", tmp_path / "in/")
        assert_one_clear_line(unknown.stderr, "cannot be reached", "certificate")
        web = Store("", environment={"SSL_CERT_FILE": str(authority)})
        copied = web.copy(f"{there}/data/a%20b.raw?X-Secret={SECRET}", f"{there}/empty", tmp_path / "in/")
        assert (copied.code, copied.stderr) == (0, "")
        assert contents(tmp_path / "in") == {"a b.raw": content, "empty": b""}
        assert (tmp_path / "in/empty").stat().st_mtime == server.modified
        again = web.copy(f"{there}/data/a%20b.raw?X-Secret={SECRET}", tmp_path / "in/")
        assert "1 file there already" in again.stdout
        gone = web.copy(f"{there}/none?X-Secret={SECRET}", tmp_path / "in/")
        assert_one_clear_line(gone.stderr, f"{there}/none: there is no such object")
        assert web.copy(f"{there}/", tmp_path).code == 2


def test_a_folder_becomes_objects(store: Store, tmp_path: Path) -> None:
    make_run(tmp_path / "run", 200, 40 * MEBI)
    os.symlink("density.raw", tmp_path / "run" / "latest")
    with (tmp_path / "run" / "sparse").open("wb") as sparse:
        sparse.truncate(20 * MEBI)
        sparse.seek(17 * MEBI)
        sparse.write(b"x" * 5000)
    copied = store.copy(tmp_path / "run", "s3://bucket/in/", "--manifest", tmp_path / "b3")
    assert copied.code == 0 and "copied 203 files" in copied.stdout
    assert_one_clear_line(copied.stderr, "1 link left out: object stores hold none")
    (tmp_path / "run" / "latest").unlink()
    there = store.folder / "bucket" / "in"
    assert contents(there / "run") == contents(tmp_path / "run")
    assert (there / "run/0/step 0.txt").stat().st_mtime == 1_700_000_000
    assert "verified 203 files" in run("verify", tmp_path / "b3", there).stdout
    again = store.copy(tmp_path / "run", "s3://bucket/in/")
    assert "copied 0 files" in again.stdout and "203 files there already" in again.stdout
    changed = tmp_path / "run/1/step 1.txt"
    same_size = bytes(changed.stat().st_size)
    changed.write_bytes(same_size)
    os.utime(changed, (1_600_000_000, 1_600_000_000))
    assert "copied 0 files" in store.copy(tmp_path / "run", "s3://bucket/in/").stdout
    told = store.copy(tmp_path / "run", "s3://bucket/in/", "--checksum", "--dry-run").stdout.splitlines()[-1]
    assert told.startswith("would copy 1 file,")
    assert "copied 1 file," in store.copy(tmp_path / "run", "s3://bucket/in/", "--checksum").stdout
    assert (there / "run/1/step 1.txt").read_bytes() == same_size


def test_where_things_go_in_a_bucket(store: Store, shared: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = shared
    make_run(folder / "run", 30, 20 * MEBI)
    one = folder / "run" / "density.raw"
    assert store.copy(one, "s3://bucket/new/name.raw").code == 0
    assert store.copy(one, "s3://bucket/new").code == 0
    assert set(contents(store.folder / "bucket")) == {"new/name.raw", "new/density.raw"}
    assert store.copy(f"{url}/run", "s3://bucket/out").code == 0
    assert contents(store.folder / "bucket/out/run") == contents(folder / "run")
    assert store.copy("s3://bucket/out/run/.", "s3://other", "--exclude", "[0-3]").code == 0
    expected = {name: content for name, content in contents(folder / "run").items() if name[0] not in "0123"}
    assert contents(store.folder / "other") == expected
    assert store.copy(one, "s3://bucket/part", "--range", "1MiB-18MiB").code == 0
    assert (store.folder / "bucket/part").read_bytes() == one.read_bytes()[MEBI : 18 * MEBI]
    assert_one_clear_line(store.copy(one, "s3://nowhere/x").stderr, "s3://nowhere/x: ", "there is no such bucket")
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "good").touch()
    Path(os.fsdecode(os.fsencode(odd) + b"/\xff")).touch()
    refused = store.copy(f"{odd}/.", "s3://other/odd/")
    assert refused.code == 3
    assert_one_clear_line(refused.stderr, "the name is no text")
    assert contents(store.folder / "other/odd") == {"good": b""}


def test_what_the_sources_do_not_have_is_deleted_from_a_bucket(store: Store, tmp_path: Path) -> None:
    bucket, run_folder = store.folder / "bucket", tmp_path / "run"
    make_run(run_folder, 10, MEBI)
    assert store.copy(run_folder, "s3://bucket/in/").code == 0
    for old in ("in/run/old", "in/run/3/older", "in/run/gone/a/b", "in/run/gone/c", "in/run/3.txt", "in/beside", "in/run-2/x"):
        (bucket / old).parent.mkdir(parents=True, exist_ok=True)
        (bucket / old).write_text(old)
    before = contents(bucket)
    (run_folder / "step 4.txt").write_text("new")
    mirror = (run_folder, "s3://bucket/in/", "--delete")
    gone = ["run/3.txt", "run/3/older", "run/gone", "run/old"]
    *named, total = store.copy(*mirror, "--dry-run").stdout.splitlines()
    assert sorted(line for line in named if "delete" in line) == [f"would delete {path}" for path in gone]
    assert total.endswith("; would delete 4")
    assert contents(bucket) == before
    # Not where a source cannot be read.
    (run_folder / "closed").write_text("closed")
    (run_folder / "closed").chmod(0)
    said = {"AWS_ENDPOINT_URL": store.endpoint, **store.environment}
    words = [*without_rights(), VISAPULT, "copy", *mirror]
    partial = subprocess.run([str(word) for word in words], env={**os.environ, **said}, capture_output=True, text=True, check=False, timeout=SOON)
    assert partial.returncode == 3 and "nothing is deleted, for not all of the sources could be copied" in partial.stderr
    assert set(before) <= set(contents(bucket))
    (run_folder / "closed").unlink()
    done = store.copy(*mirror)
    assert (done.code, done.stderr) == (0, "") and "; 4 deleted" in done.stdout
    assert contents(bucket / "in/run") == contents(run_folder)
    assert {"beside", "run-2/x"} <= set(contents(bucket / "in"))
    # All of the destination, where the source is what is in a folder; and without being said nothing goes.
    (run_folder / "step 4.txt").unlink()
    assert store.copy(f"{run_folder}/.", "s3://bucket/in/run").code == 0
    assert "step 4.txt" in contents(bucket / "in/run")
    assert "; 1 deleted" in store.copy(f"{run_folder}/.", "s3://bucket/in/run", "--delete", "--no-resume").stdout
    assert contents(bucket / "in/run") == contents(run_folder)


def test_what_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    large = tmp_path / "large.raw"
    large.write_bytes(noise(random.Random(5), 100 * MEBI))
    with rclone(tmp_path / "store", signed=False) as store:
        (store.folder / "bucket").mkdir()
        begun = f"{store.endpoint}/bucket?uploads"
        running = store.start("copy", large, "s3://bucket/", "--json", "--rate", "200M")
        sent_at(running, 40 * MEBI)
        assert b"large.raw" in urllib.request.urlopen(begun).read()
        running.signal(signal.SIGINT)
        assert running.end(20).code == 130
        assert b"large.raw" not in urllib.request.urlopen(begun).read()
        assert contents(store.folder) == {}
        assert store.copy(large, "s3://bucket/").code == 0
        assert (store.folder / "bucket/large.raw").read_bytes() == large.read_bytes()


def test_files_are_verified_against_objects(store: Store, tmp_path: Path) -> None:
    bucket = store.folder / "bucket"
    make_run(bucket / "run", 20, 3 * MEBI)
    assert store.copy("s3://bucket/run", tmp_path / "here/").code == 0
    here = tmp_path / "here" / "run"
    for pair in [(here, "s3://bucket/run"), ("s3://bucket/run", here)]:
        right = store.start("verify", *pair).end(SOON)
        assert (right.code, right.stderr) == (0, "")
        assert right.stdout.startswith("verified 22 files, 3.")
    raw = bytearray((here / "density.raw").read_bytes())
    raw[2_000_000] ^= 1
    (here / "density.raw").write_bytes(raw)
    os.utime(here / "density.raw", (1_700_000_000, 1_700_000_000))
    (here / "more").write_text("more")
    (here / "3" / "step 3.txt").unlink()
    wrong = store.start("verify", here, "s3://bucket/run").end(SOON)
    assert wrong.code == 1
    assert sorted(wrong.stderr.splitlines()) == [
        f"visapult: 3/step 3.txt: is not in {here}",
        "visapult: density.raw: differs",
        "visapult: more: is not in the store",
    ]
    assert "verified 20 files" in wrong.stdout and "3 WRONG" in wrong.stdout
    assert_one_clear_line(store.start("verify", tmp_path / "none", "s3://bucket/run").end(SOON).stderr, "none")
    listed = store.start("verify", "s3://bucket/run/.").end(SOON)
    assert listed.code == 0
    (tmp_path / "b3").write_text(listed.stdout)
    assert "verified 22 files" in run("verify", tmp_path / "b3", bucket / "run").stdout


def test_where_one_is_sent_on_to_the_signature_of_the_url_is_not_told(tmp_path: Path) -> None:
    content = b"0123456789" * 1000
    with faulty({"file": content}) as there, faulty({}) as here:
        here.elsewhere = there.url
        run("copy", f"{here.url}/bucket/file?sig=S3CRET", tmp_path / "file")
        assert there.requests and "S3CRET" in str(here.requests)
        assert "S3CRET" not in str(there.requests + there.heard)
    assert (tmp_path / "file").read_bytes() == content
