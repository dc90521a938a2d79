"""Runs the tests of one runner; those that fail are run once more, by themselves.

    run_tests.py cargo|pytest|node COMMAND...

Tests over real networks and browsers, on a machine that others share, fail now and then for want of time alone. One that passes the second time is told as
unsteady, with what both runs said: it wants mending, but hides nothing else. More than a few of them fail the run.
"""

import re
import subprocess
import sys
from collections.abc import Callable

MOST_UNSTEADY = 3
AGAIN = "again| "


def main() -> int:
    runner, command = sys.argv[1], sys.argv[2:]
    code, said = run(command)
    if code == 0:
        return 0
    failed, again = SECOND[runner](command, said)
    if not 0 < failed <= MOST_UNSTEADY:
        return code
    print(f"failed: {failed}; once more, by themselves:", flush=True)
    for each in again:
        code, _ = run(each, AGAIN)
        if code != 0:
            return code
    print(f"unsteady: {failed} failed, and passed when run once more", flush=True)
    return 0


def run(command: list[str], mark: str = "") -> tuple[int, str]:
    """What it said, and its exit code; says it meanwhile, each line after `mark`."""
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as child:
        assert child.stdout
        for line in child.stdout:
            lines.append(line)
            print(mark + line, end="", flush=True)
    return child.returncode, "".join(lines)


def of_cargo(command: list[str], said: str) -> tuple[int, list[list[str]]]:
    names = sorted(set(re.findall(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", said, re.MULTILINE)))
    # One at a time: not every target takes several.
    return len(names), [[*command, "--", "--exact", name] for name in names]


def of_pytest(command: list[str], said: str) -> tuple[int, list[list[str]]]:
    names = set(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE))
    return len(names), [[*command, "--last-failed", "--last-failed-no-failures=none"]]


def of_node(command: list[str], said: str) -> tuple[int, list[list[str]]]:
    """Tests in a file build on each other: whole files are run once more."""
    files = sorted(set(re.findall(r"^ +location: '(?:file://)?(\S+\.test\.mjs):\d+:\d+'", said, re.MULTILINE)))
    failed = re.findall(r"^# fail (\d+)", said, re.MULTILINE)
    options = [word for word in command if not word.endswith(".test.mjs")]
    return sum(map(int, failed)) if files else 0, [[*options, *files]]


SECOND: dict[str, Callable[[list[str], str], tuple[int, list[list[str]]]]] = {
    "cargo": of_cargo,
    "pytest": of_pytest,
    "node": of_node,
}

if __name__ == "__main__":
    sys.exit(main())
