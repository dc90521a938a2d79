"""Files per second: many files of 4 KiB from memory to memory over loopback, `visapult copy` beside rsync's daemon, and `cp -r` and tar as the floor.

All are on this machine (/dev/shm), each in turn, and each result is held against the source. A peer that is not installed is named and left out.

    python3 bench/copying/many.py [--runs 5] [--files 20000] [--only visapult,rsync,cp,tar] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import ROOT, VISAPULT, rsync_config, share_here
from run import LIMIT_S, READY_S, SMALL_OF_A_FOLDER, is_same, keep, make_small, publish

# From the folders that `programs` adds to the path.
from machine import machine, package_version
from measure import end
from processes import wait_listening

RESULTS = ROOT / "bench" / "results" / "many.json"


@dataclass(frozen=True)
class Way:
    """A program that copies a folder into another on this machine: what has to run beside, and then the command that is timed."""

    title: str
    needs: str | Path
    server: Callable[[Path, Path], contextlib.AbstractContextManager[str]]
    command: Callable[[Path, Path, str], list[object]]


@contextlib.contextmanager
def nothing(_target: Path, _work: Path) -> Iterator[str]:
    yield ""


@contextlib.contextmanager
def rsync_daemon(target: Path, work: Path) -> Iterator[str]:
    """A daemon that takes into the target, and the target as it is called there."""
    config = rsync_config(target, work)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["rsync", "--daemon", "--no-detach", "--address=127.0.0.1", f"--port={port}", f"--config={config}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        if not wait_listening(process.pid, port, READY_S):
            raise SystemExit("rsync's daemon is not ready")
        yield f"rsync://127.0.0.1:{port}/in/"
    finally:
        end(process)


WAYS = {
    "visapult": Way("visapult copy, into a share", VISAPULT, lambda target, _: share_here(target), lambda source, _, url: [VISAPULT, "copy", source, f"{url}/"]),
    "rsync": Way("rsync, its daemon", "rsync", rsync_daemon, lambda source, _, url: ["rsync", "-a", "-W", source, url]),
    "cp": Way("cp -r, no network", "cp", nothing, lambda source, target, _: ["cp", "-r", source, target]),
    "tar": Way(
        "tar into tar, no network", "tar", nothing,
        lambda source, target, _: ["sh", "-c", f"tar -c -C {source.parent} {source.name} | tar -x -C {target}"],
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    ways = {name: WAYS[name] for name in options.only.split(",")}
    for name in [name for name, way in ways.items() if not shutil.which(way.needs)]:
        print(f"{ways.pop(name).title}: not installed", flush=True)
    results: dict[str, Any] = {"machine": machine(package_version("rsync")), "files": options.files, "rows": []}
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="bench-many-") as folder:
        source = Path(folder) / "many"
        make_small(source, options.files)
        for number in range(options.runs):
            for name, way in ways.items():
                row = {"way": name, "run": number, **once(way, source, Path(folder))}
                keep(results, row, options.json, f"{way.title:<28}", lambda took: f"{took:.2f} s, {options.files / took:.0f} files/s")
    publish(table(results), options.json)


def once(way: Way, source: Path, folder: Path) -> dict[str, Any]:
    target = folder / "target"
    target.mkdir()
    try:
        with way.server(target, folder) as said:
            began = time.monotonic()
            done = subprocess.run([str(word) for word in way.command(source, target, said)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
            seconds = time.monotonic() - began
        if done.returncode != 0:
            return {"failed": f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}"}
        if not is_same(source, target):
            return {"failed": "what arrived is not what was sent"}
        return {"seconds": seconds, "load": os.getloadavg()[0]}
    finally:
        shutil.rmtree(target)


def table(results: dict[str, Any]) -> str:
    files = results["files"]
    text = f"# Many small files, beside others\n\n`python3 bench/copying/many.py`: {files} files of 4 KiB in folders of {SMALL_OF_A_FOLDER}, from memory to memory over loopback. "
    text += f"{results['machine']}.\nMedian (least to most).\n\n| | files/s | seconds |\n|---|--:|--:|\n"
    for name, way in WAYS.items():
        seconds = sorted(row["seconds"] for row in results["rows"] if row["way"] == name and "seconds" in row)
        if seconds:
            middle = statistics.median(seconds)
            text += f"| {way.title} | {files / middle:.0f} ({files / seconds[-1]:.0f} to {files / seconds[0]:.0f}) | "
            text += f"{middle:.2f} ({seconds[0]:.2f} to {seconds[-1]:.2f}) |\n"
    return text


if __name__ == "__main__":
    main()
