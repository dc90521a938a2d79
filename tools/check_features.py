"""Holds third-party crates to one set of features in all that is built: one that has two is compiled twice, with everything that needs it."""

import subprocess
import sys

# Macros are left out: they are compiled for the compiler, with features of their own.
BUILDS = {
    "the program": ["--edges", "normal,no-proc-macro"],
    "its tests": ["--edges", "normal,dev,no-proc-macro"],
    "the Python package": ["--edges", "normal,no-proc-macro", "--package", "visapult-python"],
}


def features(options: list[str]) -> dict[str, set[str]]:
    """The crates of a build, each with its features."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}", *options]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    pairs = (line.removesuffix(" (*)").split("|") for line in lines if line)
    return {crate: set(features.split(",")) - {""} for crate, features in pairs}


def main() -> int:
    builds = {build: features(options) for build, options in BUILDS.items()}
    problems = []
    for crate in sorted(set().union(*builds.values())):
        asked = {build: crates[crate] for build, crates in builds.items() if crate in crates}
        every = set().union(*asked.values())
        problems += [
            f"{crate} of {build} lacks {', '.join(sorted(every - some))}, and is compiled twice: name it in that manifest"
            for build, some in asked.items()
            if some != every
        ]
    for problem in problems:
        print(f"features: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
