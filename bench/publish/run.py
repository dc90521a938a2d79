"""What publishing costs a solver: the wave example with and without a back end that receives, in turn, medians of several runs.

usage: python3 bench/publish/run.py [--repeats 5] [--json bench/results/publish.json]
Needs mpicc.mpich, target/release/visapult and libvisapult.so (VISAPULT names the program).
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
N = 128
# Solver steps per published step, and published steps of a run.
PACES = {"a step every 40 solver steps": (40, 12), "a step every 4 solver steps": (4, 100)}
# What the cores of a machine with two are for: the back end's would be another machine's.
PLACES = {"program and back end on a core each": ("0", "1"), "both on all cores": (None, None)}
WALL = re.compile(r"(\d+) steps in ([\d.]+) s.*\npublishing took ([\d.]+) ms.*; (\d+) pieces of steps sent, (\d+) missed", re.S)


def machine() -> str:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "?")
    load, day = os.getloadavg()[0], time.strftime("%Y-%m-%d")
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load average {load:.1f}, {day}"


def pinned(cores: str | None, *command: object) -> list[str]:
    return [*(["taskset", "-c", cores] if cores else []), *map(str, command)]


def solve(wave: Path, cores: str | None, pace: tuple[int, int], *meeting: str) -> str:
    every, steps = pace
    options = ["--n", N, "--every", every, "--steps", steps, "--rate", 0]
    command = ["mpiexec.mpich", "-bind-to", "none", "-n", "1", *pinned(cores, wave, *options, *meeting)]
    plain = {name: value for name, value in os.environ.items() if name != "VISAPULT_URL"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=plain).stdout


def wall_s(said: str) -> float:
    return float(said.split(" steps in ")[1].split()[0])


def with_back_end(wave: Path, place: tuple[str | None, str | None], pace: tuple[int, int]) -> dict:
    command = pinned(place[1], VISAPULT, "backend", "--listen", "127.0.0.1:0", "--port", 0, "--no-open")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as back_end:
        try:
            assert back_end.stdout is not None
            said = solve(wave, place[0], pace, "--url", back_end.stdout.readline().strip())
        finally:
            back_end.terminate()
    steps, wall, call_ms, sent, missed = WALL.search(said).groups()
    return {"wall_s": float(wall), "call_ms": float(call_ms), "sent": int(sent), "missed": int(missed), "steps": int(steps)}


def copy_ms() -> float:
    """One copy of the field, from memory that is warm to memory that is there."""
    source, target = bytearray(N**3 * 4), bytearray(N**3 * 4)
    view, times = memoryview(target), []
    for _ in range(20):
        began = time.perf_counter()
        view[:] = source
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def measure(wave: Path, place: tuple[str | None, str | None], pace: tuple[int, int], repeats: int) -> dict:
    off, nobody, received = [], [], []
    for _ in range(repeats):
        off.append(wall_s(solve(wave, place[0], pace)))
        nobody.append(wall_s(solve(wave, place[0], pace, "--listen", "127.0.0.1:0")))
        received.append(with_back_end(wave, place, pace))
    walls = [one["wall_s"] for one in received]
    without = statistics.median(off)
    percent = lambda times: round(100 * (statistics.median(times) / without - 1), 2)  # noqa: E731
    return {
        "off_s": off,
        "nobody_looks_s": nobody,
        "received": received,
        "spread_off_percent": round(100 * (max(off) - min(off)) / without, 2),
        "nobody_looks_percent": percent(nobody),
        "received_percent": percent(walls),
        "sent_mbit_s": round(statistics.median(8e-6 * 4 * N**3 * one["sent"] / one["wall_s"] for one in received)),
        "copy_percent": round(100 * 1e-3 * copy_ms() * pace[1] / without, 2),
        "call_percent": round(100 * statistics.median(1e-3 * one["call_ms"] * one["steps"] / one["wall_s"] for one in received), 2),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/publish.json")
    chosen = arguments.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        wave = Path(folder) / "wave"
        settings = ["MPICC=mpicc.mpich", f"OUT={wave}", f"VISAPULT={VISAPULT.parent}"]
        subprocess.run(["make", "--silent", "-f", ROOT / "examples/wave/Makefile", *settings], check=True)
        for place_name, place in PLACES.items():
            for pace_name, pace in PACES.items():
                result = {"place": place_name, "pace": pace_name, **measure(wave, place, pace, chosen.repeats)}
                results.append(result)
                print(
                    f"{place_name}, {pace_name}: off {statistics.median(result['off_s']):.2f} s "
                    f"(spread {result['spread_off_percent']} %), nobody looks {result['nobody_looks_percent']:+} %, "
                    f"received {result['received_percent']:+} % at {result['sent_mbit_s']} Mbit/s; calls "
                    f"{result['call_percent']} %, one copy of the field {result['copy_percent']} %"
                )
    chosen.json.write_text(json.dumps({"machine": machine(), "n": N, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
