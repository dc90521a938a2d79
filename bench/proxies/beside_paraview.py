"""The first picture and a turning view of a volume on the other side of a link: our page beside ParaView's client and server: `make bench-proxies`.

usage: VISAPULT=... WAN=... python bench/proxies/beside_paraview.py [--runs 3]
Root for the link; chromium; the Debian packages paraview, python3-paraview, xvfb and xauth: without them only our figures are had, and it says so.
"""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from examples import ROOT, Row, spread

sys.path.append(str(ROOT / "bench/transport"))

# From the folders that `examples` adds to the path, and that one.
from columns import Column
from fields import spherical_waves
from machine import package_version
from page import measured
from testbed import LEFT, Testbed
from turning import HERE, VISAPULT, opened, running

NAME = "paraview"
N, FRAMES, PORT = 256, 6, 11111
LINK = Column("wide", "80 ms, 100 Mbit/s", 1e8, 80)
NEEDED = ("pvserver", "pvpython", "xvfb-run")
HEAD = f"""## Beside ParaView

Waves of {N}^3 on one side of {LINK.title}, 1024 x 768 pixels, software rendering on both sides, the default transfer function of each. *First picture*: from opening the page, or from connecting, to
the first picture of the volume, the page's from coarse bricks; *whole*: to the picture at full quality. ParaView's client runs already, and its first picture is whole. *Turning*: pictures a second
while the view turns by five degrees a picture, each finished before the next is asked for; the page's view goes there and back, ParaView's further on. ParaView renders on its server and sends
pictures (*moving*: its coarser ones while the view moves). The page draws at full resolution, what it does at rest; its coarser pictures while the view moves are switched off. Median
(least to most).

| | first picture, s | whole, s | turning, pictures/s |
|---|--:|--:|--:|
"""


def ours(bed: Testbed, field: Path, runs: int) -> list[Row]:
    rows = []
    for _ in range(runs):
        with ExitStack() as stack:
            page, _ = opened(stack, field, "auto", 1, bed)
            began = json.loads(page.stdout.readline())
            page.stdin.write("turn\n")
            page.stdin.flush()
            told = json.loads(page.stdout.readline())
        seconds = [ms / 1000 for ms in told["photon_ms"]]
        rows.append({"who": "visapult", "first_s": began["first_ms"] / 1000, "whole_s": began["whole_ms"] / 1000, "seconds": seconds, "plan": began["plan"]})
    return rows


def theirs(bed: Testbed, raw: Path, runs: int) -> list[Row]:
    missing = [need for need in NEEDED if not shutil.which(need)]
    if missing:
        print(f"skipped: no {', '.join(missing)}", file=sys.stderr)
        return []
    version = package_version("paraview")
    rows = []
    for _ in range(runs):
        with ExitStack() as stack:
            server = ["xvfb-run", "-n", "141", "pvserver", f"--server-port={PORT}"]
            heard = stack.enter_context(running(server, bed, "left")).stdout
            next(line for line in heard if "Accepting connection" in line)
            client = ["xvfb-run", "-n", "142", "pvpython", HERE / "paraview_client.py", LEFT, PORT, raw, N, FRAMES]
            said = stack.enter_context(running(client, bed, "right")).stdout
            told = json.loads(next(line for line in said if line.startswith("{")))
        for who, seconds in (("ParaView", told["still_s"]), ("ParaView, moving", told["moving_s"])):
            rows.append({"who": who, "first_s": told["first_s"], "whole_s": told["first_s"], "seconds": seconds, "version": version})
    return rows


def section(rows: list[Row]) -> str:
    lines = []
    for who in dict.fromkeys(row["who"] for row in rows):
        of_it = [row for row in rows if row["who"] == who]
        rates = spread((1 / seconds for row in of_it for seconds in row["seconds"]), 1)
        lines.append(f"| {who} | {spread(row['first_s'] for row in of_it)} | {spread(row['whole_s'] for row in of_it)} | {rates} |")
    versions = {row["version"] for row in rows if "version" in row}
    lines.append(f"\n{', '.join(versions) or 'ParaView: skipped, it is not installed'}.")
    return HEAD + "\n".join(lines)


def measure(runs: int, folder: Path) -> list[Row]:
    with Testbed(LINK, 1) as bed:
        field, raw = folder / "waves.npy", folder / "waves.raw"
        values = spherical_waves(N, 0.35)
        np.save(field, values)
        values.tofile(raw)
        return theirs(bed, raw, runs) + ours(bed, field, runs)


if __name__ == "__main__":
    measured(NAME, __doc__, measure)
