"""Bad days on a wide-area link: each ends in continuation or in one clear error, and no byte is ever wrong.

The scenarios mostly wait, so several are played at a time, each on a link of its own.
"""

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest

from conftest import VISAPULT
from wan import ENVIRONMENT, PATIENCE, WAN, Ended, Link, Measured, Process, link, measure, pause, unable

Scenario = Callable[[], None]
SCENARIOS: dict[str, Scenario] = {}
AT_ONCE = 4
#: What a program may take to see that the other end, or the way to it, is gone.
SOON = 10.0
PATH = "--rate 40M --rtt 20ms"
FAR = "--rate 40M --rtt 300ms"


def scenario(play: Scenario) -> Scenario:
    SCENARIOS[play.__name__.strip("_")] = play
    return play


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[None]]]:
    """The scenarios that were asked for, under way."""
    asked = [item.callspec.params["name"] for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(SCENARIOS[name]) for name in map(str, asked)}
        pool.shutdown(cancel_futures=True)


def assert_whole(measured: Measured, count: int | None = None) -> None:
    """Both ends are content, and every byte was right."""
    assert measured.sender.code == 0, measured.sender
    assert measured.server.code == 0, measured.server
    assert not measured.sender.problems
    assert not measured.server.problems
    assert measured.report["verified"]
    assert measured.report["bytes"] > 0
    if count is not None:
        assert measured.report["bytes"] == count
    assert "verified" in measured.server.stdout


def assert_received(receiver: Ended, server: Ended, count: int) -> None:
    """The dialler received, and the server knows that every byte was right."""
    for ended in (receiver, server):
        assert (ended.code, ended.problems) == (0, []), ended
    assert f"sent {count} bytes, verified" in server.stdout


def assert_one_error(ended: Ended, *needles: str) -> None:
    assert ended.code not in (0, 101), ended
    assert len(ended.problems) == 1, ended.stderr
    assert "panicked" not in ended.stderr
    for needle in needles:
        assert needle in ended.problems[0]


MANGLED = f"{PATH} --loss 5% --reorder 2% --duplicate 1% --jitter 2ms"


@scenario
def loss_reordering_duplicates_and_jitter() -> None:
    assert_whole(measure(MANGLED, "--rate", "30M", "--bytes", "4MB"), 4_000_000)


@scenario
def loss_reordering_duplicates_and_jitter_at_a_rate_of_its_own() -> None:
    assert_whole(measure(MANGLED, "--bytes", "4MB"), 4_000_000)


@scenario
def loss_in_long_bursts() -> None:
    assert_whole(measure(f"{PATH} --loss 2% --burst 50", "--bytes", "4MB"), 4_000_000)


@scenario
def a_queue_that_is_much_too_short() -> None:
    assert_whole(measure(f"{PATH} --queue 1ms", "--bytes", "8MB"), 8_000_000)


@scenario
def a_rate_fixed_at_twice_what_the_link_carries() -> None:
    assert_whole(measure(PATH, "--rate", "80M", "--bytes", "8MB"), 8_000_000)


@scenario
def lossy_under_loss() -> None:
    measured = measure(f"{PATH} --loss 5%", "--mode", "lossy", "--rate", "20M", "--time", "2s")
    assert_whole(measured)
    assert measured.report["bytes_retransmitted"] == 0


@scenario
def what_is_lost_for_good_does_not_hold_up_the_rest() -> None:
    # Of the data: with so much lost both ways, TCP sometimes needs longer for the closing words than programs wait.
    measured = measure(f"{PATH} --to-right loss=20% --to-left loss=2%", "--mode", "lossy", "--rate", "10M", "--time", "5s")
    assert_whole(measured)
    # A fixed rate for a given time is an amount: it is all sent, however much of it is lost.
    assert measured.report["wire_bytes"] > 0.6 * 10e6 / 8 * 5


@scenario
def a_deadline_under_loss() -> None:
    assert_whole(measure(f"{PATH} --loss 5%", "--mode", "deadline=200ms", "--rate", "20M", "--time", "2s"))


