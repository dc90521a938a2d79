"""A URL that is given to the wrong command: one clear line, which says what it is of and what is wanted, and comes at once."""

from pathlib import Path

import pytest

from conftest import VISAPULT
from shares import SOON
from test_bad_input import assert_one_clear_line
from wan import Process

#: What serves, and what its URLs are said to be of and for.
SERVICES: dict[str, tuple[list[object], str]] = {
    "share": (["share", "{folder}"], "this URL is of visapult share, for visapult copy"),
    "perf": (["perf", "serve"], "this URL is of visapult perf serve, for visapult perf send"),
    "fields": (["serve", "demo:wave?n=16"], "this URL is of visapult serve or a simulation, for visapult view"),
    "backend": (["backend", "--no-open", "--for", "60s"], "this URL is of visapult backend, for simulations"),
}
#: Commands that are given a URL, and what they would like it to be of.
COMMANDS: dict[str, tuple[list[object], str]] = {
    "copy from": (["copy", "{url}", "{folder}/there"], "share"),
    "copy to": (["copy", "{folder}/file", "{url}"], "share"),
    "ls": (["ls", "{url}"], "share"),
    "fetches": (["fetches", "{url}"], "share"),
    "perf send": (["perf", "send", "{url}", "--bytes", "1MB"], "perf"),
    "info": (["info", "{url}"], "fields"),
    "view": (["view", "{url}", "--no-open"], "fields"),
}
WANTED = {"share": "visapult share prints", "perf": "visapult perf serve prints", "fields": "visapult serve or a simulation prints"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_url_of_another_kind_is_told_as_that(service: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    served, is_of = SERVICES[service]
    at = "--listen" if service == "backend" else "--bind"
    other = Process([VISAPULT, *(str(word).format(folder=tmp_path) for word in served), at, "127.0.0.1:0"])
    try:
        url = other.read_line().split()[-1]
        for command, wanted in COMMANDS.values():
            if wanted == service:
                continue
            ended = Process([VISAPULT, *(str(word).format(url=url, folder=tmp_path) for word in command)]).end(SOON)
            assert ended.code == 1, (command, ended)
            assert_one_clear_line(ended.stderr, is_of, WANTED[wanted])
    finally:
        other.stop()
