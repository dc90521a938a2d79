"""How long a keyframe takes on one thread and on two, from 256^3 and 512^3, and how good one of few slabs is: `make bench-proxies`.

usage: python bench/proxies/keyframes.py [--runs 3]    (prints what it measured; the Python tests' environment, a Rust toolchain, 4 GB of memory)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from examples import Row, rows_of, shells_and_cloud, spread

# From the folders that `examples` adds to the path.
from fields import SOFT_CLOUD, THIN_SHELLS, spectrum, spherical_waves
from page import measured
from subjects import Field, Subject

NAME = "keyframes"
# Seconds asked for on two threads.
ASKED_S = {256: 0.5, 512: 1.2}
ASKED_SPEED_UP = 1.85
FEW = "64 slabs"
# Of these from 256^3: seconds on two threads, and dB over the foreground by field.
ASKED_FEW_S = 0.35
ASKED_FEW_DB = {"waves, soft": 47, "turbulence, soft": 35}
FEW_EDGE = 256
HEAD = f"""## Making keyframes

512 x 512 rays, 128 slabs; wave numbers of the turbulence up to 24. Seconds by the clock and of the processor (all threads together): median (least to most). Asked for slabs on two threads: {ASKED_S[256]} s from 256^3 and
{ASKED_S[512]} s from 512^3; and to be {ASKED_SPEED_UP} times as fast on two threads as on one. *Speed-up* is that of the least times by the clock. Where the load average below is
beyond 2, others had the cores, too: then seconds by the clock and the speed-up say little, and half the processor seconds of two threads is what two free
cores would take at best.

| field | n | what | one thread, s | two threads, s | asked | speed-up | one thread, processor s | two threads, processor s |
|---|--:|---|--:|--:|--:|--:|--:|--:|
"""


FEW_HEAD = f"""

A keyframe of 64 slabs perpendicular to the view direction, 512 x 512 rays, {FEW_EDGE}^3, on two threads. *Turned* is the PSNR over the foreground, against the exact image at step 1/2, when the
view has turned by 20 degrees.

| field | seconds | asked | processor s | MB | turned, dB | asked |
|---|--:|--:|--:|--:|--:|--:|
"""


def waves_of(n: int) -> Field:
    return Field(spherical_waves(n, 0.35))


def subjects_of(n: int) -> list[Subject]:
    return shells_and_cloud(lambda: waves_of(n), lambda: Field(spectrum(n, 400, 24.0)))


def section(rows: list[Row]) -> str:
    def of(row: Row, threads: int, what: str) -> list[float]:
        same = ("subject", "n", "work")
        return [other[what] for other in rows if other["threads"] == threads and all(other[key] == row[key] for key in same)]

    lines = []
    for row in {(row["subject"], row["n"], row["work"]): row for row in rows if row["work"] != FEW}.values():
        asked = f"{ASKED_S[row['n']]}" if "slabs" in row["work"] else ""
        one, two, cpu_one, cpu_two = (spread(of(row, threads, what)) for what in ("seconds", "cpu_s") for threads in (1, 2))
        faster = min(of(row, 1, "seconds")) / min(of(row, 2, "seconds"))
        cells = [row["subject"], str(row["n"]), row["work"], one, two, asked, f"{faster:.2f}", cpu_one, cpu_two]
        lines.append(f"| {' | '.join(cells)} |")
    few = [row for row in rows if row["work"] == FEW and row["n"] == FEW_EDGE and row["threads"] == 2]
    return HEAD + "\n".join(lines) + (FEW_HEAD + "\n".join(lines_of_few(few)) if few else "")


def lines_of_few(rows: list[Row]) -> Iterator[str]:
    """Of a keyframe of few slabs, a line for each field of which a quality is asked."""
    for subject, asked_db in ASKED_FEW_DB.items():
        of = [row for row in rows if row["subject"] == subject]
        seconds, cpu = (spread((row[what] for row in of), 3) for what in ("seconds", "cpu_s"))
        yield f"| {subject} | {seconds} | {ASKED_FEW_S} | {cpu} | {of[0]['bytes'] / 1e6:.2f} | {of[0]['psnr_db']:.1f} | {asked_db} |"


def measure(runs: int, folder: Path) -> list[Row]:
    subjects = [(n, subject) for n in ASKED_S for subject in subjects_of(n)]
    rows = [{"n": n} | row for n, subject in subjects for row in rows_of("proxy_costs", subject, folder, runs)]
    soft = Subject("waves, soft", lambda: waves_of(FEW_EDGE), SOFT_CLOUD, THIN_SHELLS)
    rows += [{"n": FEW_EDGE} | row for row in rows_of("proxy_costs", soft, folder, runs, FEW)]
    print(section(rows))
    return rows


if __name__ == "__main__":
    measured(NAME, __doc__, measure)