@scenario
def a_deadline_shorter_than_the_way() -> None:
    measured = measure("--rate 40M --rtt 200ms", "--mode", "deadline=50ms", "--rate", "20M", "--time", "1s")
    assert_one_error(measured.sender, "nothing arrived", "deadline")


@scenario
def reverse_with_loss() -> None:
    with link(*f"{PATH} --loss 2%".split()) as up:
        server, url = up.serve("--once")
        receiver = up.send(url, "--reverse", "--bytes", "4MB").end()
        assert_received(receiver, server.end(SOON), 4_000_000)


def _shown(up: Link, url: str, *options: str) -> list[dict[str, float]]:
    """What the progress line of a dialler says, as often as it does."""
    terminal, theirs = os.openpty()
    command = [str(WAN), "exec", "--name", up.name, "left", str(VISAPULT), "perf", "send", url, *options]
    with open(terminal, "rb", buffering=0) as screen, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=ENVIRONMENT) as dialler:
        os.close(theirs)
        said = b""
        # A terminal whose programs have gone cannot be read any more.
        with contextlib.suppress(OSError):
            while more := screen.read(4096):
                said += more
        assert dialler.wait(PATIENCE) == 0, said
    figures = r"rate (?P<rate>[\d.]+) Mbit/s, loss (?P<loss>[\d.]+) %, RTT (?P<rtt>[\d.]+) ms, repaired (?P<repaired>[\d.]+) MB"
    return [{name: float(value) for name, value in line.groupdict().items()} for line in re.finditer(figures, said.decode())]


@scenario
def both_ends_show_the_same_figures_while_it_runs() -> None:
    with link(*f"{PATH} --loss 5%".split()) as up:
        server, url = up.serve()
        for reverse in ([], ["--reverse"]):
            shown = _shown(up, url, "--rate", "20M", "--time", "4s", *reverse)
            assert len(shown) > 2
            last = shown[-1]
            assert 2 < last["loss"] < 10, shown
            assert 20 <= last["rtt"] < 200, shown
            assert 0 < last["repaired"] < 2, shown
            assert max(line["rate"] for line in shown) > 5, shown
        server.signal(signal.SIGINT)
        assert server.end(SOON).code == 0


@scenario
def small_packets_of_1280_bytes() -> None:
    measured = measure(PATH, "--mtu", "1280", "--bytes", "4MB")
    assert_whole(measured, 4_000_000)
    assert measured.report["datagram"] <= 1252


@scenario
def four_lanes() -> None:
    measured = measure(f"{PATH} --loss 1%", "--lanes", "4", "--bytes", "4MB")
    assert_whole(measured, 4_000_000)
    assert measured.report["lanes"] == 4


@scenario
def eight_lanes_that_find_one_bottleneck() -> None:
    measured = measure("--rate 100M --rtt 80ms --queue 25ms", "--lanes", "8", "--time", "4s")
    assert_whole(measured)
    # A tenth is lost where each lane looks for all that the path carries.
    assert measured.report["datagrams_lost"] < 0.02 * measured.report["datagrams"]


def _ports(up: Link, side: str) -> list[int]:
    """UDP ports that are open on one side."""
    table = up.start(side, "cat", "/proc/net/udp").end().stdout.splitlines()[1:]
    return [int(line.split()[1].split(":")[1], 16) for line in table]


@scenario
def a_lane_that_dies_while_another_lives() -> None:
    def during(up: Link, _server: Process, _sender: Process) -> None:
        ports = _ports(up, "right")
        assert len(ports) == 2
        up.set("--block", f"udp:{ports[0]}")

    measured = measure(PATH, "--lanes", "2", "--bytes", "12MB", during=during)
    assert_whole(measured, 12_000_000)
    assert measured.report["transport"] == "udp"


@scenario
def a_path_that_swallows_large_packets() -> None:
    measured = measure(f"{PATH} --mtu-hole 1400", "--bytes", "4MB")
    assert_whole(measured, 4_000_000)
    assert measured.report["datagram"] <= 1372


def _change(change: str) -> Callable[[Link, Process, Process], None]:
    return lambda up, _server, _sender: up.set(*change.split())


