"""Tables and plots of the transport's figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import plot
from testbed import ROOT

DOCUMENT = ROOT / "docs" / "src" / "transport-figures.md"
IMAGES = ROOT / "docs" / "src" / "images"

INTRODUCTION = """\
# Figures of the transport

Made by `make bench-transport`; do not edit. Every peer over the same emulated link ([testbed](testbed.md)), in turn, in one run: payload that
reached the receiving program in the first {seconds} s after its client was started, start-up and handshakes included, divided by {seconds} s.
Ours counts what arrived in that time and was verified in the end. Median of {runs}, least to most in brackets.
The ceiling is the payload that UDP could carry on that link without loss. TCP may use buffers of 256 MiB; all sockets of the libraries have
large buffers and the link's MTU. CPU seconds are those of the two programs; the kernel's work for the receiver falls to the testbed.
A run that the testbed did not keep up with is made again, twice at most; a figure in (parentheses) does not count: it never kept up.

{machine}
"""


def write(results: dict[str, Any]) -> None:
    """The document and its plots."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    text = INTRODUCTION.format(seconds=results["seconds"], runs=results["runs"], machine=sittings(results))
    text += "\n" + tables(results) + "\n"
    for column in results["columns"]:
        curves = {row["title"].replace("*", ""): series(row) for row in column["rows"] if series(row)}
        if not curves:
            continue
        path = IMAGES / f"transport-{column['name']}.svg"
        path.write_text(plot.lines(column["title"], curves, column["ceiling_bps"]))
        text += f"\n![Payload over time: {column['title']}](images/{path.name})\n"
    DOCUMENT.write_text(text)
    print(tables(results))


def tables(results: dict[str, Any]) -> str:
    """Goodput and CPU time, peers down, links across."""
    columns = results["columns"]
    titles = {row["peer"]: row["title"] for column in columns for row in column["rows"]}
    text = "Payload, Mbit/s:\n\n" + head("peer", columns)
    text += body("ceiling", [f"{column['ceiling_bps'] / 1e6:.0f}" for column in columns])
    for peer, title in titles.items():
        text += body(title, [cell(runs_of(column, peer), goodput) for column in columns])
    text += shares(columns)
    text += "\nCPU seconds per GB, sender + receiver:\n\n" + head("peer", columns)
    for peer, title in titles.items():
        text += body(title, [cell(runs_of(column, peer), cpu_per_gigabyte) for column in columns])
    others = [run["others_cpu_s"] for column in columns for row in column["rows"] for run in row["runs"] if "others_cpu_s" in run]
    if others:
        text += f"\nCPU seconds of everything else on the machine, a run: {statistics.median(others):.1f} (at most {max(others):.1f}).\n"
    if results["missing"]:
        text += "\nNot installed: " + ", ".join(f"{name} ({why})" for name, why in results["missing"].items()) + ".\n"
    return text


def shares(columns: list[dict[str, Any]]) -> str:
    """What of the links ours fill, by the clock of who starts the program, and from where its handshake is over."""
    lines = ""
    for peer, title in (("ours-fixed", "fixed"), ("ours-auto", "auto")):
        for since, counted in (("goodput_bps", "from the client's start"), ("since_sent_bps", "from its first datagram of data")):
            cells = [cell(runs_of(column, peer), share_of(column, since)) for column in columns]
            lines += body(f"{title}, {counted}", cells) if any(cells) else ""
    return f"\nOurs in per cent of the ceiling, less what the link loses:\n\n{head('12 s', columns)}{lines}" if lines else ""


def share_of(column: dict[str, Any], since: str) -> Callable[[list[dict[str, Any]]], str]:
    """How the median of a figure is told, of what a link carries of what is sent once."""
    carried = column["ceiling_bps"] * (1 - column["loss"])
    return lambda runs: f"{statistics.median(run[since] for run in runs) / carried * 100:.1f}"


def sittings(results: dict[str, Any]) -> str:
    """What was measured on which machine and day, one line for each."""
    columns: dict[str, list[str]] = {}
    for column in results["columns"]:
        columns.setdefault(column.get("machine", results["machine"]), []).append(column["title"])
    if len(columns) == 1:
        return next(iter(columns))
    return "\n\n".join(f"{'; '.join(f'*{title}*' for title in titles)}: {machine}" for machine, titles in columns.items())


def head(first: str, columns: list[dict[str, Any]]) -> str:
    """The first two lines of a table."""
    return body(first, [column["title"] for column in columns]) + "|---" * (len(columns) + 1) + "|\n"


def body(first: str, cells: list[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join([first, *cells]) + " |\n"


def runs_of(column: dict[str, Any], peer: str) -> list[dict[str, Any]]:
    """The runs of a peer over a link."""
    return next((row["runs"] for row in column["rows"] if row["peer"] == peer), [])


def cell(runs: list[dict[str, Any]], text: Any) -> str:
    """Honest runs if there are any; the others in parentheses."""
    good = [run for run in runs if run["honest"]]
    some = good or [run for run in runs if "failed" not in run]
    if not some:
        return "failed" if runs else ""
    return text(some) if good else f"({text(some)})"


def goodput(runs: list[dict[str, Any]]) -> str:
    """Median and spread."""
    values = sorted(run["goodput_bps"] / 1e6 for run in runs)
    middle = f"{statistics.median(values):.0f}"
    return middle if len(values) == 1 else f"{middle} ({values[0]:.0f} to {values[-1]:.0f})"


def cpu_per_gigabyte(runs: list[dict[str, Any]]) -> str:
    """Medians of both ends."""
    sides = []
    for side in ("sender", "receiver"):
        sides.append(statistics.median(run["cpu_s"][side] / (run["goodput_bps"] * 12 / 8e9) for run in runs))
    return " + ".join(f"{value:.1f}" for value in sides)


def series(row: dict[str, Any]) -> list[float]:
    """Rate over time of the run in the middle: payload where it is known, else what came over the wire."""
    runs = sorted((run for run in row["runs"] if "failed" not in run), key=lambda run: run["goodput_bps"])
    if not runs:
        return []
    run = runs[len(runs) // 2]
    return run.get("series") or run["wire_series"]
