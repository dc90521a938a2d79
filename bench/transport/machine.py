"""The machine that figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

PACKAGES = ("iperf3", "libudt0", "libsrt1.5-openssl", "globus-gridftp-server-progs")


def machine() -> str:
    """Processor, memory, kernel and the peers' versions."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [f"{name} {version}" for name in PACKAGES if (version := package_version(name))]
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, {', '.join(versions)}, "
        f"{quinn_version()}, load average {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}"
    )


def package_version(name: str) -> str:
    """A Debian package's version, empty if it is not installed."""
    command = ["dpkg-query", "-W", "-f=${Version}", name]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def quinn_version() -> str:
    """From the lock file of the peers."""
    lines = (Path(__file__).parent / "peers" / "Cargo.lock").read_text().splitlines()
    return next((f"quinn {lines[i + 1].split(chr(34))[1]}" for i, line in enumerate(lines) if line == 'name = "quinn"'), "quinn ?")
