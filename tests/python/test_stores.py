"""Fields that lie in object stores: Zarr at `https://` and `s3://`, written by zarr-python, read where it lies, and what stores do to one."""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import zarr

from conftest import run
from page import PATIENCE_S, Page
from shares import opened
from stores import SECRET, Faulty, Store, certified, faulty, rclone
from test_bad_input import assert_one_clear_line

TESTDATA = Path(__file__).parents[2] / "testdata" / "zarr"
# Where documents and chunks lie, and how; what values are made of is the same here and there.
OF_VERSION_2 = [f"v2_{kind}.zarr" for kind in ("attributes", "fill", "group", "gzip", "slashes")]
OF_VERSION_3 = [f"v3_{kind}.zarr" for kind in ("attributes", "dots", "group", "sharded", "steps", "transposed")]
FIXTURES = [*OF_VERSION_2, *OF_VERSION_3, "ome_0.4_tczyx.zarr", "ome_0.5_tczyx.zarr", "ome_0.5_zyx.zarr"]
HERE = Store("", environment={})


def tree(folder: Path) -> dict[str, bytes]:
    """What is in a folder, as a server of single files has it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {f"/{folder.name}/{path.relative_to(folder)}": path.read_bytes() for path in files}


@contextmanager
def served(folder: Path) -> Iterator[tuple[Faulty, str]]:
    with faulty(tree(folder)) as server:
        yield server, f"{server.url}/{folder.name}"


def chunks_asked(server: Faulty) -> list[str]:
    documents = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
    return [path for _, path in server.requests if path.rsplit("/", 1)[1] not in documents]


def told(source: object, store: Store = HERE) -> dict[str, Any]:
    ended = store.run("info", "--json", source)
    assert ended.code == 0, ended.stderr
    return json.loads(ended.stdout)


def write(path: Path, values: np.ndarray, chunks: tuple[int, ...], shards: tuple[int, ...] | None = None, **more: Any) -> None:
    array = zarr.create_array(str(path), shape=values.shape, chunks=chunks, shards=shards, dtype=values.dtype, **more)
    array[:] = values


def noisy(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape).astype(np.float32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with rclone(tmp_path / "store") as store:
        (store.folder / "bucket").mkdir()
        yield store


@pytest.mark.parametrize("name", FIXTURES)
def test_what_is_far_away_is_what_it_is_here(name: str) -> None:
    with served(TESTDATA / name) as (_, url):
        if name.endswith("_group.zarr"):
            # Nothing tells what is in it.
            assert_one_clear_line(HERE.run("info", url).stderr, url, "consolidated", "name of one of its arrays")
            return
        assert told(url) == told(TESTDATA / name)


@pytest.mark.parametrize("version", [2, 3])
def test_images_are_the_same(version: Literal[2, 3], volume: np.ndarray, tmp_path: Path) -> None:
    write(tmp_path / "v.zarr", volume, (16, 16, 16), zarr_format=version)
    view = ["--size", "120x100", "--out"]
    run("render", tmp_path / "v.zarr", *view, tmp_path / "here.png")
    with served(tmp_path / "v.zarr") as (server, url):
        assert HERE.run("render", url + "/", *view, tmp_path / "far.png").code == 0
        # Each chunk once, whatever the parts are that the program makes of the grid.
        assert len(chunks_asked(server)) == len(set(chunks_asked(server))) == 4 * 3 * 3
    assert (tmp_path / "far.png").read_bytes() == (tmp_path / "here.png").read_bytes()


@pytest.mark.parametrize("version", [2, 3])
def test_consolidated_metadata_tells_what_is_in_a_group(version: Literal[2, 3], tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "run.zarr", mode="w", zarr_format=version)
    for seed, name in enumerate(("density", "inner")):
        group.create_array(name, shape=(9, 8, 7), chunks=(9, 8, 7), dtype="f4", attributes={"units": name})[:] = noisy(9, 8, 7) * seed
    zarr.consolidate_metadata(str(tmp_path / "run.zarr"), zarr_format=version)
    with served(tmp_path / "run.zarr") as (server, url):
        assert told(url) == told(tmp_path / "run.zarr")
        asked = [path for _, path in server.requests]
        assert not [path for path in asked if "density/z" in path or "inner/." in path], asked
        assert told(f"{url}/density")["fields"][0]["unit"] == "density"


def image(path: Path, sizes: tuple[int, ...] = (64, 32)) -> None:
    """An OME-Zarr image of noise."""
    group = zarr.open_group(path, mode="w", zarr_format=2)
    datasets: list[Any] = []
    for level, size in enumerate(sizes):
        group.create_array(str(level), shape=(size,) * 3, chunks=(16,) * 3, dtype="f4", compressors=None)[:] = noisy(size, size, size)
        datasets.append({"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [2.0**level] * 3}]})
    axes: list[Any] = [{"name": name, "type": "space"} for name in "zyx"]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": datasets}]


def test_of_an_image_only_the_level_is_read_that_is_named(tmp_path: Path) -> None:
    image(tmp_path / "image.zarr")
    with served(tmp_path / "image.zarr") as (server, url):
        far, here = told(f"{url}?level=1"), told(f"{tmp_path / 'image.zarr'}?level=1")
        assert far == here
        assert len(chunks_asked(server)) == 8 and all("/1/" in path for path in chunks_asked(server))


def test_many_are_asked_for_at_one_time(tmp_path: Path) -> None:
    write(tmp_path / "v.zarr", noisy(64, 64, 64), (16, 16, 16))
    # Nobody is answered before sixteen have asked.
    together = threading.Barrier(16, timeout=50)
    with served(tmp_path / "v.zarr") as (server, url):

        def wait(key: str) -> None:
            if "/c/" in key:
                together.wait()

        server.on_key = wait
        assert told(url) == told(tmp_path / "v.zarr")


def test_a_server_that_gives_no_parts(tmp_path: Path) -> None:
    write(tmp_path / "whole.zarr", noisy(20, 20, 20), (8, 8, 8), compressors=None)
    write(tmp_path / "sharded.zarr", noisy(20, 20, 20), (4, 4, 4), (16, 16, 16))
    with served(tmp_path / "whole.zarr") as (server, url):
        server.gives_parts = False
        assert told(url) == told(tmp_path / "whole.zarr")
    with served(tmp_path / "sharded.zarr") as (server, url):
        assert told(url) == told(tmp_path / "sharded.zarr")
        server.gives_parts = False
        assert_one_clear_line(HERE.run("info", url).stderr, f"{url}/c/", "gives no parts", "copy")


def test_what_is_missing_is_empty_and_what_is_refused_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "v.zarr"
    write(path, np.abs(noisy(32, 32, 32)) + 1, (16, 16, 16), fill_value=-7, attributes={"missing_value": -8})
    (path / "c/1/0/1").unlink()
    with served(path) as (server, url):
        here = told(path)
        assert here["fields"][0]["range"][0] == -7
        assert told(url) == here
        for status, needle in ((403, "denied"), (500, "500"), (401, "denied")):
            server.statuses = {"/v.zarr/c/0/1/0": status}
            refused = HERE.run("info", url)
            assert refused.code == 1
            assert_one_clear_line(refused.stderr, f"cannot read {url}/c/0/1/0: ", needle)
        server.statuses = {}
        for cut in (b"", b"short", server.objects["/v.zarr/c/0/0/1"][:-900]):
            server.objects["/v.zarr/c/0/0/1"] = cut
            assert_one_clear_line(HERE.run("info", url).stderr, url, "chunk c/0/0/1", "cannot be read")


def test_answers_that_break_off_are_asked_for_again(tmp_path: Path) -> None:
    write(tmp_path / "v.zarr", noisy(32, 32, 32), (16, 16, 16))
    with served(tmp_path / "v.zarr") as (server, url):
        server.cuts, server.failures, server.status = 5, 2, 503
        assert told(url) == told(tmp_path / "v.zarr")
        assert server.cuts == 0


def test_a_shard_that_changes_while_it_is_read_is_not_shown(tmp_path: Path) -> None:
    write(tmp_path / "v.zarr", noisy(128, 128, 128), (64, 64, 64), (128, 128, 128), compressors=None)
    with served(tmp_path / "v.zarr") as (server, url):
        shard = "/v.zarr/c/0/0/0"
        changed = bytes(reversed(server.objects[shard]))

        def change(key: str) -> None:
            # Two that are asked for at once may both be there.
            if key == shard and sum(path.endswith("c/0/0/0") for _, path in server.requests) >= 3:
                server.objects[shard] = changed

        server.on_key = change
        assert_one_clear_line(HERE.run("info", f"{url}").stderr, f"{url}/c/0/0/0", "changed")


def test_a_store_that_vanishes_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    write(tmp_path / "v.zarr", noisy(64, 64, 64), (16, 16, 16))
    with served(tmp_path / "v.zarr") as (server, url):
        server.on_key = lambda key: server.objects.clear() if key.endswith("c/2/2/2") else None
        assert_one_clear_line(HERE.run("info", url).stderr, f"{url}/zarr.json", "gone")


def test_where_nothing_is_and_what_is_no_zarr(tmp_path: Path) -> None:
    with faulty({"/x.zarr/zarr.json": b"{", "/y.zarr/.zgroup": b"{}", "/long.zarr/zarr.json": b" " * ((16 << 20) + 1)}) as server:
        assert_one_clear_line(HERE.run("info", f"{server.url}/none.zarr").stderr, f"{server.url}/none.zarr", "no Zarr metadata")
        assert_one_clear_line(HERE.run("info", f"{server.url}/x.zarr").stderr, f"{server.url}/x.zarr", "zarr.json")
        assert_one_clear_line(HERE.run("info", f"{server.url}/y.zarr").stderr, f"{server.url}/y.zarr", "consolidated")
        assert_one_clear_line(HERE.run("info", f"{server.url}/long.zarr").stderr, f"{server.url}/long.zarr", "longer")
    for file in ("run.npy", "run.h5", "run.h5:/density", "scan.nii.gz"):
        assert_one_clear_line(HERE.run("info", f"https://127.0.0.1:1/{file}").stderr, file, "visapult copy")
    assert_one_clear_line(HERE.run("info", "http://127.0.0.1:1/v.zarr").stderr, "http://127.0.0.1:1/v.zarr", "cannot be reached")
    assert_one_clear_line(HERE.run("info", "http://192.0.2.1/v.zarr").stderr, "not encrypted")
    refused = HERE.run("info", "https://user:pw@127.0.0.1/v.zarr").stderr
    assert_one_clear_line(refused, "no user or password")
    assert "pw@" not in refused


def test_over_tls_and_with_a_query_that_lets_one_in(tmp_path: Path) -> None:
    certificate, key, authority = certified(tmp_path)
    write(tmp_path / "v.zarr", noisy(20, 20, 20), (8, 8, 8))
    with faulty(tree(tmp_path / "v.zarr"), (certificate, key)) as server:
        url = server.url.replace("http:", "https:") + "/v.zarr"
        assert_one_clear_line(HERE.run("info", url).stderr, "certificate")
        web = Store("", environment={"SSL_CERT_FILE": str(authority)})
        assert told(f"{url}?sig={SECRET}", web)["fields"] == told(tmp_path / "v.zarr")["fields"]
        assert all(path.endswith(f"?sig={SECRET}") for _, path in server.requests)


def test_out_of_a_bucket(store: Store, volume: np.ndarray, tmp_path: Path) -> None:
    bucket = store.folder / "bucket"
    group = zarr.open_group(bucket / "runs/run 1.zarr", mode="w")
    for name in ("density", "inner/pressure"):
        group.create_array(name, shape=volume.shape, chunks=(16, 16, 16), shards=(32, 32, 32), dtype="f4")[:] = volume
    image(bucket / "image.zarr")
    for path in ("image.zarr", "image.zarr?level=1", "runs/run 1.zarr", "runs/run 1.zarr/inner/pressure"):
        assert told(f"s3://bucket/{path}", store) == told(bucket / path), path
    view = ["--size", "120x100", "--out"]
    run("render", bucket / "runs/run 1.zarr", *view, tmp_path / "here.png")
    assert store.run("render", "s3://bucket/runs/run 1.zarr", *view, tmp_path / "far.png").code == 0
    assert (tmp_path / "far.png").read_bytes() == (tmp_path / "here.png").read_bytes()
    assert_one_clear_line(store.run("info", "s3://bucket/none.zarr").stderr, "s3://bucket/none.zarr", "no Zarr metadata")
    assert_one_clear_line(store.run("info", "s3://nowhere/none.zarr").stderr, "s3://nowhere/none.zarr", "no such bucket")
    store.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
    assert_one_clear_line(store.run("info", "s3://bucket/image.zarr").stderr, "s3://bucket/image.zarr", "AWS_SECRET_ACCESS_KEY")


def test_a_bucket_that_nobody_may_list_denies_what_is_not_there(tmp_path: Path) -> None:
    write(tmp_path / "v.zarr", noisy(20, 20, 20), (8, 8, 8), zarr_format=2)
    objects = {key.removeprefix("/"): content for key, content in tree(tmp_path / "v.zarr").items()}
    with faulty(objects) as server:
        server.statuses = {f"v.zarr/{name}": 403 for name in ("zarr.json", ".zgroup", ".zattrs", ".zmetadata") if f"v.zarr/{name}" not in objects}
        public = Store(server.url, environment={})
        assert told("s3://bucket/v.zarr", public) == told(tmp_path / "v.zarr")
        del server.objects["v.zarr/.zarray"]
        server.statuses["v.zarr/.zarray"] = 403
        assert_one_clear_line(public.run("info", "s3://bucket/v.zarr").stderr, "s3://bucket/v.zarr/", "denied", "no credentials")


def test_a_page_shows_what_is_far_away_until_the_store_is_gone(tmp_path: Path) -> None:
    array = zarr.create_array(str(tmp_path / "v.zarr"), shape=(9, 24, 24, 24), chunks=(1, 8, 8, 8), dtype="f4")
    array[:] = noisy(9, 24, 24, 24)
    with served(tmp_path / "v.zarr") as (server, url):
        view = HERE.start("view", url, "--port", "0", "--no-open")
        try:
            page = Page(view.read_line())
            page.until(lambda: len(chunks_asked(server)) == 27, "the first step")
            assert all("/c/0/" in path for path in chunks_asked(server))
            server.objects.clear()
            page.show_step(5)
            missing = lambda: [told for told in page.notices if "gone" in told]  # noqa: E731
            page.until(missing, "a word on what is missing")
            page.close()
            assert f"{url}/zarr.json" in missing()[0]
        finally:
            view.stop()


def test_a_coarser_level_is_looked_at_while_the_finest_is_on_its_way(tmp_path: Path) -> None:
    image(tmp_path / "image.zarr", (168, 84))
    with served(tmp_path / "image.zarr") as (server, url):
        may_come = threading.Event()

        def on_key(key: str) -> None:
            level, name = key.split("/")[-2:]
            if level == "0" and name[0].isdigit():
                may_come.wait(PATIENCE_S)

        server.on_key = on_key
        view = HERE.start("view", url, "--port", "0", "--no-open")
        try:
            page = Page(view.read_line())
            page.until(lambda: page.fields, "a first look")
            # Of the middles of 21 x 21 cubes.
            assert [(told["provisional"], told["finite"]) for told in page.fields] == [(True, 84 * 21 * 21)]
            may_come.set()
            page.until(lambda: len(page.fields) > 1, "the step")
            page.close()
            assert (page.fields[1]["provisional"], page.fields[1]["finite"]) == (False, 168**3)
        finally:
            may_come.set()
            view.stop()


def part(store: Store, source: str, to: Path, *arguments: object) -> Any:
    """What has been copied."""
    done = store.copy(source, to, *arguments)
    assert done.code == 0, done.stderr
    return opened(to)


def test_a_part_of_a_field_is_cut_out_of_what_is_far_away(tmp_path: Path) -> None:
    values = noisy(4, 60, 50, 70)
    write(tmp_path / "v.zarr", values, (1, 16, 16, 16), dimension_names=["t", "z", "y", "x"])
    with served(tmp_path / "v.zarr") as (server, url):
        cut = ["--box", "10:40,:20,5:", "--stride", "2", "--steps", "1::2"]
        copied = part(HERE, url, tmp_path / "small.zarr", *cut)
        np.testing.assert_array_equal(copied["v"][:], values[1::2, 10:40:2, :20:2, 5::2])
        asked = {path.removeprefix("/v.zarr/c/") for path in chunks_asked(server)}
        assert asked == {f"{t}/{z}/{y}/{x}" for t in (1, 3) for z in (0, 1, 2) for y in (0, 1) for x in range(5)}
        again = HERE.copy(url, tmp_path / "small.zarr", *cut)
        assert again.code == 0 and "copied 0 files" in again.stdout
        server.statuses = {"/v.zarr/c/3/0/0/0": 500}
        failed = HERE.copy(url, tmp_path / "other.zarr", *cut)
        assert failed.code == 3 and f"{url}/c/3/0/0/0" in failed.stderr
        assert not (tmp_path / "other.zarr/zarr.json").exists()


def test_of_shards_the_ranges_are_read_that_are_wanted(tmp_path: Path) -> None:
    values = noisy(64, 64, 64)
    write(tmp_path / "v.zarr", values, (8, 8, 8), (64, 64, 64), compressors=None)
    with served(tmp_path / "v.zarr") as (server, url):
        whole = len(server.objects["/v.zarr/c/0/0/0"])
        copied = part(HERE, url, tmp_path / "small.zarr", "--box", "8:16,8:16,8:24")
        np.testing.assert_array_equal(copied["v"][:], values[8:16, 8:16, 8:24])
        sent = [length for path, length in server.sent if "/c/" in path]
        # The index of 512 chunks, and two of these.
        assert sorted(sent) == [2048, 2048, 512 * 16 + 4] and sum(sent) < whole / 50


def test_parts_of_fields_come_out_of_buckets_and_go_into_shares(store: Store, tmp_path: Path) -> None:
    group = zarr.open_group(store.folder / "bucket/run.zarr", mode="w")
    values = noisy(30, 20, 40)
    for name, shape in (("density", values.shape), ("small", (3, 4, 5))):
        chunks = (8, 8, 8) if name == "density" else shape
        group.create_array(name, shape=shape, chunks=chunks, dtype="f4")[:] = values if name == "density" else 0
    copied = part(store, "s3://bucket/run.zarr", tmp_path / "one.zarr", "--field", "density", "--level", "0", "--box", "1:,:,2:9")
    np.testing.assert_array_equal(copied["density"][:], values[1:, :, 2:9])
    refused = store.copy("s3://bucket/run.zarr", tmp_path / "two.zarr", "--field", "none")
    assert refused.code == 1
    assert_one_clear_line(refused.stderr, "s3://bucket/run.zarr")
    assert_one_clear_line(store.copy("s3://bucket/run.h5", tmp_path / "two.zarr", "--field", "x").stderr, "run.h5", "copy this file first")
