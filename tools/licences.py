"""The licences of the npm packages that the pages embed.

usage: licences.py check    holds them to what deny.toml allows for crates
       licences.py texts    prints their texts, which go wherever the pages go
"""

import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"


def shipped() -> dict[str, dict]:
    """The packages by their folders; what only builds and tests the pages is not among them."""
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    return {folder: of for folder, of in packages.items() if folder and not of.get("dev")}


def check() -> int:
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    refused = {
        folder: of.get("license", "none")
        for folder, of in shipped().items()
        if not allowed & set(of.get("license", "").strip("()").split(" OR "))
    }
    for folder, licence in refused.items():
        print(f"{folder} in web/package-lock.json: its licence ({licence}) is not allowed by deny.toml")
    return 1 if refused else 0


def texts() -> int:
    missing = 0
    for folder, of in shipped().items():
        found = sorted(file for file in (WEB / folder).iterdir() if file.stem.upper() in ("LICENSE", "LICENCE", "NOTICE"))
        missing += not found
        print(f"{folder.removeprefix('node_modules/')} {of['version']} ({of.get('license')})\n")
        for file in found:
            print(file.read_text().strip() + "\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit({"check": check, "texts": texts}[sys.argv[1]]())
