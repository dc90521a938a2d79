"""The programs that copy files: how each is started, and what it needs."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "bench"), str(ROOT / "bench" / "transport")]
from measure import end  # noqa: E402
from testbed import LEFT, RIGHT  # noqa: E402

VISAPULT = Path(os.environ.get("VISAPULT", ROOT / "target/release/visapult")).resolve()
UDT = ROOT / "out" / "peers" / "udt-peer"
STREAMS = 16
PORT = 7450


@dataclass(frozen=True)
class Run:
    """What is copied where to, from the left to the right; and a folder for what a program needs beside."""

    source: Path
    target: Path
    work: Path


@dataclass(frozen=True)
class Server:
    """What waits: it is ready when its port is open, or without one when it has printed a line."""

    side: str
    command: list[object]
    port: int | None = PORT


@dataclass(frozen=True)
class Client:
    """What copies: the time that it takes counts."""

    side: str
    command: list[object]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """A program that copies files."""

    title: str
    needs: tuple[str | Path, ...]
    server: Callable[[Run], Server]
    #: Told the line that the server has printed.
    client: Callable[[Run, str], Client]
    takes_folders: bool = True

    def missing(self) -> str:
        """What would have to be installed."""
        return ", ".join(str(need) for need in self.needs if not shutil.which(need))


def share(run: Run, program: Path = VISAPULT) -> Server:
    return Server("right", [program, "share", run.target, "--write", "--bind", f"{RIGHT}:0"], port=None)


@contextlib.contextmanager
def share_here(target: Path, program: Path = VISAPULT) -> Iterator[str]:
    """A share on loopback that others may write to, and its URL."""
    command = [program, "share", target, "--write", "--bind", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        end(process)


def gridftp_server(run: Run) -> Server:
    options = ["-aa", "-anonymous-user", "root", "-allow-root", "-data-interface", RIGHT, "-log-level", "ERROR"]
    return Server("right", ["globus-gridftp-server", *options, "-p", PORT])


def gridftp(run: Run, _: str) -> Client:
    is_folder = run.source.is_dir()
    options = ["-fast", "-p", STREAMS, *(["-r", "-pp", "-cd"] if is_folder else [])]
    return Client("left", ["globus-url-copy", *options, f"file://{run.source}{'/' * is_folder}", f"ftp://{RIGHT}:{PORT}{run.target}/"])


def rsync_config(target: Path, work: Path) -> Path:
    """Of a daemon that takes into the target, which it calls `in`."""
    config = work / "rsyncd.conf"
    config.write_text(f"use chroot = no\nuid = {os.getuid()}\ngid = {os.getgid()}\n[in]\npath = {target}\nread only = no\n")
    return config


def rsync_server(run: Run) -> Server:
    config = rsync_config(run.target, run.work)
    return Server("right", ["rsync", "--daemon", "--no-detach", "--port", PORT, f"--config={config}"])


def ssh_server(run: Run) -> Server:
    """A server for this user alone, with keys of its own."""
    for key in ("host", "own"):
        path = run.work / key
        if not path.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    options = [f"HostKey={run.work}/host", f"AuthorizedKeysFile={run.work}/own.pub", "StrictModes=no", "UsePAM=no"]
    options += ["PermitRootLogin=yes", "PidFile=none", "Subsystem=sftp internal-sftp"]
    words = [word for option in options for word in ("-o", option)]
    return Server("right", [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-f", "/dev/null", "-p", PORT, *words])


def scp(run: Run, _: str) -> Client:
    options = [f"IdentityFile={run.work}/own", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
    words = [word for option in options for word in ("-o", option)]
    return Client("left", ["scp", "-q", "-r", "-P", PORT, *words, run.source, f"{getpass.getuser()}@{RIGHT}:{run.target}/"])


def rclone_server(run: Run) -> Server:
    return Server("left", ["rclone", "serve", "webdav", run.source.parent, "--addr", f"{LEFT}:{PORT}", "--read-only", "--config", "/dev/null"])


def rclone(run: Run, _: str) -> Client:
    # It has several streams for what it fetches only.
    options = ["--multi-thread-streams", STREAMS, "--multi-thread-cutoff", "8M", "--transfers", STREAMS, "--checkers", STREAMS]
    options += ["--config", "/dev/null", "--webdav-url", f"http://{LEFT}:{PORT}"]
    there = f":webdav:{run.source.name}"
    to = run.target / run.source.name if run.source.is_dir() else run.target
    return Client("right", ["rclone", "copy", *options, there, to])


def xrootd_server(run: Run) -> Server:
    """It refuses to be root's."""
    config = run.work / "xrootd.cf"
    own = run.work / "xrootd"
    own.mkdir(exist_ok=True)
    own.chmod(0o777)
    config.write_text(
        f"xrd.port {PORT}\nxrd.network nodnr\nall.export {run.source.parent} r/o\nall.adminpath {own}\nall.pidpath {own}\n"
    )
    return Server("left", ["xrootd", "-R", "nobody", "-c", config, "-l", own / "log"])


def xrdcp(run: Run, _: str) -> Client:
    options = ["--nopbar", "--silent", "-S", STREAMS - 1, *(["-r", "--parallel", 4] if run.source.is_dir() else [])]
    return Client("right", ["xrdcp", *options, f"root://{LEFT}:{PORT}/{run.source}", f"{run.target}/"])


PEERS = {
    "visapult": Peer("visapult copy", (VISAPULT,), share, lambda run, url: Client("left", [VISAPULT, "copy", run.source, f"{url}/"])),
    "gridftp": Peer(f"GridFTP, {STREAMS} streams", ("globus-gridftp-server", "globus-url-copy"), gridftp_server, gridftp),
    "udt": Peer(
        "UDT 4",
        (UDT,),
        lambda run: Server("right", [UDT, "take", RIGHT, PORT, 1500, run.target / run.source.name]),
        lambda run, _: Client("left", [UDT, "give", RIGHT, PORT, 1500, run.source]),
        takes_folders=False,
    ),
    "rsync": Peer(
        "rsync, its daemon", ("rsync",), rsync_server, lambda run, _: Client("left", ["rsync", "-a", "-W", run.source, f"rsync://{RIGHT}:{PORT}/in/"])
    ),
    "scp": Peer("scp", ("scp", "/usr/sbin/sshd"), ssh_server, scp),
    "rclone": Peer(f"rclone, {STREAMS} streams", ("rclone",), rclone_server, rclone),
    "xrdcp": Peer(f"xrdcp, {STREAMS} streams", ("xrdcp", "xrootd"), xrootd_server, xrdcp),
}
