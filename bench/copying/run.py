"""Files over the testbed: `visapult copy` beside GridFTP, UDT, rsync, scp, rclone and xrdcp, in turn, in one run.

One file of `--bytes` at three losses, and 10,000 files of 4 KiB against one file of the same bytes, at 1 Gbit/s and 80 ms, from memory to memory
(/dev/shm). Root. A peer that is not installed is named and left out. What each run took is written to `--json` at once: what that file has is not measured
again, so the same command goes on after an interruption; remove the file to begin anew.

    python3 bench/copying/run.py [--runs 3] [--only visapult,rsync] [--losses 0,0.1,1] [--what file,many,one] [--bytes 2000000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from programs import PEERS, ROOT, Client, Peer, Run, Server

# From the folders that `programs` adds to the path.
from columns import Column, long_path
from machine import machine, package_version
from measure import end
from processes import wait_listening
from testbed import Testbed

RESULTS = ROOT / "bench" / "results" / "copy.json"
LOSSES = ["0", "0.1", "1"]
#: Headers of IP and UDP, and those of RIPP with its tag, in a packet: what is left is what the link carries of files.
HEADERS, MTU = 28 + 33, 1500
#: No copy is waited for longer, and no server until it is ready.
LIMIT_S, READY_S = 120, 10
#: How often a copy is made until the testbed keeps up.
TRIES = 3
SMALL, SMALL_BYTES, SMALL_OF_A_FOLDER = 10_000, 4096, 250
PACKAGES = ["globus-gridftp-server-progs", "libudt0", "rsync", "openssh-client", "rclone", "xrootd-client"]
TITLES = {"file": "a large file", "many": "10,000 files of 4 KiB", "one": "one file of their bytes"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--losses", default=",".join(LOSSES), help="in percent")
    parser.add_argument("--what", default=",".join(TITLES))
    parser.add_argument("--bytes", type=int, default=2_000_000_000)
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    # Whoever ends it ends the links and programs, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    missing = {name: why for name in options.only.split(",") if (why := PEERS[name].missing())}
    for name, why in missing.items():
        print(f"{name}: not installed ({why})", flush=True)
    results = json.loads(options.json.read_text()) if options.json.exists() else {"bytes": options.bytes, "rows": []}
    if results["bytes"] != options.bytes:
        sys.exit(f"{options.json} is of files of {results['bytes']} bytes: name another with --json")
    results |= {"machine": machine(*map(package_version, PACKAGES)), "missing": missing}
    peers = {name: PEERS[name] for name in options.only.split(",") if name not in missing}
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="bench-copy-") as folder:
        # Servers that are not root's read it.
        Path(folder).chmod(0o755)
        sources = make_sources(Path(folder), options.bytes, options.what.split(","))
        for number in range(options.runs):
            for loss in options.losses.split(","):
                for what, source in sources.items():
                    for name, peer in peers.items():
                        measure_once(results, (loss, what, name, number), peer, source, Path(folder), options.json)
    publish(table(results), options.json)


def keep(results: dict[str, Any], row: dict[str, Any], rows: Path, what: str, told: Callable[[float], str]) -> None:
    """Adds a row to those of this run, at once, and shows it: what was measured, and what is told of its seconds, or how it failed."""
    results["rows"].append(row)
    rows.write_text(json.dumps(results, indent=1) + "\n")
    print(f"run {row['run'] + 1}  {what} {row.get('failed') or told(row['seconds'])}", flush=True)


def publish(text: str, rows: Path) -> None:
    """Beside the rows that it is of."""
    rows.with_suffix(".md").write_text(text)
    print("\n" + text)


def make_sources(folder: Path, size: int, wanted: list[str]) -> dict[str, Path]:
    """Files that no compression makes smaller."""
    for name, length in (("file", size), ("one", SMALL * SMALL_BYTES)):
        if name in wanted:
            with (folder / name).open("wb") as file:
                for at in range(0, length, 1 << 20):
                    file.write(os.urandom(min(1 << 20, length - at)))
    if "many" in wanted:
        make_small(folder / "many", SMALL)
    return {name: folder / name for name in wanted}


def make_small(folder: Path, files: int) -> None:
    for number in range(files):
        path = folder / str(number // SMALL_OF_A_FOLDER) / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SMALL_BYTES))


def measure_once(results: dict[str, Any], key: tuple[str, str, str, int], peer: Peer, source: Path, folder: Path, rows: Path) -> None:
    """One run, unless the results have it, or the peer cannot do it."""
    loss, what, name, number = key
    before = [row for row in results["rows"] if (row["what"], row["peer"]) == (what, name) and float(row["loss"]) <= float(loss)]
    # Who has failed once is not waited for again, nor at more loss.
    done = any("failed" in row or (row["loss"], row["run"]) == (loss, number) for row in before)
    if done or (source.is_dir() and not peer.takes_folders):
        return
    column = long_path("copy", float(loss) / 100, "1bdp")
    row = {"loss": loss, "what": what, "peer": name, "run": number, **copied_well(peer, source, folder, column, number + 1)}
    named = f"loss {loss:>3} %  {TITLES[what]:<24} {peer.title:<22}"
    keep(results, row, rows, named, lambda seconds: f"{seconds:7.2f} s {100 * row['share']:5.1f} %")


def copied_well(peer: Peer, source: Path, folder: Path, column: Column, seed: int) -> dict[str, Any]:
    """A copy that the testbed kept up with; the last one if there is none."""
    for tries in range(1, TRIES + 1):
        row = {**copied(peer, source, folder, column, seed), "tries": tries}
        if "failed" in row or row["honest"]:
            break
    return row


def copied(peer: Peer, source: Path, folder: Path, column: Column, seed: int) -> dict[str, Any]:
    """One copy, held against its source."""
    target, work = folder / "target", folder / "work"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    work.mkdir(exist_ok=True)
    row = timed(peer, Run(source, target, work), column, seed)
    if "seconds" in row:
        row["share"] = size_of(source) * 8 / row["seconds"] / (column.rate * (MTU - HEADERS) / MTU)
        if not is_same(source, target):
            row["failed"] = "what arrived is not what was sent"
    shutil.rmtree(target)
    return row


def timed(peer: Peer, run: Run, column: Column, seed: int) -> dict[str, Any]:
    """How long the client takes."""
    with Testbed(column, seed) as bed, started(bed, peer.server(run)) as (server, said):
        if not said:
            return {"failed": f"its server is not ready after {READY_S} s"}
        client: Client = peer.client(run, said)
        began = time.monotonic()
        copying = launch(bed, client.side, client.command, subprocess.DEVNULL, subprocess.PIPE)
        try:
            _, errors = copying.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {"failed": f"not within {LIMIT_S} s"}
        finally:
            end(copying)
        seconds = time.monotonic() - began
        if copying.returncode != 0:
            said_last = (errors.strip().splitlines() or ["it said nothing"])[-1]
            return {"failed": f"exit code {copying.returncode}: {said_last}"}
        stats = bed.stats()
        return {"seconds": seconds, "load": os.getloadavg()[0], "honest": stats["own_errors"]["kept_up"]}


@contextlib.contextmanager
def started(bed: Testbed, server: Server) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and the line that it printed, or that it is ready; nothing if it is not."""
    process = launch(bed, server.side, server.command, subprocess.PIPE, subprocess.DEVNULL)
    try:
        if server.port:
            yield process, "ready" if wait_listening(process.pid, server.port, READY_S) else ""
        else:
            assert process.stdout
            ready, _, _ = select.select([process.stdout], [], [], READY_S)
            yield process, process.stdout.readline().strip() if ready else ""
    finally:
        end(process)


