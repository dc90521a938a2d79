"""Holds the crates' dependencies against the arrows of ARCHITECTURE.md: which crate may import which."""

import json
import subprocess
import sys

MAY_IMPORT = {
    "comm": set(),
    "copy": {"objects", "ripp-net", "volume", "volume-io"},
    "doctor": {"ripp-net"},
    "objects": set(),
    "volume": set(),
    "volume-io": {"objects", "volume"},
    "page": set(),
    "render": {"volume"},
    "ripp": set(),
    "ripp-net": {"ripp"},
    "pipeline": {"volume", "volume-io", "render", "comm", "ripp-net", "trace"},
    "portal": {"pipeline", "ripp-net"},
    "python": {"copy", "pipeline", "ripp-net"},
    "testbed": set(),
    "testkit": {"ripp"},
    "trace": set(),
    "c": {"pipeline"},
    "cli": {"copy", "doctor", "pipeline", "portal", "ripp-net", "trace"},
}
PREFIX = "visapult-"


def arrows() -> dict[str, set[str]]:
    """The project's crates and the project's crates that each depends on, tests and build scripts left out."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    return {
        package["name"].removeprefix(PREFIX): {
            dependency["name"].removeprefix(PREFIX)
            for dependency in package["dependencies"]
            if dependency["name"].startswith(PREFIX) and dependency["kind"] is None
        }
        for package in packages
    }


def main() -> int:
    problems = []
    for crate, imported in sorted(arrows().items()):
        if crate not in MAY_IMPORT:
            problems.append(f"crate {crate} has no place in ARCHITECTURE.md: add its arrows here and there")
            continue
        problems += [f"{crate} must not import {other}" for other in sorted(imported - MAY_IMPORT[crate])]
    for problem in problems:
        print(f"arrows: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
