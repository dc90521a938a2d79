"""What tools/run_tests.py makes of tests that fail once, and of those that fail."""

import os
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"
FAILS_ONCE = """
from pathlib import Path

def test_sound():
    pass

def test_unsteady():
    flag = Path(__file__).with_suffix(".flag")
    first = not flag.exists()
    flag.touch()
    assert not first, "for the first time"
"""

CARGO = """
import sys
again = sys.argv[3:]
assert len(again) < 2, "not every runner takes several"
for name in again or ["a::one", "b::two"]:
    print(f"test {name} ... {'ok' if again else 'FAILED'}")
sys.exit(0 if again else 101)
"""


def run(folder: Path, text: str) -> tuple[int, str, str]:
    """Exit code and output of a run of one file of tests, and the closing count's last line."""
    (folder / "test_it.py").write_text(text)
    pytest = [sys.executable, "-m", "pytest", "-q", "-rfE", "test_it.py"]
    done = subprocess.run(
        [sys.executable, TOOLS / "run_tests.py", "pytest", *pytest],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    log = folder / "log"
    log.write_text(done.stdout)
    count = subprocess.run([sys.executable, TOOLS / "count_tests.py", log], capture_output=True, text=True)
    return done.returncode, done.stdout, count.stdout.splitlines()[-1]


def test_what_passes_the_second_time_is_told(tmp_path: Path) -> None:
    code, said, count = run(tmp_path, FAILS_ONCE)
    assert code == 0
    assert "for the first time" in said
    assert "unsteady: 1 failed, and passed when run once more" in said
    assert count == "2 passed, 0 failed, 0 skipped; 1 passed only when run once more"


def test_what_fails_twice_fails(tmp_path: Path) -> None:
    code, said, count = run(tmp_path, FAILS_ONCE + "\ndef test_wrong():\n    assert 1 == 2\n")
    assert code != 0
    assert "unsteady:" not in said
    assert count == "1 passed, 2 failed, 0 skipped"


def test_many_that_fail_are_not_run_again(tmp_path: Path) -> None:
    text = "import pytest\n\n@pytest.mark.parametrize('n', range(4))\ndef test_wrong(n):\n    assert n < 0\n"
    code, said, count = run(tmp_path, text)
    assert code != 0
    assert "once more" not in said
    assert count == "0 passed, 4 failed, 0 skipped"


def test_tests_of_cargo_are_run_once_more_one_by_one(tmp_path: Path) -> None:
    cargo = tmp_path / "cargo.py"
    cargo.write_text(CARGO)
    command = [sys.executable, str(TOOLS / "run_tests.py"), "cargo", sys.executable, str(cargo)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "again| test a::one ... ok" in done.stdout and "again| test b::two ... ok" in done.stdout
