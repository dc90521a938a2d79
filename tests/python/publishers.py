"""Programs that publish: compiled with the machine's compilers, started, and ended by force when a test is over."""

import os
import select
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from conftest import VISAPULT

ROOT = Path(__file__).parents[2]
BINDINGS = ROOT / "bindings" / "c"
LIBRARY = VISAPULT.parent
LINK = [f"-L{LIBRARY}", "-lvisapult", f"-Wl,-rpath,{LIBRARY}", "-lm"]
PATIENCE_S = 60


def need(command: str) -> str:
    """The command, or the test is skipped."""
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    if not (LIBRARY / "libvisapult.so").exists():
        pytest.fail("libvisapult.so is missing: cargo build --release -p visapult-c")
    return command


def compile_c(source: Path, program: Path, compiler: str = "cc", *options: str) -> Path:
    """Strict C99: the header asks for no more."""
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([need(compiler), *strict, *options, f"-I{BINDINGS}", "-o", program, source, *LINK], check=True)
    return program


def compile_fortran(source: Path, program: Path) -> Path:
    """The module and a program."""
    strict = ["-std=f2018", "-Wall", "-Wextra", "-Werror", "-fcheck=all"]
    # Modules of other tests are elsewhere.
    modules = f"-J{program.parent}"
    subprocess.run(
        [need("gfortran"), *strict, modules, "-o", program, BINDINGS / "visapult.f90", source, *LINK], check=True
    )
    return program


class Running:
    """A program that runs while a test looks at it."""

    def __init__(self, *command: object, **variables: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "VISAPULT_URL"} | variables
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def line(self) -> str:
        """The next line it prints; fails if it ends or none comes. No more is read: what Python has read ahead, `select` does not see."""
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            letter = os.read(self.process.stdout.fileno(), 1) if ready else b""
            if not letter:
                self.process.kill()
                pytest.fail(f"it printed nothing; on its standard error: {self.process.communicate()[1]}")
            line += letter
        return line.decode().strip()

    def error_with(self, needle: str) -> None:
        """Waits for a line on its standard error in which this stands."""
        assert self.process.stderr is not None
        late = threading.Timer(PATIENCE_S, self.process.kill)
        late.start()
        try:
            assert any(needle in line for line in self.process.stderr), f"it ended and said nothing of {needle!r}"
        finally:
            late.cancel()

    def go_on(self) -> None:
        """Lets one go on that reads a line."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str, str]:
        """Its exit status and what it printed, once it has ended by itself."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err

    def stop(self) -> None:
        """Ends it, if it has not ended."""
        deadline = time.monotonic() + 10
        self.process.terminate()
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                self.process.kill()
            self.process.communicate()
