"""The machine that figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path


def widest_vectors() -> str:
    """The widest vector instructions of the processor: what encryption and rendering depend on most."""
    info = Path("/proc/cpuinfo").read_text()
    return next((name for name in ("avx512f", "avx2") if name in info), "no-avx2")


def machine(*versions: str) -> str:
    """Processor, memory, system, the `versions` of what took part, how busy it is, and the day."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    hardware = [f"{model} ({widest_vectors()})", f"{os.cpu_count()} cores", f"{memory:.0f} GiB"]
    moment = [f"load average {os.getloadavg()[0]:.1f}", time.strftime("%Y-%m-%d")]
    return ", ".join([*hardware, f"{platform.system()} {platform.release()}", *filter(None, versions), *moment])


def package_version(name: str) -> str:
    """A Debian package and its version, empty if it is not installed."""
    command = ["dpkg-query", "-W", "-f=${Version}", name]
    try:
        version = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
    return f"{name} {version}" if version else ""
