"""What `visapult copy --json` tells is what the book says of it: every event, every field, and of which type."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest

from shares import MEBI, SOON, copy, events, noise_file, sharing, start_copy
from wan import Ended

PAGE = (Path(__file__).parents[2] / "docs" / "src" / "copying.md").read_text()
TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,), "text or null": (str, type(None)), "integer": (int,), "integer or null": (int, type(None)),
    "number": (int, float), "number or null": (int, float, type(None)), "boolean": (bool,), "object": (dict,),
}  # fmt: skip


def rows(heading: str) -> list[list[str]]:
    """The table below a heading of the book, without its head."""
    section = re.split(r"^##+ ", PAGE.split(f"# {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    return [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")][2:]


def documented() -> dict[str, dict[str, str]]:
    """Of each event its fields, and their types."""
    told: dict[str, dict[str, str]] = {}
    name = ""
    for event, field, kind, _unit, _what in rows("Events"):
        name = event or name
        told.setdefault(name, {})[field] = kind
    return told


def all_events(tmp_path: Path) -> list[dict[str, Any]]:
    """Events of copies that have a bit of everything."""
    source, there = tmp_path / "run", tmp_path / "there"
    (source / "sub").mkdir(parents=True)
    noise_file(source / "large.raw", 3, 20 * MEBI)
    (source / "sub" / "file").write_text("file")
    (source / "taken").write_text("taken")
    (source / "x.visapult-part").write_text("ours")
    (there / "run" / "taken").mkdir(parents=True)
    (there / "run" / "old").write_text("old")
    (tmp_path / "empty").mkdir()
    copies = [copy(source, tmp_path / "new/", "--dry-run", "--json"), copy(source, there, "--json", "--rate", "200M")]
    (source / "taken").unlink()
    copies += [copy(source, there, "--delete", "--json"), copy(f"{tmp_path}/empty/.", there, "--delete", "--json")]
    copies += [copy(tmp_path / "none", there, "--json")]
    with sharing(source) as one, sharing(tmp_path / "other", "--write", "--fetch", "127.0.0.1") as other:
        copies += [copy(one.url, other.url, "--detach", "--json")]
        other.copies()
    return [event for ended in copies for event in events(ended.stdout.splitlines())]


def test_every_event_has_the_fields_that_the_book_names(tmp_path: Path) -> None:
    known = documented()
    told = all_events(tmp_path)
    assert {event["event"] for event in told} == set(known)
    for event in told:
        fields = known[event.pop("event")]
        assert set(event) == set(fields), event
        for field, value in event.items():
            is_it = isinstance(value, TYPES[fields[field]]) and isinstance(value, bool) == (fields[field] == "boolean")
            assert is_it, (field, fields[field], value)


def test_the_tally_has_the_fields_that_the_book_names(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("file")
    *_, finished = events(copy(tmp_path / "file", tmp_path / "there", "--json").stdout.splitlines())
    assert list(finished["tally"]) == [field for field, _unit, _what in rows("Tally")]
    assert all(type(value) is int for value in finished["tally"].values())


def assert_ends_with_an_error(ended: Ended, code: int) -> None:
    *_, last = events(ended.stdout.splitlines())
    assert last == {"event": "error", "why": ended.problems[-1].removeprefix("visapult: "), "exit_code": code}
    assert ended.code == code


def test_a_copy_that_ends_in_an_error_tells_that_and_its_exit_code(tmp_path: Path) -> None:
    noise_file(tmp_path / "large.raw", 4, 32 * MEBI)
    with sharing(tmp_path / "shared", "--write") as share:
        assert_ends_with_an_error(copy(f"{share.url}/none", tmp_path / "here", "--json"), 1)
        assert_ends_with_an_error(copy(share.url, tmp_path / "here", "--delete", "--include", "*.h5", "--json"), 2)
        for folder in (tmp_path, f"{tmp_path}/"):
            assert_ends_with_an_error(copy(f"{share.url}/none", folder, "--range", "0-5", "--json"), 2)
        assert_ends_with_an_error(copy(f"{share.url}/none", tmp_path / "here", "--include", "[", "--json"), 2)
        interrupted = start_copy(tmp_path / "large.raw", share.url, "--json", "--rate", "50M")
        assert any(event.get("bytes_sent", 0) > MEBI for event in events(interrupted.said))
        interrupted.signal(signal.SIGINT)
        assert_ends_with_an_error(interrupted.end(SOON), 130)


@pytest.mark.parametrize("places", [("ripp://127.0.0.1:1/x", "{here}"), ("{here}/none", "{here}")])
def test_without_json_no_event_is_told(tmp_path: Path, places: tuple[str, str]) -> None:
    ended = copy(*(place.format(here=tmp_path) for place in places))
    assert (ended.code, ended.stdout) == (1, "")
    assert len(ended.problems) == 1