def _for_a_while(change: str, back: str, seconds: float) -> Callable[[Link, Process, Process], None]:
    def during(up: Link, _server: Process, _sender: Process) -> None:
        up.set(*change.split())
        pause(seconds)
        up.set(*back.split())

    return during


@scenario
def a_path_that_begins_to_swallow_large_packets() -> None:
    measured = measure(PATH, "--bytes", "8MB", during=_change("--mtu-hole 1300"))
    assert_whole(measured, 8_000_000)


@scenario
def a_path_that_swallows_large_packets_for_a_while() -> None:
    during = _for_a_while("--mtu-hole 1300", "--mtu-hole none", 1)
    measured = measure(PATH, "--time", "14s", during=during)
    assert_whole(measured)
    assert measured.report["datagram"] == 1472


@scenario
def a_path_that_begins_to_swallow_all_but_small_packets() -> None:
    sender, server = _cut("--mtu-hole 1000")
    assert_one_error(sender, "1200 bytes")
    assert_one_error(server, "1200 bytes")
    assert sender.waited < SOON


@scenario
def a_rate_that_falls_to_a_quarter() -> None:
    assert_whole(measure(PATH, "--bytes", "8MB", during=_change("--rate 10M")), 8_000_000)


@scenario
def a_way_that_becomes_longer() -> None:
    assert_whole(measure(PATH, "--bytes", "8MB", during=_change("--rtt 200ms")), 8_000_000)


@scenario
def a_link_that_is_down_for_three_seconds() -> None:
    during = _for_a_while("--block all", "--block none", 3)
    assert_whole(measure(PATH, "--bytes", "8MB", during=during), 8_000_000)


@scenario
def no_reports_for_two_seconds() -> None:
    during = _for_a_while("--to-left block=udp", "--to-left block=none", 2)
    assert_whole(measure(PATH, "--bytes", "8MB", during=during), 8_000_000)


@scenario
def an_address_translator_that_forgets() -> None:
    measured = measure(PATH, "--bytes", "12MB", during=_change("--rebind"))
    assert_whole(measured, 12_000_000)


@scenario
def an_address_translator_that_forgets_whom_the_data_goes_to() -> None:
    with link(*PATH.split()) as up:
        server, url = up.serve("--once")
        receiver = up.send(url, "--reverse", "--bytes", "12MB")
        up.wait_for_traffic()
        up.set("--rebind")
        assert_received(receiver.end(), server.end(SOON), 12_000_000)


def _stopped(*which: int) -> Callable[[Link, Process, Process], None]:
    def during(_up: Link, server: Process, sender: Process) -> None:
        chosen = [(server, sender)[index] for index in which]
        for process in chosen:
            process.signal(signal.SIGSTOP)
        pause(5)
        for process in chosen:
            process.signal(signal.SIGCONT)

    return during


def _assert_survives(during: Callable[[Link, Process, Process], None]) -> None:
    measured = measure(PATH, "--bytes", "8MB", during=during)
    assert_whole(measured, 8_000_000)
    # Silence of an end is not taken for a path without datagrams.
    assert measured.report["transport"] == "udp"


@scenario
def a_receiver_that_is_stopped_for_five_seconds() -> None:
    _assert_survives(_stopped(0))


@scenario
def a_sender_that_is_stopped_for_five_seconds() -> None:
    _assert_survives(_stopped(1))


@scenario
def both_ends_suspended_for_five_seconds() -> None:
    _assert_survives(_stopped(0, 1))


def _assert_over_streams(sender: Ended, server: Ended, count: int) -> None:
    """Whole all the same, and said in one line that datagrams do not come through."""
    report = json.loads(sender.stdout)
    assert_whole(Measured(sender, server, report), count)
    assert report["transport"] == "tcp"
    told = [line for line in sender.stderr.splitlines() if "no datagram" in line]
    assert len(told) == 1, sender.stderr
    assert "TLS/TCP streams" in told[0]
    assert len([line for line in sender.stderr.splitlines() if "WARN" in line]) == 1, sender.stderr


def _blocked_from_the_start(way: str, path: str = PATH) -> None:
    with link(*path.split(), f"--{way}", "block=udp") as up:
        server, url = up.serve("--once")
        sender = up.send(url, "--bytes", "1MB", "--json", "-").end(SOON)
        _assert_over_streams(sender, server.end(SOON), 1_000_000)