def launch(bed: Testbed, side: str, command: list[object], output: int, errors: int) -> subprocess.Popen[str]:
    words = bed.command(side, [str(word) for word in command])
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, text=True, start_new_session=True)


def size_of(source: Path) -> int:
    return sum(path.stat().st_size for path in [source, *source.rglob("*")] if path.is_file())


def is_same(source: Path, target: Path) -> bool:
    """A folder's content may be in the target itself."""
    there = target / source.name if (target / source.name).exists() else target
    return subprocess.run(["diff", "-rq", source, there], check=False, capture_output=True).returncode == 0


def table(results: dict[str, Any]) -> str:
    """Medians, least and most, for each kind of files; losses across, peers down."""
    text = f"# Copies, beside others\n\n`make bench-copy`: 1 Gbit/s, 80 ms, from memory to memory. {results['machine']}.\n"
    text += "Seconds, start and end included: median (least to most). In brackets the share of what the link carries of files.\n"
    text += f"A copy with which the testbed did not keep up is made again, {TRIES - 1} times at most, and counts only where it kept up with none. Who has failed is not tried again, nor at more loss.\n"
    for what, title in TITLES.items():
        rows = [row for row in results["rows"] if row["what"] == what]
        losses = [loss for loss in LOSSES if any(row["loss"] == loss for row in rows)]
        if not rows:
            continue
        bytes_of = results["bytes"] if what == "file" else SMALL * SMALL_BYTES
        text += f"\n## {title[0].upper()}{title[1:]}: {bytes_of / 1e6:.0f} MB\n\n"
        text += "| |" + "".join(f" loss {loss} % |" for loss in losses) + "\n|---|" + "---|" * len(losses) + "\n"
        for name, peer in PEERS.items():
            cells = [cell([row for row in rows if (row["peer"], row["loss"]) == (name, loss)]) for loss in losses]
            if any(cells):
                text += f"| {peer.title} | " + " | ".join(cells) + " |\n"
    if results["missing"]:
        text += "\nNot installed: " + ", ".join(results["missing"]) + ".\n"
    return text


def cell(rows: list[dict[str, Any]]) -> str:
    """The runs of one peer over one link."""
    ended = [row for row in rows if "failed" not in row]
    if not ended:
        return rows[0]["failed"] if rows else ""
    good = [row for row in ended if row["honest"]] or ended
    seconds = sorted(row["seconds"] for row in good)
    share = statistics.median(row["share"] for row in good)
    late = "" if good[0]["honest"] else ", the testbed was late"
    return f"{statistics.median(seconds):.2f} ({seconds[0]:.2f} to {seconds[-1]:.2f}) [{100 * share:.1f} %{late}]"


if __name__ == "__main__":
    main()
