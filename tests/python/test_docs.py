"""The documents lead somewhere: every link to a file in them exists, and the book has every page it lists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs" / "src").glob("*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PICTURE = re.compile(r'<img src="([^"]+)"')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    text = page.read_text()
    targets = [target for target in LINK.findall(text) + PICTURE.findall(text) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_the_book_lists_every_page() -> None:
    listed = set(LINK.findall((ROOT / "docs" / "src" / "SUMMARY.md").read_text()))
    there = {page.name for page in (ROOT / "docs" / "src").glob("*.md")} - {"SUMMARY.md"}
    assert listed == there


def test_the_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme


@pytest.mark.parametrize(("page", "example"), [("publishing", "first.c"), ("publishing", "first.f90"), ("steering", "steered.c")])
def test_the_examples_of_the_book_are_those_that_are_run(page: str, example: str) -> None:
    page = (ROOT / "docs" / "src" / f"{page}.md").read_text()
    assert (ROOT / "bindings" / "c" / "examples" / example).read_text() in page
