"""All peers of the transport over the testbed, in turn, in one run.

Writes bench/results/transport.json, docs/src/transport-figures.md and the plots in docs/src/images. Needs root, /dev/net/tun and, for each
peer, its program; one that is missing is named and left out. `make bench-transport` installs and builds them first.

    python3 bench/transport/run.py [--quick] [--runs 3] [--only ours,bbr] [--columns clean,loss-0.1] [--out FILE | --again]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TypeVar

import report
from columns import COLUMNS, Column
from measure import measure_well
from peers import PEERS, Peer
from testbed import ROOT, WAN
from versions import measured_on

Named = TypeVar("Named", Peer, Column)
RESULTS = ROOT / "bench" / "results" / "transport.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run, two columns")
    parser.add_argument("--runs", type=int, help="runs of each peer in each column [3]")
    parser.add_argument("--only", help="peers whose names begin so: " + ", ".join(peer.name for peer in PEERS))
    parser.add_argument("--columns", help=", ".join(column.name for column in COLUMNS))
    parser.add_argument("--out", type=Path, help="write this file, and leave the documents alone")
    parser.add_argument("--again", action="store_true", help="put these columns, of all peers, in the place of those in the results")
    parser.add_argument("--report", action="store_true", help="make the documents anew from the results, without measuring")
    options = parser.parse_args()
    if options.again and (options.out or options.only or options.quick or not options.columns):
        parser.error("--again goes with --columns, and with nothing but --runs: a column is of all peers")
    if options.report:
        report.write(json.loads(RESULTS.read_text()))
        return
    if not WAN.exists():
        sys.exit(f"{WAN} is missing: cargo build --release -p visapult-testbed")
    peers, missing = installed(chosen(PEERS, options.only, exact=False))
    columns = chosen(COLUMNS, options.columns, exact=True)
    if options.quick and not options.columns:
        columns = [column for column in columns if column.quick]
    runs = options.runs or (1 if options.quick else 3)
    results = {"machine": measured_on(), "seconds": 12, "runs": runs, "missing": missing, "columns": []}
    for column in columns:
        results["columns"].append(measure_column(column, peers, runs))
    if options.again:
        results = with_again(json.loads(RESULTS.read_text()), results)
    elif options.out or options.only or options.columns or options.quick:
        # A part of the matrix never replaces the whole.
        path = options.out or ROOT / "out" / "transport.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results) + "\n")
        print("\n" + report.tables(results))
        print(f"written: {path}")
        return
    RESULTS.write_text(json.dumps(results) + "\n")
    report.write(results)


def with_again(before: dict[str, object], again: dict[str, object]) -> dict[str, object]:
    """The results with some columns measured anew, which say on what machine and when."""
    anew = {column["name"]: column | {"machine": again["machine"]} for column in again["columns"]}
    return before | {"columns": [anew.get(column["name"], column) for column in before["columns"]]}


def chosen(everything: list[Named], names: str | None, *, exact: bool) -> list[Named]:
    """Those named, or all."""
    if not names:
        return everything
    wanted = names.split(",")
    found = [one for one in everything if any(one.name == name or (not exact and one.name.startswith(name)) for name in wanted)]
    if not found:
        sys.exit(f"none of {names} is known: {', '.join(one.name for one in everything)}")
    return found


def installed(peers: list[Peer]) -> tuple[list[Peer], dict[str, str]]:
    """The peers that can run, and what the others lack."""
    missing = {peer.name: why for peer in peers if (why := peer.missing())}
    for name, why in missing.items():
        print(f"{name}: not installed ({why})", flush=True)
    return [peer for peer in peers if peer.name not in missing], missing


def measure_column(column: Column, peers: list[Peer], runs: int) -> dict[str, object]:
    """The peers take turns, so that what else the machine does hurts all."""
    print(f"\n{column.name}: {column.title}", flush=True)
    found: dict[str, list[dict[str, object]]] = {peer.name: [] for peer in peers}
    for turn in range(runs):
        for peer in peers:
            run = measure_well(peer, column, seed=turn + 1)
            found[peer.name].append(run)
            print(f"  {peer.name:14} {line(run)}", flush=True)
    rows = [{"peer": peer.name, "title": peer.title, "runs": found[peer.name]} for peer in peers]
    return {"name": column.name, "title": column.title, "ceiling_bps": column.ceiling, "loss": column.loss, "rows": rows}


def line(run: dict[str, object]) -> str:
    """One run, for the eye."""
    if "failed" in run:
        return f"FAILED: {run['failed']}"
    cpu, own = run["cpu_s"], run["own_errors"]
    late = "" if run["honest"] else f"   NOT HONEST: testbed late by {own['late_p99_us']:.0f} us (p99), unread {own['unread']}"
    rate, others = run["goodput_bps"] / 1e6, run["others_cpu_s"]
    return f"{rate:8.0f} Mbit/s   CPU {cpu['sender']:5.2f} + {cpu['receiver']:5.2f} s, others {others:5.2f} s{late}"


if __name__ == "__main__":
    main()
