"""`visapult perf` on loopback: what is measured, and one clear line for whatever is wrong. Needs no rights."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT
from test_bad_input import assert_one_clear_line
from wan import Process

PERF = [str(VISAPULT), "perf"]
SOON = 10.0


@pytest.fixture
def served() -> Iterator[tuple[Process, str]]:
    server = Process([*PERF, "serve", "--bind", "127.0.0.1:0"])
    try:
        yield server, server.read_line()
    finally:
        server.stop()


def send(url: str, *options: object) -> Process:
    return Process([*PERF, "send", url, *map(str, options)])


def assert_refused(url: str, *needles: str) -> None:
    ended = send(url, "--bytes", "1MB").end(SOON)
    assert ended.code == 1, ended
    assert_one_clear_line(ended.stderr, *needles)


def test_what_arrives_is_counted_and_verified(served: tuple[Process, str], tmp_path: Path) -> None:
    ended = send(served[1], "--bytes", "32MiB", "--json", tmp_path / "result.json").end()
    assert ended.code == 0, ended
    report = json.loads((tmp_path / "result.json").read_text())
    assert report["verified"]
    assert report["bytes"] == 32 << 20
    assert report["wire_bytes"] > report["bytes"]
    assert {"min", "median", "p99"} == set(report["rtt_us"])


def test_a_time_is_kept(served: tuple[Process, str]) -> None:
    ended = send(served[1], "--rate", "200M", "--time", "1s", "--json", "-").end()
    assert ended.code == 0, ended
    report = json.loads(ended.stdout)
    assert report["verified"]
    # Sent for one second at this rate: the amount is arithmetic, whatever the machine's speed.
    assert 0 < report["wire_bytes"] <= 1.2 * 200e6 / 8 * report["seconds"]


def test_the_other_end_sends(served: tuple[Process, str], tmp_path: Path) -> None:
    ended = send(served[1], "--reverse", "--bytes", "8MiB", "--json", tmp_path / "result.json").end()
    assert ended.code == 0, ended
    assert ended.stdout.startswith("received ")
    report = json.loads((tmp_path / "result.json").read_text())
    assert (report["bytes"], report["verified"]) == (8 << 20, True)


def test_a_wrong_token_is_refused(served: tuple[Process, str]) -> None:
    token = served[1].removeprefix("ripp://").split("@")[0]
    assert_refused(served[1].replace(token, "A" * len(token)), "token", "whole URL")


def test_a_wrong_fingerprint_is_found_out(served: tuple[Process, str]) -> None:
    before, fingerprint = served[1].split("#")
    other = ("A" if fingerprint[0] != "A" else "B") + fingerprint[1:]
    assert_refused(f"{before}#{other}", "certificate", "expected")


def test_a_url_without_its_fingerprint_is_not_believed(served: tuple[Process, str]) -> None:
    assert_refused(served[1].split("#")[0], "certificate")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert_refused(f"ripp://{'A' * 22}@127.0.0.1:{port}/perf#{'A' * 43}", "cannot connect", str(port))


def test_somebody_else_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(SOON)
        url = f"ripp://{'A' * 22}@127.0.0.1:{other.getsockname()[1]}/perf#{'A' * 43}"
        sender = send(url)
        connection, _ = other.accept()
        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        ended = sender.end(SOON)
        connection.close()
    assert ended.code == 1
    assert_one_clear_line(ended.stderr, "TLS")


def test_a_name_that_means_nothing() -> None:
    assert_refused(f"ripp://{'A' * 22}@no-such-host.invalid:7410/perf#{'A' * 43}", "no-such-host.invalid", "name")


def test_a_port_in_use(served: tuple[Process, str]) -> None:
    address = served[1].split("@")[1].split("/")[0]
    ended = Process([*PERF, "serve", "--bind", address]).end(SOON)
    assert ended.code == 1
    assert_one_clear_line(ended.stderr, address, "choose another port")


def test_a_second_measurement_is_told_to_wait(served: tuple[Process, str]) -> None:
    first = send(served[1], "--time", "30s", "--rate", "10M")
    try:
        # Once the first one's bytes come, it is the server's; until then there may be room for another.
        others = [send(served[1], "--bytes", "1kB").end(SOON) for _ in range(5)]
        refused = [ended for ended in others if ended.code != 0]
        assert refused
        for ended in refused:
            assert_one_clear_line(ended.stderr, "busy", "again")
    finally:
        first.stop()


def test_unprotected_only_on_loopback() -> None:
    ended = Process([*PERF, "serve", "--insecure", "--bind", "0.0.0.0:0"]).end(SOON)
    assert ended.code == 1
    assert_one_clear_line(ended.stderr, "loopback")


def test_unprotected_on_loopback_works() -> None:
    server = Process([*PERF, "serve", "--insecure", "--bind", "127.0.0.1:0", "--once"])
    assert send(server.read_line(), "--bytes", "1MB").end().code == 0
    assert server.end(SOON).code == 0


def test_a_known_client_needs_no_token() -> None:
    own = Process([*PERF, "identity"]).end(SOON).stdout.strip()
    server = Process([*PERF, "serve", "--trust", own, "--bind", "127.0.0.1:0"])
    try:
        url = server.read_line()
        assert "@" not in url
        assert send(url, "--bytes", "1MB").end().code == 0
    finally:
        server.stop()


def test_an_unknown_client_is_told_what_would_admit_it() -> None:
    own = Process([*PERF, "identity"]).end(SOON).stdout.strip()
    server = Process([*PERF, "serve", "--trust", "A" * 43, "--bind", "127.0.0.1:0"])
    try:
        assert_refused(server.read_line(), f"started with trust {own}")
    finally:
        server.stop()


def test_lanes_leave_from_several_addresses() -> None:
    server = Process([*PERF, "serve", "--local", "127.0.0.3,127.0.0.4", "--bind", "127.0.0.1:0"])
    try:
        ended = send(server.read_line(), "--local", "127.0.0.1,127.0.0.2", "--bytes", "8MiB", "--json", "-").end()
        assert ended.code == 0, ended
        report = json.loads(ended.stdout)
        assert (report["lanes"], report["verified"]) == (2, True)
    finally:
        server.stop()


def test_an_address_that_this_machine_has_not_is_said_before_anybody_comes() -> None:
    # TEST-NET-1, which no machine has.
    ended = Process([*PERF, "serve", "--local", "192.0.2.1", "--bind", "127.0.0.1:0"]).end(SOON)
    assert ended.code == 1
    assert_one_clear_line(ended.stderr, "192.0.2.1", "local addresses must be this machine's")


def test_an_object_of_a_slow_rate_is_small_enough_to_end_soon_after_the_time(served: tuple[Process, str]) -> None:
    ended = send(served[1], "--rate", "100k", "--time", "1s", "--json", "-").end()
    assert ended.code == 0, ended
    # Of 12.5 kB that fit; objects of 64 KiB, each of which is finished once it has begun, would be more.
    assert 0 < json.loads(ended.stdout)["bytes"] < 40_000


def test_a_policy_is_obeyed_and_named(served: tuple[Process, str], tmp_path: Path) -> None:
    folder = tmp_path / "visapult"
    folder.mkdir()
    (folder / "paths.toml").write_text('[[path]]\nto = "127.0.0.0/8"\nmost_send = "20M"\n')
    command = ["env", f"XDG_CONFIG_HOME={tmp_path}", *PERF, "send", served[1]]
    ended = Process([*command, "--rate", "500M", "--bytes", "2MB", "--json", "-"]).end()
    assert ended.code == 0, ended
    report = json.loads(ended.stdout)
    assert report["limited_by"] == "policy"
    assert report["kept_bps"] <= 1.01 * 20e6
    assert report["policy"]["sender"]["place"] == f"{folder}/paths.toml line 1"
    (folder / "paths.toml").write_text('[[path]]\nto = "*"\nspeed = "20M"\n')
    ended = Process(command).end(SOON)
    assert ended.code == 1
    assert_one_clear_line(ended.stderr, "paths.toml line 3", "speed", "most_send")


def test_rules_in_a_home_that_is_not_there_are_not_taken_for_none(served: tuple[Process, str], tmp_path: Path) -> None:
    away = Process(["env", "XDG_CONFIG_HOME=", f"HOME={tmp_path / 'away'}", *PERF, "send", served[1], "--bytes", "1MB"]).end(SOON)
    assert away.code == 1
    assert_one_clear_line(away.stderr, "paths.toml", f"HOME is {tmp_path / 'away'}", "set HOME")
    nowhere = Process(["env", "-u", "XDG_CONFIG_HOME", "-u", "HOME", *PERF, "send", served[1], "--bytes", "1MB"]).end(SOON)
    assert nowhere.code == 0, nowhere
    assert nowhere.stderr.count("no rules for paths are obeyed") == 1


def test_with_little_memory_many_lanes_become_few_and_all_arrives(tmp_path: Path) -> None:
    folder = tmp_path / "visapult"
    folder.mkdir()
    (folder / "paths.toml").write_text('[[path]]\nto = "127.0.0.0/8"\nmemory = "40MiB"\n')
    server = Process(["env", f"XDG_CONFIG_HOME={tmp_path}", *PERF, "serve", "--bind", "127.0.0.1:0", "--host", "127.0.0.1"])
    try:
        ended = send(server.read_line(), "--lanes", "64", "--bytes", "4MB", "--json", "-").end()
        assert ended.code == 0, ended
        report = json.loads(ended.stdout)
        assert (report["lanes"], report["verified"], report["policy"]["receiver"]["memory"]) == (5, True, 40 << 20)
    finally:
        server.stop()
    server = Process([*PERF, "serve", "--bind", "127.0.0.1:0", "--host", "127.0.0.1", "--memory", "64MiB"])
    try:
        ended = send(server.read_line(), "--lanes", "64", "--memory", "32MiB", "--bytes", "4MB", "--json", "-").end()
        assert ended.code == 0, ended
        assert json.loads(ended.stdout)["lanes"] == 4
        assert "4 lanes rather than 64" in ended.stderr and "memory" in ended.stderr
    finally:
        server.stop()


def test_a_token_is_not_repeated() -> None:
    for words in (["send", "ripp://SECRETSECRET@127.0.0.1:99999/"], ["serve", "ripp://SECRETSECRET@127.0.0.1:1/"]):
        ended = Process([*PERF, *words]).end(SOON)
        assert ended.code == 2
        assert "SECRET" not in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_waits_can_be_stopped(served: tuple[Process, str], number: int) -> None:
    served[0].signal(number)
    ended = served[0].end(5)
    assert (ended.code, ended.stderr) == (0, "")


URL = f"ripp://{'A' * 22}@127.0.0.1:1/perf#{'A' * 43}"


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (["send"], "URL"),
        (["send", "http://example.org/"], "ripp://"),
        (["send", "ripp://127.0.0.1:99999/"], "port"),
        (["send", URL, "--rate", "fast"], "rate"),
        (["send", URL, "--rate", "0"], "rate"),
        (["send", URL, "--bytes", "0"], "bytes"),
        (["send", URL, "--bytes=-1"], "bytes"),
        (["send", URL, "--bytes", "9999999999TB"], "bytes"),
        (["send", URL, "--bytes", "1MB", "--time", "1s"], "--time"),
        (["send", URL, "--time", "0s"], "time"),
        (["send", URL, "--time", "soon"], "time"),
        (["send", URL, "--lanes", "0"], "lanes"),
        (["send", URL, "--lanes", "65"], "lanes"),
        (["send", URL, "--mtu", "500"], "mtu"),
        (["send", URL, "--memory", "31MiB"], "32MiB"),
        (["serve", "--memory", "much"], "64MiB"),
        (["send", URL, "--mode", "careful"], "mode"),
        (["send", URL, "--mode", "deadline=0s"], "deadline"),
        (["send", URL, "--mode", "deadline=48h"], "deadline"),
        (["send", URL, "--json", "/no/such/folder/result.json"], "/no/such/folder"),
        (["send", URL, "--local", "here"], "local"),
        (["send", URL, "--identity", "/no/such/file.pem"], "/no/such/file.pem"),
        (["send", "ripp://127.0.0.1:1/perf", "--ca", "/no/such/ca.pem"], "/no/such/ca.pem"),
        (["serve", "--trust", "nobody"], "fingerprint"),
        (["serve", "--trust", "A" * 43, "--insecure"], "insecure"),
        (["serve", "--bind", "here"], "bind"),
        (["serve", "--bind", "192.0.2.1:0"], "192.0.2.1"),
    ],
)
def test_command_lines_that_do_not_fit(words: list[str], needle: str) -> None:
    ended = Process([*PERF, *words]).end(SOON)
    assert ended.code in (1, 2), ended
    told = [line for line in ended.stderr.splitlines() if line.startswith(("error: ", "visapult: "))]
    assert len(told) == 1, ended.stderr
    assert needle in ended.stderr


def test_a_result_that_nobody_reads_is_no_failure(served: tuple[Process, str]) -> None:
    sender = send(served[1], "--bytes", "1MB", "--json", "-")
    sender.said.close()
    ended = sender.end(SOON)
    assert (ended.code, ended.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_result_that_cannot_be_written_is_a_failure(served: tuple[Process, str]) -> None:
    there = send(served[1], "--bytes", "1MB", "--json", "/dev/full").end(SOON)
    assert (there.code, "bit/s over" in there.stdout) == (1, True), there
    assert "cannot write /dev/full" in there.stderr
    with open("/dev/full", "wb") as full:
        words = [*PERF, "send", served[1], "--bytes", "1MB", "--json", "-"]
        told = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SOON, check=False)
    assert (told.returncode, "cannot write all to standard output" in told.stderr) == (1, True), told


def test_a_server_whose_reader_is_gone_serves_on() -> None:
    server = Process([*PERF, "serve", "--bind", "127.0.0.1:0"])
    url = server.read_line()
    server.said.close()
    try:
        assert [send(url, "--bytes", "1MB").end(SOON).code for _ in range(2)] == [0, 0]
    finally:
        ended = server.stop()
    assert ended.stderr == ""
