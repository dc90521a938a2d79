"""Images and keyframes on a graphics processor beside the processor: seconds of each, in turn, in a warm process.

The copy of the field to the device's memory is told apart: it is made once for a step. Of slabs of colour it is told, too, where the time goes.
Writes bench/results/gpu.md and gpu.json.

    cargo build --release --locked -p visapult-render --example devices
    python bench/gpu.py [--edges 256,512,1024] [--frames 10] [--device gpu]

`--device software` runs the same kernels on Mesa's lavapipe: that they work, and nothing about their speed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path

from machine import machine

ROOT = Path(__file__).resolve().parent.parent
DEVICES = ROOT / "target" / "release" / "examples" / "devices"
STAGES = ["looking for what is visible", "casting on the device", "waiting for it to be read", "compressing on the processor"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--edges", default="256,512,1024", help="samples along an edge of the fields")
    arguments.add_argument("--frames", type=int, default=10, help="timed pictures of each kind")
    arguments.add_argument("--device", choices=["gpu", "software"], default="gpu")
    options = arguments.parse_args()
    rows = []
    for edge in map(int, options.edges.split(",")):
        command = [DEVICES, edge, options.device, options.frames]
        told = subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout
        upload, *works = map(json.loads, told.splitlines())
        rows += [{**upload, **work} for work in works]
        print(table(rows[-len(works) :]), flush=True)
    report = {"machine": machine(rows[0]["device"]), "frames": options.frames, "rows": rows}
    results = ROOT / "bench" / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / "gpu.json").write_text(json.dumps(report, indent=1) + "\n")
    (results / "gpu.md").write_text(document(report))


def document(report: dict) -> str:
    """The report as Markdown."""
    return (
        "# Graphics processor and processor\n\n"
        f"`make bench-gpu`: seconds, median (least to most) of {report['frames']} pictures, each from another side: images of 1024 x 1024 pixels, 128 slabs of "
        "512 x 512 rays, segments as a view gets them, tiles compressed. The first picture, which compiles kernels, is left out; the copy of the field to the "
        "device is made once.\n\n"
        f"{report['machine']}\n\n{table(report['rows'])}\n\n"
        "Where the time of slabs goes on the device, medians in seconds. What is read and compressed is cut into pieces: the device reads the next while the "
        f"processor compresses one.\n\n{stages(report['rows'])}\n"
    )


def table(rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    lines = ["| n | made | copy, s | device, s | processor, s | speed | PSNR, dB |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        speed = statistics.median(row["cpu_s"]) / statistics.median(row["gpu_s"])
        alike = "" if row["psnr_db"] is None else f"{row['psnr_db']:.1f}"
        lines.append(
            f"| {row['edge']} | {row['work']} | {row['upload_s']:.3f} | {spread(row['gpu_s'])} | {spread(row['cpu_s'])} | **{speed:.1f}x** | {alike} |"
        )
    return "\n".join(lines)


def stages(rows: list[dict]) -> str:
    """Medians of the stages of slabs as a Markdown table."""
    lines = [f"| n | {' | '.join(STAGES)} | bytes |", "|---" * (len(STAGES) + 2) + "|"]
    for row in rows:
        if row["stages_s"]:
            medians = " | ".join(f"{statistics.median(stage):.4f}" for stage in zip(*row["stages_s"], strict=True))
            lines.append(f"| {row['edge']} | {medians} | {statistics.median(row['bytes']):,.0f} |")
    return "\n".join(lines)


def spread(seconds: list[float]) -> str:
    """Median, least and most."""
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f} to {max(seconds):.3f})"


if __name__ == "__main__":
    main()
