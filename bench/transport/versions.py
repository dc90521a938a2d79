"""The machine that the transport was measured on, and what its peers are."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from machine import machine, package_version, widest_vectors

__all__ = ["measured_on", "widest_vectors"]

PACKAGES = ("iperf3", "libudt0", "libsrt1.5-openssl", "globus-gridftp-server-progs")


def measured_on() -> str:
    """The machine, with the versions of the peers."""
    return machine(*map(package_version, PACKAGES), quinn_version())


def quinn_version() -> str:
    """From the lock file of the peers."""
    lines = (HERE / "peers" / "Cargo.lock").read_text().splitlines()
    return next((f"quinn {lines[i + 1].split(chr(34))[1]}" for i, line in enumerate(lines) if line == 'name = "quinn"'), "quinn ?")
