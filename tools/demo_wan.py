"""A parallel simulation on one side of a wide-area link, back end and page on the other: `make demo-wan`.

FOR=30s ends by itself; JSON=FILE writes what was sustained, with the steps that a page of its own showed."""

import argparse
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
WAN = ROOT / "target/release/wan"
VISAPULT = ROOT / "target/release/visapult"
WAVE = ROOT / "examples/wave/wave"
LINK = ["--rate", "1G", "--rtt", "80ms", "--loss", "0.1%"]
RATE_BPS = 1e9
# What is left of the link's rate for what UDP carries, in packets of 1500 bytes.
PAYLOAD_SHARE = 1472 / 1500
RIGHT = "10.7.0.2"
FLOW_PORT = 7430
PAGE_PORT = 7420
RANKS = 4
# As many steps of 128^3 float32 values as the link can carry, and no more: the solver shares this machine's cores with the link.
STEPS_PER_S = 16
PATIENCE = 60
# Says its number, and is there: its namespace can be entered.
HOLDER = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(1e6)"]


def fail(problem: str) -> None:
    sys.exit(f"demo-wan: {problem}")


def check() -> str:
    """What is missing, said before anything is started. Returns the launcher."""
    if os.geteuid() != 0:
        fail("needs root: the link is made of network namespaces")
    if not Path("/dev/net/tun").exists():
        fail("needs /dev/net/tun")
    launcher = shutil.which("mpiexec.mpich") or shutil.which("mpiexec")
    if launcher is None:
        fail("needs an MPI library with mpiexec (Debian: apt install mpich)")
    if not WAVE.exists():
        fail(f"needs {WAVE.relative_to(ROOT)} (make -C examples/wave)")
    return launcher