@scenario
def udp_blocked_to_the_listener() -> None:
    _blocked_from_the_start("to-right")


@scenario
def udp_blocked_to_the_dialler() -> None:
    _blocked_from_the_start("to-left")


@scenario
def udp_blocked_on_a_long_way() -> None:
    # Whoever waits for the first datagram gives up later there than who misses the next one.
    _blocked_from_the_start("to-right", FAR)


@scenario
def udp_insisted_on_where_it_is_blocked() -> None:
    with link(*PATH.split(), "--block", "udp") as up:
        _server, url = up.serve()
        assert_one_error(up.send(url, "--bytes", "1MB", "--transport", "udp").end(SOON), "UDP", "transport auto")


def _cut(change: str) -> tuple[Ended, Ended]:
    """Both ends' words when the link changes for good under way."""
    with link(*PATH.split()) as up:
        server, url = up.serve("--once")
        sender = up.send(url, "--bytes", "100MB")
        up.wait_for_traffic()
        up.set(*change.split())
        return sender.end(2 * SOON), server.end(2 * SOON)


@scenario
def a_link_that_dies() -> None:
    sender, server = _cut("--block all")
    assert_one_error(sender)
    assert_one_error(server)
    assert sender.waited < SOON + 2


def _blocked_under_way(way: str) -> None:
    with link(*PATH.split()) as up:
        server, url = up.serve("--once")
        sender = up.send(url, "--bytes", "8MB", "--json", "-")
        up.wait_for_traffic()
        up.set(f"--{way}", "block=udp")
        _assert_over_streams(sender.end(2 * SOON), server.end(SOON), 8_000_000)


@scenario
def udp_to_the_listener_blocked_under_way() -> None:
    _blocked_under_way("to-right")


@scenario
def udp_to_the_dialler_blocked_under_way() -> None:
    _blocked_under_way("to-left")


@scenario
def a_sender_that_is_killed() -> None:
    with link(*PATH.split()) as up:
        server, url = up.serve()
        first = up.send(url, "--bytes", "100MB")
        up.wait_for_traffic()
        first.signal(signal.SIGKILL)
        assert first.end().code == -signal.SIGKILL
        _assert_served_after_one(server, up.send(url, "--bytes", "1MB").end())


@scenario
def a_receiver_that_is_killed() -> None:
    with link(*PATH.split()) as up:
        server, url = up.serve()
        sender = up.send(url, "--bytes", "100MB")
        up.wait_for_traffic()
        server.signal(signal.SIGKILL)
        assert_one_error(sender.end(SOON))


def _assert_serves_the_next(server: Process, send: Callable[[], Process]) -> None:
    """It serves who comes once the one before is given up."""
    for _ in range(int(PATIENCE)):
        ended = send().end()
        if "busy" not in ended.stderr:
            break
    _assert_served_after_one(server, ended)


def _assert_served_after_one(server: Process, ended: Ended) -> None:
    """This one is served, and the server has told once what happened to the one before."""
    assert ended.code == 0, ended
    server.signal(signal.SIGINT)
    ended = server.end(SOON)
    assert len(ended.problems) == 1, ended.stderr
    assert "panicked" not in ended.stderr
    assert "1000000 bytes, verified" in ended.stdout


def _stopped_for_good(*options: str) -> None:
    with link(*PATH.split()) as up:
        server, url = up.serve()
        dialler = up.send(url, "--bytes", "100MB", *options)
        up.wait_for_traffic()
        dialler.signal(signal.SIGSTOP)
        _assert_serves_the_next(server, lambda: up.send(url, "--bytes", "1MB"))


@scenario
def a_sender_that_is_stopped_for_good() -> None:
    _stopped_for_good()


@scenario
def a_receiver_over_streams_that_is_stopped_for_good() -> None:
    _stopped_for_good("--transport", "tcp", "--reverse")


@scenario
def a_server_that_is_stopped_for_good() -> None:
    with link(*PATH.split()) as up:
        server, url = up.serve()
        sender = up.send(url, "--bytes", "100MB")
        up.wait_for_traffic()
        server.signal(signal.SIGSTOP)
        assert_one_error(sender.end(SOON + 2), "no sign of life")


