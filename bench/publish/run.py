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
PACES = {
    "a step every 400 solver steps": (400, 3),
    "a step every 40 solver steps": (40, 20),
    "a step every 4 solver steps": (4, 100),
}
# What the cores of a machine with two are for: the back end's would be another machine's.
PLACES = {"program and back end on a core each": ("0", "1"), "both on all cores": (None, None)}
SAID = re.compile(
    r"^(?P<steps>\d+) steps in (?P<wall_s>[\d.]+) s.*"
    r"^rank 0 used (?P<cpu_s>[\d.]+) s .*threads (?P<threads_cpu_s>[\d.]+) s$"
    r"(?:.*^publishing took (?P<call_ms>[\d.]+) ms.*; (?P<sent>\d+) pieces)?",
    re.S | re.M,
)


def machine() -> str:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "?")
    load, day = os.getloadavg()[0], time.strftime("%Y-%m-%d")
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load average {load:.1f}, {day}"


def pinned(cores: str | None, *command: object) -> list[str]:
    return [*(["taskset", "-c", cores] if cores else []), *map(str, command)]


def solve(wave: Path, cores: str | None, pace: tuple[int, int], *meeting: str) -> dict[str, float]:
    """What a run says of itself."""
    every, steps = pace
    options = ["--n", N, "--every", every, "--steps", steps, "--rate", 0]
    command = ["mpiexec.mpich", "-bind-to", "none", "-n", "1", *pinned(cores, wave, *options, *meeting)]
    plain = {name: value for name, value in os.environ.items() if name != "VISAPULT_URL"}
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=plain).stdout
    found = SAID.search(said)
    assert found, said
    return {name: float(value) for name, value in found.groupdict(default="0").items()}


def with_back_end(wave: Path, place: tuple[str | None, str | None], pace: tuple[int, int]) -> dict[str, float]:
    # It counts what comes: so it asks for all of it, though no page is open.
    options = ["--port", 0, "--no-open", "--json", os.devnull]
    command = pinned(place[1], VISAPULT, "backend", "--listen", "127.0.0.1:0", *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as back_end:
        try:
            assert back_end.stdout is not None
            return solve(wave, place[0], pace, "--url", back_end.stdout.readline().strip())
        finally:
            back_end.terminate()


def copy_ms() -> float:
    """One copy of the field, from memory that is warm to memory that is there."""
    source, target = bytearray(N**3 * 4), bytearray(N**3 * 4)
    view, times = memoryview(target), []
    for _ in range(20):
        began = time.perf_counter()
        view[:] = source
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def median(runs: list[dict[str, float]], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def least(runs: list[dict[str, float]], name: str) -> float:
    return min(run[name] for run in runs)


def measure(wave: Path, place: tuple[str | None, str | None], pace: tuple[int, int], repeats: int) -> dict:
    runs: dict[str, list[dict[str, float]]] = {"off": [], "nobody looks": [], "received": []}
    for _ in range(repeats):
        runs["off"].append(solve(wave, place[0], pace))
        runs["nobody looks"].append(solve(wave, place[0], pace, "--listen", "127.0.0.1:0"))
        runs["received"].append(with_back_end(wave, place, pace))
    off, received = runs["off"], runs["received"]
    walls = [run["wall_s"] for run in off]
    # The least of several is what other programs on the machine disturb least.
    rise = {
        f"{name}: {word} {what}": round(100 * (of(runs[name], what) / of(off, what) - 1), 1)
        for name in ("nobody looks", "received")
        for what in ("wall_s", "cpu_s")
        for word, of in (("median", median), ("least", least))
    }
    return {
        "wall_s": median(off, "wall_s"),
        "spread_of_off_percent": round(100 * (max(walls) - min(walls)) / median(off, "wall_s"), 1),
        "rise_percent": rise,
        "copies_percent": round(0.1 * copy_ms() * pace[1] / median(off, "cpu_s"), 2),
        "sent_mbit_s": round(8e-6 * 4 * N**3 * statistics.median(run["sent"] / run["wall_s"] for run in received)),
        "threads_cpu_s_per_gb": round(
            statistics.median(run["threads_cpu_s"] / max(run["sent"], 1) for run in received) / (4e-9 * N**3), 2
        ),
        "runs": runs,
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
                print(json.dumps({name: value for name, value in result.items() if name != "runs"}))
    chosen.json.write_text(json.dumps({"machine": machine(), "n": N, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
