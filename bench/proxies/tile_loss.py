"""What lost tiles do to the picture of a proxy, with holes and with coarse bricks in their place: `make bench-proxies`.

usage: python bench/proxies/tile_loss.py [--runs 3]    (the Python tests' environment and a Rust toolchain)
"""

from __future__ import annotations

import statistics
from pathlib import Path

from examples import Row, rows_of

# From the folders that `examples` adds to the path.
from page import measured
from subjects import subjects

NAME = "tile-loss"
# Share of tiles lost, and by how many dB the picture may be worse.
ASKED_DB = {0.01: 0.5, 0.05: 2.0, 0.2: 6.0}
HEAD = """## Lost tiles

The fields of the [figures of quality](quality.md) at 256 x 256 pixels, turned by 16 degrees; foreground PSNR with all tiles, and by how many dB it falls where 1 / 5 / 20 % of them are lost at
random, at least one: medians of several choices where there are several. Asked: by at most 0.5 / 2 / 6 dB. *Holes*: nothing stands in for a lost tile. *Level 1, level 2*: what bricks of that
level, of an eighth and a 64th of the samples, say of its place stands in for it. The stand-in is the same tile, made of those bricks as a viewer could; for a brick, whose rows lie between those
of three others, these have a say, too. Segments have few tiles, which
are smaller where there are few rays. With level 1 all keep what is asked.

The page does the like ([proxies](proxies.md#tiles-that-do-not-come)), with whatever bricks it holds. In these rows the coarser level is whole; where it has lost bricks, too, what is estimated of it says nothing of finer samples,
and only those beside a lost one stand in for it. Between it and the program nothing is lost, for it all goes over TCP, and what
`visapult render` draws has all its tiles: nothing stands in there.

| field | proxy | tiles | all, dB | holes | level 2 | level 1 |
|---|---|--:|--:|--:|--:|--:|
"""
STAND_INS = (None, 2, 1)


def section(rows: list[Row]) -> str:
    lines = []
    for whole in (row for row in rows if row["loss"] == 0):
        of_it = [row for row in rows if row["loss"] and all(row[key] == whole[key] for key in ("subject", "proxy"))]

        def fall(level: int | None, loss: float) -> str:
            found = [row["psnr_db"] for row in of_it if row["loss"] == loss and row["stand_in"] == level]
            return f"{whole['psnr_db'] - statistics.median(found):.1f}"

        falls = [" / ".join(fall(level, loss) for loss in ASKED_DB) for level in STAND_INS]
        head = f"{whole['subject']} | {whole['proxy']} | {whole['tiles']} | {whole['psnr_db']:.1f}"
        lines.append(f"| {head} | {' | '.join(falls)} |")
    return HEAD + "\n".join(lines)


def measure(runs: int, folder: Path) -> list[Row]:
    return [row for subject in subjects(folder) for row in rows_of("tile_loss", subject, folder, runs)]


if __name__ == "__main__":
    measured(NAME, __doc__, measure)
