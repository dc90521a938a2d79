"""What a CUBIC flow keeps when one of ours comes to the same bottleneck.

CUBIC alone first; then CUBIC, and ours two seconds later. Counted over the time that both run, start of ours included, by what the kernel
says iperf3's server has read and by what `visapult perf` has placed. Writes bench/results/fairness.json and docs/src/discrimination.md.

    python3 bench/transport/fairness.py [--seconds 20] [--runs 1] [--only 1g-1bdp]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import limits_report
from processes import Sampler, at
from rivals import launcher, prefer, send_cubic, send_perf, serve_cubic, serve_perf, wait_for_report
from scenarios import Link, Path
from testbed import ROOT, WAN, Testbed
from versions import measured_on

RESULTS = ROOT / "bench" / "results" / "fairness.json"
AHEAD = 2.0


@dataclass(frozen=True)
class Bottleneck:
    """What the two flows share."""

    name: str
    path: Path
    queue: str

    @property
    def title(self) -> str:
        """For tables."""
        return f"{self.path.title}, queue {'1 BDP' if self.queue == '1bdp' else self.queue}"


BOTTLENECKS = [
    Bottleneck("100m-1bdp", Path(100, 20), "1bdp"),
    Bottleneck("1g-1bdp", Path(1000, 80), "1bdp"),
    Bottleneck("1g-25ms", Path(1000, 80), "25ms"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", help=", ".join(one.name for one in BOTTLENECKS))
    options = parser.parse_args()
    if not WAN.exists():
        sys.exit(f"{WAN} is missing: cargo build --release -p visapult-testbed")
    prefer()
    runs = []
    for turn in range(options.runs):
        for one in BOTTLENECKS:
            if not options.only or one.name in options.only.split(","):
                runs.append(measure(one, options.seconds, seed=turn + 1))
                print(json.dumps(runs[-1]), flush=True)
    results = {"machine": measured_on(), "seconds": options.seconds, "runs": runs}
    if not options.only:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        limits_report.write()
    print(limits_report.fairness(results))


def measure(one: Bottleneck, seconds: int, seed: int) -> dict[str, Any]:
    """CUBIC alone, and both."""
    alone, _, kept_up_alone = together(one, seconds, seed, ours=False)
    cubic, ours, kept_up = together(one, seconds, seed, ours=True)
    total = cubic + ours
    return {
        "bottleneck": one.title,
        "alone_bps": alone,
        "cubic_bps": cubic,
        "ours_bps": ours,
        # Half of what it has when alone is its fair share.
        "of_fair_share": cubic / max(1.0, alone / 2),
        "jain": total**2 / max(1.0, 2 * (cubic**2 + ours**2)),
        "kept_up": kept_up and kept_up_alone,
    }


def together(one: Bottleneck, seconds: int, seed: int, *, ours: bool) -> tuple[float, float, bool]:
    """Payload rates of CUBIC and of ours over the time that both run; or of CUBIC over the same time alone."""
    with Testbed(Link(one.path, ["--queue", one.queue]), seed) as link, contextlib.ExitStack() as ends, tempfile.TemporaryDirectory() as folder:
        launch = launcher(link, ends)
        _, url = serve_perf(launch)
        rival_server = serve_cubic(launch)
        link.stats(reset=True)
        rival = send_cubic(launch, seconds + 6)
        sampler = Sampler(rival_server.pid, rival.pid, "rchar")
        sampler.start()
        time.sleep(AHEAD)
        began = time.monotonic()
        placed: list[float] = []
        if ours:
            report = File(folder) / "report.json"
            wait_for_report(send_perf(launch, url, seconds, report, []), seconds)
            placed = json.loads(report.read_text())["bytes_per_100_ms"] if report.exists() else []
        else:
            time.sleep(seconds)
        sampler.stop()
        kept_up = link.stats()["own_errors"]["kept_up"]
    cubic = (at(sampler.payload, began + seconds) - at(sampler.payload, began)) * 8 / seconds
    return cubic, sum(placed[: seconds * 10]) * 8 / seconds, kept_up


if __name__ == "__main__":
    main()
