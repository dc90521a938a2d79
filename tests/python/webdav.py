"""Servers of WebDAV that copies are held against: rclone's, which makes folders for what is put there, WsgiDAV, which does not, and a small one that does not even read it."""

import http.server
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stores import SECRET, SOON, Store, certified, rclone_serving

USER = "ada"


def who(endpoint: str, authority: Path) -> dict[str, str]:
    """What lets one in."""
    host = {"VISAPULT_HTTPS_HOST": urlsplit(endpoint).netloc, "VISAPULT_HTTPS_USER": USER, "VISAPULT_HTTPS_PASSWORD": SECRET}
    return host | {"SSL_CERT_FILE": str(authority)}


@contextmanager
def rclone_dav(work: Path) -> Iterator[Store]:
    certificate, key, authority = certified(work)
    options = ("--cert", certificate, "--key", key, "--user", USER, "--pass", SECRET)
    with rclone_serving("webdav", work / "dav", *options) as endpoint:
        yield Store(endpoint, work / "dav", who(endpoint, authority))


@dataclass
class Answering(Store):
    """A server that remembers what it was asked and answered: method and status."""

    answers: list[tuple[str, int]] = field(default_factory=list)
    #: What is done first when this is asked of that path; a status is the answer.
    on_request: Callable[[str, str], int | None] = lambda *_: None


@contextmanager
def wsgidav(work: Path) -> Iterator[Answering]:
    from cheroot import wsgi
    from cheroot.ssl.builtin import BuiltinSSLAdapter
    from wsgidav.fs_dav_provider import FilesystemProvider
    from wsgidav.wsgidav_app import WsgiDAVApp

    certificate, key, authority = certified(work)
    folder = work / "dav"
    folder.mkdir()
    app = WsgiDAVApp({
        "provider_mapping": {"/": FilesystemProvider(str(folder))},
        "simple_dc": {"user_mapping": {"*": {USER: {"password": SECRET}}}},
        "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        "logging": {"enable": False},
        "verbose": 0,
    })  # fmt: skip
    store = Answering("", folder)

    def remembering(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]

        def start(status: str, *rest: Any) -> Any:
            store.answers.append((method, int(status.split()[0])))
            return start_response(status, *rest)

        if status := store.on_request(method, environ["PATH_INFO"]):
            start(f"{status} As Told", [("Content-Length", "0")])
            return []
        return app(environ, start)

    # Each connection that waits for its next request may hold a thread for ten seconds.
    server = wsgi.Server(("127.0.0.1", 0), remembering, numthreads=64)
    server.ssl_adapter = BuiltinSSLAdapter(str(certificate), str(key))
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        store.endpoint = f"https://127.0.0.1:{server.bind_addr[1]}"
        store.environment = who(store.endpoint, authority)
        yield store
    finally:
        server.stop()
        thread.join(SOON)


class Unread(http.server.ThreadingHTTPServer):
    """A server that refuses what is put where there is no folder, and leaves it unread on the connection; behind an answer to HEAD it sends a body."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Leaving)
        self.folders = {"/"}
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> "Unread":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Leaving(http.server.BaseHTTPRequestHandler):
    server: Unread
    protocol_version = "HTTP/1.1"
    # What HTTP has no place for, on its way to who asked HEAD.
    late = b""

    def do_HEAD(self) -> None:
        content = self.server.files.get(self.path)
        self.answer(404 if content is None else 200, content or b"no such file")
        self.late = b"<p>late</p>"

    def do_PUT(self) -> None:
        if not self.has_place():
            return self.answer(409)
        self.server.files[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201)

    def do_MKCOL(self) -> None:
        if not self.has_place():
            return self.answer(409)
        folder = self.path.rstrip("/") + "/"
        is_there = folder in self.server.folders
        # Before it is told: what goes into it may come over another connection.
        self.server.folders.add(folder)
        self.answer(405 if is_there else 201)

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        self.answer(404 if content is None else 200, content or b"")

    def do_DELETE(self) -> None:
        self.answer(204)

    def do_PROPFIND(self) -> None:
        self.answer(404)

    def has_place(self) -> bool:
        return self.path.rstrip("/").rpartition("/")[0] + "/" in self.server.folders

    def answer(self, status: int, content: bytes = b"") -> None:
        self.server.requests.append((self.command, self.path))
        self.wfile.write(self.late)
        self.late = b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", self.date_time_string(0))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass
