"""Names that are folders at one end of a copy, and files or links at the other: with `--delete` what is there gives way, once all is copied."""

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import VISAPULT
from shares import MEBI, SOON, copy, events, noise_file, sharing, start_copy, tree_of, without_rights
from test_copy_stripes import nodes
from wan import Ended, Process

#: What is of another kind at the destination of `make_run`.
CHANGED = ["run/folder-for-file", "run/folder-for-link", "run/inner/file-for-folder", "run/link-for-folder"]


def make_run(source: Path, there: Path) -> None:
    """A run, and what was copied of it before those names changed their kinds; a link leads to a folder beside that."""
    for folder in ("folder-for-file/inner", "folder-for-link", "inner"):
        (source / folder).mkdir(parents=True)
    (source / "folder-for-file" / "inner" / "new").write_text("new")
    (source / "folder-for-file" / "new").write_text("new")
    (source / "folder-for-link" / "beside").write_text("new")
    (source / "inner" / "file-for-folder").write_text("new")
    (source / "link-for-folder").symlink_to("inner")
    (source / "same").write_text("same")
    for folder in ("inner/file-for-folder/closed", "link-for-folder", "../beside"):
        (there / folder).mkdir(parents=True)
    (there / "folder-for-file").write_text("old")
    (there / "folder-for-link").symlink_to("../beside")
    (there / ".." / "beside" / "beside").write_text("not to be touched")
    for folder in ("inner/file-for-folder/closed", "link-for-folder"):
        (there / folder / "old").write_text("old")
    shutil.copy2(source / "same", there / "same")
    (there / "inner" / "file-for-folder" / "closed").chmod(0o500)
    (there / "inner").chmod(0o555)


def summary(copied: Any) -> tuple[dict[str, Any], list[str]]:
    """The tally of a copy with `--json`, and what it deleted."""
    told = list(events(copied.stdout.splitlines()))
    return told[-1]["tally"], [event["path"] for event in told if event["event"] == "deleted"]


def contents_of(folder: Path) -> dict[bytes, Any]:
    """Names and contents, whatever modes and times are."""
    return {path: content for path, (*_, content) in tree_of(folder).items()}


@contextlib.contextmanager
def between(way: str, source: Path, target: Path) -> Iterator[tuple[object, object]]:
    """The two ends of a copy of `source` into `target`."""
    if way == "here":
        yield source, target
    elif way == "into a share":
        with sharing(target, "--write", prefix=without_rights()) as share:
            yield source, share.url
    else:
        with sharing(source.parent) as share:
            yield f"{share.url}/{source.name}", target


def copy_by_its_owner(*arguments: object) -> Ended:
    """By somebody for whom modes hold."""
    return Process([*without_rights(), VISAPULT, "copy", *arguments]).end(SOON)


@pytest.mark.parametrize("way", ["here", "into a share", "out of a share"])
def test_what_is_of_another_kind_gives_way_where_deleting_is_wished_for(way: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source" / "run", tmp_path / "target"
    make_run(source, target / "run")
    contents = contents_of(target)
    with between(way, source, target) as ends:
        refused = copy_by_its_owner(*ends)
        assert refused.code == 3, refused
        for path in CHANGED:
            [line] = [line for line in refused.stderr.splitlines() if path in line]
            assert "or copy with delete" in line
        assert contents_of(target) == contents

        before = tree_of(target)
        dry = copy_by_its_owner(*ends, "--delete", "--dry-run", "--json")
        assert dry.code == 0, dry
        tally, deleted = summary(dry)
        assert (sorted(deleted), tally["deleted"], tally["wanted_files"], tally["same_files"]) == (CHANGED, 4, 4, 1)
        differing = {event["path"] for event in events(dry.stdout.splitlines()) if event["event"] == "differs"}
        assert {*CHANGED, "run/folder-for-file/inner/new"} <= differing
        assert tree_of(target) == before

        done = copy_by_its_owner(*ends, "--delete", "--json", "--manifest", tmp_path / "manifest")
        assert (done.code, done.stderr) == (0, ""), done
        tally, deleted = summary(done)
        assert (sorted(deleted), tally["deleted"], tally["failed"]) == (CHANGED, 4, 0)
        assert (tally["files"], tally["links"], tally["folders"]) == (4, 1, 3)
        assert tree_of(target / "run") == tree_of(source)
        assert Process([VISAPULT, "verify", tmp_path / "manifest", target]).end(SOON).code == 0

        again = copy_by_its_owner(*ends, "--delete", "--json")
        tally, deleted = summary(again)
        assert (again.code, deleted, tally["files"], tally["same_files"]) == (0, [], 0, 5)
    assert (target / "beside" / "beside").read_text() == "not to be touched"


def test_the_copied_thing_itself_may_have_changed_its_kind(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "run").mkdir(parents=True)
    (source / "run" / "new").write_text("new")
    (source / "notes").write_text("new")
    (target / "notes").mkdir(parents=True)
    (target / "notes" / "old").write_text("old")
    (target / "run").write_text("old")
    (target / "other").write_text("kept")
    sources = (source / "run", source / "notes")
    assert copy(*sources, target).code == 3
    done = copy(*sources, target, "--delete")
    assert (done.code, done.stderr) == (0, ""), done
    (source / "other").write_text("kept")
    assert contents_of(target) == contents_of(source)


def test_what_is_interrupted_leaves_what_was_there_and_goes_on(tmp_path: Path) -> None:
    source, there = tmp_path / "source" / "run", tmp_path / "target" / "run"
    (source / "folder").mkdir(parents=True)
    noise_file(source / "a-file", 41, 32 * MEBI)
    noise_file(source / "folder" / "large.raw", 42, 32 * MEBI)
    (source / "folder" / "small").write_text("new")
    (there / "a-file").mkdir(parents=True)
    (there / "a-file" / "old").write_text("old")
    (there / "folder").write_text("old")
    words = (source, there.parent, "--delete", "--json")
    copying = start_copy(*words, "--rate", "200M")
    assert any(event.get("bytes_sent", 0) >= 40 * MEBI for event in events(copying.said)), "it ended before"
    copying.signal(signal.SIGINT)
    assert copying.end(SOON).code == 130
    assert (there / "a-file" / "old").read_text() == "old"
    assert (there / "folder").read_text() == "old"
    # Nor does a dry run say that what is gone on from is of no use.
    dry = copy(*words, "--dry-run")
    assert (dry.code, "not deleted" in dry.stdout) == (0, False), dry
    assert sorted(summary(dry)[1]) == ["run/a-file", "run/folder"]
    done = copy(*words)
    assert (done.code, "not deleted" in done.stdout) == (0, False), done
    tally, deleted = summary(done)
    assert tally["resumed_bytes"] >= 16 * MEBI
    assert sorted(deleted) == ["run/a-file", "run/folder"]
    assert tree_of(there) == tree_of(source)


def test_nothing_gives_way_where_not_all_can_be_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "source" / "run", tmp_path / "target"
    make_run(source, target / "run")
    (source / "closed").write_text("closed")
    (source / "closed").chmod(0)
    words = [*without_rights(), VISAPULT, "copy", source, target, "--delete", "--json"]
    ended = Process(words).end(SOON)
    told = list(events(ended.stdout.splitlines()))
    failed = {event["path"] for event in told if event["event"] == "failed"}
    assert (ended.code, failed, told[-1]["tally"]["failed"]) == (3, {*CHANGED, "run/closed"}, 5), ended
    assert any("not all of the sources could be copied" in event.get("why", "") for event in told)
    assert told[-1]["tally"]["deleted"] == 0
    assert (target / "run" / "folder-for-file").read_text() == "old"
    assert os.readlink(target / "run" / "folder-for-link") == "../beside"
    for folder in ("inner/file-for-folder/closed", "link-for-folder"):
        assert (target / "run" / folder / "old").read_text() == "old"
    (source / "closed").unlink()
    done = copy(source, target, "--delete", "--json")
    tally, deleted = summary(done)
    # What was copied into folders that had no names yet is there.
    assert (done.code, sorted(deleted), tally["files"], tally["same_files"]) == (0, CHANGED, 1, 4), done
    assert tree_of(target / "run") == tree_of(source)


def test_a_folder_that_is_not_to_take_a_name_any_more_is_told(tmp_path: Path) -> None:
    source, target = tmp_path / "source" / "run", tmp_path / "target"
    for folder in (source, target / "run" / "name.visapult-folder"):
        folder.mkdir(parents=True)
    for name in (source / "name", target / "run" / "name.visapult-folder" / "old"):
        name.write_text("file")
    done = copy(source, target, "--delete")
    assert (done.code, "run/name.visapult-folder is not deleted" in done.stderr) == (0, True), done
    assert (target / "run" / "name.visapult-folder" / "old").is_file()


def test_several_nodes_of_a_share_have_what_is_there_give_way(tmp_path: Path) -> None:
    source, target = tmp_path / "source" / "run", tmp_path / "target"
    make_run(source, target / "run")
    with nodes(tmp_path, target, target, options=("--write",)) as shares:
        done = copy(source, shares[0].url, "--delete")
        assert done.code == 0, done
    assert tree_of(target / "run") == tree_of(source)
