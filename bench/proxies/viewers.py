"""What ten viewers who look the same way cost a server, beside one: `make bench-proxies`.

usage: VISAPULT=target/release/visapult python bench/proxies/viewers.py [--runs 3]    (the Python tests' environment)
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from websockets.sync.client import ClientConnection, connect

from examples import ROOT, Row, spread

# From the folders that `examples` adds to the path.
from fields import THIN_SHELLS, spherical_waves
from page import measured

NAME = "viewers"
VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
N = 256
VIEWERS = (1, 10)
# Views of a session: a keyframe for each.
REST_S = 1.0
# Further apart than a keyframe serves, whatever is predicted of it.
AZIMUTHS_DEG = [50, 90, 130, 170, 210, 250, 290, 330]
VIEW, ACK, WELCOME = 64, 65, 1
LAST_OF_SET = 1
KEYFRAMES = (17, 19, 20)
PATIENCE_S = 60
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
HEAD = f"""## Viewers of one keyframe

`visapult view` of waves with thin shells, {N}^3; each viewer a session of the view protocol that asks for slabs, turns to {len(AZIMUTHS_DEG)} views, all at the same time to the same, and takes
all that is sent. Their windows are tiny (16 x 16), for the exact images at rest are made for each viewer; what prepares one, whatever its size, is
part of the figure. Processor seconds of the server from the first view to the last keyframe, median (least to most). Asked: ten cost at
most 1.2 times what one does.

| viewers | processor s of the server | MB to each viewer | beside one |
|--:|--:|--:|--:|
"""


class Viewer:
    """A session that looks, and takes what it is sent."""

    def __init__(self, url: str, points: list[list[float]], value_range: list[float]) -> None:
        self._open = ExitStack()
        address = urlsplit(url)
        base = f"ws://{address.netloc}"
        self.session = self._open.enter_context(connect(f"{base}/session?{address.query}", max_size=None, compression=None))
        welcome = self._welcome()
        self.bytes, self.sequence = 0, 0
        self.complete: dict[int, set[int]] = {}
        self.changed = threading.Condition()
        self.function = {"range": value_range, "points": points}
        self.groups = welcome["groups"]
        for group in range(self.groups):
            data = f"{base}/data?{address.query}&session={welcome['session']}&group={group}"
            socket = self._open.enter_context(connect(data, max_size=None, compression=None))
            threading.Thread(target=self._take, args=(group, socket), daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

    def _welcome(self) -> dict[str, object]:
        while True:
            message = self.session.recv(timeout=PATIENCE_S)
            if message[0] == WELCOME:
                return json.loads(message[1:])

    def _listen(self) -> None:
        for _ in self.session:
            pass

    def _take(self, group: int, socket: ClientConnection) -> None:
        received = 0
        for message in socket:
            received += len(message)
            socket.send(bytes([ACK, 0, 0, 0]) + received.to_bytes(8, "little"))
            with self.changed:
                self.bytes += len(message)
                if message[0] in KEYFRAMES and message[1] & LAST_OF_SET:
                    self.complete.setdefault(int.from_bytes(message[4:8], "little"), set()).add(group)
                self.changed.notify_all()

    def keyframes(self) -> int:
        """Complete ones so far."""
        return sum(len(groups) == self.groups for groups in self.complete.values())

    def look(self, azimuth: float) -> None:
        self.sequence += 1
        camera = {"azimuth": azimuth, "elevation": 20, "distance": 3, "fov": 30, "target": [0, 0, 0]}
        view = {"sequence": self.sequence, "camera": camera, "viewport": [16, 16], "field": 0, "step": None, "moving": False}
        self.session.send(bytes([VIEW]) + json.dumps(view | {"proxy": "slabs", "transfer_function": self.function}).encode())

    def until(self, keyframes: int) -> None:
        """Waits for as many complete keyframes."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.keyframes() >= keyframes, PATIENCE_S):
                raise SystemExit(f"{self.keyframes()} of {keyframes} keyframes after {PATIENCE_S} s")

    def close(self) -> None:
        self._open.close()


def cpu_s(process: int) -> float:
    """Fields 14 and 15 of `proc_pid_stat(5)`."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def measure(field: Path, value_range: list[float], viewers: int) -> Row:
    command = [VISAPULT, "view", field, "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            url = next(line for line in server.stdout if "http://" in line)
            url = url[url.index("http://") :].split()[0]
            seen = [Viewer(url, [list(point) for point in THIN_SHELLS], value_range) for _ in range(viewers)]
            # What is sent first, coarse bricks and a keyframe, is there before anything counts.
            before, began = 0.0, 0
            for number, azimuth in enumerate([10, *AZIMUTHS_DEG]):
                if number == 1:
                    before, began = cpu_s(server.pid), sum(viewer.bytes for viewer in seen)
                for viewer in seen:
                    viewer.look(azimuth)
                for viewer in seen:
                    viewer.until(number + 1)
                # Stills and predictions follow a keyframe at rest, whether its viewers wait for each other or not.
                time.sleep(REST_S)
            told = {"viewers": viewers, "cpu_s": cpu_s(server.pid) - before}
            told["bytes_each"] = (sum(viewer.bytes for viewer in seen) - began) / viewers
            for viewer in seen:
                viewer.close()
        finally:
            server.terminate()
    return told


def section(rows: list[Row]) -> str:
    one = sorted(row["cpu_s"] for row in rows if row["viewers"] == 1)
    lines = []
    for viewers in VIEWERS:
        of_it = [row for row in rows if row["viewers"] == viewers]
        costs = sorted(row["cpu_s"] for row in of_it)
        beside = costs[len(costs) // 2] / one[len(one) // 2]
        sent = of_it[0]["bytes_each"] / 1e6
        lines.append(f"| {viewers} | {spread(costs)} | {sent:.1f} | {beside:.2f} |")
    return HEAD + "\n".join(lines)


def measure_all(runs: int, folder: Path) -> list[Row]:
    values = spherical_waves(N, 0.35)
    field = folder / "waves.npy"
    np.save(field, values)
    value_range = [float(values.min()), float(values.max())]
    return [measure(field, value_range, viewers) for _ in range(runs) for viewers in VIEWERS]


if __name__ == "__main__":
    measured(NAME, __doc__, measure_all)
