"""One run of one peer over one link."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from columns import Column
from peers import SECONDS, Ours, Peer
from processes import Sampler, at, busy_seconds, wait_listening
from testbed import Testbed

# The tail of a transfer that goes on until everything is there.
PATIENCE = 45
# How often a run is made until the testbed keeps up.
TRIES = 3


class Lines:
    """Collects what a program prints."""

    def __init__(self, source: IO[str]) -> None:
        self.lines: list[str] = []
        self._thread = threading.Thread(target=lambda: self.lines.extend(source), daemon=True)
        self._thread.start()

    def wait_for(self, start: str, seconds: float) -> str | None:
        """The first line that begins so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in list(self.lines):
                if line.startswith(start):
                    return line.strip()
            time.sleep(0.02)
        return None

    def all(self) -> list[str]:
        """Everything, once the program has ended."""
        self._thread.join(5)
        return self.lines


def measure_well(peer: Peer, column: Column, seed: int) -> dict[str, object]:
    """A run that the testbed kept up with; the last one if there is none."""
    for _ in range(TRIES):
        run = measure(peer, column, seed)
        if "failed" in run or run["honest"]:
            break
    return run


def measure(peer: Peer, column: Column, seed: int) -> dict[str, object]:
    """Goodput over the first seconds, start included, CPU time of both ends, and what the testbed got wrong."""
    with Testbed(column, seed) as link, tempfile.TemporaryDirectory() as folder:
        commands = peer.commands(column)
        environment = {**os.environ, **(commands.environment or {})}
        # What an end says of errors, for the message if nothing arrives.
        errors = Path(folder) / "errors"
        with errors.open("w") as sink:

            def launch(side: str, command: list[str], output: int | IO[str]) -> subprocess.Popen[str]:
                words = link.command(side, command)
                return subprocess.Popen(
                    words, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=sink, text=True, start_new_session=True
                )

            server = launch("right", commands.server, subprocess.PIPE)
            assert server.stdout
            printed = Lines(server.stdout)
            try:
                report = Path(folder) / "report.json"
                if isinstance(peer, Ours):
                    url = printed.wait_for("ripp://", 10)
                    if url is None:
                        return failure("its server printed no URL", errors)
                    command = peer.client(column, url, report)
                else:
                    if not wait_listening(server.pid, peer.port):
                        return failure(f"its server does not listen on port {peer.port}", errors)
                    command = commands.client
                link.stats(reset=True)
                busy, began, began_unix = busy_seconds(), time.monotonic(), time.time()
                client = launch("left", command, sink)
                sampler = Sampler(server.pid, client.pid, peer.io_kind)
                sampler.start()
                wait(client, began + (PATIENCE if isinstance(peer, Ours) else SECONDS + 0.2))
                took = time.monotonic() - began
                sampler.stop()
                stats = link.stats()
                busy = busy_seconds() - busy
                end(client)
            finally:
                end(server)
            if isinstance(peer, Ours):
                result = ours(peer.result(report), began_unix, took)
            else:
                payload = sampler.payload if peer.io_kind else parse(printed.all())
                result = theirs(payload, began)
            if not result["goodput_bps"]:
                return failure("nothing arrived", errors)
            sender, receiver = sampler.cpu("client"), sampler.cpu("server")
            return {
                **result,
                "cpu_s": {"sender": round(sender, 2), "receiver": round(receiver, 2)},
                # What else the machine did: nothing that a figure should have suffered from, on a good day.
                "others_cpu_s": round(max(0.0, busy - sender - receiver - stats["cpu_s"]), 2),
                "wire_series": rates(sampler.wire, began),
                "link": {key: stats["to_right"][key] for key in ("packets_in", "packets_out", "dropped", "queue_max_us")},
                "own_errors": stats["own_errors"],
                "honest": stats["own_errors"]["kept_up"],
            }


def theirs(payload: list[tuple[float, int]], began: float) -> dict[str, object]:
    """The first seconds, start included; and their second half."""
    whole, half = at(payload, began + SECONDS), at(payload, began + SECONDS / 2)
    if not payload or payload[-1][0] < began + SECONDS - 0.5:
        whole = half = 0.0
    return {
        "goodput_bps": whole * 8 / SECONDS,
        "second_half_bps": (whole - half) * 8 / (SECONDS / 2),
        "series": rates(payload, began),
    }


def ours(report: dict[str, Any], began: float, took: float) -> dict[str, object]:
    """The first seconds since the client was started, of what was verified in the end; and all of it over all the time of the client.

    The report says when the first byte had come, and counts what came from then on. It was sent half a round trip before: from there the
    same seconds leave out what TLS and agreeing take.
    """
    verified = bool(report.get("verified"))
    arrived = report.get("bytes", 0) if verified else 0
    tenths = (report.get("bytes_per_100_ms") or []) if verified else []
    first = report.get("first_byte_unix_s") or began
    counts = itertools.accumulate(tenths, initial=0)
    payload = [(first + tenth / 10, count) for tenth, count in enumerate(counts)]
    early = at(payload, began + SECONDS) if tenths else arrived
    rtt_us = (report.get("rtt_us") or {}).get("min")
    since_sent = at(payload, first - rtt_us / 2e6 + SECONDS) if tenths and rtt_us is not None else 0
    return {
        "goodput_bps": early * 8 / (SECONDS if tenths else max(took, SECONDS)),
        "since_sent_bps": since_sent * 8 / SECONDS,
        "until_verified_bps": arrived * 8 / took,
        "first_byte_s": round(first - began, 4),
        "series": rates(payload, began) if tenths else [],
        "report": report,
    }


def rates(series: list[tuple[float, int]], began: float, step: float = 0.1) -> list[float]:
    """Bits per second in each tenth of a second since the start."""
    if not series:
        return []
    first = series[0][1] if series[0][0] <= began + step else 0
    counts = [at(series, began + step * i) or first for i in range(int(SECONDS / step) + 1)]
    return [round(max(0.0, after - before) * 8 / step) for before, after in zip(counts, counts[1:], strict=False)]


def parse(lines: list[str]) -> list[tuple[float, int]]:
    """`time total_bytes`, as the small programs print it."""
    pairs = [line.split() for line in lines]
    return [(float(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2 and pair[1].isdigit()]


def wait(process: subprocess.Popen[str], until: float) -> None:
    """Until a process ends, at most to a time."""
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass


def end(process: subprocess.Popen[str]) -> None:
    """Ends a process and its children."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            pass
        wait(process, time.monotonic() + 1)


def failure(why: str, errors: Path) -> dict[str, object]:
    """A run without a figure."""
    said = errors.read_text().strip().splitlines()
    return {"goodput_bps": 0.0, "failed": f"{why}: {said[-1]}" if said else why, "honest": False}
