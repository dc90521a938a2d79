"""Sections of the book, followed word by word: what they tell to type is typed, what they tell of comes about, and what they show is shown."""

import datetime
import json
import os
import pty
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest

import doctor_pictures as pictures
from conftest import VISAPULT
from shares import MEBI, SOON, copy, events, noise_file, sharing, start_copy
from test_bad_input import assert_one_clear_line
from wan import ENVIRONMENT, RIGHT, Process, eventually, link, unable

BOOK = Path(__file__).parents[2] / "docs" / "src"


def section(page: str, title: str) -> str:
    """What is below a heading, up to the next of its kind."""
    text = (BOOK / page).read_text()
    return re.split(r"^## ", text.split(f"\n## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def preface(page: str) -> str:
    """What is before the first heading but the page's own."""
    return (BOOK / page).read_text().split("\n## ")[0]


def typed(text: str, kind: str = "sh") -> str:
    """The first block of this kind."""
    found = re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def shown(text: str, first: str) -> str:
    """The output that the text shows and that begins like this."""
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^(?:    .*)?\n)+", text, re.MULTILINE)]
    [block] = [block.strip("\n") for block in blocks if block.strip("\n").startswith(first)]
    return block


def shell(script: str, folder: Path, **how: object) -> subprocess.CompletedProcess[str]:
    environment = {**ENVIRONMENT, "PATH": f"{VISAPULT.parent}:{os.environ['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", script]
    options = {"env": environment, **how}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_moving_a_dataset_on_one_machine(tmp_path: Path) -> None:
    commands = typed(section("copying.md", "On one machine, to try it"))
    done = shell("trap 'kill $(jobs -p)' EXIT\n" + commands, tmp_path)
    assert done.returncode == 0, done.stderr
    first, second, verified = done.stdout.splitlines()[-3:]
    assert first.startswith("copied 501 files")
    assert "501 files there already" in second
    assert verified.startswith("verified 501 files")


def zone_where(hour: int, days: range) -> str | None:
    """A zone for `TZ` where it is this hour now, of one of these days of the week; none if that is nowhere so."""
    now = datetime.datetime.now(datetime.UTC)
    for ahead in range(-23, 24):
        there = now + datetime.timedelta(hours=ahead)
        if there.hour == hour and there.weekday() in days:
            return f"<there>{-ahead}"
    return None


class People:
    """What the section on people tells to set up, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        text = section("copying.md", "To people, each with rights of their own")
        self.command = typed(text).replace("/data", str(self.data))
        self.policy = typed(text, "toml")
        for path in ("runs/12/a", "notes/2026/b", "notes/2025/c", "incoming/grace/d", "secret/e"):
            (self.data / path).parent.mkdir(parents=True)
            (self.data / path).write_text(path)
        (self.data / "runs/link").symlink_to("../secret")
        noise_file(self.data / "runs/large", 1, 10 * MEBI)
        self.write(self.policy)

    def write(self, policy: str) -> None:
        (self.folder / "people.toml").write_text(policy)

    def share(self, zone: str) -> tuple[Process, str]:
        """The share, where it is this time, and its first line."""
        words = [str(VISAPULT) if word == "visapult" else word for word in shlex.split(self.command)]
        share = Process(["env", f"TZ={zone}", *words, "--bind", "127.0.0.1:0"], cwd=self.folder)
        return share, share.read_line()


def test_a_policy_grants_what_the_section_on_people_says(tmp_path: Path) -> None:
    people = People(tmp_path)
    # Any evening is within the hours.
    evening = zone_where(20, range(7))
    assert evening
    share, line = people.share(evening)
    try:
        who, url = line.split()
        assert who == "grace"
        token = tmp_path / "grace.token"
        assert token.stat().st_mode & 0o077 == 0
        assert token.read_text().strip() in url
        assert copy(f"{url}/runs", f"{url}/notes/2026", tmp_path / "here").code == 0
        assert (tmp_path / "here/2026/b").read_text() == "notes/2026/b"
        assert (tmp_path / "here/runs/link").is_symlink()
        assert copy(tmp_path / "here/2026", f"{url}/incoming/grace/").code == 0
        assert (people.data / "incoming/grace/2026/b").exists()
        for path in ("", "/secret", "/notes/2025", "/incoming/grace"):
            assert_one_clear_line(copy(f"{url}{path}", tmp_path / "not").stderr, "grace may not read", "ask Ada, ada@example.org")
        for path in ("/runs/", "/incoming/eve/"):
            assert_one_clear_line(copy(tmp_path / "here/2026/b", f"{url}{path}").stderr, "grace may not write", "ask Ada, ada@example.org")
        assert_one_clear_line(copy(f"{url}/runs/link", tmp_path / "not").stderr, "leads out")
        slow = start_copy(f"{url}/runs/large", tmp_path / "large", "--rate", "4M", "--json")
        assert any(event.get("bytes_sent", 0) > 0 for event in events(slow.said))
        assert_one_clear_line(copy(f"{url}/runs/12", tmp_path / "not").stderr, "grace's has all of the rate")
        slow.stop()
        # A file that changes: who is new gets a URL, who is no longer named may do nothing; with a mistake, what it said before holds.
        people.write(people.policy.replace('"grace"', '"ada"'))
        ada = share.line_with("ada ripp://").split()[1]
        assert copy(f"{ada}/notes/2026", tmp_path / "there").code == 0
        assert_one_clear_line(copy(f"{url}/notes/2026", tmp_path / "not").stderr, "token is wrong")
        people.write(people.policy.replace("weight", "wieght"))
        assert "wieght" in share.line_with("people.toml line 8")
        assert copy(f"{ada}/notes/2026", tmp_path / "there").code == 0
        # It writes a line when it has seen the session end.
        log = tmp_path / "copies.jsonl"
        eventually("a line of each copy", lambda: log.read_text().count('"who":"ada"') >= 2)
    finally:
        share.stop()
    assert not (tmp_path / "not").exists()
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert {entry["from"] for entry in told} == {"127.0.0.1"}
    # Who was no longer named is known by the address alone.
    assert {entry["who"] for entry in told} == {"grace", "ada", "127.0.0.1"}


def test_urls_and_hours_are_as_the_section_on_people_says(tmp_path: Path) -> None:
    people = People(tmp_path)
    token_of = lambda line: line.split()[1].partition("@")[0]
    evening, noon = zone_where(20, range(7)), zone_where(12, range(5))
    assert evening
    tokens = []
    # In the middle of a weekend it is nowhere noon of a working day.
    for zone in [evening, noon or evening]:
        share, line = people.share(zone)
        try:
            tokens.append(token_of(line))
            done = copy(f"{line.split()[1]}/notes/2026", tmp_path / "here")
            if zone == evening:
                assert done.code == 0, done
            else:
                assert_one_clear_line(done.stderr, "grace may copy here at mon-fri 18:00-07:30 and sat,sun only", "ask Ada, ada@example.org")
        finally:
            share.stop()
    assert tokens[0] == tokens[1]
    (tmp_path / "grace.token").unlink()
    share, line = people.share(evening)
    share.stop()
    assert token_of(line) != tokens[0]
    people.write(people.policy.replace("read", "raed"))
    wrong = shell(people.command, tmp_path)
    assert wrong.returncode == 1
    assert_one_clear_line(wrong.stderr, "people.toml line 5", "raed")


def test_the_doctor_is_asked_as_the_book_says(tmp_path: Path) -> None:
    with sharing(tmp_path / "shared") as share:
        for line in typed(preface("doctor.md")).splitlines():
            command = line.partition("#")[0].strip().replace("ripp://...", share.url)
            done = shell(command, tmp_path)
            # It knows of this machine what it is like, and we do not.
            assert (done.returncode in (0, 1), done.stderr) == (True, ""), (command, done)
            if "--fix" in command:
                assert all(re.match(r"(# by hand: )?[a-z]", said) for said in done.stdout.splitlines()), done.stdout
            else:
                verdict, judged, *_ = done.stdout.splitlines()
                assert verdict.endswith("."), verdict
                assert judged.startswith("Judged at "), judged


def test_what_the_doctor_says_of_a_host_is_as_the_book_shows(tmp_path: Path) -> None:
    host = pictures.draw(tmp_path, {"proc/sys/net/core/rmem_max": "212992"})
    done = shell(f"visapult doctor --rate 1Gbit --root {host}", tmp_path)
    assert done.stdout.rstrip("\n") == shown(preface("doctor.md"), "About 1 Gbit/s could be had here")
    assert (done.returncode, done.stderr) == (1, "")


@pytest.fixture
def host(tmp_path: Path) -> tuple[Path, dict[str, object]]:
    """A picture of a host with something to mend; programs called `visapult` and `sudo` that know it, and what they are to be told."""
    host = pictures.draw(tmp_path / "host", {"proc/sys/net/ipv4/tcp_congestion_control": "reno"}, pictures.governed_by("powersave"))
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, does in (("visapult", f'{VISAPULT} "$@" --root {host}'), ("sudo", '"$@"')):
        (programs / name).write_text(f"#!/bin/sh\nexec {does}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    return host, {"env": {**ENVIRONMENT, "PATH": path, "XDG_STATE_HOME": str(tmp_path / "state")}}


def test_what_is_mended_as_the_book_says_is_put_back(host: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    picture, known = host
    before = pictures.seen(picture)
    apply, undo = [line.partition("#")[0] for line in typed(section("doctor.md", "Mending, and putting back")).splitlines()]
    # Somebody at a terminal, who is asked.
    ours, theirs = pty.openpty()
    os.write(ours, b"y\n")
    applied = shell(apply, tmp_path, stdin=theirs, **known)
    assert (applied.returncode, applied.stderr) == (0, ""), applied
    commands = re.findall(r"^  (?:mend    )?(sysctl .*|echo .*)$", applied.stdout.split("These commands change settings")[1], re.MULTILINE)
    assert "sysctl -w net.ipv4.tcp_congestion_control=bbr" in commands
    assert "Run them? [y/N] " in applied.stdout
    assert applied.stdout.count("done: ") == len(commands) == 1 + 8
    assert (tmp_path / "state/visapult/doctor.json").exists()
    assert pictures.seen(picture) != before
    undone = shell(undo, tmp_path, **known)
    assert (undone.returncode, undone.stdout.count("put back: ")) == (0, len(commands))
    assert pictures.meant(pictures.seen(picture)) == pictures.meant(before)
    assert "put back" not in shell(undo, tmp_path, **known).stdout


def test_what_has_become_of_a_finding_is_told_as_the_book_shows(host: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    done = shell("visapult doctor --rate 1Gbit --apply --yes", tmp_path, **host[1])
    assert shown(section("doctor.md", "Mending, and putting back"), "Before, and now:") in done.stdout
    assert done.returncode == 0, done


@pytest.mark.skipif(bool(unable()), reason=unable() or "")
def test_what_the_doctor_says_of_a_path_is_as_the_book_shows(tmp_path: Path) -> None:
    text = section("doctor.md", "Along a path")
    options = re.search(r"`wan up ([^`]+)`", text)
    assert options
    with link(*options[1].split()) as up:
        share = up.start("right", VISAPULT, "share", tmp_path, "--bind", f"{RIGHT}:7440")
        done = up.start("left", VISAPULT, "doctor", share.read_line()).end(SOON)
    # What limits it, and what else is found, is a matter of the machine that runs the tests.
    alike = lambda said: re.sub(r"limited by [a-z-]+", "limited by X", re.sub(r"[\d.]+ (%|[kMG]?bit/s|ms)", r"N \1", said))
    told = shown(text, "The path carries about ")
    verdict, judged, *figures = alike(told).splitlines()
    said = alike(done.stdout)
    assert said.startswith(verdict.split("Nothing")[0]), (said, verdict)
    assert f"\n{judged}\n" in said
    assert "\n".join(figures) in said
