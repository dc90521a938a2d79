"""Policies of shares: who may have what, how fast and when; and what a change of them comes to."""

import json
import os
import time
from pathlib import Path

import pytest

from conftest import run
from shares import MEBI, SOON, copy, events, shared, sharing, start_copy  # noqa: F401 (a fixture)
from test_bad_input import assert_one_clear_line


def test_each_person_has_a_url_and_what_a_policy_grants(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    (folder / "runs").mkdir(parents=True)
    (folder / "runs" / "a").write_bytes(b"a")
    policy = tmp_path / "people.toml"
    week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    weekday = time.localtime().tm_wday
    today, other = week[weekday], week[(weekday + 3) % 7]
    persons = [f'[[person]]\nname = "{name}"\nread = ["runs"]\nhours = ["{day}"]\n' for name, day in (("grace", today), ("eve", other))]
    policy.write_text('ask = "Ada, room 5"\n' + "".join(persons))
    with sharing(folder, "--policy", policy) as share:
        lines = [share.process.first_line, share.process.said.readline()]
        urls = dict(line.split() for line in lines)
        assert copy(f"{urls['grace']}/runs", tmp_path).code == 0
        late = copy(f"{urls['eve']}/runs", tmp_path)
        assert_one_clear_line(late.stderr, f"eve may copy here at {other} only", "ask Ada, room 5")
        assert [(entry["who"], entry["from"], entry["result"] == "done") for entry in share.copies(2)] == [
            ("grace", "127.0.0.1", True), ("eve", "127.0.0.1", False),
        ]  # fmt: skip
        policy.write_text(policy.read_text() + '[[person]]\nname = "ada"\nread = ["."]\n')
        ada = share.process.line_with("ada ripp://").split()[1]
        assert copy(f"{ada}/runs", tmp_path / "ada").code == 0
    policy.write_text(policy.read_text().replace("hours", "huors", 1))
    wrong = run("share", folder, "--policy", policy, "--bind", "127.0.0.1:0", check=False)
    assert wrong.returncode == 1
    assert_one_clear_line(wrong.stderr, "people.toml line 5", "huors")


def test_a_token_that_is_taken_away_lets_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").write_bytes(os.urandom(8 * MEBI))
    policy = tmp_path / "people.toml"
    policy.write_text('ask = "Ada"\n[[person]]\nname = "grace"\nread = ["."]\n')
    with sharing(tmp_path / "shared", "--policy", policy) as share:
        copying = start_copy(f"{share.url}/file", tmp_path / "here", "--json", "--rate", "20M")
        assert any(event.get("bytes_sent", 0) > MEBI for event in events(copying.said))
        (tmp_path / "grace.token").unlink()
        url = share.process.line_with("grace ripp://").split()[1]
        ended = copying.end(SOON)
        assert ended.code == 1, ended
        assert_one_clear_line(ended.stderr, "the token is wrong")
        assert copy(f"{url}/file", tmp_path / "here").code == 0


def test_a_policy_bounds_the_rate_and_new_hours_end_a_copy_under_way(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").write_bytes(os.urandom(8 * MEBI))
    policy, most_rate = tmp_path / "people.toml", 20_000_000
    policy.write_text(f'ask = "Ada"\n[[person]]\nname = "grace"\nread = ["."]\nmost_rate = "{most_rate // 1_000_000}M"\n')
    with sharing(tmp_path / "shared", "--policy", policy) as share:
        done = copy(f"{share.url}/file", tmp_path / "here", "--json", "--rate", "1G")
        assert done.code == 0, done
        *_, finished = events(done.stdout.splitlines())
        # Within what may go at once at the start.
        assert finished["bytes_sent"] * 8 / finished["seconds"] < 1.1 * most_rate
        copying = start_copy(f"{share.url}/file", tmp_path / "there", "--json")
        assert any(event.get("bytes_sent", 0) > MEBI for event in events(copying.said))
        other = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"][(time.localtime().tm_wday + 3) % 7]
        policy.write_text(policy.read_text() + f'hours = ["{other}"]\n')
        ended = copying.end(SOON)
        assert ended.code == 1, ended
        assert_one_clear_line(ended.stderr, f"grace may copy here at {other} only", "ask Ada")
    assert not (tmp_path / "there").exists()


def test_a_mistake_in_a_policy_that_changes_is_told_and_the_one_before_holds(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a").write_text("a")
    policy = tmp_path / "people.toml"
    policy.write_text('ask = "Ada"\n[[person]]\nname = "grace"\nread = ["."]\n')
    with sharing(tmp_path / "shared", "--policy", policy) as share:
        policy.write_text(policy.read_text().replace("read", "raed"))
        told = share.process.said.readline()
        assert "people.toml line 4" in told and told.endswith("; what the policy said before holds\n")
        assert copy(f"{share.url}/a", tmp_path / "there").code == 0


@pytest.mark.parametrize("mistake", ["read = [", "raed = ['.']"])
def test_who_is_taken_out_of_a_policy_is_out_though_there_is_a_mistake_in_it(tmp_path: Path, mistake: str) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a").write_text("a")
    policy = tmp_path / "people.toml"
    ada, grace = ('[[person]]\nname = "ada"\nread = ["."]\n', '[[person]]\nname = "grace"\nread = ["."]\n')
    policy.write_text('ask = "Grace-Hopper"\n' + ada + grace)
    with sharing(tmp_path / "shared", "--policy", policy) as share:
        urls = dict(line.split() for line in [f"ada {share.url}", share.process.said.readline()])
        said = (line for line in share.process.said if "people.toml" in line)
        policy.write_text('ask = "Grace-Hopper"\n' + ada + mistake + "\n# grace was here\n")
        told = next(said)
        assert "people.toml line 5" in told or "people.toml line 6" in told, told
        assert told.endswith("; what the policy said before holds, but not for grace, whom it does not name\n")
        assert copy(f"{urls['ada']}/a", tmp_path / "there").code == 0
        assert "the token is wrong" in copy(f"{urls['grace']}/a", tmp_path / "elsewhere").stderr
        # Nobody is out because a file is empty, as on a full disk.
        policy.write_text("")
        assert next(said).endswith("; what the policy said before holds\n")
        assert copy(f"{urls['ada']}/a", tmp_path / "there").code == 0


def test_who_is_taken_out_of_a_policy_is_out_though_a_folder_of_another_is_missing(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a").write_text("a")
    policy = tmp_path / "people.toml"
    persons = ['[[person]]\nname = "grace"\nread = ["."]\n', '[[person]]\nname = "ada"\nread = [".", "new"]\n']
    policy.write_text('ask = "Ada"\n' + persons[0])
    with sharing(tmp_path / "shared", "--policy", policy) as share:
        policy.write_text('ask = "Ada"\n' + persons[1])
        told = [share.process.said.readline() for _ in range(3)]
        assert told[0] == "the policy was read again\n" and told[1].startswith("ada ripp://"), told
        assert "people.toml line 4: read: new is to be a folder in the share" in told[2]
        assert "the token is wrong" in copy(f"{share.url}/a", tmp_path / "there").stderr
        assert copy(f"{told[1].split()[1]}/a", tmp_path / "there").code == 0
    # One with which nobody could copy anything is told at once.
    policy.write_text(persons[0].replace('"."', '"new"').replace("[[", 'ask = "Ada"\n[['))
    refused = run("share", tmp_path / "shared", "--policy", policy, "--bind", "127.0.0.1:0", "--for", "1s", check=False)
    assert refused.returncode == 1
    assert_one_clear_line(refused.stderr, "people.toml line 4", "new is to be a folder")


def test_a_pipe_in_place_of_a_policy_is_refused(tmp_path: Path) -> None:
    policy = tmp_path / "people.toml"
    os.mkfifo(policy, 0o600)
    folder = tmp_path / "shared"
    folder.mkdir()
    refused = run("share", folder, "--policy", policy, "--bind", "127.0.0.1:0", check=False)
    assert refused.returncode == 1
    assert "not a regular file" in refused.stderr and refused.stderr.count("\n") == 1
