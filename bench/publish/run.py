"""What publishing costs a solver: periods of solver steps with and without a published step, in pairs within one run, which a back end receives.

usage: python3 bench/publish/run.py [--pairs 100] [--json bench/results/publish.json]
Needs two cores, mpicc.mpich, target/release/visapult and libvisapult.so (VISAPULT names the program).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from machine import machine

VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
N = 128
# Solver steps per period.
PACES = (400, 100, 40)
# The cores of the library's threads and of the thread that solves. The back end has what the solver does not need: it would be another machine's.
PLACES = {"a core for the solver": ("1", "0"), "solver and library on one core": ("0", "0")}
BACK_END_CORE = "1"
RESAMPLES = 2000


def build(folder: Path) -> Path:
    program, wave = folder / "overhead", ROOT / "examples/wave"
    sources = [wave / f"{name}.c" for name in ("options", "patience", "settings", "solver", "sources", "publish")]
    flags = ["-std=c11", "-O3", "-march=native", "-ffast-math", "-Wall", "-Wextra", "-I", ROOT / "bindings/c", "-I", wave]
    link = ["-L", VISAPULT.parent, "-lvisapult", f"-Wl,-rpath,{VISAPULT.parent}", "-lm"]
    command = ["mpicc.mpich", *flags, "-o", program, ROOT / "bench/publish/overhead.c", *sources, *link]
    subprocess.run(command, check=True)
    return program


def run(program: Path, place: tuple[str, str], pace: int, pairs: int) -> list[list[float]]:
    """Lines of the program: a pair each, and what was sent and missed."""
    options = ["--port", "0", "--no-open", "--json", os.devnull]
    receive = ["taskset", "-c", BACK_END_CORE, str(VISAPULT), "backend", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(receive, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as back_end:
        try:
            assert back_end.stdout is not None
            url = back_end.stdout.readline().strip()
            solve = [program, "--n", N, "--every", pace, "--steps", pairs, "--rate", 0, "--url", url]
            command = ["mpiexec.mpich", "-bind-to", "none", "-n", "1", "taskset", "-c", place[0], *map(str, solve)]
            environment = {**os.environ, "OWN_CORE": place[1]}
            said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        finally:
            back_end.terminate()
    return [[float(word) for word in line.split()] for line in said.splitlines() if line[:1].isdigit()]


def rise(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Median over pairs of what the second costs beyond the first, in percent, and where 95 % of resampled medians lie."""
    percents = [100 * (with_it / without - 1) for with_it, without in pairs]
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(percents, k=len(percents))) for _ in range(RESAMPLES))
    low, high = medians[RESAMPLES // 40], medians[-RESAMPLES // 40]
    return {"median": round(statistics.median(percents), 2), "low": round(low, 2), "high": round(high, 2)}


def measure(program: Path, place: tuple[str, str], pace: int, pairs: int) -> dict[str, object]:
    *lines, (sent, missed) = run(program, place, pace, pairs)
    own = [(line[0] - line[4], line[1]) for line in lines]
    period = statistics.median(line[1] for line in lines)
    return {
        "period_s": round(period, 4),
        "sent_mbit_s": round(8e-6 * 4 * N**3 / period),
        "steps": {"sent": int(sent), "missed": int(missed)},
        "calls_percent": round(100 * statistics.median(line[4] / line[1] for line in lines), 2),
        "wall_beyond_calls_percent": rise(own),
        "wall_percent": rise([(line[0], line[1]) for line in lines]),
        "processor_percent": rise([(line[2], line[3]) for line in lines]),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--pairs", type=int, default=100)
    arguments.add_argument("--json", type=Path, default=ROOT / "bench/results/publish.json")
    chosen = arguments.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for name, place in PLACES.items():
            for pace in PACES:
                result = {"place": name, "solver_steps": pace, **measure(program, place, pace, chosen.pairs)}
                results.append(result)
                print(json.dumps(result), flush=True)
    written = {"machine": machine(), "n": N, "pairs": chosen.pairs, "results": results}
    chosen.json.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