class Link:
    """The link while it is up, and what runs at its ends."""

    def __init__(self) -> None:
        self.name = f"demo-{os.getpid()}"
        self.started: list[subprocess.Popen[str]] = []
        subprocess.run([WAN, "up", "--name", self.name, "--for", "12h", *LINK], check=True, stdout=subprocess.DEVNULL)

    def start(self, side: str, command: list[str], stderr: int | None = None, **environment: str) -> subprocess.Popen[str]:
        whole = [str(WAN), "exec", "--name", self.name, side, *command]
        settings = {**os.environ, **environment}
        process = subprocess.Popen(
            whole, stdout=subprocess.PIPE, stderr=stderr, text=True, env=settings, start_new_session=True
        )
        self.started.append(process)
        return process

    def namespace(self, side: str) -> int:
        """A handle on the namespace of a side."""
        holder = self.start(side, HOLDER)
        return os.open(f"/proc/{line_of(holder)}/ns/net", os.O_RDONLY)

    def kept_up(self) -> bool:
        stats = subprocess.run([WAN, "stats", "--name", self.name], check=True, capture_output=True, text=True)
        return json.loads(stats.stdout)["own_errors"]["kept_up"]

    def down(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        subprocess.run([WAN, "down", "--name", self.name], check=False, stdout=subprocess.DEVNULL)


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line it prints. No more is read: what Python has read ahead, `select` does not see."""
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        letter = os.read(process.stdout.fileno(), 1) if ready else b""
        if not letter:
            fail("a part of it did not start; what it said is above")
        line += letter
    return line.decode().strip()


def forward_page(namespace: int, port: int) -> socket.socket:
    """Makes the page, which is on loopback inside the namespace, reachable on loopback here."""
    here = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        import ctypes

        # From here on this thread's sockets are made in there.
        if ctypes.CDLL(None, use_errno=True).setns(namespace, 0) != 0:
            fail("the namespace of the back end cannot be entered")
        while True:
            try:
                client, _ = here.accept()
                there = socket.create_connection(("127.0.0.1", port))
            except OSError:
                return
            for a, b in ((client, there), (there, client)):
                threading.Thread(target=copy, args=(a, b), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return here


def pass_on(remarks: IO[str], port: int) -> None:
    """What the back end remarks, with the address that its page has here; that it waits for a simulation is no news."""

    def read() -> None:
        for line in remarks:
            if "waiting for a simulation" not in line:
                print(line.replace(f"127.0.0.1:{PAGE_PORT}/", f"127.0.0.1:{port}/"), end="", file=sys.stderr)

    threading.Thread(target=read, daemon=True).start()


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def seconds_of(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", text)
    if not found:
        fail(f"FOR={text}: expected a time such as 30s or 5m")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "": 1}[found[2]]


def show(url: str, seconds: float) -> int:
    """Steps that a page in a headless browser shows."""
    script = ROOT / "tools/count_steps.mjs"
    counted = subprocess.run(["node", script, url, str(seconds)], capture_output=True, text=True, check=False)
    if counted.returncode != 0:
        print(f"demo-wan: no page was opened: {counted.stderr.strip()}", file=sys.stderr)
        return 0
    return int(counted.stdout)


def draw(folder: Path) -> None:
    """Draws the lifelines of the run, and says in numbers what they show."""
    files = [folder / "backend.json", *(folder / f"wave.{rank}.json" for rank in range(RANKS))]
    out = ["-o", folder / "lifelines.svg", "--json", folder / "lifelines.json"]
    subprocess.run([VISAPULT, "trace", "plot", *files, *out], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="time", default="", help="end by itself after this time (30s)")
    parser.add_argument("--json", default="", help="write what was sustained to this file")
    parser.add_argument("--n", type=int, default=128, help="samples along an edge of the cube")
    parser.add_argument("--trace", default="", help="write trace files and the lifelines drawn from them to this folder")
    parser.add_argument("--ahead", default="", help="steps that the back end asks for ahead at most")
    options = parser.parse_args()
    if options.trace:
        Path(options.trace).mkdir(parents=True, exist_ok=True)
    launcher = check()
    seconds = seconds_of(options.time) if options.time else None
    link = Link()
    scratch = tempfile.TemporaryDirectory(prefix="visapult-demo-")
    report = Path(scratch.name) / "report.json"
    try:
        command = [VISAPULT, "backend", "--listen", f"{RIGHT}:{FLOW_PORT}", "--mode", "lossy", "--no-open"]
        command += ["--port", str(PAGE_PORT), "--json", report]
        command += ["--ahead", options.ahead] if options.ahead else []
        command += ["--trace", Path(options.trace, "backend.json")] if options.trace else []
        # The launcher and the browser need a while of their own.
        command += ["--for", f"{seconds + 4:g}s"] if seconds else []
        door = forward_page(link.namespace("right"), PAGE_PORT)
        backend = link.start("right", [str(word) for word in command], stderr=subprocess.PIPE)
        pass_on(backend.stderr, door.getsockname()[1])
        flow = line_of(backend)
        wave = [launcher, "-n", str(RANKS), str(WAVE), "--n", str(options.n), "--every", "1", "--rate", str(STEPS_PER_S)]
        environment = {"VISAPULT_URL": flow, "VISAPULT_RATE": str(int(0.995 * RATE_BPS / RANKS))}
        if options.trace:
            environment["VISAPULT_TRACE"] = str(Path(options.trace, "wave.json"))
        link.start("left", wave, **environment)
        inside = line_of(backend)
        url = inside.replace(f":{PAGE_PORT}/", f":{door.getsockname()[1]}/")
        print(f"{RANKS} ranks -> 1 Gbit/s, 80 ms, 0.1 % loss -> back end; the page:\n{url}", flush=True)
        shown = show(url, max(seconds - 4, 1)) if options.json and seconds else None
        try:
            backend.wait()
        except KeyboardInterrupt:
            backend.send_signal(signal.SIGINT)
            backend.wait(10)
        result = json.loads(report.read_text())
        result["fraction_of_payload_capacity"] = result["sustained_bps"] / (RATE_BPS * PAYLOAD_SHARE)
        result["link_kept_up"] = link.kept_up()
        if shown is not None:
            result["steps_shown"] = shown
        print(
            f"sustained {result['sustained_bps'] / 1e6:.0f} Mbit/s of values, "
            f"{100 * result['fraction_of_payload_capacity']:.1f} % of what the link can carry; "
            f"{result['steps_received']} steps in {result['seconds']:.1f} s, "
            f"{100 * result['fresh_share']:.2f} % of their values fresh"
        )
        if options.json:
            Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    finally:
        link.down()
        scratch.cleanup()
    if options.trace:
        draw(Path(options.trace))


if __name__ == "__main__":
    main()
