"""The licences of what is shipped: of crates, and of the npm packages that the pages embed; and where crates come from.

usage: licences.py check    holds them to those that may be shipped, and crates to crates.io and to versions
       licences.py texts    prints the texts of the npm packages' licences, which go wherever the pages go
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"

ALLOWED = {
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Zlib",
    "CC0-1.0",
    "0BSD",
    "BSL-1.0",
}
# Crates with a licence in their own words, which were read. The HDF5 library's, linked statically, is BSD-3-Clause with a note on contributions.
IN_OWN_WORDS = {"hdf5-metno-src"}


def is_allowed(expression: str) -> bool:
    """Whether a licence expression leaves a choice that may be shipped; the old `MIT/Apache-2.0` is one, too."""
    words = re.findall(r"[()]|[^\s()]+(?: WITH [^\s()]+)?", expression.replace("/", " OR "))

    def either() -> bool:
        may = both()
        while words and words[0] == "OR":
            words.pop(0)
            may = both() or may
        return may

    def both() -> bool:
        may = one()
        while words and words[0] == "AND":
            words.pop(0)
            may = one() and may
        return may

    def one() -> bool:
        word = words.pop(0) if words else ""
        if word != "(":
            return word in ALLOWED
        may = either()
        return bool(words) and words.pop(0) == ")" and may

    return either() and not words


def shipped_packages() -> dict[str, dict]:
    """The npm packages by their folders; what only builds and tests the pages is not among them."""
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    return {folder: of for folder, of in packages.items() if folder and not of.get("dev")}


def shipped_crates(metadata: dict) -> list[dict]:
    """What our crates need to be built and to run; what only their tests need is not among it."""
    needs = {
        node["id"]: [to["pkg"] for to in node["deps"] if any(kind["kind"] != "dev" for kind in to["dep_kinds"])]
        for node in metadata["resolve"]["nodes"]
    }
    reached, ahead = set(), list(metadata["workspace_members"])
    while ahead:
        crate = ahead.pop()
        if crate not in reached:
            reached.add(crate)
            ahead += needs[crate]
    return [crate for crate in metadata["packages"] if crate["id"] in reached]


def problems_of_packages() -> Iterator[str]:
    for folder, of in shipped_packages().items():
        licence = of.get("license", "")
        if not is_allowed(licence):
            yield f"{folder} in web/package-lock.json: its licence ({licence or 'none'}) may not be shipped"


def problems_of_crates(metadata: dict) -> Iterator[str]:
    for crate in metadata["packages"]:
        if crate["source"] not in (None, CRATES_IO):
            yield f"{crate['name']} comes from {crate['source']}: crates come from crates.io"
        for wanted in crate["dependencies"] if crate["source"] is None else []:
            if wanted["req"] == "*" and "path" not in wanted:
                yield f"{crate['name']} takes any version of {wanted['name']}: name one"
    for crate in shipped_crates(metadata):
        licence = crate["license"] or ""
        if not is_allowed(licence) and (licence or crate["name"] not in IN_OWN_WORDS):
            yield f"{crate['name']} {crate['version']}: its licence ({licence or crate['license_file']}) may not be shipped"


def check() -> int:
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    command += [word for target in TARGETS for word in ("--filter-platform", target)]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    problems = [*problems_of_packages(), *problems_of_crates(metadata)]
    for problem in problems:
        print(f"licences: {problem}", file=sys.stderr)
    return 1 if problems else 0


def texts() -> int:
    missing = 0
    for folder, of in shipped_packages().items():
        found = sorted(file for file in (WEB / folder).iterdir() if file.stem.upper() in ("LICENSE", "LICENCE", "NOTICE"))
        missing += not found
        print(f"{folder.removeprefix('node_modules/')} {of['version']} ({of.get('license')})\n")
        for file in found:
            print(file.read_text().strip() + "\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit({"check": check, "texts": texts}[sys.argv[1]]())
