"""URLs whose secrets are kept in a file: commands and programs are given them without, and no other user sees a token."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import VISAPULT
from shares import SOON, Sharing, sharing
from test_bad_input import assert_one_clear_line
from wan import ENVIRONMENT, Process


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The file, which is not there yet."""
    file = tmp_path / "config" / "visapult" / "urls"
    file.parent.mkdir(parents=True)
    return file


def keep(file: Path, *lines: str) -> None:
    file.touch(mode=0o600)
    file.write_text("".join(f"{line}\n" for line in lines))


def bare(url: str) -> str:
    """A URL without what is secret, and without what needs quotes."""
    return re.sub(r"//.*@", "//", url).split("#")[0]


def run(kept: Path, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {**ENVIRONMENT, "XDG_CONFIG_HOME": str(kept.parents[1])}
    return subprocess.run([VISAPULT, *map(str, words)], env=environment, capture_output=True, text=True, timeout=SOON, check=False)


@pytest.fixture
def share(tmp_path: Path) -> Iterator[Sharing]:
    (tmp_path / "shared" / "run").mkdir(parents=True)
    (tmp_path / "shared" / "run" / "a b").write_text("content")
    with sharing(tmp_path / "shared", "--write", "--fetch", "127.0.0.1") as share:
        yield share


def test_every_command_has_the_secret_of_a_url_from_the_file(share: Sharing, kept: Path, tmp_path: Path) -> None:
    serving = Process([VISAPULT, "serve", "demo:wave?n=16", "--bind", "127.0.0.1:0"])
    measuring = Process([VISAPULT, "perf", "serve", "--bind", "127.0.0.1:0"])
    try:
        served, measured = serving.read_line(), measuring.read_line()
        # Of one place the newest counts.
        forged = re.sub("//.*@", "//AAAAAAAAAAAAAAAAAAAAAA@", share.url)
        keep(kept, "# mine", forged, f"grace {share.url}", "", served, measured)
        url = bare(share.url)
        for words in (
            ("copy", f"{url}/run/a b", f"{tmp_path}/there/"),
            ("copy", tmp_path / "there", f"{url}/in/"),
            ("copy", f"{url}/run", f"{url}/fetched/"),
            ("verify", tmp_path / "there", f"{url}/in/there"),
            ("fetches", url),
            ("perf", "send", bare(measured), "--bytes", "1MB"),
            ("info", bare(served)),
        ):
            done = run(kept, *words)
            assert (done.returncode, done.stderr) == (0, ""), (words, done)
            assert "@" not in " ".join(map(str, words))
        assert (tmp_path / "there" / "a b").read_text() == (tmp_path / "shared/in/there/a b").read_text() == "content"
        assert (tmp_path / "shared" / "fetched" / "run" / "a b").exists()
    finally:
        serving.stop()
        measuring.stop()


def test_python_has_the_secret_of_a_url_from_the_file(share: Sharing, kept: Path, tmp_path: Path) -> None:
    pytest.importorskip("visapult", reason="the package is not installed: make python-package")
    keep(kept, share.url)
    program = f"import visapult; print(visapult.copy({bare(share.url) + '/run'!r}, {str(tmp_path)!r}).files)"
    environment = {**ENVIRONMENT, "XDG_CONFIG_HOME": str(kept.parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=SOON, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
    keep(kept, "ripp://SECRET@host:1/run")
    refused = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=SOON, check=False)
    assert "visapult.CallError: " in refused.stderr
    assert "urls line 1: " in refused.stderr
    assert "SECRET" not in refused.stderr


def test_a_file_that_cannot_be_believed_is_one_clear_line(share: Sharing, kept: Path, tmp_path: Path) -> None:
    copying = ("copy", bare(share.url), tmp_path / "there")
    keep(kept, share.url, "ripp://SECRET@host:1/run")
    wrong = run(kept, *copying)
    assert_one_clear_line(wrong.stderr, "urls line 2: ", "copy the whole URL")
    assert "SECRET" not in wrong.stderr
    keep(kept, share.url)
    kept.chmod(0o644)
    open_to_all = run(kept, *copying)
    assert_one_clear_line(open_to_all.stderr, "urls may be read or changed by others", "chmod 600")
    assert wrong.returncode == open_to_all.returncode == 2
    # Who gives the token need not care.
    assert run(kept, "copy", share.url, tmp_path / "there").returncode == 0


def test_a_url_that_nothing_is_kept_of_is_told_as_that(share: Sharing, kept: Path, tmp_path: Path) -> None:
    elsewhere = run(kept, "copy", "ripp://192.0.2.1:7440/runs", tmp_path)
    assert elsewhere.returncode == 1
    assert_one_clear_line(elsewhere.stderr, "192.0.2.1:7440", "neither token nor fingerprint", "urls")
    here = run(kept, "copy", bare(share.url), tmp_path)
    assert here.returncode == 1
    assert_one_clear_line(here.stderr, "127.0.0.1:", " speaks TLS", "neither token nor fingerprint", "urls")
    assert "RIPP peer" not in here.stderr


def test_a_token_is_shown_to_nobody_but_who_has_the_certificate(share: Sharing, kept: Path, tmp_path: Path) -> None:
    before, print_of_share = share.url.split("#")
    keep(kept, share.url)
    other = ("A" if print_of_share[0] != "A" else "B") + print_of_share[1:]
    refused = run(kept, "copy", f"{bare(share.url)}#{other}", tmp_path)
    assert_one_clear_line(refused.stderr, "certificate")
    keep(kept, f"{before}#{other}")
    refused = run(kept, "copy", bare(share.url), tmp_path)
    assert_one_clear_line(refused.stderr, "certificate")
    assert os.listdir(tmp_path / "shared") == ["run"]