def _say_hello(url: str, reverse: bool) -> ssl.SSLSocket:
    """A dialler that is let in, and says nothing more."""
    token, rest = url.removeprefix("ripp://").split("@")
    host, port = rest.split("/")[0].split(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["ripp/1"])
    connection = context.wrap_socket(socket.create_connection((host, int(port)), SOON))
    request = {"kind": "perf", "amount": {"bytes": 1000}, "mode": "reliable", "reverse": reverse}
    hello = {"type": "hello", "versions": [2], "token": token, "name": "perf", "lanes": 1, "ciphers": ["aes128-gcm"], "request": json.dumps(request)}
    said = json.dumps(hello).encode()
    connection.sendall(struct.pack(">I", len(said)) + said)
    (length,) = struct.unpack(">I", connection.recv(4))
    assert json.loads(connection.recv(length))["type"] == "welcome"
    return connection


@scenario
def diallers_that_say_hello_and_no_more() -> None:
    perf = [str(VISAPULT), "perf"]
    servers = [Process([*perf, "serve", "--bind", "127.0.0.1:0"]) for _ in range(2)]
    try:
        urls = [server.read_line() for server in servers]
        silent = [_say_hello(url, reverse) for url, reverse in zip(urls, (False, True), strict=True)]
        for server, url in zip(servers, urls, strict=True):
            _assert_serves_the_next(server, partial(Process, [*perf, "send", url, "--bytes", "1MB"]))
        for connection in silent:
            connection.close()
    finally:
        for server in servers:
            server.stop()


def _interrupted(first: int, *options: str) -> tuple[Ended, Ended]:
    """The end that is interrupted, and the other."""
    with link(*PATH.split()) as up:
        server, url = up.serve("--once")
        sender = up.send(url, "--bytes", "100MB", *options)
        up.wait_for_traffic()
        both = [server, sender]
        both[first].signal(signal.SIGINT)
        return both[first].end(5), both[1 - first].end(SOON)


@scenario
def ctrl_c_at_the_sender() -> None:
    sender, server = _interrupted(1)
    assert (sender.code, sender.problems) == (130, [])
    # What was under way has arrived, and is right.
    assert "verified" in sender.stdout
    assert "verified" in server.stdout


@scenario
def ctrl_c_long_before_the_time_is_up() -> None:
    with link(*PATH.split()) as up:
        _server, url = up.serve("--once")
        sender = up.send(url, "--rate", "20M", "--time", "1h", "--json", "-")
        up.wait_for_traffic()
        sender.signal(signal.SIGINT)
        ended = sender.end(SOON)
    assert (ended.code, ended.problems) == (130, [])
    # The rate is over the time that it took, not over that asked for.
    report = json.loads(ended.stdout)
    assert report["goodput_bps"] * report["seconds"] > 0.3 * 8 * report["bytes"] > 0


@scenario
def ctrl_c_at_the_receiver() -> None:
    server, sender = _interrupted(0)
    assert server.code == 130
    assert_one_error(sender, "other end")


@scenario
def ctrl_c_at_a_receiver_that_dialled() -> None:
    receiver, server = _interrupted(1, "--reverse")
    assert receiver.code == 130
    assert_one_error(server, "other end")


@scenario
def ctrl_c_while_the_link_is_dead() -> None:
    with link(*PATH.split()) as up:
        _server, url = up.serve()
        sender = up.send(url, "--bytes", "100MB")
        up.wait_for_traffic()
        up.set("--block", "all")
        sender.signal(signal.SIGINT)
        assert sender.end(5).code == 130


@scenario
def a_host_that_does_not_answer() -> None:
    with link(*PATH.split(), "--block", "all") as up:
        _server, url = up.serve()
        assert_one_error(up.send(url, "--time", "1s").end(SOON), "did not answer", "firewall")


@pytest.mark.skipif(unable() is not None, reason=str(unable()))
@pytest.mark.parametrize("name", SCENARIOS)
def test_bad_day(name: str, played: dict[str, Future[None]]) -> None:
    played[name].result(timeout=170)
