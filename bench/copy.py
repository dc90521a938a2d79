"""Files over the testbed: `visapult copy` beside GridFTP, scp's and rsync's own protocols where they are installed.

One file of `--bytes` at three losses, and 10,000 files of 4 KiB against one file of the same bytes, at 1 Gbit/s and 80 ms, from memory to memory
(/dev/shm). Root; `cargo build --release --bin visapult --bin wan` first. Prints a table; `--json FILE` writes it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "bench"))
from machine import machine, package_version  # noqa: E402

VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
WAN = Path(os.environ.get("WAN", ROOT / "target/release/wan")).resolve()
RIGHT = "10.7.0.2"
RATE_BPS, RTT, MTU = 1_000_000_000, "80ms", 1500
#: What a link of this rate carries of files: IP and UDP headers, RIPP's and its tag are not files.
PAYLOAD_SHARE = (MTU - 28 - 44) / MTU
#: No copy is waited for longer.
LIMIT_S = 180
LOSSES = ["0%", "0.1%", "1%"]
NAME = f"bench-copy-{os.getpid()}"


def wan(*words: str) -> None:
    subprocess.run([WAN, words[0], "--name", NAME, *words[1:]], check=True, capture_output=True)


def inside(side: str, *command: object) -> list[str]:
    return [str(WAN), "exec", "--name", NAME, side, *map(str, command)]


def ours(source: Path, target: Path) -> float:
    share = subprocess.Popen(
        inside("right", VISAPULT, "share", target, "--write", "--bind", f"{RIGHT}:0"), stdout=subprocess.PIPE, text=True
    )
    try:
        url = share.stdout.readline().strip()
        began = time.monotonic()
        subprocess.run(inside("left", VISAPULT, "copy", source, f"{url}/"), check=True, capture_output=True, timeout=LIMIT_S)
        return time.monotonic() - began
    finally:
        share.kill()
        share.wait()


def gridftp(source: Path, target: Path, streams: int = 16) -> float:
    command = ["globus-gridftp-server", "-aa", "-anonymous-user", "root", "-allow-root", "-p", "2811", "-data-interface", RIGHT]
    server = subprocess.Popen(inside("right", *command, "-log-level", "ERROR"), stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        options = ["-fast", "-p", streams] + (["-r", "-pp", "-cd"] if source.is_dir() else [])
        there = f"ftp://{RIGHT}:2811{target}/"
        began = time.monotonic()
        here = f"file://{source}" + ("/" if source.is_dir() else "")
        subprocess.run(inside("left", "globus-url-copy", *options, here, there), check=True, capture_output=True, timeout=LIMIT_S)
        return time.monotonic() - began
    finally:
        server.kill()
        server.wait()


def rsync(source: Path, target: Path) -> float:
    config = target.parent / "rsyncd.conf"
    config.write_text(f"use chroot = no\nuid = root\ngid = root\n[in]\npath = {target}\nread only = no\n")
    command = ["rsync", "--daemon", "--no-detach", "--port", "8730", f"--config={config}"]
    server = subprocess.Popen(inside("right", *command))
    try:
        time.sleep(1)
        began = time.monotonic()
        subprocess.run(inside("left", "rsync", "-a", "-W", source, f"rsync://{RIGHT}:8730/in/"), check=True, capture_output=True, timeout=LIMIT_S)
        return time.monotonic() - began
    finally:
        server.kill()
        server.wait()


PEERS = {"visapult copy": (ours, VISAPULT), "GridFTP, 16 streams": (gridftp, "globus-url-copy"), "rsync": (rsync, "rsync")}


def is_same(source: Path, target: Path) -> bool:
    there = target / source.name if (target / source.name).exists() else target
    return subprocess.run(["diff", "-rq", source, there], check=False, capture_output=True).returncode == 0


def measure(work: Path, sources: dict[str, Path], losses: list[str], runs: int) -> list[dict[str, object]]:
    rows = []
    for loss in losses:
        wan("up", "--rate", "1G", "--rtt", RTT, "--loss", loss, "--for", "30m")
        try:
            for run in range(runs):
                for what, source in sources.items():
                    for peer, (copy, program) in PEERS.items():
                        if not shutil.which(str(program)):
                            continue
                        target = work / "target"
                        shutil.rmtree(target, ignore_errors=True)
                        target.mkdir()
                        try:
                            seconds = copy(source, target)
                        except subprocess.TimeoutExpired:
                            print(f"{loss:>5} {what:>22} {peer:>20} not within {LIMIT_S} s", flush=True)
                            continue
                        sent = sum(path.stat().st_size for path in [source, *source.rglob("*")] if path.is_file())
                        share = sent * 8 / seconds / (RATE_BPS * PAYLOAD_SHARE)
                        row = {"loss": loss, "what": what, "peer": peer, "run": run, "seconds": seconds, "share": share}
                        rows.append(row | {"same": is_same(source, target)})
                        print(f"{loss:>5} {what:>22} {peer:>20} {seconds:7.2f} s {100 * share:5.1f} %", flush=True)
        finally:
            wan("down")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=2_000_000_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--losses", default=",".join(LOSSES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        work = Path(folder)
        with (work / "file").open("wb") as file:
            for _ in range(options.bytes // 1_000_000):
                file.write(os.urandom(1_000_000))
        small = work / "small"
        for number in range(10_000):
            path = small / f"{number // 250}" / f"{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(4096))
        (work / "one").write_bytes(os.urandom(4096 * 10_000))
        sources = {"a large file": work / "file", "10,000 files of 4 KiB": small, "one file of their bytes": work / "one"}
        rows = measure(work, sources, options.losses.split(","), options.runs)
    if options.json:
        versions = [package_version("globus-gridftp-server-progs"), package_version("rsync")]
        options.json.write_text(json.dumps({"machine": machine(*versions), "rows": rows}, indent=1) + "\n")
    return 0 if all(row["same"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
