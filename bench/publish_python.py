"""What `publish` of the Python package costs a program, beside numpy's own copy of the same array into float32 in the same run.

Both alternate, and both copy into memory that has been used before. Nobody is attached: what is sent costs other threads. Writes
bench/results/publish-python.json and .md.

    python bench/publish_python.py [--edge 256] [--rounds 15]        (an environment with visapult and numpy)
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import visapult
from machine import machine

RESULTS = Path(__file__).resolve().parent / "results"

CASES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "float32, contiguous": lambda field: field.astype(np.float32),
    "float32, inside ghost layers": lambda field: np.pad(field.astype(np.float32), 1)[1:-1, 1:-1, 1:-1],
    "float32, Fortran order": lambda field: np.asfortranarray(field.astype(np.float32)),
    "float64, contiguous": lambda field: field,
    "float64, every second value of a row": lambda field: np.repeat(field, 2, axis=2)[:, :, ::2],
    "float64, Fortran order": np.asfortranarray,
    "int16, contiguous": lambda field: (field * 30_000).astype(np.int16),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--edge", type=int, default=256, help="values along an edge of the array")
    arguments.add_argument("--rounds", type=int, default=15, help="timed calls of each")
    options = arguments.parse_args()
    field = np.random.default_rng(1).random((options.edge,) * 3)
    rows = [measure(name, make(field), options.rounds) for name, make in CASES.items()]
    versions = [f"Python {platform.python_version()}", f"numpy {np.__version__}"]
    report = {"machine": machine(*versions), "edge": options.edge, "rounds": options.rounds, "rows": rows}
    (RESULTS / "publish-python.json").write_text(json.dumps(report, indent=1) + "\n")
    (RESULTS / "publish-python.md").write_text(document(report))
    print(document(report))


def measure(name: str, array: np.ndarray, rounds: int) -> dict[str, object]:
    target = np.zeros(array.shape, dtype=np.float32)
    ours, numpys = [], []
    with visapult.Publisher(name="bench", size=array.shape[::-1], fields=["f"], listen="127.0.0.1:0") as publisher:
        # The first steps touch fresh memory.
        for _ in range(4):
            publisher.publish(0.0, f=array)
            np.copyto(target, array, casting="unsafe")
        for _ in range(rounds):
            ours.append(seconds(lambda: publisher.publish(0.0, f=array)))
            numpys.append(seconds(lambda: np.copyto(target, array, casting="unsafe")))
    return {
        "case": name,
        "publish_ms": statistics.median(ours) * 1e3,
        "numpy_ms": statistics.median(numpys) * 1e3,
        "ratio": statistics.median(ours) / statistics.median(numpys),
        "publish_least_ms": min(ours) * 1e3,
        "numpy_least_ms": min(numpys) * 1e3,
    }


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def document(report: dict) -> str:
    edge = report["edge"]
    lines = [
        "# Publishing from Python",
        "",
        f"`python bench/publish_python.py --edge {edge} --rounds {report['rounds']}`, on {report['machine']}.",
        "",
        f"`publish` of {edge}^3 values against `numpy.copyto` of the same array into float32, one thread each, median (least) in ms.",
        "",
        "| array | publish | numpy.copyto | ratio |",
        "|---|---|---|---|",
    ]
    for row in report["rows"]:
        lines.append(
            f"| {row['case']} | {row['publish_ms']:.1f} ({row['publish_least_ms']:.1f}) | "
            f"{row['numpy_ms']:.1f} ({row['numpy_least_ms']:.1f}) | {row['ratio']:.2f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
