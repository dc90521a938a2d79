"""What hashing costs a copy: `visapult copy` beside itself built with hashes that compute nothing, in turn, in one run.

Copies from memory to memory (/dev/shm), over the testbed at 1 Gbit/s and 80 ms, and over loopback, where processors are what limits it. Root. The second
program is built in `out/unhashed` from what is committed, with `bench/copying/unhashed` in the place of the crate `blake3`.

    python3 bench/copying/hashing.py [--runs 5] [--bytes 1000000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from programs import ROOT, VISAPULT, Client, Peer, Run, share, share_here
from run import LIMIT_S, keep, make_sources, publish, timed

from columns import long_path
from machine import machine

RESULTS = ROOT / "bench" / "results" / "hashing.json"
UNHASHED = ROOT / "out" / "unhashed"
PATHS = {"link": "1 Gbit/s, 80 ms", "loopback": "loopback"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    programs = {"hashed": VISAPULT, "unhashed": build_unhashed()}
    results: dict[str, Any] = {"machine": machine(), "bytes": options.bytes, "rows": []}
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="bench-hashing-") as folder:
        source = make_sources(Path(folder), options.bytes, ["file"])["file"]
        for number in range(options.runs):
            for path in PATHS:
                for name, program in programs.items():
                    row = {"path": path, "program": name, "run": number, **once(path, program, source, Path(folder), number)}
                    keep(results, row, options.json, f"{PATHS[path]:<16} {name:<9}", lambda took: f"{took:.2f} s")
    publish(table(results), options.json)


def build_unhashed() -> Path:
    """What is committed, with another crate of hashes."""
    tree = UNHASHED / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    shutil.copytree(ROOT / "web/dist", tree / "web/dist")
    patch = f'patch.crates-io.blake3.path="{tree}/bench/copying/unhashed"'
    build = ["cargo", "build", "--release", "--bin", "visapult", "--config", patch, "--target-dir", UNHASHED / "target"]
    # The stand-in has a version of its own.
    subprocess.run(["cargo", "update", "--quiet", "--offline", "--config", patch, "blake3"], cwd=tree, check=True)
    subprocess.run(build, cwd=tree, check=True)
    return UNHASHED / "target/release/visapult"


def once(path: str, program: Path, source: Path, folder: Path, seed: int) -> dict[str, Any]:
    target = folder / "target"
    target.mkdir()
    try:
        if path == "loopback":
            return over_loopback(program, source, target)
        return timed(peer(program), Run(source, target, folder), long_path("hashing", 0, "1bdp"), seed + 1)
    finally:
        shutil.rmtree(target)


def peer(program: Path) -> Peer:
    return Peer(
        "visapult copy",
        (program,),
        lambda run: share(run, program),
        lambda run, url: Client("left", [program, "copy", run.source, f"{url}/"]),
    )


def over_loopback(program: Path, source: Path, target: Path) -> dict[str, Any]:
    with share_here(target, program) as url:
        began = time.monotonic()
        subprocess.run([program, "copy", source, f"{url}/"], check=True, capture_output=True, timeout=LIMIT_S)
        return {"seconds": time.monotonic() - began, "load": os.getloadavg()[0]}


def table(results: dict[str, Any]) -> str:
    """Medians, least and most, and the median of what each pair tells."""
    text = f"# What hashing costs a copy\n\n`python3 bench/copying/hashing.py`: a file of {results['bytes'] / 1e6:.0f} MB. {results['machine']}.\n\n"
    text += "| | hashed, s | unhashed, s | rate that hashing costs, % |\n|---|--:|--:|--:|\n"
    for path, title in PATHS.items():
        seconds = {name: seconds_of(results, path, name) for name in ("hashed", "unhashed")}
        costs = costs_of(results, path)
        if not costs:
            sys.exit(f"{title}: no run of both ended")
        text += f"| {title} | {spread(seconds['hashed'])} | {spread(seconds['unhashed'])} | {spread(costs, 1)} |\n"
    return text


def costs_of(results: dict[str, Any], path: str) -> list[float]:
    """Of each run in which both ended."""
    took = {(row["program"], row["run"]): row["seconds"] for row in results["rows"] if row["path"] == path and "seconds" in row}
    pairs = [(took[hashed], took["unhashed", hashed[1]]) for hashed in took if hashed[0] == "hashed" and ("unhashed", hashed[1]) in took]
    return [100 * (1 - without / with_) for with_, without in pairs]


def seconds_of(results: dict[str, Any], path: str, name: str) -> list[float]:
    rows = [row for row in results["rows"] if (row["path"], row["program"]) == (path, name)]
    return [row["seconds"] for row in rows if "seconds" in row]


def spread(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


if __name__ == "__main__":
    main()
