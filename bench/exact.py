"""Exact images of `visapult render` beside VTK's vtkFixedPointVolumeRayCastMapper: speed and error.

Same volumes, camera, transfer function and sampling step; runs of both alternate, so that what else the machine does
hurts both. Writes bench/results/exact.md and exact.json.

    VISAPULT=target/release/visapult python bench/exact.py [--edges 256,512] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from fields import CASES, Case  # noqa: E402
from images import psnr, read_png  # noqa: E402
from machine import machine  # noqa: E402
from reference import reference_image  # noqa: E402
from vtk_reference import VtkRayCaster, vtk_version  # noqa: E402

VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target" / "release" / "visapult")).resolve()
SIZE = (1024, 1024)
THREADS = (1, 2)
# The numpy reference casts one pixel of this many in each direction.
EVERY = 4


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--edges", default="256,512", help="samples along an edge of the volumes")
    arguments.add_argument("--rounds", type=int, default=5, help="timed runs of each")
    options = arguments.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for edge in map(int, options.edges.split(",")):
            for case in CASES:
                rows += measure(case, edge, options.rounds, Path(folder))
                print(table(rows[-len(THREADS) :]), flush=True)
    report = {"machine": machine(f"VTK {vtk_version()}"), "size": SIZE, "rounds": options.rounds, "rows": rows}
    results = ROOT / "bench" / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / "exact.json").write_text(json.dumps(report, indent=1) + "\n")
    (results / "exact.md").write_text(document(report))
    print((results / "exact.md").read_text())


def measure(case: Case, edge: int, rounds: int, folder: Path) -> list[dict[str, object]]:
    """One row for each number of threads."""
    values = case.make(edge)
    function = case.transfer_function(values)
    volume, points = folder / "volume.npy", folder / "tf.json"
    np.save(volume, values)
    points.write_text(json.dumps(function))
    expected = eight_bits(reference_image(values, case.points, size=SIZE, every=EVERY))
    rows = []
    for threads in THREADS:
        vtk = VtkRayCaster(values, case.points, size=SIZE, threads=threads)
        theirs, (ours, _) = vtk.render(), run(volume, points, threads)
        seconds: dict[str, list[float]] = {"ours": [], "vtk": []}
        for _ in range(rounds):
            seconds["vtk"].append(vtk.time_render())
            seconds["ours"].append(run(volume, points, threads)[1]["seconds"]["render"])
        rows.append(
            {
                "field": case.name,
                "edge": edge,
                "threads": threads,
                "seconds": seconds,
                "speed": statistics.median(seconds["vtk"]) / statistics.median(seconds["ours"]),
                "psnr": {
                    "ours": psnr(subset(ours), expected),
                    "vtk": psnr(subset(theirs), expected),
                    "each_other": psnr(ours, theirs),
                },
            }
        )
        vtk.close()
    return rows


def run(volume: Path, points: Path, threads: int) -> tuple[np.ndarray, dict[str, dict[str, float]]]:
    """One image, and what it cost."""
    image, cost = volume.with_name("image.png"), volume.with_name("cost.json")
    size = f"{SIZE[0]}x{SIZE[1]}"
    command = [VISAPULT, "render", volume, "--tf", points, "--size", size, "--threads", threads]
    subprocess.run([*map(str, command), "--out", image, "--json", cost], check=True, stdout=subprocess.DEVNULL)
    return read_png(image), json.loads(cost.read_text())


def subset(image: np.ndarray) -> np.ndarray:
    """The pixels that the reference casts."""
    return image[EVERY // 2 :: EVERY, EVERY // 2 :: EVERY]


def eight_bits(image: np.ndarray) -> np.ndarray:
    """The image over black."""
    return np.floor(np.clip(image[..., :3], 0, 1) * 255 + 0.5)


def document(report: dict[str, object]) -> str:
    """The report as Markdown."""
    return (
        "# Exact images beside VTK\n\n"
        f"`make bench-exact`: {SIZE[0]} x {SIZE[1]} pixels, camera 30 / 20 degrees at distance 3, a sample per voxel edge, no shading; "
        "seconds of one image, median (least to most) of "
        f"{report['rounds']} runs in turn with vtkFixedPointVolumeRayCastMapper's. VTK draws again in a warm process; `visapult render` "
        "starts anew for each image, and its time includes preparing the transfer function. PSNR of 8-bit pictures to the numpy "
        f"reference (every {EVERY}th pixel of each row and column).\n\n"
        f"{report['machine']}\n\n{table(report['rows'])}\n"
    )


def table(rows: list[dict[str, object]]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| field | n | threads | visapult, s | VTK, s | speed | PSNR visapult | PSNR VTK | between them |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, vtk, error = spread(row["seconds"]["ours"]), spread(row["seconds"]["vtk"]), row["psnr"]
        lines.append(
            f"| {row['field']} | {row['edge']} | {row['threads']} | {ours} | {vtk} | **{row['speed']:.1f}x** "
            f"| {error['ours']:.1f} | {error['vtk']:.1f} | {error['each_other']:.1f} dB |"
        )
    return "\n".join(lines)


def spread(seconds: list[float]) -> str:
    """Median, least and most."""
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    main()
