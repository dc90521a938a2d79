"""Servers of WebDAV that copies are held against: rclone's, which makes folders for what is put there, and WsgiDAV, which does not."""

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
    answers: list[tuple[str, int]] = []

    def remembering(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        def start(status: str, *rest: Any) -> Any:
            answers.append((environ["REQUEST_METHOD"], int(status.split()[0])))
            return start_response(status, *rest)

        return app(environ, start)

    # Each connection that waits for its next request may hold a thread for ten seconds.
    server = wsgi.Server(("127.0.0.1", 0), remembering, numthreads=64)
    server.ssl_adapter = BuiltinSSLAdapter(str(certificate), str(key))
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        endpoint = f"https://127.0.0.1:{server.bind_addr[1]}"
        yield Answering(endpoint, folder, who(endpoint, authority), answers)
    finally:
        server.stop()
        thread.join(SOON)
