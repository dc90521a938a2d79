"""Object stores for tests: rclone's S3 server, and a small one that misbehaves as it is told to."""

import contextlib
import datetime
import email.utils
import http.server
import os
import re
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from conftest import VISAPULT
from wan import Ended, Process

KEY, SECRET = "test-key", "test-secret-that-nobody-sees"
RCLONE = Path(os.environ.get("RCLONE", Path(sys.executable).with_name("rclone")))
SOON = 60.0


@dataclass
class Store:
    """Where a store is, and as whom it is asked."""

    endpoint: str
    #: Of rclone's: its buckets are the folders in it.
    folder: Path = Path()
    environment: dict[str, str] = field(default_factory=lambda: {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET})

    def start(self, *arguments: object) -> Process:
        said = {"AWS_ENDPOINT_URL": self.endpoint, **self.environment}
        return Process(["env", *(f"{name}={value}" for name, value in said.items()), VISAPULT, *arguments])

    def run(self, *arguments: object) -> Ended:
        ended = self.start(*arguments).end(SOON)
        assert SECRET not in ended.stdout + ended.stderr
        return ended

    def copy(self, *arguments: object) -> Ended:
        return self.run("copy", *arguments)


@contextmanager
def rclone(folder: Path, signed: bool = True) -> Iterator[Store]:
    """rclone's S3 server, over a folder."""
    with rclone_serving("s3", folder, "--vfs-cache-mode", "off", *(["--auth-key", f"{KEY},{SECRET}"] if signed else [])) as endpoint:
        yield Store(endpoint, folder) if signed else Store(endpoint, folder, {})


@contextmanager
def rclone_serving(kind: str, folder: Path, *options: object) -> Iterator[str]:
    """One of rclone's servers, over a folder: where it is."""
    folder.mkdir(exist_ok=True)
    command = [str(word) for word in (RCLONE, "serve", kind, "--addr", "127.0.0.1:0", "--dir-cache-time", "1ms", *options, folder)]
    environment = {**os.environ, "RCLONE_CONFIG": "/dev/null"}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stderr
        found = next(filter(None, (re.search(r"https?://127\.0\.0\.1:\d+", line) for line in server.stderr)), None)
        assert found, "rclone does not serve"
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield found[0]
    finally:
        server.terminate()
        server.wait()


class Faulty(http.server.ThreadingHTTPServer):
    """A server of a bucket and of single files, which signs and checks nothing, and fails as it is told to."""

    daemon_threads = True

    def __init__(self, objects: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.objects = objects
        self.gives_parts = True
        #: So many of the requests to come fail with this status, or are cut in the middle of their content.
        self.failures = 0
        self.status = 500
        self.cuts = 0
        self.error = ""
        #: Until then it is busy, and wants to be left alone for a second.
        self.busy_until = 0.0
        #: Content is sent without its length.
        self.is_chunked = False
        #: What is always answered for some keys, and what is done whenever a key is asked for.
        self.statuses: dict[str, int] = {}
        self.on_key: Callable[[str], None] = lambda _: None
        self.requests: list[tuple[str, str]] = []
        #: The headers of each.
        self.heard: list[str] = []
        #: Another server, to which all are sent on.
        self.elsewhere = ""
        #: Paths, and bytes of content that were sent of them.
        self.sent: list[tuple[str, int]] = []
        self.modified = 1_700_000_000.0
        #: What is told in its place.
        self.time_told = ""
        self.tells_version = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(http.server.BaseHTTPRequestHandler):
    server: Faulty
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self.server.requests.append((self.command, self.path))
        self.server.heard.append(str(self.headers))
        if self.server.elsewhere:
            return self.send(302, b"", {"Location": self.server.elsewhere + path})
        if self.server.failures > 0:
            self.server.failures -= 1
            return self.send(self.server.status, self.server.error.encode())
        if time.monotonic() < self.server.busy_until:
            return self.send(503, b"<Error><Code>SlowDown</Code></Error>", {"Retry-After": "1"})
        asked = urllib.parse.parse_qs(query)
        if "list-type" in asked:
            return self.send(200, self.listing(asked.get("prefix", [""])[0]).encode())
        key = urllib.parse.unquote(path).removeprefix("/bucket/")
        self.server.on_key(key)
        if key in self.server.statuses:
            return self.send(self.server.statuses[key], b"")
        content = self.server.objects.get(key)
        if content is None:
            return self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")
        modified = self.server.time_told or email.utils.formatdate(self.server.modified, usegmt=True)
        told = {"Last-Modified": modified}
        if self.server.tells_version:
            told["ETag"] = f'"{hash(content):x}"'
        if self.server.is_chunked:
            return self.send_chunked(content, told)
        part = re.fullmatch(r"bytes=(\d*)-(\d+)", self.headers.get("Range", ""))
        if not part or not self.server.gives_parts:
            return self.send(200, content, told)
        last = not part[1]
        start, end = (max(len(content) - int(part[2]), 0), len(content)) if last else (int(part[1]), min(int(part[2]) + 1, len(content)))
        if start >= len(content):
            return self.send(416, b"")
        told["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        return self.send(206, content[start:end], told)

    do_HEAD = do_GET

    def listing(self, prefix: str) -> str:
        at = datetime.datetime.fromtimestamp(self.server.modified, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        keys = sorted(key for key in self.server.objects if key.startswith(prefix))
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{at}</LastModified><Size>{len(self.server.objects[key])}</Size></Contents>"
            for key in keys
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.server.sent.append((self.path, len(content)))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.server.cuts > 0 and len(content) > 4000:
            self.server.cuts -= 1
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
            return
        self.wfile.write(content)

    def send_chunked(self, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {"Transfer-Encoding": "chunked", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content))

    def handle(self) -> None:
        # Who has seen enough goes.
        with contextlib.suppress(OSError):
            super().handle()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def faulty(objects: dict[str, bytes], certificate: tuple[Path, Path] | None = None) -> Iterator[Faulty]:
    server = Faulty(objects)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def certified(folder: Path) -> tuple[Path, Path, Path]:
    """A certificate for 127.0.0.1, its key, and that of the authority that signed it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    import ipaddress

    now = datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("Test authority", "127.0.0.1")]
    made = []
    for index in range(2):
        builder = x509.CertificateBuilder().subject_name(names[index]).issuer_name(names[0]).public_key(keys[index].public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=index == 0, path_length=None), critical=True)
        if index == 1:
            alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
            builder = builder.add_extension(alternative, critical=False)
        made.append(builder.sign(keys[0], hashes.SHA256()))
    pem = serialization.Encoding.PEM
    authority, certificate, key = (folder / name for name in ("authority.pem", "server.pem", "key.pem"))
    authority.write_bytes(made[0].public_bytes(pem))
    certificate.write_bytes(made[1].public_bytes(pem))
    key.write_bytes(keys[1].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return certificate, key, authority
