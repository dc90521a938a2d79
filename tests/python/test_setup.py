"""What `make` says on a machine that lacks what it needs, of a user who may install nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "tools" / "setup.sh"
#: What any machine has.
TOOLS = ("bash", "cut", "dirname", "env", "grep", "head", "sed", "sort", "tr")
#: A machine that has the languages, and nothing else: no package is installed, its Python makes no virtual environments.
BARE = {
    "apt-get": "exit 1",
    "dpkg-query": "exit 1",
    "id": "echo 1000",
    "node": "echo v22.1.0",
    "python3": 'case "$2" in *platform*) echo 3.12.1 ;; *) exit 1 ;; esac',
    "rustc": "echo rustc 1.95.0 '(abc 2026-01-01)'",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with all the programs that there are."""
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    for name, script in BARE.items():
        program(tmp_path, name, script)
    return tmp_path


def program(machine: Path, name: str, script: str) -> None:
    (machine / name).write_text(f"#!{machine}/bash\n{script}\n")
    (machine / name).chmod(0o755)


def said(machine: Path, *arguments: str) -> list[str]:
    """What setting up says before it gives up."""
    command = [str(machine / "bash"), str(SETUP), *arguments]
    ended = subprocess.run(command, env={"PATH": str(machine), "HOME": str(machine)}, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stdout
    return ended.stderr.splitlines()


def test_all_packages_that_building_needs_are_told_at_once(machine: Path) -> None:
    assert said(machine, "build") == ["visapult set-up: missing packages; run: sudo apt-get install g++ gcc make python3-venv"]


def test_all_packages_that_the_tests_need_are_told_at_once_and_each_once(machine: Path) -> None:
    needed = "chromium g++ gcc libegl1 libgl1 libgl1-mesa-dri libxrender1 make python3-venv"
    assert said(machine, "packages", "build", "python", "browser") == [
        f"visapult set-up: missing packages; run: sudo apt-get install {needed}"
    ]


def test_languages_that_are_missing_or_too_old_are_told_with_the_packages(machine: Path) -> None:
    (machine / "rustc").unlink()
    program(machine, "node", "echo v18.0.0")
    told = said(machine, "build")
    assert [line.split(":")[1].split()[0] for line in told] == ["rust", "node", "missing"]
    assert "rust is missing: install rust 1.91 or newer (rustup.rs)" in told[0]
    assert "node 18.0.0 is too old: install node 20.19 or newer (nodejs.org)" in told[1]
