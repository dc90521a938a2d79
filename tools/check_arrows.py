"""Holds the crates' dependencies against the section *Arrows* of ARCHITECTURE.md: which room may import which."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "visapult-"
SECTION = re.compile(r"^## Arrows\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"- `(?P<room>[^`]+)` -> (?P<imports>nothing|`[^`]+`(?:, `[^`]+`)*)")


def allowed(architecture: str) -> dict[str, set[str]]:
    """The rooms that the section names, and what each may import. Raises ValueError where it cannot be read."""
    section = SECTION.search(architecture)
    if section is None:
        raise ValueError("it has no section \"## Arrows\"")
    may_import: dict[str, set[str]] = {}
    for line in (line for line in section[1].splitlines() if line.startswith(("-", "*")) or "->" in line):
        arrow = ARROW.fullmatch(line)
        if arrow is None:
            raise ValueError(f"this line is none like \"- `room` -> `other`, `another`\" or \"- `room` -> nothing\": {line}")
        if arrow["room"] in may_import:
            raise ValueError(f"{arrow['room']} has two lines in Arrows: make them one")
        may_import[arrow["room"]] = set(re.findall("`([^`]+)`", arrow["imports"]))
    if not may_import:
        raise ValueError("its section Arrows has no line like \"- `room` -> `other`, `another`\"")
    for imported in list(may_import.values()):
        for room in imported:
            may_import.setdefault(room, set())
    return may_import


def found() -> dict[str, set[str]]:
    """The project's rooms with a manifest and those that each depends on, tests and build scripts left out."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)["packages"]
    rooms = {package["name"]: str(Path(package["manifest_path"]).parent.relative_to(ROOT)).removeprefix("crates/") for package in packages}
    return {
        rooms[package["name"]]: {
            rooms.get(dependency["name"], dependency["name"])
            for dependency in package["dependencies"]
            if dependency["name"].startswith(PREFIX) and dependency["kind"] is None
        }
        for package in packages
    }


def main() -> int:
    try:
        may_import = allowed((ROOT / "ARCHITECTURE.md").read_text())
    except (OSError, ValueError) as error:
        print(f"arrows: ARCHITECTURE.md cannot be read: {error}", file=sys.stderr)
        return 1
    rooms = found()
    problems = [f"ARCHITECTURE.md has arrows of {room}, and no manifest is there" for room in sorted(may_import.keys() - rooms.keys())]
    for room, imported in sorted(rooms.items()):
        if room not in may_import:
            problems.append(f"{room} has no line in ARCHITECTURE.md, section Arrows: add it there")
            continue
        problems += [f"{room} must not import {other}" for other in sorted(imported - may_import[room])]
    for problem in problems:
        print(f"arrows: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
