"""Finds dependencies that no source file of their crate names."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = ("dependencies", "dev-dependencies", "build-dependencies")


def wanted(manifest: dict) -> set[str]:
    """The dependencies of a manifest, of all kinds and platforms."""
    tables = [manifest, *manifest.get("target", {}).values()]
    return {name for table in tables for kind in KINDS for name in table.get(kind, {})}


def is_named(crate: str, source: str) -> bool:
    """Whether source text, comments left out, has a path that begins with the crate, or imports it as a whole."""
    name = re.escape(crate.replace("-", "_"))
    code = re.sub(r"^\s*//.*", "", source, flags=re.MULTILINE)
    return re.search(rf"\b{name}\s*::|\b(use|extern crate)\s+{name}\b", code) is not None


def unused(manifest: dict, sources: Iterable[str]) -> list[str]:
    """The dependencies that nothing names, but for those that the manifest says are there for their features."""
    text = "\n".join(sources)
    kept = manifest.get("package", {}).get("metadata", {}).get("for-features", [])
    return sorted(name for name in wanted(manifest) - set(kept) if not is_named(name, text))


def main() -> int:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*Cargo.toml", "*.rs"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [Path(name) for name in listed.splitlines() if (ROOT / name).exists()]
    manifests = {file.parent: tomllib.loads((ROOT / file).read_text()) for file in files if file.name == "Cargo.toml"}
    sources: dict[Path, list[str]] = {folder: [] for folder in manifests}
    for file in files:
        home = next((folder for folder in file.parents if folder in manifests), None)
        if file.suffix == ".rs" and home is not None:
            sources[home].append((ROOT / file).read_text())
    problems = [f"{folder}/Cargo.toml: nothing names {name}" for folder, of in manifests.items() for name in unused(of, sources[folder])]
    shared = set(manifests[Path()].get("workspace", {}).get("dependencies", {}))
    needless = shared - set().union(*map(wanted, manifests.values()))
    problems += [f"Cargo.toml: no crate takes {name} from the workspace" for name in sorted(needless)]
    for problem in problems:
        print(f"unused: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
