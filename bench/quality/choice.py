"""What `render --proxy auto` chooses under budgets of bytes, beside the best fixed choice of the proxies that run.py measured: `make bench-quality`.

usage: VISAPULT=target/release/visapult python bench/quality/choice.py [--only NAME]    (after run.py; the Python tests' environment)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forms import Form
from subjects import Subject, subjects

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from machine import machine

Row = dict[str, Any]

VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
RESULTS, MEASURED, PAGE = (ROOT / path for path in ("bench/results/choice.json", "bench/results/quality.json", "docs/src/proxy-choice.md"))
KEY_DEG, TURNED_DEG, SIZE = (30, 20), 30.0, 512
BUDGETS_MB = (0.1, 0.3, 1.0, 3.0, 10.0)
# What is better looks exact; what is worse by less counts as equally good: the planner's own rule.
ENOUGH_DB, ALIKE_DB = 45.0, 0.5
ASKED = 1.1
HEAD = f"""# What the planner chooses

`make bench-quality` measures this page: what `visapult render --proxy auto --budget` chooses for a picture that is turned by {TURNED_DEG:.0f} degrees from the key view, beside the best of the fixed
choices in [Quality of proxies](quality.md) within the same budget, both by the quality measured there. *Bytes* are those of the chosen proxy over those of the
smallest fixed one that is as good ({ALIKE_DB} dB count as equal, and so does all beyond {ENOUGH_DB:.0f} dB); asked: at most {ASKED}. Bricks of level 3 and coarser are not among the fixed ones.

"""


def chosen(folder: Path, size: list[int], spacing: list[float], budget_mb: float) -> Row:
    (folder / "field.json").write_text(json.dumps({"file": "field.raw", "size": size, "spacing": spacing, "type": "f32"}))
    azimuth, elevation = KEY_DEG
    view = ["--key-az", azimuth, "--key-el", elevation, "--az", azimuth + TURNED_DEG, "--el", elevation, "--size", f"{SIZE}x{SIZE}"]
    files = ["--tf", folder / "own.json", "--out", folder / "out.png", "--json", folder / "told.json"]
    command = [VISAPULT, "render", folder / "field.json", "--proxy", "auto", "--budget", f"{budget_mb * 1000:.0f}kB", *view, *files]
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if ended.returncode:
        return {"budget_mb": budget_mb, "form": None, "why": ended.stderr.strip()}
    told = json.loads((folder / "told.json").read_text())
    choice = told["choice"]
    made = next(candidate for candidate in choice["candidates"] if choice["reason"].startswith(f"{candidate['proxy']}: "))
    return {"budget_mb": budget_mb, "form": made["proxy"], "bytes": told["wire_bytes"], "predicted_db": round(made["psnr_db"], 1)}


def measure(subject: Subject, folder: Path) -> list[Row]:
    grid = subject.written(folder)[0].split(",")
    size, spacing = [int(n) for n in grid[:3]], [float(h) for h in grid[3:]]
    return [{"subject": subject.name} | chosen(folder, size, spacing, budget) for budget in BUDGETS_MB]


@dataclass(frozen=True)
class Fixed:
    """A proxy of a subject that run.py has measured, turned by the goal."""

    name: str
    bytes: int
    db: float

    @property
    def counted_db(self) -> float:
        """What is better than enough looks exact."""
        return min(self.db, ENOUGH_DB)


def fixed_choices(measured: list[Row], subject: str) -> dict[Form, Fixed]:
    """All of a subject."""
    rows = [row for row in measured if row["subject"] == subject and row["transfer_function"] == "own" and row["bytes"]]
    return {Form.named(row["proxy"]): Fixed(row["proxy"], row["bytes"], row["psnr_db"][row["angles_deg"].index(TURNED_DEG)]) for row in rows}


def beside(row: Row, fixed: dict[Form, Fixed]) -> Row:
    """What the choice is worth, and the best fixed one."""
    fitting = [one for one in fixed.values() if one.bytes <= row["budget_mb"] * 1e6]
    best = max(fitting, key=lambda one: (one.counted_db, -one.bytes), default=None)
    made = fixed.get(Form.named(row["form"])) if row["form"] else None
    if made is None or best is None:
        return row | {"best": best.name if best else None}
    as_good = [one.bytes for one in fixed.values() if one.counted_db >= made.counted_db - ALIKE_DB]
    lost = max(0.0, best.counted_db - made.counted_db)
    return row | {"db": made.db, "best": best.name, "best_db": best.db, "lost_db": lost, "ratio": row["bytes"] / min(as_good)}


def page(told: Row, measured: list[Row]) -> str:
    rows = [beside(row, fixed_choices(measured, row["subject"])) for row in told["rows"]]
    judged = [row for row in rows if "ratio" in row]
    thrifty = sum(row["ratio"] <= ASKED for row in judged)
    good = sum(row["lost_db"] <= 1.0 for row in judged)
    lines = [
        f"Of {len(judged)} choices {thrifty} take at most {ASKED} times the bytes of the smallest that is as good, and {good} are within 1 dB of the best within the budget.\n",
        "| subject | budget, MB | chosen | MB | predicted, dB | measured, dB | best fixed | dB | bytes |",
        "|---|--:|---|--:|--:|--:|---|--:|--:|",
    ]
    for row in rows:
        size = f"{row['bytes'] / 1e6:.2f}" if row["form"] else ""
        ends = [f"{row['db']:.1f}", row["best"], f"{row['best_db']:.1f}", f"{row['ratio']:.2f}"] if "ratio" in row else ["", row["best"] or "none", "", ""]
        cells = [row["subject"], f"{row['budget_mb']:g}", row["form"] or "nothing fits", size, row.get("predicted_db", ""), *ends]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return HEAD + "\n".join(lines) + f"\n\n`python bench/quality/choice.py`: {told['machine']}.\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", default="", help="measure subjects whose names contain this; what the file has of others stays")
    only = arguments.parse_args().only
    kept: list[Row] = json.loads(RESULTS.read_text())["rows"] if only else []
    with tempfile.TemporaryDirectory() as name:
        for subject in subjects(Path(name)):
            if only in subject.name:
                kept = [row for row in kept if row["subject"] != subject.name] + measure(subject, Path(name))
                print(subject.name, file=sys.stderr, flush=True)
    told = {"machine": machine(), "rows": kept}
    RESULTS.write_text(json.dumps(told, indent=1) + "\n")
    PAGE.write_text(page(told, json.loads(MEASURED.read_text())["rows"]))


if __name__ == "__main__":
    main()
