"""What combining the parts of several PEs costs, and whether they make one picture: `make bench-proxies`.

usage: python bench/proxies/combining.py [--runs 3]    (the Python tests' environment and a Rust toolchain)
"""

from __future__ import annotations

import statistics
from pathlib import Path

from examples import Row, rows_of, shells_and_cloud, spread

# From the folders that `examples` adds to the path.
from page import measured
from subjects import fine_turbulence, long_waves

NAME = "combining"
HEAD = """## Combining the parts of PEs

256^3, 512 x 512 pixels, 128 slabs. Every PE is cast as if it had a process of its own; then the parts are put together (direct-send), and slabs compressed.
Processor seconds of all PEs together, on one thread: median (least to most). *Compressing* is that of slabs in places where several PEs show; of the others it is part of casting. *Combining* is
what is left of putting the parts together; asked: at most 20 % of the whole at 8 PEs. *Beyond one PE*: by how much the whole is more than one PE takes; besides combining,
borders are cast twice, and rays do not know what lies in front. The way between processes is not part of it: *sent* is what PEs send each other, before it is compressed. *Picture* is the foreground PSNR against the picture
of one PE (of slabs, turned by 16 degrees); asked: 45 dB. 150 stands for equal pictures.

| field | what | PEs | casting, s | combining, s | compressing, s | combining, share | beyond one PE | sent, MB | picture, dB |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
"""
PARTS = ("cast_s", "combine_s", "compress_s")


def section(rows: list[Row]) -> str:
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["subject"], row["kind"], row["pes"]), []).append(row)

    def whole(subject: str, kind: str, pes: int) -> float:
        return statistics.median(sum(row[part] for part in PARTS) for row in groups[subject, kind, pes])

    lines = []
    for (subject, kind, pes), runs in groups.items():
        share = statistics.median(row["combine_s"] for row in runs) / whole(subject, kind, pes)
        beyond = whole(subject, kind, pes) / whole(subject, kind, 1) - 1
        seconds = " | ".join(spread((row[part] for row in runs), 3) for part in PARTS)
        ends = f"{100 * share:.0f} % | {100 * beyond:.0f} % | {runs[0]['bytes'] / 1e6:.1f} | {runs[0]['psnr_db']:.1f}"
        lines.append(f"| {subject} | {kind} | {pes} | {seconds} | {ends} |")
    return HEAD + "\n".join(lines)


def measure(runs: int, folder: Path) -> list[Row]:
    return [row for subject in shells_and_cloud(long_waves, fine_turbulence) for row in rows_of("combining", subject, folder, runs)]


if __name__ == "__main__":
    measured(NAME, __doc__, measure)
