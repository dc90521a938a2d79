"""Draws what `run.py` has measured: curves over the angle and over the bytes, and a table for each subject."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter
from forms import WHOLE_BITS, Form

# Text stays text, and a figure drawn again from the same rows is the same file.
matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "quality", "font.family": "sans-serif", "font.size": 8}

COLUMNS = 2
TURNED_DEG = 30
COLOURS = {"bricks of few bits": "#98df8a", "bricks": "#2ca02c", "scalar": "#9467bd", "slabs": "#1f77b4", "segments": "#d62728"}
STYLES = ("-", "--", ":", "-.")
# What holds for the transfer function that the proxy was made with; the others are drawn with another one.
OWN = "own"

Row = dict[str, Any]

HEAD = """# Quality of proxies

`make bench-quality` measures this page. {pixels} pixels; key view at azimuth 30 and elevation 20 degrees, turned about the vertical axis by the
degrees at the head of a column. PSNR over the foreground (alpha > 1/255) in dB and SSIM of 8-bit RGB on black, against the exact image at step 1/2. MB is
what crosses the wire, compressed; CPU s the processor time of all threads to make it. *Another transfer function*: a proxy that was made without knowing that one, redrawn without a message.

{machine}. All rows are in `bench/results/quality.json`.

![PSNR over the foreground by the angle that the view is turned, a panel for each subject](images/quality-angle.svg)

![PSNR over the foreground at {turned} degrees by the bytes of a proxy, a panel for each subject](images/quality-bytes.svg)
"""


def document(told: dict[str, Any], docs: Path) -> None:
    """Writes the page and its figures."""
    rows: list[Row] = told["rows"]
    angles = rows[0]["angles_deg"]
    figure(rows, docs / "images/quality-angle.svg", lambda panel, own: by_angle(panel, own, angles))
    figure(rows, docs / "images/quality-bytes.svg", lambda panel, own: by_bytes(panel, own, angles.index(TURNED_DEG)))
    size = f"{rows[0]['size'][0]} x {rows[0]['size'][1]}"
    head = HEAD.format(pixels=size, machine=told["machine"], turned=TURNED_DEG)
    tables = [table(subject, [row for row in rows if row["subject"] == subject]) for subject in names(rows)]
    (docs / "quality.md").write_text("\n".join([head, *tables]))


def names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["subject"] for row in rows))


def figure(rows: list[Row], path: Path, panel: Any) -> None:
    subjects = names(rows)
    lines = -(-len(subjects) // COLUMNS)
    drawn, panels = plt.subplots(lines, COLUMNS, figsize=(10, 3 * lines), squeeze=False)
    for axes, subject in zip(panels.flat, subjects, strict=False):
        axes.set_title(subject)
        axes.grid(alpha=0.3)
        panel(axes, [row for row in rows if row["subject"] == subject and row["transfer_function"] == OWN])
    for axes in panels.flat[len(subjects) :]:
        axes.remove()
    drawn.tight_layout()
    path.parent.mkdir(exist_ok=True)
    drawn.savefig(path, metadata={"Date": None})
    plt.close(drawn)


def kind(proxy: str) -> str:
    """What curves are told apart by."""
    form = Form.named(proxy)
    if form.bits < WHOLE_BITS:
        return "bricks of few bits"
    return "scalar" if form.kind == "scalar slabs" else form.kind


def by_angle(axes: Axes, rows: list[Row], angles: list[float]) -> None:
    seen: dict[str, int] = {}
    for row in rows:
        of = kind(row["proxy"])
        style = STYLES[seen.setdefault(of, 0) % len(STYLES)]
        seen[of] += 1
        label = f"{row['proxy']}, {row['bytes'] / 1e6:.1f} MB" if row["bytes"] else row["proxy"]
        axes.plot(angles, row["psnr_db"], style, color=COLOURS.get(of, "#777"), label=label, linewidth=1.2)
    axes.set_xlabel("turned by, degrees")
    axes.set_ylabel("PSNR, dB")
    axes.legend(fontsize=6, ncols=2)


def by_bytes(axes: Axes, rows: list[Row], at: int) -> None:
    for of, colour in COLOURS.items():
        points = sorted((row["bytes"] / 1e6, row["psnr_db"][at]) for row in rows if kind(row["proxy"]) == of and row["bytes"])
        if points:
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=of, markersize=3, linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("MB")
    axes.set_ylabel(f"PSNR at {TURNED_DEG} degrees, dB")
    axes.legend(fontsize=6)


def table(subject: str, rows: list[Row]) -> str:
    angles = rows[0]["angles_deg"]
    head = f"| proxy | MB | CPU s | {' | '.join(f'{angle:g}' for angle in angles)} |"
    lines = [f"## {subject[0].upper()}{subject[1:]}\n", head, "|---|--:|--:|" + "---|" * len(angles)]
    for row in rows:
        name = row["proxy"] if row["transfer_function"] == OWN else f"{row['proxy']}, another transfer function"
        cost = f"{row['bytes'] / 1e6:.2f} | {row['cpu_seconds']:.2f}" if row["bytes"] else " | "
        cells = " | ".join(f"{psnr:.1f} / {ssim:.3f}" for psnr, ssim in zip(row["psnr_db"], row["ssim"], strict=True))
        lines.append(f"| {name} | {cost} | {cells} |")
    return "\n".join([*lines, ""])
