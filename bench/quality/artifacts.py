"""What proxies do to a picture, side by side: crops of two subjects, turned 45 degrees away from the key view.

usage: VISAPULT=target/release/visapult python bench/quality/artifacts.py [--out docs/src/images/artifacts.png]    (see `make bench-quality`)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from subjects import Subject, subjects

ROOT = Path(__file__).resolve().parents[2]
VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
KEY_DEG = (30, 20)
TURNED_DEG = 45
# Pixels of an image, of a crop, and of the line above each row.
SIZE, CROP, LINE = 768, 232, 18
# Left and upper edge of the crop in the image.
CROPS = {"waves, thin shells": (400, 190), "head, CT": (240, 350)}
PROXIES = {
    "exact": ["exact"],
    "64 slabs": ["slabs", "--slabs", "64"],
    "scalar slabs": ["scalar-slabs"],
    "64 segments": ["segments", "--segments", "64"],
    "bricks, half": ["bricks", "--bricks-level", "1"],
}
COLOURS = 128


def write_field(subject: Subject, folder: Path) -> tuple[Path, Path]:
    """The field and its transfer function, as files that `visapult` reads."""
    grid, raw, function, _ = subject.written(folder)
    numbers = [float(number) for number in grid.split(",")]
    described = {"file": Path(raw).name, "size": [int(number) for number in numbers[:3]], "type": "f32", "spacing": numbers[3:]}
    (folder / "field.json").write_text(json.dumps(described))
    return folder / "field.json", Path(function)


def picture(field: Path, function: Path, proxy: list[str]) -> Image.Image:
    out = field.with_suffix(".png")
    azimuth, elevation = KEY_DEG
    view = ["--key-az", azimuth, "--key-el", elevation, "--az", azimuth + TURNED_DEG, "--el", elevation]
    command = [VISAPULT, "render", field, "--tf", function, "--size", f"{SIZE}x{SIZE}", *view, "--proxy", *proxy, "--out", out]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    with Image.open(out) as drawn:
        over = Image.new("RGBA", drawn.size, "black")
        return Image.alpha_composite(over, drawn.convert("RGBA")).convert("RGB")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, default=ROOT / "docs/src/images/artifacts.png")
    chosen = arguments.parse_args()
    sheet = Image.new("RGB", (len(PROXIES) * CROP, len(CROPS) * (CROP + LINE)), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    with tempfile.TemporaryDirectory() as name:
        shown = [subject for subject in subjects(Path(name)) if subject.name in CROPS]
        for row, subject in enumerate(shown):
            field, function = write_field(subject, Path(name))
            left, top = CROPS[subject.name]
            for column, (proxy, options) in enumerate(PROXIES.items()):
                at = (column * CROP, row * (CROP + LINE))
                pen.text((at[0] + 3, at[1] + 2), f"{subject.name}: {proxy}", "black", font)
                crop = picture(field, function, options).crop((left, top, left + CROP, top + CROP))
                sheet.paste(crop, (at[0], at[1] + LINE))
    sheet.quantize(COLOURS).save(chosen.out, optimize=True)


if __name__ == "__main__":
    main()
