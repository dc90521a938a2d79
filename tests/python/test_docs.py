"""The documents lead somewhere: every link in them is to a file that exists and a heading that it has, and the book has every page it lists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs" / "src").glob("*.md")]
# A link's target, before and after its `#`: either may be absent, not both.
LINK = re.compile(r"\]\((?=[^)\s])([^)#\s]*)(?:#([^)\s]*))?[^)]*\)")
PICTURE = re.compile(r'<img src="([^"]+)"')
FENCED = re.compile(r"^ *(```+|~~~+).*?^ *\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)


def plain(heading: str) -> str:
    """What is seen of a heading: the text of its links and code, without marks."""
    return re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)).strip()


def slug(heading: str) -> str:
    """What mdBook calls a heading in an address; GitHub calls it the same."""
    kept = (character for character in plain(heading) if character.isalnum() or character in "_-" or character.isspace())
    return "".join("-" if character.isspace() else character.lower() for character in kept)


def slugs(page: Path) -> set[str]:
    """The headings of a page, each by its own address: the second of a name ends with -1."""
    found: list[str] = []
    for heading in HEADING.findall(FENCED.sub("", page.read_text())):
        name = slug(heading)
        before = sum(other == name for other in found)
        found += [name, f"{name}-{before}"] if before else [name]
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = page.read_text()
    links = [(target, heading) for target, heading in LINK.findall(text) if "://" not in target]
    links += [(target, "") for target in PICTURE.findall(text) if "://" not in target]
    missing = []
    for target, heading in links:
        file = page.parent / target if target else page
        if not file.exists() or (heading and heading not in slugs(file)):
            missing.append(f"{target}#{heading}" if heading else target)
    assert not missing


@pytest.mark.parametrize(
    ("heading", "name"),
    [("`demo:wave`", "demowave"), ("NumPy `.npy`", "numpy-npy"), ("What is not sent, and [why](x.md)", "what-is-not-sent-and-why")],
)
def test_headings_are_named_as_the_book_names_them(heading: str, name: str) -> None:
    assert slug(heading) == name


def test_the_book_lists_every_page() -> None:
    listed = {target for target, _ in LINK.findall((ROOT / "docs" / "src" / "SUMMARY.md").read_text())}
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
