"""A long day in ten minutes: `make soak`. Ranks behind a lossy link, a back end, pages; the link is cut, ranks are killed and come back, pages come
and go, one never reads. At the end memory must be as flat as it was, and steps must still come.

FOR=10m sets the time, JSON=FILE writes what was seen. Exits non-zero if memory grew or the steps stopped."""

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from demo_wan import (
    FLOW_PORT,
    PAGE_PORT,
    RANKS,
    RATE_BPS,
    RIGHT,
    ROOT,
    VISAPULT,
    WAN,
    WAVE,
    Link,
    check,
    forward_page,
    line_of,
    seconds_of,
)

# A period of trouble, in seconds from its start: what happens.
PERIOD_S = 60
CUT_S = (10, 15)
KILL_S = 25
PAGE_S = 40
# Memory may differ by this much between the second and the last third: what is kept for reuse, and the allocator's own.
ROOM_BYTES = 48 << 20
STEPS_PER_S = 8
# What a page sends first (view protocol).
VIEW = 64
FIRST_VIEW = ROOT / "testdata/wire/view.json"


def resident_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(found[0]) << 10 if found else 0


def children_named(name: str, of: int) -> list[int]:
    """Descendants of a process that run the program `name`."""
    found, todo = [], [of]
    while todo:
        pid = todo.pop()
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
            for task in Path(f"/proc/{pid}/task").iterdir():
                todo += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def silent_viewer(address: tuple[str, int], token: str) -> socket.socket:
    """Opens a session, says what it shows, and never reads what it is sent."""
    viewer = socket.create_connection(address)
    host = f"{address[0]}:{address[1]}"
    request = [
        f"GET /session?token={token} HTTP/1.1",
        f"Host: {host}",
        f"Origin: http://{host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    shows = bytes([VIEW]) + FIRST_VIEW.read_bytes()
    # One binary message, masked with zeros (RFC 6455, section 5.2).
    frame = bytes([0x82, 0x80 | 126]) + len(shows).to_bytes(2, "big") + bytes(4) + shows
    viewer.sendall(("\r\n".join(request) + "\r\n\r\n").encode() + frame)
    return viewer


@dataclass
class Soak:
    link: Link
    launcher: str
    backend: subprocess.Popen[str]
    flow: str
    url: str
    memory: list[int] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    wave: subprocess.Popen[str] | None = None
    pages: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_wave(self) -> None:
        command = [self.launcher, "-n", str(RANKS), str(WAVE), "--n", "128", "--every", "1", "--rate", str(STEPS_PER_S)]
        rate = str(int(0.995 * RATE_BPS / RANKS))
        self.wave = self.link.start("left", command, VISAPULT_URL=self.flow, VISAPULT_RATE=rate)

    def kill_ranks(self) -> None:
        assert self.wave is not None
        for pid in children_named("wave", self.wave.pid):
            # The launcher may end the others as soon as one is gone.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wave.wait(10)
        self.start_wave()

    def cut(self, loss: str) -> None:
        subprocess.run([WAN, "set", "--name", self.link.name, "--loss", loss], check=True, stdout=subprocess.DEVNULL)

    def open_page(self) -> None:
        """A page for a while, in a browser of its own."""
        script = ROOT / "tools/count_steps.mjs"
        command = ["node", str(script), self.url, "10"]
        self.pages.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def run(self, seconds: float) -> None:
        began, done = time.monotonic(), set[tuple[int, str]]()
        while (now := time.monotonic() - began) < seconds:
            if self.backend.poll() is not None:
                raise SystemExit(f"soak: the back end ended by itself after {now:.0f} s")
            period, at = divmod(now, PERIOD_S)
            # The last period is quiet, so that the end shows what is left.
            for name, when, act in self.troubles() if now < seconds - PERIOD_S else []:
                if at >= when and (int(period), name) not in done:
                    done.add((int(period), name))
                    self.events.append(f"{now:.0f} s: {name}")
                    print(self.events[-1], file=sys.stderr, flush=True)
                    act()
            self.memory.append(resident_bytes(self.backend.pid))
            time.sleep(1)

    def troubles(self) -> list[tuple[str, float, object]]:
        return [
            ("the link is cut", CUT_S[0], lambda: self.cut("100%")),
            ("the link is back", CUT_S[1], lambda: self.cut("0.1%")),
            ("ranks are killed, and started anew", KILL_S, self.kill_ranks),
            ("a page opens", PAGE_S, self.open_page),
        ]

    def growth_bytes(self) -> float:
        """Of the last third over the second."""
        third = len(self.memory) // 3
        return statistics.median(self.memory[-third:]) - statistics.median(self.memory[third : 2 * third])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="time", default="10m", help="how long (10m)")
    parser.add_argument("--json", default="", help="write what was seen to this file")
    options = parser.parse_args()
    launcher, seconds = check(), seconds_of(options.time)
    if seconds < 3 * PERIOD_S:
        parser.error(f"--for {options.time}: at least {3 * PERIOD_S} s, so that there are thirds to compare")
    link = Link()
    with tempfile.TemporaryDirectory(prefix="visapult-soak-") as scratch:
        report = Path(scratch) / "report.json"
        try:
            command = [VISAPULT, "backend", "--listen", f"{RIGHT}:{FLOW_PORT}", "--mode", "lossy", "--no-open"]
            command += ["--port", PAGE_PORT, "--json", report]
            backend = link.start("right", [str(word) for word in command])
            soak = Soak(link, launcher, backend, line_of(backend), "")
            soak.start_wave()
            inside = line_of(backend)
            door = forward_page(link.namespace("right"), PAGE_PORT)
            soak.url = inside.replace(f":{PAGE_PORT}/", f":{door.getsockname()[1]}/")
            token = parse_qs(urlsplit(soak.url).query)["token"][0]
            silent = silent_viewer(door.getsockname(), token)
            soak.run(seconds)
            silent.close()
            failed = sum(page.wait(60) != 0 for page in soak.pages)
            backend.send_signal(signal.SIGINT)
            backend.wait(20)
            said = json.loads(report.read_text())
        finally:
            link.down()
    growth = soak.growth_bytes()
    result = {
        "seconds": seconds,
        "events": soak.events,
        "memory_bytes": soak.memory,
        "growth_bytes": growth,
        "pages_failed": failed,
        "steps_received": said["steps_received"],
        "fresh_share": said["fresh_share"],
    }
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    held = statistics.median(soak.memory)
    print(
        f"{len(soak.events)} troubles in {seconds:.0f} s; {said['steps_received']} steps, {100 * said['fresh_share']:.2f} % of their values fresh; "
        f"the back end held {held / 2**20:.0f} MiB, {growth / 2**20:+.0f} MiB in the last third"
    )
    if growth > ROOM_BYTES:
        sys.exit("soak: memory grew")
    if failed:
        sys.exit(f"soak: {failed} of {len(soak.pages)} pages showed nothing")
    # Half the time at least: cuts and restarts take the rest.
    if said["steps_received"] < seconds * STEPS_PER_S / 2:
        sys.exit("soak: steps stopped coming")


if __name__ == "__main__":
    main()
