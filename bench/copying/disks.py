"""From disk to disk over the testbed: how busy a copy keeps the slower of disk and link.

Two disks that are file systems of their own (ext4 on loop devices in memory), which the kernel holds to a rate of reading and writing, and a link of
1 Gbit/s and 80 ms between them. Each copy is timed until the disk at the destination has all of it (`sync -f`), the source not in memory before. What is
slowest could have done it in `floor` seconds: the link by its payload capacity, a disk by the rate that it is held to. Root, ext4, control groups.

    python3 bench/copying/disks.py [--runs 3] [--only visapult,rsync] [--bytes 1000000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import PEERS, ROOT, Run
from run import HEADERS, MTU, is_same, keep, make_sources, publish, timed

from columns import long_path
from machine import machine, package_version

RESULTS = ROOT / "bench" / "results" / "disks.json"
BLKIO = Path("/sys/fs/cgroup/blkio")
MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """How fast the disks are, in bytes per second; 0 is as fast as memory."""

    title: str
    read: int
    write: int


CASES = [
    Case("the link", 0, 0),
    Case("the disk at the destination, 50 MiB/s", 0, 50 * MIB),
    Case("the disk at the source, 50 MiB/s", 50 * MIB, 0),
    Case("a disk at each end, 100 MiB/s", 100 * MIB, 100 * MIB),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="visapult,rsync,gridftp")
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not BLKIO.exists():
        return print(f"disks: left out, for {BLKIO} is not there: this needs control groups of version 1, which bound what is written back, too")
    peers = [name for name in options.only.split(",") if not PEERS[name].missing()]
    results: dict[str, Any] = {"machine": machine(package_version("rsync")), "bytes": options.bytes, "rows": []}
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="bench-disks-") as folder:
        here, there = (Disk(Path(folder) / name, options.bytes) for name in ("here", "there"))
        with here.mounted(), there.mounted():
            make_sources(here.at, options.bytes, ["file"])
            for number in range(options.runs):
                for case in CASES:
                    with here.bounded("read", case.read), there.bounded("write", case.write):
                        floor = floor_seconds(case, options.bytes)
                        for name in peers:
                            row = {"case": case.title, "peer": name, "run": number, "floor": floor}
                            row |= once(name, here, there, number + 1)
                            told = lambda took: f"{took:.2f} s of {floor:.2f} s, {100 * floor / took:.1f} %"
                            keep(results, row, options.json, f"{case.title:<40} {name:<9}", told)
    publish(table(results), options.json)


class Disk:
    """A file system on a loop device, whose image is in memory."""

    def __init__(self, folder: Path, size: int) -> None:
        self.at, self.image = folder, folder.with_suffix(".img")
        self.size, self.device = 2 * size + 256 * MIB, ""

    @contextlib.contextmanager
    def mounted(self) -> Iterator[None]:
        self.at.mkdir()
        with self.image.open("wb") as image:
            image.truncate(self.size)
        # It shall not be at work on its own while something is measured.
        run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.image)
        self.device = run("losetup", "--find", "--show", self.image)
        try:
            run("mount", self.device, self.at)
            try:
                yield
            finally:
                run("umount", self.at)
        finally:
            run("losetup", "--detach", self.device)
            self.image.unlink()

    @contextlib.contextmanager
    def bounded(self, way: str, rate: int) -> Iterator[None]:
        number = os.stat(self.device).st_rdev
        knob = BLKIO / f"blkio.throttle.{way}_bps_device"
        knob.write_text(f"{os.major(number)}:{os.minor(number)} {rate}")
        try:
            yield
        finally:
            knob.write_text(f"{os.major(number)}:{os.minor(number)} 0")

    def forget(self) -> None:
        """What is read next comes from the disk."""
        run("umount", self.at)
        run("mount", self.device, self.at)


def run(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout.strip()


def floor_seconds(case: Case, size: int) -> float:
    link = long_path("disks", 0, "1bdp").rate / 8 * (MTU - HEADERS) / MTU
    return max(size / rate for rate in (link, case.read, case.write) if rate)


def seconds(*command: object) -> float:
    began = time.monotonic()
    run(*command)
    return time.monotonic() - began


def once(name: str, here: Disk, there: Disk, seed: int) -> dict[str, Any]:
    """One copy, from a disk that nothing is known of."""
    here.forget()
    target, work = there.at / "target", here.at / "work"
    target.mkdir()
    work.mkdir(exist_ok=True)
    source = here.at / "file"
    row = timed(PEERS[name], Run(source, target, work), long_path("disks", 0, "1bdp"), seed)
    if "seconds" in row:
        row["seconds"] += seconds("sync", "-f", there.at)
        if not is_same(source, target):
            row["failed"] = "what arrived is not what was sent"
    shutil.rmtree(target)
    run("sync", "-f", there.at)
    return row


def table(results: dict[str, Any]) -> str:
    peers = list(dict.fromkeys(row["peer"] for row in results["rows"]))
    text = f"# Copies from disk to disk\n\n`python3 bench/copying/disks.py`: {results['bytes'] / 1e6:.0f} MB. {results['machine']}.\n"
    text += "How busy what is slowest was kept, %: median (least to most).\n\n"
    text += "| slowest | its own time, s |" + "".join(f" {PEERS[peer].title} |" for peer in peers) + "\n|---|--:|" + "--:|" * len(peers) + "\n"
    for case in CASES:
        rows = [row for row in results["rows"] if row["case"] == case.title]
        if rows:
            floor = statistics.median(row["floor"] for row in rows)
            text += f"| {case.title} | {floor:.1f} | " + " | ".join(cell([row for row in rows if row["peer"] == peer]) for peer in peers) + " |\n"
    return text


def cell(rows: list[dict[str, Any]]) -> str:
    busy = sorted(100 * row["floor"] / row["seconds"] for row in rows if "failed" not in row)
    return f"{statistics.median(busy):.1f} ({busy[0]:.1f} to {busy[-1]:.1f})" if busy else rows[0]["failed"]


if __name__ == "__main__":
    main()
