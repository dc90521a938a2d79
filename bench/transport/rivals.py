"""A transfer of ours and a TCP flow over one link, as both benches of what limits start them."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from measure import end
from peers import VISAPULT
from processes import wait_listening
from testbed import RIGHT, Testbed

PERF_PORT, IPERF_PORT = 7410, 5299
# The tail of a transfer that goes on until everything is there.
PATIENCE = 40

Process = subprocess.Popen[str]
Launch = Callable[..., Process]


def prefer() -> None:
    """What else the machine does is not what is measured: the programs and the testbed go first."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)


def launcher(link: Testbed, ends: contextlib.ExitStack) -> Launch:
    """Starts programs at the ends of a link, which end with `ends`."""

    def launch(side: str, command: list[str], output: int = subprocess.DEVNULL) -> Process:
        words = link.command(side, command)
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        ends.callback(end, process)
        return process

    return launch


def serve_perf(launch: Launch) -> tuple[Process, str]:
    """A `perf serve` on the right for one measurement, and its URL."""
    server = launch("right", [str(VISAPULT), "perf", "serve", "--bind", f"{RIGHT}:{PERF_PORT}", "--once"], subprocess.PIPE)
    assert server.stdout
    return server, server.stdout.readline().strip()


def send_perf(launch: Launch, url: str, seconds: int, report: Path, options: list[str]) -> Process:
    """A `perf send` on the left, which reports in the end."""
    return launch("left", [str(VISAPULT), "perf", "send", url, "--time", f"{seconds}s", "--json", str(report), *options])


def wait_for_report(client: Process, seconds: int) -> None:
    """Until it has sent for so long, and its tail has come; not for ever."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        client.wait(seconds + PATIENCE)


def serve_cubic(launch: Launch) -> Process:
    """An iperf3 on the right that waits for one flow."""
    server = launch("right", ["iperf3", "-s", "-1", "-p", str(IPERF_PORT)])
    wait_listening(server.pid, IPERF_PORT)
    return server


def send_cubic(launch: Launch, seconds: int) -> Process:
    """The flow, from the left."""
    return launch("left", ["iperf3", "-c", RIGHT, "-p", str(IPERF_PORT), "-C", "cubic", "-t", str(seconds)])
