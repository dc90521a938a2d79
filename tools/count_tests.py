"""Adds up what the test runners of `make test` said, and prints one closing line; fails if a runner is missing."""

import re
import sys
from pathlib import Path

RUNNERS = {
    "cargo": [(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", ("passed", "failed", "skipped"))],
    "vitest": [(r"^\s*Tests\s.*?(\d+) passed", ("passed",)), (r"^\s*Tests\s.*?(\d+) failed", ("failed",))],
    "pytest": [
        (r"^(?:=+ )?(?:\d+ \w+, )*(\d+) passed(?:,.*)? in [\d.]+", ("passed",)),
        (r"^(?:=+ )?(\d+) failed.* in [\d.]+", ("failed",)),
        (r"(\d+) skipped.* in [\d.]+", ("skipped",)),
    ],
    "node": [
        (r"^[#ℹ] pass (\d+)", ("passed",)),
        (r"^[#ℹ] fail (\d+)", ("failed",)),
        (r"^[#ℹ] skipped (\d+)", ("skipped",)),
    ],
}
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def main() -> int:
    text = COLOURS.sub("", "\n".join(Path(log).read_text(errors="replace") for log in sys.argv[1:]))
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    silent = []
    for runner, patterns in RUNNERS.items():
        found = 0
        for pattern, names in patterns:
            for match in re.finditer(pattern, text, re.MULTILINE):
                for name, count in zip(names, match.groups(), strict=True):
                    totals[name] += int(count)
                found += 1
        if found == 0:
            silent.append(runner)
    # What failed and passed when it was run once more (run_tests.py), was counted as failed.
    unsteady = sum(map(int, re.findall(r"^unsteady: (\d+) failed, and passed", text, re.MULTILINE)))
    totals["failed"] -= unsteady
    totals["passed"] += unsteady
    if silent:
        print(f"no result was seen of: {', '.join(silent)}")
    told = f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped"
    print(told + (f"; {unsteady} passed only when run once more" if unsteady else ""))
    return 1 if silent or totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
