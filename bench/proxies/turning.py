"""Frames per second of the page while a view turns, and from a key press to the picture; beside the server, and beyond a bad link: `make bench-proxies`.

usage: VISAPULT=... WAN=... python bench/proxies/turning.py [--runs 3]    (root for the link; chromium, MPICH, the Python tests' environment)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from examples import ROOT, Row, spread

sys.path.append(str(ROOT / "bench/transport"))

# From the folders that `examples` adds to the path, and that one.
from columns import Column
from fields import spherical_waves
from page import measured
from testbed import LEFT, Testbed

NAME = "turning"
VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
HERE = Path(__file__).resolve().parent
N = 256
ASKED_FRAMES_PER_S = 3 * 2.1
LINK = Column("bad", "200 ms, 5 % loss", 1e8, 200, 0.05)
# What is asked of the page, and how many processes make it.
PROXIES = {"slabs of two processes": ("slabs", 2), "slabs": ("slabs", 1), "segments": ("segments", 1), "bricks": ("bricks", 1)}
HEAD = f"""## Turning in the page

Waves, {N}^3, 1024 x 768 pixels at full resolution, software WebGL in headless chromium. *Frames/s*: turns of five degrees one after another, as fast as frames come, median (least
to most); asked of slabs: {ASKED_FRAMES_PER_S:.1f}, three times the prototype. *Key to picture*: of single key presses, the picture finished by the graphics library, in milliseconds; asked: within the
time of a frame, wherever the server is. *Processor s*: of the whole browser, a turn; two over it is what two free cores could draw a second. Where the load average below is beyond 2,
frames/s are those of a machine that others use, too.

| proxy | server | frames/s | a frame, ms | key to picture, ms | processor s |
|---|---|--:|--:|--:|--:|
"""


@contextmanager
def running(command: list[object], bed: Testbed | None, side: str) -> Iterator[subprocess.Popen[str]]:
    words = [str(word) for word in command]
    whole = bed.command(side, words) if bed else words
    with subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            for signed in (signal.SIGCONT, signal.SIGKILL):
                tell(process, signed)


def tell(process: subprocess.Popen[str], signed: signal.Signals) -> None:
    """Signals a process and all that it has started; field 4 of `proc_pid_stat(5)` is whose child one is."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            children.setdefault(int(stat.read_text().rsplit(")", 1)[1].split()[1]), []).append(int(stat.parent.name))
    of_it = [process.pid]
    for one in of_it:
        of_it += children.get(one, [])
    for one in of_it:
        with suppress(ProcessLookupError):
            os.kill(one, signed)


def opened(
    stack: ExitStack, field: Path, asked: str, processes: int, bed: Testbed | None, size: str = "1024x768"
) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """A page, beyond the link if there is one, and its server."""
    launcher = ["mpiexec.mpich", "-n", processes] if processes > 1 else []
    server = stack.enter_context(running([*launcher, VISAPULT, "view", field, "--port", 0, "--no-open"], bed, "left"))
    url = next(line for line in server.stdout if "http://" in line)
    url = url[url.index("http://") :].split()[0]
    if bed:
        near, far = f"127.0.0.1:{urlsplit(url).port}", f"{LEFT}:{urlsplit(url).port}"
        for side, ends in (("left", (far, near)), ("right", (near, far))):
            stack.enter_context(running([sys.executable, HERE / "door.py", *ends], bed, side))
    return stack.enter_context(running(["node", HERE / "frames.mjs", url, asked, size], bed, "right")), server


def measure(field: Path, name: str, runs: int, bed: Testbed | None) -> list[Row]:
    rows = []
    with ExitStack() as stack:
        page, server = opened(stack, field, *PROXIES[name], bed)
        opening = page.stdout.readline()
        if not opening:
            raise SystemExit(f"{name}: the page has not shown it")
        plan = json.loads(opening)["plan"]
        for state in ("runs", "suspended"):
            if state == "suspended":
                tell(server, signal.SIGSTOP)
            for _ in range(runs):
                page.stdin.write("turn\n")
                page.stdin.flush()
                told = json.loads(page.stdout.readline())
                rows.append({"proxy": name, "plan": plan, "link": LINK.title if bed else "", "server": state} | told)
    return rows


def section(rows: list[Row]) -> str:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        # A plan begins with what is sent: "128 scalar slabs, as chosen, …".
        sent = row["plan"].split(",")[0]
        groups.setdefault((sent, row["link"], row["server"]), []).append(row)
    lines = []
    for (proxy, link, state), of_it in groups.items():
        where = f"{state}, beyond {link}" if link else state
        rates = spread((1000 / row["frame_ms"] for row in of_it), 1)
        frames = spread((row["frame_ms"] for row in of_it), 0)
        photons = spread((ms for row in of_it for ms in row["photon_ms"]), 0)
        lines.append(f"| {proxy} | {where} | {rates} | {frames} | {photons} | {spread(row['cpu_s'] for row in of_it)} |")
    return HEAD + "\n".join(lines)


def measure_all(runs: int, folder: Path) -> list[Row]:
    rows: list[Row] = []
    field = folder / "waves.npy"
    np.save(field, spherical_waves(N, 0.35))
    for name in PROXIES:
        rows += measure(field, name, runs, None)
        print(rows[-1], flush=True)
    with Testbed(LINK, 1) as bed:
        return rows + measure(field, "slabs", runs, bed)


if __name__ == "__main__":
    measured(NAME, __doc__, measure_all)
