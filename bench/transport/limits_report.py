"""The page on what limits a transfer: confusion table and fairness, from the committed results."""

from __future__ import annotations

import json
import statistics
from typing import Any

from testbed import ROOT

RESULTS = ROOT / "bench" / "results"
DOCUMENT = ROOT / "docs" / "src" / "discrimination.md"
WORDS = ["link", "shallow-queue", "random-loss", "policer", "shared", "receiver", "sender", "source", "rate", "nothing"]

INTRODUCTION = """\
# What limits, and how it shares

Made by `make bench-discriminate` and `make bench-fairness`; do not edit. How the verdict is found is told [with RIPP](ripp.md#what-limits-a-transfer).
"""

DISCRIMINATION = """
## What limits: one word, held against what was done to the transfer

`limited_by` of `visapult perf send` ({seconds} s a run, `--rate auto` unless said) over the [testbed](testbed.md), each scenario on each path in
turn. A run counts if the testbed kept up and if the hindrance hindered: a receiver or sender that was held back and still moved nine tenths of
the link was held back by twice as much. Measured programs run before others on the machine (`nice -15`).

{machine}
"""

FAIRNESS = """
## Beside a CUBIC flow

One CUBIC flow (iperf3) and, two seconds later, one of ours at `--rate auto`, for {seconds} s over the same bottleneck; payload of both over the
time that both run, start of ours included. CUBIC's fair share is half of what it reached alone over the same time. Jain's index is 1 if both
have the same. Medians where there is more than one run.

{machine}
"""


def write() -> None:
    """The page, of what there is."""
    text = INTRODUCTION
    for name, head, tables in (("discrimination", DISCRIMINATION, discrimination), ("fairness", FAIRNESS, fairness)):
        path = RESULTS / f"{name}.json"
        if path.exists():
            results = json.loads(path.read_text())
            text += head.format(seconds=results["seconds"], machine=results["machine"]) + "\n" + tables(results)
    DOCUMENT.write_text(text)


def discrimination(results: dict[str, Any]) -> str:
    """Confusion table, and the runs behind it."""
    return confusion(results) + "\n" + scenarios(results)


def confusion(results: dict[str, Any]) -> str:
    """What was so down, what was said across."""
    runs = [run for run in results["runs"] if "void" not in run]
    said = [word for word in WORDS if any(word in (run["said"], run["label"]) for run in runs)]
    labels = [word for word in WORDS if any(word == run["label"] for run in runs)]
    text = body("what it was", said) + "|---" * (len(said) + 1) + "|\n"
    for label in labels:
        counts = [sum(run["label"] == label and run["said"] == word for run in runs) for word in said]
        text += body(label, [f"**{count}**" if word == label else str(count or "") for word, count in zip(said, counts, strict=True)])
    right = sum(run["said"] == run["label"] for run in runs)
    text += f"\nRight: {right} of {len(runs)}, {100 * right / max(1, len(runs)):.0f} %."
    void = len(results["runs"]) - len(runs)
    return text + (f" Not counted: {void}.\n" if void else "\n")


def scenarios(results: dict[str, Any]) -> str:
    """What was said in each scenario on each path."""
    paths = list(dict.fromkeys(run["path"] for run in results["runs"]))
    names = list(dict.fromkeys(run["scenario"] for run in results["runs"]))
    text = body("scenario", paths) + "|---" * (len(paths) + 1) + "|\n"
    for name in names:
        cells = []
        for path in paths:
            runs = [run for run in results["runs"] if (run["scenario"], run["path"]) == (name, path)]
            cells.append("; ".join(cell(run) for run in runs))
        text += body(name, cells)
    return text


def cell(run: dict[str, Any]) -> str:
    """A verdict, with the rate and the loss."""
    said = run["said"] if run["said"] == run["label"] else f"**{run['said']}**"
    note = f", not counted: {run['void']}" if "void" in run else ""
    return f"{said} ({run['goodput_bps'] / 1e6:.0f} Mbit/s, lost {100 * run['lost']:.2g} %{note})"


def fairness(results: dict[str, Any]) -> str:
    """Rates side by side."""
    text = body("bottleneck", ["CUBIC alone, Mbit/s", "CUBIC beside ours", "ours", "CUBIC's part of its fair share", "Jain's index"])
    text += "|---" * 6 + "|\n"
    for title in dict.fromkeys(run["bottleneck"] for run in results["runs"]):
        runs = [run for run in results["runs"] if run["bottleneck"] == title]
        good = [run for run in runs if run["kept_up"]] or runs
        middle = {key: statistics.median(run[key] for run in good) for key in ("alone_bps", "cubic_bps", "ours_bps", "of_fair_share", "jain")}
        rates = [f"{middle[key] / 1e6:.0f}" for key in ("alone_bps", "cubic_bps", "ours_bps")]
        note = "" if any(run["kept_up"] for run in runs) else " (the testbed did not keep up)"
        text += body(title + note, [*rates, f"{100 * middle['of_fair_share']:.0f} %", f"{middle['jain']:.2f}"])
    return text


def body(first: str, cells: list[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join([first, *cells]) + " |\n"


if __name__ == "__main__":
    write()
