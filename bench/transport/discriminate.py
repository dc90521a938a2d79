"""Whether the sender says rightly what limits it: a labelled matrix over the testbed, and the confusion table of `limited_by`.

Writes bench/results/discrimination.json and docs/src/discrimination.md. Needs root, /dev/net/tun, iperf3 and a cgroup of its own to make.

    python3 bench/transport/discriminate.py [--only cubic,policer] [--seconds 5] [--runs 1]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path as File
from typing import Any

import limits_report
from rivals import launcher, prefer, send_cubic, send_perf, serve_cubic, serve_perf, wait_for_report
from scenarios import PATHS, SCENARIOS, Link, Path, Scenario
from testbed import ROOT, WAN, Testbed
from versions import measured_on

RESULTS = ROOT / "bench" / "results" / "discrimination.json"
# Time for the session to come about, before an end is hindered.
STARTING = 0.6
# Share of what the link carries above which an end that was to be hindered was not.
UNHINDERED = 0.9
TRIES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=", ".join(scenario.name for scenario in SCENARIOS))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    if not WAN.exists():
        sys.exit(f"{WAN} is missing: cargo build --release -p visapult-testbed")
    prefer()
    wanted = options.only.split(",") if options.only else [scenario.name for scenario in SCENARIOS]
    chosen = [scenario for scenario in SCENARIOS if scenario.name in wanted]
    runs = []
    for turn in range(options.runs):
        for path in PATHS:
            for scenario in chosen:
                run = measure_well(scenario, path, options.seconds, seed=turn + 1)
                runs.append(run)
                print(line(run), flush=True)
    results = {"machine": measured_on(), "seconds": options.seconds, "runs": runs}
    if options.only:
        print(limits_report.confusion(results))
        return
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    limits_report.write()
    print(limits_report.confusion(results))


def measure_well(scenario: Scenario, path: Path, seconds: int, seed: int) -> dict[str, Any]:
    """A run that the testbed kept up with, and in which what should hinder did; the last one if there is none."""
    much = 1.0
    for left in reversed(range(TRIES)):
        run = measure(scenario, path, seconds, seed, much)
        unhindered = scenario.hinders and run["goodput_bps"] > UNHINDERED * path.mbps * 1e6
        if run["kept_up"] and not unhindered:
            return run
        if left:
            print(f"  again: {line(run)}", flush=True)
        much /= 2 if unhindered else 1
    return {**run, "void": "the testbed did not keep up" if not run["kept_up"] else "nothing was hindered"}


def measure(scenario: Scenario, path: Path, seconds: int, seed: int, much: float) -> dict[str, Any]:
    """One transfer under a scenario."""
    with Testbed(Link(path, scenario.link(path)), seed) as link, contextlib.ExitStack() as ends, tempfile.TemporaryDirectory() as folder:
        launch = launcher(link, ends)
        server, url = serve_perf(launch)
        if scenario.competes:
            serve_cubic(launch)
            send_cubic(launch, seconds + 5)
            time.sleep(2)
        link.stats(reset=True)
        report = File(folder) / "report.json"
        client = send_perf(launch, url, seconds, report, scenario.send(path))
        time.sleep(STARTING)
        with contextlib.ExitStack() as hindrances:
            if scenario.hinder_receiver:
                hindrances.enter_context(scenario.hinder_receiver(server.pid, path, much))
            if scenario.hinder_sender:
                hindrances.enter_context(scenario.hinder_sender(client.pid, path, much))
            wait_for_report(client, seconds)
        stats = link.stats()
        told = json.loads(report.read_text()) if report.exists() and report.stat().st_size else {}
    return {
        "scenario": scenario.name,
        "label": scenario.label,
        "path": path.title,
        "said": told.get("limited_by", "nothing"),
        "limits": told.get("limits", []),
        "goodput_bps": told.get("goodput_bps", 0.0),
        "lost": told.get("datagrams_lost", 0) / max(1, told.get("datagrams", 0)),
        "verified": told.get("verified", False),
        "hindered_by": much if scenario.hinders else None,
        "kept_up": stats["own_errors"]["kept_up"],
    }


def line(run: dict[str, Any]) -> str:
    """One run, for the eye."""
    right = "" if run["said"] == run["label"] else "   WRONG"
    void = f"   VOID: {run['void']}" if "void" in run else ""
    return f"{run['path']:18} {run['scenario']:16} {run['goodput_bps'] / 1e6:6.0f} Mbit/s  lost {100 * run['lost']:6.3f} %  {run['said']}{right}{void}"


if __name__ == "__main__":
    main()
