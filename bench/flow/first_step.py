"""From all ranks of a simulation being there to its first step on screen, in a page that was open before, over a link: 256^3 from 4 ranks to 4 PEs.

usage: python3 bench/flow/first_step.py [--runs 3] [--steps-per-s 0.2] [--json bench/results/first-step.json] [--trace FOLDER]    (root; see `make bench-flow`)
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from ends import ROOT, VISAPULT, build_wave, end, line_of, start, undisturbed
from link_use import LINK, N, PES, PORT, RANKS, RATE_BPS, STEP_BYTES

# From the folder that `ends` adds to the path.
from machine import machine
from testbed import RIGHT, Testbed

sys.path.append(str(ROOT / "tools"))
from demo_wan import HOLDER, PAGE_PORT, forward_page


def first_picture(bed: Testbed, wave: Path, browser: subprocess.Popen[str], mode: str, steps_per_s: float, trace: Path | None) -> float:
    options = ["--mode", mode, "--pes", PES, "--port", PAGE_PORT, "--no-open", *(["--trace", trace] if trace else [])]
    back_end = start(bed, "right", [VISAPULT, "backend", "--listen", f"{RIGHT}:{PORT}", *options])
    holder = start(bed, "right", HOLDER)
    started = [back_end, holder]
    try:
        url, inside = line_of(back_end), line_of(back_end)
        namespace = os.open(f"/proc/{line_of(holder)}/ns/net", os.O_RDONLY)
        door = forward_page(namespace, PAGE_PORT)
        assert browser.stdin is not None
        browser.stdin.write(inside.replace(f":{PAGE_PORT}/", f":{door.getsockname()[1]}/") + "\n")
        browser.stdin.flush()
        line_of(browser)
        solver = ["mpiexec.mpich", "-n", RANKS, wave, "--n", N, "--every", 1, "--rate", steps_per_s]
        started.append(start(bed, "left", solver, VISAPULT_URL=url, VISAPULT_RATE=str(RATE_BPS // RANKS)))
        seconds = float(line_of(browser))
        if trace:
            time.sleep(1)
        return seconds
    finally:
        for process in reversed(started):
            end(process)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=3)
    # Later steps take the machine's cores from the page.
    arguments.add_argument("--steps-per-s", type=float, default=0.2, help="what the simulation publishes")
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/first-step.json")
    arguments.add_argument("--trace", type=Path, help="a folder for what the back end and the page did, a file for each run")
    chosen = arguments.parse_args()
    results: dict[str, list[float]] = {}
    script = ["node", str(ROOT / "bench/flow/first_step.mjs")]
    with tempfile.TemporaryDirectory() as folder:
        wave = build_wave(Path(folder))
        browser = subprocess.Popen(
            script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            line_of(browser)
            for run in range(chosen.runs):
                for mode in ("lossy", "reliable"):
                    trace = chosen.trace and chosen.trace / f"{mode}-{run + 1}.json"
                    measure = partial(first_picture, wave=wave, browser=browser, mode=mode, steps_per_s=chosen.steps_per_s, trace=trace)
                    seconds = undisturbed(LINK, run + 1, measure)
                    results.setdefault(mode, []).append(seconds)
                    print(f"{mode}: {seconds:.2f} s", file=sys.stderr, flush=True)
        finally:
            end(browser)
    when = time.strftime("%Y-%m-%d")
    told = {"machine": machine(), "date": when, "link": LINK.title, "step_bytes": STEP_BYTES, "steps_per_s": chosen.steps_per_s, "seconds": results}
    chosen.json.write_text(json.dumps(told, indent=1) + "\n")
    for mode, seconds in results.items():
        print(f"| {mode} | {statistics.median(seconds):.2f} ({min(seconds):.2f}-{max(seconds):.2f}) |")


if __name__ == "__main__":
    main()
