"""A viewer's page without a browser: a session of the view protocol that watches a simulation and asks something of it."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from websockets.sync.client import connect

PATIENCE_S = 60
WELCOME, NOTICE, STEPS, STEERING, FIELD = 1, 5, 2, 6, 3
VIEW, STEER = 64, 66
FIRST_VIEW = json.loads((Path(__file__).parents[2] / "testdata" / "wire" / "view.json").read_text())


class Page:
    """A session. It keeps the newest of what the server says, and all of its notices and words on fields; data connections it opens none."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._open = ExitStack()
        self.socket = self._open.enter_context(connect(f"ws://{address.netloc}/session?{address.query}", max_size=None))
        self.source: dict = {}
        self.steps: dict = {}
        self.steering: dict = {}
        self.notices: list[str] = []
        self.fields: list[dict] = []
        self._send(VIEW, FIRST_VIEW)

    def _send(self, kind: int, body: dict) -> None:
        self.socket.send(bytes([kind]) + json.dumps(body).encode())

    def _receive(self, limit_s: float) -> None:
        try:
            message = self.socket.recv(timeout=limit_s)
        except TimeoutError:
            return
        kind, body = message[0], message[1:]
        if kind == WELCOME:
            self.source = json.loads(body)["source"]
        elif kind == STEPS:
            self.steps = json.loads(body)
        elif kind == STEERING:
            self.steering = json.loads(body)
        elif kind == FIELD:
            self.fields.append(json.loads(body))
        elif kind == NOTICE:
            self.notices.append(json.loads(body)["text"])

    def until(self, happened: Callable[[], object], what: str) -> None:
        """Takes what the server says until something has happened."""
        deadline = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < deadline, f"{what} has not happened: {self.steps}, {self.steering}, {self.notices}"
            self._receive(0.2)

    def newest_beyond(self, step: int) -> int:
        """The newest step, once it is a later one."""
        self.until(lambda: self.steps.get("last", 0) > step, f"a step after {step}")
        return self.steps["last"]

    def show_step(self, step: int) -> None:
        """Asks for a step to be shown."""
        self._send(VIEW, FIRST_VIEW | {"sequence": FIRST_VIEW["sequence"] + 1, "step": step})

    def show_field(self, field: int) -> None:
        """Asks for a field to be shown."""
        self._send(VIEW, FIRST_VIEW | {"sequence": FIRST_VIEW["sequence"] + 1, "field": field})

    def send_steer(self, action: str, **more: object) -> None:
        """Asks for something, and waits for nothing."""
        self._send(STEER, {"action": action} | more)

    def value(self, name: str) -> float:
        """A parameter as the server tells it."""
        return next(it["value"] for it in self.steering["parameters"] if it["name"] == name)

    def ask(self, action: str, **more: object) -> int:
        """Asks for something, and waits until it is done; before which step it was."""
        self.until(lambda: self.steering, "a word on steering")
        before = len(self.steering["log"])
        self.send_steer(action, **more)
        self.until(lambda: len(self.steering["log"]) > before, f"{action} in the log")
        self.until(lambda: self.steering["log"][before]["at"] is not None or self.steering["log"][before]["problem"], action)
        done = self.steering["log"][before]
        assert done["problem"] is None, done
        return done["at"]

    def refused(self, action: str, **more: object) -> str:
        """Asks for something that is refused; with which reason."""
        before = len(self.notices)
        self.send_steer(action, **more)
        self.until(lambda: len(self.notices) > before, f"a reason why not to {action}")
        return self.notices[before]

    def close(self) -> None:
        """Leaves."""
        self._open.close()
