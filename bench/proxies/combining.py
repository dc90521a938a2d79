"""What combining the parts of several PEs costs, and whether they make one picture: `make bench-proxies`.

usage: python bench/proxies/combining.py [--runs 3]    (the Python tests' environment and a Rust toolchain)
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from examples import Row, rows_of, spread

# From the folders that `examples` adds to the path.
from fields import SOFT_CLOUD, THIN_SHELLS
from page import publish
from subjects import Subject, fine_turbulence, long_waves

NAME = "combining"
HEAD = """## Combining the parts of PEs

256^3, 512 x 512 pixels, 128 slabs. Every PE is cast as if it had a process of its own; then the parts are put together (direct-send), and slabs compressed.
Processor seconds of all PEs together, on one thread. *Beyond one PE* is the share of the whole that one PE does not need: combining itself, what is cast
twice at borders, and rays that do not know what lies in front. Asked: at most 20 % of the frame's time at 8 PEs. *Picture* is the foreground PSNR against the picture of one PE
(of slabs, turned by 16 degrees); asked: 45 dB. 150 stands for equal pictures. *Sent* is what PEs send each other, before compression.

| field | what | PEs | casting, s | combining, s | of the whole | beyond one PE | sent, MB | picture, dB |
|---|---|--:|--:|--:|--:|--:|--:|--:|
"""


def section(rows: list[Row]) -> str:
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["subject"], row["kind"], row["pes"]), []).append(row)

    def whole(subject: str, kind: str, pes: int) -> float:
        return min(row["cast_s"] + row["combine_s"] for row in groups[subject, kind, pes])

    lines = []
    for (subject, kind, pes), runs in groups.items():
        share = statistics.median(row["combine_s"] / (row["cast_s"] + row["combine_s"]) for row in runs)
        beyond = 1 - whole(subject, kind, 1) / whole(subject, kind, pes)
        cast, combined = (spread((row[part] for row in runs), 3) for part in ("cast_s", "combine_s"))
        lines.append(
            f"| {subject} | {kind} | {pes} | {cast} | {combined} | {100 * share:.0f} % | {100 * beyond:.0f} % "
            f"| {runs[0]['bytes'] / 1e6:.1f} | {runs[0]['psnr_db']:.1f} |"
        )
    return HEAD + "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=3)
    chosen = arguments.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for subject in [
            Subject("waves, thin shells", long_waves, THIN_SHELLS, SOFT_CLOUD),
            Subject("turbulence, soft", fine_turbulence, SOFT_CLOUD, THIN_SHELLS),
        ]:
            rows += rows_of("combining", subject, Path(folder), chosen.runs)
    publish(NAME, rows)


if __name__ == "__main__":
    main()
